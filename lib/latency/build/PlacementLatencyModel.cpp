#include "lib/latency/build/PlacementLatencyModel.h"
#include "lib/placement/evaluate/PlanEvaluator.h"
#include "lib/placement/solve/PlacementSolver.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>

namespace accord {
namespace {

constexpr double kProven = 1e-9; ///< a share of a step that is none
constexpr size_t kMaxKnown = 64; ///< plans at hand that are looked at for one choice

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

/// One plan over the number of its micro-batches, which is k * `stride`.
struct PlannedChoice {
  Choice at;
  int64_t samples = 1; ///< of a micro-batch of all replicas
  int64_t stride = 1, first = 1;
  std::vector<LinearPiece> step, memory; ///< picoseconds, bytes; by k
  double gap = 0;                        ///< no plan at these degrees and the plan's batch is shorter by a larger share
  Placement placement;                   ///< of which its parallel configurations are of no use
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

class PlacementModelBuilder {
public:
  PlacementModelBuilder(const PlacementPlan &plan, const PlacementLatencyOptions &options)
      : plan_(plan), options_(options), placement_(*plan.result.plan),
        own_(plan.problem.parallelConfigs[placement_.stages.front().parallelConfig]) {}

  Result<LatencyModel> run();

private:
  bool isUniform() const;
  using Ids = std::vector<PlacementProblem::Id>;
  /// With the parallel configurations that each may have.
  std::vector<std::pair<Choice, Ids>> choices() const;
  /// The problem with these parallel configurations alone.
  PlacementProblem restrictedTo(const Ids &configs) const;
  std::optional<Placement> knownPlan(const PlacementProblem &problem, const Choice &choice, const Ids &configs) const;
  static double shortestTogether(PlacementProblem problem, const Placement &placement);
  std::optional<PlannedChoice> planAt(const Choice &choice, const Ids &configs) const;
  std::optional<PlannedChoice> ownPlan() const;
  std::optional<PlannedChoice> overBatches(const Choice &choice, PlacementProblem problem,
                                           const Placement &placement) const;

  std::vector<LatencyArgument> arguments() const;
  NodeId byChoice(Expressions &e, const std::function<NodeId(size_t)> &of) const;
  NodeId indexOf(Expressions &e) const;
  NodeId pieces(Expressions &e, NodeId k, const std::vector<LinearPiece> &all) const;
  std::string intervalNote() const;
  LatencyModel build() const;

  const PlacementPlan &plan_;
  const PlacementLatencyOptions &options_;
  const Placement &placement_;
  const ParallelConfig &own_;
  PlacementProblem rest_; ///< the problem without parallel configurations and costs
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
      if (p * config.devices() <= devices && p <= layers && problem.mayHaveGroups(p))
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

PlacementProblem PlacementModelBuilder::restrictedTo(const Ids &configs) const {
  PlacementProblem problem = rest_;
  for (PlacementProblem::Id id : configs) {
    problem.parallelConfigs.push_back(plan_.problem.parallelConfigs[id]);
    for (size_t i = 0; i < problem.classes.size(); ++i)
      problem.classes[i].costs.push_back(plan_.problem.classes[i].costs[id]);
  }
  return problem;
}

/// The best plan with these degrees, of the plan's batch.
std::optional<PlannedChoice> PlacementModelBuilder::planAt(const Choice &choice, const Ids &configs) const {
  PlacementProblem asked = restrictedTo(configs);
  asked.groups = {{choice.pipeline, choice.pipeline}};
  asked.limits = {};
  asked.objective = PlacementObjective::StepTime;
  PlacementOptions brief;
  brief.effort = options_.effort;
  brief.stop = options_.stop;
  std::optional<Placement> known = knownPlan(asked, choice, configs);
  brief.known = known ? &*known : nullptr;
  PlacementResult found = place(asked, brief);
  if (!found.plan)
    return std::nullopt;
  double shortest = std::min(found.bound, shortestTogether(asked, *found.plan));
  auto planned = overBatches(choice, std::move(asked), *found.plan);
  if (planned)
    planned->gap = std::max(0.0, 1 - shortest / static_cast<double>(found.metrics.step)),
    planned->placement = std::move(*found.plan);
  return planned;
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

/// A problem of one group alone may have a parameter of several layers once, where this one has a copy for each: of
/// those neither gradients nor any update of their layers count.
double PlacementModelBuilder::shortestTogether(PlacementProblem problem, const Placement &placement) {
  if (placement.groups() > 1 || problem.ties.empty())
    return std::numeric_limits<double>::infinity();
  for (const PlacementProblem::Tie &tie : problem.ties)
    for (auto &cost : problem.classes[problem.layers[tie.b].of].costs)
      if (cost)
        cost->gradients = std::max<int64_t>(0, cost->gradients - cost->tied), cost->update = 0;
  return static_cast<double>(evaluate(problem, placement).step);
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
  auto planned = overBatches(initial_, restrictedTo(configs), placement);
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
  // Until the pipeline is full, and as long again: then each micro-batch adds as much as the one before.
  int64_t last = planned.first + std::max<int64_t>(8, (2 * groups + 7) / planned.stride + 1);
  if (double(last) * double(last) * double(planned.stride) * double(stages) / 2 > double(options_.maxPasses))
    return std::nullopt;
  std::vector<int64_t> steps, memories;
  for (int64_t k = planned.first; k <= last; ++k) {
    auto metrics = metricsAt(k * planned.stride);
    if (!metrics)
      return std::nullopt;
    steps.push_back(metrics->step), memories.push_back(maxDeviceMemory(*metrics));
  }
  planned.step = piecesOf(steps, planned.first), planned.memory = piecesOf(memories, planned.first);
  auto at = [](const std::vector<LinearPiece> &all, int64_t k) {
    auto found = std::ranges::find_if(all, [&](const LinearPiece &piece) { return k <= piece.last; });
    const LinearPiece &piece = found == all.end() ? all.back() : *found;
    return piece.base + piece.slope * k;
  };
  // Far beyond it has to go on like that.
  for (int64_t k : {2 * last + 1, 3 * last + 2, std::max(planned.first, placement.microbatches / planned.stride)})
    if (auto far = metricsAt(k * planned.stride);
        far && (far->step != at(planned.step, k) || maxDeviceMemory(*far) != at(planned.memory, k)))
      return std::nullopt;
  return planned;
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
                     "is shorter by more than {:.3g} %{}; at other batches this plan is kept, and another one may be "
                     "shorter",
                     plan_.problem.batch, max > kProven ? 100 * max : 0, open.empty() ? "" : open + ")");
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
  if (!heldReason_.empty())
    model.notes.push_back("degrees and the micro-batch are held: " + heldReason_);
  model.planStep = static_cast<double>(plan_.result.metrics.step) / 1e12;
  model.exact = true;
  return model;
}

Result<LatencyModel> PlacementModelBuilder::run() {
  initial_ = {own_.tensor, static_cast<int64_t>(placement_.groups()), own_.data, own_.microbatch};
  rest_ = plan_.problem;
  rest_.parallelConfigs.clear();
  for (LayerClass &one : rest_.classes)
    one.costs.clear();
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
      if (choice == initial_)
        continue;
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
  return model;
}

} // namespace

Result<LatencyModel> placementLatencyModel(const PlacementPlan &plan, const PlacementLatencyOptions &options) {
  if (!plan.result.plan)
    return Error{Code::NoLatencyModel, "there is no plan"};
  return PlacementModelBuilder(plan, options).run();
}

} // namespace accord
