#include "lib/partitioning/solve/DownSetSearch.h"
#include "lib/support/FirstWhere.h"
#include "lib/support/SplitMix.h"
#include <algorithm>
#include <bit>
#include <cmath>

namespace accord::partitioning {

using Id = PartitioningGraph::Id;

void StageSums::change(Id id, int sign) {
  const PartitioningGraph::Node &node = graph.nodes[id];
  time += sign * node.time;
  processorTime += sign * node.processorTime;
  memory += sign * node.memory;
  gradients += sign * node.gradients;
  processorOnly += node.onAccelerator ? 0 : sign;
  for (Id net : node.nets) {
    bool before = paid(net);
    if (reached[net] && inside[net] == (sign > 0 ? 0 : 1))
      incomingTransfers += sign * graph.nets[net].time;
    inside[net] += sign;
    if (graph.incoming && graph.nets[net].from == id)
      made[net] = sign > 0;
    transfers += (paid(net) - before) * graph.nets[net].time;
  }
}

StageCostRules::StageCostRules(const PartitioningProblem &problem)
    : overlap(problem.rule == PartitioningProblem::Rule::Overlap), allowReplicas(problem.allowReplicas),
      accelerators(problem.accelerators), processors(problem.processors), memory(problem.memory),
      timePerByte(problem.timePerByte) {}

std::optional<int64_t> StageCostRules::accelerator(const StageSums &stage, int64_t replicas, int64_t later) const {
  if (stage.processorOnly > 0)
    return std::nullopt;
  if (!overlap) {
    if (minimizeMemory)
      return stage.memory;
    return stage.memory <= memory ? std::optional(stage.time + stage.transfers) : std::nullopt;
  }
  int64_t inFlight = (later + replicas + replicas - 1) / replicas, needs = 0;
  if (__builtin_mul_overflow(stage.memory, inFlight, &needs))
    needs = INT64_MAX;
  if (minimizeMemory)
    return needs;
  if (needs > memory)
    return std::nullopt;
  int64_t load = std::max((stage.time + replicas - 1) / replicas, stage.transfers);
  return std::max(load, exchange(stage, replicas));
}

int64_t StageCostRules::exchange(const StageSums &stage, int64_t replicas) const {
  if (replicas <= 1)
    return 0;
  double share = 2.0 * (replicas - 1) / replicas;
  double time = std::ceil(share * stage.gradients * timePerByte);
  return time < 1e18 ? static_cast<int64_t>(time) : INT64_MAX / 4;
}

// Processors take off most where an accelerator's time is most of theirs: the knapsack of all
// nodes, by the share.
RemainingCapacity::RemainingCapacity(const PartitioningGraph &graph, const StageCostRules &rules, int64_t limit)
    : limit(limit), rules(rules), off(rules.processors + 1, 0) {
  std::vector<const PartitioningGraph::Node *> order;
  for (const PartitioningGraph::Node &node : graph.nodes)
    if (node.onAccelerator) {
      whole.time += node.time;
      whole.memory += node.memory;
      if (node.time > 0)
        order.push_back(&node);
    }
  std::sort(order.begin(), order.end(), [](const auto *a, const auto *b) {
    auto left = __int128{a->time} * b->processorTime, right = __int128{b->time} * a->processorTime;
    return left != right ? left > right : a < b;
  });
  for (size_t count = 1; count < off.size(); ++count) {
    if (limit < 1) { // no load is below 0
      off[count] = INT64_MIN / 2;
      continue;
    }
    double room = double(limit - 1) * count, saved = 0;
    for (const PartitioningGraph::Node *node : order) {
      double needs = node->processorTime, time = node->time;
      bool fits = needs <= room;
      saved += fits ? time : time * room / needs;
      room -= needs;
      if (!fits)
        break;
    }
    off[count] = static_cast<int64_t>(saved * (1 + 1e-9)) + 2;
  }
}

int64_t RemainingCapacity::excessTime(const Work &rest, int64_t accelerators, int64_t processors) const {
  return std::max<__int128>(0, rest.time - (__int128{accelerators} * (limit - 1) + off[processors]));
}

bool RemainingCapacity::enough(const Work &rest, int64_t crossing, int64_t accelerators, int64_t processors) const {
  __int128 count = accelerators;
  if (processors == 0 && rest.memory > count * (rules.minimizeMemory ? limit - 1 : rules.memory))
    return false;
  if (rules.minimizeMemory)
    return true;
  // What crosses is paid again by whoever takes it, unless that is a processor.
  Work all = rest;
  if (!rules.overlap && processors == 0)
    all.time += crossing;
  return excessTime(all, accelerators, processors) == 0;
}

int64_t loadLowerBound(const PartitioningGraph &graph, const StageCostRules &rules) {
  int64_t low = firstWhere(int64_t(0), INT64_C(1) << 61, [&](int64_t load) { // below load + 1 there is room
    RemainingCapacity room(graph, rules, load + 1);
    return room.enough(room.whole, 0, rules.accelerators, rules.processors);
  });
  if (rules.overlap && !rules.minimizeMemory)
    return low;
  for (const PartitioningGraph::Node &node : graph.nodes) { // somewhere it must be
    int64_t best = rules.processors > 0 ? (rules.minimizeMemory ? 0 : node.processorTime) : INT64_MAX;
    if (node.onAccelerator && rules.accelerators > 0)
      best = std::min(best, rules.minimizeMemory ? node.memory : node.time);
    if (best < INT64_MAX)
      low = std::max(low, best);
  }
  return low;
}

namespace {

/// A down-set reached with some devices: the least value, and how.
struct Entry {
  int64_t value;
  uint32_t set, parent, next;
  uint16_t accelerators, processors, replicas;
  bool processor;
};
constexpr uint32_t kNone = UINT32_MAX;

class Search {
public:
  Search(const PartitioningGraph &graph, const StageCostRules &rules, int64_t limit, const DownSetLimits &limits)
      : graph(graph), rules(rules), limits(limits), room(graph, rules, limit), limit(room.limit), stage(graph),
        cut(graph), ready(graph.nodes.size()) {
    SplitMix random(0x9E3779B97F4A7C15);
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      keys.push_back(random.next());
    table.assign(1024, kNone);
  }

  DownSetSearch run() {
    size_t n = graph.nodes.size();
    buckets.resize(n + 1);
    current.assign(graph.words, 0);
    available.assign(graph.words, 0);
    uint32_t root = setOf(0, 0);
    addEntry(root, {0, root, kNone, kNone, 0, 0, 1, false});
    for (size_t size = 0; size < n && !out; ++size) {
      for (size_t i = 0; i < buckets[size].size() && !out; ++i)
        expand(buckets[size][i], size);
      buckets[size] = {};
    }
    DownSetSearch result;
    result.complete = !out;
    result.work = work;
    if (bestEntry != kNone)
      result.best = unwind(bestEntry);
    return result;
  }

private:
  uint32_t setOf(uint64_t hash, size_t size) {
    size_t mask = table.size() - 1;
    for (size_t at = hash & mask;; at = (at + 1) & mask) {
      uint32_t id = table[at];
      if (id == kNone) {
        id = hashes.size();
        table[at] = id;
        hashes.push_back(hash);
        bits.insert(bits.end(), current.begin(), current.end());
        heads.push_back(kNone);
        buckets[size].push_back(id);
        if (hashes.size() * 2 > table.size())
          grow();
        return id;
      }
      if (hashes[id] == hash && std::equal(current.begin(), current.end(), bits.begin() + id * graph.words))
        return id;
    }
  }
  void grow() {
    table.assign(table.size() * 2, kNone);
    size_t mask = table.size() - 1;
    for (uint32_t id = 0; id < hashes.size(); ++id) {
      size_t at = hashes[id] & mask;
      while (table[at] != kNone)
        at = (at + 1) & mask;
      table[at] = id;
    }
  }

  void addEntry(uint32_t set, Entry entry) {
    uint32_t *link = &heads[set], reuse = kNone;
    while (*link != kNone) {
      Entry &other = entries[*link];
      if (other.accelerators <= entry.accelerators && other.processors <= entry.processors &&
          other.value <= entry.value)
        return;
      if (other.accelerators >= entry.accelerators && other.processors >= entry.processors &&
          other.value >= entry.value) {
        reuse = *link;
        *link = other.next;
        continue;
      }
      link = &other.next;
    }
    if (reuse == kNone) {
      reuse = entries.size();
      entries.push_back(entry);
    }
    entry.next = heads[set];
    entries[reuse] = entry;
    heads[set] = reuse;
  }

  void expand(uint32_t set, size_t size) {
    work += graph.nodes.size() / 8;
    live.clear();
    members.clear();
    std::copy_n(bits.begin() + set * graph.words, graph.words, current.begin());
    rest = room.whole;
    for (Id v = 0; v < graph.nodes.size(); ++v)
      if (current[v / 64] >> (v % 64) & 1) {
        members.push_back(v);
        cut.add(v);
        take(v, 1);
      }
    stage.startAfter(cut);
    for (uint32_t e = heads[set]; e != kNone; e = entries[e].next)
      if (entries[e].value < limit && room.enough(rest, cut.transfers, rules.accelerators - entries[e].accelerators,
                                                  rules.processors - entries[e].processors))
        live.push_back(e);
    if (!live.empty()) {
      hash = hashes[set];
      count = size;
      std::vector<Id> start;
      for (Id v = 0; v < graph.nodes.size(); ++v) {
        ready[v] = 0;
        if (current[v / 64] >> (v % 64) & 1)
          continue;
        for (Id from : graph.nodes[v].before)
          ready[v] += !(current[from / 64] >> (from % 64) & 1);
        if (ready[v] == 0)
          start.push_back(v);
      }
      for (bool processor : {false, true}) {
        onProcessor = processor;
        maxFree = 0;
        min = INT64_MAX;
        bool any = false;
        for (uint32_t e : live) {
          const Entry &from = entries[e];
          int64_t free = rules.accelerators - from.accelerators;
          maxFree = std::max(maxFree, free);
          bool can = processor ? from.processors < rules.processors : free > 0;
          any |= can;
          if (can)
            min = std::min(min, minTimeOf(from, processor));
        }
        if (any) {
          for (size_t w = 0; w < graph.words; ++w)
            available[w] = ~current[w];
          left = rest.time;
          candidates = start;
          tail(0);
        }
      }
    }
    for (Id v : members)
      cut.remove(v);
  }
  void take(Id v, int sign) {
    if (graph.nodes[v].onAccelerator) {
      rest.time -= sign * graph.nodes[v].time;
      rest.memory -= sign * graph.nodes[v].memory;
    }
  }

  /// Whether the stage is already too much, however it goes on.
  bool excessTime() const {
    if (onProcessor)
      return rules.processor(stage) >= limit;
    if (stage.processorOnly > 0)
      return true;
    if (rules.minimizeMemory)
      return stage.memory >= limit;
    if (stage.memory > rules.memory)
      return true;
    if (!rules.overlap)
      return stage.time + stage.incomingTransfers >= limit;
    int64_t replicas = rules.allowReplicas ? maxFree : 1;
    return stage.time > __int128{limit - 1} * replicas;
  }

  /// Accelerator time that the next stage must take over, so that the others can do the rest.
  int64_t minTimeOf(const Entry &from, bool processor) const {
    if (rules.overlap || rules.minimizeMemory)
      return 0;
    return room.excessTime(rest, rules.accelerators - from.accelerators - !processor,
                           rules.processors - from.processors - processor);
  }

  /// All ways to go on with some of the candidates from `begin`, which are ready, and what they
  /// make ready. Afterwards they are not available: no set is met twice.
  void tail(size_t begin) {
    size_t end = candidates.size(), top = removed.size();
    int64_t leftBefore = left;
    for (size_t i = begin; i < end && !out && left >= min; ++i) {
      Id v = candidates[i];
      stage.add(v);
      if (!excessTime()) {
        cut.add(v);
        take(v, 1);
        current[v / 64] |= uint64_t(1) << (v % 64);
        hash ^= keys[v];
        ++count;
        visit();
        size_t size = candidates.size();
        for (size_t j = i + 1; j < end; ++j)
          candidates.push_back(candidates[j]);
        for (Id to : graph.nodes[v].after)
          if (--ready[to] == 0)
            candidates.push_back(to);
        if (candidates.size() > size)
          tail(size);
        candidates.resize(size);
        for (Id to : graph.nodes[v].after)
          ++ready[to];
        --count;
        hash ^= keys[v];
        current[v / 64] &= ~(uint64_t(1) << (v % 64));
        take(v, -1);
        cut.remove(v);
      }
      stage.remove(v);
      if (min > 0)
        withdraw(v);
    }
    left = leftBefore;
    for (; removed.size() > top; removed.pop_back())
      available[removed.back() / 64] |= uint64_t(1) << (removed.back() % 64);
  }
  void withdraw(Id v) {
    for (size_t w = v / 64; w < graph.words; ++w)
      for (uint64_t gone = available[w] & graph.below[v][w]; gone; gone &= gone - 1) {
        Id id = w * 64 + std::countr_zero(gone);
        available[w] &= ~(gone & -gone);
        removed.push_back(id);
        left -= graph.nodes[id].onAccelerator ? graph.nodes[id].time : 0;
      }
  }

  void visit() {
    if (++work >= nextLook) {
      nextLook = work + 4096;
      if (work >= limits.work ||
          hashes.size() * (graph.words * 8 + 32) + entries.size() * sizeof(Entry) > limits.memory)
        out = true;
      if (limits.stop && *limits.stop)
        out = true;
      if (limits.tick && work >= nextTick) {
        nextTick = work + (1 << 20);
        limits.tick();
      }
    }
    bool all = count == graph.nodes.size();
    uint32_t set = kNone;
    auto reach = [&](uint32_t from, int64_t value, int64_t accelerators, int64_t processors, int64_t replicas) {
      if (value >= limit ||
          !room.enough(rest, cut.transfers, rules.accelerators - accelerators, rules.processors - processors))
        return;
      if (set == kNone)
        set = setOf(hash, count);
      addEntry(set, {value, set, from, kNone, static_cast<uint16_t>(accelerators), static_cast<uint16_t>(processors),
                     static_cast<uint16_t>(replicas), onProcessor});
      if (all) { // from here on, only what is better
        limit = value;
        for (uint32_t e = heads[set]; e != kNone; e = entries[e].next)
          if (entries[e].value == value)
            bestEntry = e;
      }
    };
    std::optional<int64_t> load;
    if (onProcessor)
      load = rules.processor(stage);
    else if (!rules.overlap && (!(load = rules.accelerator(stage, 1, 0)) || *load >= limit))
      return;
    for (uint32_t e : live) {
      const Entry from = entries[e];
      if (onProcessor) {
        if (from.processors < rules.processors)
          reach(e, std::max(from.value, *load), from.accelerators, from.processors + 1, 1);
        continue;
      }
      int64_t free = rules.accelerators - from.accelerators;
      if (!rules.overlap) {
        if (free > 0)
          reach(e, std::max(from.value, *load), from.accelerators + 1, from.processors, 1);
        continue;
      }
      for (int64_t replicas = 1; replicas <= (rules.allowReplicas ? free : std::min<int64_t>(1, free)); ++replicas)
        if (auto now = rules.accelerator(stage, replicas, from.accelerators))
          reach(e, std::max(from.value, *now), from.accelerators + replicas, from.processors, replicas);
    }
  }

  Partition unwind(uint32_t entry) const {
    Partition cuts;
    cuts.value = entries[entry].value;
    for (uint32_t e = entry; entries[e].parent != kNone; e = entries[e].parent) {
      const Entry &now = entries[e];
      PartitionStage one{now.processor, now.replicas, {}};
      size_t mine = now.set * graph.words, earlier = entries[now.parent].set * graph.words;
      for (Id v = 0; v < graph.nodes.size(); ++v)
        if ((bits[mine + v / 64] & ~bits[earlier + v / 64]) >> (v % 64) & 1)
          one.nodes.push_back(v);
      cuts.stages.push_back(std::move(one));
    }
    std::reverse(cuts.stages.begin(), cuts.stages.end());
    return cuts;
  }

  const PartitioningGraph &graph;
  const StageCostRules &rules;
  const DownSetLimits &limits;
  RemainingCapacity room;
  int64_t &limit;
  StageSums stage, cut;
  std::vector<uint32_t> ready; ///< nodes before it that are neither done nor in the stage
  std::vector<uint64_t> keys, hashes, bits, current, available;
  std::vector<uint32_t> table, heads;
  std::vector<std::vector<uint32_t>> buckets;
  std::vector<Entry> entries;
  std::vector<uint32_t> live;
  std::vector<Id> members, candidates, removed;
  RemainingCapacity::Work rest;
  uint64_t hash = 0, work = 0, nextLook = 1, nextTick = 1 << 20;
  size_t count = 0;
  int64_t min = 0, left = 0, maxFree = 0;
  uint32_t bestEntry = kNone;
  bool onProcessor = false, out = false;
};

} // namespace

DownSetSearch searchDownSets(const PartitioningGraph &graph, const StageCostRules &rules, int64_t limit,
                             const DownSetLimits &limits) {
  return Search(graph, rules, limit, limits).run();
}

} // namespace accord::partitioning
