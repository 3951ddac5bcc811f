#include "lib/machine/calibration/CalibrationJson.h"
#include "lib/support/Version.h"
#include "lib/support/documents/JsonText.h"
#include <fmt/format.h>

namespace accord::calibrate {

using llvm::json::Array;
using llvm::json::Object;

static Object scoreJson(const std::string &name, const std::vector<Residual> &rows) {
  Score s = scoreOf(rows);
  return Object{{"name", jsonString(name)}, {"rows", static_cast<int64_t>(s.rows)},
                {"mean_error", s.mape},     {"bias", s.bias},
                {"median_error", s.median}, {"worst_error", s.worst}};
}

llvm::json::Value toJson(const CalibrationFile &file, const Fit *fit, const Errors &leftOut) {
  Array parameters, strata, rows, left, assumptions, correlated, bounds;
  for (size_t i = 0; i < kParameters; ++i)
    parameters.push_back(Object{{"name", info(i).name},
                                {"value", file.value[i]},
                                {"unit", info(i).unit},
                                {"low", file.low[i]},
                                {"high", file.high[i]},
                                {"informed", bool(file.informed[i])}});
  for (auto &[name, members] : byStratum(file.rows))
    strata.push_back(scoreJson(name, members));
  for (const Residual &r : file.rows)
    rows.push_back(Object{{"id", jsonString(r.id)},
                          {"stratum", jsonString(r.stratum)},
                          {"measured_s", r.measured},
                          {"computed_s", r.computed},
                          {"error", r.error()}});
  for (const Error &error : leftOut)
    left.push_back(Object{{"code", numberOf(error.code)},
                          {"message", jsonString(error.message)},
                          {"file", jsonString(error.location.file)},
                          {"line", error.location.line},
                          {"column", error.location.column}});
  for (const std::string &assumption : file.assumptions)
    assumptions.push_back(jsonString(assumption));
  Object document{{"command", "calibrate"},
                  {"version", kVersion},
                  {"status", "done"},
                  {"machine", jsonString(file.machine)},
                  {"prior_weight", file.priorWeight},
                  {"parameters", std::move(parameters)},
                  {"total", scoreJson("all", file.rows)},
                  {"strata", std::move(strata)},
                  {"rows", std::move(rows)},
                  {"excluded_rows", std::move(left)},
                  {"assumptions", std::move(assumptions)}};
  if (fit) {
    for (const Fit::Pair &pair : fit->correlated)
      correlated.push_back(Object{
          {"first", info(pair.first).name}, {"second", info(pair.second).name}, {"correlation", pair.correlation}});
    for (size_t i = 0; i < kParameters; ++i)
      if (fit->atBound[i])
        bounds.push_back(info(i).name);
    document["correlated"] = std::move(correlated);
    document["at_bound"] = std::move(bounds);
  }
  return document;
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
