// Which zeros each layer of a training step should have, how they are stored, and what that takes.
#pragma once
#include "lib/sparsity/accuracy/AccuracyEvaluation.h"
#include "lib/sparsity/cost/SparseCost.h"
#include "lib/sparsity/problem/Selection.h"
#include "lib/sparsity/problem/SparsityRequest.h"
#include <functional>

namespace accord {

/// Seconds of an operation that exchanges gradients where this share of them is exchanged.
using ExchangeOf = std::function<double(OperationId, double share)>;

struct SparsitySearch {
  const SparsityRequest &request;
  const WorkGraph &graph;
  const Machine &machine;
  const Costs &costs;
  const std::vector<AccuracyFile> &files; ///< that `accuracy` and `sensitivity` name
  ExchangeOf exchange = nullptr;          ///< null: one device
};

/// What one layer takes with some zeros: sums over all executions of its products in a step, and of its parameter's
/// update.
struct PruneOption {
  std::string label;                ///< "weights nm(2, 4) as nm(2, 4)", "dense"
  std::string sparsity;             ///< the same without formats: "weights nm(2, 4)"
  std::string format, encoding;     ///< of weights; MLIR's `#sparse_tensor.encoding`, empty if dense
  double seconds = 0, quantile = 0; ///< mean; not exceeded with the confidence asked for
  double forward = 0, dataGradient = 0, weightGradient = 0, update = 0,
         exchange = 0; ///< parts of `seconds`
  double joules = 0, quantileJoules = 0;
  double bytes = 0;                  ///< weights with their gradients and optimizer states, at the confidence
  double metadata = 0;               ///< bytes a step that say where values belong
  std::string bound;                 ///< what limits the forward product
  bool prunes = false;               ///< it has zeros that are no given facts
  bool sampled = false;              ///< some of its cycles are estimated from groups of lanes drawn at random
  Rational loss = 0;                 ///< of the metric, as far as it counts here
  std::vector<SourceLocation> lines; ///< of files that show it
};

struct PruneLayer {
  std::string name, parameter;
  double executions = 0;            ///< of the forward product, in a step
  std::vector<PruneOption> options; ///< the first is dense
  std::string uses;                 ///< what the core makes of zeros: "weights: skip, compressed, nm(2, 4)"
  SourceLocation location;
};

struct PrunePlan {
  std::vector<PruneLayer> layers; ///< in the order of the forward pass: those a rule means
  SelectionProblem problem;
  SelectionResult result;
  /// What zeros do not touch: all other operations of a step, and the memory of other parameters.
  double otherSeconds = 0, otherJoules = 0, otherBytes = 0;
  double confidence = 0.95;
  AccuracyEvaluation evaluation;
  std::vector<Rejection> excludedOptions; ///< choices that were left out, as nothing shows what is required

  const PruneOption &chosen(size_t layer) const { return layers[layer].options[result.choice[layer]]; }
};

/// Layers that take one option, by number: those whose accuracy was measured together (of answers of `judge`, each
/// about the layer `layerOf`), and those that share a parameter.
std::vector<std::vector<unsigned>> groupsOf(const std::vector<AccuracyQueryResult> &results,
                                            const std::vector<unsigned> &layerOf,
                                            const std::vector<std::string> &parameters);

/// The rule that holds for an operand of a layer: the last one that means it; null: none does.
const SparsityRequest::Rule *ruleFor(const SparsityRequest &request, GemmOperand operand, const std::string &operation,
                                     const std::string &parameter);

/// Names of layers of a graph that rules may mean: of operations, and of their parameters.
std::vector<std::string> layerNames(const WorkGraph &graph);

/// Options of each layer: all choices of the rules that mean it, each in all formats that are allowed and fit
/// (activations and gradients in the smallest); dense always is the first. Of these one each is chosen exactly
/// (`select`), by quantiles of what is minimized, rounded against zeros, so that of equals dense is taken. Times of a
/// step are sums: one operation after the other. Layers of one parameter, and those whose accuracy was measured
/// together, take one option. What is refused: issues of `sparseCost`, at the rule; what `judge` refuses of the
/// requirement; A1005 where no choice keeps the budget of losses.
std::variant<PrunePlan, std::vector<Rejection>> searchSparsity(const SparsitySearch &search);

} // namespace accord
