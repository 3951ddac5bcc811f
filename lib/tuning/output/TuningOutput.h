// What a tuning has found, as tune.json (from which `accord verify` proves it again), trials.csv and text.
#pragma once
#include "lib/support/documents/AnswerFile.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/TextStyle.h"
#include "lib/tuning/problem/Prices.h"

namespace accord::tuning {

/// A mean over seeds, with its interval of 95 % by the bootstrap.
struct SeedMean {
  double mean = 0, low = 0, high = 0;
};

/// The best value so far at a time, over the seeds.
struct ProgressPoint {
  double time = 0;
  SeedMean value;
};

/// One way to tune, over the seeds of a comparison.
struct ComparedTuning {
  std::string name;
  SeedMean seconds;    ///< until the target is reached, or the tuning ends
  SeedMean value;      ///< the best
  double trials = 0;   ///< mean
  double units = 0;    ///< mean
  double busy = 0;     ///< share of the devices that were in use, mean
  int64_t reached = 0; ///< seeds that reached the target
  SeedMean change;     ///< of the seconds of the tuning itself against this way's, paired: -0.3 is 30 % shorter
  std::vector<ProgressPoint> progress = {}; ///< from when on all seeds have a value
};

struct TuningReport {
  enum class Status : uint8_t { Ended, Reached, Stopped, Infeasible } status = Status::Ended;
  TuningProblem problem;
  TuningResult result;
  std::string source;                 ///< the table, or the program
  std::optional<PricedTuning> prices; ///< nothing: times are those that the block states
  std::vector<std::string> assumptions;
  int64_t seeds = 1;
  std::vector<ComparedTuning> compared; ///< the tuning itself first; empty: nothing was compared
};

/// Words for states of trials, in their order.
constexpr const char *kTrialStates[] = {"paused", "complete", "diverged", "failed", "stopped", "replaced"};

void describe(JsonFields &f, SeedMean &mean);
/// All of a report.
void describe(JsonFields &f, TuningReport &report);

/// Reads tune.json. Else what is wrong, and where (A1106).
Result<TuningReport> tuningFromDocument(llvm::StringRef text, const std::string &file);

std::string tuningText(const TuningReport &report, const TextStyle &style);
/// tune.json, tune.txt, report.html, a study of Optuna, and trials.csv: a table of the trials that can be tuned on
/// again, but for those of a population, which has the columns `origin` and `origin_unit`.
AnswerFiles filesOf(const TuningReport &report);
constexpr const char *kTuningFile = "tune.json";

} // namespace accord::tuning
