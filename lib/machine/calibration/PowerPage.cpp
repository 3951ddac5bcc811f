#include "lib/machine/calibration/CapFit.h"
#include "lib/machine/calibration/PowerFit.h"
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <vector>

namespace accord::calibrate {
namespace {

struct Group {
  const char *name;
  double gate; ///< percent
  std::function<bool(const PowerRow &)> holds;
};

const std::vector<Group> &groups() {
  auto zeus = [](const PowerRow &row) { return row.origin == "zeus" && row.level == "board"; };
  auto capped = [=](const PowerRow &row) { return zeus(row) && row.rating.limit < row.rating.max; };
  static const std::vector<Group> all = {
      {"boards, all", 15, [](const PowerRow &row) { return row.level == "board"; }},
      {"boards, Zeus, not capped", 15, [=](const PowerRow &row) { return zeus(row) && !capped(row); }},
      {"boards, Zeus, capped", 15, capped},
      {"boards, others", 15, [=](const PowerRow &row) { return row.level == "board" && !zeus(row); }},
      {"servers in training", 11.4, [](const PowerRow &row) { return row.level.starts_with("node"); }},
      {"energy of a whole run", 15, [](const PowerRow &row) { return row.level == "run"; }},
      {"idle boards", 10, [](const PowerRow &row) { return row.level == "idle" && row.origin != "zeus"; }},
  };
  return all;
}

struct Means {
  int rows = 0;
  double seen = 0, unseen = 0, worst = 0, bias = 0;
};

Means meansOf(const std::vector<PowerScore> &scores, const Group &group) {
  Means means;
  for (const PowerScore &score : scores)
    if (group.holds(*score.row)) {
      ++means.rows;
      means.seen += std::abs(score.seen) * 100;
      means.unseen += std::abs(score.unseen) * 100;
      means.bias += score.unseen * 100;
      means.worst = std::max(means.worst, std::abs(score.unseen) * 100);
    }
  double n = std::max(1, means.rows);
  return {means.rows, means.seen / n, means.unseen / n, means.worst, means.bias / n};
}

} // namespace

std::string powerPage(const std::vector<PowerRow> &rows) {
  std::vector<PowerScore> scores = scorePower(rows);
  PowerFit fit = fitPower(rows);
  PowerInterval interval = powerInterval(scores);
  std::string out =
      "# Power of boards and servers\n\n"
      "What a meter shows against `lib/machine/energy/BoardPower.h`. Written by `scripts/power.sh` from\n"
      "`lib/catalog/measured-power.csv`, whose rows name their source and what was assumed about them.\n\n"
      "A board draws idle + (max - idle) * (busy, and what each unit adds while it works), at most its limit. A server "
      "draws its boards,\n"
      "its host and its fans, over the efficiency of its supply.\n\n"
      "| group | rows | seen | unseen | bias | worst row | gate | |\n|---|--:|--:|--:|--:|--:|--:|---|\n";
  for (const Group &group : groups()) {
    Means m = meansOf(scores, group);
    out += fmt::format("| {} | {} | {:.1f} | {:.1f} | {:+.1f} | {:.1f} | {} | {} |\n", group.name, m.rows, m.seen,
                       m.unseen, m.bias, m.worst, group.gate, m.unseen <= group.gate ? "met" : "missed");
  }
  out += fmt::format(
      "\nErrors are |computed / measured - 1| in percent. *Seen*: fitted on all rows. *Unseen*: fitted without any row "
      "of the same source.\nBias is that of unseen rows. 90 of 100 measured powers of boards and servers are {:.2f} to "
      "{:.2f} times the computed one,\nby unseen rows.\n\n"
      "Not scored: TPUs (rows state watts of a system, and no share), quantiles of a fleet that mix work and waiting, "
      "and readings that\ninclude estimates. Rows of the A40 with NCF give its idle power, so they count nowhere. "
      "Whether a row is bound by its host was\ndecided by a rule on its step times (`scripts/power_rows.py`), which "
      "was "
      "written with the powers in sight.\n\n"
      "| parameter | prior | fitted |\n|---|--:|--:|\n"
      "| busy | 0.60 | {:.3f} |\n| vector units | 0.25 | {:.3f} |\n| tensor units | 0.50 | {:.3f} |\n"
      "| memory | 0.20 | {:.3f} |\n| links | 0.05 | not fitted |\n"
      "| host of 8 boards, W | 1400 | {:.0f} |\n| fans of 8 boards, W | 600 | not fitted |\n"
      "| efficiency of the supply | 0.96 | not fitted |\n",
      interval.low, interval.high, fit.law.busy, fit.law.vector, fit.law.tensor, fit.law.memory, fit.host.value);
  double time = 0, worst = 0;
  int kept = 0, capped = 0;
  for (const PowerRow &row : rows)
    if (row.slowdown > 0) {
      ++capped;
      if (row.measured.value > 1.02 * row.rating.limit.value)
        continue;
      double error = std::abs(boardPower(row.rating, row.shares, fit.law).slowdown / row.slowdown - 1) * 100;
      time += error;
      worst = std::max(worst, error);
      ++kept;
    }
  out += fmt::format(
      "\nTime under a cap, over the time without: {} rows, mean error {:.1f} %, worst {:.1f} %. Left out are "
      "the {} rows\nthat draw more than 1.02 of their cap: the board does not go so low.\n",
      kept, time / std::max(1, kept), worst, capped - kept);
  out += capSection(shippedCapRows()) + "\n## Rows\n";
  out += "\n| row | limit W | busy | measured W | unseen W | error % |\n|---|--:|--:|--:|--:|--:|\n";
  for (const PowerScore &score : scores) {
    const PowerRow &row = *score.row;
    out +=
        fmt::format("| {} | {:g} | {:.2f} | {:.1f} | {:.1f} | {:+.1f} |\n", row.id, row.rating.limit.value,
                    row.shares.busy, row.measured.value, row.measured.value * (1 + score.unseen), score.unseen * 100);
  }
  return out;
}

} // namespace accord::calibrate
