#include "lib/exploration/steps/StepProblem.h"
#include "lib/exploration/steps/DesignObjective.h"
#include "lib/exploration/steps/ParameterDependence.h"
#include "lib/exploration/steps/StepWork.h"
#include "lib/planning/analysis/MinPeakMemory.h"
#include "lib/support/Version.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <mutex>

namespace accord {

static constexpr double kNever = INFINITY;

const char *name(MiningMetric metric) {
  return std::array{"step_time", "tdp_time", "energy", "area_time", "expression"}[llvm::to_underlying(metric)];
}

struct StepProblem::Data {
  struct Alternative {
    std::shared_ptr<const StepWork> work;
    double bytes = 0; ///< of device memory, whatever the schedule
  };
  struct Job {
    std::vector<Alternative> alternatives;
    double weight = 1, best = 0;
    int64_t batch = 1;
  };
  const DesignSpace &space;
  std::vector<Job> jobs;
  DesignObjective objective;
  ParameterDependence dependence;
  unsigned effort;
  std::mutex mutex;
  /// By job, way, design; with how it was scheduled.
  std::map<std::tuple<size_t, size_t, Design, int>, StepValue> known;

  enum How : int {
    Quickly,
    Subsets, ///< and bounded by what can run at once
    Bounded, ///< in iterations one after the other
    Searched
  };

  StepValue valued(size_t job, size_t alternative, const Design &design, const Machine &machine, How how = Quickly) {
    std::tuple key{job, alternative, design, int(how)};
    {
      std::lock_guard lock(mutex);
      if (auto found = known.find(key); found != known.end())
        return found->second;
    }
    const StepWork &work = *jobs[job].alternatives[alternative].work;
    StepValue value = how == Quickly   ? work.value(machine)
                      : how == Subsets ? work.boundedBySubsets(machine)
                                       : work.refined(machine, effort > 0 ? effort : kQuickEffort, how == Searched);
    value.alternative = alternative;
    value.value =
        value.fits ? objective.of({design, design}, machine, {value.step, value.joules, jobs[job].batch}) : kNever;
    if (std::isnan(value.value))
      value.value = kNever;
    std::lock_guard lock(mutex);
    return known.try_emplace(std::move(key), value).first->second;
  }
  /// The ways of a job, those of the least bounds first.
  std::vector<std::pair<double, size_t>> byBound(size_t job, const Design &design, const Machine &machine) const {
    std::vector<std::pair<double, size_t>> order;
    for (size_t alternative = 0; alternative < jobs[job].alternatives.size(); ++alternative)
      order.push_back({bounded(job, jobs[job].alternatives[alternative], {design, design}, machine, {}), alternative});
    std::sort(order.begin(), order.end());
    return order;
  }
  /// Of its best way, the first among equals; ways whose bound is above the best, or not less than `below`, are not
  /// looked at. With an effort its schedules are searched for where that may make it worth less than `below`; `how`
  /// less than Searched: they are not searched for, and `lowerBound` is all that counts.
  StepValue valued(size_t job, const Design &design, const Machine &machine, double below, How how,
                   double &lowerBound) {
    std::optional<StepValue> best;
    double open = kNever;
    for (auto [bound, alternative] : byBound(job, design, machine)) {
      const Alternative &of = jobs[job].alternatives[alternative];
      if (best && bound > best->value)
        break;
      if (best && effort == 0 && bound >= below) { // neither is this way, nor those behind it
        open = std::min(open, bound);
        break;
      }
      for (How step : {Quickly, Subsets, Bounded, Searched}) {
        if (step > how || ((effort > 0 || step > Quickly) && best && bound >= std::min(below, best->value)))
          break;
        StepValue one = valued(job, alternative, design, machine, step);
        if (step == Quickly && !one.fits)
          bound = kNever;
        else if (step == Quickly)
          bound = std::max(bound, bounded(job, of, {design, design}, machine, closely()));
        bound = std::max(bound, objectiveValue(job, of, {design, design}, machine, one.lowerBound));
        if (step == Subsets || step == Bounded) // its schedule is none that a search with an effort finds
          continue;
        if (!best || std::pair(one.value, one.alternative) < std::pair(best->value, best->alternative))
          best = one;
      }
      open = std::min(open, bound);
    }
    lowerBound = std::min(open, best->value);
    return *best;
  }
  static StepBoundOptions closely() {
    StepBoundOptions options;
    options.closely = true;
    return options;
  }
  /// What a way is worth at least.
  double bounded(size_t job, const Alternative &alternative, const DesignBox &box, const Machine &machine,
                 const StepBoundOptions &options) const {
    if (!machine.memories.empty() && alternative.bytes > machine.memories[0].capacity.value)
      return kNever;
    return objectiveValue(job, alternative, box, machine, alternative.work->bound(machine, options));
  }
  /// Of a step that takes so long at least.
  double objectiveValue(size_t job, const Alternative &alternative, const DesignBox &box, const Machine &machine,
                        double step) const {
    double joules = objective.needsJoules() ? alternative.work->minJoules(machine, step) : 0;
    double lowerBound = objective.of(box, machine, {step, joules, jobs[job].batch});
    return std::isnan(lowerBound) ? 0 : lowerBound;
  }
  StepValue best(size_t job, const Design &design, const Machine &machine) {
    double lowerBound = 0;
    return valued(job, design, machine, kNever, effort > 0 ? Searched : Quickly, lowerBound);
  }
  DesignEvaluation evaluated(const Design &design, double below, How how);
};

StepProblem::StepProblem(const DesignSpace &space, const std::vector<MiningJob> &jobs, MiningMetric metric,
                         ObjectiveAggregation aggregation, unsigned effort)
    : data_(new Data{space, {}, {metric, aggregation, &space}, ParameterDependence(space), effort, {}, {}}) {
  for (const MiningJob &job : jobs) {
    Data::Job &mine = data_->jobs.emplace_back();
    mine.weight = job.weight, mine.best = job.best, mine.batch = job.batch;
    for (const MiningAlternative &alternative : job.alternatives)
      mine.alternatives.push_back({alternative.work, minPeakMemory(alternative.work->graph())});
  }
}

StepProblem::~StepProblem() = default;

const std::vector<DesignParameter> &StepProblem::parameters() const { return data_->space.parameters(); }

std::string StepProblem::digest() {
  std::string text = fmt::format("{} {} {}", kVersion, data_->objective.name(), unsigned(data_->objective.aggregation));
  if (data_->effort > 0)
    text += fmt::format(", effort {}", data_->effort);
  for (const Data::Job &job : data_->jobs) {
    text += fmt::format("; {} {}", job.weight, job.best);
    for (const Data::Alternative &alternative : job.alternatives) {
      const WorkGraph &graph = alternative.work->graph();
      text += fmt::format(", {} of {} x {}, {} operations, {} bytes", graph.model, graph.microbatches, graph.microbatch,
                          graph.operations.size(), alternative.bytes);
      for (const MinedZeros &zeros : alternative.work->zeros().layers)
        text += fmt::format(", {} of '{}'", patternText(zeros), zeros.layer);
    }
  }
  return text;
}

std::vector<std::string> StepProblem::costNames() { return data_->space.costNames(); }
std::vector<double> StepProblem::costs(const DesignBox &box) { return data_->space.costs(box); }

double StepProblem::bound(const DesignBox &box) {
  auto machine = data_->objective.machineOf(box, box.one());
  if (!machine)
    return machine.error();
  StepBoundOptions options = data_->dependence.boundOptions(box, box.one());
  return data_->objective.aggregate(data_->jobs, [&](size_t job) {
    double min = INFINITY;
    for (const Data::Alternative &alternative : data_->jobs[job].alternatives)
      min = std::min(min, data_->bounded(job, alternative, box, *machine, options));
    return min;
  });
}

unsigned StepProblem::numBoundLevels() const { return data_->effort > 0 ? 2 : 0; }
bool StepProblem::hasFinalBound() const { return data_->effort == 0; }

double StepProblem::tightenBound(const Design &design, unsigned level) {
  return data_->evaluated(design, kNever, level == 1 && data_->effort > 0 ? Data::Subsets : Data::Bounded).lowerBound;
}

DesignEvaluation StepProblem::evaluate(const Design &design, double below) {
  return data_->evaluated(design, below, data_->effort > 0 ? Data::Searched : Data::Quickly);
}

DesignEvaluation StepProblem::Data::evaluated(const Design &design, double below, How how) {
  auto machine = objective.machineOf(design);
  if (!machine)
    return {kNever, kNever};
  if (std::isfinite(below) && effort == 0) { // many a design need not be scheduled then
    double bound = objective.aggregate(jobs, [&](size_t job) {
      double min = kNever;
      for (const Alternative &of : jobs[job].alternatives)
        min = std::min(min, bounded(job, of, {design, design}, *machine, closely()));
      return min;
    });
    if (bound > below)
      return {kNever, bound};
  }
  std::vector<double> lowerBound(jobs.size());
  std::vector<EvaluatedStep> steps(jobs.size());
  double value = objective.aggregate(jobs, [&](size_t job) {
    StepValue found = valued(job, design, *machine, objective.below(jobs[job], below), how, lowerBound[job]);
    steps[job] = {found.step, found.joules};
    return found.value;
  });
  if (std::isinf(value))
    steps.clear();
  return {value, objective.aggregate(jobs, [&](size_t job) { return lowerBound[job]; }), std::move(steps)};
}

std::optional<StepValue> StepProblem::step(size_t job, const Design &design) {
  if (job >= data_->jobs.size() || !isValidDesign(design, parameters()))
    return std::nullopt;
  auto machine = data_->space.machine(design);
  if (!machine)
    return std::nullopt;
  StepValue value = data_->best(job, design, *machine);
  return std::isfinite(value.step) ? std::optional(value) : std::nullopt;
}

/// What a parameter changes is left out of the bound: no more of it makes the step shorter than
/// that. A memory's capacity makes it at most as short as compulsory traffic alone does.
std::vector<double> StepProblem::bottleneckGains(const Design &design) {
  std::vector<double> bottleneckGains(parameters().size());
  auto machine = data_->space.machine(design);
  if (!machine)
    return {};
  auto alternativeOf = [&](size_t job) -> const StepWork & { // the one that it runs
    return *data_->jobs[job].alternatives[data_->best(job, design, *machine).alternative].work;
  };
  auto boundWith = [&](StepBoundOptions options) {
    options.cores.resize(machine->cores.size());
    options.memories.resize(machine->memories.size());
    return data_->objective.aggregate(data_->jobs,
                                      [&](size_t job) { return alternativeOf(job).bound(*machine, options); });
  };
  double whole = boundWith({});
  if (!(whole > 0) || !std::isfinite(whole))
    return bottleneckGains;
  std::optional<double> capacity;
  for (size_t p = 0; p < bottleneckGains.size(); ++p) {
    const ParameterDependence::Effect &of = data_->dependence.of(p);
    StepBoundOptions options;
    options.cores = of.cores, options.memories = of.memories;
    bottleneckGains[p] = std::max(0.0, 1 - boundWith(options) / whole);
    if (!of.capacity)
      continue;
    if (!capacity) {
      double step =
          data_->objective.aggregate(data_->jobs, [&](size_t job) { return data_->best(job, design, *machine).step; });
      capacity = std::isfinite(step) && step > 0 ? std::max(0.0, 1 - whole / step) : 0;
    }
    bottleneckGains[p] = std::max(bottleneckGains[p], *capacity);
  }
  return bottleneckGains;
}

} // namespace accord
