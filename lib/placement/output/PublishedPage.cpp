// docs/published.md.
#include "lib/machine/calibration/Score.h"
#include "lib/placement/output/PublishedRuns.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {
namespace {

constexpr double kGiB = 0x1p30;

struct Line {
  PublishedRun run;
  const calibrate::Study *study = nullptr;
  std::optional<double> unseen; ///< error of the forced run by parameters that have not seen it
  double closedFormSeen = 0, closedFormUnseen = 0;
};

struct Sums {
  size_t rows = 0, unseen = 0, chosen = 0, slower = 0, outOfMemory = 0;
  double seen = 0, other = 0, closedFormSeen = 0, closedFormUnseen = 0, worst = 0, gain = 0;
};

Sums sumsOf(const std::vector<Line> &lines, const calibrate::Study &study) {
  Sums s;
  for (const Line &line : lines) {
    if (line.study != &study)
      continue;
    ++s.rows;
    s.seen += std::abs(line.run.error());
    s.closedFormSeen += std::abs(line.closedFormSeen / line.run.measured - 1);
    s.worst = std::max(s.worst, std::abs(line.run.error()));
    s.outOfMemory += !line.run.fits();
    s.slower += line.run.slower();
    if (line.unseen) {
      ++s.unseen;
      s.other += std::abs(*line.unseen);
      s.closedFormUnseen += std::abs(line.closedFormUnseen / line.run.measured - 1);
    }
    if (line.run.free) {
      ++s.chosen;
      s.gain += 1 - *line.run.free / line.run.forced;
    }
  }
  return s;
}

std::string percent(double sum, size_t count) { return count ? fmt::format("{:.2f}", 100 * sum / count) : "-"; }

std::string strata(const std::vector<Line> &lines) {
  std::string out = "| rows of | rows | seen | worst | unseen | closed form, seen | unseen | gate | | out of "
                    "memory | chosen | gain | slower |\n"
                    "|---|--:|--:|--:|--:|--:|--:|--:|---|--:|--:|--:|--:|\n";
  for (const calibrate::Study &study : calibrate::studies()) {
    Sums s = sumsOf(lines, study);
    if (!s.rows)
      continue;
    bool met = s.unseen && 100 * s.other / s.unseen <= study.gate;
    out += fmt::format("| {} | {} | {} | {:.1f} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", study.name, s.rows,
                       percent(s.seen, s.rows), 100 * s.worst, percent(s.other, s.unseen),
                       percent(s.closedFormSeen, s.rows), percent(s.closedFormUnseen, s.unseen), study.gate,
                       !s.unseen ? "-"
                       : met     ? "met"
                                 : "missed",
                       s.outOfMemory, s.chosen, percent(s.gain, s.chosen), s.slower);
  }
  return out;
}

std::string rowsTable(const std::vector<Line> &lines) {
  std::string out = "| row | run | measured, s | forced, s | error, % | memory, GiB | of | chosen, "
                    "s | plan |\n|---|---|--:|--:|--:|--:|--:|--:|---|\n";
  for (const Line &line : lines) {
    const PublishedRun &r = line.run;
    out += fmt::format("| {} | {} | {:.4g} | {:.4g} | {:+.1f} | {:.1f} | {:.1f}{} | {} | {}{} |\n", r.id, r.what,
                       r.measured, r.forced, 100 * r.error(), r.memory / kGiB, r.capacity / kGiB,
                       r.fits() ? "" : " **too much**", r.free ? fmt::format("{:.4g}", *r.free) : "-", r.freeWhat,
                       r.slower() ? " **slower**" : "");
  }
  return out;
}

} // namespace

std::string publishedPage(calibrate::GraphSource &profiler, const std::vector<calibrate::Row> &rows,
                          const calibrate::Prepared &prepared, const PublishedOptions &options) {
  std::map<std::string, const calibrate::Row *> byId;
  for (const calibrate::Row &row : rows)
    byId[row.id] = &row;
  auto parameters = calibrate::parametersByCase(prepared.cases);
  std::vector<Line> lines;
  std::vector<std::string> left;
  PublishedOptions forced = options;
  forced.choose = false;
  for (size_t i = 0; i < prepared.cases.size(); ++i) {
    const calibrate::Case &one = prepared.cases[i];
    if (!parameters[i] || one.candidates.empty() || !isConfigured(*byId[one.id]))
      continue;
    const calibrate::CaseParameters &own = *parameters[i];
    const Machine &machine = prepared.machines.at(one.machine);
    auto made = publishedRun(profiler, *byId[one.id], one, machine, own.seen, options);
    if (!made) {
      left.push_back(made.error().message);
      continue;
    }
    Line line{*std::move(made), own.study, {}, own.closedFormSeen, own.closedFormUnseen};
    if (own.unseen) {
      auto other = publishedRun(profiler, *byId[one.id], one, machine, *own.unseen, forced);
      if (auto *run = other.get())
        line.unseen = run->error();
    }
    lines.push_back(std::move(line));
  }
  std::string out = "# Published runs as placements\n\n"
                    "Every run whose source states its degrees of parallelism, micro-batch and batch, as a plan "
                    "that the planner evaluates: stages of\n"
                    "equally many blocks, what stands before them in the first and what stands behind them in "
                    "the last. Times come from parameters\n"
                    "fitted to measured steps ([accuracy](accuracy.md)). Written by `scripts/published.sh`, "
                    "which needs a table of measured steps;\n"
                    "the table is not part of the repository.\n\n"
                    "Memory is the peak device memory; where a row does not state what was computed "
                    "again "
                    "or a stage of ZeRO, of the configuration that needs the least memory.\n"
                    "\n*Seen*: mean of |forced / measured - 1| in percent, fitted to all rows of a study; "
                    "*worst* "
                    "of them; *unseen*: fitted to the half of them\n"
                    "that the row is not in, which the gate is for. *Closed form*: the same by "
                    "`accord calibrate`. *Out of memory*: runs that the plan's memory\n"
                    "calls too large. *Chosen*: runs for which the planner chose a plan for the same job and "
                    "devices; *gain*: how much shorter its step is,\n"
                    "mean percent; *slower*: plans that are worse than what was run.\n\n";
  out += strata(lines);
  out += "\n## Rows\n\nt, p, d, v: tensor, pipeline, data parallelism, virtual stages of each device; b: "
         "samples of a micro-batch; seq: sequence parallel; z: stage of ZeRO;\n"
         "columns of tables: devices divide embedding tables; how many layers compute what again.\n\n";
  out += rowsTable(lines);
  if (!left.empty())
    out += "\n## Left out\n\n";
  for (const std::string &why : left)
    out += "- " + why + "\n";
  return out;
}

} // namespace accord
