#include "lib/mine/StepWork.h"
#include "lib/cost/Estimate.h"
#include "lib/mine/StepCores.h"
#include "lib/model/Dependences.h"
#include <algorithm>
#include <cmath>

namespace accord {
namespace {

/// Sums in another order than the scheduler's differ in their last digits.
constexpr double kRounded = 1 - 1e-9;
/// The share of a memory's bandwidth that an operation holds is rounded down to such parts.
constexpr double kShare = 1e-9;
/// Work of this much is more than a picosecond after rounding, so that the scheduler sees it.
constexpr double kSeen = 2e-12;

/// One operation of a region, as its class.
struct Item {
  uint32_t price = 0; ///< class
  RegionId body = kNone;
  std::vector<uint32_t> before; ///< positions in the region
};

struct Part {
  RegionId region;
  double count = 1;
  std::vector<Item> items;
};

/// What a class takes on a machine at least.
struct Price {
  double time = 0;
  int core = -1;      ///< the only one it may run on
  uint64_t holds = 0; ///< by core: a fused operation has all of its instances
  double work = 0;    ///< of `core`, as seconds of all its instances
  double ofKind = 0;  ///< of all cores of a kind
  uint64_t fills = 0; ///< by memory: takes all of its bandwidth, on this very machine
  int kind = -1;      ///< 0: tensor, 1: vector
};

/// All that one core or memory does in a region.
struct Load {
  double sum = 0, head = std::numeric_limits<double>::infinity(), tail = head;
  bool seen = false;
  void add(double work, double before, double after, bool isSeen) {
    if (!(work > 0))
      return;
    sum += work;
    head = std::min(head, before), tail = std::min(tail, after);
    seen |= isSeen;
  }
  double length(double whole = 1) const { return sum > 0 ? head + sum * whole + tail : 0; }
};

struct Scratch {
  std::vector<Price> prices;
  std::vector<double> transfers;            ///< by class and memory
  std::vector<Load> loads;                  ///< of one region
  std::vector<std::vector<char>> uses;      ///< by region: cores and memories that it uses surely
  std::vector<std::array<double, 2>> kinds; ///< by region: work of tensor, vector cores
  std::vector<double> lengths, times, heads, tails;
};

} // namespace

struct StepWork::Data {
  WorkGraph graph;
  StepCores cores;                ///< with the shapes
  std::vector<Part> parts;        ///< bodies first; the micro-batch and the update are the last two
  std::vector<double> executions; ///< by class, in a step

  double priced(const Machine &machine, const StepBoundOptions &options) const;
  double length(const Part &part, const Machine &machine, Scratch &scratch) const;
  double together(const Part &part, const Machine &machine, size_t core, size_t memory,
                  const Scratch &scratch) const;
};

StepWork::StepWork(WorkGraph graph) : data_(std::make_unique<Data>()) {
  Dependences deps = Dependences::of(graph);
  StepShapes shapes = StepShapes::of(graph);
  data_->executions.resize(shapes.classes.size());
  for (OperationId id = 0; id < graph.operations.size(); ++id)
    data_->executions[shapes.classOf[id]] += static_cast<double>(graph.executions(id));
  auto visit = [&](auto &&self, RegionId r) -> void {
    Part part{r, static_cast<double>(graph.regions[r].count), {}};
    std::map<OperationId, uint32_t> place;
    for (OperationId id : graph.regions[r].operations) {
      if (graph.operations[id].body != kNone)
        self(self, graph.operations[id].body);
      Item item{shapes.classOf[id], graph.operations[id].body, {}};
      for (OperationId before : deps.predecessors[id])
        if (auto found = place.find(before); found != place.end())
          item.before.push_back(found->second);
      place[id] = static_cast<uint32_t>(part.items.size());
      part.items.push_back(std::move(item));
    }
    data_->parts.push_back(std::move(part));
  };
  visit(visit, kMicrobatchRegion);
  visit(visit, kUpdateRegion);
  data_->cores.shapes = std::move(shapes);
  data_->graph = std::move(graph);
}

StepWork::StepWork(StepWork &&) noexcept = default;
StepWork::~StepWork() = default;
const WorkGraph &StepWork::graph() const { return data_->graph; }

double StepWork::bound(const Machine &machine, bool exact) const {
  StepBoundOptions options;
  options.exact = exact;
  return data_->priced(machine, options);
}
double StepWork::bound(const Machine &machine, const StepBoundOptions &options) const {
  return data_->priced(machine, options);
}

namespace {

struct Link {
  double latency = 0, perByte = 0; ///< seconds; 0 where no bandwidth is known
  bool adds = false;               ///< to the time of what is nearer: that memory is filled before
};

/// As `roofline`: from the core outwards.
double joined(double compute, const double *transfers, size_t levels,
              const std::vector<Link> &links, double floor) {
  double time = compute;
  for (size_t i = levels; i-- > 0;)
    if (i + 1 < levels && links[i].adds)
      time += transfers[i];
    else
      time = std::max(time, transfers[i]);
  return time > 0 ? std::max(time, floor) : 0;
}

} // namespace

double StepWork::Data::priced(const Machine &machine, const StepBoundOptions &options) const {
  static thread_local Scratch scratch;
  static thread_local StepCores::View view;
  static thread_local std::vector<Link> links;
  using Left = StepBoundOptions::Left;
  cores.look(machine, options, view);
  size_t memories = machine.memories.size();
  links.assign(memories, {});
  for (size_t m = 0; m < memories; ++m) {
    const Memory &memory = machine.memories[m];
    double rate = memory.bandwidth.value * memory.efficiency;
    bool left = m < options.memories.size() && options.memories[m] == Left::Time;
    if (rate > 0 && !left)
      links[m] = {std::max(memory.latency.value, 0.0), 1 / rate, false};
    links[m].adds = m + 1 < memories && !overlapsTransfers(machine.memories[m + 1]);
  }
  auto left = [&](int core, Left what) {
    return static_cast<size_t>(core) < options.cores.size() &&
           options.cores[static_cast<size_t>(core)] == what;
  };
  bool exact = options.exact && options.sameArrays.empty() && options.cores.empty() &&
               options.memories.empty();
  // Where time and bytes are not bounds but those of `estimate`.
  auto fill = [&](const StepClass &what, Price &price, const double *transfers, size_t levels) {
    for (size_t m = 0; m < std::min<size_t>(levels, 64); ++m)
      if (!what.mapped && !what.lookup && transfers[m] >= price.time && price.time > 1e-9)
        price.fills |= uint64_t{1} << m;
  };
  const StepShapes &shapes = cores.shapes;
  scratch.prices.assign(shapes.classes.size(), {});
  scratch.transfers.assign(shapes.classes.size() * memories, 0);
  for (size_t c = 0; c < shapes.classes.size(); ++c) {
    const StepClass &what = shapes.classes[c];
    Price &price = scratch.prices[c];
    if (what.kind == StepClass::Kind::Free)
      continue;
    double *transfers = scratch.transfers.data() + c * memories;
    if (what.kind == StepClass::Kind::Given) {
      price.time = what.seconds;
      price.core = cores.ofProducts(machine);
      if (price.core >= 0 && (left(price.core, Left::Time) || left(price.core, Left::Queue)))
        price.core = -1;
      if (price.core >= 0) {
        const Core &core = machine.cores[static_cast<size_t>(price.core)];
        price.work = core.oneEach && !core.either ? what.seconds / static_cast<double>(core.count)
                                                  : what.seconds;
      }
      continue;
    }
    const StepCores::Choice &choice = view.choices[what.want];
    if (choice.cores.empty() || choice.unknown)
      continue;
    size_t levels = memories;
    for (int core : choice.cores)
      levels = std::min(levels, levelsOf(machine, machine.cores[static_cast<size_t>(core)]));
    int only = choice.cores.size() == 1 ? choice.cores[0] : -1;
    double feed = 0;
    if (what.mapped && only >= 0 && levels >= 2) {
      feed = (*view.times[static_cast<size_t>(only)])[what.shape].feed;
      for (size_t m = 1; m < levels; ++m)
        feed = machine.memories[m].capacity.value > 0 ? feed : 0;
    }
    for (size_t m = 0; m < levels; ++m)
      if (double bytes = m + 1 == levels ? std::max(feed, what.bytes) : what.bytes; bytes > 0)
        transfers[m] = links[m].latency + bytes * links[m].perByte;
    double floor = machine.host.kernel.value;
    if (what.kind == StepClass::Kind::Fused) {
      double most = 0;
      bool sure = true; // of its time
      view.sums.assign(machine.cores.size(), 0);
      for (uint32_t shape : what.parts) {
        const StepCores::Choice &of = view.choices[shapes.shapes[shape].want];
        double least = std::numeric_limits<double>::infinity();
        for (int core : of.cores) {
          const Core &on = machine.cores[static_cast<size_t>(core)];
          const ShapeTime &time = (*view.times[static_cast<size_t>(core)])[shape];
          least = std::min(least, left(core, Left::Time)     ? 0
                                  : on.oneEach && !on.either ? time.single
                                                             : time.spread);
        }
        sure &= of.cores.size() == 1;
        if (of.cores.empty() || of.unknown || !std::isfinite(least))
          continue;
        most = std::max(most, least);
        if (of.cores.size() == 1) {
          auto core = static_cast<size_t>(of.cores[0]);
          most = std::max(most, view.sums[core] += least);
          if (least > 0 && core < 64 && !left(of.cores[0], Left::Queue))
            price.holds |= uint64_t{1} << core;
        }
      }
      price.time = joined(most, transfers, levels, links, floor);
      if (sure && exact && only >= 0)
        fill(what, price, transfers, levels);
      if (only >= 0 && only < 64 && !left(only, Left::Time) && !left(only, Left::Queue))
        price.holds |= uint64_t{1} << only;
      continue;
    }
    price.time = price.ofKind = std::numeric_limits<double>::infinity();
    for (int index : choice.cores) {
      const Core &core = machine.cores[static_cast<size_t>(index)];
      const ShapeTime &time = (*view.times[static_cast<size_t>(index)])[what.shape];
      bool none = left(index, Left::Time);
      auto in = [&](double compute) {
        return joined(none ? 0 : compute, transfers, levels, links, floor);
      };
      double count = static_cast<double>(core.count), took = 0, work = 0;
      if (core.either || !core.oneEach)
        took = work = in(time.spread);
      if (core.either || core.oneEach) {
        double single = in(time.single);
        took = core.oneEach && !core.either ? single : std::min(took, single);
        work = core.oneEach && !core.either ? single / count : std::min(work, single / count);
      }
      price.time = std::min(price.time, took);
      price.ofKind = std::min(price.ofKind, work);
    }
    if (!std::isfinite(price.time)) { // has no cost, and so no step
      price.time = price.ofKind = 0;
      continue;
    }
    price.core = only, price.work = price.ofKind;
    price.kind =
        machine.cores[static_cast<size_t>(choice.cores[0])].kind == CoreKind::Tensor ? 0 : 1;
    if (exact && only >= 0 && !machine.cores[static_cast<size_t>(only)].either)
      fill(what, price, transfers, levels);
    for (int core : choice.cores) // as if there were no queue at any of its kind
      if (left(core, Left::Time) || left(core, Left::Queue))
        price.core = -1, price.ofKind = 0;
  }
  scratch.lengths.assign(graph.regions.size(), 0);
  scratch.uses.resize(graph.regions.size());
  scratch.kinds.assign(graph.regions.size(), {});
  for (const Part &part : parts)
    scratch.lengths[part.region] = length(part, machine, scratch);
  double micro = scratch.lengths[kMicrobatchRegion] + machine.host.microbatch.value,
         update = scratch.lengths[kUpdateRegion] + machine.host.step.value;
  return (static_cast<double>(graph.microbatches) * micro + update) * kRounded;
}

double StepWork::Data::length(const Part &part, const Machine &machine, Scratch &s) const {
  size_t size = part.items.size(), memories = machine.memories.size(),
         nCores = machine.cores.size();
  s.times.assign(size, 0), s.heads.assign(size, 0), s.tails.assign(size, 0);
  double chain = 0;
  for (size_t i = 0; i < size; ++i) {
    const Item &item = part.items[i];
    s.times[i] = item.body == kNone
                     ? s.prices[item.price].time
                     : static_cast<double>(graph.regions[item.body].count) * s.lengths[item.body];
    double head = 0;
    for (uint32_t before : item.before)
      head = std::max(head, s.heads[before] + s.times[before]);
    s.heads[i] = head;
    chain = std::max(chain, head + s.times[i]);
  }
  for (size_t i = size; i-- > 0;)
    for (uint32_t before : part.items[i].before)
      s.tails[before] = std::max(s.tails[before], s.tails[i] + s.times[i]);

  s.loads.assign(nCores + memories, {});
  std::array<double, 2> &kinds = s.kinds[part.region];
  for (size_t i = 0; i < size; ++i) {
    const Item &item = part.items[i];
    double head = s.heads[i], tail = s.tails[i];
    if (item.body != kNone) {
      for (size_t r = 0; r < s.loads.size(); ++r)
        if (s.uses[item.body][r])
          s.loads[r].add(s.times[i], head, tail, true);
      for (size_t k = 0; k < 2; ++k)
        kinds[k] += static_cast<double>(graph.regions[item.body].count) * s.kinds[item.body][k];
      continue;
    }
    const Price &price = s.prices[item.price];
    if (price.core >= 0)
      s.loads[static_cast<size_t>(price.core)].add(price.work, head, tail, price.work >= kSeen);
    if (price.kind >= 0)
      kinds[static_cast<size_t>(price.kind)] += price.ofKind;
    for (uint64_t rest = price.holds; rest; rest &= rest - 1)
      s.loads[static_cast<size_t>(__builtin_ctzll(rest))].add(price.time, head, tail,
                                                              price.time >= kSeen);
    const double *transfers = s.transfers.data() + item.price * memories;
    for (size_t m = 0; m < memories; ++m)
      s.loads[nCores + m].add(transfers[m], head, tail, transfers[m] >= kSeen);
  }
  double whole = 1 - std::min(1.0, kShare * static_cast<double>(size)), longest = chain;
  std::vector<char> &uses = s.uses[part.region];
  uses.assign(s.loads.size(), 0);
  for (size_t r = 0; r < s.loads.size(); ++r) {
    longest = std::max(longest, s.loads[r].length(r < nCores ? 1 : whole));
    uses[r] = s.loads[r].seen;
  }
  for (size_t c = 0; c < nCores; ++c)
    for (size_t m = 0; m < memories; ++m)
      longest = std::max(longest, together(part, machine, c, m, s));
  std::array<double, 2> of = {0, 0};
  for (const Core &core : machine.cores)
    of[0] += core.kind == CoreKind::Tensor, of[1] += core.kind == CoreKind::Vector;
  for (size_t k = 0; k < 2; ++k)
    if (of[k] > 0)
      longest = std::max(longest, kinds[k] / of[k]);
  return longest;
}

/// What runs on the whole of a core and moves bytes of a memory excludes what takes all of that
/// memory's bandwidth: neither runs while the other does, nor while a repeat that uses the memory.
double StepWork::Data::together(const Part &part, const Machine &machine, size_t core,
                                size_t memory, const Scratch &s) const {
  if (operationsAtOnce(machine.cores[core]) > 1 || memory >= 64)
    return 0;
  size_t memories = machine.memories.size();
  Load load;
  double slack = 0, least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < part.items.size(); ++i) {
    const Item &item = part.items[i];
    double time = s.times[i];
    if (item.body != kNone) {
      if (s.uses[item.body][machine.cores.size() + memory])
        load.add(time, s.heads[i], s.tails[i], true);
      continue;
    }
    const Price &price = s.prices[item.price];
    double moved = s.transfers[item.price * memories + memory];
    if (price.fills >> memory & 1) {
      slack = std::max(slack, 2e-12 / time + 2 * kShare); // its share after rounding
    } else if (price.core == static_cast<int>(core) || price.holds >> core & 1) {
      if (!(moved > time * 1e-4))
        continue;
      least = std::min(least, moved);
    } else {
      continue;
    }
    load.add(time, s.heads[i], s.tails[i], true);
  }
  // An operation that takes so long that its share is lost in rounding is longer than this.
  return slack > 0 ? std::min(load.length(), least / slack) : 0;
}

double StepWork::leastJoules(const Machine &machine, double step) const {
  static thread_local StepCores::View view;
  data_->cores.choose(machine, view);
  double joules = machine.idle.value * step;
  const StepShapes &shapes = data_->cores.shapes;
  for (size_t c = 0; c < shapes.classes.size(); ++c) {
    const StepClass &what = shapes.classes[c];
    if (what.kind != StepClass::Kind::Whole && what.kind != StepClass::Kind::Fused)
      continue;
    const StepCores::Choice &choice = view.choices[what.want];
    if (choice.cores.empty() || choice.unknown)
      continue;
    double one = what.flops * energyPerFlop(machine, choice.type).value;
    size_t levels = machine.memories.size();
    for (int core : choice.cores)
      levels = std::min(levels, levelsOf(machine, machine.cores[static_cast<size_t>(core)]));
    for (size_t m = 0; m < levels; ++m)
      one += what.bytes * machine.memories[m].energy.value;
    joules += one * data_->executions[c];
  }
  return joules * kRounded;
}

} // namespace accord
