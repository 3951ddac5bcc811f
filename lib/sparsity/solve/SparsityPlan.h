// What `accord prune` answers: zeros of each layer, what they take and save, and what is claimed of accuracy.
#pragma once
#include "lib/sparsity/solve/FabricLayers.h"
#include <optional>
#include <string>
#include <vector>

namespace accord {

/// What is claimed of accuracy, and why.
struct AccuracyReport {
  std::string metric;
  bool guaranteed = false;          ///< else an estimate
  Rational min;                     ///< a share, with the confidence
  std::optional<Rational> required; ///< nothing: it is told, not asked for
  std::string confidence;           ///< "0.95", empty without samples
  std::string level;                ///< "A: the whole network was measured", …
  std::vector<std::string> inputs, assumptions;
};

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
