// What `accord prune` answers: zeros of each layer, what they take and save, and what is claimed of accuracy.
#pragma once
#include "lib/sparsity/problem/AccuracyReport.h"
#include "lib/sparsity/solve/FabricLayers.h"
#include <optional>
#include <string>
#include <vector>

namespace accord {

struct SparsityPlan {
  std::string training, model, machine, version;
  std::string objective; ///< "step_time", "energy", "memory", "throughput"
  int64_t batch = 1, microbatch = 1;
  double confidence = 0.95;
  bool proven = false; ///< of the selection
  double gap = 0;
  /// One of them: a step of training on one device, or the layers of a dataflow device.
  std::optional<PrunePlan> step;
  std::optional<FabricPlan> pipeline;
  std::optional<AccuracyReport> accuracy;
  std::vector<std::string> assumptions;

  const AccuracyEvaluation &evaluation() const { return step ? step->evaluation : pipeline->evaluation; }
  const std::vector<Rejection> &excludedOptions() const {
    return step ? step->excludedOptions : pipeline->excludedOptions;
  }
  const SelectionResult &selection() const { return step ? step->result : pipeline->result.selection; }
};

} // namespace accord
