// accord mine: the best design of a space for training jobs.
#include "lib/exploration/solve/MiningProblem.h"
#include "tools/accord/Commands.h"
#include "tools/accord/Ranks.h"
#include "tools/accord/SolverMonitor.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

namespace accord {

static bool isMetricWord(const std::string &metric) {
  return metric.empty() || metric == "step_time" || metric == "tdp_time" || metric == "energy" || metric == "area_time";
}

void addMine(CLI::App &app, int &status) {
  auto options = std::make_shared<MineOptions>();
  CLI::App *command = app.add_subcommand("mine", "Search a design space for the best accelerator for training");
  command->add_option("file", options->files, "One or several .dnn files")->required();
  command->add_option("--space", options->session.elaborate.target,
                      "Accelerator with choices (1..64, pow2 2..128 MiB, {8, 16}): a name of the "
                      "file, its imports or the catalogue, or FILE.accel[:NAME] (default: what the "
                      "file trains on)");
  command->add_option("--strategy", options->strategy, fmt::format("{}", fmt::join(miningStrategies(), ", ")))
      ->check(CLI::IsMember(miningStrategies()))
      ->capture_default_str();
  command
      ->add_flag("--compare{evaluations}", options->compare,
                 "Run all strategies on the same problem, each with as many evaluations as the "
                 "chosen one took; --compare=time: as much processor time, which depends on the "
                 "machine")
      ->check(CLI::IsMember({"evaluations", "time"}));
  command
      ->add_option("--strategies", options->strategies,
                   "Of --compare: only these strategies, such as wham,bayes (default: all)")
      ->delimiter(',')
      ->check(CLI::IsMember(miningStrategies()));
  command
      ->add_option("--metric", options->metric,
                   "Objective to minimize: step_time, tdp_time (maximum throughput per watt of TDP), "
                   "energy, area_time, or an expression such as 'step_time * area^0.5' or "
                   "'maximize throughput / area' (default: the objective of the file)")
      ->check([](const std::string &metric) {
        return llvm::StringRef(metric).trim().empty()
                   ? "expected a metric, such as energy or 'step_time * area', found nothing"
                   : "";
      });
  command
      ->add_option("--aggregation", options->aggregation,
                   "Of several files: minimax_regret (each job against its own best design) or sum")
      ->check(CLI::IsMember({"minimax_regret", "sum"}))
      ->capture_default_str();
  command
      ->add_option("--weights", options->weights,
                   "Of --aggregation sum: weight of each file, such as 3,1 (default: equal weights)")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  command->add_option("--evaluations", options->evaluations, "Maximum number of design evaluations")
      ->check(CLI::Range(uint64_t(1), uint64_t(1) << 40));
  command->add_option("--checkpoint", options->checkpoint,
                      "Of exact: a file of the designs evaluated so far, written now and then");
  command->add_option("--checkpoint-every", options->checkpointEvery, "Evaluations between two checkpoints")
      ->check(CLI::Range(uint64_t(1), uint64_t(1) << 40))
      ->capture_default_str();
  command->add_option("--resume", options->resume,
                      "Of exact: go on from such a file; the answer is that of an unbroken search");
  command
      ->add_option("--pareto-front", options->front,
                   "Also the designs of which none is better than another in objective, area and "
                   "TDP, so many that each design of the space is so near one of them: 1% where no "
                   "share is given, 0 for all. Takes longer than the search itself")
      ->expected(0, 1)
      ->default_str("1%")
      ->check([](const std::string &share) {
        auto parsedLimits = SolverMonitor::parsedLimits(share, "none");
        return std::holds_alternative<SolverMonitor::ParsedLimits>(parsedLimits)
                   ? ""
                   : "expected a share below 1, as in 2% or 0.02, found '" + share + "'";
      });
  command
      ->add_option("--schedule-effort", options->scheduleEffort,
                   "Also search for better schedules and higher bounds of the designs that may be "
                   "best, with the effort of `accord compile` or a number up to 12: the gap is "
                   "what that leaves. Takes longer than the search itself")
      ->expected(0, 1)
      ->default_str("4")
      ->check(CLI::Range(1u, 12u));
  command->add_flag("--sensitivity", options->sensitivity,
                    "Also the best design with each choice of each parameter, and with each limit "
                    "relaxed by 10 %; a search for each");
  command->add_option("--reference", options->against,
                      "A machine that the best design is compared with in the report: a name, or "
                      "FILE.accel[:NAME]");
  command
      ->add_option("--stages", options->stages,
                   "Also a design for each pipeline stage of a job on a cluster: so many candidates "
                   "for each mix of layers (default: 4)")
      ->expected(0, 1)
      ->default_str("4")
      ->check(CLI::Range(1u, 64u));
  command->add_option("--seed", options->seed, "Random seed of stochastic strategies")->capture_default_str();
  command->add_option("--batch", options->session.elaborate.batch, "Samples per step (overrides the files)");
  command->add_option("--microbatch", options->session.elaborate.microbatch,
                      "Micro-batch size, or a choice of sizes (overrides the files)");
  command->add_option("--recompute", options->session.elaborate.recompute,
                      "none, selective or full, or a choice of them (overrides the files)");
  command->add_option("--train", options->session.elaborate.train,
                      "Which `train` block, or which model of a file without one");
  command->add_option("--precision", options->session.elaborate.precision,
                      "fp32, tf32, bf16, fp16, mixed(bf16) or mixed(fp16) (overrides the files)");
  command->add_option("--optimizer", options->session.elaborate.optimizer,
                      "sgd, momentum, adam or adamw (overrides the files)");
  command->add_option("--load-pass-plugin", options->session.plugins,
                      "Shared library with passes or cost models (may be repeated)");
  command->add_flag("--fuse", options->session.fuse, "Run element-wise work where its tensor is made");
  command->add_option("--threads", options->session.threads, "Threads to use; the result is the same")
      ->check(CLI::Range(1, 256));
  command->add_option("--gap", options->limits.gap,
                      "Stop when the design reaches this relative gap to its bound, such as 2%");
  command->add_option("--time-limit", options->limits.timeLimit,
                      "none, or a time such as '30 s', after which the best design so far is "
                      "written; it then depends on the machine (default: none)");
  command
      ->add_option("-o,--output", options->session.output,
                   "Folder for mine.json, report.html, best.accel, one .accel for each job, "
                   "convergence.csv, front")
      ->capture_default_str();
  addJson(*command, options->session.json);
  command->footer("Example: accord mine bert.dnn --space catalog/spaces.accel:phaze_template -o out/\n"
                  "         accord mine bert.dnn resnet.dnn --space my.accel --compare\n"
                  "Several jobs: the best design of each alone, then the one whose worst job is "
                  "nearest to its individual best.\n"
                  "Ctrl-C writes the best design so far, with its gap.\n"
                  "On many processes: mpirun --enable-recovery -n 4 accord mine ...; the answer is the same.");
  command->callback([options, &status] {
    if (!isMetricWord(options->metric)) // an expression, which every file's session reads
      options->session.elaborate.metric = std::exchange(options->metric, "");
    status = mineOnRanks(*options);
  });
}

} // namespace accord
