#include "lib/driver/jobs/NoisePredictions.h"
#include "lib/driver/Documents.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/Workspace.h"
#include "lib/driver/jobs/FileErrors.h"
#include "lib/import/jobs/TraceJobs.h"
#include "lib/jobs/solve/NoisePredictor.h"
#include "lib/support/CommandHost.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/TextTable.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {
using namespace jobs;
using prediction::HeldOutValue;

/// Factors, for logarithms are predicted: a noise that is ten times as large as predicted, or a tenth of it, has 10.
struct NoiseScore {
  std::string leftOut;
  size_t rows = 0;
  double medianFactor = 1, meanFactor = 1, coverage = 0, width = 1;
  std::vector<std::pair<std::string, HeldOutValue>> models;
};
struct NoiseDocument {
  std::vector<NoiseScore> scores;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

NoiseScore scoreOf(const std::string &leftOut, const std::vector<LeftOutNoise> &values) {
  NoiseScore score{leftOut, values.size(), 1, 1, 0, 1, {}};
  std::vector<double> errors, widths;
  double sum = 0;
  for (const auto &[model, value] : values) {
    errors.push_back(std::abs(std::log(value.predicted / value.measured)));
    widths.push_back(std::log(value.high / value.low));
    sum += errors.back();
    score.coverage += value.isCovered() / static_cast<double>(values.size());
    score.models.push_back({model, value});
  }
  score.medianFactor = std::exp(median(errors)), score.width = std::exp(median(widths));
  score.meanFactor = std::exp(sum / static_cast<double>(values.size()));
  return score;
}

void describeModel(JsonFields &f, std::pair<std::string, HeldOutValue> &one) {
  f.field("model", one.first).field("family", one.second.group);
  f.about("samples; of language models that predict every token, tokens").field("measured", one.second.measured);
  f.field("predicted", one.second.predicted);
  f.about("90 of 100 such noise scales lie from here").field("low", one.second.low).field("high", one.second.high);
}
void describeScore(JsonFields &f, NoiseScore &score) {
  f.about("what was left out as a whole").field("without", score.leftOut);
  f.field("rows", score.rows);
  f.about("of predicted over measured or its inverse, whichever is larger").field("median_factor", score.medianFactor);
  f.about("the geometric mean of the same").field("mean_factor", score.meanFactor);
  f.about("share of measured values in their interval").field("coverage", score.coverage);
  f.about("median of high / low").field("interval_ratio", score.width);
  f.field("models", score.models, describeModel);
}
void describeDocument(JsonFields &f, NoiseDocument &document) {
  f.head("calibrate").field("scores", document.scores, describeScore);
}
llvm::json::Value noiseSchema() {
  NoiseDocument document;
  return describeJson([&](JsonVisitor &v) { visitValue(v, document, describeDocument); }, JsonRule::Open);
}
const DocumentEntry kDocument("noise", "accord calibrate --gradient-noise --json",
                              "How far predicted gradient noise scales of trainings that were left out are from "
                              "measured ones.",
                              noiseSchema);

void print(const NoiseScore &score) {
  const TextStyle style = TextStyle::of(standardOutput());
  TextTable text("lrrrr", {"model", "measured", "predicted", "90 % from", "to"});
  for (const auto &[model, value] : score.models)
    text.row({model, fmt::format("{:.3g}", value.measured), fmt::format("{:.3g}", value.predicted),
              fmt::format("{:.2g}", value.low), fmt::format("{:.2g}", value.high)});
  standardOutput() << fmt::format("{} left out: off by {:.1f} times in the median, {:.1f} times in the mean; {:.0f} % "
                                  "within 90 %, high / low {:.0f}\n",
                                  score.leftOut, score.medianFactor, score.meanFactor, 100 * score.coverage,
                                  score.width)
                   << text.text(style);
}

std::optional<std::vector<MeasuredNoise>> read(Diagnostics &diags, const std::string &path) {
  auto file = readFile(diags, path);
  if (!file)
    return std::nullopt;
  auto table = readNoiseTable(diags.sources().text(*file), path);
  if (table)
    return std::move(*table);
  reportOfFile(diags, diags.sources(), table.error());
  return std::nullopt;
}

} // namespace

std::optional<std::vector<MeasuredNoise>> catalogNoises(Diagnostics &diags) {
  return read(diags, catalogFolder() + "/gradient-noise.csv");
}

int predictNoises(const NoisePredictionOptions &options) {
  SourceManager sources;
  Diagnostics diags(sources);
  if (auto table = read(diags, options.table)) {
    NoiseDocument document;
    if (table->size() < 2)
      diags.error(Code::WrongJobsFile, {},
                  fmt::format("'{}' has no two models, of which one is left out", options.table));
    else
      for (const auto &[group, name] :
           {std::pair(NoiseGroup::Model, "each model"), {NoiseGroup::Family, "each family"}})
        document.scores.push_back(scoreOf(name, leaveNoiseOut(*table, group)));
    if (options.json && !document.scores.empty())
      standardOutput() << jsonText(toDocument(document, describeDocument)) << "\n";
    else
      for (const NoiseScore &score : document.scores)
        print(score);
  }
  return finish(diags, kDone, options.json, "calibrate");
}

} // namespace accord
