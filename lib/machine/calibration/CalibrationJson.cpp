#include "lib/machine/calibration/CalibrationJson.h"
#include "lib/support/Version.h"
#include "lib/support/documents/Fields.h"
#include <fmt/format.h>

namespace accord::calibrate {
namespace {

struct StratumScore {
  std::string name;
  Score score;
};

struct FittedParameter {
  std::string name, unit;
  double value = 0, low = 0, high = 0;
  bool informed = false;
};

struct CorrelatedPair {
  std::string first, second;
  double correlation = 0;
};

struct CalibrationDocument {
  std::string version = kVersion, machine;
  double priorWeight = 0;
  std::vector<FittedParameter> parameters;
  std::optional<std::vector<CorrelatedPair>> correlated;
  std::optional<std::vector<std::string>> atBound;
  StratumScore total;
  std::vector<StratumScore> strata;
  std::vector<Residual> rows;
  Errors excluded;
  std::vector<std::string> assumptions;
};

CalibrationDocument documentOf(const CalibrationFile &file, const Fit *fit, const Errors &leftOut) {
  CalibrationDocument document;
  document.machine = file.machine, document.priorWeight = file.priorWeight, document.assumptions = file.assumptions;
  document.rows = file.rows, document.excluded = leftOut;
  for (size_t i = 0; i < kParameters; ++i)
    document.parameters.push_back(
        {info(i).name, info(i).unit, file.value[i], file.low[i], file.high[i], file.informed[i]});
  for (auto &[name, rows] : byStratum(file.rows))
    document.strata.push_back({name, scoreOf(rows)});
  document.total = {"all", scoreOf(file.rows)};
  if (!fit)
    return document;
  document.correlated.emplace(), document.atBound.emplace();
  for (const Fit::Pair &pair : fit->correlated)
    document.correlated->push_back({info(pair.first).name, info(pair.second).name, pair.correlation});
  for (size_t i = 0; i < kParameters; ++i)
    if (fit->atBound[i])
      document.atBound->push_back(info(i).name);
  return document;
}

void describeScore(JsonFields &f, StratumScore &of) {
  f.field("name", of.name).field("rows", of.score.rows);
  f.about("mean of |error|").field("mean_error", of.score.mape).about("mean of error").field("bias", of.score.bias);
  f.field("median_error", of.score.median).field("worst_error", of.score.worst);
}

void describeParameter(JsonFields &f, FittedParameter &parameter) {
  f.field("name", parameter.name).field("value", parameter.value);
  f.about("empty for a plain number").field("unit", parameter.unit);
  f.about("lower end of the 95 % interval").field("low", parameter.low).field("high", parameter.high);
  f.about("false: the rows say nothing of it, the value is the default").field("informed", parameter.informed);
}

void describePair(JsonFields &f, CorrelatedPair &pair) {
  f.field("first", pair.first).field("second", pair.second).field("correlation", pair.correlation);
}

void describeRow(JsonFields &f, Residual &row) {
  f.field("id", row.id).field("stratum", row.stratum).field("measured_s", row.measured);
  f.field("computed_s", row.computed).about("computed / measured - 1").computed("error", [&] { return row.error(); });
}

void describeExcluded(JsonFields &f, Error &error) {
  f.computed("code", [&] { return numberOf(error.code); }).field("message", error.message);
  f.field("file", error.location.file).field("line", error.location.line).field("column", error.location.column);
}

void describeDocument(JsonFields &f, CalibrationDocument &document) {
  f.constant("command", "calibrate", "no calibration");
  f.about("version of accord that wrote this").field("version", document.version);
  f.constant("status", "done", "no calibration");
  f.about("the machine whose values these are").field("machine", document.machine);
  f.field("prior_weight", document.priorWeight).field("parameters", document.parameters, describeParameter);
  f.about("pairs of parameters that the rows do not tell apart; absent with --check")
      .maybe("correlated", document.correlated, describePair);
  f.about("parameters at their largest value; absent with --check").maybe("at_bound", document.atBound);
  f.field("total", document.total, describeScore).field("strata", document.strata, describeScore);
  f.field("rows", document.rows, describeRow);
  f.about("rows that are not fitted, and why").field("excluded_rows", document.excluded, describeExcluded);
  f.field("assumptions", document.assumptions);
}

} // namespace

llvm::json::Value toJson(const CalibrationFile &file, const Fit *fit, const Errors &leftOut) {
  return toDocument(documentOf(file, fit, leftOut), describeDocument);
}

llvm::json::Value calibrateSchema() {
  CalibrationDocument document;
  return describeJson([&](JsonVisitor &v) { visitValue(v, document, describeDocument); }, JsonRule::Open);
}

std::string toText(const CalibrationFile &file, const Fit *fit) {
  std::string out = fmt::format("{} rows on {}\n\n", file.rows.size(), file.machine);
  out += fmt::format("{:<24} {:>11} {:<4} {:>11} {:>11}\n", "parameter", "value", "", "low", "high");
  for (size_t i = 0; i < kParameters; ++i)
    out += fmt::format("{:<24} {:>11.4g} {:<4} {:>11.4g} {:>11.4g}{}\n", info(i).name, file.value[i], info(i).unit,
                       file.low[i], file.high[i],
                       !file.informed[i]                            ? "  assumed: the rows say nothing of it"
                       : fit && fit->atBound[i]                     ? "  at its bound"
                       : file.high[i] - file.low[i] > file.value[i] ? "  the interval is wider than the value"
                                                                    : "");
  if (fit)
    for (const Fit::Pair &pair : fit->correlated)
      out += fmt::format("the rows do not tell {} from {} (correlation {:+.2f})\n", info(pair.first).name,
                         info(pair.second).name, pair.correlation);
  out += fmt::format("\n{:<52} {:>5} {:>7} {:>7} {:>7} {:>7}\n", "rows of", "", "mean", "bias", "median", "worst");
  auto line = [&](const std::string &name, const std::vector<Residual> &rows) {
    Score s = scoreOf(rows);
    out += fmt::format("{:<52} {:>5} {:>5.1f} % {:>+5.1f} % {:>5.1f} % {:>5.1f} %\n", name, s.rows, 100 * s.mape,
                       100 * s.bias, 100 * s.median, 100 * s.worst);
  };
  for (auto &[name, rows] : byStratum(file.rows))
    line(name, rows);
  line("all", file.rows);
  for (const std::string &assumption : file.assumptions)
    out += "assumed: " + assumption + "\n";
  return out;
}

} // namespace accord::calibrate
