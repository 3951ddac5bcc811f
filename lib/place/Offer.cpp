#include "lib/place/Offer.h"
#include "lib/cost/Estimate.h"
#include "lib/solve/ScheduleStep.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord {
namespace {

using Id = PlacementProblem::Id;

int64_t picoseconds(Seconds time) { return static_cast<int64_t>(std::ceil(time.value * 1e12)); }
int64_t share(int64_t whole, int64_t devices) { return (whole + devices - 1) / devices; }

/// All sums of a line of each.
std::vector<LinearTime> both(const std::vector<LinearTime> &a, const std::vector<LinearTime> &b) {
  if (a.empty() || b.empty())
    return a.empty() ? b : a;
  std::vector<LinearTime> sums;
  for (const LinearTime &x : a)
    for (const LinearTime &y : b)
      sums.push_back({x.latency + y.latency, x.perByte + y.perByte});
  return lowest(std::move(sums));
}
/// `part` of the time, and `ratio` bytes for each.
std::vector<LinearTime> scaled(std::vector<LinearTime> lines, double part, double ratio) {
  for (LinearTime &line : lines)
    line.latency *= part, line.perByte *= part * ratio;
  return lines;
}

class Offering {
public:
  explicit Offering(const OfferRequest &request) : request_(request) {}

  std::variant<Offer, std::vector<Issue>> run() {
    kinds();
    if (!structure())
      return std::move(issues_);
    links();
    for (Id kind = 0; kind < request_.groups.size(); ++kind)
      if (!forms(kind))
        return std::move(issues_);
    if (problem().forms.empty())
      return nothingFits();
    words();
    return std::move(out_);
  }

private:
  PlacementProblem &problem() { return out_.problem; }

  void kinds() {
    PlacementProblem &p = problem();
    p.name = request_.job;
    p.objective = request_.objective;
    p.limits = request_.limits;
    p.batch = request_.batch;
    p.schedules = request_.space.schedules;
    p.chunks = request_.space.chunks;
    p.mostStages = request_.space.mostStages;
    p.hidden = request_.hidden;
    p.location = request_.location;
    for (const Cluster &group : request_.groups) {
      const Memory &memory = group.machine.memories.front();
      PlacementProblem::Kind kind;
      kind.name = group.machine.name;
      kind.devices = group.devicesPerServer * group.servers;
      kind.perServer = group.devicesPerServer;
      kind.memory = static_cast<int64_t>(std::min(memory.capacity.value, 0x1p61));
      if (request_.memory > 0)
        kind.memory = std::min(kind.memory, request_.memory);
      kind.idleWatts = group.machine.idle.value;
      kind.tdpWatts = group.machine.tdp.value;
      kind.pricePerHour = group.pricePerHour;
      auto origin = memory.origins.find("capacity");
      kind.location =
          origin != memory.origins.end() ? origin->second.location : group.machine.location;
      kind.counted = group.location;
      p.kinds.push_back(std::move(kind));
      p.perMicrobatch = std::max(p.perMicrobatch, picoseconds(group.machine.host.microbatch));
      p.perStep = std::max(p.perStep, picoseconds(group.machine.host.step));
    }
  }

  struct Priced {
    WorkGraph graph;
    Costs costs;
    Schedule schedule;
  };
  std::optional<Priced> price(WorkGraph graph, const Cluster &group, int64_t tensor) {
    EstimateOptions options;
    options.costModel = request_.costModel;
    options.fabric = &group.fabric;
    options.axes = {{"tensor", tensor}};
    auto costs = estimate(graph, group.machine, options);
    if (auto *failed = std::get_if<std::vector<Issue>>(&costs)) {
      issues_ = std::move(*failed);
      return std::nullopt;
    }
    Priced priced{std::move(graph), std::move(std::get<Costs>(costs)), {}};
    ScheduleOptions brief;
    brief.effort = 0;
    auto schedule = scheduleStep(priced.graph, group.machine, priced.costs, brief);
    if (auto *failed = std::get_if<std::vector<Issue>>(&schedule)) {
      issues_ = std::move(*failed);
      return std::nullopt;
    }
    priced.schedule = std::move(std::get<Schedule>(schedule));
    for (const std::string &text : priced.costs.assumptions)
      assume(text);
    return priced;
  }

  /// The layers, from the step of one device, one sample at a time and nothing computed again.
  bool structure() {
    auto graph = request_.instantiate(1, false, 1, "none");
    if (auto *issue = std::get_if<Issue>(&graph)) {
      issues_ = {*issue};
      return false;
    }
    auto priced =
        price(std::move(std::get<WorkGraph>(graph)), request_.groups.front(), /*tensor=*/1);
    if (!priced)
      return false;
    const WorkGraph &work = priced->graph;
    layering_ = Layering::of(work, priced->schedule);
    out_.parameters = work.parameters;
    out_.precision = work.precision;
    out_.optimizer = work.optimizer;
    for (OperationId id = 0; id < work.operations.size(); ++id)
      if (work.operations[id].region != kUpdateRegion)
        out_.modelFlops += static_cast<double>(contractionFlops(work.operations[id])) *
                           static_cast<double>(work.executions(id)) /
                           static_cast<double>(work.microbatches) *
                           static_cast<double>(request_.batch);
    for (const std::string &name : sharedParameters(layering_, work))
      assume(fmt::format("parameter '{}' is used by several layers: each has a copy of its own, "
                         "and what their copies exchange takes no time",
                         name));
    PlacementProblem &p = problem();
    for (Id cls = 0; cls < layering_.classes.size(); ++cls) {
      const Layering::Class &one = layering_.classes[cls];
      p.classes.push_back({one.name, {}});
      for (int64_t i = 0; i < one.count; ++i)
        p.layers.push_back(
            {one.count > 1 ? fmt::format("{}[{}]", one.name, i) : one.name, cls, {}, {}});
    }
    for (const Layering::Edge &edge : layering_.edges)
      p.edges.push_back({edge.from, edge.to, edge.bytes});
    return true;
  }

  void links() {
    auto line = [](const Network &network, double sharers) {
      double rate = endpointBandwidth(network, 2).value / network.oversubscription;
      return LinearTime{network.latency.value * 1e12, rate > 0 ? sharers / rate * 1e12 : 0};
    };
    for (size_t from = 0; from < request_.groups.size(); ++from)
      for (size_t to = 0; to < request_.groups.size(); ++to) {
        const Cluster &a = request_.groups[from], &b = request_.groups[to];
        PlacementProblem::Link link;
        double sharers = static_cast<double>(std::max(a.devicesPerServer, b.devicesPerServer));
        if (from == to && !a.fabric.levels.empty()) {
          link.inside = line(a.fabric.levels.front(), 1);
          link.across = a.servers > 1 ? line(a.fabric.levels.back(), sharers) : link.inside;
        }
        if (from != to && request_.between)
          link.across = link.inside = line(*request_.between, sharers);
        problem().links.push_back(link);
      }
  }

  /// Layers' uses by policy of recomputation, for one degree and micro-batch.
  using Uses = std::vector<std::vector<LayerUse>>;
  std::optional<Uses> uses(Id kind, const PlacementSpace::Share &share, int64_t microbatch) {
    Uses all;
    for (const std::string &policy : request_.space.recomputes) {
      auto graph = request_.instantiate(share.tensor, share.sequence, microbatch, policy);
      if (auto *issue = std::get_if<Issue>(&graph)) {
        if (!left_)
          left_ = *issue;
        assume(fmt::format("tensor_parallel {}{} is left out: {}", share.tensor,
                           share.sequence ? " with sequence_parallel" : "", issue->message));
        return std::nullopt;
      }
      auto priced =
          price(std::move(std::get<WorkGraph>(graph)), request_.groups[kind], share.tensor);
      if (!priced)
        return std::nullopt;
      all.push_back(layerUses(layering_, priced->graph, priced->costs, priced->schedule));
    }
    return all;
  }

  /// What replicas of a stage exchange.
  struct Traffic {
    std::vector<LinearTime> allReduce, scatter, gather;
  };
  std::optional<Traffic> traffic(const Cluster &group, int64_t tensor, int64_t data, bool divided) {
    Groups groups = groupsAlong({{"tensor", tensor}, {"data", data}}, "data");
    Traffic made;
    auto lines = [&](Collective kind, std::vector<LinearTime> &into) {
      auto found = linesOf(group.fabric, kind, groups);
      if (auto *issue = std::get_if<Issue>(&found)) {
        issues_ = {*issue};
        return false;
      }
      into = std::move(std::get<std::vector<LinearTime>>(found));
      return true;
    };
    if (!lines(Collective::AllReduce, made.allReduce) ||
        (divided && (!lines(Collective::ReduceScatter, made.scatter) ||
                     !lines(Collective::AllGather, made.gather))))
      return std::nullopt;
    return made;
  }

  bool forms(Id kind) {
    const Cluster &group = request_.groups[kind];
    int64_t devices = problem().kinds[kind].devices;
    bool divided = std::any_of(request_.space.zero.begin(), request_.space.zero.end(),
                               [](int stage) { return stage > 0; });
    std::vector<int64_t> degrees = request_.space.data;
    if (degrees.empty())
      for (int64_t d = 1; d <= std::min(devices, request_.batch); ++d)
        if (request_.batch % d == 0)
          degrees.push_back(d);
    std::map<std::pair<int64_t, int64_t>, Traffic> traffics;
    for (const PlacementSpace::Share &share : request_.space.shares) {
      if (share.tensor > devices)
        continue;
      for (int64_t microbatch : request_.space.microbatches) {
        if (request_.batch % microbatch != 0)
          continue;
        auto found = uses(kind, share, microbatch);
        if (!issues_.empty())
          return false;
        if (!found)
          break;
        for (int64_t data : degrees) {
          if (data > devices / share.tensor || request_.batch / microbatch % data != 0)
            continue;
          auto [at, isNew] = traffics.try_emplace({share.tensor, data});
          if (isNew && data > 1) {
            auto made = traffic(group, share.tensor, data, divided);
            if (!made)
              return false;
            at->second = std::move(*made);
          }
          std::vector<int> stages = request_.space.zero;
          if (data == 1) // nothing to divide among
            stages = {*std::min_element(stages.begin(), stages.end())};
          for (int zero : stages) {
            PlacementProblem::Form form;
            form.kind = kind;
            form.tensor = share.tensor;
            form.sequence = share.sequence;
            form.data = data;
            form.zero = zero;
            form.microbatch = microbatch;
            add(form, *found, at->second);
          }
        }
      }
    }
    return true;
  }

  void add(PlacementProblem::Form form, const Uses &uses, const Traffic &traffic) {
    double weights = 0, gradients = 0;
    for (size_t c = 0; c < uses.front().size(); ++c) {
      auto count = static_cast<double>(layering_.classes[c].count);
      weights += static_cast<double>(uses.front()[c].weights) * count;
      gradients += static_cast<double>(uses.front()[c].gradients) * count;
    }
    if (form.data > 1) {
      double perGradient = gradients > 0 ? weights / gradients : 0,
             perWeight = weights > 0 ? gradients / weights : 0;
      std::vector<LinearTime> ways = traffic.allReduce;
      if (form.zero == 1)
        ways = both(traffic.scatter, scaled(traffic.gather, 1, perGradient));
      else if (form.zero == 2)
        ways = scaled(traffic.gather, 1, perGradient);
      else if (form.zero == 3)
        ways = {};
      const PlacementProblem::Kind &kind = problem().kinds[form.kind];
      form.syncs.push_back(
          {std::max<int64_t>(1, std::min(form.data, kind.perServer / form.tensor)), ways});
      if (form.zero >= 2)
        form.gather = scaled(traffic.scatter, 0.5, perWeight);
      if (form.zero == 3)
        form.gather = both(traffic.gather, form.gather);
    }
    for (size_t c = 0; c < uses.front().size(); ++c)
      problem().classes[c].costs.push_back(cost(form, uses, c));
    problem().forms.push_back(std::move(form));
  }

  PlacementProblem::Cost cost(const PlacementProblem::Form &form, const Uses &uses, size_t cls) {
    const LayerUse &use = uses.front()[cls];
    auto over = [&](int64_t whole, int fromStage) {
      return form.zero >= fromStage ? share(whole, form.data) : whole;
    };
    PlacementProblem::Cost cost;
    cost.forward = use.forward;
    cost.backward = use.backward;
    cost.weight = use.weight;
    cost.update = over(use.update, 1);
    cost.residentWeights = over(use.weights, 3);
    cost.residentGradients = over(use.gradients, 2);
    cost.resident = cost.residentWeights + cost.residentGradients + over(use.states, 1);
    cost.gradients = use.gradients;
    cost.weights = use.weights;
    auto microbatches = static_cast<double>(request_.batch / form.microbatch); // of all replicas
    double tensor = static_cast<double>(form.tensor);
    cost.joules = use.joules * microbatches * tensor +
                  use.joulesUpdate * tensor * (form.zero >= 1 ? 1 : static_cast<double>(form.data));
    int64_t first = use.backward + use.weight;
    double most = 0;
    for (size_t policy = 0; policy < uses.size(); ++policy) {
      const LayerUse &other = uses[policy][cls];
      PlacementProblem::Keep keep;
      keep.policy = request_.space.recomputes[policy];
      keep.again = std::max<int64_t>(0, other.backward + other.weight + other.again - first);
      keep.kept = other.kept;
      keep.working =
          other.working + (form.zero >= 2 ? use.gradients : 0) + (form.zero >= 3 ? use.weights : 0);
      // What is no less in any respect than another choice is none.
      if (std::any_of(cost.keeps.begin(), cost.keeps.end(), [&](const PlacementProblem::Keep &k) {
            return k.again <= keep.again && k.kept <= keep.kept && k.working <= keep.working;
          }))
        continue;
      if (keep.again > 0)
        most = std::max(most, (other.joules - use.joules) / static_cast<double>(keep.again));
      cost.keeps.push_back(std::move(keep));
    }
    cost.joulesAgain = most * microbatches * tensor;
    return cost;
  }

  void assume(const std::string &text) {
    if (std::find(out_.assumptions.begin(), out_.assumptions.end(), text) == out_.assumptions.end())
      out_.assumptions.push_back(text);
  }

  std::vector<Issue> nothingFits() {
    if (left_)
      return {*left_};
    int64_t devices = 0;
    std::vector<int64_t> tensor;
    for (const PlacementSpace::Share &share : request_.space.shares)
      if (tensor.empty() || tensor.back() != share.tensor)
        tensor.push_back(share.tensor);
    for (const PlacementProblem::Kind &kind : problem().kinds)
      devices = std::max(devices, kind.devices);
    return {{"A0946",
             fmt::format("no choice of tensor_parallel {}, data_parallel {} and micro-batch {} "
                         "divides the batch of {} among {} devices",
                         fmt::join(tensor, ", "),
                         request_.space.data.empty()
                             ? std::string("any")
                             : fmt::format("{}", fmt::join(request_.space.data, ", ")),
                         fmt::join(request_.space.microbatches, ", "), request_.batch, devices),
             request_.location,
             {}}};
  }

  void words() {
    PlacementProblem &p = problem();
    bool replicas = false, divided = false, late = false, shards = false;
    for (const PlacementProblem::Form &form : p.forms) {
      replicas |= form.data > 1;
      divided |= form.zero > 0 && form.data > 1;
      late |= form.zero > 1 && form.data > 1;
      shards |= form.tensor > 1;
    }
    if (replicas)
      assume(fmt::format("gradients are exchanged behind up to {:.0f} % of the last micro-batch's "
                         "backward pass",
                         100 * p.hidden));
    if (divided)
      assume("ZeRO divides states and update evenly among the replicas of a stage");
    if (late)
      assume("ZeRO 2 and 3 scatter gradients in each micro-batch, ZeRO 3 gathers the stage's "
             "weights before each pass; neither is hidden");
    assume("transfers between stages stop the stage that receives them; each device sends its "
           "part, and the devices of a server share its network");
    if (shards)
      assume("what a stage receives in parts is put together without more time");
    for (const Cluster &group : request_.groups)
      for (const std::string &text : group.assumptions)
        assume(text);
  }

  const OfferRequest &request_;
  Offer out_;
  Layering layering_;
  std::vector<Issue> issues_;
  std::optional<Issue> left_; ///< why the first degree was left out
};

} // namespace

std::variant<Offer, std::vector<Issue>> offer(const OfferRequest &request) {
  return Offering(request).run();
}

} // namespace accord
