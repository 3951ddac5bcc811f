#include "lib/comparison/output/ClusterOutput.h"
#include "lib/comparison/output/ComparisonOutput.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"
#include <array>
#include <fmt/format.h>
#include <tuple>

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

constexpr std::array kSteps{"id",
                            "family",
                            "model",
                            "layers",
                            "hidden",
                            "ffn",
                            "heads",
                            "kv_heads",
                            "vocab",
                            "seq_len",
                            "attn_kernel",
                            "mlp_kind",
                            "accelerator",
                            "n_devices",
                            "precision",
                            "optimizer",
                            "tp",
                            "pp",
                            "vpp",
                            "ep",
                            "zero_stage",
                            "seq_parallel",
                            "devices_per_node",
                            "dp",
                            "cp",
                            "recompute",
                            "global_batch",
                            "micro_batch",
                            "metric",
                            "step_time_s",
                            "framework",
                            "source",
                            "quality"};
constexpr std::array kOperations{"operation", "batch", "m",      "n",          "k",
                                 "width",     "type",  "device", "latency_ms", "kernel"};
constexpr std::array kExchanges{"operation", "batch", "type", "device", "latency_ms", "kernel", "bytes"};

double sharesOfBytes(CommunicationKind kind, double devices) {
  switch (kind) {
  case CommunicationKind::AllReduce:
    return 2 * (devices - 1) / devices;
  case CommunicationKind::ReduceScatter:
  case CommunicationKind::AllGather:
  case CommunicationKind::AllToAll:
    return (devices - 1) / devices;
  default:
    return 1;
  }
}

std::string rowOfStep(std::map<std::string, std::string> cells, const std::string &job, const std::string &step,
                      double seconds, const std::string &source) {
  cells["id"] = job + "-" + (step.empty() ? "step" : step);
  cells["metric"] = "step";
  cells["step_time_s"] = fmt::format("{}", seconds);
  cells["framework"] = "PyTorch";
  cells["source"] = llvm::sys::path::filename(source).str();
  cells["quality"] = "A";
  return heading(kSteps) + line(kSteps, cells);
}

} // namespace

std::string stepRows(const Comparison &comparison) {
  const MeasuredStep &step = comparison.measured;
  return rowOfStep(comparison.plan.columns, comparison.plan.job, step.step, step.seconds, step.source);
}

std::string stepRows(const ClusterComparison &comparison) {
  const RankComparison &first = comparison.ranks.front();
  return rowOfStep(comparison.plan.columns, comparison.plan.job, first.step, comparison.seconds, first.trace);
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

std::vector<LinkRow> linkRows(const ClusterComparison &comparison) {
  std::map<std::tuple<CommunicationKind, bool, int64_t, int64_t>, LinkRow> rows;
  const int64_t perNode = std::max<int64_t>(1, comparison.plan.devicesPerNode);
  for (const RankComparison &rank : comparison.ranks)
    for (const ExchangeRow &one : rank.exchanges) {
      if (one.aligned < one.calls || one.calls == 0 || one.bytes <= 0 || one.ranks.size() < 2)
        continue;
      const bool intra = llvm::all_of(one.ranks, [&](int64_t r) { return r / perNode == one.ranks.front() / perNode; });
      const auto devices = static_cast<int64_t>(one.ranks.size());
      const int64_t bytes = one.bytes / one.calls;
      LinkRow &row = rows[{one.kind, !intra, devices, bytes}];
      row.kind = one.kind, row.isIntraNode = intra, row.devices = devices, row.bytes = bytes;
      row.calls += one.calls, row.seconds += one.transfer();
    }
  std::vector<LinkRow> list;
  for (auto &[key, row] : rows) {
    row.seconds /= static_cast<double>(row.calls);
    if (row.seconds > 0)
      row.busBandwidth =
          static_cast<double>(row.bytes) * sharesOfBytes(row.kind, static_cast<double>(row.devices)) / row.seconds;
    list.push_back(row);
  }
  return list;
}

std::string operationRows(const ClusterComparison &comparison) {
  std::string text = heading(kExchanges);
  for (const LinkRow &row : linkRows(comparison))
    if (row.kind == CommunicationKind::AllReduce && row.seconds > 0)
      text += line(kExchanges, {{"operation", "all_reduce"},
                                {"batch", std::to_string(row.devices)},
                                {"bytes", std::to_string(row.bytes)},
                                {"device", comparison.ranks.front().device},
                                {"latency_ms", fmt::format("{:.6g}", 1e3 * row.seconds)},
                                {"kernel", row.isIntraNode ? "intra-node" : "inter-node"}});
  return text;
}

} // namespace accord::comparison
