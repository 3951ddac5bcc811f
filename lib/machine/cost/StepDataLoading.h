// Data loading of a training step: the input bytes of its batch against its computation.
#pragma once
#include "lib/machine/cost/DataLoader.h"
#include "lib/machine/model/Machine.h"
#include "lib/machine/model/WorkGraph.h"

namespace accord {

struct StepDataLoading {
  Bytes batch; ///< inputs of all samples of the step, as the model takes them
  Seconds load, copy, compute;
  DataLoaderStep step; ///< of `choice`
  LoaderChoice choice;
  std::vector<std::string> assumptions;
  Seconds exposed() const { return step.step - compute; } ///< the device waits so long per step
};

/// L = batch / loader, H = batch / host link (0 where the machine states none), C = `compute`; in
/// steady state as `dataLoaderStep` has it, workers and depth as `chooseLoader` chooses them. Errors as theirs.
Result<StepDataLoading> stepDataLoading(const WorkGraph &graph, const Machine &machine, const DataLoader &dataLoader,
                                        Seconds compute);

} // namespace accord
