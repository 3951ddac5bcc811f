// Which zeros each layer of a training step should have, how they are stored, and what that takes.
#pragma once
#include "lib/sparsity/accuracy/AccuracyEvaluation.h"
#include "lib/sparsity/cost/SparseCost.h"
#include "lib/sparsity/problem/PruneStep.h"
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
  std::vector<SparseKernelTable> kernels; ///< measured 2:4 products; none: published figures
};

struct PrunePlan : PruneStep {
  std::vector<std::vector<LinearSparsity>> zeros; ///< by layer and option
  SelectionProblem problem;
  SelectionResult result;
  AccuracyEvaluation evaluation;
  std::vector<Rejection> excludedOptions; ///< choices that were left out, as nothing shows what is required
};

/// Layers that take one option, by number: those whose accuracy was measured together (of answers of
/// `evaluateAccuracy`, each about the layer `layerOf`), and those that share a parameter.
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
/// (`select`), by what is expected, or by quantiles where masks alone make more of it, rounded against zeros, so that
/// of equals dense is taken. Times of a step are sums: one operation after the other. Layers of one parameter, and
/// those whose accuracy was measured together, take one option. What is refused: issues of `sparseCost`, at the rule;
/// what `evaluateAccuracy` rejects of the requirement; A1005 where no choice keeps the budget of losses.
std::variant<PrunePlan, std::vector<Rejection>> searchSparsity(const SparsitySearch &search);
/// The same options with their losses and budgets, before any is chosen: `result`, choices and totals are empty.
std::variant<PrunePlan, std::vector<Rejection>> sparsityOptions(const SparsitySearch &search);

} // namespace accord
