// The `run` of plan.json, and lines of a summary.
#pragma once
#include "lib/run/problem/TrainingRun.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/SummaryLines.h"
#include "llvm/ADT/ArrayRef.h"
#include <memory>

namespace accord {

void describe(JsonFields &f, RunEstimate &estimate);
/// Problem, estimate and assumptions, written and read back without loss.
void describe(JsonFields &f, TrainingRun &run);
/// The field `run`: left out where there is none.
void describeRun(JsonFields &f, std::shared_ptr<const TrainingRun> &run);

/// Three lines: calendar time and goodput; interruptions and checkpoints; device hours, energy, price and carbon. Why
/// there is no run, where the assumptions of the plan say it (`kNoRun`); nothing for a plan that trains one step.
void addRunLines(const std::shared_ptr<const TrainingRun> &run, llvm::ArrayRef<std::string> assumptions,
                 SummaryLines &lines);

} // namespace accord
