#include "lib/comparison/output/ClusterOutput.h"
#include "lib/comparison/output/Shares.h"
#include "lib/support/StableSort.h"
#include "lib/support/documents/TextTable.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord::comparison {
namespace {

constexpr size_t kRanks = 16, kExchanges = 16, kFindings = 12, kWork = 12;

std::string time(double seconds) { return std::fabs(seconds) < 1e-12 ? "-" : formatSi(seconds, "s"); }
/// A rest of rounding below zero is none.
std::string percent(double share) { return fmt::format("{:.1f} %", 100 * std::max(0.0, share)); }
std::string difference(double seconds) {
  return std::fabs(seconds) < 1e-12 ? "-" : (seconds > 0 ? "+" : "") + formatSi(seconds, "s");
}
double of(const ShareSeconds &shares, StepShare share) { return shares[static_cast<unsigned>(share)]; }

double exposed(const ShareSeconds &shares) {
  return of(shares, StepShare::StageMessages) + of(shares, StepShare::Replicas) + of(shares, StepShare::OtherExchanges);
}

class Writer {
public:
  Writer(const ClusterComparison &comparison, const TextStyle &style) : comparison(comparison), style(style) {}

  std::string run(bool all) {
    headline();
    shares();
    findings(all);
    ranks(all);
    exchanges(all);
    operations(all);
    if (all)
      work();
    for (const std::string &note : comparison.notes)
      text += wrapped(note, "  ", style) + (text.ends_with('\n') ? "" : "\n");
    return std::move(text);
  }

private:
  void headline() {
    const PlannedCluster &plan = comparison.plan;
    text += inked(style, Ink::Bold, fmt::format("{} on {}, as planned and as measured", plan.job, plan.cluster)) + "\n";
    text += fmt::format("  ranks         {} of {}: pipeline {}, data {}, tensor {}\n", comparison.ranks.size(),
                        plan.ranks.size(), plan.stages, plan.replicas, plan.tensor);
    const RankComparison &first = comparison.ranks.front();
    text += fmt::format("  trace         {}{}\n", first.step.empty() ? "" : first.step + ", ",
                        first.onProcessor      ? "calls on processors: the traces have no kernels"
                        : first.device.empty() ? "kernels of devices"
                                               : "kernels of " + first.device);
    text += fmt::format("  step          planned {}, measured {}, ratio {:.2f}\n", time(plan.seconds),
                        time(comparison.seconds), plan.seconds > 0 ? comparison.seconds / plan.seconds : 0);
    text += fmt::format("  explained     {} of the measured step\n", percent(explainedShare(comparison)));
    auto waits = [&](const ShareSeconds &shares) { return of(shares, StepShare::StageWaits); };
    text += fmt::format("  bubble        planned {}, measured {}\n", percent(waits(comparison.planned) / plan.seconds),
                        percent(waits(comparison.measured) / comparison.seconds));
    double inLayers = 0;
    for (const RankComparison &rank : comparison.ranks)
      inLayers += rank.layerExchanges / static_cast<double>(comparison.ranks.size());
    text +=
        fmt::format("  exposed       communication: planned {}, measured {}{}\n\n", time(exposed(comparison.planned)),
                    time(exposed(comparison.measured)),
                    inLayers > 0 ? fmt::format("; besides, {} inside of layers, in the passes", time(inLayers)) : "");
  }

  void shares() {
    std::vector<unsigned> order;
    for (unsigned share = 0; share < kStepShares; ++share)
      if (std::fabs(comparison.planned[share]) > 1e-12 || comparison.measured[share] > 1e-12)
        order.push_back(share);
    accord::stableSort(order, [&](unsigned a, unsigned b) {
      return std::fabs(comparison.measured[a] - comparison.planned[a]) >
             std::fabs(comparison.measured[b] - comparison.planned[b]);
    });
    TextTable table("lrrr", {"part of the step (mean of the ranks)", "planned", "measured", "difference"});
    for (unsigned share : order)
      table.row({nameOf(static_cast<StepShare>(share)), time(comparison.planned[share]),
                 time(comparison.measured[share]), difference(comparison.measured[share] - comparison.planned[share])});
    table.row({"step", time(comparison.plan.seconds), time(comparison.seconds),
               difference(comparison.seconds - comparison.plan.seconds)});
    text += table.text(style) + "\n";
  }

  void findings(bool all) {
    if (comparison.findings.empty())
      return;
    TextTable table("rl", {"seconds", "what explains it"});
    llvm::ArrayRef<Finding> shown = comparison.findings;
    for (const Finding &finding : all ? shown : shown.take_front(kFindings))
      table.row({time(finding.seconds), fmt::format("{}: {}", nameOf(finding.kind), finding.text)});
    text += table.text(style);
    more(comparison.findings.size(), all ? comparison.findings.size() : kFindings, "smaller ones");
    text += "\n";
  }

  void more(size_t count, size_t shown, const char *what) {
    if (count > shown)
      text += fmt::format("  {} {}: --all\n", count - shown, what);
  }

  void ranks(bool all) {
    TextTable table("rrlrrrrrr",
                    {"rank", "stage", "device", "step", "computation", "exposed", "bubble", "waiting", "waited for"});
    llvm::ArrayRef<RankComparison> list = comparison.ranks;
    for (const RankComparison &rank : all ? list : list.take_front(kRanks)) {
      const ShareSeconds &shares = rank.shares;
      table.row({std::to_string(rank.plan.rank), std::to_string(rank.plan.stage),
                 rank.device.empty() ? rank.plan.device : rank.device, time(rank.seconds), time(rank.computation()),
                 time(exposed(shares) + rank.layerExchanges), time(of(shares, StepShare::StageWaits)),
                 time(of(shares, StepShare::RankWaits)), time(rank.waitedFor)});
    }
    text += table.text(style);
    more(list.size(), all ? list.size() : kRanks, "more ranks");
    text += "\n";
  }

  void exchanges(bool all) {
    TextTable table("rllrrrrrr",
                    {"rank", "exchange", "kind", "ranks", "calls", "bytes", "transfer", "waiting", "exposed"});
    size_t count = 0;
    for (const RankComparison &rank : comparison.ranks)
      for (const ExchangeRow &row : rank.exchanges)
        if (++count <= kExchanges || all)
          table.row({std::to_string(rank.plan.rank), nameOf(row.purpose), nameOf(row.kind),
                     row.kind == CommunicationKind::Message ? fmt::format("{}", fmt::join(row.ranks, " > "))
                     : row.ranks.size() > 4                 ? fmt::format("{} of them", row.ranks.size())
                                                            : fmt::format("{}", fmt::join(row.ranks, " ")),
                     std::to_string(row.calls), row.bytes > 0 ? formatBytes(static_cast<double>(row.bytes)) : "-",
                     time(row.transfer()), row.aligned > 0 || row.waiting > 0 ? time(row.waiting) : "?",
                     time(row.exposedTransfer())});
    if (count == 0)
      return;
    text += table.text(style);
    more(count, all ? count : kExchanges, "more exchanges");
    text += "\n";
    std::vector<LinkRow> links = linkRows(comparison);
    if (links.empty())
      return;
    TextTable achieved("llrrrrr", {"achieved", "level", "ranks", "bytes a call", "calls", "a call", "bus bandwidth"});
    for (const LinkRow &row : all ? llvm::ArrayRef(links) : llvm::ArrayRef(links).take_front(kExchanges))
      achieved.row({nameOf(row.kind), row.isIntraNode ? "intra-node" : "inter-node", std::to_string(row.devices),
                    formatBytes(static_cast<double>(row.bytes)), std::to_string(row.calls), time(row.seconds),
                    formatSi(row.busBandwidth, "B/s")});
    text += achieved.text(style);
    more(links.size(), all ? links.size() : kExchanges, "more sizes");
    text += "\n";
  }

  /// Of the first rank of each stage (`all`: of every rank), those with the largest differences (`all`: all).
  void operations(bool all) {
    TextTable table("rlrrrrl", {"rank", "operation", "times", "planned", "measured", "ratio", "match"});
    int64_t stage = -1;
    size_t left = 0;
    for (const RankComparison &rank : comparison.ranks) {
      if (!rank.operations || (!all && rank.plan.stage <= stage))
        continue;
      stage = rank.plan.stage;
      std::vector<const Row *> rows;
      for (const Row &row : rank.operations->rows)
        rows.push_back(&row);
      accord::stableSort(rows, [](const Row *a, const Row *b) {
        return std::fabs(a->exposed - a->planned) > std::fabs(b->exposed - b->planned);
      });
      const size_t shown = all ? rows.size() : std::min(rows.size(), kWork);
      left += rows.size() - shown;
      for (const Row *row : llvm::ArrayRef(rows).take_front(shown))
        table.row({std::to_string(rank.plan.rank), accord::comparison::nameOf(*rank.operations, *row),
                   std::to_string(row->executions), time(row->planned), time(row->exposed),
                   row->planned > 0 && row->calls > 0 ? fmt::format("{:.2f}", row->exposed / row->planned) : "-",
                   accord::comparison::nameOf(row->match)});
    }
    if (stage < 0)
      return;
    text += table.text(style);
    more(left, 0, "more with smaller differences, and the other ranks");
    text += "\n";
  }

  void work() {
    TextTable table("rlllrr", {"rank", "computation", "class", "part", "calls", "measured"});
    for (const RankComparison &rank : comparison.ranks)
      for (const WorkRow &row : llvm::ArrayRef(rank.work).take_front(kWork))
        table.row({std::to_string(rank.plan.rank), row.name, nameOf(row.workClass), nameOf(row.part),
                   std::to_string(row.calls), time(row.exposed)});
    text += table.text(style) + "\n";
  }

  const ClusterComparison &comparison;
  const TextStyle &style;
  std::string text;
};

} // namespace

std::string clusterText(const ClusterComparison &comparison, bool all, const TextStyle &style) {
  return Writer(comparison, style).run(all);
}

} // namespace accord::comparison
