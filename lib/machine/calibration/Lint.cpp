#include "lib/machine/calibration/Lint.h"
#include "lib/machine/calibration/Parameters.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace accord::calibrate {
namespace {

constexpr double kScalingSlack = 1.05;
constexpr double kShortText = 512;
constexpr double kTolerance = 0.1; ///< relative difference of two values for one configuration

SourceLocation at(const Row &row, const char *column) {
  SourceLocation place = row.location;
  if (auto found = row.columnAt.find(column); found != row.columnAt.end())
    place.column = found->second;
  return place;
}

std::string typeOf(const Row &row) {
  for (const char *type : {"fp16", "bf16", "fp8", "tf32", "fp32"})
    if (row.precision.starts_with(type))
      return type;
  return {};
}

std::string text(const Row &row, const char *column) {
  auto found = row.text.find(column);
  return found == row.text.end() ? std::string() : found->second;
}

/// Everything of a row that says what ran, but for how many devices it ran on if `scaled`.
std::string configuration(const Row &row, bool scaled) {
  std::string key;
  for (const char *column :
       {"family",     "model",        "layers",      "hidden",      "ffn",         "heads",     "kv_heads",
        "vocab",      "seq_len",      "attn_kernel", "mlp_kind",    "accelerator", "precision", "optimizer",
        "call",       "serving",      "tp",          "pp",          "vpp",         "cp",        "ep",
        "zero_stage", "seq_parallel", "recompute",   "micro_batch", "metric",      "framework", "source"})
    key += text(row, column) + "\x1f";
  if (!scaled)
    for (const char *column : {"n_devices", "dp", "global_batch", "grad_accum"})
      key += text(row, column) + "\x1f";
  return key;
}

bool isStepTime(const Row &row) { return row.step_time_s && *row.step_time_s > 0 && row.global_batch && row.n_devices; }

/// One configuration with several values: said once, at the first row that contradicts another.
std::optional<Finding> contradiction(const std::vector<Row> &rows, const std::vector<size_t> &same) {
  std::vector<size_t> against;
  for (size_t a : same)
    for (size_t b : same)
      if (std::abs(*rows[a].step_time_s - *rows[b].step_time_s) >
          kTolerance * std::min(*rows[a].step_time_s, *rows[b].step_time_s)) {
        against.push_back(a);
        break;
      }
  if (against.empty())
    return std::nullopt;
  const Row &first = rows[against.front()];
  Finding found{
      {Code::ImplausibleRow,
       fmt::format("'{}' is a configuration with {} values, here {} s", first.id, against.size(), *first.step_time_s),
       at(first, "step_time_s")},
      against};
  for (size_t i = 1; i < against.size(); ++i) {
    const Row &other = rows[against[i]];
    found.error.notes.emplace_back(at(other, "step_time_s"),
                                   fmt::format("'{}' is the same configuration: {} s", other.id, *other.step_time_s));
  }
  return found;
}

std::optional<Error> checkPeak(const Row &row, const Machine *machine) {
  std::string type = typeOf(row);
  if (!machine || type.empty() || !row.model_pflop_per_step || !isStepTime(row))
    return std::nullopt;
  double peak = peakOf(*machine, type) * *row.n_devices;
  double rate = *row.model_pflop_per_step * 1e15 / *row.step_time_s;
  if (!(peak > 0) || rate <= peak)
    return std::nullopt;
  std::string message =
      fmt::format("'{}': {:.0f} % of the peak of {} in {}", row.id, 100 * rate / peak, machine->name, type);
  if (row.seq_len && *row.seq_len <= kShortText && *row.seq_len > 128)
    message += fmt::format("; a length of {:.0f} words is the longest there is, real text is shorter", *row.seq_len);
  return Error{Code::AbovePeak, message, at(row, "step_time_s")};
}

std::optional<Error> checkProduct(const Row &row) {
  if (!row.tp || !row.pp || !row.dp || !row.n_devices)
    return std::nullopt;
  double product = *row.tp * *row.pp * *row.dp * row.cp.value_or(1);
  bool sharded = row.zero_stage == "3" || row.zero_stage == "fsdp";
  bool fits = std::fmod(product, *row.n_devices) == 0 || (sharded && std::fmod(*row.n_devices, product) == 0);
  if (fits)
    return std::nullopt;
  return Error{Code::ImplausibleRow,
               fmt::format("'{}': tp {} * pp {} * dp {} = {} on {} devices", row.id, *row.tp, *row.pp, *row.dp, product,
                           *row.n_devices),
               at(row, "n_devices")};
}

/// Every replica computes the same number of whole micro-batches.
std::optional<Error> checkBatch(const Row &row) {
  if (!row.global_batch || !row.dp)
    return std::nullopt;
  double together = *row.dp * row.micro_batch.value_or(1);
  if (std::fmod(*row.global_batch, together) == 0)
    return std::nullopt;
  std::string shared = row.micro_batch ? fmt::format("dp {} * micro_batch {}", *row.dp, *row.micro_batch)
                                       : fmt::format("dp {}", *row.dp);
  return Error{Code::ImplausibleRow,
               fmt::format("'{}': a global batch of {} is no multiple of {}", row.id, *row.global_batch, shared),
               at(row, "global_batch")};
}

double samplesPerSecond(const Row &row) { return *row.global_batch / *row.step_time_s; }

/// Faster than linear scaling allows, against the same job on fewer devices.
std::optional<Error> checkScaling(const std::vector<Row> &rows, const Row &row, const std::vector<size_t> &job) {
  for (size_t index : job) {
    const Row &fewer = rows[index];
    double more = *row.n_devices / *fewer.n_devices;
    // The same work for each device: with more of it, costs of a step weigh less.
    bool alike = std::abs(*row.global_batch / *row.n_devices * *fewer.n_devices / *fewer.global_batch - 1) < 0.01;
    if (more > 1 && alike && samplesPerSecond(row) > kScalingSlack * more * samplesPerSecond(fewer))
      return Error{Code::ImplausibleRow,
                   fmt::format("'{}': {:.1f} times as fast as on {} of {} devices", row.id,
                               samplesPerSecond(row) / samplesPerSecond(fewer), *fewer.n_devices, *row.n_devices),
                   at(row, "step_time_s"),
                   {{at(fewer, "step_time_s"), fmt::format("'{}' is the slower one", fewer.id)}}};
  }
  return std::nullopt;
}

} // namespace

std::vector<Finding> lint(const std::vector<Row> &rows, const MachineOf &machineOf) {
  std::vector<Finding> findings;
  std::map<std::string, std::vector<size_t>> scaled, same;
  for (size_t i = 0; i < rows.size(); ++i)
    if (isStepTime(rows[i])) {
      scaled[configuration(rows[i], true)].push_back(i);
      same[configuration(rows[i], false)].push_back(i);
    }
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row &row = rows[i];
    for (auto &error : {checkPeak(row, machineOf ? machineOf(row) : nullptr), checkProduct(row), checkBatch(row),
                        isStepTime(row) ? checkScaling(rows, row, scaled[configuration(row, true)]) : std::nullopt})
      if (error)
        findings.push_back({*error, {i}});
    if (!isStepTime(row))
      continue;
    const std::vector<size_t> &values = same[configuration(row, false)];
    if (values.front() == i)
      if (auto found = contradiction(rows, values))
        findings.push_back(std::move(*found));
  }
  return findings;
}

} // namespace accord::calibrate
