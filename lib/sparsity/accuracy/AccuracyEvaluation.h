// What measurements show of the accuracy that is left with zeros. Nothing here guesses: what was not measured is
// refused.
#pragma once
#include "lib/sparsity/problem/SparsityRequest.h"
#include "lib/support/Result.h"
#include <string_view>
#include <variant>

namespace accord {

/// What is wrong, and a way out of it in one line.
struct Rejection {
  Error error;
  std::string help;
};

/// What accuracies are of: "nm(2, 4)", "nm(2, 4) transposable", "nm(2, 4, along = output)", "unstructured", "block(4,
/// 4)", "banded(8)", "histogram", "mask"; "dense" where no element is zero. Densities are no part of it, nor is how
/// zeros are distributed; a mask of weights that changes in each step is "unstructured dynamic". Evidence of one says
/// nothing of another.
std::string measuredPattern(GemmOperand of, const SparsityPattern &pattern);

/// Which weights of a whole network have zeros, and how its density is divided among its layers.
struct SparsityScope {
  bool isFirstDense = false, isLastDense = false; ///< of all layers with weights, in the order of the forward pass
  bool isErdosRenyi = false;                      ///< else each layer has the same density
};
std::string describe(const SparsityScope &scope); ///< "first layer dense, uniform density"

/// One line of a file of accuracies.
struct MeasuredAccuracy {
  GemmOperand of = GemmOperand::Weights;
  std::string layer;             ///< empty: the whole network
  std::string pattern = "dense"; ///< as `measuredPattern` writes it
  double density = 1;            ///< 0 where the pattern has none: banded, mask, histogram
  Rational share;                ///< of answers that were right, as measured
  /// Of `samples` answers so many were right; shares that were written count rounded down to a number of answers. 0
  /// samples: not known.
  int64_t right = 0, samples = 0;
  SourceLocation location;
  /// Of a whole network, as far as the line says: which of its first and last layer were dense, and whether densities
  /// were of the Erdos-Renyi kernel.
  std::optional<std::pair<bool, bool>> denseEnds = std::nullopt;
  std::optional<bool> isErdosRenyi = std::nullopt;
};

struct LayerSensitivity {
  std::string layer; ///< with `*` for any letters
  double value = 0;
  SourceLocation location;
};

/// A file of `accuracy … from` or `sensitivity from`, in an order that is not the file's.
struct AccuracyFile {
  SparsityRequest::AccuracyMeasurements source;
  std::vector<MeasuredAccuracy> accuracies;
  std::vector<LayerSensitivity> sensitivities;
};

/// A table of comma-separated values with one line of names. Columns of accuracies:
/// - the metric (`top1`): a share, 0 to 1; or `right` with `samples`, whole numbers; `samples` may stand beside a
///   metric, too, and else is that of the statement;
/// - `pattern` as in the language: dense, nm(2, 4), unstructured, "block(4, 4)"; without the column zeros are anywhere:
///   unstructured;
/// - `density`, 0 to 1; may be empty where the pattern says it;
/// - `layer`: a name or a pattern with `*` of layers that were measured together, all others dense; empty or without
///   the column: the whole network, all layers that the rules name;
/// - `of`: weights (also without the column), activations or gradients;
/// - `recipe`: static or dynamic, whether masks of weights were found again in the training;
/// - `dense_layers`, of whole networks: none, first, last, or "first last", which of these two had no zeros;
/// - `distribution`, of whole networks: uniform or erk, how the density was divided among layers;
/// - `note`: anything; and columns named in `otherMetrics`, which are not read.
/// Columns of sensitivities: `layer`, `sensitivity` (0 or more), `note`.
/// A1009 for anything else, with line and column; at most 20.
std::variant<AccuracyFile, std::vector<Rejection>> readAccuracies(std::string_view text,
                                                                  const SparsityRequest::AccuracyMeasurements &source,
                                                                  const std::vector<std::string> &otherMetrics = {});

/// All files of a request, from disk; those that cannot be opened are A1009 as well, and so is a configuration that two
/// files have, of one metric.
std::variant<std::vector<AccuracyFile>, std::vector<Rejection>> readAccuracyFiles(const SparsityRequest &request);

enum class AccuracyBasis : uint8_t {
  WholeConfigurations, ///< A: whole configurations of this model were measured; all layers take one
  LayerLossSums,       ///< B: losses of layers that were measured apart, or by others, times the margin
  SensitivityRanking,  ///< C: sensitivities; no percentage follows
  None                 ///< D
};
const char *describe(AccuracyBasis level); ///< "A: whole configurations, measured"

/// One option of one operation. Patterns that are facts (`given`) are left out, dense ones may be: they need no
/// evidence.
struct AccuracyQuery {
  std::string operation; ///< its name, as rules and the column `layer` mean it
  struct Pattern {
    GemmOperand of = GemmOperand::Weights;
    SparsityPattern pattern;
    std::string text; ///< as written, for messages
  };
  std::vector<Pattern> sparsity;
  SourceLocation location; ///< of the rule
};

struct AccuracyQueryResult {
  /// Something was measured of it; if not, `rejected` says what is missing.
  bool measured = false;
  /// At least so accurate is the network in which only this option's layers have these zeros (level A: all layers): a
  /// lower limit where a confidence is required, else the share as measured.
  Rational limit;
  /// What counts against the budget, at least 0. It is of the whole group: all operations of one group take one option,
  /// and the loss counts once, where `counts` is set.
  Rational loss;
  bool counts = true;
  std::string group; ///< empty: none, as for an option without zeros
  /// Of files: the dense network, the line that was read, and the one of those at least as dense that has the least
  /// limit.
  std::vector<SourceLocation> lines;
  std::optional<Rejection> rejected; ///< A1002, A1003; A1005: it alone is below what is required
};

/// All options together keep the requirement where the sum of losses times `margin` is at most `budget`, and each group
/// takes one option.
struct AccuracyEvaluation {
  AccuracyBasis level = AccuracyBasis::None;
  /// Limits hold with `confidence`, under `assumptions`. False: no confidence is required, then shares count as they
  /// were measured; or no margin is stated, then losses are estimates, which satisfy no requirement.
  bool guaranteed = false;
  std::string metric;
  double confidence = 0;             ///< 0: shares count as they were measured
  int64_t numSimultaneousLimits = 0; ///< limits that hold at once: each has this part of the confidence's error
  Rational dense;                    ///< at least so accurate is the dense network
  Rational margin = 1;
  /// `dense` less what is required; below 0: nothing is shown to keep it. Nothing: no requirement.
  std::optional<Rational> budget;
  std::vector<AccuracyQueryResult> results; ///< of the questions, in their order
  std::vector<std::string> assumptions;
  /// Why the requirement cannot be kept or judged; empty without a requirement. A1001 no evidence, A1002 sparser than
  /// what was measured, A1003 another pattern, A1004 sensitivities alone, A1005 not even the dense network is shown to
  /// keep it, or estimates alone; A1009 a layer that two patterns of a file mean.
  std::vector<Rejection> rejections;
};

/// Of several bases (A, then B by layers, then B of others) the first that leaves the fewest questions open. Between
/// measured densities the next sparser one counts, and of it and all that are denser the least. The metric is the first
/// one that is stated. A line of a whole network that says another scope than `scope` is no evidence (A1003); what it
/// does not say is assumed to be as in `scope`. Null: no scope is compared.
AccuracyEvaluation evaluateAccuracy(const SparsityRequest &request, const std::vector<AccuracyFile> &files,
                                    const std::vector<AccuracyQuery> &queries, const SparsityScope *scope = nullptr);

} // namespace accord
