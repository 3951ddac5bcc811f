#include "lib/sparsity/output/AccuracyOutput.h"
#include "lib/support/documents/FractionText.h"
#include <fmt/format.h>

namespace accord {

static std::string shareText(const Rational &share) {
  return fmt::format("{:.6g} %", (share * Rational(100'000'000)).floor().toDouble() / 1e6);
}

void describeExact(JsonVisitor &v, Rational &fraction) {
  describeFraction(v, fraction, [](const Rational &) { return true; }, "expected a fraction");
}

void describe(JsonFields &f, AccuracyReport &report) {
  f.field("metric", report.metric)
      .field("guaranteed", report.guaranteed)
      .about("an exact fraction")
      .field("min_accuracy", report.min, describeExact)
      .computed(
          "min_accuracy_fraction", [&] { return report.min.toDouble(); }, kAnyNumber)
      .field("confidence", report.confidence)
      .field("basis", report.level)
      .maybe("required", report.required, describeExact)
      .field("inputs", report.inputs)
      .field("assumptions", report.assumptions);
}

void addAccuracy(SummaryLines &lines, const AccuracyReport &report) {
  lines.add("accuracy",
            fmt::format("{} at least {}{}{}", report.metric, shareText(report.min),
                        report.confidence.empty() ? "" : fmt::format(" with confidence {}", report.confidence),
                        report.required ? fmt::format("; {} is required", shareText(*report.required)) : ""));
  lines.add("basis", report.level);
  for (const std::string &input : report.inputs)
    lines.add("input", input);
  for (const std::string &assumption : report.assumptions)
    lines.add("assumes", assumption);
}

} // namespace accord
