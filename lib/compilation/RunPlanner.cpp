#include "lib/compilation/RunPlanner.h"
#include "lib/machine/energy/StepPower.h"
#include "lib/planning/output/Metrics.h"
#include "lib/run/problem/RunPriors.h"
#include "lib/run/solve/RunEstimator.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>

namespace accord {
namespace {

constexpr double kDay = 86400;

int checkpointBytesOf(llvm::StringRef precision, llvm::StringRef optimizer) {
  bool isHalf = precision == "bf16" || precision == "fp16";
  int weights = precision.starts_with("mixed") ? 6 : isHalf ? 2 : 4;
  bool hasTwoMoments = optimizer.contains("adam") || optimizer.contains("lamb");
  return weights + (hasTwoMoments ? 8 : optimizer.contains("momentum") ? 4 : 0);
}

RunInput scaled(const RunInput &input, double by) { return {input.value * by, input.low * by, input.high * by}; }

/// Where measured steps of a plan lie; exact where its times are not calibrated.
RunInput stepOf(double seconds, const std::optional<StepEstimate> &estimate) {
  if (!estimate)
    return RunInput::exact(seconds);
  return {seconds, std::min(estimate->low, seconds), std::max(estimate->high, seconds)};
}

class RunPlanner {
public:
  RunPlanner(const TrainingJob &job, const std::map<std::string, double> &keys) : job(job), keys(keys) {}

  /// `step`: seconds of one step. `storage`: bytes per second of one server, 0 if not stated.
  PlannedRun plan(double samples, int64_t batch, const RunInput &step, double parameters, llvm::StringRef precision,
                  llvm::StringRef optimizer, double storage) {
    problem().samples = samples;
    problem().steps = std::ceil(samples / static_cast<double>(batch));
    problem().step = step;
    if (step.isExact())
      assume("the step time is taken as exact: the interval of the run is that of failures, outages and power");
    failures();
    checkpoints(parameters, precision, optimizer, storage);
    stragglers();
    spares();
    if (Errors found = check(problem()); !found.empty())
      return {nullptr, {kNoRun + found.front().message}}; // such as a bandwidth beyond all doubles
    run->estimate = estimateRun(problem());
    if (!isBounded(run->estimate))
      return {nullptr, {kNoRun + endless()}};
    return {run, run->assumptions};
  }
  RunProblem &problem() { return run->problem; }

  /// Joules of one step. `byBoards`: from the law of boards, whose error is known.
  void energy(double joules, bool byBoards) {
    problem().joulesPerStep = RunInput::exact(joules);
    if (byBoards)
      problem().joulesPerStep = {joules, joules * kBoardPowerInterval.low, joules * kBoardPowerInterval.high};
    else if (joules > 0)
      assume("the energy of a step is taken as exact");
  }

private:
  /// Why a training does not end in practice: its numbers, of which one is far from what a training has.
  std::string endless() {
    const RunProblem &p = problem();
    std::string repairs;
    if (p.spareServers >= 0)
      repairs = fmt::format(", repairs of {:.3g} s and {} spare servers", p.repair.value, p.spareServers);
    return fmt::format(
        "such a training hardly ends: {:.3g} steps of {:.3g} s, {:.3g} % longer with stragglers, a failure "
        "every {:.3g} s, outages of {:.3g} s, checkpoints of {:.3g} s every {:.3g} s{}",
        p.steps, p.step.value, p.slowdown.value * 100, 1 / (p.failureRate.value * static_cast<double>(p.devices)),
        p.detection.value + p.restart.value, run->estimate.checkpointTime, run->estimate.interval, repairs);
  }
  void assume(const std::string &text) { run->assumptions.push_back("run: " + text); }
  std::optional<double> stated(const char *key) const {
    auto found = keys.find(key);
    return found == keys.end() ? std::nullopt : std::optional(found->second);
  }
  RunInput inputOf(const char *key, RunInput prior, const std::string &text) {
    if (auto value = stated(key))
      return RunInput::exact(*value);
    assume(text);
    return prior;
  }

  void failures() {
    RunProblem &p = problem();
    if (auto mtbf = stated("device_mtbf"))
      p.failureRate = RunInput::exact(1 / *mtbf);
    else {
      p.failureRate = scaled(kFailuresPerDay, 1 / kDay);
      assume("a device fails 4.4e-4 times a day (1.1e-4 to 1.7e-3), as published of clusters; device_mtbf states it");
    }
    p.restart = inputOf("restart_time", kRestartTime,
                        "software restarts the training in 16 min (4 to 68); by hand it takes hours, and restart_time "
                        "states it");
    p.detection = inputOf("detection_time", kDetectionTime,
                          "a failure is detected after 2 min (0.2 to 30); detection_time states it");
  }

  void checkpoints(double parameters, llvm::StringRef precision, llvm::StringRef optimizer, double storage) {
    RunProblem &p = problem();
    const CheckpointRequest &asked = job.checkpoint;
    p.checkpointBytes = accord::checkpointBytesOf(job, parameters, precision, optimizer);
    if (asked.bytes <= 0)
      assume(fmt::format("a checkpoint has {} bytes a parameter: weights and states of the optimizer",
                         checkpointBytesOf(precision, optimizer)));
    double servers = static_cast<double>(p.servers);
    if (!stated("checkpoint_bandwidth") && storage > 0) {
      p.checkpointBandwidth = RunInput::exact(storage * servers);
      assume("checkpoints are written as fast as the host's storage reads; checkpoint_bandwidth states it");
    } else {
      p.checkpointBandwidth =
          inputOf("checkpoint_bandwidth", scaled(kServerCheckpointBandwidth, servers),
                  "a server writes checkpoints at 1 GB/s (0.4 to 2.5); checkpoint_bandwidth states it for all");
    }
    p.asynchronous = asked.asynchronous;
    if (!asked.asynchronousStated)
      assume("devices wait for checkpoints; checkpoint { asynchronous = true } lets them compute");
    p.blocking = kBlockingTime;
    if (p.asynchronous)
      assume("an asynchronous checkpoint stops the devices for 0.5 s (0.05 to 5)");
    interval(asked.everySteps > 0 ? asked.everySteps * p.step.value : asked.every);
  }

  /// A checkpoint follows on a step, and an asynchronous one on the one before it.
  void interval(double asked) {
    RunProblem &p = problem();
    double writing = p.checkpointBytes / p.checkpointBandwidth.value;
    p.interval = asked;
    if (asked <= 0)
      return;
    double min = std::max(p.step.value, p.asynchronous ? writing : 0);
    if (asked < min * (1 - 1e-9)) {
      p.interval = min;
      assume(fmt::format("a checkpoint every {:.4g} s: one step takes {:.4g} s, and writing one {:.4g} s", min,
                         p.step.value, writing));
    }
  }

  void stragglers() {
    RunProblem &p = problem();
    if (p.servers > 1 || stated("straggler_slowdown"))
      p.slowdown = inputOf("straggler_slowdown", kSlowdown,
                           "stragglers lengthen a step by 2 % (0 to 10); straggler_slowdown states it");
  }

  void spares() {
    RunProblem &p = problem();
    p.repairShare = kRepairShare;
    if (auto count = stated("spare_servers")) {
      p.spareServers = static_cast<int64_t>(std::min(*count, 1e6)); // more are always enough
      assume("37 % of failures need a repair of the server, as published");
    } else {
      p.spareServers = -1;
      assume("a spare server is always at hand; spare_servers states how many there are");
    }
    p.repair = kRepairTime;
    if (auto repair = stated("repair_time"))
      p.repair = RunInput::exact(*repair);
    else if (p.spareServers >= 0)
      assume("a repair takes 24 h (6 to 96); repair_time states it");
  }

  const TrainingJob &job;
  const std::map<std::string, double> &keys;
  std::shared_ptr<TrainingRun> run = std::make_shared<TrainingRun>();
};

} // namespace

double checkpointBytesOf(const TrainingJob &job, double parameters, llvm::StringRef precision,
                         llvm::StringRef optimizer) {
  return job.checkpoint.bytes > 0 ? job.checkpoint.bytes : parameters * checkpointBytesOf(precision, optimizer);
}

PlannedRun trainingRun(const PlacementPlan &plan, const TrainingJob &job, const ClusterTarget &target) {
  if (!plan.result.plan || plan.samples <= 0 || plan.result.metrics.step <= 0)
    return {};
  const Placement &placement = *plan.result.plan;
  const PlanMetrics &metrics = plan.result.metrics;
  RunPlanner planner(job, target.cluster.keys);
  RunProblem &p = planner.problem();
  p.devices = 0, p.servers = 0;
  for (size_t g = 0; g < placement.groups(); ++g) {
    const ParallelConfig &config = plan.problem.parallelConfigs[placement.stages[g].parallelConfig];
    p.devices += config.devices();
    p.idleWatts += plan.problem.deviceTypes[config.deviceType].restWatts() * static_cast<double>(config.devices());
  }
  for (size_t type = 0; type < plan.problem.deviceTypes.size(); ++type) {
    int64_t used = 0;
    for (size_t g = 0; g < placement.groups(); ++g) {
      const ParallelConfig &config = plan.problem.parallelConfigs[placement.stages[g].parallelConfig];
      used += config.deviceType == type ? config.devices() : 0;
    }
    int64_t each = std::max<int64_t>(1, plan.problem.deviceTypes[type].devicesPerNode);
    p.servers += (used + each - 1) / each;
  }
  double step = static_cast<double>(metrics.step) * 1e-12;
  planner.energy(metrics.joules,
                 std::ranges::all_of(target.groups, [](const Cluster &group) { return hasBoardPower(group.machine); }));
  p.pricePerSecond = metrics.price / step;
  if (auto found = target.cluster.keys.find("grid_intensity"); found != target.cluster.keys.end())
    p.gramsPerJoule = found->second;
  return planner.plan(plan.samples, plan.problem.batch, stepOf(step, plan.estimate),
                      static_cast<double>(plan.parameters), plan.precision, plan.optimizer,
                      target.cluster.host.storage.value);
}

PlannedRun trainingRun(const Plan &plan, const TrainingRequest &request) {
  const TrainingJob &job = request.job;
  double samples = job.samples;
  if (job.tokens > 0)
    samples = request.sequence.value_or(0) > 0 ? std::ceil(job.tokens / static_cast<double>(*request.sequence)) : 0;
  const Metrics metrics = measure(plan);
  if (!plan.feasible || samples <= 0 || metrics.step.value <= 0)
    return {};
  const std::map<std::string, double> nothing;
  RunPlanner planner(job, nothing);
  planner.problem().idleWatts = plan.machine.idle.value;
  planner.energy(metrics.energy.value, hasBoardPower(plan.machine));
  return planner.plan(samples, plan.batch, stepOf(metrics.step.value, plan.estimate),
                      static_cast<double>(plan.graph.parameters), plan.graph.precision, plan.graph.optimizer, 0);
}

} // namespace accord
