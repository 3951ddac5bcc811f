#include "lib/driver/simulation/Jobs.h"
#include "lib/driver/AnswerFolder.h"
#include "lib/driver/Documents.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/simulation/JobsReplay.h"
#include "lib/import/jobs/TraceJobs.h"
#include "lib/jobs/output/SimulationOutput.h"
#include "lib/language/syntax/Parser.h"
#include "lib/support/CommandHost.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/WriteFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>
#include <utility>

namespace accord {
namespace {
using namespace jobs;

class Simulator {
public:
  explicit Simulator(const JobsOptions &options) : options(options), diags(sources), replay(options, diags) {}

  int run() {
    if (!replay.read() || !writeHistory() || !select() || !canCompare() || !readHistory())
      return finish(diags, kWrongInput, options.json, "jobs");
    report.cluster = replay.cluster();
    report.trace = options.trace;
    report.round = replay.simulation().round;
    report.restart = replay.restart();
    report.hasEvents = !replay.simulation().events.empty();
    report.meanFloor = replay.meanFloor(), report.makespanFloor = replay.makespanFloor();
    for (const ReplayPolicy &policy : chosen)
      if (!simulatePolicy(policy))
        return finish(diags, kWrongInput, options.json, "jobs");
    if (options.curve && !options.history.empty() && !simulateWithoutHistory())
      return finish(diags, kWrongInput, options.json, "jobs");
    report.compareWith(options.reference);
    if (options.curve)
      report.addRegrets();
    if (!options.schedule.empty() && !writeFile(diags, options.schedule, simulationCsv(report)))
      return finish(diags, kWrongInput, options.json, "jobs");
    if (!options.output.empty() && !AnswerFolder(diags, options.output).write(filesOf(report)).commit())
      return finish(diags, kWrongInput, options.json, "jobs");
    if (options.json)
      standardOutput() << jsonText(simulationJson(report)) << "\n";
    else
      standardOutput() << simulationText(report, TextStyle::of(standardOutput()));
    return finish(diags, kDone, options.json, "jobs");
  }

private:
  bool canRun(const ReplayPolicy &policy) const { return policy.seesChanges || replay.simulation().events.empty(); }

  /// Keeps the policies that the options name, in their order.
  bool select() {
    const bool isAll = llvm::is_contained(options.policies, "all");
    if (options.policies.empty() || isAll) {
      llvm::copy_if(replay.policies(), std::back_inserter(chosen),
                    [&](const ReplayPolicy &policy) { return canRun(policy) && (isAll || policy.isShown); });
      return true;
    }
    std::vector<std::string> known;
    for (const ReplayPolicy &policy : replay.policies())
      if (canRun(policy))
        known.push_back(policy.name);
    for (const std::string &name : options.policies) {
      const ReplayPolicy *found = replay.policy(name);
      if (name == "actor" && !found)
        return diags.error(Code::BadCommandLine, {}, "--policy: 'actor' needs the file of one: --actor FILE.onnx"),
               false;
      if (!found || !canRun(*found)) {
        const char *what = !found ? "this trace" : "a trace with servers that come and go";
        diags
            .error(Code::BadCommandLine, {},
                   fmt::format("--policy: {} cannot be replayed under '{}'; it can under {}", what, name,
                               fmt::join(known, ", ")))
            .suggest(nearest(name, known));
        return false;
      }
      chosen.push_back(*found);
    }
    if (!options.actor.empty() && !isChosen("actor"))
      return diags.error(Code::BadCommandLine, {}, "--actor is who weighs jobs under 'actor': --policy names no such"),
             false;
    return true;
  }

  static bool learns(const std::string &policy) {
    return policy == "learned" || policy == "bandit" || policy == "actor";
  }

  /// The policies that begin with the history, without it: what the history brings.
  bool simulateWithoutHistory() {
    const WorkHistory known = std::exchange(replay.history(), {});
    for (ReplayPolicy policy : chosen) {
      if (!learns(policy.name))
        continue;
      policy.name += " new"; // tables cut the middle out of long names
      if (!simulatePolicy(policy))
        return false;
    }
    replay.history() = known;
    return true;
  }

  bool isChosen(const std::string &name) const {
    return llvm::any_of(chosen, [&](const ReplayPolicy &one) { return one.name == name; });
  }

  /// What `learned`, `bandit` and `actor` begin with.
  bool readHistory() {
    if (options.history.empty())
      return true;
    if (!isChosen("learned") && !isChosen("bandit") && !isChosen("actor"))
      return diags.error(Code::BadCommandLine, {}, "--history is what 'learned' begins with: --policy names no such"),
             false;
    auto file = readFile(diags, options.history);
    if (!file)
      return false;
    auto complete = readWorkHistory(sources.text(*file), options.history);
    if (!complete)
      return replay.add(complete.error()), false;
    for (const CompleteJob &job : *complete)
      replay.history().addEarlier(job);
    return true;
  }

  /// The work of the jobs of the trace, with their rates where they are fastest.
  bool writeHistory() {
    if (options.writeHistory.empty())
      return true;
    if (options.speeds == "fitted" || options.speeds == "predicted")
      return diags.error(Code::BadCommandLine, {},
                         fmt::format("--write-history has speeds that are measured, not {} ones", options.speeds)),
             false;
    std::vector<CompleteJob> complete;
    for (const SimulatedJob &job : replay.jobs(*replay.policy("learned")))
      complete.push_back({job.application, job.progress()->workLeft(), fastestRate(replay.cluster(), job)});
    return writeFile(diags, options.writeHistory, printWorkHistory(complete));
  }

  /// Whether `--reference` can be followed.
  bool canCompare() {
    auto refused = [&](const std::string &message) { return diags.error(Code::BadCommandLine, {}, message), false; };
    if (options.reference.empty())
      return !options.curve || refused("--curve is the regret against a policy: it needs --reference");
    if (options.seeds < 5)
      return refused("--reference compares seed by seed: it needs --seeds 5 or more");
    if (options.draw == 0 && options.noise.empty() && options.mtbf.empty())
      return refused("--reference: all seeds are alike without --draw, --noise or --mtbf");
    if (!isChosen(options.reference))
      return refused(fmt::format("--reference: '{}' is not among the policies that are simulated", options.reference));
    return true;
  }

  /// Refuses a job that asks for more devices than there are.
  bool fitsAll(const std::string &policy, const std::vector<SimulatedJob> &described) {
    const int64_t devices = report.cluster.devices();
    for (const SimulatedJob &job : described)
      if (job.devices > devices) {
        diags
            .error(Code::GangTooLarge, {},
                   fmt::format("job '{}' asks for {} devices, and there are {}", job.name, job.devices, devices))
            .help(fmt::format("'{}' does not run a job on fewer devices; --policy exact_las,exact do", policy));
        return false;
      }
    return true;
  }

  bool simulatePolicy(const ReplayPolicy &replayed) {
    std::vector<SimulatedJob> described = replay.jobs(replayed);
    if (replayed.isRigid && !fitsAll(replayed.name, described))
      return false;
    PolicyReport made;
    made.policy = replayed.name;
    made.knows = replayed.knows;
    made.isFixed =
        !llvm::StringRef(made.knows).contains("work") && !learns(llvm::StringRef(made.policy).split(' ').first.str());
    for (unsigned seed = 0; seed < std::max(options.seeds, 1u); ++seed) {
      if (options.draw > 0) {
        if (!replay.draw(seed))
          return false;
        described = replay.jobs(replayed);
      }
      std::unique_ptr<Policy> policy = replayed.make();
      SimulationOptions seeded = replay.simulation();
      seeded.seed = seed;
      auto result = simulate(report.cluster, described, *policy, seeded);
      if (!result) {
        Error error = result.takeError();
        error.message = fmt::format("{}: {}", replayed.name, error.message);
        replay.add(error);
        return false;
      }
      made.seeds.push_back(outcomeOf(seed, described, *result));
      if (options.curve)
        made.completions.push_back(completionsOf(described, *result));
      if (policy->maxGap())
        made.maxGap = std::max(made.maxGap.value_or(0), *policy->maxGap());
      if (const auto shield = policy->shield()) {
        made.shield = made.shield.value_or(ShieldCount());
        made.shield->rounds += shield->rounds, made.shield->shielded += shield->shielded;
      }
      if (seed == 0)
        describe(described, *result, made);
    }
    report.policies.push_back(std::move(made));
    return true;
  }

  /// By arrival; of jobs that arrive at once, in the order of the trace.
  static SeedCompletions completionsOf(const std::vector<SimulatedJob> &described, const SimulationResult &result) {
    std::vector<std::pair<double, size_t>> byArrival;
    for (size_t i = 0; i < described.size(); ++i)
      byArrival.emplace_back(described[i].arrival, i);
    llvm::sort(byArrival);
    SeedCompletions completions;
    for (const auto &[arrival, i] : byArrival)
      completions.push_back(result.jobs[i].completion.value_or(0) - arrival);
    return completions;
  }

  /// What the first seed did to each job.
  static void describe(const std::vector<SimulatedJob> &described, const SimulationResult &result, PolicyReport &made) {
    made.busy = result.busy;
    made.rounds = static_cast<int64_t>(result.rounds);
    for (size_t i = 0; i < described.size(); ++i) {
      const SimulatedOutcome &job = result.jobs[i];
      made.jobs.push_back({described[i].name, described[i].arrival, job.start.value_or(0), job.completion.value_or(0),
                           job.restarts, job.service, described[i].deadline, job.failures, job.lostSeconds});
    }
    for (const SimulatedSpan &span : result.spans)
      made.spans.push_back({described[span.job].name, span.start, span.end, span.placement});
  }

  const JobsOptions &options;
  SourceManager sources;
  Diagnostics diags;
  JobsReplay replay;
  std::vector<ReplayPolicy> chosen;
  SimulationReport report;
};

const DocumentEntry
    kDocument("jobs", "accord jobs --simulate TRACE --json",
              "What policies did to the jobs of a trace that share a cluster, in a simulation. Times in "
              "_s are seconds from the start of the trace.",
              simulationSchema);

} // namespace

std::vector<std::string> jobPolicies() {
  return {"tiresias",
          "optimus",
          "fifo",
          "max_min_fairness",
          "max_min_fairness_perf",
          "finish_time_fairness_perf",
          "min_total_duration_perf",
          "exact_las",
          "exact",
          "learned",
          "bandit",
          "actor",
          "srpt",
          "srsf",
          "las",
          "earliest_deadline",
          "sia",
          "pollux_objective",
          "tenant_fairness",
          "shockwave_objective"};
}

int simulateJobs(const JobsOptions &options) { return Simulator(options).run(); }

} // namespace accord
