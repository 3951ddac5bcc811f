// accord jobs: jobs that share a cluster.
#include "lib/driver/simulation/Jobs.h"
#include "lib/driver/CommandLine.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/tasks/ScheduleJobs.h"

namespace accord {

/// Of a `jobs` block.
static void addBlockOptions(Command &command, Options &block, PlanSearchLimits &limits, GoOnOptions &goOn) {
  command.option("file", block.file, "A .dnn file with a `jobs` block, to be scheduled on its cluster");
  command.option("--jobs", block.elaborate.jobs, "Which `jobs` block, where a file has several");
  command.option("--target", block.elaborate.target, "The cluster (overrides the file), as of accord compile");
  command.option(
      "-o,--output", block.output,
      "Folder for jobs.json, jobs.csv, trace.json, report.html, certificate/ (default: out); with --simulate "
      "for simulation.json, simulation.txt, report.html and schedule.csv (default: none)");
  command.option("--after", goOn.after, "Folder of the plan that runs: what is left of it is planned again");
  command.option("--at", goOn.at, "With --after: now, on the clock of the block, 3h for example");
  command.option("--events", goOn.events, "With --after: a .json file with what did not go as planned");
  addCostModel(command, block);
  addEffort(command, block.effort);
  addLimits(command, limits, "the best schedule so far is written");
}

static const CommandEntry kEntry(
    "jobs", "Jobs that share a cluster: schedule a `jobs` block, or replay a trace under policies",
    [](Command &command) {
      auto options = Command::values<JobsOptions>();
      auto block = Command::values<Options>();
      auto limits = Command::values<PlanSearchLimits>();
      auto goOn = Command::values<GoOnOptions>();
      block->output.clear(); // a simulation writes no folder unless it is asked to
      addBlockOptions(command, *block, *limits, *goOn);
      command.option("--simulate", options->trace,
                     "A workload of Pollux (.csv), a trace of Gavel, or a log of jobs: which jobs arrive when");
      command.option("--profiles", options->profiles,
                     "How fast the jobs of a simulation are: a folder with a folder for each application "
                     "(Pollux), or throughputs by device type (.json, Gavel)");
      command.option(
          "--servers", options->servers,
          "16x4 is 16 servers of 4 devices; v100=8x1,k80=24x1 names the types (of Sia's profiles: of their files)");
      std::vector<std::string> policies = jobPolicies();
      policies.push_back("all");
      command
          .option("--policy", options->policies,
                  "Policies to compare, 'all' for all that the trace allows (default: those that have their own replay "
                  "and Accord's)")
          .oneOf(policies)
          .commaSeparated();
      command
          .option("--speeds", options->speeds,
                  "'measured' (default); 'fitted': policies estimate speeds from the steps that a job ran so far; "
                  "'predicted' "
                  "(Gavel): from the types that it ran on and the other models' rates")
          .oneOf({"measured", "fitted", "predicted"});
      command.option("--gradient-noise", options->gradientNoise,
                     "A .csv file (application, noise in samples): jobs of Pollux' and Sia's workloads choose their "
                     "batches by these noise scales, and progress by the measured ones");
      command.option("--round", options->round, "Seconds between two decisions (default: 60, of Gavel 360)");
      command.option("--restart", options->restart,
                     "Seconds without progress each time that a job starts or its devices "
                     "change (default: 30, of Gavel 0)");
      command.option("--schedule", options->schedule, "A .csv file to write: which job is on which servers when");
      command
          .option("--seeds", options->seeds,
                  "Simulations of each policy, with other failures and noise; intervals of 90 %")
          .range(1, 1000);
      command
          .option("--draw", options->draw,
                  "Jobs that each seed draws from the trace, with replacement, at random times of the same rate")
          .range(1, 1'000'000);
      command.option("--load", options->load, "With --draw: how many times as often jobs arrive (default: 1)");
      command.option("--history", options->history,
                     "A .csv file of jobs that were complete before, from which 'learned', 'bandit' and 'actor' begin");
      command.option("--write-history", options->writeHistory,
                     "A .csv file to write: the work of the jobs of the trace, for --history");
      command.option("--actor", options->actor,
                     "An .onnx file of a network that weighs the jobs of each round: the policy 'actor'");
      command.option("--shield", options->shield,
                     "Share of the proved bound that an actor's allocation may lose in a round before the planner's is "
                     "taken (default: 5%)");
      command.option("--train", options->train,
                     "An .onnx file to write: an actor is trained on jobs drawn from the trace (--draw), or on "
                     "synthetic ones without --simulate");
      command.option("--train-budget", options->trainBudget, "With --train: simulations (default: 20,000)")
          .range(1, 10'000'000);
      command.option("--train-seed", options->trainSeed, "With --train: of all that is random (default: 0)")
          .range(0, 1'000'000);
      command
          .option("--reference", options->reference,
                  "Policy with which the others are compared seed by seed: shorter, longer or no gain")
          .oneOf(jobPolicies());
      command.flag(
          "--curve", options->curve,
          "With --reference: the regret of each policy after so many jobs, and after how many it is within 2 %; "
          "with --history, policies that learn are simulated without it too");
      command.option("--noise", options->noise,
                     "Log-normal noise of speeds, 5% for example: of each job, and of each job in each round");
      command.option("--mtbf", options->mtbf, "Mean time between failures of a server, 30d for example");
      command.option("--repair", options->repair, "Time until a server that failed is back (default: 1 h)");
      command.option(
          "--checkpoint", options->checkpoint,
          "Time between two checkpoints of a job, to which a failure sets it back (default: nothing is lost)");
      command.option("--outage", options->outages, "3@1h..2h: server 3 fails at 1 h and is back at 2 h")
          .commaSeparated();
      command.option("--drain", options->drains, "The same without loss: jobs leave at the end of a round")
          .commaSeparated();
      command.option("--power", options->power,
                     "Limit of the power of all devices, 20kW,10kW@8h for example; devices that exceed it are off");
      command.option("--device-power", options->devicePower, "Power of one device, 300W or v100=300W,k80=150W");
      command.option("--max-restarts", options->maxRestarts, "Restarts of a job in an hour; 0 is no limit")
          .range(0, 3600);
      command.option("--tenants", options->tenants,
                     "vision=2,speech=1: tenants with weights, which jobs belong to in turn (default: applications)");
      command.option("--deadline", options->deadline,
                     "Deadline of each job, as a multiple of its time alone (default: what the trace says)");
      addJson(command, options->json);
      command.example(
          "accord jobs examples/13-night/night.dnn -o out/\n"
          "         accord jobs examples/13-night/night.dnn --after out/ --at 3h --events events.json -o out2/\n"
          "         accord jobs --simulate workload-1.csv --profiles traces --servers 16x4 -o out/\n"
          "         accord jobs --simulate max_min_fairness.trace --profiles "
          "physical_cluster_throughputs.json --servers v100=8x1,p100=16x1,k80=24x1\n"
          "Policies differ in what they know of the jobs; the table says it of each. "
          "'exact' allocates the devices of each round by an exact search whose bound is "
          "proved, and packs them on servers with the fewest moves.");
      command.action([options, block, limits, goOn] {
        if (!options->train.empty() && block->file.empty())
          return trainActorOnJobs(*options);
        if (block->file.empty() == options->trace.empty())
          return refuse(Code::BadCommandLine, "expected either a .dnn file with a 'jobs' block, or --simulate TRACE",
                        options->json, "jobs");
        if (goOn->after.empty() ? !goOn->at.empty() || !goOn->events.empty() : goOn->at.empty())
          return refuse(Code::BadCommandLine, "a plan goes on with --after FOLDER and --at TIME", options->json,
                        "jobs");
        if (!goOn->after.empty() && block->file.empty())
          return refuse(Code::BadCommandLine, "--after goes on with a 'jobs' block, not with a simulation",
                        options->json, "jobs");
        block->json = options->json;
        if (block->file.empty()) {
          options->output = block->output;
          return simulateJobs(*options);
        }
        if (block->output.empty())
          block->output = Options().output;
        return scheduleJobs(*block, *limits, *goOn);
      });
    });

} // namespace accord
