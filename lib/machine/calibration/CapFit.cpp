#include "lib/machine/calibration/CapFit.h"
#include "lib/machine/energy/NodeScaling.h"
#include "lib/machine/energy/Table.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace accord::calibrate {

Result<std::vector<CapRow>> readCapRows(std::string_view text, const std::string &file) {
  ACCORD_TRY(table,
             Table::parse(text, file, {"board", "workload", "idle", "tdp", "limit", "uncapped", "power", "slowdown"}));
  const Dimension watts = Dimension::of(Base::Joule) / Dimension::of(Base::Second), none;
  std::vector<CapRow> rows;
  for (const TableRow &row : table.rows()) {
    CapRow one;
    one.board = table.text(row, "board"), one.workload = table.text(row, "workload");
    for (auto [key, into] : {std::pair("idle", &one.idle),
                             {"tdp", &one.tdp},
                             {"limit", &one.limit},
                             {"uncapped", &one.uncapped},
                             {"power", &one.power}}) {
      ACCORD_TRY(value, table.number(row, key, watts));
      *into = Watts(value);
    }
    ACCORD_TRY(slowdown, table.number(row, "slowdown", none));
    one.slowdown = slowdown;
    if (!(one.slowdown > 0) || !(one.uncapped > one.idle))
      return Error{Code::OutOfRange,
                   fmt::format("'{}' needs a slowdown above 0 and more power than idle", one.workload),
                   {file, row.line, 1}};
    rows.push_back(std::move(one));
  }
  if (rows.empty())
    return Error{Code::MissingKey, "the table has no row", {file, 1, 1}};
  return rows;
}

const std::vector<CapRow> &shippedCapRows() {
  static const auto rows = readCapRows(shippedTable("measured-caps"), "catalog/measured-caps.csv");
  return *rows;
}

double slowdownOf(const CapRow &row, const VoltageLaw &law) {
  double dynamic = (row.power.value - row.idle.value) / (row.uncapped.value - row.idle.value);
  return 1 / clockAt(std::max(dynamic, 0.01), law); // readings at idle say nothing of the clock
}

VoltageLaw fitVoltage(const std::vector<CapRow> &rows) {
  VoltageLaw best;
  double min = INFINITY;
  for (int slope = 0; slope <= 12; ++slope)
    for (int floor = 0; floor < 20; ++floor) {
      VoltageLaw law{slope / 4.0, floor / 20.0};
      double sum = 0;
      for (const CapRow &row : rows)
        sum += std::abs(std::log(slowdownOf(row, law) / row.slowdown));
      if (sum < min * (1 - 1e-9))
        min = sum, best = law;
    }
  return best;
}

std::vector<CapScore> scoreCaps(const std::vector<CapRow> &rows) {
  std::set<std::string> boards;
  for (const CapRow &row : rows)
    boards.insert(row.board);
  const VoltageLaw all = fitVoltage(rows), cube{1, 0};
  std::vector<CapScore> scores;
  for (const std::string &board : boards) {
    std::vector<CapRow> others;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(others),
                 [&](const CapRow &row) { return row.board != board; });
    const VoltageLaw without = fitVoltage(others);
    CapScore score;
    score.board = board;
    for (const CapRow &row : rows) {
      if (row.board != board)
        continue;
      auto error = [&](const VoltageLaw &law) { return std::abs(slowdownOf(row, law) / row.slowdown - 1); };
      score.seen += error(all), score.unseen += error(without), score.cubic += error(cube), ++score.rows;
      score.worstUnseen = std::max(score.worstUnseen, error(without));
      score.worstCubic = std::max(score.worstCubic, error(cube));
    }
    score.seen /= score.rows, score.unseen /= score.rows, score.cubic /= score.rows;
    scores.push_back(std::move(score));
  }
  return scores;
}

std::string capSection(const std::vector<CapRow> &rows) {
  const VoltageLaw law = fitVoltage(rows);
  std::string out = fmt::format(
      "\n## Power levels\n\n"
      "At a share c of its clock, a device computes c times as fast, and what it draws above idle is c V^2 of what it "
      "was, with\n"
      "V = max({:g}, 1 - {:g} (1 - c)) of the full voltage: power falls faster than speed down to c = {:.2f}, below it "
      "no faster.\n"
      "Device memory, links, hosts and idle power stay. Both numbers are fitted to `lib/catalog/measured-caps.csv` "
      "(Zeus, You et\nal., NSDI 2023: up to six trainings on each of four boards). Time under a cap, from the measured "
      "power, in percent:\n\n"
      "| board | rows | seen | unseen | worst unseen | V = c | worst V = c |\n|---|--:|--:|--:|--:|--:|--:|\n",
      law.floor, law.slope, 1 - (1 - law.floor) / law.slope);
  for (const CapScore &score : scoreCaps(rows))
    out += fmt::format("| {} | {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} |\n", score.board, score.rows,
                       score.seen * 100, score.unseen * 100, score.worstUnseen * 100, score.cubic * 100,
                       score.worstCubic * 100);
  out +=
      "\n*Unseen*: fitted without the board. *V = c*: voltage goes with the clock, so that power goes with its cube. "
      "All "
      "of a row's\ntime is taken to go with the clock, as nothing says which part is bound by memory.\n\n"
      "In plans, only what is bound by arithmetic slows. Estimates of ResNet-50 and BERT-Base at caps of 225 W to 100 "
      "W "
      "of a V100 of 250 W\nhave mean errors of 11 % and 14 % against the rows' times, all too fast, by 21 % to 22 % at "
      "100 W (`test/tools/power-levels.test`):\nwithout a cap, 203 W and 206 W are computed where 218 W and 227 W were "
      "measured, so caps bind later, and what is bound by memory\nslows on the boards, too.\n\n"
      "Approximate, too: a board that its design power already slows reaches less than its full clock, which a "
      "calibration has in its\nefficiencies; c counts from there. The average power of a step is compared with a cap, "
      "where a board compares that of some\nmilliseconds. What device memory draws is a small part of the power of a "
      "board, and goes with the rest of it. There is no\nmeasurement of an A100 or H100 here, so the catalogue states "
      "no levels of them. A cluster may:\n`device gpu[8] : h100 { level eco { clock = 0.75 } }`.\n";
  return out;
}

} // namespace accord::calibrate
