#include "lib/comparison/output/ComparisonOutput.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include <array>
#include <fmt/format.h>

namespace accord::comparison {
namespace {

/// A cell of a table: quoted where a comma, a quote or the end of a line would end it.
std::string cell(const std::string &text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos)
    return text;
  std::string quoted = "\"";
  for (char c : text)
    quoted += c == '"' ? "\"\"" : c == '\n' || c == '\r' ? " " : std::string(1, c);
  return quoted + "\"";
}

template <size_t n>
std::string line(const std::array<const char *, n> &names, const std::map<std::string, std::string> &cells) {
  std::string text;
  for (const char *name : names) {
    auto found = cells.find(name);
    text += (name == names.front() ? "" : ",") + (found == cells.end() ? std::string() : cell(found->second));
  }
  return text + "\n";
}

template <size_t n> std::string heading(const std::array<const char *, n> &names) {
  std::string text;
  for (const char *name : names)
    text += (name == names.front() ? "" : ",") + std::string(name);
  return text + "\n";
}

constexpr std::array kSteps{"id",          "family",    "model",     "layers",       "hidden",      "ffn",
                            "heads",       "kv_heads",  "vocab",     "seq_len",      "attn_kernel", "mlp_kind",
                            "accelerator", "n_devices", "precision", "optimizer",    "tp",          "pp",
                            "dp",          "cp",        "recompute", "global_batch", "micro_batch", "metric",
                            "step_time_s", "framework", "source",    "quality"};
constexpr std::array kOperations{"operation", "batch", "m",      "n",          "k",
                                 "width",     "type",  "device", "latency_ms", "kernel"};

} // namespace

std::string stepRows(const Comparison &comparison) {
  std::map<std::string, std::string> cells = comparison.plan.columns;
  const MeasuredStep &step = comparison.measured;
  cells["id"] = comparison.plan.job + "-" + (step.step.empty() ? "step" : step.step);
  cells["metric"] = "step";
  cells["step_time_s"] = fmt::format("{}", step.seconds);
  cells["framework"] = "PyTorch";
  cells["source"] = llvm::sys::path::filename(step.source).str();
  cells["quality"] = "A";
  return heading(kSteps) + line(kSteps, cells);
}

std::string operationRows(const Comparison &comparison) {
  std::string text = heading(kOperations);
  for (const Row &row : comparison.rows) {
    // One call is one execution of one operation, and surely so.
    if (row.operations.size() != 1 || row.match > MatchKind::Shapes || row.calls != row.executions || row.calls == 0)
      continue;
    std::map<std::string, std::string> cells = comparison.plan.operations[row.operations.front()].columns;
    if (cells.empty() || row.measured <= 0)
      continue;
    cells["device"] = comparison.measured.device.empty() ? "cpu" : comparison.measured.device;
    cells["latency_ms"] = fmt::format("{:.6g}", 1e3 * row.measured / static_cast<double>(row.calls));
    cells["kernel"] = row.kernel;
    text += line(kOperations, cells);
  }
  return text;
}

} // namespace accord::comparison
