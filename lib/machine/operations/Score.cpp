#include "lib/machine/operations/Score.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <set>

namespace accord::operations {
namespace {

constexpr double kShort = 50e-6, kLong = 1e-3; // seconds

const char *sizeOf(const Prediction &one) {
  if (one.measured < kShort)
    return "below 50 us";
  return one.measured < kLong ? "50 us to 1 ms" : "above 1 ms";
}

Result<std::vector<Prediction>> predictOthers(const std::vector<Row> &rows, const Devices &devices,
                                              const std::function<bool(const Row &)> &isSeen) {
  std::vector<Row> seen, unseen;
  for (const Row &row : rows)
    (isSeen(row) ? seen : unseen).push_back(row);
  ACCORD_TRY(made, fit(seen, devices));
  return predictions(made, unseen, devices);
}

} // namespace

std::vector<Prediction> predictions(const Fit &fit, const std::vector<Row> &rows, const Devices &devices) {
  std::vector<Prediction> out;
  for (const Row &row : rows)
    out.push_back({row.operation.kind, row.device, row.seconds, predict(fit, row.operation, devices.at(row.device))});
  return out;
}

ErrorTable summarize(const std::string &title, const std::vector<Prediction> &predictions) {
  ErrorTable table{title, {}};
  auto add = [&](const std::string &group, const std::function<bool(const Prediction &)> &isMember) {
    ErrorSummary summary{group};
    for (const Prediction &one : predictions)
      if (isMember(one)) {
        ++summary.rows;
        summary.meanError += std::abs(one.error());
        summary.bias += one.error();
      }
    if (summary.rows == 0)
      return;
    summary.meanError /= static_cast<double>(summary.rows);
    summary.bias /= static_cast<double>(summary.rows);
    table.groups.push_back(summary);
  };
  for (Kind kind : {Kind::Gemm, Kind::BatchedGemm, Kind::Softmax, Kind::LayerNorm, Kind::ElementWise})
    add(nameOf(kind), [&](const Prediction &one) { return one.kind == kind; });
  std::set<std::string> devices;
  for (const Prediction &one : predictions)
    devices.insert(one.device);
  for (const std::string &device : devices)
    add(device, [&](const Prediction &one) { return one.device == device; });
  for (std::string size : {"below 50 us", "50 us to 1 ms", "above 1 ms"})
    add(size, [&](const Prediction &one) { return sizeOf(one) == size; });
  add("all", [](const Prediction &) { return true; });
  return table;
}

Result<std::vector<Prediction>> leaveDevicesOut(const std::vector<Row> &rows, const Devices &devices) {
  std::set<std::string> names;
  for (const Row &row : rows)
    names.insert(row.device);
  std::vector<Prediction> all;
  for (const std::string &name : names) {
    ACCORD_TRY(part, predictOthers(rows, devices, [&](const Row &row) { return row.device != name; }));
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

Result<std::vector<Prediction>> predictOtherHalf(const std::vector<Row> &rows, const Devices &devices) {
  return predictOthers(rows, devices, isInFittedHalf);
}

std::string toText(const std::vector<ErrorTable> &tables) {
  std::string out = fmt::format("{:<28}", "mean error (bias) of");
  std::vector<std::string> groups;
  for (const ErrorTable &table : tables) {
    out += fmt::format(" {:>24}", table.title);
    for (const ErrorSummary &one : table.groups)
      if (std::find(groups.begin(), groups.end(), one.group) == groups.end())
        groups.push_back(one.group);
  }
  out += "\n";
  for (const std::string &group : groups) {
    out += fmt::format("{:<28}", group);
    for (const ErrorTable &table : tables) {
      std::string cell;
      for (const ErrorSummary &one : table.groups)
        if (one.group == group)
          cell = fmt::format("{:.1f} % ({:+.1f}) of {}", 100 * one.meanError, 100 * one.bias, one.rows);
      out += fmt::format(" {:>24}", cell);
    }
    out += "\n";
  }
  return out;
}

} // namespace accord::operations
