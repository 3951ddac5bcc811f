#include "lib/exploration/verify/MiningPlacement.h"
#include "lib/placement/verify/PlacementBound.h"
#include "lib/placement/verify/PlacementStages.h"
#include "lib/placement/verify/PlacementWork.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>

namespace accord {
namespace {

using Problem = PlacementProblem;
using Id = Problem::Id;

/// Of a bound of one design: beyond that its configurations count as open.
constexpr uint64_t kEffort = 40'000'000;

auto identity(const Problem::Form &form) {
  return std::tie(form.kind, form.tensor, form.sequence, form.data, form.zero, form.microbatch,
                  form.expert, form.tables, form.ringOverlap, form.hostStates, form.hostWeights,
                  form.order);
}
bool divides(const Problem::Form &form) {
  return form.expert > 1 || form.tables != Problem::Tables::Whole;
}
bool isOf(const ClaimedStep &step, const Problem::Form &form) {
  int64_t data = form.expert > 1 ? form.expert : divides(form) ? form.data : 1;
  return step.tensor == form.tensor && step.sequence == form.sequence &&
         step.microbatch == form.microbatch && step.experts == form.expert &&
         step.tables == form.tables && step.data == data;
}
int64_t part(int64_t whole, int64_t devices) { return whole / std::max<int64_t>(devices, 1); }

} // namespace

PlacementFloor::PlacementFloor(const ClaimedCluster &cluster)
    : cluster_(cluster), chain_(PlacementCuts(cluster.problem).chain()) {
  const Problem &p = cluster.problem;
  layers_.reserve(cluster.steps.size());
  for (const ClaimedStep &step : cluster.steps)
    layers_.emplace_back(step.graph, p, cluster.classOf);
  for (const Problem::Form &form : p.forms) {
    std::vector<size_t> &of = steps_.emplace_back();
    for (size_t s = 0; s < cluster.steps.size(); ++s)
      if (isOf(cluster.steps[s], form))
        of.push_back(s);
  }
  delays_ = std::find(p.schedules.begin(), p.schedules.end(), PipelineSchedule::ZeroBubble) !=
            p.schedules.end();
}

int64_t PlacementFloor::room(const Machine &machine) const {
  if (machine.memories.empty())
    return 0;
  double capacity = machine.memories.front().capacity.value;
  auto bytes = static_cast<int64_t>(std::min(capacity, 0x1p61));
  for (const ClaimedCluster::Room &room : cluster_.rooms)
    if (std::abs(room.capacity - capacity) <= 1e-9 * capacity)
      return std::min(bytes, room.bytes);
  return bytes;
}

/// All that times follow from.
std::string PlacementFloor::keyOf(const Machine &machine) const {
  std::string key = machine.costModel;
  auto put = [&key](auto value) {
    key.append(reinterpret_cast<const char *>(&value), sizeof value);
  };
  for (double n : {machine.clock.value, machine.host.kernel.value, machine.host.microbatch.value,
                   machine.host.step.value})
    put(n);
  for (const Memory &memory : machine.memories) {
    for (double n : {memory.bandwidth.value, memory.latency.value, memory.efficiency})
      put(n);
    put(memory.doubleBuffered), put(memory.capacity.value > 0), put(overlapsTransfers(memory));
  }
  for (const Core &core : machine.cores) {
    put(core.kind), put(core.overlapFill), put(core.overlapDrain), put(core.oneEach);
    put(core.either);
    for (int64_t n : {core.rows, core.cols, core.lanes, core.count, int64_t(core.reads)})
      put(n);
    put(core.efficiency), put(core.halfWork.value);
    key += core.dataflow + ";";
    for (const auto &[type, peak] : core.peak)
      key += type + "=", put(peak.value);
    for (const auto &[kind, cycles] : core.cyclesOf)
      key += kind + ":", put(cycles);
  }
  return key;
}

void PlacementFloor::cost(Id form, const std::vector<const std::vector<LayerFloor> *> &policies,
                          Problem &into, size_t at) const {
  const Problem::Form &f = cluster_.problem.forms[form];
  for (size_t c = 0; c < into.classes.size(); ++c) {
    Problem::Cost &cost = into.classes[c].costs[at].emplace();
    if (policies.empty() || f.ringOverlap) { // nothing is known of it
      cost.keeps.push_back({"none", 0, 0, 0, 0});
      continue;
    }
    const LayerFloor &first = (*policies.front())[c];
    cost.forward = first.forward;
    // The first policy may be one that computes again.
    int64_t behind = first.backward;
    for (const auto *policy : policies)
      behind = std::min(behind, (*policy)[c].backward);
    (delays_ ? cost.weight : cost.backward) = behind;
    cost.update = f.zero >= 1 ? part(first.update, f.data) : first.update;
    if (!divides(f)) {
      cost.residentWeights = f.hostWeights ? 0 : part(first.weights, f.zero >= 3 ? f.data : 1);
      cost.residentGradients = part(first.gradients, f.zero >= 2 ? f.data : 1);
      cost.resident = cost.residentWeights + cost.residentGradients +
                      (f.hostStates ? 0 : part(first.states, f.zero >= 1 ? f.data : 1));
      cost.gradients = first.gradients - first.rows + first.rows / 2;
      cost.weights = first.weights;
    }
    for (size_t q = 0; q < policies.size(); ++q) {
      const LayerFloor &layer = (*policies[q])[c];
      cost.keeps.push_back(
          {cluster_.steps[steps_[form][q]].recompute, layer.backward - behind, layer.kept, 0, 0});
    }
    if (cluster_.offloads)
      cost.keeps.push_back({"offload", 0, 0, 0, 0});
  }
}

/// `uses`: by step, of those that count.
Problem
PlacementFloor::least(const Machine &machine, const std::vector<Id> &among,
                      const std::vector<std::optional<std::vector<LayerFloor>>> &uses) const {
  const Problem &whole = cluster_.problem;
  Problem p;
  p.objective = whole.objective, p.batch = whole.batch;
  p.limits.step = whole.limits.step, p.limits.devices = whole.limits.devices;
  p.kinds = whole.kinds, p.links = whole.links, p.layers = whole.layers;
  p.schedules = whole.schedules, p.chunks = whole.chunks, p.groups = whole.groups;
  p.evenly = whole.evenly, p.sameForm = whole.sameForm;
  p.blockingTransfers = whole.blockingTransfers;
  p.hidden = whole.hidden, p.hides = whole.hides, p.leastStep = whole.leastStep;
  for (Problem::Layer &layer : p.layers)
    layer.pins.clear();
  for (Problem::Kind &kind : p.kinds) {
    kind.memory = room(machine);
    kind.idleWatts = 0, kind.pricePerHour = 0;
    kind.tdpWatts = 1; // its own is a factor
  }
  p.perMicrobatch = static_cast<int64_t>(std::ceil(machine.host.microbatch.value * 1e12));
  p.perStep = static_cast<int64_t>(std::ceil(machine.host.step.value * 1e12)) + whole.perStep;
  // Of what comes in between two layers of a chain one tensor counts: of merged layers it is more.
  // Where layers branch, what comes from several may come from one.
  for (Problem::Edge edge : whole.edges)
    if (!chain_ || edge.to == edge.from + 1) {
      edge.bytes = chain_ ? edge.bytes : 0;
      p.edges.push_back(edge);
    }
  for (const Problem::LayerClass &one : whole.classes)
    p.classes.push_back({one.name, std::vector<std::optional<Problem::Cost>>(among.size())});
  for (size_t at = 0; at < among.size(); ++at) {
    p.forms.push_back(whole.forms[among[at]]);
    std::vector<const std::vector<LayerFloor> *> policies;
    for (size_t step : steps_[among[at]])
      if (uses[step])
        policies.push_back(&*uses[step]);
    cost(among[at], policies, p, at);
  }
  return p;
}

double PlacementFloor::value(const Machine &machine) {
  auto [known, isNew] = known_.try_emplace(keyOf(machine), 0);
  if (!isNew)
    return known->second;
  std::vector<Id> all(cluster_.problem.forms.size());
  std::vector<std::optional<std::vector<LayerFloor>>> uses(layers_.size());
  for (Id form = 0; form < all.size(); ++form) {
    all[form] = form;
    for (size_t step : steps_[form]) {
      if (!uses[step])
        uses[step] = layers_[step].least(machine);
      if (!layers_[step].again()) // no other takes less
        break;
    }
  }
  return known->second = leastOfPlacements(least(machine, all, uses));
}

PlacementFloor::Open PlacementFloor::open(const Machine &machine, double below) {
  std::vector<Id> all(cluster_.problem.forms.size());
  std::iota(all.begin(), all.end(), Id{0});
  std::string key = fmt::format("{:a} {} ", below, room(machine)) + keyOf(machine);
  if (auto known = opened_.find(key); known != opened_.end())
    return known->second;
  return opened_[key] = open(machine, below, {}, all);
}

PlacementFloor::Open PlacementFloor::open(const Machine &machine, double below,
                                          const Prices &prices, const std::vector<Id> &among) {
  std::vector<std::optional<std::vector<LayerFloor>>> uses(layers_.size());
  for (Id form : among)
    for (size_t step : steps_[form])
      if (!uses[step]) {
        auto costs = prices ? prices(step) : std::nullopt;
        uses[step] = layers_[step].least(machine, costs ? &*costs : nullptr);
      }
  OpenPlacements left = openPlacements(least(machine, among, uses), below, kEffort);
  Open open{{}, left.least};
  for (Id at : left.forms)
    open.forms.push_back(among[at]);
  return open;
}

std::vector<Id> PlacementFloor::formsOf(const Problem &stated) const {
  std::vector<Id> forms;
  const std::vector<Problem::Form> &mine = cluster_.problem.forms;
  for (Id form = 0; form < mine.size(); ++form) {
    auto alike = [&](const std::vector<Problem::Form> &all) {
      return std::count_if(all.begin(), all.end(), [&](const Problem::Form &other) {
        return identity(other) == identity(mine[form]);
      });
    };
    if (alike(stated.forms) >= alike(mine))
      forms.push_back(form);
  }
  return forms;
}

namespace {

bool close(double a, double b, double part = 1e-9) {
  return a == b || std::abs(a - b) <= part * std::max(std::abs(a), std::abs(b));
}
bool same(const LinearTime &a, const LinearTime &b, double part = 1e-9) {
  return close(a.latency, b.latency) && close(a.perByte, b.perByte, part);
}
/// Where replicas divide weights, lines follow from the share of gradients and weights of a step,
/// whose layers are rounded.
constexpr double kShares = 1e-3;
bool same(const std::vector<LinearTime> &a, const std::vector<LinearTime> &b, double part) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(),
                    [part](const auto &x, const auto &y) { return same(x, y, part); });
}
bool same(const std::vector<Problem::Sync> &a, const std::vector<Problem::Sync> &b, double part) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [part](const auto &x, const auto &y) {
           return x.together == y.together && same(x.ways, y.ways, part);
         });
}

/// First of what is not of the design.
std::string differsInSpace(const Problem &a, const Problem &b) {
  if (a.objective != b.objective || a.batch != b.batch || a.sameForm != b.sameForm ||
      a.evenly.has_value() != b.evenly.has_value())
    return "objective, batch or what stages have in common";
  if (a.schedules != b.schedules || a.chunks != b.chunks)
    return "schedules";
  if (!std::equal(
          a.groups.begin(), a.groups.end(), b.groups.begin(), b.groups.end(),
          [](const auto &x, const auto &y) { return x.fewest == y.fewest && x.most == y.most; }))
    return "numbers of stages";
  if (a.limits.step != b.limits.step || !close(a.limits.watts, b.limits.watts) ||
      a.limits.devices != b.limits.devices || !close(a.limits.joules, b.limits.joules) ||
      !close(a.limits.price, b.limits.price))
    return "limits";
  if (!close(a.hidden, b.hidden) || !close(a.hides, b.hides) || a.leastStep != b.leastStep ||
      a.blockingTransfers != b.blockingTransfers)
    return "what hides, or is given";
  bool links = a.links.size() == b.links.size();
  for (size_t i = 0; links && i < a.links.size(); ++i)
    links =
        same(a.links[i].inside, b.links[i].inside) && same(a.links[i].across, b.links[i].across);
  return links ? "" : "links";
}

} // namespace

std::string PlacementFloor::differs(const Problem &stated, const Machine &machine,
                                    const Prices &prices) {
  const Problem &whole = cluster_.problem;
  if (std::string other = differsInSpace(stated, whole); !other.empty())
    return other + " are others than the cluster's";
  bool pinned = !stated.pins.empty();
  for (const Problem::Layer &layer : stated.layers)
    pinned |= !layer.pins.empty();
  if (pinned)
    return "layers are pinned, which is not known of the cluster";
  bool kinds = stated.kinds.size() == 1 && whole.kinds.size() == 1;
  if (kinds) {
    const Problem::Kind &a = stated.kinds.front(), &b = whole.kinds.front();
    kinds = a.devices == b.devices && a.perServer == b.perServer && a.hostMemory == b.hostMemory &&
            close(a.pricePerHour, b.pricePerHour);
    if (kinds && (a.memory != room(machine) || !close(a.tdpWatts, machine.tdp.value) ||
                  !close(a.idleWatts, machine.idle.value)))
      return fmt::format("{} bytes of memory and {:.9g} W, the design's devices have {} and {:.9g}",
                         a.memory, a.tdpWatts, room(machine), machine.tdp.value);
  }
  if (!kinds)
    return "devices are others than the cluster's";
  std::vector<Id> forms; // of the cluster, by stated form
  for (const Problem::Form &form : stated.forms) {
    double part = form.zero == 0 ? 1e-9 : kShares;
    auto of = std::find_if(whole.forms.begin(), whole.forms.end(), [&](const auto &other) {
      return identity(other) == identity(form) && same(other.syncs, form.syncs, part) &&
             same(other.expertSyncs, form.expertSyncs, part) &&
             same(other.gather, form.gather, part);
    });
    if (of == whole.forms.end())
      return fmt::format("tensor {}, data {}, micro-batch {} is no form of the cluster, or has "
                         "another network",
                         form.tensor, form.data, form.microbatch);
    forms.push_back(static_cast<Id>(of - whole.forms.begin()));
  }
  std::vector<std::optional<std::vector<LayerFloor>>> uses(layers_.size());
  for (Id form : forms)
    for (size_t step : steps_[form])
      if (!uses[step]) {
        auto costs = prices ? prices(step) : std::nullopt;
        uses[step] = layers_[step].least(machine, costs ? &*costs : nullptr);
      }
  Problem floor = least(machine, forms, uses);
  if (stated.perMicrobatch != floor.perMicrobatch || stated.perStep != floor.perStep)
    return "its host takes another time than the design's";
  return differsInLayers(stated, floor);
}

/// Classes are runs of the cluster's, named by their first one.
std::string PlacementFloor::differsInLayers(const Problem &stated, const Problem &floor) const {
  auto countsOf = [](const Problem &p) {
    std::vector<int64_t> counts(p.classes.size());
    for (const Problem::Layer &layer : p.layers)
      ++counts[layer.of];
    return counts;
  };
  std::vector<int64_t> mine = countsOf(floor), theirs = countsOf(stated);
  size_t at = 0;
  for (size_t c = 0; c < stated.classes.size(); ++c) {
    size_t from = at;
    do
      ++at;
    while (at < floor.classes.size() && (c + 1 == stated.classes.size() ||
                                         floor.classes[at].name != stated.classes[c + 1].name));
    bool run = from < floor.classes.size() && floor.classes[from].name == stated.classes[c].name &&
               theirs[c] == mine[from];
    for (size_t i = from; run && i < at; ++i)
      run = mine[i] == (at - from == 1 ? theirs[c] : 1);
    if (!run)
      return fmt::format("'{}' is no layer of the cluster's job, or not as often",
                         stated.classes[c].name);
    for (size_t f = 0; f < stated.forms.size(); ++f) {
      const auto &cost = stated.classes[c].costs[f];
      if (!cost)
        return fmt::format("'{}' cannot run in every form", stated.classes[c].name);
      Problem::Cost sum;
      std::map<std::string, int64_t> again;
      for (size_t i = from; i < at; ++i) {
        const Problem::Cost &one = *floor.classes[i].costs[f];
        sum.forward += one.forward, sum.backward += one.backward + one.weight;
        sum.update += one.update, sum.resident += one.resident;
        sum.gradients += one.gradients, sum.weights += one.weights;
        for (const Problem::Keep &keep : one.keeps)
          again[keep.policy] += keep.again + one.backward + one.weight;
      }
      int64_t behind = cost->backward + cost->weight;
      bool cheap = cost->forward < sum.forward || cost->update < sum.update ||
                   cost->resident < sum.resident || cost->gradients < sum.gradients ||
                   cost->weights < sum.weights;
      for (const Problem::Keep &keep : cost->keeps)
        if (auto least = again.find(keep.policy); least != again.end())
          cheap |= behind + keep.again < least->second;
      if (cheap)
        return fmt::format("'{}' takes less than its operations do: {} ps forward and {} ps "
                           "backward, at least {} and {}",
                           stated.classes[c].name, cost->forward, behind, sum.forward,
                           sum.backward);
    }
  }
  if (at < floor.classes.size())
    return fmt::format("'{}' is left out", floor.classes[at].name);
  return "";
}

} // namespace accord
