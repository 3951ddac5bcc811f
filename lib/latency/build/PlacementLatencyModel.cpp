#include "lib/latency/build/PlacementLatencyModel.h"
#include "lib/placement/evaluate/PlanEvaluator.h"
#include "lib/placement/problem/RestrictedProblem.h"
#include "lib/placement/solve/PlacementSolver.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>

namespace accord {
namespace {

constexpr double kProven = 1e-9;          ///< a share of a step that is none
constexpr unsigned kLessEffort = 1;       ///< of a search at another batch
constexpr double kNear = 0.01;            ///< a gap with which a search at another batch ends
constexpr int64_t kMaxTimesFull = 16;     ///< of micro-batches that fill a pipeline, simulated one after the other
constexpr size_t kMaxKnown = 64;          ///< plans at hand that are looked at for one choice
constexpr int64_t kMaxCompared = 1 << 18; ///< numbers of micro-batches that a step is compared with its bound at

/// Degrees and a micro-batch, in the order of the arguments that they are.
struct Choice {
  int64_t tensor = 1, pipeline = 1, data = 1, microbatch = 1;
  auto operator<=>(const Choice &) const = default;
  int64_t devices() const { return tensor * pipeline * data; }
};

/// An integer that grows in equal steps up to `last`: base + slope * k.
struct LinearPiece {
  int64_t last = 0, base = 0, slope = 0;
};

/// The value at k, of which the last piece goes on.
int64_t valueAt(const std::vector<LinearPiece> &all, int64_t k) {
  auto found = std::ranges::find_if(all, [&](const LinearPiece &piece) { return k <= piece.last; });
  const LinearPiece &piece = found == all.end() ? all.back() : *found;
  return piece.base + piece.slope * k;
}

/// One plan over the number of its micro-batches, which is k * `stride`.
struct PlannedChoice {
  Choice at;
  int64_t samples = 1; ///< of a micro-batch of all replicas
  int64_t stride = 1, first = 1;
  std::vector<LinearPiece> step, memory; ///< picoseconds, bytes; by k
  double gap = 0;                        ///< no plan at these degrees and the plan's batch is shorter by a larger share
  Placement placement;                   ///< of which its parallel configurations are of no use
  std::vector<PlacementInterval> intervals; ///< at other batches, ascending
};

/// Runs of equal differences among values at first, first + 1, …; the last one goes on.
std::vector<LinearPiece> piecesOf(const std::vector<int64_t> &values, int64_t first) {
  std::vector<LinearPiece> pieces;
  for (size_t i = 0; i < values.size();) {
    int64_t slope = i + 1 < values.size() ? values[i + 1] - values[i] : 0;
    size_t end = i;
    while (end + 1 < values.size() && values[end + 1] - values[end] == slope)
      ++end;
    int64_t k = first + static_cast<int64_t>(i);
    pieces.push_back({first + static_cast<int64_t>(end), values[i] - slope * k, slope});
    i = end + 1;
  }
  return pieces;
}

/// How a step grows with its micro-batches, for all plans of a problem with so many groups. The passes of a group have
/// one order, so a step is a longest path: the largest of c + m w over the groups on it, where w is what a micro-batch
/// takes on a group and c, not negative, all that a path has besides: one micro-batch through the other stages, and
/// what comes after the last one. So (T - c) / m does not fall with m for the largest c, and does not grow for the
/// least:
///   T(m) >= T(a) m / a - max c (m / a - 1) for m > a,  T(m) >= T(b) m / b + min c (1 - m / b) for m < b,
/// if plans with m micro-batches have room with as many others.
class StepLine {
public:
  StepLine(const PlacementProblem &problem, int64_t groups) : problem_(problem), groups_(groups) {
    for (PipelineSchedule schedule : problem.schedules) {
      const ScheduleModel &model = modelOf(schedule);
      isFixed_ &= groups == 1 || model.hasFixedOrder();
      hasRounds_ |= !model.allows(groups, 2 * groups + 1);
      for (int64_t v : virtualStagesOf(problem, model))
        stages_ = std::max(stages_, groups * v);
    }
    for (const PlacementProblem::Layer &layer : problem.layers)
      addLayer(layer.of);
    findOnce();
  }

  bool holds() const { return isFixed_ && problem_.minStep == 0; }
  bool hasRounds() const { return hasRounds_; }

  /// For m >= a, of plans that are shorter than `step` there; `bound`: of all plans with a micro-batches.
  double above(int64_t a, double bound, int64_t m, double step) const {
    double ratio = static_cast<double>(m) / static_cast<double>(a);
    return std::max(bound, bound * ratio - maxOnce(step, static_cast<double>(m)) * (ratio - 1));
  }
  /// For m <= b.
  double below(int64_t b, double bound, int64_t m) const {
    double share = static_cast<double>(m) / static_cast<double>(b);
    return bound * share + static_cast<double>(problem_.hostOverheadPerStep) * (1 - share);
  }
  /// Whether stages hold as many activations with m micro-batches as with more, so that a plan fits with both.
  bool hasSameRoom(int64_t m, int64_t more) const {
    for (PipelineSchedule schedule : problem_.schedules) {
      // 1F1B of the same stages takes no longer, and less memory, where no transfers run beside the passes.
      if (schedule == PipelineSchedule::GPipe && (groups_ == 1 || (problem_.blockingTransfers && m >= groups_)) &&
          llvm::is_contained(problem_.schedules, PipelineSchedule::OneFOneB))
        continue;
      for (int64_t v : virtualStagesOf(problem_, modelOf(schedule)))
        for (int64_t group = 0; group < groups_; ++group)
          if (inFlightStatesOf({schedule, groups_, v, m}, group) !=
              inFlightStatesOf({schedule, groups_, v, more}, group))
            return false;
    }
    return true;
  }

private:
  /// Of a layer: least time of its passes, and the longest of what it adds behind the last micro-batch.
  struct Part {
    double pass = 0, once = 0;
  };

  void addLayer(PlacementProblem::Id of) {
    double min = std::numeric_limits<double>::infinity(), max = 0, once = 0;
    for (PlacementProblem::Id id = 0; id < problem_.parallelConfigs.size(); ++id) {
      const auto &cost = problem_.classes[of].costs[id];
      if (!cost)
        continue;
      const ParallelConfig &config = problem_.parallelConfigs[id];
      auto pass = static_cast<double>(cost->forward + cost->backward + cost->weight);
      int64_t recompute = 0;
      for (const RecomputeChoice &choice : cost->recomputeChoices)
        recompute = std::max(recompute, choice.recomputeTime);
      min = std::min(min, pass + static_cast<double>(cost->minOf(&RecomputeChoice::recomputeTime)));
      max = std::max(max, pass + static_cast<double>(recompute + 2 * minTime(config.gather, double(cost->weights))));
      auto longest = [](const std::vector<GradientSync> &syncs, int64_t bytes) {
        int64_t time = 0;
        for (const GradientSync &sync : syncs)
          time = std::max(time, minTime(sync.alternatives, static_cast<double>(bytes)));
        return time;
      };
      once = std::max(once, static_cast<double>(cost->update + longest(config.gradientSyncs, cost->gradients) +
                                                longest(config.expertGradientSyncs, cost->expertGradients)));
      tied_ = std::max(tied_, static_cast<double>(cost->tied));
    }
    parts_.push_back({min, once});
    through_ += max;
  }

  /// What every path may have, whatever layers its groups have.
  void findOnce() {
    double transfer = 0, tie = 0;
    for (const ParallelConfig &config : problem_.parallelConfigs) {
      const PlacementProblem::Link &link = problem_.link(config.deviceType, config.deviceType);
      int64_t bytes = 0;
      for (const PlacementProblem::Edge &edge : problem_.edges)
        bytes = std::max(bytes, edge.bytes);
      double share = static_cast<double>(bytes * config.samples()) / static_cast<double>(config.devices());
      for (const AlphaBetaModel &way : {link.intraNode, link.interNode}) {
        transfer = std::max(transfer, static_cast<double>(minTime({way}, share)));
        tie = std::max(tie, static_cast<double>(minTime({way}, tied_)));
      }
    }
    auto stages = static_cast<double>(stages_);
    size_t crossings = std::max<size_t>(1, problem_.edges.size()); // of one cut, where layers branch
    fixed_ = static_cast<double>(problem_.hostOverheadPerStep) +
             stages * static_cast<double>(problem_.hostOverheadPerMicrobatch) +
             2 * (stages - 1) * transfer * (isChain() ? 1 : static_cast<double>(crossings)) +
             tie * static_cast<double>(problem_.ties.size());
    std::ranges::sort(parts_, [](const Part &a, const Part &b) { return a.once * b.pass > b.once * a.pass; });
  }
  bool isChain() const {
    return llvm::all_of(problem_.edges, [](const PlacementProblem::Edge &edge) { return edge.to == edge.from + 1; });
  }

  /// The largest c of plans whose step is below `step`: no group takes longer than step / m for a micro-batch, so the
  /// other stages together not longer than its multiple, and a group has no more layers than that.
  double maxOnce(double step, double m) const {
    double left = step / m, once = 0;
    for (const Part &part : parts_) {
      double share = part.pass > left ? (part.pass > 0 ? left / part.pass : 0) : 1;
      once += share * part.once;
      left -= share * part.pass;
    }
    return fixed_ + std::min(through_, static_cast<double>(groups_ - 1) * step / m) + once;
  }

  const PlacementProblem &problem_;
  int64_t groups_, stages_ = 1;
  bool isFixed_ = true, hasRounds_ = false;
  std::vector<Part> parts_; ///< those with the most behind the last micro-batch for their passes first
  double through_ = 0, fixed_ = 0, tied_ = 0;
};

class PlacementModelBuilder {
public:
  PlacementModelBuilder(const PlacementPlan &plan, const PlacementLatencyOptions &options)
      : plan_(plan), options_(options), placement_(*plan.result.plan),
        own_(plan.problem.parallelConfigs[placement_.stages.front().parallelConfig]), restriction_(plan.problem) {}

  Result<LatencyModel> run();

private:
  bool isUniform() const;
  using Ids = std::vector<PlacementProblem::Id>;
  /// With the parallel configurations that each may have.
  std::vector<std::pair<Choice, Ids>> choices() const;
  std::optional<Placement> knownPlan(const PlacementProblem &problem, const Choice &choice, const Ids &configs) const;
  PlacementProblem problemAt(const Choice &choice, const Ids &configs) const;
  std::optional<PlannedChoice> planAt(const Choice &choice, const Ids &configs) const;
  void addIntervals(PlannedChoice &planned, PlacementProblem asked, const Placement &placement, double bound) const;
  std::optional<PlannedChoice> ownPlan() const;
  std::optional<PlannedChoice> overBatches(const Choice &choice, PlacementProblem problem,
                                           const Placement &placement) const;

  std::vector<LatencyArgument> arguments() const;
  NodeId byChoice(Expressions &e, const std::function<NodeId(size_t)> &of) const;
  NodeId indexOf(Expressions &e) const;
  NodeId pieces(Expressions &e, NodeId k, const std::vector<LinearPiece> &all) const;
  std::string intervalNote() const;
  std::vector<std::string> batchNotes() const;
  LatencyModel build() const;

  const PlacementPlan &plan_;
  const PlacementLatencyOptions &options_;
  const Placement &placement_;
  const ParallelConfig &own_;
  ProblemRestriction restriction_;
  Choice initial_;
  std::vector<PlannedChoice> planned_; ///< the plan's own first
  std::string heldReason_;             ///< why degrees are held; empty: they are free
};

bool PlacementModelBuilder::isUniform() const {
  return llvm::all_of(placement_.stages, [&](const PlacedStage &stage) {
    return stage.parallelConfig == placement_.stages.front().parallelConfig;
  });
}

/// The plan's own first, then by how often a degree is doubled or halved.
std::vector<std::pair<Choice, PlacementModelBuilder::Ids>> PlacementModelBuilder::choices() const {
  const PlacementProblem &problem = plan_.problem;
  std::map<Choice, Ids> found;
  int64_t devices = problem.deviceTypes[own_.deviceType].devices, layers = static_cast<int64_t>(problem.layers.size());
  for (PlacementProblem::Id id = 0; id < problem.parallelConfigs.size(); ++id) {
    const ParallelConfig &config = problem.parallelConfigs[id];
    if (config.deviceType != own_.deviceType || problem.batch % config.samples() != 0)
      continue;
    std::set<int64_t> groups = {initial_.pipeline};
    for (int64_t p = 1; p <= std::min(layers, devices / config.devices()); p *= 2)
      groups.insert(p);
    for (int64_t p : groups)
      if (p * config.devices() <= devices && p <= layers && problem.mayHaveGroups(p) && (p == 1 || !config.oneGroup))
        found[{config.tensor, p, config.data, config.microbatch}].push_back(id);
  }
  std::vector<std::pair<Choice, Ids>> all(found.begin(), found.end());
  auto distance = [&](const Choice &c) {
    auto far = [](int64_t a, int64_t b) {
      return std::fabs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
    };
    // Plans for as many devices are nearer than others, one doubling more.
    return far(c.tensor, initial_.tensor) + far(c.pipeline, initial_.pipeline) + far(c.data, initial_.data) +
           far(c.microbatch, initial_.microbatch) + (c.devices() == initial_.devices() ? 0 : 1);
  };
  std::sort(all.begin(), all.end(), [&](const auto &a, const auto &b) {
    return std::pair(distance(a.first), a.first) < std::pair(distance(b.first), b.first);
  });
  return all;
}

/// The problem of the shortest step at these degrees.
PlacementProblem PlacementModelBuilder::problemAt(const Choice &choice, const Ids &configs) const {
  PlacementProblem asked = restriction_.to(configs);
  asked.groups = {{choice.pipeline, choice.pipeline}};
  asked.limits = {};
  asked.objective = PlacementObjective::StepTime;
  return asked;
}

/// The best plan with these degrees, of the plan's batch.
std::optional<PlannedChoice> PlacementModelBuilder::planAt(const Choice &choice, const Ids &configs) const {
  PlacementProblem asked = problemAt(choice, configs);
  PlacementOptions brief;
  brief.effort = options_.effort;
  brief.stop = options_.stop;
  std::optional<Placement> known = knownPlan(asked, choice, configs);
  brief.known = known ? &*known : nullptr;
  PlacementResult found = place(asked, brief);
  if (!found.plan)
    return std::nullopt;
  auto planned = overBatches(choice, asked, *found.plan);
  if (!planned)
    return std::nullopt;
  planned->gap = std::max(0.0, 1 - found.bound / static_cast<double>(found.metrics.step));
  addIntervals(*planned, asked, *found.plan, found.bound);
  planned->placement = std::move(*found.plan);
  return planned;
}

/// What holds at other batches, by searches at half, as many and twice as many micro-batches (in whole
/// rounds of the pipeline's groups, so that every schedule has them) and by `StepLine` between and beyond them.
void PlacementModelBuilder::addIntervals(PlannedChoice &planned, PlacementProblem asked, const Placement &placement,
                                         double bound) const {
  int64_t groups = planned.at.pipeline, own = placement.microbatches;
  StepLine line(asked, groups);
  if (!line.holds())
    return;
  int64_t round = line.hasRounds() ? groups : 1;
  std::map<int64_t, double> proven;
  if (own % round == 0 && bound > 0)
    proven[own] = bound;
  for (double share : {0.5, 1.0, 2.0}) {
    int64_t m =
        std::max<int64_t>(1, std::llround(share * static_cast<double>(own) / static_cast<double>(round))) * round;
    // Where pipelines fill, fewer micro-batches leave room for other plans: searches there say nothing of others.
    if (m % planned.stride != 0 || m / planned.stride < planned.first || proven.contains(m) ||
        (options_.stop && *options_.stop))
      continue;
    asked.batch = planned.samples * m;
    Placement there = placement;
    there.microbatches = m;
    PlacementOptions brief;
    brief.effort = options_.effort - std::min(options_.effort, kLessEffort);
    brief.gap = kNear;
    brief.stop = options_.stop;
    brief.known = &there;
    if (PlacementResult found = place(asked, brief); found.plan)
      proven[m] = found.bound;
  }
  std::vector<int64_t> ends;
  for (const auto &[m, lowest] : proven)
    ends.push_back(m);
  if (ends.empty())
    return;
  ends.push_back(2 * ends.back());
  if (ends.back() - ends.front() > kMaxCompared)
    return;
  for (size_t i = 0; i + 1 < ends.size(); ++i) {
    PlacementInterval one;
    one.tensor = planned.at.tensor, one.pipeline = groups, one.data = planned.at.data;
    one.microbatch = planned.at.microbatch;
    one.minBatch = planned.samples * ends[i], one.maxBatch = planned.samples * ends[i + 1];
    int64_t from = (ends[i] + planned.stride - 1) / planned.stride, to = ends[i + 1] / planned.stride;
    auto next = proven.find(ends[i + 1]);
    // From some number on, stages hold no more activations.
    int64_t full = to;
    for (int64_t low = from - 1; next != proven.end() && full - low > 1;) {
      int64_t middle = low + (full - low) / 2;
      (line.hasSameRoom(middle * planned.stride, next->first) ? full : low) = middle;
    }
    for (int64_t k = from; k <= to; ++k) {
      int64_t m = k * planned.stride;
      auto step = static_cast<double>(valueAt(planned.step, k));
      double lowest = line.above(ends[i], proven.at(ends[i]), m, step);
      if (next != proven.end() && k >= full)
        lowest = std::max(lowest, line.below(next->first, next->second, m));
      one.gap = std::max(one.gap, 1 - lowest / step);
    }
    planned.intervals.push_back(one);
  }
}

/// The shortest of the plans that are at hand for as many groups (the plan's, its runners-up, those of other choices),
/// with one of these parallel configurations.
std::optional<Placement> PlacementModelBuilder::knownPlan(const PlacementProblem &problem, const Choice &choice,
                                                          const Ids &configs) const {
  std::vector<const Placement *> all;
  for (const PlannedChoice &one : planned_)
    all.push_back(&one.placement);
  for (const RunnerUp &one : plan_.runnersUp)
    all.push_back(&one.plan);
  std::optional<Placement> best;
  int64_t step = INT64_MAX;
  size_t tried = 0;
  for (const Placement *one : all) {
    if (static_cast<int64_t>(one->groups()) != choice.pipeline)
      continue;
    for (PlacementProblem::Id id = 0; id < configs.size() && tried < kMaxKnown; ++id, ++tried) {
      Placement there = *one;
      there.microbatches = problem.batch / problem.parallelConfigs[id].samples();
      for (PlacedStage &stage : there.stages)
        stage.parallelConfig = id;
      if (!findViolations(problem, there).empty())
        continue;
      PlanMetrics metrics = evaluate(problem, there);
      if (metrics.fits && metrics.step < step)
        step = metrics.step, best = std::move(there);
    }
  }
  return best;
}

std::optional<PlannedChoice> PlacementModelBuilder::ownPlan() const {
  Ids configs;
  Placement placement = placement_;
  for (PlacedStage &stage : placement.stages) {
    auto at = llvm::find(configs, stage.parallelConfig);
    auto index = static_cast<PlacementProblem::Id>(at - configs.begin());
    if (at == configs.end())
      configs.push_back(stage.parallelConfig);
    stage.parallelConfig = index;
  }
  auto planned = overBatches(initial_, restriction_.to(configs), placement);
  if (planned) {
    planned->placement = placement_;
    if (plan_.problem.objective == PlacementObjective::StepTime)
      planned->gap = std::max(0.0, plan_.result.gap());
  }
  return planned;
}

std::optional<PlannedChoice> PlacementModelBuilder::overBatches(const Choice &choice, PlacementProblem problem,
                                                                const Placement &placement) const {
  PlannedChoice planned;
  planned.at = choice;
  planned.samples = problem.parallelConfigs[placement.stages.front().parallelConfig].samples();
  Placement there = placement;
  auto metricsAt = [&](int64_t microbatches) -> std::optional<PlanMetrics> {
    problem.batch = planned.samples * microbatches;
    there.microbatches = microbatches;
    if (!findViolations(problem, there).empty())
      return std::nullopt;
    return evaluate(problem, there);
  };
  auto stages = static_cast<int64_t>(placement.stages.size()), groups = static_cast<int64_t>(placement.groups());
  // Some schedules take whole rounds of micro-batches.
  if (!metricsAt(groups + 1) && metricsAt(2 * groups))
    planned.stride = groups;
  while (planned.first <= 2 * groups && !metricsAt(planned.first * planned.stride))
    ++planned.first;
  // Until the pipeline is full, and as long again: then each micro-batch adds as much as the one before. Where stages
  // differ little, the one that takes longest may show itself later.
  int64_t full = std::max<int64_t>(8, (2 * groups + 7) / planned.stride + 1);
  std::vector<int64_t> steps, memories;
  auto goesOn = [&](int64_t last) { // far beyond
    return llvm::all_of(
        std::array{2 * last + 1, 3 * last + 2, std::max(planned.first, placement.microbatches / planned.stride)},
        [&](int64_t k) {
          auto far = metricsAt(k * planned.stride);
          return !far || (far->step == valueAt(planned.step, k) && maxDeviceMemory(*far) == valueAt(planned.memory, k));
        });
  };
  for (int64_t times = 1; times <= kMaxTimesFull; times *= 2) {
    int64_t last = planned.first + times * full;
    if (double(last) * double(last) * double(planned.stride) * double(stages) / 2 > double(options_.maxPasses))
      return std::nullopt;
    for (auto k = planned.first + static_cast<int64_t>(steps.size()); k <= last; ++k) {
      auto metrics = metricsAt(k * planned.stride);
      if (!metrics)
        return std::nullopt;
      steps.push_back(metrics->step), memories.push_back(maxDeviceMemory(*metrics));
    }
    planned.step = piecesOf(steps, planned.first), planned.memory = piecesOf(memories, planned.first);
    if (goesOn(last))
      return planned;
  }
  return std::nullopt;
}

std::vector<LatencyArgument> PlacementModelBuilder::arguments() const {
  std::vector<LatencyArgument> all;
  auto add = [&](const char *name, const char *unit, const char *text, int64_t initial, double min, double max) {
    LatencyArgument &a = all.emplace_back();
    a.name = name, a.unit = unit, a.text = text, a.integer = true;
    a.initial = static_cast<double>(initial), a.min = min, a.max = max;
    return &a;
  };
  auto listed = [&](const char *name, const char *unit, const char *text, int64_t Choice::*member) {
    std::set<int64_t> values;
    for (const PlannedChoice &one : planned_)
      values.insert(one.at.*member);
    LatencyArgument *a = add(name, unit, text, initial_.*member, static_cast<double>(*values.begin()),
                             static_cast<double>(*values.rbegin()));
    a->allowed.assign(values.begin(), values.end());
    if (values.size() == 1)
      a->allowed.clear(), a->fixedReason = heldReason_.empty() ? "no plan at another value" : heldReason_;
  };
  add("batch", "samples", "samples per step, of all replicas together", plan_.problem.batch, 1, 0x1p40);
  listed("microbatch", "samples", "micro-batch size of one replica", &Choice::microbatch);
  int64_t sequence = std::max<int64_t>(1, plan_.sequence);
  LatencyArgument *tokens = add("sequence", "tokens", "tokens per sample", sequence, static_cast<double>(sequence),
                                static_cast<double>(sequence));
  tokens->fixedReason = "a plan for a cluster has one sequence length";
  listed("tensor_parallel", "devices", "devices that share each layer", &Choice::tensor);
  listed("pipeline_parallel", "groups", "groups of devices that layers are divided among", &Choice::pipeline);
  listed("data_parallel", "devices", "replicas that share the batch", &Choice::data);
  int64_t devices = plan_.problem.deviceTypes[own_.deviceType].devices;
  for (size_t i = 0; i < plan_.problem.deviceTypes.size(); ++i)
    if (i != own_.deviceType && !isUniform())
      devices += plan_.problem.deviceTypes[i].devices;
  add("devices", "devices", "that there are: a plan needs tensor * pipeline * data parallel of them", devices, 1.0,
      static_cast<double>(devices));
  return all;
}

/// By tensor, pipeline, data parallel degree and micro-batch: the place in `planned_` + 1, or 0.
NodeId PlacementModelBuilder::indexOf(Expressions &e) const {
  using Level = std::pair<const char *, int64_t Choice::*>;
  const std::vector<Level> levels = {{"tensor_parallel", &Choice::tensor},
                                     {"pipeline_parallel", &Choice::pipeline},
                                     {"data_parallel", &Choice::data},
                                     {"microbatch", &Choice::microbatch}};
  std::function<NodeId(size_t, std::vector<size_t>)> at = [&](size_t level, std::vector<size_t> left) -> NodeId {
    if (left.empty())
      return e.integer(0);
    if (level == levels.size())
      return e.integer(static_cast<int64_t>(left.front()) + 1);
    auto [name, member] = levels[level];
    std::set<int64_t> values;
    for (const PlannedChoice &one : planned_)
      values.insert(one.at.*member);
    std::vector<std::pair<int64_t, NodeId>> cases;
    for (int64_t value : values) {
      std::vector<size_t> those;
      for (size_t i : left)
        if (planned_[i].at.*member == value)
          those.push_back(i);
      cases.push_back({value, at(level + 1, those)});
    }
    return e.select(e.argument(name), cases);
  };
  std::vector<size_t> all(planned_.size());
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = i;
  return at(0, all);
}

NodeId PlacementModelBuilder::byChoice(Expressions &e, const std::function<NodeId(size_t)> &of) const {
  NodeId index = indexOf(e);
  std::vector<std::pair<int64_t, NodeId>> cases;
  for (size_t i = 0; i < planned_.size(); ++i)
    cases.push_back({static_cast<int64_t>(i) + 1, of(i)});
  return e.select(index, cases);
}

NodeId PlacementModelBuilder::pieces(Expressions &e, NodeId k, const std::vector<LinearPiece> &all) const {
  std::vector<std::pair<int64_t, NodeId>> cases;
  for (const LinearPiece &piece : all)
    cases.push_back({piece.last, e.add(e.integer(piece.base), e.multiply(e.integer(piece.slope), k))});
  return e.select(k, cases);
}

/// By how much other plans at the degrees could be shorter, all and each that is not proven to be the shortest.
std::string PlacementModelBuilder::intervalNote() const {
  double max = 0;
  std::string open;
  for (const PlannedChoice &one : planned_) {
    max = std::max(max, one.gap);
    if (one.gap > kProven)
      open += fmt::format("{}tensor {}, pipeline {}, data {}, micro-batch {}: {:.3g} %", open.empty() ? " (" : "; ",
                          one.at.tensor, one.at.pipeline, one.at.data, one.at.microbatch, 100 * one.gap);
  }
  return fmt::format("at each of the degrees all else is what the shortest plan found at {} samples has: no plan there "
                     "is shorter by more than {:.3g} %{}; at other batches this plan is kept",
                     plan_.problem.batch, max > kProven ? 100 * max : 0, open.empty() ? "" : open + ")");
}

/// The same at other batches, choice by choice.
std::vector<std::string> PlacementModelBuilder::batchNotes() const {
  std::vector<std::string> notes;
  for (const PlannedChoice &one : planned_) {
    std::string text = fmt::format("at other batches, tensor {}, pipeline {}, data {}, micro-batch {}: ", one.at.tensor,
                                   one.at.pipeline, one.at.data, one.at.microbatch);
    if (one.intervals.empty()) {
      notes.push_back(text + "by how much another plan may be shorter is not known");
      continue;
    }
    for (size_t i = 0; i < one.intervals.size(); ++i) {
      const PlacementInterval &range = one.intervals[i];
      text += fmt::format("{}{:.3g} % from {} to {} samples", i ? ", " : "no plan is shorter by more than ",
                          range.gap > kProven ? 100 * range.gap : 0, range.minBatch, range.maxBatch);
    }
    notes.push_back(text);
  }
  return notes;
}

LatencyModel PlacementModelBuilder::build() const {
  LatencyModel model;
  model.name = cName(plan_.job.empty() ? plan_.model : plan_.job);
  model.model = plan_.model, model.machine = plan_.cluster, model.version = plan_.version;
  model.nodes = Expressions(arguments());
  Expressions &e = model.nodes;
  NodeId batch = e.argument(kBatch);
  NodeId devices = e.multiply(e.multiply(e.argument("tensor_parallel"), e.argument("pipeline_parallel")),
                              e.argument("data_parallel"));
  auto constant = [&](auto of) { return byChoice(e, [&](size_t i) { return e.integer(of(planned_[i])); }); };
  // Micro-batches in steps of their stride.
  NodeId unit = constant([](const PlannedChoice &one) { return one.samples * one.stride; });
  NodeId rounds = e.ceilDivide(batch, unit);
  NodeId first = constant([](const PlannedChoice &one) { return one.first; });
  NodeId step = byChoice(e, [&](size_t i) { return pieces(e, rounds, planned_[i].step); });
  NodeId memory = byChoice(e, [&](size_t i) { return pieces(e, rounds, planned_[i].memory); });
  int64_t capacity = plan_.problem.deviceTypes[own_.deviceType].memory;
  if (isUniform())
    model.guards.push_back({devices, e.argument("devices"),
                            "tensor_parallel x pipeline_parallel x data_parallel is more than the devices"});
  else
    model.guards.push_back({e.integer(plan_.result.metrics.devices), e.argument("devices"),
                            fmt::format("the plan needs {} devices", plan_.result.metrics.devices)});
  if (NodeId index = indexOf(e); e[index].range.min < 1)
    model.guards.push_back({e.integer(1), index, "no plan is known at these degrees and this micro-batch"});
  model.guards.push_back({e.multiply(rounds, unit), batch, "the batch is no whole number of micro-batches there"});
  model.guards.push_back({first, rounds, "the schedule needs more micro-batches than the batch has there"});
  if (isUniform() && plan_.result.metrics.fits)
    model.guards.push_back(
        {memory, e.integer(capacity), fmt::format("a device has no more than {} bytes for it", capacity)});
  double flops = plan_.modelFlops / static_cast<double>(plan_.problem.batch);
  model.outputs = {
      {"step_time_s", "seconds of a step of all micro-batches, exchange of gradients and update",
       e.divide(e.toReal(step), e.real(1e12))},
      {"memory_bytes", "peak memory of a device, of the stage that has the highest peak", e.toReal(memory)},
      {"flops", "floating-point operations of the products of a step, of all devices",
       e.multiply(e.toReal(batch), e.real(flops))}};
  model.notes.push_back(intervalNote());
  llvm::append_range(model.notes, batchNotes());
  if (!heldReason_.empty())
    model.notes.push_back("degrees and the micro-batch are held: " + heldReason_);
  model.planStep = static_cast<double>(plan_.result.metrics.step) / 1e12;
  model.exact = true;
  return model;
}

Result<LatencyModel> PlacementModelBuilder::run() {
  initial_ = {own_.tensor, static_cast<int64_t>(placement_.groups()), own_.data, own_.microbatch};
  auto own = ownPlan();
  if (!own)
    return Error{Code::NoLatencyModel, "the step does not grow in equal steps with the number of micro-batches, or the "
                                       "pipeline is too long to simulate it at so many"};
  planned_.push_back(std::move(*own));
  if (!isUniform()) {
    heldReason_ = "stages have different parallel configurations";
  } else {
    size_t tried = 0;
    for (const auto &[choice, configs] : choices()) {
      if (planned_.size() >= options_.maxPlans || tried >= options_.maxTried)
        break;
      if (choice == initial_) {
        if (auto own = narrowed(placement_, configs))
          addIntervals(planned_.front(), problemAt(choice, configs), *own, 0);
        continue;
      }
      ++tried;
      if (auto planned = planAt(choice, configs))
        planned_.push_back(std::move(*planned));
    }
  }
  if (options_.stop && *options_.stop)
    return Error{Code::NoLatencyModel, "it was stopped"};
  LatencyModel model = build();
  LatencyEvaluation here = evaluate(model, model.initial());
  if (here.status || here.result.step != model.planStep)
    return Error{Code::NoLatencyModel, here.status
                                           ? "the plan's own sizes: " + explain(model, here.status, model.initial())
                                           : "the plan's step is not its evaluation"};
  addSamples(model, 24);
  if (options_.intervals)
    for (const PlannedChoice &one : planned_)
      llvm::append_range(*options_.intervals, one.intervals);
  return model;
}

} // namespace

Result<LatencyModel> placementLatencyModel(const PlacementPlan &plan, const PlacementLatencyOptions &options) {
  if (!plan.result.plan)
    return Error{Code::NoLatencyModel, "there is no plan"};
  return PlacementModelBuilder(plan, options).run();
}

} // namespace accord
