#include "lib/comparison/output/ComparisonOutput.h"
#include "lib/comparison/output/Shares.h"
#include "lib/support/StableSort.h"
#include "lib/support/documents/TextTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"
#include <cmath>
#include <fmt/format.h>

namespace accord::comparison {
namespace {

constexpr size_t kShown = 20, kExtraShown = 10;

std::string time(double seconds) { return seconds == 0 ? "-" : formatSi(seconds, "s"); }
std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }
std::string ratio(double measured, double planned) {
  return planned > 0 && measured > 0 ? fmt::format("{:.2f}", measured / planned) : "-";
}
std::string difference(double seconds) {
  return seconds == 0 ? "-" : (seconds > 0 ? "+" : "") + formatSi(seconds, "s");
}

class Writer {
public:
  Writer(const Comparison &comparison, const TextStyle &style) : comparison(comparison), style(style) {}

  std::string run(bool all) {
    headline();
    shares();
    operations(all);
    extra();
    for (const std::string &note : comparison.notes)
      text += wrapped(note, "  ", style) + (text.ends_with('\n') ? "" : "\n");
    return std::move(text);
  }

private:
  void headline() {
    const MeasuredStep &step = comparison.measured;
    text += inked(style, Ink::Bold,
                  fmt::format("{} on {}, as planned and as measured", comparison.plan.job, comparison.plan.machine)) +
            "\n";
    text += fmt::format("  trace         {}{}, {}\n", llvm::sys::path::filename(step.source).str(),
                        step.step.empty() ? "" : ", " + step.step,
                        step.onProcessor      ? "calls on a processor: the trace has no kernels"
                        : step.device.empty() ? "kernels of a device"
                                              : "kernels of " + step.device);
    text += fmt::format("  step          planned {}, measured {}, ratio {}\n", time(comparison.plan.seconds),
                        time(step.seconds), ratio(step.seconds, comparison.plan.seconds));
    double rows = 0;
    size_t counts[kMatchKinds] = {};
    for (const Row &row : comparison.rows) {
      rows += row.exposed;
      ++counts[static_cast<unsigned>(row.match)];
    }
    const double all = comparison.measured.seconds;
    text += fmt::format("  explained     {} of the measured step: operations of the plan {}, named groups {}\n",
                        percent(explainedShare(comparison)), percent(all > 0 ? rows / all : 0),
                        percent(all > 0 ? explainedShare(comparison) - rows / all : 0));
    text += fmt::format(
        "  matched       {} by name, {} by sequence number, {} by shapes, {} by order; {} not in the trace\n\n",
        counts[0], counts[1], counts[2], counts[3], counts[4]);
  }

  void shares() {
    TextTable table("lrrrr", {"part of the step", "planned", "measured", "ratio", "difference"});
    std::vector<Share> parts = sharesByPart(comparison);
    for (const Share &one : parts)
      if (one.planned != 0 || one.measured != 0)
        table.row({one.name, time(one.planned), time(one.measured), ratio(one.measured, one.planned),
                   difference(one.difference())});
    table.row({"step", time(comparison.plan.seconds), time(comparison.measured.seconds),
               ratio(comparison.measured.seconds, comparison.plan.seconds),
               difference(comparison.measured.seconds - comparison.plan.seconds)});
    text += table.text(style) + "\n";
  }

  void operations(bool all) {
    std::vector<const Row *> rows;
    for (const Row &row : comparison.rows)
      rows.push_back(&row);
    if (!all) {
      accord::stableSort(rows, [](const Row *a, const Row *b) {
        return std::fabs(a->measured - a->planned) > std::fabs(b->measured - b->planned);
      });
      rows.resize(std::min(rows.size(), kShown));
    }
    TextTable table("lrrrrrrl", {"operation", "times", "planned", "measured", "ratio", "of peak", "kernels", "match"});
    for (const Row *row : rows) {
      const bool hasPeak = row->peak > 0 && row->measured > 0 && row->flops > 0 && !comparison.measured.onProcessor;
      table.row({nameOf(comparison, *row), std::to_string(row->executions), time(row->planned), time(row->measured),
                 ratio(row->measured, row->planned), hasPeak ? percent(row->flops / row->measured / row->peak) : "-",
                 row->kernels > 0 ? std::to_string(row->kernels) : "-", nameOf(row->match)});
    }
    text += table.text(style);
    if (rows.size() < comparison.rows.size())
      text += fmt::format("  {} more with smaller differences: --all\n", comparison.rows.size() - rows.size());
    text += "\n";
  }

  void extra() {
    if (comparison.extra.empty())
      return;
    TextTable table("lllrr", {"not explained", "class", "part", "calls", "measured"});
    for (const Extra &one : llvm::ArrayRef(comparison.extra).take_front(kExtraShown))
      table.row({one.name, nameOf(one.workClass), nameOf(one.part), std::to_string(one.calls), time(one.exposed)});
    text += table.text(style) + "\n";
  }

  const Comparison &comparison;
  const TextStyle &style;
  std::string text;
};

} // namespace

std::string comparisonText(const Comparison &comparison, bool all, const TextStyle &style) {
  return Writer(comparison, style).run(all);
}

} // namespace accord::comparison
