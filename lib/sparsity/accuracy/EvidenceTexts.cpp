#include "lib/sparsity/accuracy/EvidenceTexts.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>

namespace accord {
namespace {

constexpr size_t kMostNamed = 4;
const char *const kMeasure = "accuracy \"top1\" from \"measured.csv\" samples 50000";

Refusal refusal(const char *code, const SourceLocation &at, std::string message, std::string help) {
  return {{code, std::move(message), at, {}}, std::move(help)};
}

std::string print(const Rational &value) { return fmt::format("{:.6g}", value.toDouble()); }
/// A limit from below: digits that are cut do not make it larger.
std::string printDown(const Rational &value) {
  return print((value * Rational(1'000'000)).floor() / Rational(1'000'000));
}

std::string print(const QualityRequirement &required) {
  return fmt::format(
      "an accuracy of at least {}{}", print(required.least),
      required.confidence > 0 ? fmt::format(" with confidence {}", required.confidence) : "");
}

const char *operandName(GemmOperand of) {
  return of == GemmOperand::Weights       ? "weights"
         : of == GemmOperand::Activations ? "activations"
                                          : "gradients";
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
  size_t more = once.size() > kMostNamed ? once.size() - kMostNamed : 0;
  once.resize(once.size() - more);
  return fmt::format("{}{}", fmt::join(once, ", "),
                     more ? fmt::format(" and {} others", more) : "");
}

std::string textOf(const AccuracyQuestion &question) {
  std::vector<std::string> texts;
  for (const AccuracyQuestion::Zeros &zeros : question.zeros)
    if (measuredPattern(zeros.of, zeros.pattern) != "dense")
      texts.push_back(withOperand(zeros.of, zeros.text));
  return fmt::format("{}", fmt::join(texts, " with "));
}

} // namespace

const char *describe(EvidenceLevel level) {
  switch (level) {
  case EvidenceLevel::Configurations:
    return "A: whole configurations of this model, measured";
  case EvidenceLevel::Sums:
    return "B: losses that were measured apart or by others, summed";
  case EvidenceLevel::Ranking:
    return "C: sensitivities, which only rank";
  case EvidenceLevel::Nothing:
    break;
  }
  return "D: nothing";
}

Refusal noEvidence(const QualityRequirement &required,
                   const std::vector<AccuracyQuestion> &questions) {
  std::vector<std::string> texts;
  for (const AccuracyQuestion &question : questions)
    for (const AccuracyQuestion::Zeros &zeros : question.zeros)
      if (measuredPattern(zeros.of, zeros.pattern) != "dense")
        texts.push_back(withOperand(zeros.of, zeros.text));
  return refusal(
      "A1001", required.location,
      fmt::format("{} is required, and nothing that was measured is stated", print(required)),
      fmt::format("measure the network dense{} and state: {}",
                  texts.empty() ? "" : " and with " + some(texts), kMeasure));
}

Refusal noDense(const AccuracyQuestion &question, const std::string &metric) {
  return refusal("A1001", question.location,
                 fmt::format("what {} loses is not known: '{}' of the dense network was not "
                             "measured",
                             textOf(question), metric),
                 fmt::format("a line with pattern dense in the file of '{}'", metric));
}

Refusal layerNotMeasured(const AccuracyQuestion &question, const std::string &metric) {
  return refusal(
      "A1001", question.location,
      fmt::format("nothing was measured of '{}' with {}", question.operation, textOf(question)),
      fmt::format("a line in the file of '{}' whose layer means '{}'", metric, question.operation));
}

Refusal sparserThanMeasured(const AccuracyQuestion &question, const AccuracyQuestion::Zeros &zeros,
                            double density, const MeasuredAccuracy &sparsest) {
  return refusal(
      "A1002", question.location,
      fmt::format("{}{} is sparser than what was measured: {} with density {} is the "
                  "sparsest ({}, line {})",
                  withOperand(zeros.of, zeros.text),
                  sparsest.layer.empty() ? "" : fmt::format(" in '{}'", question.operation),
                  sparsest.pattern, sparsest.density, sparsest.location.file,
                  sparsest.location.line),
      fmt::format("density = {}, or a measurement at {} or below", sparsest.density, density));
}

Refusal patternNotMeasured(const AccuracyQuestion &question, const AccuracyQuestion::Zeros &zeros,
                           const std::string &pattern,
                           const std::vector<const MeasuredAccuracy *> &others) {
  std::vector<std::string> texts;
  std::map<std::string, std::set<unsigned>> lines;
  for (const MeasuredAccuracy *other : others)
    lines[withOperand(other->of, other->pattern)].insert(other->location.line);
  for (const auto &[text, at] : lines)
    texts.push_back(at.size() == 1
                        ? fmt::format("{} (line {})", text, *at.begin())
                        : fmt::format("{} (lines {} to {})", text, *at.begin(), *at.rbegin()));
  std::string where = others.empty() || others.front()->layer.empty()
                          ? ""
                          : fmt::format(" in '{}'", others.front()->layer);
  bool fact = pattern == "mask" || pattern == "histogram";
  return refusal(
      "A1003", question.location,
      fmt::format("nothing was measured of {}{}; measured was {}",
                  withOperand(zeros.of, zeros.text), where, some(texts)),
      fact ? "a mask or histogram is a fact that stands alone; to choose, state a pattern of which "
             "accuracies can be measured"
           : fmt::format("a measurement with pattern {}: others do not show it",
                         withOperand(zeros.of, pattern)));
}

Refusal notTogether(const AccuracyQuestion &question) {
  return refusal("A1003", question.location,
                 fmt::format("nothing was measured of {} together", textOf(question)),
                 "let one of the operands be sparse, or measure by layers and state a margin");
}

Refusal rankingAlone(const QualityRequirement &required, const SparsityEvidence &sensitivities) {
  Refusal result = refusal("A1004", required.location,
                           fmt::format("{} is required, and there are sensitivities alone, from "
                                       "which no accuracy follows",
                                       print(required)),
                           fmt::format("measured accuracies: {}", kMeasure));
  result.issue.notes.push_back({sensitivities.location, "these only rank layers"});
  return result;
}

Refusal estimatesAlone(const QualityRequirement &required, bool elsewhere) {
  return refusal(
      "A1005", required.location,
      fmt::format("{} is required, and losses {} are estimates without a margin", print(required),
                  elsewhere ? "that others measured" : "of layers that were measured apart"),
      "'margin = 1.25' states by how much all losses together may exceed their sum; or measure "
      "whole configurations of this model");
}

Refusal ambiguousLayer(const AccuracyQuestion &question, const std::string &first,
                       const std::string &second) {
  return refusal("A1009", question.location,
                 fmt::format("'{}' is meant by two layers of the file of accuracies, '{}' and '{}'",
                             question.operation, first, second),
                 "layers that were measured together have one name, and no other layer means them");
}

Refusal limitTooLow(const LimitTooLow &low) {
  const MeasuredAccuracy &m = low.measured;
  std::string what = low.question ? textOf(*low.question)
                     : m.pattern == "dense"
                         ? "the dense network"
                         : fmt::format("{} with density {}, the densest that was measured,",
                                       withOperand(m.of, m.pattern), m.density);
  bool confident = low.required.confidence > 0;
  std::string seen = m.samples > 0
                         ? fmt::format("{} of {} right", m.right, m.samples)
                         : fmt::format("{} of an unknown number of samples", print(m.share));
  std::string message =
      fmt::format("{} is required, and {} shows {} ({}, {} line {})", print(low.required), what,
                  confident ? "only " + printDown(low.limit) : "only " + print(low.limit), seen,
                  m.location.file, m.location.line);
  std::string help;
  if (confident && m.samples == 0)
    help = "how many samples a share is of: samples 50000";
  else if (low.samples)
    help = fmt::format("{} samples with the same share would show it; these show {}", *low.samples,
                       printDown(low.limit));
  else if (confident && m.share > low.required.least)
    help = fmt::format("more samples, or a requirement of {}", printDown(low.limit));
  else
    help = fmt::format("no number of samples with this share shows it; a requirement of {} is kept",
                       printDown(low.limit));
  return refusal("A1005", low.required.location, std::move(message), std::move(help));
}

Refusal lossTooHigh(const QualityRequirement &required, const AccuracyQuestion &question,
                    const AccuracyEvidence &evidence, const Rational &loss) {
  return refusal("A1005", required.location,
                 fmt::format("{} is required, and {} alone in '{}' may lose {}{}, more than the {} "
                             "that the dense network leaves",
                             print(required), textOf(question), question.operation, print(loss),
                             evidence.margin == Rational(1)
                                 ? ""
                                 : " times the margin " + print(evidence.margin),
                             print(std::max(Rational(0), *evidence.budget))),
                 evidence.confidence > 0 ? "more samples of each measurement, or it is left dense"
                                         : "it is left dense");
}

std::vector<std::string> assumptionsOf(const AccuracyEvidence &evidence,
                                       const EvidenceFacts &facts) {
  std::vector<std::string> texts;
  bool configurations = evidence.level == EvidenceLevel::Configurations;
  texts.push_back(fmt::format("'{}' was measured {} with zeros in the layers that the rules or the "
                              "file name",
                              evidence.metric,
                              facts.elsewhere ? "by others, on the same model, trained as here,"
                                              : "on this model, trained as here,"));
  if (configurations || !facts.byLayer)
    texts.push_back("whole networks were measured: all operations take one option");
  if (!configurations && facts.margin > 0)
    texts.push_back(fmt::format("all losses together are at most {} times their sum: the margin is "
                                "stated, not measured",
                                facts.margin));
  if (!configurations && facts.margin <= 0)
    texts.push_back("no margin is stated: losses are estimates, and their sum as well");
  if (facts.between || !facts.denseMeasured)
    texts.push_back("accuracy does not rise where more elements are zero: of a density that was "
                    "not measured the next sparser one counts");
  if (evidence.confidence <= 0)
    texts.push_back("no confidence is required: shares count as they were measured");
  else
    texts.push_back(fmt::format(
        "samples are independent, and none was trained on; each of {} limits (Clopper and Pearson) "
        "has an equal part of the error {:.6g}",
        evidence.together, 1 - evidence.confidence));
  if (evidence.confidence > 0 && facts.rounded)
    texts.push_back("shares are exact as they are written, and count rounded down to a number of "
                    "right answers");
  return texts;
}

} // namespace accord
