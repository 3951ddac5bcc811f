// What the JIT compiles: the model's MLIR form over pointers, one and several configurations at a time.
#pragma once
#include "lib/latency/model/LatencyModel.h"

namespace accord {

/// Configurations that one pass of the batch function takes at once.
constexpr unsigned kLatencyLanes = 8;

/// `@one(arguments: ptr, results: ptr) -> i32`: 8 bytes per argument of `varying`, three doubles out.
/// `@many(blocks: i64, columns: ptr, results: ptr)`: `columns` points to one pointer per argument of `varying`,
/// `results` to those of step, memory, FLOPs (doubles) and status (i32), all of `blocks` * kLatencyLanes values.
std::string jitText(const LatencyModel &model, const std::vector<size_t> &varying, bool one, bool many);

} // namespace accord
