#include "lib/calibrate/Lint.h"
#include "lib/calibrate/Parameters.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace accord::calibrate {
namespace {

constexpr double kScalingSlack = 1.05;
constexpr double kShortText = 512;

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
       {"family",    "model",      "layers",       "hidden",      "ffn",         "heads",
        "kv_heads",  "vocab",      "seq_len",      "attn_kernel", "mlp_kind",    "accelerator",
        "precision", "optimizer",  "tp",           "pp",          "vpp",         "cp",
        "ep",        "zero_stage", "seq_parallel", "recompute",   "micro_batch", "metric",
        "framework", "source"})
    key += text(row, column) + "\x1f";
  if (!scaled)
    for (const char *column : {"n_devices", "dp", "global_batch", "grad_accum"})
      key += text(row, column) + "\x1f";
  return key;
}

bool isStepTime(const Row &row) {
  return row.step_time_s && *row.step_time_s > 0 && row.global_batch && row.n_devices;
}

void checkPeak(const Row &row, const LintOptions &options, std::vector<Issue> &issues) {
  const Machine *machine = options.machine ? options.machine(row) : nullptr;
  std::string type = typeOf(row);
  if (!machine || type.empty() || !row.model_pflop_per_step || !isStepTime(row))
    return;
  double peak = peakOf(*machine, type) * *row.n_devices;
  double rate = *row.model_pflop_per_step * 1e15 / *row.step_time_s;
  if (!(peak > 0) || rate <= peak)
    return;
  std::string message = fmt::format("'{}': {:.0f} % of the peak of {} in {}", row.id,
                                    100 * rate / peak, machine->name, type);
  if (row.seq_len && *row.seq_len <= kShortText && *row.seq_len > 128)
    message += fmt::format(
        "; a length of {:.0f} words is the longest there is, real text is shorter", *row.seq_len);
  issues.push_back({"A0463", message, at(row, "step_time_s"), {}});
}

void checkProduct(const Row &row, std::vector<Issue> &issues) {
  if (!row.tp || !row.pp || !row.dp || !row.n_devices)
    return;
  double product = *row.tp * *row.pp * *row.dp * row.cp.value_or(1);
  bool sharded = row.zero_stage == "3" || row.zero_stage == "fsdp";
  bool fits = std::fmod(product, *row.n_devices) == 0 ||
              (sharded && std::fmod(*row.n_devices, product) == 0);
  if (!fits)
    issues.push_back({"A0464",
                      fmt::format("'{}': tp {} * pp {} * dp {} = {} on {} devices", row.id, *row.tp,
                                  *row.pp, *row.dp, product, *row.n_devices),
                      at(row, "n_devices"),
                      {}});
}

double samplesPerSecond(const Row &row) { return *row.global_batch / *row.step_time_s; }

} // namespace

std::vector<Issue> lint(const std::vector<Row> &rows, const LintOptions &options) {
  std::vector<Issue> issues;
  std::map<std::string, std::vector<const Row *>> scaled, same;
  for (const Row &row : rows)
    if (isStepTime(row)) {
      scaled[configuration(row, true)].push_back(&row);
      same[configuration(row, false)].push_back(&row);
    }
  for (const Row &row : rows) {
    checkPeak(row, options, issues);
    checkProduct(row, issues);
    if (!isStepTime(row))
      continue;
    for (const Row *fewer : scaled[configuration(row, true)]) {
      double more = *row.n_devices / *fewer->n_devices;
      // The same work for each device: with more of it, costs of a step weigh less.
      bool alike =
          std::abs(*row.global_batch / *row.n_devices * *fewer->n_devices / *fewer->global_batch -
                   1) < 0.01;
      if (more > 1 && alike &&
          samplesPerSecond(row) > kScalingSlack * more * samplesPerSecond(*fewer)) {
        issues.push_back(
            {"A0464",
             fmt::format("'{}': {:.1f} times as fast as on {} of {} devices", row.id,
                         samplesPerSecond(row) / samplesPerSecond(*fewer), *fewer->n_devices,
                         *row.n_devices),
             at(row, "step_time_s"),
             {{at(*fewer, "step_time_s"), fmt::format("'{}' is the slower one", fewer->id)}}});
        break;
      }
    }
    for (const Row *other : same[configuration(row, false)])
      if (other != &row &&
          std::abs(*other->step_time_s - *row.step_time_s) >
              options.tolerance * std::min(*other->step_time_s, *row.step_time_s)) {
        issues.push_back(
            {"A0464",
             fmt::format("'{}' and '{}' are one configuration with two values, {} s and {} s",
                         row.id, other->id, *row.step_time_s, *other->step_time_s),
             at(row, "step_time_s"),
             {{at(*other, "step_time_s"), "the other value"}}});
        break;
      }
  }
  return issues;
}

} // namespace accord::calibrate
