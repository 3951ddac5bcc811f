#include "lib/machine/model/Machine.h"
#include "lib/placement/builder/Layers.h"
#include <algorithm>
#include <cmath>
#include <utility>

namespace accord {

namespace layers {

std::vector<uint32_t> ownersOf(const Layering &layering, const WorkGraph &graph, const std::string &parameter) {
  if (const uint32_t *cls = byPrefix(layering.classOf, parameter))
    return {*cls};
  size_t dot = parameter.rfind('.');
  std::string suffix = "." + (dot == std::string::npos ? parameter : parameter.substr(dot + 1)) + "_gradient";
  std::string scope = dot == std::string::npos ? "" : parameter.substr(0, dot + 1);
  std::set<uint32_t> owners;
  for (const Operation &op : graph.operations)
    if (op.name.size() > suffix.size() && op.name.compare(0, scope.size(), scope) == 0 &&
        op.name.compare(op.name.size() - suffix.size(), suffix.size(), suffix) == 0)
      if (const uint32_t *cls = byPrefix(layering.classOf, op.name))
        owners.insert(*cls);
  if (owners.empty())
    owners.insert(0);
  return {owners.begin(), owners.end()};
}

} // namespace layers

namespace {

constexpr int64_t kMax = int64_t{1} << 61;
int64_t capped(double x) { return x < double(kMax) ? static_cast<int64_t>(x) : kMax; }
int64_t sum(int64_t a, int64_t b) { return std::min(kMax, a + b); }

/// Most bytes alive at a time, of values that are alive over intervals.
class Alive {
public:
  void touch(ValueId root, int64_t from, int64_t to) {
    auto [it, isNew] = spans_.try_emplace(root, from, to);
    it->second.first = std::min(it->second.first, from);
    it->second.second = std::max(it->second.second, to);
  }
  void add(int64_t bytes, int64_t from, int64_t to) { extra_.push_back({bytes, from, to}); }
  int64_t peak(const WorkGraph &graph) const {
    std::vector<std::pair<int64_t, int64_t>> events; // time, bytes
    auto span = [&](int64_t bytes, int64_t from, int64_t to) {
      events.push_back({from, bytes});
      events.push_back({std::max(to, from + 1), -bytes});
    };
    for (auto &[root, at] : spans_)
      span(graph.values[root].bytes, at.first, at.second);
    for (auto &one : extra_)
      span(one.bytes, one.from, one.to);
    std::sort(events.begin(), events.end()); // what ends goes first
    int64_t now = 0, max = 0;
    for (auto &[time, bytes] : events)
      max = std::max(max, now += bytes);
    return max;
  }

private:
  struct Extra {
    int64_t bytes, from, to;
  };
  std::map<ValueId, std::pair<int64_t, int64_t>> spans_;
  std::vector<Extra> extra_;
};

class LayerMeasurer {
public:
  LayerMeasurer(const Layering &layering, const WorkGraph &graph, const Costs &costs, const Schedule &schedule,
                const std::vector<double> *fitted)
      : layering_(layering), graph_(graph), costs_(costs), schedule_(schedule), fitted_(fitted),
        deps_(Dependences::of(graph)), uses_(layering.classes.size()), copies_(layering.classes.size()) {}

  std::vector<LayerUse> run() {
    assign();
    times();
    if (fitted_)
      fittedTimes();
    staticTensors();
    memory();
    logits();
    for (size_t c = 0; c < uses_.size(); ++c) {
      const LayerUse &one = copies_[c];
      uses_[c].copy = {one.weights, one.gradients, one.states, one.quantized, one.rows, one.update, one.updateJoules};
    }
    return std::move(uses_);
  }

private:
  const Operation &operation(OperationId id) const { return graph_.operations[id]; }
  int64_t countOf(uint32_t cls) const { return layering_.classes[cls].count; }

  /// The class of each operation of a micro-batch, outermost.
  void assign() {
    const auto &all = graph_.regions[kMicrobatchRegion].operations;
    std::vector<layers::Part> parts = layers::partsOf(layering_, graph_, deps_);
    for (size_t i = 0; i < all.size(); ++i)
      classOf_[all[i]] = parts[i].cls, backward_[all[i]] = parts[i].backward;
  }

  struct Phases {
    double weight = 0, recomputeTime = 0, all = 0;
  };
  void phases(RegionId r, double times, Phases &into) const {
    for (const Slot &slot : schedule_.regions[r].slots) {
      const Operation &op = operation(slot.operation);
      double takes = times * slot.duration.value;
      if (op.body != kNone) {
        phases(op.body, times * graph_.regions[op.body].count, into);
        continue;
      }
      into.all += takes;
      into.weight += op.phase == Phase::WeightGradient ? takes : 0;
      into.recomputeTime += op.phase == Phase::Recompute ? takes : 0;
    }
  }
  double joules(OperationId id) const {
    const Operation &op = operation(id);
    if (op.body == kNone)
      return costs_.operations[id].energy.value;
    double one = 0;
    for (OperationId inner : graph_.regions[op.body].operations)
      one += joules(inner);
    return one * graph_.regions[op.body].count;
  }

  void times() {
    for (const Slot &slot : schedule_.regions[kMicrobatchRegion].slots) {
      OperationId id = slot.operation;
      const Operation &op = operation(id);
      uint32_t cls = classOf_.at(id);
      LayerUse &use = uses_[cls];
      double takes = slot.duration.value;
      Phases of;
      if (op.body != kNone) {
        const Region &body = graph_.regions[op.body];
        takes = static_cast<double>(schedule_.regions[op.body].length.value) * body.count;
        phases(op.body, 1, of);
      } else {
        of.all = 1;
        of.weight = op.phase == Phase::WeightGradient;
        of.recomputeTime = op.phase == Phase::Recompute;
      }
      takes /= countOf(cls);
      use.joules += joules(id) / countOf(cls);
      if (op.body != kNone) {
        int64_t overlap = ringOverlapTime(graph_, deps_, schedule_, op.body);
        double share = static_cast<double>(graph_.regions[op.body].count) / countOf(cls);
        int64_t &into = backward_.at(id) ? use.ringBackward : use.ringForward;
        into = sum(into, capped(std::floor(overlap * share)));
      }
      if (!backward_.at(id)) {
        use.forward = sum(use.forward, capped(std::ceil(takes)));
        continue;
      }
      int64_t whole = capped(std::ceil(takes)), weight = of.all > 0 ? capped(takes * of.weight / of.all) : 0,
              recomputeTime = of.all > 0 ? capped(takes * of.recomputeTime / of.all) : 0;
      use.weight = sum(use.weight, weight);
      use.recomputeTime = sum(use.recomputeTime, recomputeTime);
      use.backward = sum(use.backward, std::max<int64_t>(0, whole - weight - recomputeTime));
    }
    for (const Slot &slot : schedule_.regions[kUpdateRegion].slots) {
      if (operation(slot.operation).communication) // between replicas: no layer's own
        continue;
      const std::string &name = operation(slot.operation).name;
      size_t dot = name.rfind(".update");
      std::vector<uint32_t> owners = layers::ownersOf(layering_, graph_, name.substr(0, dot));
      for (uint32_t cls : owners) {
        double share = 1 / static_cast<double>(countOf(cls));
        auto add = [&](LayerUse &use) {
          use.update = sum(use.update, capped(std::ceil(slot.duration.value * share)));
          use.updateJoules += joules(slot.operation) * share;
        };
        add(uses_[cls]);
        if (cls != owners.front())
          add(copies_[cls]);
      }
    }
  }

  /// Of one layer, in seconds.
  struct Spent {
    double all = 0, forward = 0, weight = 0, recomputeTime = 0;
  };
  void spend(OperationId id, double times, bool backward, Spent &into) const {
    const Operation &op = operation(id);
    if (op.body != kNone) {
      for (OperationId inner : graph_.regions[op.body].operations)
        spend(inner, times * graph_.regions[op.body].count, backward, into);
      return;
    }
    double takes = times * static_cast<double>(Picoseconds::ceil(Seconds((*fitted_)[id])).value) * 1e-12;
    into.all += takes;
    if (!backward)
      into.forward += takes;
    else if (op.phase == Phase::WeightGradient)
      into.weight += takes;
    else if (op.phase == Phase::Recompute)
      into.recomputeTime += takes;
  }

  void fittedTimes() {
    std::vector<Spent> spent(uses_.size());
    for (OperationId id : graph_.regions[kMicrobatchRegion].operations) {
      uint32_t cls = classOf_.at(id);
      spend(id, 1 / static_cast<double>(countOf(cls)), backward_.at(id), spent[cls]);
    }
    auto time = [](double seconds) { return capped(std::ceil(seconds * 1e12 * (1 - 1e-12))); };
    for (size_t cls = 0; cls < uses_.size(); ++cls) {
      const Spent &s = spent[cls];
      LayerUse &use = uses_[cls];
      use.forward = time(s.forward), use.weight = time(s.weight), use.recomputeTime = time(s.recomputeTime);
      use.backward = std::max<int64_t>(0, time(s.all) - use.forward - use.weight - use.recomputeTime);
      use.update = copies_[cls].update = 0;
      use.ringForward = use.ringBackward = 0; // what hid when steps were measured is in them
    }
    for (OperationId id : graph_.regions[kUpdateRegion].operations) {
      if (operation(id).communication) // between replicas: no layer's own
        continue;
      Spent one;
      spend(id, 1, false, one);
      const std::string &name = operation(id).name;
      std::vector<uint32_t> owners = layers::ownersOf(layering_, graph_, name.substr(0, name.rfind(".update")));
      for (uint32_t cls : owners) {
        int64_t takes = time(one.all / static_cast<double>(countOf(cls)));
        uses_[cls].update = sum(uses_[cls].update, takes);
        if (cls != owners.front())
          copies_[cls].update = sum(copies_[cls].update, takes);
      }
    }
  }

  void staticTensors() {
    std::set<std::string> sparse; // tables
    for (OperationId id : graph_.regions[kUpdateRegion].operations)
      if (const Operation &op = operation(id); op.kind == "update_rows")
        sparse.insert(op.name.substr(0, op.name.rfind(".update")));
    for (const StaticTensor &r : graph_.staticTensors) {
      std::vector<uint32_t> owners = layers::ownersOf(layering_, graph_, r.name);
      for (uint32_t cls : owners) {
        int64_t share = (r.bytes + countOf(cls) - 1) / countOf(cls);
        LayerUse &use = uses_[cls];
        auto add = [&](LayerUse &into) {
          int64_t &bytes = layers::bytesOf(r, into);
          bytes = sum(bytes, share);
          if (r.category == Category::Gradients && sparse.count(r.name))
            into.rows = sum(into.rows, share);
        };
        add(use);
        if (cls != owners.front())
          add(copies_[cls]);
        if (owners.size() > 1 && r.category == Category::Gradients)
          use.tied = sum(use.tied, share);
      }
    }
  }

  /// Most bytes of one iteration of a body besides its stashes and what comes from outside.
  int64_t workspace(RegionId r) const {
    std::set<ValueId> apart;
    const Region &body = graph_.regions[r];
    for (const Region::Slice &s : body.stashed)
      apart.insert(deps_.root[s.inside]);
    for (const Region::Slice &s : body.unstashed)
      apart.insert(deps_.root[s.inside]);
    Alive alive;
    for (const Region::Carried &c : body.carried)
      if (mine(deps_.root[c.argument], r, apart))
        alive.touch(deps_.root[c.argument], 0, 1);
    for (const Slot &slot : schedule_.regions[r].slots)
      touch(slot, r, apart, alive);
    for (const Region::Carried &c : body.carried)
      if (mine(deps_.root[c.yielded], r, apart))
        alive.touch(deps_.root[c.yielded], schedule_.regions[r].length.value, schedule_.regions[r].length.value);
    return alive.peak(graph_);
  }
  bool mine(ValueId root, RegionId r, const std::set<ValueId> &apart) const {
    return graph_.values[root].region == r && layers::counts(graph_.values[root]) && !apart.count(root);
  }
  void touch(const Slot &slot, RegionId r, const std::set<ValueId> &apart, Alive &alive) const {
    const Operation &op = operation(slot.operation);
    int64_t from = slot.start.value, to = from + slot.duration.value;
    auto one = [&](ValueId v) {
      if (ValueId root = deps_.root[v]; mine(root, r, apart))
        alive.touch(root, from, to);
    };
    for (ValueId v : op.operands)
      one(v);
    for (ValueId v : deps_.uses[slot.operation])
      one(v);
    for (ValueId v : op.results)
      one(v);
    if (op.body != kNone)
      alive.add(workspace(op.body), from, to);
  }

  /// What losses over classes read.
  void logits() {
    for (OperationId id : graph_.regions[kMicrobatchRegion].operations) {
      const Operation &op = operation(id);
      if ((op.kind == "cross_entropy" || op.kind == "cross_entropy_stats") && !op.operands.empty())
        uses_[classOf_.at(id)].logits =
            sum(uses_[classOf_.at(id)].logits, graph_.values[deps_.root[op.operands.front()]].bytes);
    }
  }

  void memory() {
    // Who reads each value in the backward pass.
    std::map<ValueId, std::set<uint32_t>> readers;
    std::map<ValueId, uint32_t> madeIn, firstRead;
    for (OperationId id : graph_.regions[kMicrobatchRegion].operations) {
      uint32_t cls = classOf_.at(id);
      for (ValueId v : deps_.uses[id]) {
        ValueId root = deps_.root[v];
        if (backward_.at(id))
          readers[root].insert(cls);
        else
          firstRead.emplace(root, cls);
      }
      if (!backward_.at(id))
        for (ValueId v : operation(id).results)
          madeIn.emplace(deps_.root[v], cls);
    }
    std::set<ValueId> activations;
    auto keep = [&](ValueId root, uint32_t cls) {
      if (layers::counts(graph_.values[root]) && activations.insert(root).second)
        uses_[cls].activations = sum(uses_[cls].activations, graph_.values[root].bytes);
    };
    for (auto &[root, cls] : firstRead) // inputs are there from the start
      if (!madeIn.count(root))
        keep(root, cls);
    for (auto &[root, by] : readers) {
      auto made = madeIn.find(root);
      if (made == madeIn.end())
        continue;
      uint32_t cls = made->second;
      bool iterated = layering_.classes[cls].iterated;
      if (iterated && graph_.values[root].slices > 1)
        activations.insert(root); // below, by iteration
      else
        keep(root, by.count(cls) && !iterated ? cls : *by.begin());
    }
    std::map<std::pair<uint32_t, bool>, Alive> alive;
    for (const Slot &slot : schedule_.regions[kMicrobatchRegion].slots) {
      uint32_t cls = classOf_.at(slot.operation);
      const Operation &op = operation(slot.operation);
      if (!layering_.classes[cls].iterated) {
        touch(slot, kMicrobatchRegion, activations, alive[{cls, backward_.at(slot.operation)}]);
        continue;
      }
      if (op.body == kNone)
        continue;
      if (!backward_.at(slot.operation))
        for (ValueId root : layers::stashed(graph_, deps_, op.body))
          if (graph_.values[root].region == op.body && layers::counts(graph_.values[root]))
            uses_[cls].activations = sum(uses_[cls].activations, graph_.values[root].bytes);
      uses_[cls].workspace = std::max(uses_[cls].workspace, workspace(op.body));
    }
    for (auto &[key, one] : alive)
      uses_[key.first].workspace = std::max(uses_[key.first].workspace, one.peak(graph_));
  }

  const Layering &layering_;
  const WorkGraph &graph_;
  const Costs &costs_;
  const Schedule &schedule_;
  const std::vector<double> *fitted_;
  Dependences deps_;
  std::vector<LayerUse> uses_;
  std::vector<LayerUse> copies_; ///< by class: of `LayerUse::Copy`
  std::map<OperationId, uint32_t> classOf_;
  std::map<OperationId, bool> backward_;
};

} // namespace

LayerUse withoutCopy(LayerUse use) {
  const LayerUse::Copy copy = std::exchange(use.copy, {});
  auto less = [](int64_t &whole, int64_t part) { whole = std::max<int64_t>(0, whole - part); };
  less(use.weights, copy.weights), less(use.gradients, copy.gradients), less(use.states, copy.states);
  less(use.quantized, copy.quantized), less(use.rows, copy.rows), less(use.update, copy.update);
  use.updateJoules = std::max(0.0, use.updateJoules - copy.updateJoules);
  use.tied = 0; // nobody to add it up with
  return use;
}

std::vector<LayerUse> layerUses(const Layering &layering, const WorkGraph &graph, const Costs &costs,
                                const Schedule &schedule, const std::vector<double> *times) {
  return LayerMeasurer(layering, graph, costs, schedule, times).run();
}

std::vector<SharedParameter> sharedParameters(const Layering &layering, const WorkGraph &graph) {
  std::vector<SharedParameter> shared;
  for (const StaticTensor &r : graph.staticTensors)
    if (r.category == Category::Weights && !r.quantized)
      if (auto owners = layers::ownersOf(layering, graph, r.name); owners.size() > 1)
        shared.push_back({r.name, std::move(owners)});
  return shared;
}

int64_t ringOverlapTime(const WorkGraph &graph, const Dependences &deps, const Schedule &schedule, RegionId region) {
  std::map<OperationId, int64_t> takes;
  int64_t onCores = 0;
  for (const Slot &slot : schedule.regions[region].slots) {
    takes[slot.operation] = slot.duration.value;
    if (!graph.operations[slot.operation].communication)
      onCores += slot.duration.value;
  }
  std::set<OperationId> used;
  int64_t overlap = 0;
  for (const Slot &slot : schedule.regions[region].slots) {
    const Operation &op = graph.operations[slot.operation];
    if (!op.communication || op.communication->axis != "tensor" || op.communication->devices < 2)
      continue;
    // The longest product next to it that hides nothing yet; views in between take no time.
    OperationId best = kNone;
    for (const auto *next : {&deps.predecessors, &deps.successors}) {
      std::vector<OperationId> near = (*next)[slot.operation];
      for (size_t at = 0; at < near.size() && at < 64; ++at) {
        const Operation &other = graph.operations[near[at]];
        if (other.contraction) {
          if (!used.count(near[at]) && (best == kNone || takes[near[at]] > takes[best]))
            best = near[at];
        } else if (other.core == CoreKind::None && other.body == kNone) {
          std::vector<OperationId> further = (*next)[near[at]];
          near.insert(near.end(), further.begin(), further.end());
        }
      }
    }
    if (best == kNone)
      continue;
    used.insert(best);
    int64_t t = op.communication->devices;
    overlap += std::min(takes[best], slot.duration.value) / t * (t - 1);
  }
  return std::clamp<int64_t>(schedule.regions[region].length.value - onCores, 0, overlap);
}

/// Bytes that are alive at some time in every schedule of a body, besides its stashes and what comes from outside:
/// while an operation runs, what it touches, and what is touched both before it and behind it by way of dependences.
static int64_t minWorkspace(const WorkGraph &graph, const Dependences &deps, RegionId r) {
  constexpr size_t kMaxOperations = 4096; // pairs of them are looked at
  const Region &body = graph.regions[r];
  const std::vector<OperationId> &all = body.operations;
  size_t size = all.size();
  if (size == 0 || size > kMaxOperations)
    return 0;
  std::set<ValueId> apart;
  for (const auto *slices : {&body.stashed, &body.unstashed})
    for (const Region::Slice &slice : *slices)
      apart.insert(deps.root[slice.inside]);
  using Set = std::vector<bool>; // of positions
  std::map<OperationId, size_t> place;
  for (size_t i = 0; i < size; ++i)
    place[all[i]] = i;
  auto add = [](Set &to, const Set &from) {
    for (size_t i = 0; i < to.size(); ++i)
      to[i] = to[i] || from[i];
  };
  std::vector<Set> before(size, Set(size)), behind(size, Set(size)); // and itself
  for (size_t i = 0; i < size; ++i) {
    before[i][i] = true;
    for (OperationId id : deps.predecessors[all[i]])
      if (auto found = place.find(id); found != place.end() && found->second < i)
        add(before[i], before[found->second]);
  }
  for (size_t i = 0; i < size; ++i)
    for (size_t j = 0; j <= i; ++j)
      behind[j][i] = before[i][j];

  std::map<ValueId, std::set<size_t>> touched; // by whom
  std::vector<int64_t> bytes(size);
  auto isMine = [&](ValueId root) {
    return graph.values[root].region == r && layers::counts(graph.values[root]) && !apart.count(root);
  };
  for (size_t i = 0; i < size; ++i) {
    const Operation &op = graph.operations[all[i]];
    for (const auto *values : {&op.operands, &deps.uses[all[i]], &op.results})
      for (ValueId value : *values)
        if (ValueId root = deps.root[value]; isMine(root))
          touched[root].insert(i);
    if (op.body != kNone)
      bytes[i] = minWorkspace(graph, deps, op.body);
  }
  std::set<ValueId> first, last; // there from the beginning, and until the end
  for (const Region::Carried &one : body.carried)
    first.insert(deps.root[one.argument]), last.insert(deps.root[one.yielded]);
  for (const auto &[root, by] : touched) {
    Set from(size, first.count(root) != 0), until(size, last.count(root) != 0);
    for (size_t i : by)
      add(from, behind[i]), add(until, before[i]);
    for (size_t i = 0; i < size; ++i)
      if (from[i] && until[i])
        bytes[i] = sum(bytes[i], graph.values[root].bytes);
  }
  return *std::max_element(bytes.begin(), bytes.end());
}

MinLayerUse::MinLayerUse(const Layering &layering, const WorkGraph &graph) : bytes_(layering.classes.size()) {
  for (const Layering::Class &one : layering.classes)
    counts_.push_back(one.count);
  Dependences deps = Dependences::of(graph);
  const std::vector<OperationId> &all = graph.regions[kMicrobatchRegion].operations;
  std::vector<layers::Part> parts = layers::partsOf(layering, graph, deps);
  for (size_t i = 0; i < all.size(); ++i) {
    const auto &[cls, backward] = parts[i];
    shares_.push_back({cls, backward ? &LayerUse::backward : &LayerUse::forward});
    const Operation &op = graph.operations[all[i]];
    if (op.body == kNone || !layering.classes[cls].iterated)
      continue;
    bytes_[cls].workspace = std::max(bytes_[cls].workspace, minWorkspace(graph, deps, op.body));
    if (backward)
      continue;
    for (ValueId root : layers::stashed(graph, deps, op.body))
      if (graph.values[root].region == op.body && layers::counts(graph.values[root]))
        bytes_[cls].activations += graph.values[root].bytes;
  }
  for (OperationId id : graph.regions[kUpdateRegion].operations) {
    const std::string &name = graph.operations[id].name;
    std::vector<uint32_t> owners = layers::ownersOf(layering, graph, name.substr(0, name.rfind(".update")));
    // Replicas exchange gradients elsewhere.
    shares_.push_back({owners.front(), graph.operations[id].communication ? nullptr : &LayerUse::update});
  }
  for (const StaticTensor &resident : graph.staticTensors) {
    uint32_t owner = layers::ownersOf(layering, graph, resident.name).front();
    int64_t share = resident.bytes / layering.classes[owner].count;
    LayerUse &use = bytes_[owner];
    layers::bytesOf(resident, use) += share;
  }
}

std::vector<LayerUse> MinLayerUse::of(const std::vector<double> &seconds) const {
  std::vector<std::array<double, 3>> sums(bytes_.size()); // forward, backward, update
  for (size_t i = 0; i < shares_.size(); ++i)
    if (auto into = shares_[i].into)
      sums[shares_[i].cls][into == &LayerUse::forward ? 0 : into == &LayerUse::backward ? 1 : 2] += seconds[i];
  std::vector<LayerUse> uses = bytes_;
  auto picoseconds = [](double time) { return static_cast<int64_t>(std::floor(std::min(time * 1e12, 0x1p61))); };
  for (size_t c = 0; c < uses.size(); ++c) {
    uses[c].forward = picoseconds(sums[c][0] / counts_[c]);
    uses[c].backward = picoseconds(sums[c][1] / counts_[c]);
    uses[c].update = picoseconds(sums[c][2] / counts_[c]);
  }
  return uses;
}

} // namespace accord
