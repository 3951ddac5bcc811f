#include "lib/machine/calibration/CalibrationFile.h"
#include "lib/support/Number.h"
#include <algorithm>
#include <cctype>
#include <cmath>
#include <fmt/format.h>

namespace accord::calibrate {
namespace {

std::string quoted(const std::string &text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out + "\"";
}

std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }

class Reader {
public:
  Reader(std::string_view text, const std::string &path) : text(text), path(path) {}

  Result<CalibrationFile, Errors> run() {
    for (size_t start = 0; start <= text.size() && issues.size() < 20; ++number) {
      size_t end = std::min(text.find('\n', start), text.size());
      line = text.substr(start, end - start);
      if (line.ends_with('\r'))
        line.remove_suffix(1);
      at = 0;
      statement();
      start = end + 1;
    }
    if (issues.empty())
      complete();
    if (!issues.empty())
      return std::move(issues);
    return std::move(out);
  }

private:
  void complain(size_t column, std::string message) {
    if (issues.size() < 20)
      issues.push_back({Code::BadCalibration, std::move(message), {path, number, static_cast<unsigned>(column + 1)}});
    failed = true;
  }
  void blanks() {
    while (at < line.size() && (line[at] == ' ' || line[at] == '\t'))
      ++at;
  }
  std::string_view word() {
    blanks();
    size_t start = at;
    while (at < line.size() && (std::isalnum(static_cast<unsigned char>(line[at])) || line[at] == '_'))
      ++at;
    return line.substr(start, at - start);
  }
  bool accept(std::string_view token) {
    blanks();
    if (line.substr(at, token.size()) != token)
      return false;
    at += token.size();
    return true;
  }
  bool expect(std::string_view token) {
    if (accept(token))
      return true;
    complain(at, fmt::format("expected '{}'", token));
    return false;
  }
  double positive() {
    blanks();
    llvm::StringRef written = leadingNumber(llvm::StringRef(line).drop_front(at));
    auto value = parseReal(written);
    if (!value || *value <= 0) {
      complain(at, !value && value.error().code == Code::NumberTooLarge ? value.error().message
                                                                        : "expected a number above 0");
      return 1;
    }
    at += written.size();
    return *value;
  }
  std::string string() {
    std::string value;
    if (!expect("\""))
      return value;
    for (; at < line.size() && line[at] != '"'; ++at) {
      if (line[at] == '\\' && at + 1 < line.size())
        ++at;
      value += line[at];
    }
    expect("\"");
    return value;
  }

  void statement() {
    failed = false;
    blanks();
    if (at >= line.size() || line.substr(at).starts_with("//"))
      return;
    size_t start = at;
    std::string name(word());
    if (!version && name != "calibration")
      return complain(start, "a calibration file starts with 'calibration 2'");
    if (name == "calibration") {
      if (version)
        return complain(start, "'calibration' a second time");
      version = true;
      if (positive() != kCalibrationVersion && !failed)
        complain(start, fmt::format("this version reads 'calibration {}'", kCalibrationVersion));
    } else if (name == "machine") {
      if (!out.machine.empty())
        return complain(start, "'machine' a second time");
      out.machine = string();
    } else if (name == "prior_weight") {
      expect("=");
      out.priorWeight = positive();
    } else if (name == "step_time" || name == "other_step_time") {
      StepTimeInterval &interval = name == "step_time" ? out.stepTime.attending : out.stepTime.other;
      expect("=");
      interval.low = positive();
      if (!failed && expect(".."))
        interval.high = positive();
      if (!failed && interval.low > interval.high)
        complain(start, fmt::format("the interval of '{}' ends before it begins", name));
    } else if (name == "assume") {
      out.assumptions.push_back(string());
    } else if (name == "row") {
      row();
    } else {
      parameter(name, start);
    }
    if (failed)
      return;
    blanks();
    if (at < line.size() && !line.substr(at).starts_with("//"))
      complain(at, "nothing more is expected in this line");
  }

  void row() {
    Residual r;
    r.id = string();
    if (!failed && expect("of"))
      r.stratum = string();
    if (!failed && expect("measured"))
      r.measured = positive();
    if (!failed && expect("s") && expect("computed"))
      r.computed = positive();
    if (!failed && expect("s"))
      out.rows.push_back(std::move(r));
  }

  void parameter(const std::string &name, size_t start) {
    size_t index = 0;
    while (index < kParameters && name != info(index).name)
      ++index;
    if (index == kParameters)
      return complain(start, fmt::format("unknown name '{}'", name));
    if (seen[index])
      return complain(start, fmt::format("'{}' a second time", name));
    seen[index] = true;
    std::string_view unit = info(index).unit;
    if (!expect("="))
      return;
    size_t place = at;
    out.value[index] = positive();
    if (failed || (!unit.empty() && !expect(unit)) || !expect("in"))
      return;
    out.low[index] = positive();
    if (failed || !expect(".."))
      return;
    out.high[index] = positive();
    if (failed)
      return;
    if (out.value[index] > info(index).upper * (1 + 1e-9))
      return complain(place, fmt::format("'{}' is at most {}", name, info(index).upper));
    if (out.value[index] < out.low[index] || out.value[index] > out.high[index])
      return complain(place, fmt::format("'{}' is outside of its interval", name));
    out.informed[index] = !accept("assumed");
  }

  void complete() {
    number = 1;
    if (!version)
      return complain(0, "an empty file, expected 'calibration 2'");
    if (out.machine.empty())
      complain(0, "'machine' is missing");
    for (size_t i = 0; i < kParameters; ++i)
      if (!seen[i])
        complain(0, fmt::format("'{}' is missing", info(i).name));
  }

  std::string_view text, line;
  const std::string &path;
  unsigned number = 1;
  size_t at = 0;
  bool version = false, failed = false;
  std::array<bool, kParameters> seen{};
  CalibrationFile out;
  Errors issues;
};

} // namespace

CalibrationFile calibrationOf(const std::string &machine, const Parameters &prior, const Fit &fit,
                              std::vector<Residual> rows, std::vector<std::string> assumptions) {
  CalibrationFile file;
  file.machine = machine;
  file.priorWeight = fit.priorWeight;
  file.value = parametersOf(prior, fit.factors);
  for (size_t i = 0; i < kParameters; ++i) {
    file.low[i] = std::min(prior[i] * fit.low[i], file.value[i]);
    file.high[i] = std::clamp(prior[i] * fit.high[i], file.value[i], std::max(file.value[i], info(i).upper));
  }
  file.informed = fit.informed;
  file.rows = std::move(rows);
  file.assumptions = std::move(assumptions);
  return file;
}

std::map<std::string, std::vector<Residual>> byStratum(const std::vector<Residual> &rows) {
  std::map<std::string, std::vector<Residual>> strata;
  for (const Residual &r : rows)
    strata[r.stratum].push_back(r);
  return strata;
}

std::string write(const CalibrationFile &file) {
  std::string out = fmt::format(
      "// Fitted by accord calibrate to {} measured steps. Read by: efficiency from \"…\" in a machine.\n"
      "calibration {}\nmachine {}\nprior_weight = {}\nstep_time = {} .. {}\nother_step_time = {} .. {}\n",
      file.rows.size(), kCalibrationVersion, quoted(file.machine), file.priorWeight, file.stepTime.attending.low,
      file.stepTime.attending.high, file.stepTime.other.low, file.stepTime.other.high);
  for (size_t i = 0; i < kParameters; ++i)
    out += fmt::format("{} = {}{}{} in {} .. {}{}\n", info(i).name, file.value[i], *info(i).unit ? " " : "",
                       info(i).unit, file.low[i], file.high[i], file.informed[i] ? "" : " assumed");
  for (const std::string &assumption : file.assumptions)
    out += "assume " + quoted(assumption) + "\n";
  for (auto &[stratum, rows] : byStratum(file.rows)) {
    Score s = scoreOf(rows);
    std::string title = quoted(stratum);
    out += fmt::format("\n// {}: {} rows, mean error {}, bias {}, median {}, worst {}\n", title, s.rows,
                       percent(s.mape), percent(s.bias), percent(s.median), percent(s.worst));
    for (const Residual &r : rows)
      out += fmt::format("row {} of {} measured {} s computed {} s\n", quoted(r.id), title, r.measured, r.computed);
  }
  return out;
}

Result<CalibrationFile, Errors> readCalibration(std::string_view text, const std::string &path) {
  return Reader(text, path).run();
}

Factors factorsOf(const CalibrationFile &file, const Parameters &prior) {
  Factors factors;
  for (size_t i = 0; i < kParameters; ++i)
    factors[i] = file.value[i] / prior[i];
  return factors;
}

} // namespace accord::calibrate
