// Layers of a network as a dataflow device runs them: one behind the other, forward.
#pragma once
#include "lib/prune/Dataflow.h"
#include "lib/prune/SearchSparsity.h"

namespace accord {

struct FabricLayer {
  DataflowLayer layer;
  std::string parameter;
  std::vector<AccuracyQuestion> questions; ///< by `layer.zeros`
};

/// The products of weights and activations of a graph of one sample, in the order of the forward
/// pass, each with the zeros that rules allow. Kernels are loops that stand with a loop of the
/// result in one dimension of the input; what else is summed over are channels. Zeros of a window
/// are those of its products: of activations (a histogram of windows of this size as it is, other
/// patterns with their density, independent) or of weights. A layer of a repeat is as many layers.
/// A1010 where a layer is no convolution of two dimensions or a matrix product, or a density cannot
/// be had from a pattern.
std::variant<std::vector<FabricLayer>, Issue> fabricLayers(const SparsityRequest &request,
                                                           const WorkGraph &graph);

struct FabricPlan {
  DataflowResult result;
  std::vector<std::string> layers; ///< names, by `DataflowResult::stages`
  AccuracyEvidence evidence;
  std::vector<Refusal> notShown; ///< as in `PrunePlan`
  bool together = false;         ///< layers take one option, each of which was tried
};

/// The least interval with zeros that evidence allows. Where layers were measured together, each of
/// their common options is tried, and none.
std::variant<FabricPlan, std::vector<Refusal>> planFabric(const SparsityRequest &request,
                                                          const WorkGraph &graph,
                                                          const Machine &machine,
                                                          const std::vector<AccuracyFile> &files);

} // namespace accord
