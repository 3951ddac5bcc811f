// The forms of a latency model, all of one description.
#pragma once
#include "lib/latency/model/LatencyModel.h"

namespace accord {

/// The C99 header; needs only <stdint.h>. `<name>_defaults()` gives all arguments at the plan's values,
/// `<name>_evaluate(&arguments, &result)` returns 0 or why not (`<name>_message`), results are NaN then.
/// `<name>_step_time_s(batch, sequence)`, `<name>_memory_bytes(…)`, `<name>_flops(…)` at the plan's micro-batch; the
/// same with `_at(batch, microbatch, sequence)`; and `<name>_step_time_scaled_s(batch, microbatch, sequence, compute,
/// bandwidth)`, where the cores compute `compute` times as fast and the memories deliver `bandwidth` times as much: NaN
/// outside of the domain. With -DMODEL_SELF_TEST a `main` that checks the stored samples.
std::string printC(const LatencyModel &model);

/// A Python 3 module without dependencies: `evaluate(**arguments)` -> Result(step_time_s, memory_bytes, flops),
/// `step_time_s(batch, sequence)` …; ValueError outside of the domain, naming argument and range. Run as a program it
/// checks the stored samples.
std::string printPython(const LatencyModel &model);

/// JavaScript without dependencies: `latency_model.evaluate({batch: 512, …})` -> {status, step_time_s, memory_bytes,
/// flops}, what is not given at the plan's own value; NaN and a status other than 0 (`latency_model.message(status)`)
/// outside of the domain. It runs in the script of a page and in Node.js, where as a program it checks the stored
/// samples. Integers are doubles: below 2^53 results are the same bits as those of the other forms, above they differ
/// by rounding.
std::string printJavaScript(const LatencyModel &model);

/// func and arith: `@<name>_evaluate(all arguments) -> (status: i32, f64, f64, f64)`, and `@<name>_step_time_s`,
/// `_memory_bytes`, `_flops` of (batch, microbatch, sequence : i64) -> f64, NaN outside of the domain.
std::string printMlir(const LatencyModel &model);

/// A table over a grid of the model's domain: batch, microbatch, sequence, step_time_s, memory_bytes, flops. At most
/// some thousand rows, refused configurations left out.
std::string printCsv(const LatencyModel &model);

} // namespace accord
