#include "lib/sparsity/accuracy/AccuracyMessages.h"
#include "llvm/ADT/STLForwardCompat.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>

namespace accord {
namespace {

constexpr size_t kMaxNamed = 4;
const char *const kMeasure = "accuracy \"top1\" from \"measured.csv\" samples 50000";

Rejection rejection(Code code, const SourceLocation &at, std::string message, std::string help) {
  return {{code, std::move(message), at, {}}, std::move(help)};
}

std::string print(const Rational &value) { return fmt::format("{:.6g}", value.toDouble()); }
/// A limit from below: digits that are cut do not make it larger.
std::string printDown(const Rational &value) {
  return print((value * Rational(1'000'000)).floor() / Rational(1'000'000));
}

std::string print(const QualityRequirement &required) {
  return fmt::format("an accuracy of at least {}{}", print(required.min),
                     required.confidence > 0 ? fmt::format(" with confidence {}", required.confidence) : "");
}

const char *operandName(GemmOperand of) {
  return of == GemmOperand::Weights ? "weights" : of == GemmOperand::Activations ? "activations" : "gradients";
}
std::string withOperand(GemmOperand of, const std::string &pattern) {
  return of == GemmOperand::Weights ? pattern : fmt::format("{} of {}", pattern, operandName(of));
}

/// The first few, in their order, once each.
std::string some(const std::vector<std::string> &texts) {
  std::vector<std::string> once;
  for (const std::string &text : texts)
    if (std::find(once.begin(), once.end(), text) == once.end())
      once.push_back(text);
  size_t more = once.size() > kMaxNamed ? once.size() - kMaxNamed : 0;
  once.resize(once.size() - more);
  return fmt::format("{}{}", fmt::join(once, ", "), more ? fmt::format(" and {} others", more) : "");
}

std::string textOf(const AccuracyQuery &query) {
  std::vector<std::string> texts;
  for (const AccuracyQuery::Pattern &sparsity : query.sparsity)
    if (measuredPattern(sparsity.of, sparsity.pattern) != "dense")
      texts.push_back(withOperand(sparsity.of, sparsity.text));
  return fmt::format("{}", fmt::join(texts, " with "));
}

} // namespace

std::string describe(const SparsityScope &scope) {
  return fmt::format("{}, {} density",
                     scope.isFirstDense && scope.isLastDense ? "first and last layer dense"
                     : scope.isFirstDense                    ? "first layer dense"
                     : scope.isLastDense                     ? "last layer dense"
                                                             : "zeros in the first and the last layer",
                     scope.isErdosRenyi ? "Erdos-Renyi" : "uniform");
}

const char *describe(AccuracyBasis level) {
  constexpr const char *kBases[] = {"measured configurations of this model",
                                    "sum of separately measured or published layer losses", "sensitivity ranking only",
                                    "no measurements"};
  return kBases[llvm::to_underlying(level)];
}

Rejection noMeasurements(const QualityRequirement &required, const std::vector<AccuracyQuery> &queries) {
  std::vector<std::string> texts;
  for (const AccuracyQuery &query : queries)
    for (const AccuracyQuery::Pattern &sparsity : query.sparsity)
      if (measuredPattern(sparsity.of, sparsity.pattern) != "dense")
        texts.push_back(withOperand(sparsity.of, sparsity.text));
  return rejection(Code::NoAccuracyMeasurements, required.location,
                   fmt::format("{} is required, and nothing that was measured is stated", print(required)),
                   fmt::format("measure the network dense{} and state: {}",
                               texts.empty() ? "" : " and with " + some(texts), kMeasure));
}

Rejection denseNotMeasured(const AccuracyQuery &query, const std::string &metric) {
  return rejection(
      Code::NoAccuracyMeasurements, query.location,
      fmt::format("what {} loses is not known: '{}' of the dense network was not measured", textOf(query), metric),
      fmt::format("a line with pattern dense in the file of '{}'", metric));
}

Rejection layerNotMeasured(const AccuracyQuery &query, const std::string &metric) {
  return rejection(Code::NoAccuracyMeasurements, query.location,
                   fmt::format("nothing was measured of '{}' with {}", query.operation, textOf(query)),
                   fmt::format("a line in the file of '{}' whose layer means '{}'", metric, query.operation));
}

Rejection sparserThanMeasured(const AccuracyQuery &query, const AccuracyQuery::Pattern &sparsity, double density,
                              const MeasuredAccuracy &sparsest) {
  return rejection(
      Code::DensityNotMeasured, query.location,
      fmt::format("{}{} is sparser than what was measured: {} with density {} is the sparsest ({}, line {})",
                  withOperand(sparsity.of, sparsity.text),
                  sparsest.layer.empty() ? "" : fmt::format(" in '{}'", query.operation), sparsest.pattern,
                  sparsest.density, sparsest.location.file, sparsest.location.line),
      fmt::format("density = {}, or a measurement at {} or below", sparsest.density, density));
}

Rejection patternNotMeasured(const AccuracyQuery &query, const AccuracyQuery::Pattern &sparsity,
                             const std::string &pattern, const std::vector<const MeasuredAccuracy *> &others) {
  std::vector<std::string> texts;
  std::map<std::string, std::set<unsigned>> lines;
  for (const MeasuredAccuracy *other : others)
    lines[withOperand(other->of, other->pattern)].insert(other->location.line);
  for (const auto &[text, at] : lines)
    texts.push_back(at.size() == 1 ? fmt::format("{} (line {})", text, *at.begin())
                                   : fmt::format("{} (lines {} to {})", text, *at.begin(), *at.rbegin()));
  std::string where =
      others.empty() || others.front()->layer.empty() ? "" : fmt::format(" in '{}'", others.front()->layer);
  bool fact = pattern == "mask" || pattern == "histogram";
  // The same zeros, in masks that move or do not.
  const std::string moving = pattern + " dynamic";
  const bool isRecipe =
      sparsity.of == GemmOperand::Weights && std::ranges::any_of(others, [&](const auto *other) {
        return other->of == sparsity.of && (other->pattern == moving || other->pattern + " dynamic" == pattern);
      });
  if (isRecipe) {
    const bool isStatic = !llvm::StringRef(pattern).ends_with(" dynamic");
    return rejection(Code::PatternNotMeasured, query.location,
                     fmt::format("nothing was measured of {}{} with {} masks; measured was {}",
                                 withOperand(sparsity.of, sparsity.text), where, isStatic ? "static" : "dynamic",
                                 some(texts)),
                     fmt::format("recipe = {}, if the training does so, or a measurement with {} masks",
                                 isStatic ? "dynamic(every = 100)" : "static", isStatic ? "static" : "dynamic"));
  }
  return rejection(
      Code::PatternNotMeasured, query.location,
      fmt::format("nothing was measured of {}{}; measured was {}", withOperand(sparsity.of, sparsity.text), where,
                  some(texts)),
      fact ? "a mask or histogram is a fact that stands alone; to choose, state a pattern of which accuracies can be "
             "measured"
           : fmt::format("a measurement with pattern {}: others do not show it", withOperand(sparsity.of, pattern)));
}

Rejection scopeNotMeasured(const AccuracyQuery &query, const AccuracyQuery::Pattern &sparsity,
                           const SparsityScope &scope, const MeasuredAccuracy &other) {
  SparsityScope measured = scope;
  if (other.denseEnds)
    measured.isFirstDense = other.denseEnds->first, measured.isLastDense = other.denseEnds->second;
  if (other.isErdosRenyi)
    measured.isErdosRenyi = *other.isErdosRenyi;
  const char *ends = measured.isFirstDense && measured.isLastDense ? "{first, last}"
                     : measured.isFirstDense                       ? "first"
                     : measured.isLastDense                        ? "last"
                                                                   : "none";
  std::vector<std::string> words;
  if (measured.isFirstDense != scope.isFirstDense || measured.isLastDense != scope.isLastDense)
    words.push_back(fmt::format("dense_layers = {}", ends));
  if (measured.isErdosRenyi != scope.isErdosRenyi)
    words.push_back(fmt::format("distribution = {}", measured.isErdosRenyi ? "erk" : "uniform"));
  Rejection result =
      rejection(Code::PatternNotMeasured, query.location,
                fmt::format("{} was measured with {}, and is to have {} here", withOperand(sparsity.of, sparsity.text),
                            describe(measured), describe(scope)),
                fmt::format("{}, or a measurement as it is here", fmt::join(words, " and ")));
  result.error.notes.push_back({other.location, "it was measured so"});
  return result;
}

Rejection notMeasuredJointly(const AccuracyQuery &query) {
  return rejection(Code::PatternNotMeasured, query.location,
                   fmt::format("nothing was measured of {} together", textOf(query)),
                   "let one of the operands be sparse, or measure by layers and state a margin");
}

Rejection sensitivitiesOnly(const QualityRequirement &required, const AccuracyMeasurements &sensitivities) {
  Rejection result = rejection(
      Code::SensitivitiesOnly, required.location,
      fmt::format("{} is required, and there are sensitivities alone, from which no accuracy follows", print(required)),
      fmt::format("measured accuracies: {}", kMeasure));
  result.error.notes.push_back({sensitivities.location, "these only rank layers"});
  return result;
}

Rejection estimatesOnly(const QualityRequirement &required, bool published) {
  return rejection(Code::RequirementNotShown, required.location,
                   fmt::format("{} is required, and losses {} are estimates without a margin", print(required),
                               published ? "that others measured" : "of layers that were measured apart"),
                   "'margin = 1.25' states by how much all losses together may exceed their sum; or measure whole "
                   "configurations of this model");
}

Rejection ambiguousLayer(const AccuracyQuery &query, const std::string &first, const std::string &second) {
  return rejection(Code::WrongQualityFile, query.location,
                   fmt::format("'{}' is meant by two layers of the file of accuracies, '{}' and '{}'", query.operation,
                               first, second),
                   "layers that were measured together have one name, and no other layer means them");
}

Rejection limitTooLow(const QualityRequirement &required, const AccuracyQuery *query, const MeasuredAccuracy &m,
                      const Rational &limit, std::optional<int64_t> samples) {
  std::string what = query                  ? textOf(*query)
                     : m.pattern == "dense" ? "the dense network"
                                            : fmt::format("{} with density {}, the densest that was measured,",
                                                          withOperand(m.of, m.pattern), m.density);
  bool confident = required.confidence > 0;
  std::string seen = m.samples > 0 ? fmt::format("{} of {} right", m.right, m.samples)
                                   : fmt::format("{} of an unknown number of samples", print(m.share));
  std::string message = fmt::format("{} is required, and {} shows {} ({}, {} line {})", print(required), what,
                                    confident ? "only " + printDown(limit) : "only " + print(limit), seen,
                                    m.location.file, m.location.line);
  std::string help;
  if (confident && m.samples == 0)
    help = "how many samples a share is of: samples 50000";
  else if (samples)
    help = fmt::format("{} samples with the same share would show it; these show {}", *samples, printDown(limit));
  else if (confident && m.share > required.min)
    help = fmt::format("more samples, or a requirement of {}", printDown(limit));
  else
    help = fmt::format("no number of samples with this share shows it; a requirement of {} is kept", printDown(limit));
  return rejection(Code::RequirementNotShown, required.location, std::move(message), std::move(help));
}

Rejection lossTooHigh(const QualityRequirement &required, const AccuracyQuery &query,
                      const AccuracyEvaluation &evaluation, const Rational &loss) {
  return rejection(
      Code::RequirementNotShown, required.location,
      fmt::format("{} is required, and {} alone in '{}' may lose {}{}, more than the {} that the dense network leaves",
                  print(required), textOf(query), query.operation, print(loss),
                  evaluation.margin == Rational(1) ? "" : " times the margin " + print(evaluation.margin),
                  print(std::max(Rational(0), *evaluation.budget))),
      evaluation.confidence > 0 ? "more samples of each measurement, or it is left dense" : "it is left dense");
}

std::vector<std::string> assumptionsOf(const AccuracyEvaluation &evaluation, const MeasurementProperties &properties) {
  std::vector<std::string> texts;
  bool configurations = evaluation.level == AccuracyBasis::WholeConfigurations;
  texts.push_back(fmt::format(
      "'{}' was measured {} with zeros in the layers that the rules or the file name", evaluation.metric,
      properties.published ? "by others, on the same model, trained as here," : "on this model, trained as here,"));
  if (configurations || !properties.byLayer)
    texts.push_back("whole networks were measured: all operations take one option");
  if (!configurations && properties.margin > 0)
    texts.push_back(fmt::format(
        "all losses together are at most {} times their sum: the margin is stated, not measured", properties.margin));
  if (!configurations && properties.margin <= 0)
    texts.push_back("no margin is stated: losses are estimates, and their sum as well");
  if (properties.hasIntermediateDensity || !properties.denseIsMeasured)
    texts.push_back("accuracy does not rise where more elements are zero: of a density that was not measured the next "
                    "sparser one counts");
  if (properties.isScopeUnstated)
    texts.push_back(
        "some lines do not say which layers were dense, or how the density was divided among layers (columns "
        "dense_layers and distribution): as here");
  if (evaluation.confidence <= 0)
    texts.push_back("no confidence is required: shares count as they were measured");
  else
    texts.push_back(fmt::format("samples are independent, and none was trained on; each of {} limits (Clopper and "
                                "Pearson) has an equal part of the error {:.6g}",
                                evaluation.numSimultaneousLimits, 1 - evaluation.confidence));
  if (evaluation.confidence > 0 && properties.rounded)
    texts.push_back("shares are exact as they are written, and count rounded down to a number of right answers");
  return texts;
}

} // namespace accord
