#include "lib/driver/simulation/JobsReplay.h"
#include "lib/driver/jobs/FileErrors.h"
#include "lib/driver/simulation/JobEvents.h"
#include "lib/import/actors/ActorFile.h"
#include "lib/import/jobs/GavelThroughputs.h"
#include "lib/import/jobs/GavelTrace.h"
#include "lib/import/jobs/PolluxProfiles.h"
#include "lib/import/jobs/ReadTrace.h"
#include "lib/import/jobs/SiaProfiles.h"
#include "lib/import/jobs/TraceJobs.h"
#include "lib/jobs/actor/ActorWeigher.h"
#include "lib/jobs/bandit/BanditPolicy.h"
#include "lib/jobs/simulate/FairnessPolicies.h"
#include "lib/jobs/simulate/GoodputPolicies.h"
#include "lib/jobs/simulate/Optimus.h"
#include "lib/jobs/simulate/OrderedPolicies.h"
#include "lib/jobs/simulate/PredictedSpeeds.h"
#include "lib/jobs/simulate/ProfiledProgress.h"
#include "lib/jobs/simulate/RoundPolicies.h"
#include "lib/jobs/simulate/ShockwavePolicy.h"
#include "lib/jobs/simulate/TenantPolicy.h"
#include "lib/jobs/simulate/Tiresias.h"
#include "lib/jobs/solve/CompletionFloor.h"
#include "lib/jobs/verify/FloorCheck.h"
#include "lib/language/syntax/Parser.h"
#include "lib/support/CommandHost.h"
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

} // namespace

struct JobsReplay::State {
  State(const JobsOptions &options, Diagnostics &diags) : options(options), diags(diags), sources(diags.sources()) {}

  bool read() {
    auto refused = [&](const std::string &message) { return diags.error(Code::BadCommandLine, {}, message), false; };
    if (!(options.round.value_or(1) >= 1 && options.round.value_or(1) <= 1e6))
      return refused("--round: expected seconds from 1 to 1,000,000");
    if (!(options.restart.value_or(0) >= 0 && options.restart.value_or(0) <= 1e6))
      return refused("--restart: expected seconds from 0 to 1,000,000");
    if (!(options.load >= 0.01 && options.load <= 100))
      return refused("--load: expected a number from 0.01 to 100");
    if (options.load != 1 && options.draw == 0)
      return refused("--load changes how often drawn jobs arrive: it needs --draw");
    auto servers = readServers(options.servers);
    if (!servers)
      return refused(servers.error().message);
    theCluster = *servers;
    if (!readActorOptions())
      return false;
    auto found = readReplay();
    if (!found)
      return false;
    replay = std::move(*found);
    if (auto events = readJobEvents(options, theCluster, simulation); !events)
      return refused(events.error().message);
    simulation.round = options.round.value_or(replay.round);
    simulation.endsEarly = replay.endsEarly;
    if (!simulation.noise.empty() || options.draw > 0) // jobs may be faster, or are others
      minMean = minMakespan = 0;
    return readJobs({});
  }

  double restartOf(double usual) const { return options.restart.value_or(usual); }

  /// An error at its place, if its file was read.
  void add(const Error &error) { reportOfFile(diags, sources, error); }
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
    if (!options.gradientNoise.empty() && (isRecorded || isGavel || options.speeds == "fitted")) {
      diags.error(Code::BadCommandLine, {},
                  isRecorded || isGavel
                      ? fmt::format("--gradient-noise: the jobs of '{}' do not choose their batches", options.trace)
                      : "--gradient-noise: with '--speeds fitted', jobs know the noise that they measured");
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
    if (!workload || !readAssumedNoise())
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
    const bool areFitted = options.speeds == "fitted", isOneType = theCluster.types.size() == 1;
    const unsigned serverDevices = theCluster.servers.front().devices;
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
    replay.policies.push_back({"bandit", areFitted ? kFitsSpeed : kKnowsSpeed, false, elastic, bandit(replay), false});
    if (weigher)
      replay.policies.push_back({"actor", areFitted ? kFitsSpeed : kKnowsSpeed, false, elastic, weighed()});
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

  bool readAssumedNoise() {
    if (options.gradientNoise.empty())
      return true;
    auto file = readFile(diags, options.gradientNoise);
    auto noises = file ? taken(jobs::readAssumedNoise(sources.text(*file), options.gradientNoise)) : std::nullopt;
    if (noises)
      assumedNoise = std::move(*noises);
    return noises.has_value();
  }

  std::optional<double> assumedNoiseOf(const std::string &application) const {
    const auto found = assumedNoise.find(application);
    return found == assumedNoise.end() ? std::nullopt : std::optional(found->second);
  }

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
    if (theCluster.types.size() > 1)
      return true;
    std::error_code problem;
    for (std::filesystem::directory_iterator entry(options.profiles, problem), end; !problem && entry != end;
         entry.increment(problem))
      if (std::filesystem::exists(entry->path() / ("placements-" + theCluster.types.front() + ".csv"), problem))
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
    auto application =
        profile ? taken(ProfiledApplication::make(std::move(*profile), assumedNoiseOf(name))) : std::nullopt;
    if (application)
      to.types = {*application};
    return application.has_value();
  }

  std::optional<SiaProfiles> readTyped() {
    auto read = readSiaProfiles(options.profiles, theCluster.types);
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
    for (const std::string &type : theCluster.types) {
      to.types.push_back(nullptr);
      const auto found = profiles.profiles.find({name, type});
      if (found == profiles.profiles.end())
        continue;
      auto application =
          taken(ProfiledApplication::make(scaledProfile(found->second, siaSlowdown(name)), assumedNoiseOf(name)));
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
    for (const std::string &type : theCluster.types)
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
                       table->ratesOn(theCluster.types, job.application, job.gang)});
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
      predicted = std::make_shared<PredictedSpeeds>(*table, theCluster.types);
    return steady(std::move(replay), jobs);
  }

  /// A log of jobs: each holds its devices for as long as it did, on any of its device types.
  std::optional<Replay> recorded() {
    auto trace = taken(readTraceFile(options.trace));
    if (!trace)
      return std::nullopt;
    Replay replay;
    replay.endsEarly = true;
    auto found = taken(replayOf(*trace, theCluster, restartOf(replay.restart)));
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
    if (auto checked = checkSteadyJobs(theCluster, *jobs); !checked) {
      add(checked.error());
      return std::nullopt;
    }
    if (!jobs->empty()) {
      // What counts is what prices and values prove, computed apart from the search for them.
      minMean = provenMean(theCluster, *jobs, completionFloor(theCluster, *jobs));
      minMakespan = jobs::makespanFloor(theCluster, *jobs);
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
      std::vector<DrawnJob> drawn = drawTrace(arrivals, std::max(options.draw, 1u), options.load, seed);
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
    const Cluster &cluster = theCluster;
    auto add = [&](const char *name, const char *knows, std::function<std::unique_ptr<Policy>()> make,
                   bool isShown = true) {
      const bool isOurs = llvm::StringRef(name).starts_with("exact") || llvm::StringRef(name) == "learned" ||
                          llvm::StringRef(name) == "bandit" || llvm::StringRef(name) == "actor";
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
    add("bandit", kKnowsSpeed, bandit(replay), false);
    if (weigher)
      add("actor", kKnowsSpeed, weighed());
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

  AllocationOptions allocation(KnownWork knows) const {
    AllocationOptions allocation;
    allocation.knows = knows;
    allocation.history = history;
    return allocation;
  }

  std::function<std::unique_ptr<Policy>()> exact(KnownWork knows) {
    return [this, knows] { return std::make_unique<AllocationPolicy>(allocation(knows)); };
  }

  /// `learned` and others, as replays of the jobs so far say.
  std::function<std::unique_ptr<Policy>()> bandit(const Replay &replay) {
    return [this, round = options.round.value_or(replay.round), endsEarly = replay.endsEarly] {
      BanditOptions settings;
      settings.history = history;
      settings.simulation.round = round;
      settings.simulation.endsEarly = endsEarly;
      return std::make_unique<BanditPolicy>(std::move(settings));
    };
  }

  /// As `learned`, with the weights of the actor.
  std::function<std::unique_ptr<Policy>()> weighed() {
    return [this] {
      AllocationOptions weighed = allocation(KnownWork::Learned);
      weighed.weigher = weigher;
      weighed.shield = shield;
      return std::make_unique<AllocationPolicy>(weighed);
    };
  }

  /// The actor of `--actor`, and its shield.
  bool readActorOptions() {
    if (options.actor.empty()) {
      if (options.shield.empty())
        return true;
      return diags.error(Code::BadCommandLine, {}, "--shield bounds what an actor may lose: it needs --actor"), false;
    }
    if (!options.shield.empty()) {
      llvm::StringRef text(options.shield);
      const bool isPercent = text.consume_back("%");
      double value = 0;
      if (text.trim().getAsDouble(value) || !(value >= 0 && value <= (isPercent ? 100 : 1)))
        return diags.error(
                   Code::BadCommandLine, {},
                   fmt::format("--shield: expected a share from 0 to 100 %, as in 20%, found '{}'", options.shield)),
               false;
      shield = isPercent ? value / 100 : value;
    }
    auto actor = import::readActor(diags, options.actor);
    if (!actor)
      return false;
    auto made = ActorWeigher::make(std::move(actor->network));
    if (!made)
      return diags.error(made.error().code, {}, fmt::format("'{}': {}", options.actor, made.error().message)), false;
    weigher = *made;
    return true;
  }

  /// Applications, tenants and deadlines of all jobs, or of those that were drawn.
  bool readJobs(const std::vector<DrawnJob> &drawn) {
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
    for (unsigned type = 0; type < theCluster.types.size(); ++type)
      fastest = std::max(fastest, progress->rate(theCluster, type, job.devices));
    return fastest > 0 ? progress->workLeft() / fastest : 0;
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

  const JobsOptions &options;
  Diagnostics &diags;
  SourceManager &sources;
  Cluster theCluster;
  SimulationOptions simulation;
  Replay replay;
  double minMean = 0, minMakespan = 0;
  std::shared_ptr<JobWeigher> weigher; ///< of `--actor`, or null
  double shield = 0.05;                ///< see `AllocationOptions`
  std::vector<FairTenant> tenants;
  std::shared_ptr<PredictedSpeeds> predicted;   ///< null: speeds are measured or fitted
  WorkHistory history;                          ///< that `learned` begins with
  std::map<std::string, double> assumedNoise;   ///< by application, in samples
  std::vector<std::string> applications;        ///< of each job
  std::vector<int> tenantOf;                    ///< of each job
  std::vector<std::optional<double>> deadlines; ///< of each job
};

JobsReplay::JobsReplay(const JobsOptions &options, Diagnostics &diags)
    : state(std::make_unique<State>(options, diags)) {}
JobsReplay::~JobsReplay() = default;

bool JobsReplay::read() { return state->read(); }
const Cluster &JobsReplay::cluster() const { return state->theCluster; }
const SimulationOptions &JobsReplay::simulation() const { return state->simulation; }
double JobsReplay::restart() const { return state->restartOf(state->replay.restart); }
double JobsReplay::meanFloor() const { return state->minMean; }
double JobsReplay::makespanFloor() const { return state->minMakespan; }
const std::vector<ReplayPolicy> &JobsReplay::policies() const { return state->replay.policies; }
const ReplayPolicy *JobsReplay::policy(const std::string &name) const {
  auto found = llvm::find_if(policies(), [&](const ReplayPolicy &one) { return one.name == name; });
  return found == policies().end() ? nullptr : &*found;
}
bool JobsReplay::draw(uint64_t seed) { return state->readJobs(state->replay.draw(seed)); }
std::vector<SimulatedJob> JobsReplay::jobs(const ReplayPolicy &policy) const { return state->describedJobs(policy); }
WorkHistory &JobsReplay::history() { return state->history; }
AllocationOptions JobsReplay::learned() const { return state->allocation(KnownWork::Learned); }
void JobsReplay::add(const Error &error) { state->add(error); }

} // namespace accord
