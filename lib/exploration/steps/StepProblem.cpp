#include "lib/exploration/steps/StepProblem.h"
#include "lib/exploration/space/Blend.h"
#include "lib/exploration/steps/StepMemory.h"
#include "lib/exploration/steps/StepReach.h"
#include "lib/exploration/steps/StepWork.h"
#include "lib/support/Version.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <mutex>

namespace accord {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

} // namespace

const char *name(MiningMetric metric) {
  switch (metric) {
  case MiningMetric::StepTime:
    return "step_time";
  case MiningMetric::TdpTime:
    return "tdp_time";
  case MiningMetric::Energy:
    return "energy";
  case MiningMetric::AreaTime:
    return "area_time";
  case MiningMetric::Expression:
    return "expression";
  }
  return "step_time";
}

struct StepProblem::Data {
  struct Way {
    std::shared_ptr<const StepWork> work;
    double bytes = 0; ///< of device memory, whatever the schedule
  };
  struct Job {
    std::vector<Way> ways;
    double weight = 1, best = 0;
    int64_t batch = 1;
  };
  const DesignSpace &space;
  std::vector<Job> jobs;
  MiningWorth worth;
  StepReach reach;
  unsigned effort;
  std::mutex mutex;
  /// By job, way, design; with how it was scheduled: 0 quickly, 1 bounded, 2 searched for.
  std::map<std::tuple<size_t, size_t, Design, int>, StepValue> known;

  enum How : int { Quickly, Bounded, Searched };

  StepValue valued(size_t job, size_t way, const Design &design, const Machine &machine,
                   How how = Quickly) {
    std::tuple key{job, way, design, static_cast<int>(how)};
    {
      std::lock_guard lock(mutex);
      if (auto found = known.find(key); found != known.end())
        return found->second;
    }
    const StepWork &work = *jobs[job].ways[way].work;
    StepValue value =
        how == Quickly ? work.value(machine) : work.closed(machine, effort, how == Searched);
    value.way = way;
    value.value = value.fits ? worth.of({design, design}, machine,
                                        {value.step, value.joules, jobs[job].batch})
                             : kNever;
    if (std::isnan(value.value))
      value.value = kNever;
    std::lock_guard lock(mutex);
    return known.try_emplace(std::move(key), value).first->second;
  }
  /// Of its best way, the first among equals. Ways whose bound is above the best are not looked at.
  /// `least`: gets what the job is worth at least.
  StepValue valued(size_t job, const Design &design, const Machine &machine,
                   double *least = nullptr) {
    std::vector<std::pair<double, size_t>> order;
    for (size_t way = 0; way < jobs[job].ways.size(); ++way)
      order.push_back({bounded(job, jobs[job].ways[way], {design, design}, machine, {}), way});
    std::sort(order.begin(), order.end());
    std::optional<StepValue> best;
    double open = kNever;
    for (auto [bound, way] : order) {
      if (best && bound > best->value)
        break;
      StepValue one = valued(job, way, design, machine);
      if (one.fits)
        open = std::min(open, std::max(bound, worthOf(job, jobs[job].ways[way], {design, design},
                                                      machine, one.least)));
      if (!best || std::pair(one.value, one.way) < std::pair(best->value, best->way))
        best = one;
    }
    if (least)
      *least = std::min(open, best->value);
    return *best;
  }
  /// Of its best way, whose schedules are searched for where that may make it worth less than
  /// `below`. `how` Bounded: they are not searched for, and `least` is all that counts.
  StepValue closed(size_t job, const Design &design, const Machine &machine, double below, How how,
                   double &least) {
    std::vector<std::pair<double, size_t>> order;
    for (size_t way = 0; way < jobs[job].ways.size(); ++way)
      order.push_back({bounded(job, jobs[job].ways[way], {design, design}, machine, {}), way});
    std::sort(order.begin(), order.end());
    std::optional<StepValue> best;
    double open = kNever;
    for (auto [bound, way] : order) {
      const Way &of = jobs[job].ways[way];
      if (best && bound > best->value)
        break;
      for (How step : {Quickly, Bounded, Searched}) {
        if (step > how || (best && bound >= std::min(below, best->value)))
          break;
        StepValue one = valued(job, way, design, machine, step);
        if (step == Quickly && !one.fits)
          bound = kNever;
        bound = std::max(bound, worthOf(job, of, {design, design}, machine, one.least));
        if (step == Bounded) // its schedule is none that a search with an effort finds
          continue;
        if (!best || std::pair(one.value, one.way) < std::pair(best->value, best->way))
          best = one;
      }
      open = std::min(open, bound);
    }
    least = std::min(open, best->value);
    return *best;
  }
  /// What a way is worth at least.
  double bounded(size_t job, const Way &way, const DesignBox &box, const Machine &machine,
                 const StepBoundOptions &options) const {
    if (!machine.memories.empty() && way.bytes > machine.memories[0].capacity.value)
      return kNever;
    return worthOf(job, way, box, machine, way.work->bound(machine, options));
  }
  /// Of a step that takes so long at least.
  double worthOf(size_t job, const Way &way, const DesignBox &box, const Machine &machine,
                 double step) const {
    double joules = worth.needsJoules() ? way.work->leastJoules(machine, step) : 0;
    double least = worth.of(box, machine, {step, joules, jobs[job].batch});
    return std::isnan(least) ? 0 : least;
  }
  StepValue best(size_t job, const Design &design, const Machine &machine) {
    double least = 0;
    return effort > 0 ? closed(job, design, machine, kNever, Searched, least)
                      : valued(job, design, machine);
  }
  Appraisal appraised(const Design &design, double below, How how);
  /// Least of its ways. `of`: of one of them.
  template <typename Of> double least(size_t job, Of of) const {
    double least = kNever;
    for (const Way &way : jobs[job].ways)
      least = std::min(least, of(way));
    return least;
  }
};

StepProblem::StepProblem(const DesignSpace &space, std::vector<MiningJob> jobs, MiningMetric metric,
                         MiningBlend blend, unsigned effort)
    : data_(new Data{space, {}, {metric, blend, &space}, StepReach(space), effort, {}, {}}) {
  for (const MiningJob &job : jobs) {
    Data::Job &mine = data_->jobs.emplace_back();
    mine.weight = job.weight, mine.best = job.best, mine.batch = job.batch;
    for (const MiningWay &way : job.ways)
      mine.ways.push_back({way.work, leastPeak(way.work->graph())});
  }
}

StepProblem::~StepProblem() = default;

const std::vector<DesignParameter> &StepProblem::parameters() const {
  return data_->space.parameters();
}

std::string StepProblem::digest() {
  std::string text = fmt::format("{} {} {}", kVersion, data_->worth.name(),
                                 static_cast<unsigned>(data_->worth.blend));
  if (data_->effort > 0)
    text += fmt::format(", effort {}", data_->effort);
  for (const Data::Job &job : data_->jobs) {
    text += fmt::format("; {} {}", job.weight, job.best);
    for (const Data::Way &way : job.ways) {
      const WorkGraph &graph = way.work->graph();
      text += fmt::format(", {} of {} x {}, {} operations, {} bytes", graph.model,
                          graph.microbatches, graph.microbatch, graph.operations.size(), way.bytes);
    }
  }
  return text;
}

std::vector<std::string> StepProblem::costNames() { return data_->space.costNames(); }
std::vector<double> StepProblem::costs(const DesignBox &box) { return data_->space.costs(box); }

double StepProblem::bound(const DesignBox &box) {
  if (!isDesign(data_->space, box.low) || !isDesign(data_->space, box.high) ||
      data_->space.broken(box))
    return kNever;
  auto best = box.one() ? data_->space.machine(box.low) : data_->space.best(box);
  auto *machine = std::get_if<Machine>(&best);
  if (!machine) // no machine for one design; of several, some may have one
    return box.one() ? kNever : 0;
  if (box.one() && (!data_->worth.knows(*machine) || data_->space.broken(box.low, *machine)))
    return kNever;
  StepBoundOptions options;
  if (!box.one()) {
    options.exact = false;
    options.sameArrays = data_->reach.sameArrays(box);
  }
  return data_->worth.blended(data_->jobs, [&](size_t job) {
    return data_->least(job, [&](const Data::Way &way) {
      return data_->bounded(job, way, box, *machine, options);
    });
  });
}

double StepProblem::value(const Design &design) { return appraise(design, kNever).value; }

unsigned StepProblem::tiers() const { return data_->effort > 0; }

double StepProblem::deepen(const Design &design, unsigned) {
  return data_->appraised(design, kNever, Data::Bounded).bound;
}

Appraisal StepProblem::appraise(const Design &design, double below) {
  return data_->appraised(design, below, Data::Searched);
}

Appraisal StepProblem::Data::appraised(const Design &design, double below, How how) {
  Appraisal never{kNever, kNever};
  if (!isDesign(space, design))
    return never;
  auto made = space.machine(design);
  auto *machine = std::get_if<Machine>(&made);
  if (!machine || !worth.knows(*machine) || space.broken(design, *machine))
    return never;
  std::vector<double> least(jobs.size());
  double value = worth.blended(jobs, [&](size_t job) {
    return (effort > 0
                ? closed(job, design, *machine, worth.below(jobs[job], below), how, least[job])
                : valued(job, design, *machine, &least[job]))
        .value;
  });
  return {value, worth.blended(jobs, [&](size_t job) { return least[job]; })};
}

std::optional<StepValue> StepProblem::step(size_t job, const Design &design) {
  if (job >= data_->jobs.size() || !isDesign(data_->space, design))
    return std::nullopt;
  auto made = data_->space.machine(design);
  auto *machine = std::get_if<Machine>(&made);
  if (!machine)
    return std::nullopt;
  StepValue value = data_->best(job, design, *machine);
  return std::isfinite(value.step) ? std::optional(value) : std::nullopt;
}

/// What a parameter changes is left out of the bound: no more of it makes the step shorter than
/// that. A memory's capacity makes it at most as short as compulsory traffic alone does.
std::vector<double> StepProblem::waits(const Design &design) {
  std::vector<double> waits(parameters().size());
  auto made = isDesign(data_->space, design) ? data_->space.machine(design)
                                             : std::variant<Machine, Issue>(Issue());
  auto *machine = std::get_if<Machine>(&made);
  if (!machine)
    return {};
  auto wayOf = [&](size_t job) -> const StepWork & { // the one that it runs
    return *data_->jobs[job].ways[data_->best(job, design, *machine).way].work;
  };
  auto boundWith = [&](StepBoundOptions options) {
    options.cores.resize(machine->cores.size());
    options.memories.resize(machine->memories.size());
    return data_->worth.blended(data_->jobs,
                                [&](size_t job) { return wayOf(job).bound(*machine, options); });
  };
  double whole = boundWith({});
  if (!(whole > 0) || !std::isfinite(whole))
    return waits;
  std::optional<double> capacity;
  for (size_t p = 0; p < waits.size(); ++p) {
    const StepReach::Of &of = data_->reach.of(p);
    StepBoundOptions options;
    options.cores = of.cores, options.memories = of.memories;
    waits[p] = std::max(0.0, 1 - boundWith(options) / whole);
    if (!of.capacity)
      continue;
    if (!capacity) {
      double step = data_->worth.blended(
          data_->jobs, [&](size_t job) { return data_->best(job, design, *machine).step; });
      double least = data_->worth.blended(
          data_->jobs, [&](size_t job) { return wayOf(job).bound(*machine, true); });
      capacity = std::isfinite(step) && step > 0 ? std::max(0.0, 1 - least / step) : 0;
    }
    waits[p] = std::max(waits[p], *capacity);
  }
  return waits;
}

} // namespace accord
