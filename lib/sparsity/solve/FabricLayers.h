// Layers of a network as a dataflow device runs them: one behind the other, forward, with the zeros that rules allow.
#pragma once
#include "lib/sparsity/accuracy/ZeroFiles.h"
#include "lib/sparsity/solve/Dataflow.h"
#include "lib/sparsity/solve/SparsitySearch.h"

namespace accord {

/// The products of the forward pass in their order, for one image (sample): those of a repeat as often as it runs, as
/// "name #2" from the second on. What is no product needs no multipliers and is left out. Products of two activations
/// (attention) are right for graphs of one sample alone. Operations whose loops are no product, or more than 10,000
/// layers: none, and `error` says why.
std::vector<DataflowLayer> dataflowLayers(const WorkGraph &graph, std::string &error);

struct FabricPlan {
  DataflowProblem problem; ///< with the options that the answer is the best of
  DataflowResult result;
  AccuracyEvaluation evaluation;
  std::vector<Rejection> excludedOptions; ///< as in `PrunePlan`
};

/// What a plan of a dataflow device looks at beside the rules of a file.
struct FabricInputs {
  FabricResources resources = {};
  int64_t weightBits = 0, activationBits = 0; ///< 0: as the training has them
  /// Zeros of the layers that it names, channel by channel, instead of what rules say of them.
  std::optional<ZeroTraces> traces = {};
  /// Networks of which one is taken; rules are then not looked at.
  std::optional<ThresholdTable> thresholds = {};
};

/// The least interval with zeros that evidence allows. Where layers were measured together, each of their common
/// options is tried, and none. Of thresholds, each whose network is shown to be as accurate as required (all limits at
/// once, Clopper and Pearson).
std::variant<FabricPlan, std::vector<Rejection>> planFabric(const SparsityRequest &request, const WorkGraph &graph,
                                                            const Machine &machine,
                                                            const std::vector<AccuracyFile> &files,
                                                            const FabricInputs &inputs = {});

} // namespace accord
