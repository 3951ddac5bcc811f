#include "lib/driver/tasks/Jobs.h"
#include "lib/driver/Documents.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/tasks/JobEvents.h"
#include "lib/import/jobs/GavelThroughputs.h"
#include "lib/import/jobs/GavelTrace.h"
#include "lib/import/jobs/PolluxProfiles.h"
#include "lib/import/jobs/ReadTrace.h"
#include "lib/import/jobs/SiaProfiles.h"
#include "lib/import/jobs/TraceJobs.h"
#include "lib/jobs/output/SimulationOutput.h"
#include "lib/jobs/simulate/AllocationPolicy.h"
#include "lib/jobs/simulate/FairnessPolicies.h"
#include "lib/jobs/simulate/GoodputPolicies.h"
#include "lib/jobs/simulate/Optimus.h"
#include "lib/jobs/simulate/OrderedPolicies.h"
#include "lib/jobs/simulate/PredictedSpeeds.h"
#include "lib/jobs/simulate/ProfiledProgress.h"
#include "lib/jobs/simulate/RoundPolicies.h"
#include "lib/jobs/simulate/Seeds.h"
#include "lib/jobs/simulate/ShockwavePolicy.h"
#include "lib/jobs/simulate/TenantPolicy.h"
#include "lib/jobs/simulate/Tiresias.h"
#include "lib/jobs/solve/CompletionFloor.h"
#include "lib/jobs/verify/FloorCheck.h"
#include "lib/language/syntax/Parser.h"
#include "lib/support/CommandHost.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/WriteFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <filesystem>
#include <fmt/format.h>
#include <map>

namespace accord {
namespace {
using namespace jobs;

/// A policy that can replay a trace: a new simulation gets new jobs and a new policy.
struct ReplayPolicy {
  std::string name, knows;
  bool isRigid = false; ///< jobs run on all the devices that they ask for, or wait
  std::function<std::vector<SimulatedJob>()> jobs;
  std::function<std::unique_ptr<Policy>()> make;
  bool isShown = true;     ///< where no policy is named
  bool seesChanges = true; ///< it can run where servers come and go
};

constexpr double kRestart = 30; ///< seconds, of Pollux' simulator

/// A trace with the policies that its jobs allow.
struct Replay {
  double round = 60, restart = kRestart; ///< seconds
  bool endsEarly = false;                ///< see `SimulationOptions`
  std::vector<ReplayPolicy> policies;
  std::vector<std::string> applications;                ///< of each job
  std::vector<std::optional<double>> deadlineFactors;   ///< of each job: multiple of its time alone
  std::function<std::vector<SimulatedJob>()> askedJobs; ///< on the devices that they ask for
  /// Puts jobs that a seed draws in the place of those of the trace, and says which they are.
  std::function<std::vector<DrawnJob>(uint64_t seed)> draw;
};

constexpr const char *kKnowsNothing = "nothing", *kKnowsSpeed = "speeds", *kKnowsWork = "speeds, work",
                     *kFitsSpeed = "fitted speeds", *kFitsSpeedKnowsWork = "fitted speeds, work",
                     *kPredictsSpeed = "predicted speeds", *kPredictsSpeedKnowsWork = "predicted speeds, work";

/// "16x4" or "v100=8x1,k80=24x1", into servers; a message where it is neither.
Result<Cluster> readServers(const std::string &text) {
  Cluster cluster;
  auto wrong = [&](llvm::StringRef part) {
    return Error{Code::BadCommandLine,
                 fmt::format("--servers: expected TYPE=SERVERSxDEVICES, as in v100=8x1,k80=24x4, or 16x4 alone, found "
                             "'{}'",
                             part.str())};
  };
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(text).split(parts, ',');
  for (llvm::StringRef part : parts) {
    auto [name, size] = part.contains('=') ? part.split('=') : std::pair<llvm::StringRef, llvm::StringRef>("gpu", part);
    auto [servers, devices] = size.split('x');
    unsigned numServers = 0, serverDevices = 0;
    constexpr unsigned kMax = 100'000;
    if (name.trim().empty() || servers.trim().getAsInteger(10, numServers) ||
        devices.trim().getAsInteger(10, serverDevices) || numServers == 0 || serverDevices == 0 || numServers > kMax ||
        serverDevices > kMax)
      return wrong(part);
    if (llvm::is_contained(cluster.types, name.trim()))
      return Error{Code::BadCommandLine, fmt::format("--servers: device type '{}' stands twice", name.trim().str())};
    cluster.types.push_back(name.trim().str());
    for (unsigned i = 0; i < numServers; ++i)
      cluster.servers.push_back({static_cast<unsigned>(cluster.types.size() - 1), serverDevices});
  }
  return cluster;
}

class Simulator {
public:
  explicit Simulator(const JobsOptions &options) : options(options), diags(sources) {}

  int run() {
    if (!(options.round.value_or(1) >= 1 && options.round.value_or(1) <= 1e6))
      return refuse(Code::BadCommandLine, "--round: expected seconds from 1 to 1,000,000", options.json, "jobs");
    if (!(options.restart.value_or(0) >= 0 && options.restart.value_or(0) <= 1e6))
      return refuse(Code::BadCommandLine, "--restart: expected seconds from 0 to 1,000,000", options.json, "jobs");
    auto cluster = readServers(options.servers);
    if (!cluster)
      return refuse(Code::BadCommandLine, cluster.error().message, options.json, "jobs");
    report.cluster = *cluster;
    report.trace = options.trace;
    auto replay = readReplay();
    if (!replay)
      return finish(diags, kWrongInput, options.json, "jobs");
    report.round = options.round.value_or(replay->round);
    report.restart = restartOf(replay->restart);
    if (auto read = readJobEvents(options, report.cluster, simulation); !read)
      return refuse(Code::BadCommandLine, read.error().message, options.json, "jobs");
    simulation.round = report.round;
    simulation.endsEarly = replay->endsEarly;
    report.hasEvents = !simulation.events.empty();
    if (!simulation.noise.empty()) // jobs may be faster than the floors say
      report.meanFloor = report.makespanFloor = 0;
    if (options.draw > 0) // floors are of the trace as it is
      report.meanFloor = report.makespanFloor = 0;
    if (!readJobs(*replay, {}) || !writeHistory(*replay) || !select(*replay) || !canCompare(*replay) ||
        !readHistory(*replay))
      return finish(diags, kWrongInput, options.json, "jobs");
    for (const ReplayPolicy &policy : replay->policies)
      if (!simulatePolicy(*replay, policy))
        return finish(diags, kWrongInput, options.json, "jobs");
    report.compareWith(options.reference);
    if (!options.schedule.empty() && !writeFile(diags, options.schedule, simulationCsv(report)))
      return finish(diags, kWrongInput, options.json, "jobs");
    if (options.json)
      standardOutput() << jsonText(simulationJson(report)) << "\n";
    else
      standardOutput() << simulationText(report, TextStyle::of(standardOutput()));
    return finish(diags, kDone, options.json, "jobs");
  }

private:
  double restartOf(double usual) const { return options.restart.value_or(usual); }

  /// An error at its place, if its file was read.
  void add(const Error &error) {
    SourceRange at;
    if (auto file = sources.find(error.location.file); file && error.location.line > 0)
      at = sources.at(*file, {error.location.line, std::max(error.location.column, 1u)});
    else if (error.location.line > 0)
      if (auto read = readFile(diags, error.location.file))
        at = sources.at(*read, {error.location.line, std::max(error.location.column, 1u)});
    diags.error(error.code, at, error.message).suggest(error.suggestion);
  }
  template <typename T> std::optional<T> taken(Result<T> result) {
    if (!result)
      return add(result.error()), std::nullopt;
    return std::move(*result);
  }

  std::optional<Replay> readReplay() {
    auto file = readFile(diags, options.trace);
    if (!file)
      return std::nullopt;
    llvm::StringRef text = sources.text(*file);
    // Traces of Gavel have tabs between columns, workloads of Pollux a first line with names.
    const bool isRecorded = static_cast<bool>(traceFormat(text, options.trace));
    const bool isGavel = text.take_until([](char c) { return c == '\n'; }).contains('\t');
    if (options.speeds == "fitted" && (isRecorded || isGavel)) {
      diags.error(
          Code::BadCommandLine, {},
          fmt::format("--speeds: nothing can be fitted to the jobs of '{}', whose speeds are steady", options.trace));
      return std::nullopt;
    }
    if (arePredicted() && !isGavel) {
      diags
          .error(Code::BadCommandLine, {},
                 fmt::format("--speeds: '{}' has no rates of other models on several device types from which speeds "
                             "could be predicted",
                             options.trace))
          .help("throughputs by device type do (.json, Gavel); 'fitted' estimates speeds of Pollux' workloads");
      return std::nullopt;
    }
    if (isRecorded)
      return recorded();
    if (options.profiles.empty()) {
      diags
          .error(Code::BadCommandLine, {},
                 fmt::format("--profiles: how fast the jobs of '{}' are is not stated", options.trace))
          .help("of Pollux' and Sia's workloads a folder, of Gavel's traces a .json; logs of jobs need none");
      return std::nullopt;
    }
    if (isGavel)
      return gavel(text);
    return pollux(text);
  }

  std::optional<Replay> pollux(llvm::StringRef text) {
    auto workload = taken(readPolluxWorkload(text, options.trace));
    if (!workload)
      return std::nullopt;
    auto applications = profilesOf(*workload);
    if (!applications || !haveCurves(*workload, *applications))
      return std::nullopt;
    Replay replay;
    auto drawn = std::make_shared<std::vector<PolluxJob>>(*workload);
    replay.draw = drawing(drawn);
    auto jobs = [drawn, applications = *applications](std::optional<KnownSpeeds> chooses) {
      std::vector<SimulatedJob> made;
      for (const PolluxJob &job : *drawn) {
        const auto &[types, restart] = applications.at(job.application);
        made.push_back(chooses ? adaptiveJob(job.name, job.arrival, types, restart, *chooses)
                               : profiledJob(job.name, job.arrival, job.devices, types, job.batch, restart));
      }
      return made;
    };
    const bool areFitted = options.speeds == "fitted";
    auto asked = [jobs] { return jobs(std::nullopt); };
    auto elastic = [jobs, areFitted] { return jobs(areFitted ? KnownSpeeds::Fitted : KnownSpeeds::Measured); };
    for (const PolluxJob &job : *workload)
      replay.applications.push_back(job.application);
    replay.deadlineFactors.resize(workload->size());
    replay.askedJobs = asked;
    double restarts = 0;
    for (const SimulatedJob &job : asked())
      restarts += job.restartSeconds;
    if (!workload->empty())
      replay.restart = restarts / static_cast<double>(workload->size()); // the mean, where applications differ
    addProfiledPolicies(replay, asked, elastic);
    return replay;
  }

  /// Policies that need measured speeds are left out where speeds are fitted.
  void addProfiledPolicies(Replay &replay, const std::function<std::vector<SimulatedJob>()> &asked,
                           const std::function<std::vector<SimulatedJob>()> &elastic) {
    const bool areFitted = options.speeds == "fitted", isOneType = report.cluster.types.size() == 1;
    const unsigned serverDevices = report.cluster.servers.front().devices;
    if (isOneType)
      replay.policies.push_back({"tiresias", kKnowsNothing, true, asked, [] { return std::make_unique<Tiresias>(); }});
    if (isOneType && !areFitted)
      replay.policies.push_back({"optimus", kKnowsWork, false, asked, [serverDevices] {
                                   return std::make_unique<Optimus>(profiledForecast(serverDevices));
                                 }});
    replay.policies.push_back(
        {"exact_las", areFitted ? kFitsSpeed : kKnowsSpeed, false, elastic, exact(KnownWork::Done)});
    replay.policies.push_back(
        {"exact", areFitted ? kFitsSpeedKnowsWork : kKnowsWork, false, elastic, exact(KnownWork::Left)});
    replay.policies.push_back(
        {"learned", areFitted ? kFitsSpeed : kKnowsSpeed, false, elastic, exact(KnownWork::Learned), false});
    addOrderedPolicies(replay, asked);
    addGoodputPolicies(replay, elastic, false);
    if (areFitted) {
      for (ReplayPolicy &policy : replay.policies)
        if (policy.knows == kKnowsSpeed)
          policy.knows = kFitsSpeed;
      // `las` goes to the type on which a job is complete first.
      llvm::erase_if(replay.policies, [isOneType](const ReplayPolicy &policy) {
        return policy.knows == kKnowsWork || (policy.name == "las" && !isOneType);
      });
      return;
    }
    const double round = options.round.value_or(replay.round);
    if (isOneType)
      replay.policies.push_back({"shockwave_objective", kKnowsWork, true, asked,
                                 [round] {
                                   ShockwaveOptions shockwave;
                                   shockwave.round = round;
                                   return std::make_unique<ShockwavePolicy>(shockwave);
                                 },
                                 false});
  }

  /// An application on the types of the cluster, and the seconds of its restarts.
  struct KnownApplication {
    ApplicationTypes types;
    double restart = 0;
  };
  using Applications = std::map<std::string, KnownApplication>;

  /// Refuses a job whose batch no curve is known of.
  bool haveCurves(const std::vector<PolluxJob> &workload, const Applications &applications) {
    for (const PolluxJob &job : workload) {
      const ApplicationTypes &types = applications.at(job.application).types;
      const TrainingProfile &profile =
          (*llvm::find_if(types, [](const auto &application) { return application != nullptr; }))->profile();
      if (profile.hasCurves(job.batch))
        continue;
      diags.error(Code::WrongJobsFile, sources.at(*sources.find(options.trace), {job.line, 1}),
                  fmt::format("job '{}' has a batch of {}, and '{}' was profiled from {} to {}", job.name, job.batch,
                              job.application, profile.initialBatch, profile.maxBatch));
      return false;
    }
    return true;
  }

  /// Whether the profiles are those of Sia: of several types, or of one that the folder has files of.
  bool areTyped() const {
    if (report.cluster.types.size() > 1)
      return true;
    std::error_code problem;
    for (std::filesystem::directory_iterator entry(options.profiles, problem), end; !problem && entry != end;
         entry.increment(problem))
      if (std::filesystem::exists(entry->path() / ("placements-" + report.cluster.types.front() + ".csv"), problem))
        return true;
    return false;
  }

  std::optional<Applications> profilesOf(const std::vector<PolluxJob> &workload) {
    std::map<std::string, std::vector<std::optional<TrainingProfile>>> profiles; // on each type
    std::map<std::string, unsigned> lines;
    for (const PolluxJob &job : workload)
      lines.try_emplace(job.application, job.line);
    const bool typed = areTyped();
    std::optional<SiaProfiles> sia;
    if (typed && !lines.empty() && !(sia = readTyped()))
      return std::nullopt;
    Applications applications;
    for (const auto &[name, line] : lines) {
      llvm::SmallString<128> folder(options.profiles);
      llvm::sys::path::append(folder, name);
      const SourceRange at = sources.at(*sources.find(options.trace), {line, 1});
      KnownApplication known;
      known.restart = restartOf(typed ? siaRestartSeconds(name) : kRestart);
      if (!llvm::sys::fs::is_directory(folder)) {
        diags.error(Code::WrongJobsFile, at,
                    fmt::format("application '{}' has no folder in '{}'", name, options.profiles));
        return std::nullopt;
      }
      if (!(typed ? addTyped(*sia, name, known) : addProfile(folder.str().str(), name, known)))
        return std::nullopt;
      if (llvm::all_of(known.types, [](const auto &application) { return application == nullptr; })) {
        diags.error(Code::WrongJobsFile, at,
                    fmt::format("application '{}' has no times on a type of '{}'", name, options.servers));
        return std::nullopt;
      }
      applications[name] = std::move(known);
    }
    return applications;
  }

  bool addProfile(const std::string &folder, const std::string &name, KnownApplication &to) {
    auto profile = taken(readPolluxProfile(folder, polluxLimits(name)));
    auto application = profile ? taken(ProfiledApplication::make(std::move(*profile))) : std::nullopt;
    if (application)
      to.types = {*application};
    return application.has_value();
  }

  std::optional<SiaProfiles> readTyped() {
    auto read = readSiaProfiles(options.profiles, report.cluster.types);
    if (read)
      return std::move(*read);
    Error error = read.takeError();
    if (!llvm::sys::fs::is_regular_file(error.location.file))
      error.location = {};
    add(error);
    return std::nullopt;
  }

  /// The application on each type of the cluster, as slow as Sia's simulator has it.
  bool addTyped(const SiaProfiles &profiles, const std::string &name, KnownApplication &to) {
    for (const std::string &note : profiles.assumptions)
      if (note.starts_with(fmt::format("'{}'", name)))
        standardError() << fmt::format("accord: {}\n", note);
    for (const std::string &type : report.cluster.types) {
      to.types.push_back(nullptr);
      const auto found = profiles.profiles.find({name, type});
      if (found == profiles.profiles.end())
        continue;
      auto application = taken(ProfiledApplication::make(scaledProfile(found->second, siaSlowdown(name))));
      if (!application)
        return false;
      to.types.back() = *application;
    }
    return true;
  }

  std::optional<Replay> gavel(llvm::StringRef text) {
    auto trace = taken(readGavelTrace(text, options.trace));
    auto file = trace ? readFile(diags, options.profiles) : std::nullopt;
    auto table = file ? taken(readGavelThroughputs(sources.text(*file), options.profiles)) : std::nullopt;
    if (!table)
      return std::nullopt;
    for (const std::string &type : report.cluster.types)
      if (table->typeOf(type) == table->types.size()) {
        diags
            .error(Code::BadCommandLine, {},
                   fmt::format("--servers: '{}' has no device type '{}'", options.profiles, type))
            .suggest(nearest(type, table->types));
        return std::nullopt;
      }
    Replay replay;
    replay.round = 360;
    replay.restart = 0;
    replay.endsEarly = true;
    auto jobs = std::make_shared<std::vector<SteadyJob>>();
    std::map<std::string, unsigned> copies;
    for (const GavelJob &job : *trace) {
      std::string name = fmt::format("{} {}", job.application, ++copies[job.application]);
      jobs->push_back({name, job.application, job.arrival, job.steps, job.gang, job.weight, restartOf(replay.restart),
                       table->ratesOn(report.cluster.types, job.application, job.gang)});
      if (!jobs->back().rates.empty())
        continue;
      SourceRange at = sources.at(*sources.find(options.trace), {job.line, 1});
      diags.error(Code::WrongJobsFile, at,
                  fmt::format("'{}' has no throughput of '{}' on {} device{}", options.profiles, job.application,
                              job.gang, job.gang == 1 ? "" : "s"));
      return std::nullopt;
    }
    for (const GavelJob &job : *trace) {
      replay.applications.push_back(job.application);
      replay.deadlineFactors.push_back(job.slo);
    }
    if (arePredicted())
      predicted = std::make_shared<PredictedSpeeds>(*table, report.cluster.types);
    return steady(std::move(replay), jobs);
  }

  /// A log of jobs: each holds its devices for as long as it did, on any of its device types.
  std::optional<Replay> recorded() {
    auto trace = taken(readTraceFile(options.trace));
    if (!trace)
      return std::nullopt;
    Replay replay;
    replay.endsEarly = true;
    auto found = taken(replayOf(*trace, report.cluster, restartOf(replay.restart)));
    if (!found)
      return std::nullopt;
    for (const std::string &note : found->notes)
      standardError() << fmt::format("accord: {}\n", note);
    std::map<std::string, std::string> tenantOfJob;
    for (const TraceJob &job : trace->jobs)
      tenantOfJob[job.name] = job.tenant.empty() ? "none" : job.tenant;
    for (const SteadyJob &job : found->jobs)
      replay.applications.push_back(tenantOfJob[job.name]);
    replay.deadlineFactors.resize(found->jobs.size());
    return steady(std::move(replay), std::make_shared<std::vector<SteadyJob>>(std::move(found->jobs)));
  }

  /// The policies of jobs with steady speeds, and the floors that no policy can be below.
  std::optional<Replay> steady(Replay replay, const std::shared_ptr<std::vector<SteadyJob>> &jobs) {
    if (auto checked = checkSteadyJobs(report.cluster, *jobs); !checked) {
      add(checked.error());
      return std::nullopt;
    }
    if (!jobs->empty()) {
      // What counts is what prices and values prove, computed apart from the search for them.
      report.meanFloor = provenMean(report.cluster, *jobs, completionFloor(report.cluster, *jobs));
      report.makespanFloor = makespanFloor(report.cluster, *jobs);
    }
    replay.draw = drawing(jobs);
    replay.askedJobs = [jobs] { return simulatedJobs(*jobs, /*wholeSteps=*/true); };
    const auto seen =
        arePredicted() ? [jobs, speeds = predicted] { return predictedJobs(*jobs, *speeds, true); } : replay.askedJobs;
    addSteadyPolicies(replay, jobs, seen);
    addOrderedPolicies(replay, replay.askedJobs);
    addGoodputPolicies(replay, seen, true);
    if (arePredicted())
      keepPredictedPolicies(replay);
    return replay;
  }

  bool arePredicted() const { return options.speeds == "predicted"; }

  /// Policies that need measured speeds are left out where speeds are predicted.
  static void keepPredictedPolicies(Replay &replay) {
    for (ReplayPolicy &policy : replay.policies)
      if (policy.name == "exact")
        policy.knows = kPredictsSpeedKnowsWork;
    llvm::erase_if(replay.policies, [](const ReplayPolicy &policy) {
      return policy.knows == kKnowsWork || policy.name == "las" || policy.name == "max_min_fairness_perf";
    });
    for (ReplayPolicy &policy : replay.policies)
      if (policy.knows == kKnowsSpeed)
        policy.knows = kPredictsSpeed;
  }

  /// Draws from jobs as they are now.
  template <typename Job>
  std::function<std::vector<DrawnJob>(uint64_t)> drawing(const std::shared_ptr<std::vector<Job>> &jobs) const {
    return [&options = options, known = *jobs, jobs](uint64_t seed) {
      std::vector<double> arrivals;
      for (const Job &job : known)
        arrivals.push_back(job.arrival);
      std::vector<DrawnJob> drawn = drawTrace(arrivals, options.draw, options.load, seed);
      jobs->clear();
      for (const DrawnJob &one : drawn) {
        Job &job = jobs->emplace_back(known[one.job]);
        job.name = fmt::format("{} {}", jobs->size(), job.name);
        job.arrival = one.arrival;
      }
      return drawn;
    };
  }

  /// `simulated`: as policies see the jobs.
  void addSteadyPolicies(Replay &replay, const std::shared_ptr<std::vector<SteadyJob>> &jobs,
                         const std::function<std::vector<SimulatedJob>()> &simulated) {
    const Cluster &cluster = report.cluster;
    auto add = [&](const char *name, const char *knows, std::function<std::unique_ptr<Policy>()> make,
                   bool isShown = true) {
      const bool isOurs = llvm::StringRef(name).starts_with("exact") || llvm::StringRef(name) == "learned";
      replay.policies.push_back({name, knows, true, simulated, std::move(make), isShown, isOurs});
    };
    add("fifo", kKnowsNothing, [&cluster, jobs] { return std::make_unique<FifoPolicy>(cluster, *jobs); });
    add("max_min_fairness", kKnowsNothing,
        [&cluster, jobs] { return std::make_unique<MaxMinFairnessPolicy>(cluster, *jobs, /*typeBlind=*/true); });
    add("max_min_fairness_perf", kKnowsSpeed,
        [&cluster, jobs] { return std::make_unique<MaxMinFairnessPolicy>(cluster, *jobs, /*typeBlind=*/false); });
    add("finish_time_fairness_perf", kKnowsWork,
        [&cluster, jobs] { return std::make_unique<FinishTimeFairnessPolicy>(cluster, *jobs); });
    add("min_total_duration_perf", kKnowsWork,
        [&cluster, jobs] { return std::make_unique<MinTotalDurationPolicy>(cluster, *jobs); });
    add("exact_las", kKnowsSpeed, exact(KnownWork::Done));
    add("exact", kKnowsWork, exact(KnownWork::Left));
    add("learned", kKnowsSpeed, exact(KnownWork::Learned), false);
  }

  template <typename Made> static std::function<std::unique_ptr<Policy>()> maker() {
    return [] { return std::make_unique<Made>(); };
  }

  void addOrderedPolicies(Replay &replay, const std::function<std::vector<SimulatedJob>()> &jobs) {
    const double round = options.round.value_or(replay.round);
    auto add = [&](const char *name, const char *knows, std::function<std::unique_ptr<Policy>()> make) {
      replay.policies.push_back({name, knows, true, jobs, std::move(make), false});
    };
    add("srpt", kKnowsWork, maker<ShortestRemainingTime>());
    add("srsf", kKnowsWork, maker<ShortestRemainingService>());
    add("las", kKnowsNothing, maker<AttainedServiceOrder>());
    add("earliest_deadline", kKnowsWork, [round] { return std::make_unique<EarliestDeadline>(round); });
  }

  void addGoodputPolicies(Replay &replay, const std::function<std::vector<SimulatedJob>()> &jobs, bool areRigid) {
    auto add = [&](const char *name, std::function<std::unique_ptr<Policy>()> make) {
      replay.policies.push_back({name, kKnowsSpeed, areRigid, jobs, std::move(make), false});
    };
    add("sia", maker<SiaPolicy>());
    add("pollux_objective", maker<PolluxObjective>());
    add("tenant_fairness", [this] {
      TenantOptions tenant;
      tenant.tenants = tenants;
      return std::make_unique<TenantPolicy>(tenant);
    });
  }

  std::function<std::unique_ptr<Policy>()> exact(KnownWork knows) {
    return [this, knows] {
      AllocationOptions allocation;
      allocation.knows = knows;
      allocation.history = history;
      return std::make_unique<AllocationPolicy>(allocation);
    };
  }

  /// Applications, tenants and deadlines of all jobs, or of those that were drawn.
  bool readJobs(const Replay &replay, const std::vector<DrawnJob> &drawn) {
    auto named = readTenants(options.tenants);
    if (!named) {
      add(named.error());
      return false;
    }
    tenants = *named;
    applications.clear(), tenantOf.clear(), deadlines.clear();
    std::map<std::string, int> numbers;
    const std::vector<SimulatedJob> asked = replay.askedJobs();
    for (size_t i = 0; i < asked.size(); ++i) {
      const size_t known = drawn.empty() ? i : drawn[i].job;
      applications.push_back(replay.applications[known]);
      if (!named->empty()) {
        tenantOf.push_back(static_cast<int>(i % named->size()));
      } else {
        const auto [found, isNew] = numbers.try_emplace(applications[i], static_cast<int>(tenants.size()));
        if (isNew) {
          tenants.emplace_back().name = applications[i];
          tenants.back().objective = FairObjective::PowerMean;
        }
        tenantOf.push_back(found->second);
      }
      const std::optional<double> factor = options.deadline ? options.deadline : replay.deadlineFactors[known];
      const double alone = factor ? secondsAlone(asked[i]) : 0;
      deadlines.push_back(alone > 0 ? std::optional(asked[i].arrival + *factor * alone) : std::nullopt);
    }
    return true;
  }

  /// Seconds of a job on all devices that it asks for, of its fastest type; 0 where no speed is known.
  double secondsAlone(const SimulatedJob &job) const {
    const auto progress = job.progress();
    double fastest = 0;
    for (unsigned type = 0; type < report.cluster.types.size(); ++type)
      fastest = std::max(fastest, progress->rate(report.cluster, type, job.devices));
    return fastest > 0 ? progress->workLeft() / fastest : 0;
  }

  bool canRun(const ReplayPolicy &policy) const { return policy.seesChanges || simulation.events.empty(); }

  /// Keeps the policies that the options name, in their order.
  bool select(Replay &replay) {
    const bool isAll = llvm::is_contained(options.policies, "all");
    if (options.policies.empty() || isAll) {
      llvm::erase_if(replay.policies,
                     [&](const ReplayPolicy &policy) { return !canRun(policy) || !(isAll || policy.isShown); });
      return true;
    }
    std::vector<std::string> known;
    for (const ReplayPolicy &policy : replay.policies)
      if (canRun(policy))
        known.push_back(policy.name);
    std::vector<ReplayPolicy> chosen;
    for (const std::string &name : options.policies) {
      auto found = llvm::find_if(replay.policies, [&](const ReplayPolicy &policy) { return policy.name == name; });
      if (found == replay.policies.end() || !canRun(*found)) {
        const char *what = found == replay.policies.end() ? "this trace" : "a trace with servers that come and go";
        diags.error(Code::BadCommandLine, {},
                    fmt::format("--policy: {} cannot be replayed under '{}'; it can under {}", what, name,
                                fmt::join(known, ", ")));
        return false;
      }
      chosen.push_back(*found);
    }
    replay.policies = std::move(chosen);
    return true;
  }

  /// What `learned` begins with.
  bool readHistory(const Replay &replay) {
    if (options.history.empty())
      return true;
    if (llvm::none_of(replay.policies, [](const ReplayPolicy &one) { return one.name == "learned"; }))
      return diags.error(Code::BadCommandLine, {}, "--history is what 'learned' begins with: --policy names no such"),
             false;
    auto file = readFile(diags, options.history);
    auto complete = file ? taken(readWorkHistory(sources.text(*file), options.history)) : std::nullopt;
    if (!complete)
      return false;
    for (const CompleteJob &job : *complete)
      history.add(job);
    return true;
  }

  /// The work of the jobs of the trace, with their rates where they are fastest.
  bool writeHistory(const Replay &replay) {
    if (options.writeHistory.empty())
      return true;
    if (options.speeds == "fitted" || arePredicted())
      return diags.error(Code::BadCommandLine, {},
                         fmt::format("--write-history has speeds that are measured, not {} ones", options.speeds)),
             false;
    auto learned = llvm::find_if(replay.policies, [](const ReplayPolicy &one) { return one.name == "learned"; });
    std::vector<CompleteJob> complete;
    for (const SimulatedJob &job : describedJobs(*learned))
      complete.push_back({job.application, job.progress()->workLeft(), fastestRate(report.cluster, job)});
    return writeFile(diags, options.writeHistory, printWorkHistory(complete));
  }

  /// Whether `--reference` and `--load` can be followed.
  bool canCompare(const Replay &replay) {
    auto refused = [&](const std::string &message) { return diags.error(Code::BadCommandLine, {}, message), false; };
    if (!(options.load >= 0.01 && options.load <= 100))
      return refused("--load: expected a number from 0.01 to 100");
    if (options.load != 1 && options.draw == 0)
      return refused("--load changes how often drawn jobs arrive: it needs --draw");
    if (options.reference.empty())
      return true;
    if (options.seeds < 5)
      return refused("--reference compares seed by seed: it needs --seeds 5 or more");
    if (options.draw == 0 && options.noise.empty() && options.mtbf.empty())
      return refused("--reference: all seeds are alike without --draw, --noise or --mtbf");
    if (llvm::none_of(replay.policies, [&](const ReplayPolicy &one) { return one.name == options.reference; }))
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

  std::vector<SimulatedJob> describedJobs(const ReplayPolicy &replayed) const {
    std::vector<SimulatedJob> described = replayed.jobs();
    for (size_t i = 0; i < described.size(); ++i) {
      described[i].application = applications[i];
      described[i].tenant = tenantOf[i];
      described[i].deadline = deadlines[i];
    }
    return described;
  }

  bool simulatePolicy(const Replay &replay, const ReplayPolicy &replayed) {
    std::vector<SimulatedJob> described = describedJobs(replayed);
    if (replayed.isRigid && !fitsAll(replayed.name, described))
      return false;
    PolicyReport made;
    made.policy = replayed.name;
    made.knows = replayed.knows;
    for (unsigned seed = 0; seed < std::max(options.seeds, 1u); ++seed) {
      if (options.draw > 0) {
        if (!readJobs(replay, replay.draw(seed)))
          return false;
        described = describedJobs(replayed);
      }
      std::unique_ptr<Policy> policy = replayed.make();
      SimulationOptions seeded = simulation;
      seeded.seed = seed;
      auto result = simulate(report.cluster, described, *policy, seeded);
      if (!result) {
        Error error = result.takeError();
        error.message = fmt::format("{}: {}", replayed.name, error.message);
        add(error);
        return false;
      }
      made.seeds.push_back(outcomeOf(seed, described, *result));
      if (policy->maxGap())
        made.maxGap = std::max(made.maxGap.value_or(0), *policy->maxGap());
      if (seed == 0)
        describe(described, *result, made);
    }
    report.policies.push_back(std::move(made));
    return true;
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
  SimulationReport report;
  SimulationOptions simulation;
  std::vector<FairTenant> tenants;
  std::shared_ptr<PredictedSpeeds> predicted;   ///< null: speeds are measured or fitted
  WorkHistory history;                          ///< that `learned` begins with
  std::vector<std::string> applications;        ///< of each job
  std::vector<int> tenantOf;                    ///< of each job
  std::vector<std::optional<double>> deadlines; ///< of each job
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
