// Layers of a network as a dataflow device runs them: one behind the other, forward.
#pragma once
#include "lib/sparsity/solve/Dataflow.h"
#include "lib/sparsity/solve/SparsitySearch.h"

namespace accord {

struct FabricLayer {
  DataflowLayer layer;
  std::vector<AccuracyQuery> queries; ///< by `layer.zeros`
};

/// The layers of a graph of one sample (`dataflowLayers`), each with the zeros that rules allow: those of a window's
/// products, of activations (a histogram of windows of this size as it is, other patterns with their density,
/// independent), of weights, or both. A1010 where a density cannot be had from a pattern, or an operation is no layer.
Result<std::vector<FabricLayer>> fabricLayers(const SparsityRequest &request, const WorkGraph &graph);

struct FabricPlan {
  DataflowProblem problem; ///< with the options that the answer is the best of
  DataflowResult result;
  AccuracyEvaluation evaluation;
  std::vector<Rejection> excludedOptions; ///< as in `PrunePlan`
  bool hasCommonOption = false;           ///< layers take one option, each of which was tried
};

/// The least interval with zeros that evidence allows. Where layers were measured together, each of their common
/// options is tried, and none.
std::variant<FabricPlan, std::vector<Rejection>> planFabric(const SparsityRequest &request, const WorkGraph &graph,
                                                            const Machine &machine,
                                                            const std::vector<AccuracyFile> &files);

} // namespace accord
