#include "lib/placement/evaluate/Judge.h"
#include "lib/placement/evaluate/Pipeline.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <tuple>

namespace accord {

using Id = PlacementProblem::Id;

const char *name(PlacementObjective objective) {
  switch (objective) {
  case PlacementObjective::StepTime:
    return "step_time";
  case PlacementObjective::Energy:
    return "energy";
  case PlacementObjective::Price:
    return "price";
  case PlacementObjective::TdpTime:
    return "tdp_time";
  case PlacementObjective::Memory:
    return "memory";
  }
  return "step_time";
}

const char *name(PlacementProblem::RankOrder order) {
  return order == PlacementProblem::RankOrder::TensorPipelineData ? "tensor_pipeline_data"
                                                                  : "tensor_data_pipeline";
}

const char *name(PlacementProblem::Tables tables) {
  switch (tables) {
  case PlacementProblem::Tables::Whole:
    return "whole";
  case PlacementProblem::Tables::Rows:
    return "rows";
  case PlacementProblem::Tables::Columns:
    return "columns";
  }
  return "whole";
}

int64_t timeOf(const std::vector<LinearTime> &ways, double bytes) {
  if (ways.empty() || !(bytes > 0))
    return 0;
  double least = INFINITY;
  for (const LinearTime &way : ways)
    least = std::min(least, way.latency + way.perByte * bytes);
  return static_cast<int64_t>(std::ceil(least));
}

std::optional<StageWork> workOf(const PlacementProblem &problem, const PlacedStage &stage) {
  StageWork work;
  for (size_t i = 0; i < stage.layers.size(); ++i) {
    const auto &cost = problem.cost(stage.layers[i], stage.form);
    if (!cost)
      return std::nullopt;
    const PlacementProblem::Keep &keep = cost->keeps[stage.keeps[i]];
    work.forward += cost->forward;
    work.backward += cost->backward + keep.again;
    work.weight += cost->weight;
    work.update += cost->update;
    work.resident += cost->resident;
    work.hostResident += cost->hostResident;
    work.hostKept += keep.hostKept;
    work.gradients += cost->gradients;
    work.expertGradients += cost->expertGradients;
    work.weights += cost->weights;
    work.kept += keep.kept;
    work.working = std::max(work.working, keep.working);
    work.joules += cost->joules + cost->joulesAgain * static_cast<double>(keep.again);
  }
  return work;
}

int64_t togetherOf(const PlacementProblem &problem, Id form, int64_t groups) {
  const PlacementProblem::Form &f = problem.forms[form];
  int64_t places = problem.kinds[f.kind].perServer / f.tensor; // of whole tensor groups
  if (f.order == PlacementProblem::RankOrder::TensorPipelineData)
    places /= groups;
  return std::max<int64_t>(1, std::min(f.data, places));
}

bool replicasInside(const PlacementProblem &problem, Id form, int64_t a, int64_t b,
                    int64_t groups) {
  const PlacementProblem::Form &f = problem.forms[form];
  int64_t perServer = problem.kinds[f.kind].perServer, replica = f.tensor * groups;
  int64_t first = std::min(a, b) * f.tensor, last = (std::max(a, b) + 1) * f.tensor - 1;
  if (last - first >= perServer)
    return false;
  // Places of servers where replicas begin repeat themselves.
  int64_t looked = std::min(f.data, perServer / std::gcd(perServer, replica));
  if (looked > PlacementProblem::kMostReplicas)
    return false;
  for (int64_t r = 0; r < looked; ++r)
    if ((r * replica + first) / perServer != (r * replica + last) / perServer)
      return false;
  return true;
}

int64_t exchangeOf(const PlacementProblem &problem, Id form, const StageWork &work,
                   int64_t together) {
  const PlacementProblem::Form &f = problem.forms[form];
  auto takes = [](const std::vector<PlacementProblem::Sync> &syncs, int64_t bytes, int64_t here) {
    const PlacementProblem::Sync *sync = nullptr;
    for (const PlacementProblem::Sync &one : syncs)
      if (!sync || one.together <= here)
        sync = &one;
    return sync ? timeOf(sync->ways, static_cast<double>(bytes)) : 0;
  };
  return takes(f.syncs, work.gradients, together) +
         takes(f.expertSyncs, work.expertGradients, together / f.expert);
}

int64_t finishOf(const PlacementProblem &problem, Id form, const StageWork &work,
                 int64_t together) {
  int64_t exchange = exchangeOf(problem, form, work, together);
  auto behind =
      static_cast<int64_t>(problem.hidden * static_cast<double>(work.backward + work.weight));
  int64_t can = problem.hides < 1
                    ? static_cast<int64_t>(problem.hides * static_cast<double>(exchange))
                    : exchange;
  return exchange - std::min(can, behind) + work.update;
}

double tdpTimeOf(const PlacementProblem &problem, const Placement &plan,
                 const PlacementWorth &worth) {
  double tdp = 0;
  for (size_t g = 0; g < worth.memory.size(); ++g) {
    const PlacementProblem::Form &form = problem.forms[plan.stages[g].form];
    tdp += problem.kinds[form.kind].tdpWatts * static_cast<double>(form.devices());
  }
  return tdp * static_cast<double>(worth.step) * 1e-12;
}

int64_t fullestOf(const PlacementWorth &worth) {
  return worth.memory.empty() ? 0 : *std::max_element(worth.memory.begin(), worth.memory.end());
}

namespace {

/// Where the devices of each group are: the first rank within its kind.
std::vector<int64_t> offsetsOf(const PlacementProblem &problem, const Placement &plan) {
  std::vector<int64_t> used(problem.kinds.size()), offsets;
  for (size_t g = 0; g < plan.stages.size() / static_cast<size_t>(plan.chunks); ++g) {
    const PlacementProblem::Form &form = problem.forms[plan.stages[g].form];
    offsets.push_back(used[form.kind]);
    used[form.kind] += form.devices();
  }
  return offsets;
}

class Judging {
public:
  Judging(const PlacementProblem &problem, const Placement &plan)
      : problem_(problem), plan_(plan),
        groups_(plan.stages.size() / static_cast<size_t>(plan.chunks)),
        offsets_(offsetsOf(problem, plan)) {}

  PlacementWorth stages(StageEdges &edges) {
    PlacementWorth worth;
    worth.inFlight.resize(plan_.stages.size());
    edges.assign(plan_.stages.size(), {});
    std::vector<StageWork> works;
    for (const PlacedStage &stage : plan_.stages)
      works.push_back(*workOf(problem_, stage));
    for (size_t s = 0; s < works.size(); ++s) {
      const PlacementProblem::Form &form = problem_.forms[plan_.stages[s].form];
      int64_t gather = timeOf(form.gather, static_cast<double>(works[s].weights));
      worth.times.push_back({works[s].forward + problem_.perMicrobatch + gather,
                             works[s].backward + gather, works[s].weight, 0, 0});
      worth.joules += works[s].joules;
    }
    for (const auto &[ends, bytes] : crossings()) {
      auto [to, from] = ends;
      edges[to].push_back(from);
      int64_t takes = transfer(from, to, bytes).time;
      if (problem_.blockingTransfers) {
        worth.times[to].forward += takes;
        worth.times[from].backward += takes;
      } else {
        worth.times[from].send = std::max(worth.times[from].send, takes);
      }
    }
    worth.memory.resize(groups_), worth.host.resize(groups_);
    for (size_t g = 0; g < groups_; ++g) {
      int64_t working = 0;
      std::vector<int64_t> kept, outside;
      for (size_t s = g; s < works.size(); s += groups_)
        kept.push_back(works[s].kept), outside.push_back(works[s].hostKept);
      auto moments = heldOf(shape(), static_cast<int64_t>(g));
      std::vector<int64_t> held = peakOf(moments, kept), heldOutside = peakOf(moments, outside);
      for (size_t s = g; s < works.size(); s += groups_) {
        worth.inFlight[s] = held[s / groups_];
        worth.memory[g] += works[s].resident + worth.inFlight[s] * works[s].kept;
        worth.host[g] += works[s].hostResident + heldOutside[s / groups_] * works[s].hostKept;
        working = std::max(working, works[s].working);
      }
      worth.memory[g] += working;
      finish(worth, works, g);
      worth.fits &= worth.memory[g] <= kindOf(g).memory && worth.host[g] <= kindOf(g).hostMemory;
    }
    ties(worth);
    return worth;
  }

  PipelineShape shape() const {
    return {plan_.schedule, static_cast<int64_t>(groups_), plan_.chunks, plan_.microbatches};
  }

  PlacementWorth run() {
    StageEdges edges;
    PlacementWorth worth = stages(edges);
    worth.step =
        std::max(simulate(shape(), worth.times, edges).step + problem_.perStep, problem_.leastStep);
    double seconds = static_cast<double>(worth.step) * 1e-12;
    for (size_t g = 0; g < groups_; ++g) {
      int64_t devices = problem_.forms[plan_.stages[g].form].devices();
      worth.devices += devices;
      worth.joules += kindOf(g).idleWatts * seconds * static_cast<double>(devices);
      worth.price += kindOf(g).pricePerHour / 3600 * seconds * static_cast<double>(devices);
    }
    worth.value =
        problem_.objective == PlacementObjective::StepTime ? static_cast<double>(worth.step)
        : problem_.objective == PlacementObjective::Energy ? worth.joules
        : problem_.objective == PlacementObjective::Price  ? worth.price
        : problem_.objective == PlacementObjective::Memory ? static_cast<double>(fullestOf(worth))
                                                           : tdpTimeOf(problem_, plan_, worth);
    return worth;
  }

  std::vector<StageTransfer> transfers() const {
    std::vector<StageTransfer> all;
    for (const auto &[ends, bytes] : crossings())
      if (bytes > 0)
        all.push_back(transfer(ends.second, ends.first, bytes));
    return all;
  }

private:
  const PlacementProblem::Kind &kindOf(size_t group) const {
    return problem_.kinds[problem_.forms[plan_.stages[group].form].kind];
  }

  /// Bytes of one sample that go between all pairs of stages with an edge, by {to, from}: each
  /// layer's output once. One of no bytes is a dependence, too.
  std::map<std::pair<uint32_t, uint32_t>, int64_t> crossings() const {
    std::vector<uint32_t> stageOf(problem_.layers.size());
    for (uint32_t s = 0; s < plan_.stages.size(); ++s)
      for (Id layer : plan_.stages[s].layers)
        stageOf[layer] = s;
    std::map<std::tuple<uint32_t, uint32_t, Id>, int64_t> outputs; // of a layer into a stage
    for (const PlacementProblem::Edge &edge : problem_.edges)
      if (stageOf[edge.from] < stageOf[edge.to]) {
        int64_t &most = outputs[{stageOf[edge.to], stageOf[edge.from], edge.from}];
        most = std::max(most, edge.bytes);
      }
    std::map<std::pair<uint32_t, uint32_t>, int64_t> crossings;
    for (const auto &[output, bytes] : outputs)
      crossings[{std::get<0>(output), std::get<1>(output)}] += bytes;
    return crossings;
  }

  StageTransfer transfer(uint32_t from, uint32_t to, int64_t bytes) const {
    const PlacementProblem::Form &a = problem_.forms[plan_.stages[from].form],
                                 &b = problem_.forms[plan_.stages[to].form];
    if (from % groups_ == to % groups_) // chunks of one group
      return {from, to, 0, true, 0};
    const PlacementProblem::Link &link = problem_.links[a.kind * problem_.kinds.size() + b.kind];
    bool inside = inServer(from % groups_, to % groups_);
    double share = static_cast<double>(bytes) * static_cast<double>(a.data * a.microbatch) /
                   static_cast<double>(std::min(a.devices(), b.devices()));
    return {from, to, share, inside, timeOf({inside ? link.inside : link.across}, share)};
  }

  bool inServer(size_t g, size_t h) const {
    Id form = plan_.stages[g].form;
    const PlacementProblem::Form &a = problem_.forms[form],
                                 &b = problem_.forms[plan_.stages[h].form];
    if (a.order == PlacementProblem::RankOrder::TensorPipelineData)
      return replicasInside(problem_, form, static_cast<int64_t>(g), static_cast<int64_t>(h),
                            static_cast<int64_t>(groups_));
    int64_t perServer = problem_.kinds[a.kind].perServer;
    int64_t first = std::min(offsets_[g], offsets_[h]);
    int64_t last = std::max(offsets_[g] + a.devices(), offsets_[h] + b.devices()) - 1;
    return a.kind == b.kind && first / perServer == last / perServer;
  }

  /// Copies of one parameter in two groups.
  void ties(PlacementWorth &worth) const {
    if (problem_.ties.empty())
      return;
    std::vector<size_t> groupOf(problem_.layers.size());
    for (size_t s = 0; s < plan_.stages.size(); ++s)
      for (Id layer : plan_.stages[s].layers)
        groupOf[layer] = s % groups_;
    for (const PlacementProblem::Tie &tie : problem_.ties) {
      size_t g = groupOf[tie.a], h = groupOf[tie.b];
      if (g == h)
        continue;
      Id a = plan_.stages[g].form, b = plan_.stages[h].form;
      auto bytes = static_cast<double>(
          std::max(problem_.cost(tie.a, a)->tied, problem_.cost(tie.b, b)->tied));
      bool inside = inServer(g, h);
      int64_t takes = 0;
      for (auto [from, to] : {std::pair{a, b}, {b, a}}) {
        const PlacementProblem::Link &link =
            problem_
                .links[problem_.forms[from].kind * problem_.kinds.size() + problem_.forms[to].kind];
        takes = std::max(takes, timeOf({inside ? link.inside : link.across}, bytes));
      }
      worth.times[g].finish += takes, worth.times[h].finish += takes;
    }
  }

  /// Gradients of a group's stages are exchanged together.
  void finish(PlacementWorth &worth, const std::vector<StageWork> &works, size_t group) const {
    StageWork all;
    for (size_t s = group; s < works.size(); s += groups_) {
      all.backward += works[s].backward;
      all.weight += works[s].weight;
      all.update += works[s].update;
      all.gradients += works[s].gradients;
      all.expertGradients += works[s].expertGradients;
    }
    Id form = plan_.stages[group].form;
    worth.times[group].finish =
        finishOf(problem_, form, all, togetherOf(problem_, form, static_cast<int64_t>(groups_)));
  }

  const PlacementProblem &problem_;
  const Placement &plan_;
  size_t groups_;
  std::vector<int64_t> offsets_;
};

} // namespace

PlacementWorth stagesOf(const PlacementProblem &problem, const Placement &plan,
                        std::vector<std::vector<uint32_t>> &edges) {
  return Judging(problem, plan).stages(edges);
}

PlacementWorth judge(const PlacementProblem &problem, const Placement &plan) {
  return Judging(problem, plan).run();
}

std::vector<StageTransfer> transfersOf(const PlacementProblem &problem, const Placement &plan) {
  return Judging(problem, plan).transfers();
}

std::vector<std::string> faults(const PlacementProblem &problem, const Placement &plan) {
  std::vector<std::string> found;
  auto fault = [&](std::string text) { found.push_back(std::move(text)); };
  if (plan.chunks < 1 || plan.microbatches < 1 || plan.stages.empty() ||
      plan.stages.size() % static_cast<size_t>(plan.chunks) != 0) {
    fault("it has no stages, chunks or micro-batches, or chunks do not divide the stages");
    return found;
  }
  size_t groups = plan.stages.size() / static_cast<size_t>(plan.chunks);
  bool interleaved = plan.schedule == PipelineSchedule::Interleaved;
  if (std::find(problem.schedules.begin(), problem.schedules.end(), plan.schedule) ==
      problem.schedules.end())
    fault(fmt::format("schedule {} is not offered", name(plan.schedule)));
  if (interleaved ? std::find(problem.chunks.begin(), problem.chunks.end(), plan.chunks) ==
                            problem.chunks.end() ||
                        plan.chunks < 2 || groups < 2 ||
                        plan.microbatches % static_cast<int64_t>(groups) != 0
                  : plan.chunks != 1)
    fault(fmt::format("{} chunks and {} micro-batches do not go with schedule {} on {} groups",
                      plan.chunks, plan.microbatches, name(plan.schedule), groups));
  if (!problem.mayHaveGroups(static_cast<int64_t>(groups)))
    fault(fmt::format("{} groups in a row are not offered", groups));
  if (problem.evenly)
    for (size_t s = 0; s < plan.stages.size(); ++s) {
      auto ofIt = [&](Id layer) {
        return layer < problem.layers.size() && problem.layers[layer].of == *problem.evenly;
      };
      const auto &mine = plan.stages[s].layers;
      auto has = static_cast<size_t>(std::count_if(mine.begin(), mine.end(), ofIt)),
           all = size_t{0};
      for (const auto &layer : problem.layers)
        all += layer.of == *problem.evenly;
      if (has * plan.stages.size() != all)
        fault(fmt::format("stage {} has {} of {} layers '{}' that {} stages share evenly", s, has,
                          all, problem.classes[*problem.evenly].name, plan.stages.size()));
    }
  if (interleaved && !problem.evenly) {
    size_t least = problem.layers.size() / plan.stages.size(),
           most = least + (problem.layers.size() % plan.stages.size() ? 1 : 0);
    for (size_t s = 0; s < plan.stages.size(); ++s)
      if (size_t size = plan.stages[s].layers.size(); size < least || size > most)
        fault(fmt::format("interleaved stage {} has {} layers, even stages have {} or {}", s, size,
                          least, most));
  }
  std::vector<size_t> stageOf(problem.layers.size(), plan.stages.size());
  std::vector<int64_t> used(problem.kinds.size());
  std::vector<Id> formOf(problem.kinds.size(), PlacementProblem::Id(~0u));
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    const PlacedStage &stage = plan.stages[s];
    if (stage.form >= problem.forms.size() || stage.layers.empty() ||
        stage.keeps.size() != stage.layers.size() ||
        !std::is_sorted(stage.layers.begin(), stage.layers.end())) {
      fault(fmt::format("stage {} has no form, no layers, or layers out of order", s));
      return found;
    }
    const PlacementProblem::Form &form = problem.forms[stage.form];
    if (stage.form != plan.stages[s % groups].form)
      fault(fmt::format("stages {} and {} are on the same devices in two forms", s % groups, s));
    int64_t samples = form.data * form.microbatch;
    if (problem.batch % samples != 0 || problem.batch / samples != plan.microbatches)
      fault(fmt::format("stage {} takes {} times {} samples a step, the batch has {}", s,
                        plan.microbatches, samples, problem.batch));
    if (s < groups) {
      used[form.kind] += form.devices();
      if (form.order == PlacementProblem::RankOrder::TensorPipelineData &&
          stage.form != plan.stages[0].form)
        fault(fmt::format("stage {} runs replica after replica, unlike stage 0", s));
      if (plan.stages[0].form < problem.forms.size() && stage.form != plan.stages[0].form &&
          problem.forms[plan.stages[0].form].order ==
              PlacementProblem::RankOrder::TensorPipelineData)
        fault(fmt::format("stage 0 runs replica after replica, unlike stage {}", s));
      if (problem.sameForm && formOf[form.kind] != ~0u && formOf[form.kind] != stage.form)
        fault(fmt::format("stage {} has another form than those before it on '{}'", s,
                          problem.kinds[form.kind].name));
      formOf[form.kind] = stage.form;
    }
    for (size_t i = 0; i < stage.layers.size(); ++i) {
      Id layer = stage.layers[i];
      if (layer >= problem.layers.size() || stageOf[layer] < plan.stages.size()) {
        fault(fmt::format("stage {} has a layer that is not there or is in two stages", s));
        return found;
      }
      stageOf[layer] = s;
      const auto &cost = problem.cost(layer, stage.form);
      if (!cost || stage.keeps[i] >= cost->keeps.size())
        fault(
            fmt::format("layer '{}' cannot run as stage {} has it", problem.layers[layer].name, s));
    }
  }
  for (Id layer = 0; layer < problem.layers.size(); ++layer)
    if (stageOf[layer] == plan.stages.size())
      fault(fmt::format("layer '{}' is in no stage", problem.layers[layer].name));
  std::vector<size_t> first(problem.pins.size(), plan.stages.size());
  for (Id layer = 0; layer < problem.layers.size(); ++layer)
    for (Id id : problem.layers[layer].pins) {
      if (stageOf[layer] == plan.stages.size())
        continue;
      const PlacementProblem::Pin &pin = problem.pins[id];
      Id kind = problem.forms[plan.stages[stageOf[layer]].form].kind;
      if (first[id] == plan.stages.size())
        first[id] = stageOf[layer];
      if ((!pin.kinds.empty() &&
           std::find(pin.kinds.begin(), pin.kinds.end(), kind) == pin.kinds.end()) ||
          (pin.stage && static_cast<size_t>(*pin.stage) != stageOf[layer]) ||
          (pin.together && stageOf[layer] != first[id]))
        fault(fmt::format("layer '{}' is in stage {} on '{}', against '{}'",
                          problem.layers[layer].name, stageOf[layer], problem.kinds[kind].name,
                          pin.text));
    }
  for (const PlacementProblem::Edge &edge : problem.edges)
    if (stageOf[edge.from] > stageOf[edge.to])
      fault(fmt::format("'{}' feeds '{}' in an earlier stage", problem.layers[edge.from].name,
                        problem.layers[edge.to].name));
  for (size_t k = 0; k < used.size(); ++k)
    if (used[k] > problem.kinds[k].devices)
      fault(fmt::format("{} devices of '{}', there are {}", used[k], problem.kinds[k].name,
                        problem.kinds[k].devices));
  return found;
}

} // namespace accord
