// accord mine: the best design of a space for training jobs.
#include "lib/driver/CommandLine.h"
#include "lib/driver/SolverMonitor.h"
#include "lib/driver/exploration/Ranks.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

namespace accord {
namespace {

constexpr int64_t kMaxCount = int64_t(1) << 40;

bool isMetricWord(const std::string &metric) {
  return metric.empty() || metric == "step_time" || metric == "tdp_time" || metric == "energy" || metric == "area_time";
}

std::string wrongMetric(const std::string &metric) {
  return llvm::StringRef(metric).trim().empty()
             ? "expected a metric, such as energy or 'step_time * area', found nothing"
             : "";
}

std::string wrongShare(const std::string &share) {
  auto parsed = SolverMonitor::parsedLimits(share, "none");
  return std::holds_alternative<SolverMonitor::ParsedLimits>(parsed)
             ? ""
             : "expected a share below 1, as in 2% or 0.02, found '" + share + "'";
}

/// What is searched for, and how.
void addSearch(Command &command, MineOptions &options) {
  command.option("--strategy", options.strategy, fmt::format("{}", fmt::join(miningStrategies(), ", ")))
      .oneOf(miningStrategies())
      .showDefault();
  command
      .option(
          "--metric", options.metric,
          "Objective to minimize: step_time, tdp_time (throughput per watt of TDP is maximized), energy, "
          "area_time, or an expression such as 'step_time * area^0.5' or 'maximize throughput / area' (default: the "
          "objective of the file)")
      .check(wrongMetric);
  command
      .option("--aggregation", options.aggregation,
              "Of several files: minimax_regret (each job against its own best design) or sum")
      .oneOf({"minimax_regret", "sum"})
      .showDefault();
  command
      .option("--weights", options.weights,
              "Of --aggregation sum: weight of each file, such as 3,1 (default: equal weights)")
      .commaSeparated()
      .positive();
  command.option("--evaluations", options.evaluations, "Maximum number of design evaluations").range(1, kMaxCount);
  command.option("--checkpoint", options.checkpoint, "Of exact: checkpoint file of the designs evaluated so far");
  command.option("--checkpoint-every", options.checkpointEvery, "Evaluations between two checkpoints")
      .range(1, kMaxCount)
      .showDefault();
  command.option("--resume", options.resume,
                 "Of exact: go on from such a file; the answer is that of an unbroken search");
  command.option("--seed", options.seed, "Random seed of stochastic strategies").showDefault();
}

/// What is found out about the best design.
void addReportOptions(Command &command, MineOptions &options) {
  command
      .flag("--compare{evaluations}", options.compare,
            "Run all strategies on the same problem, each with as many evaluations as the chosen one took; "
            "--compare=time: as much processor time, which depends on the machine")
      .oneOf({"evaluations", "time"});
  command
      .option("--strategies", options.strategies,
              "Of --compare: only these strategies, such as wham,bayes (default: all)")
      .commaSeparated()
      .oneOf(miningStrategies());
  command
      .option(
          "--pareto-front", options.front,
          "Also the Pareto front in objective, area and TDP, to this relative epsilon: 1% where none is given, 0 for "
          "all. Takes longer than the search itself")
      .valueIfAlone("1%")
      .check(wrongShare);
  command
      .option("--schedule-effort", options.scheduleEffort,
              "Also search for better schedules and higher bounds of the designs that may be best, with the effort of "
              "`accord compile` or a number up to 12: the gap is what that leaves. Takes longer than the search itself")
      .valueIfAlone("4")
      .range(1, 12);
  command.flag("--sensitivity", options.sensitivity,
               "Also the best design with each choice of each parameter, and with each limit relaxed by 10 %; a search "
               "for each");
  command.option("--reference", options.against,
                 "A machine that the best design is compared with in the report: a name, or FILE.accel[:NAME]");
  command
      .option(
          "--stages", options.stages,
          "Also a design for each pipeline stage of a job on a cluster: number of candidates for each mix of layers "
          "(default: 4)")
      .valueIfAlone("4")
      .range(1, 64);
}

const CommandEntry kEntry("mine", "Search a design space for the best accelerator for training", [](Command &command) {
  auto options = Command::values<MineOptions>();
  command.option("file", options->files, "One or several .dnn files").required();
  command.option("--space", options->session.elaborate.target,
                 "Accelerator with choices (1..64, pow2 2..128 MiB, {8, 16}): a name of the file, its imports or the "
                 "catalogue, or FILE.accel[:NAME] (default: what the file trains on)");
  addSearch(command, *options);
  addReportOptions(command, *options);
  addTrainingOptions(command, options->session);
  addCompilerOptions(command, options->session);
  addLimits(command, options->limits, "the best design so far is written");
  addOutput(command, options->session.output,
            "Folder for mine.json, report.html, best.accel, one .accel for each job, convergence.csv, front");
  addJson(command, options->session.json);
  command.example(
      "accord mine bert.dnn --space catalog/spaces.accel:phaze_template -o out/\n"
      "         accord mine bert.dnn resnet.dnn --space my.accel --compare\n"
      "Several jobs: the best design of each alone, then the one whose worst job is nearest to its individual best.\n"
      "Ctrl-C writes the best design so far, with its gap.\n"
      "On many processes: mpirun --enable-recovery -n 4 accord mine ...; the answer is the same.");
  command.action([options] {
    if (!isMetricWord(options->metric)) // an expression, which every file's session reads
      options->session.elaborate.metric = std::exchange(options->metric, "");
    return mineOnRanks(*options);
  });
});

} // namespace
} // namespace accord
