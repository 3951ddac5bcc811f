#include "lib/machine/calibration/Accuracy.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace accord::calibrate {

/// A gate is met where both kinds of halves are below it.
static const char *verdict(const Accuracy &a) {
  bool balanced = a.balanced.passes(a.study), hashed = a.hashed.passes(a.study);
  return balanced && hashed ? "met" : balanced ? "balanced halves only" : hashed ? "plain halves only" : "missed";
}

static std::string leftOutTable(const std::vector<Case> &cases) {
  std::string out = "\n## One model left out\n\nCalibrated on every other model of the same source; *worst* is that of "
                    "a single row.\n\n"
                    "| source | model | rows | error | worst |\n|---|---|--:|--:|--:|\n";
  for (const char *source : {"vTrain", "Selene", "MPT A100"}) {
    std::vector<HeldOutSize> sizes = crossValidateSizes(cases, source);
    double sum = 0, worst = 0;
    size_t rows = 0;
    for (const HeldOutSize &size : sizes) {
      out += fmt::format("| {} | {} | {} | {:.1f} | {:.1f} |\n", source, size.model, size.rows, size.mape, size.worst);
      sum += size.mape * size.rows;
      rows += size.rows;
      worst = std::max(worst, size.worst);
    }
    if (sizes.size() > 1)
      out += fmt::format("| {} | all {} | {} | {:.1f} | {:.1f} |\n", source, sizes.size(), rows, sum / rows, worst);
  }
  return out;
}

static std::string rankingTable(const std::vector<Case> &cases) {
  std::string out =
      "\n## Which configuration is the best\n\n"
      "Configurations (degrees of parallelism, micro-batches) of one job on as many devices, computed by calibrations "
      "that have not\n"
      "seen them. Regret: how much longer the chosen one takes than the best. *Right pairs*: of two "
      "configurations that differ by\n"
      "more than 3 %, which is what repeated runs differ by, the slower one is computed to be the slower one.\n\n"
      "| source | groups | rank correlation | mean regret | worst regret | right pairs | gate |\n"
      "|---|--:|--:|--:|--:|--:|---|\n";
  std::string each = "\n| job | rows | slowest over fastest | rank correlation | regret |\n"
                     "|---|--:|--:|--:|--:|\n";
  for (const char *source : {"vTrain", "BLOOM"}) {
    RankingScore r = rankingScore(cases, source, 3);
    out += fmt::format("| {} | {} | {:.2f} | {:.1f} % | {:.1f} % | {:.0f} % of {} | rank >= 0.9, regret <= 4 % |\n",
                       source, r.groups, r.spearman, r.regret, r.worstRegret, r.ordered, r.pairs);
    for (const RankedGroup &g : r.each)
      each +=
          fmt::format("| {} | {} | +{:.0f} % | {:.2f} | {:.1f} % |\n", g.job, g.rows, g.spread, g.spearman, g.regret);
  }
  return out + each;
}

std::string accuracyPage(const std::vector<Case> &cases, const Errors &leftOut, bool gatesOnly) {
  std::string out =
      "# Accuracy of computed step times\n\n"
      "Published steps of training runs against `lib/machine/calibration`, whose work, bytes and collectives come from "
      "the training\n"
      "graph of each run. Written by `scripts/accuracy.sh`, which needs a table of measured steps; the table is not "
      "part of\n"
      "the repository.\n\n"
      "Errors are |computed / measured - 1|, in percent. *Data sheet*: nothing is fitted, every parameter has its "
      "default for\n"
      "the accelerator. *Unseen*: fitted on one half of the rows, scored on the other, mean and worst of five splits. "
      "Halves are\n"
      "chosen by a hash of the row's id so that each shape (model, degree of tensor parallelism) is in both if it has "
      "two rows;\n"
      "*plain* is the hash alone, which now and then leaves out all rows of a kind. A gate is *met* if both means are. "
      "*Seen*: fitted and scored on all rows.\n"
      "No parameter belongs to a row.\n\n"
      "| rows of | rows | data sheet | seen | unseen, mean | worst | plain, mean | worst | gate | |\n"
      "|---|--:|--:|--:|--:|--:|--:|--:|--:|---|\n";
  for (const Accuracy &a : accuracyOf(cases)) {
    auto value = [](double v, const SplitScore &of) { return of.splits ? fmt::format("{:.2f}", v) : std::string("-"); };
    auto both = [&](const SplitScore &of) { return value(of.mean, of) + " | " + value(of.worst, of); };
    out += fmt::format("| {} | {} | {:.1f} | {:.1f} | {} | {} | {} | {} |\n", a.study.name, a.rows, 100 * a.prior.mape,
                       100 * a.seen.mape, both(a.balanced), both(a.hashed), a.study.gate, verdict(a));
  }
  if (gatesOnly)
    return out;
  out += leftOutTable(cases) + rankingTable(cases);
  std::map<std::string, size_t> codes;
  for (const Error &error : leftOut)
    ++codes[numberOf(error.code)];
  out += "\n## Rows that are not fitted\n\n| code | rows |\n|---|--:|\n";
  for (auto &[code, count] : codes)
    out += fmt::format("| {} | {} |\n", code, count);
  out += "\n`accord explain CODE` says what each means.\n";
  return out;
}

} // namespace accord::calibrate
