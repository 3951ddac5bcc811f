#include "lib/exploration/verify/StepLowerBound.h"
#include "lib/machine/model/Dependences.h"
#include <algorithm>
#include <fmt/format.h>
#include <queue>
#include <set>

namespace accord {
namespace {

/// Sums in another order differ in their last digits.
constexpr double kRounded = 1 - 1e-9;

std::string keyOf(const std::vector<Loop> &domain, const std::vector<LoopTensor> &tensors) {
  std::string key;
  for (const Loop &loop : domain)
    key += fmt::format("{}{} ", loop.extent, loop.kind == IteratorKind::Parallel ? "p" : "r");
  for (const LoopTensor &tensor : tensors) {
    key += fmt::format("[{}{}", tensor.elementBits, tensor.written ? "w" : "");
    for (const auto &position : tensor.dimensions) {
      key += ",";
      for (const LoopTensor::Term &term : position)
        key += fmt::format("{}*{}+", term.loop, term.stride);
    }
    for (int64_t size : tensor.sizes) // programs follow from these
      key += fmt::format(";{}", size);
  }
  return key;
}

BoundedPart partOf(const std::string &kind, CoreKind core, const std::string &type, int64_t flops, bool contraction,
                   const std::vector<Loop> &domain, const std::vector<LoopTensor> &tensors) {
  BoundedPart part;
  part.kind = kind, part.core = core, part.type = type;
  part.flops = flops;
  part.contraction = contraction, part.empty = domain.empty();
  for (const Loop &loop : domain)
    (loop.kind == IteratorKind::Reduction ? part.length : part.rows) *= std::max<int64_t>(loop.extent, 1);
  if (contraction && !domain.empty())
    part.product = extentsOf(domain, tensors);
  return part;
}

/// Bytes of a tensor of which each element is at a place of its loops' own.
double bytesOf(const Operation &op, size_t tensor) {
  double elements = 1;
  for (const auto &position : op.tensors[tensor].dimensions) {
    double reached = 1;
    for (const LoopTensor::Term &term : position)
      reached += std::abs(static_cast<double>(term.stride)) * (static_cast<double>(op.domain[term.loop].extent) - 1);
    elements *= reached;
  }
  return elements * static_cast<double>(op.tensors[tensor].elementBits) / 8;
}

/// Shares of a bandwidth are rounded to such parts.
constexpr double kShare = 1e-9;
/// A share that cannot be lost in the rounding of one beside it that takes 100 ns or more.
constexpr double kSeen = 1e-4, kLong = 1e-7;
/// Seconds of an iteration beyond which something is used, however times are rounded.
constexpr double kUsed = 2e-12;
/// Longer than any step.
constexpr double kEndless = 1e300;
/// Of looking again with fewer forms, at most.
constexpr unsigned kRounds = 6;
/// Times that are tried for a repeat alone.
constexpr unsigned kTrials = 12;
/// More operations are not looked at closely.
constexpr size_t kMaxSubsets = 5000;

/// Work of one after the other, each with what is before it and behind it at least.
class Load {
public:
  /// `listed`: for `subset`.
  void add(double work, double before, double behind, bool listed = true) {
    if (!(work > 0))
      return;
    sum_ += work, head_ = std::min(head_, before), tail_ = std::min(tail_, behind);
    if (listed)
      all_.push_back({before, work, behind});
  }
  /// Least head + all work + least tail.
  double length() const { return sum_ > 0 ? head_ + sum_ + tail_ : 0; }
  /// The most of that over all subsets: what comes first is what has most behind it, whenever that
  /// is there (Jackson's preemptive schedule; Carlier 1982, proposition 1 and section 3).
  double subset() {
    std::sort(all_.begin(), all_.end(), [](const One &a, const One &b) { return a.head < b.head; });
    auto behind = [](const One &a, const One &b) { return a.tail < b.tail; };
    std::priority_queue<One, std::vector<One>, decltype(behind)> there(behind);
    double now = 0, max = 0;
    for (size_t next = 0; next < all_.size() || !there.empty();) {
      if (there.empty())
        now = std::max(now, all_[next].head);
      for (; next < all_.size() && all_[next].head <= now; ++next)
        there.push(all_[next]);
      One one = there.top();
      there.pop();
      double until = next < all_.size() ? all_[next].head : INFINITY;
      if (now + one.work > until) { // another one comes meanwhile
        one.work -= until - now, now = until;
        there.push(one);
      } else {
        now += one.work;
        max = std::max(max, now + one.tail);
      }
    }
    return max;
  }

private:
  struct One {
    double head, work, tail;
  };
  std::vector<One> all_;
  double sum_ = 0, head_ = INFINITY, tail_ = INFINITY;
};

/// Least of the forms that are left.
template <typename Forms, typename Of> double minOf(const Forms &alternatives, uint32_t left, Of of) {
  double min = INFINITY;
  for (size_t f = 0; f < alternatives.size(); ++f)
    if (left >> f & 1)
      min = std::min(min, of(alternatives[f]));
  return min;
}

} // namespace

StepLowerBound::StepLowerBound(const WorkGraph &graph, OperationPrograms programs, const StepZeroShares &zeros)
    : graph_(graph), programs_(std::move(programs)) {
  Dependences deps = Dependences::of(graph_);
  std::map<std::string, uint32_t> known;
  regions_.resize(graph_.regions.size()), sums_.resize(graph_.regions.size()), found_.resize(graph_.regions.size());
  for (RegionId r = 0; r < graph_.regions.size(); ++r) {
    std::map<OperationId, uint32_t> place;
    for (OperationId id : graph_.regions[r].operations) {
      const Operation &op = graph_.operations[id];
      Kind kind;
      kind.free = op.body != kNone || op.core == CoreKind::Network || (op.core == CoreKind::None && !op.givenSeconds);
      kind.given = op.givenSeconds;
      kind.bytes = static_cast<double>(op.bytesRead) + op.bytesWritten;
      kind.flops = op.flops;
      kind.fused = !op.parts.empty();
      kind.main = partOf(op.kind, op.core, op.type, op.flops, op.contraction, op.domain, op.tensors);
      std::string key = kind.free ? "free"
                                  : fmt::format("{} {} {} {} {} {} {} {} {}", op.kind, name(op.core), op.type, op.flops,
                                                op.bytesRead, op.bytesWritten, op.contraction,
                                                op.givenSeconds ? fmt::format("{:a}", *op.givenSeconds) : "",
                                                keyOf(op.domain, op.tensors));
      for (const FusedPart &part : op.parts) {
        kind.parts.push_back(
            partOf(part.kind, part.core, part.type, part.flops, part.contraction, part.domain, part.tensors));
        key += fmt::format("| {} {} {} {} {} {}", part.kind, name(part.core), part.type, part.flops, part.contraction,
                           keyOf(part.domain, part.tensors));
      }
      if (op.parts.empty())
        kind.parts.push_back(kind.main);
      kind.mapped = op.parts.empty() && op.contraction && !op.tensors.empty() &&
                    std::all_of(op.domain.begin(), op.domain.end(), [](const Loop &loop) { return loop.extent > 0; });
      if (!zeros.empty() && zeros[id] != ZeroShares{} && !kind.free && op.parts.empty()) {
        const ZeroShares &left = zeros[id];
        kind.computeShare = std::min(1.0, left.compute), kind.activeShare = std::min(1.0, left.active),
        kind.bytesShare = left.bytes;
        if (left.stored < 1)
          kind.savedBytes = bytesOf(op, left.tensor) * (1 - left.stored);
        key += fmt::format("zeros {:a} {:a} {:a} {:a}", kind.computeShare, kind.activeShare, kind.bytesShare,
                           kind.savedBytes);
      }
      auto [found, isNew] = known.try_emplace(key, static_cast<uint32_t>(kinds_.size()));
      if (isNew) {
        firstPart_.push_back(static_cast<uint32_t>(allParts_));
        allParts_ += kind.parts.size();
        kind.first = id;
        kinds_.push_back(std::move(kind));
      }
      kinds_[found->second].executions += graph_.executions(id);
      Item item{found->second, id, op.body, {}};
      for (OperationId before : deps.predecessors[id])
        if (auto at = place.find(before); at != place.end())
          item.before.push_back(at->second);
      place[id] = static_cast<uint32_t>(regions_[r].size());
      regions_[r].push_back(std::move(item));
    }
  }
  bytes_ = minBytes();
}

double StepLowerBound::minBytes() const {
  double staticTensors = 0;
  for (const StaticTensor &resident : graph_.staticTensors)
    staticTensors += resident.bytes;
  const std::vector<Item> &items = regions_[kMicrobatchRegion];
  Dependences deps = Dependences::of(graph_);
  std::vector<std::vector<bool>> before(items.size(), std::vector<bool>(items.size()));
  std::map<OperationId, size_t> place;
  for (size_t i = 0; i < items.size(); ++i) {
    place[items[i].operation] = i;
    for (uint32_t other : items[i].before) {
      before[i][other] = true;
      for (size_t j = 0; j < other; ++j)
        if (before[other][j])
          before[i][j] = true;
    }
  }
  // Slices may share storage: what repeats stack or hand on is left out.
  std::set<ValueId> out;
  for (const Region &region : graph_.regions) {
    for (const Region::Carried &carried : region.carried)
      out.insert(carried.result);
    std::set<ValueId> inside;
    for (const Region::Slice &slice : region.stashed) {
      ValueId root = deps.root[slice.inside];
      bool made = deps.producer[root] != kNone && graph_.values[root].region == graph_.values[slice.inside].region;
      if (!made || !inside.insert(root).second)
        out.insert(slice.stacked);
    }
  }
  std::vector<double> alive(items.size());
  std::map<ValueId, std::vector<size_t>> readers;
  for (size_t i = 0; i < items.size(); ++i)
    for (ValueId used : deps.uses[items[i].operation])
      readers[deps.root[used]].push_back(i);
  for (size_t maker = 0; maker < items.size(); ++maker)
    for (ValueId made : graph_.operations[items[maker].operation].results) {
      const Value &value = graph_.values[made];
      bool resident = value.category == Category::Weights || value.category == Category::Gradients ||
                      value.category == Category::OptimizerStates;
      if (resident || deps.root[made] != made || out.count(made))
        continue;
      auto read = readers.find(made);
      for (size_t x = 0; x < items.size() && read != readers.end(); ++x) {
        bool there = before[x][maker] || (x == maker && value.slices <= 1);
        if (there &&
            std::any_of(read->second.begin(), read->second.end(), [&](size_t reader) { return before[reader][x]; }))
          alive[x] += value.bytes;
      }
    }
  return staticTensors + (alive.empty() ? 0 : *std::max_element(alive.begin(), alive.end()));
}

/// `below`: a length of this or more is as good as infinite.
double StepLowerBound::length(RegionId r, const Machine &machine, double below) {
  const std::vector<Item> &items = regions_[r];
  size_t size = items.size();
  Laid &at = found_[r];
  at.alternatives.assign(size, 0);
  for (size_t i = 0; i < size; ++i)
    if (items[i].body == kNone)
      at.alternatives[i] = static_cast<uint32_t>((uint64_t{1} << priceOf(items[i]).alternatives.size()) - 1);
    else // of all forms; closely where this is
      lengths_[items[i].body] = !std::isfinite(below) ? length(items[i].body, machine, INFINITY)
                                : byKind_             ? length(items[i].body, machine, kEndless)
                                                      : lengthAlone(items[i].body, machine);
  for (unsigned round = 0;; ++round) {
    double max = longest(r, machine, std::isfinite(below));
    if (max >= below || !std::isfinite(below) || round == kRounds)
      return max;
    bool less = false;
    for (size_t i = 0; i < size; ++i) {
      double room = (below - at.heads[i] - at.tails[i]) * (1 + 1e-12);
      if (items[i].body != kNone) {
        double count = graph_.regions[items[i].body].count;
        double &known = lengths_[items[i].body];
        double now = count > 0 ? length(items[i].body, machine, room / count) : 0;
        less |= now > known * (1 + 1e-9);
        known = std::max(known, now);
        continue;
      }
      const std::vector<Alternative> &alternatives = priceOf(items[i]).alternatives;
      for (size_t f = 0; f < alternatives.size(); ++f)
        if ((at.alternatives[i] >> f & 1) && alternatives[f].time > room)
          at.alternatives[i] &= ~(uint32_t{1} << f), less = true;
      if (!at.alternatives[i])
        return INFINITY;
    }
    if (!less)
      return max;
  }
}

double StepLowerBound::lengthAlone(RegionId body, const Machine &machine) {
  double low = length(body, machine, kEndless), high = 0;
  for (double time : found_[body].times)
    high += time;
  for (unsigned trial = 0; trial < kTrials && high > low * (1 + 1e-6); ++trial) {
    double until = trial == 0 ? high : (low + high) / 2, found = length(body, machine, until);
    low = std::max(low, std::min(found, until));
    if (found < until)
      high = until;
  }
  return low;
}

double StepLowerBound::longest(RegionId r, const Machine &machine, bool closely) {
  const std::vector<Item> &items = regions_[r];
  size_t size = items.size(), cores = machine.cores.size(), memories = machine.memories.size();
  Laid &at = found_[r];
  at.times.assign(size, 0), at.heads.assign(size, 0), at.tails.assign(size, 0);
  double longest = 0;
  for (size_t i = 0; i < size; ++i) {
    const Item &item = items[i];
    at.times[i] = item.body == kNone ? minOf(priceOf(item).alternatives, at.alternatives[i],
                                             [](const Alternative &f) { return f.time; })
                                     : graph_.regions[item.body].count * lengths_[item.body];
    for (uint32_t before : item.before)
      at.heads[i] = std::max(at.heads[i], at.heads[before] + at.times[before]);
    longest = std::max(longest, at.heads[i] + at.times[i]);
  }
  for (size_t i = size; i-- > 0;)
    for (uint32_t before : items[i].before)
      at.tails[before] = std::max(at.tails[before], at.tails[i] + at.times[i]);

  closely = closely && size <= kMaxSubsets;
  std::vector<Load> loads(cores + memories);
  std::vector<double> &sums = sums_[r];
  sums.assign(cores + memories, 0);
  double shared = 1 - std::min(1.0, kShare * size);
  for (size_t i = 0; i < size; ++i) {
    const Item &item = items[i];
    auto add = [&](size_t resource, double work) {
      loads[resource].add(work, at.heads[i], at.tails[i], closely);
      sums[resource] += work;
    };
    if (item.body != kNone) { // one unit, that holds all the while what its body uses
      for (size_t resource = 0; resource < loads.size(); ++resource)
        if (sums_[item.body][resource] > kUsed)
          add(resource, at.times[i]);
      continue;
    }
    const Price &price = priceOf(item);
    if (price.core >= 0)
      add(price.core, minOf(price.alternatives, at.alternatives[i], [](const Alternative &f) { return f.work; }));
    for (int core : price.holds)
      add(core, at.times[i]);
    for (size_t m = 0; m < memories; ++m)
      add(cores + m,
          shared * minOf(price.alternatives, at.alternatives[i], [m](const Alternative &f) { return f.transfers[m]; }));
  }
  for (Load &load : loads)
    longest = std::max(longest, closely ? load.subset() : load.length());
  for (size_t c = 0; c < cores && closely; ++c) {
    longest = std::max(longest, together(r, machine, c, -1));
    for (size_t m = 0; m < memories && !byKind_; ++m)
      for (bool byMemory : {false, true})
        longest = std::max(longest, together(r, machine, c, m, byMemory));
  }
  return longest;
}

double StepLowerBound::together(RegionId r, const Machine &machine, size_t core, int memory, bool byMemory) const {
  const std::vector<Item> &items = regions_[r];
  const Laid &at = found_[r];
  size_t size = items.size(), m = std::max(memory, 0);
  std::vector<double> min(size, 0);  // work in any form
  std::vector<char> choice(size, 0); // it depends on the form
  size_t held = memory < 0 ? core : machine.cores.size() + m;
  Load load;
  double work = 0, shared = 1 - std::min(1.0, kShare * size);
  for (size_t i = 0; i < size; ++i) {
    if (items[i].body != kNone) {
      if (sums_[items[i].body][held] > kUsed)
        min[i] = at.times[i];
    } else {
      const Price &price = priceOf(items[i]);
      bool fills = memory >= 0, uses = true;
      for (size_t f = 0; f < price.alternatives.size() && memory >= 0; ++f)
        if (const Alternative &alternative = price.alternatives[f]; at.alternatives[i] >> f & 1) {
          fills &= alternative.time > kLong && alternative.transfers[m] >= alternative.time;
          uses &= alternative.transfers[m] > kSeen * alternative.time;
        }
      fills |= uses && std::find(price.holds.begin(), price.holds.end(), static_cast<int>(core)) != price.holds.end();
      choice[i] = !fills && uses && price.core == static_cast<int>(core);
      if (fills)
        min[i] = at.times[i];
      else if (choice[i])
        min[i] = minOf(price.alternatives, at.alternatives[i], [&](const Alternative &f) {
          return !byMemory ? f.work : f.whole ? f.time : std::min(f.time, f.transfers[m] * shared);
        });
    }
    load.add(min[i], at.heads[i], at.tails[i]);
    work += min[i];
  }
  double longest = load.subset();
  if (byMemory)
    return longest;
  std::vector<double> ends(size);
  for (unsigned k = 1; k < kMeans; ++k) {
    double share = static_cast<double>(k) / kMeans, chain = 0;
    for (size_t i = 0; i < size; ++i) {
      double beyond = (1 - share) * at.times[i]; // of the mean beyond its share of the least work
      if (choice[i])
        beyond = minOf(priceOf(items[i]).alternatives, at.alternatives[i],
                       [share](const Alternative &f) { return (1 - share) * f.time + share * f.work; }) -
                 share * min[i];
      ends[i] = 0;
      for (uint32_t before : items[i].before)
        ends[i] = std::max(ends[i], ends[before]);
      ends[i] += std::max(0.0, beyond);
      chain = std::max(chain, ends[i]);
    }
    longest = std::max(longest, chain + share * work);
  }
  return longest;
}

double StepLowerBound::step(const Machine &machine, double below) {
  lengths_.assign(graph_.regions.size(), 0);
  double batches = graph_.microbatches, host = batches * machine.host.microbatch.value + machine.host.step.value,
         micro = length(kMicrobatchRegion, machine, INFINITY), update = length(kUpdateRegion, machine, INFINITY);
  auto sum = [&] { return (batches * micro + update + host) * kRounded; };
  if (sum() >= below || !std::isfinite(below))
    return sum();
  double max = below / kRounded - host;
  micro = std::max(micro, length(kMicrobatchRegion, machine, (max - update) / batches));
  update = std::max(update, length(kUpdateRegion, machine, max - batches * micro));
  return sum();
}

double StepLowerBound::seconds(const Machine &machine, const Costs *prices, double below) {
  if (prices) {
    price(machine, prices);
    return step(machine, below);
  }
  std::string key = timesKey(machine);
  key.append(reinterpret_cast<const char *>(&below), sizeof below);
  if (auto found = known_.find(key); found != known_.end())
    return found->second;
  price(machine);
  if (known_.size() >= kMaxKnown)
    known_.clear();
  return known_[std::move(key)] = step(machine, below);
}

void StepLowerBound::times(const Machine &machine, const Costs *costs, std::vector<double> &seconds) {
  price(machine, costs);
  lengths_.assign(graph_.regions.size(), 0);
  seconds.clear();
  for (RegionId region : {kMicrobatchRegion, kUpdateRegion}) {
    length(region, machine, INFINITY);
    for (double time : found_[region].times)
      seconds.push_back(time * kRounded);
  }
}

double StepLowerBound::joules(const Machine &machine, const Costs *prices, double step) {
  price(machine, prices);
  double sum = machine.idle.value * step;
  for (size_t i = 0; i < prices_.size(); ++i)
    sum += (byKind_ ? kinds_[i].executions : graph_.executions(i)) * prices_[i].joules;
  return sum * kRounded;
}

} // namespace accord
