#include "lib/partitioning/verify/PartitioningBoundProof.h"
#include "lib/partitioning/verify/AssignmentBoundProof.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>

namespace accord {
namespace {

using Id = PartitioningProblem::Id;
constexpr size_t kMaxWords = 1 << 23; ///< of all sets together
constexpr size_t kMaxBlocks = 20'000; ///< as deep as a stage's blocks are added

/// Nodes that must share a stage as one, in an order in which no arc points back.
class Blocks {
public:
  struct Block {
    int64_t time = 0, processorTime = 0, memory = 0, gradients = 0;
    bool onAccelerator = true;
    std::vector<Id> after; ///< blocks that may not be in an earlier stage
    std::vector<Id> nets;
  };
  struct Net {
    Id from = 0;
    size_t ends = 0; ///< blocks it touches
    int64_t time = 0;
  };
  std::vector<Block> list;
  std::vector<Net> nets;

  explicit Blocks(const PartitioningProblem &p) : of_(p.nodes.size()) {
    size_t n = p.nodes.size();
    bool turned = p.rule == PartitioningProblem::Rule::Overlap;
    std::vector<std::vector<Id>> next(n);
    for (auto [a, b] : stageOrder(p))
      turned ? next[b].push_back(a) : next[a].push_back(b);
    std::map<int64_t, Id> first; // both ways: a circle
    for (Id i = 0; i < n; ++i)
      if (p.nodes[i].colocationGroup >= 0) {
        auto [at, added] = first.try_emplace(p.nodes[i].colocationGroup, i);
        if (!added)
          next[at->second].push_back(i), next[i].push_back(at->second);
      }
    circles(next);
    list.resize(count_);
    for (Id i = 0; i < n; ++i) {
      Block &block = list[of_[i]];
      const PartitioningProblem::Node &node = p.nodes[i];
      block.time += node.time, block.processorTime += node.processorTime;
      block.memory += node.memory, block.gradients += node.gradients;
      block.onAccelerator &= node.onAccelerator;
      for (Id to : next[i])
        if (of_[to] != of_[i])
          block.after.push_back(of_[to]);
    }
    for (const auto &transfer : p.transfers) {
      std::vector<Id> ends{of_[transfer.from]};
      for (Id to : transfer.to)
        ends.push_back(of_[to]);
      llvm::sort(ends);
      ends.erase(llvm::unique(ends), ends.end());
      if (ends.size() < 2)
        continue;
      for (Id end : ends)
        list[end].nets.push_back(nets.size());
      nets.push_back({of_[transfer.from], ends.size(), transfer.time});
    }
    for (Block &block : list) {
      llvm::sort(block.after);
      block.after.erase(llvm::unique(block.after), block.after.end());
    }
  }

private:
  /// Strongly connected components (Tarjan, 1972), without recursion; each is numbered after all
  /// that it reaches, which is turned round.
  void circles(const std::vector<std::vector<Id>> &next) {
    size_t n = next.size();
    std::vector<uint32_t> index(n), low(n);
    std::vector<char> open(n);
    std::vector<Id> stack;
    uint32_t clock = 0;
    std::vector<std::pair<Id, size_t>> path;
    for (Id root = 0; root < n; ++root) {
      if (index[root])
        continue;
      path.push_back({root, 0});
      while (!path.empty()) {
        Id at = path.back().first;
        size_t child = path.back().second++;
        if (child == 0)
          index[at] = low[at] = ++clock, open[at] = 1, stack.push_back(at);
        if (child < next[at].size()) {
          Id to = next[at][child];
          if (!index[to])
            path.push_back({to, 0});
          else if (open[to])
            low[at] = std::min(low[at], index[to]);
          continue;
        }
        path.pop_back();
        if (!path.empty())
          low[path.back().first] = std::min(low[path.back().first], low[at]);
        if (low[at] != index[at])
          continue;
        for (Id member = n;;) {
          member = stack.back();
          stack.pop_back();
          open[member] = 0;
          of_[member] = count_;
          if (member == at)
            break;
        }
        ++count_;
      }
    }
    for (Id &block : of_)
      block = count_ - 1 - block;
  }

  std::vector<Id> of_;
  Id count_ = 0;
};

class Search {
public:
  Search(const PartitioningProblem &problem, int64_t bound, uint64_t effort)
      : p(problem), bound(bound), effort(effort), blocks(problem), n(blocks.list.size()), words((n + 63) / 64),
        waits(n), inside(blocks.nets.size()), made(blocks.nets.size()) {
    for (const auto &block : blocks.list) {
      for (Id to : block.after)
        ++waits[to];
      min += minTimeOf(block);
    }
  }

  BoundVerdict run() {
    __int128 time = 0;
    for (const auto &block : blocks.list)
      time += block.time;
    if (p.processors == 0 && bound < INT64_MAX && time > __int128{bound - 1} * p.accelerators)
      return BoundVerdict::Holds; // by all work on all accelerators
    if (n > kMaxBlocks)
      return BoundVerdict::Open;
    std::vector<Sets> bySize(n + 1);
    bySize[0][Set(words)] = {{0, 0}};
    for (size_t nodes = 0; nodes < n; ++nodes) {
      for (const auto &[set, uses] : bySize[nodes])
        for (const Use &use : uses) {
          from(set, use, bySize);
          if (steps > effort || kept * words > kMaxWords)
            return BoundVerdict::Open;
        }
      Sets().swap(bySize[nodes]);
    }
    return bySize[n].empty() ? BoundVerdict::Holds : BoundVerdict::Broken;
  }

private:
  using Set = std::vector<uint64_t>;
  struct Hash {
    size_t operator()(const Set &set) const {
      uint64_t hash = 0;
      for (uint64_t word : set) {
        hash = (hash ^ word) * 0x9e3779b97f4a7c15;
        hash ^= hash >> 29;
      }
      return hash;
    }
  };
  struct Use {
    int64_t accelerators, processors;
  };
  using Sets = std::unordered_map<Set, std::vector<Use>, Hash>;

  static bool has(const Set &set, size_t i) { return set[i / 64] >> (i % 64) & 1; }

  /// All stages that may come next: the blocks in their order, each in or out; what waits for one
  /// that is out is out.
  void from(const Set &set, const Use &use, std::vector<Sets> &bySize) {
    done = set, used = use, out = &bySize;
    blocked = waits;
    steps += n / 16;
    doneTime = 0, size = 0;
    for (Id i = 0; i < n; ++i)
      if (has(set, i)) {
        ++size, doneTime += minTimeOf(blocks.list[i]);
        for (Id to : blocks.list[i].after)
          --blocked[to];
      }
    time = processorTime = memory = gradients = processorOnly = transfers = 0;
    grow(0, false);
  }
  int64_t minTimeOf(const Blocks::Block &block) const {
    return std::min(block.onAccelerator ? block.time : INT64_MAX, p.processors > 0 ? block.processorTime : INT64_MAX);
  }

  void grow(Id at, bool any) {
    if (any)
      stage();
    for (Id i = at; i < n && steps <= effort; ++i) {
      if (has(done, i) || blocked[i] > 0)
        continue;
      put(i, 1);
      done[i / 64] |= uint64_t(1) << (i % 64);
      if (possible())
        grow(i + 1, true);
      done[i / 64] &= ~(uint64_t(1) << (i % 64));
      put(i, -1);
    }
  }

  void put(Id i, int sign) {
    const auto &block = blocks.list[i];
    time += sign * block.time, processorTime += sign * block.processorTime;
    memory += sign * block.memory, gradients += sign * block.gradients;
    processorOnly += block.onAccelerator ? 0 : sign;
    size += sign, doneTime += static_cast<__int128>(sign) * minTimeOf(block);
    for (Id to : block.after)
      blocked[to] -= sign;
    for (Id net : block.nets) {
      transfers -= paid(net) ? blocks.nets[net].time : 0;
      inside[net] += sign;
      if (blocks.nets[net].from == i)
        made[net] = sign > 0;
      transfers += paid(net) ? blocks.nets[net].time : 0;
    }
  }
  bool paid(Id net) const {
    return p.rule == PartitioningProblem::Rule::Sum ? inside[net] > 0 && inside[net] < blocks.nets[net].ends
                                                    : inside[net] > 0 && !made[net];
  }

  /// Whether this much time and memory, and more, can be a stage below the bound.
  bool possible() {
    ++steps;
    int64_t left = p.accelerators - used.accelerators;
    int64_t max = p.allowReplicas ? left : std::min<int64_t>(left, 1);
    bool accelerator = max > 0 && processorOnly == 0 && memory <= p.memory && (time + max - 1) / max < bound;
    return accelerator || (used.processors < p.processors && processorTime < bound);
  }

  void stage() {
    int64_t left = p.accelerators - used.accelerators;
    int64_t max = p.allowReplicas ? left : std::min<int64_t>(left, 1);
    if (processorOnly == 0)
      for (int64_t m = 1; m <= max; ++m)
        if (fits(m))
          reach({used.accelerators + m, used.processors});
    if (used.processors < p.processors && processorTime < bound)
      reach({used.accelerators, used.processors + 1});
  }

  bool fits(int64_t m) const {
    if (p.rule == PartitioningProblem::Rule::Sum)
      return time + transfers < bound && memory <= p.memory;
    __int128 needs = __int128{memory} * ((used.accelerators + 2 * m - 1) / m);
    double exchange = 2.0 * (m - 1) / m * gradients * p.timePerByte;
    return needs <= p.memory && (time + m - 1) / m < bound && transfers < bound &&
           (bound == INT64_MAX || std::ceil(exchange) < bound);
  }

  void reach(Use use) {
    __int128 devices = p.accelerators - use.accelerators + p.processors - use.processors;
    if (size < n && (devices == 0 || (bound < INT64_MAX && min - doneTime > devices * (bound - 1))))
      return;
    auto [at, added] = (*out)[size].try_emplace(done);
    kept += added;
    auto &uses = at->second;
    for (const Use &other : uses)
      if (other.accelerators <= use.accelerators && other.processors <= use.processors)
        return;
    std::erase_if(uses, [&](const Use &other) {
      return use.accelerators <= other.accelerators && use.processors <= other.processors;
    });
    uses.push_back(use);
  }

  const PartitioningProblem &p;
  int64_t bound;
  uint64_t effort, steps = 0;
  Blocks blocks;
  size_t n, words, kept = 0, size = 0;
  std::vector<uint32_t> waits, blocked, inside;
  std::vector<char> made;
  Set done;
  Use used{};
  std::vector<Sets> *out = nullptr;
  __int128 min = 0;
  __int128 doneTime = 0;
  int64_t time = 0, processorTime = 0, memory = 0, gradients = 0, processorOnly = 0, transfers = 0;
};

} // namespace

BoundVerdict provePartitioningBound(const PartitioningProblem &problem, int64_t bound, uint64_t effort) {
  if (bound <= 0)
    return BoundVerdict::Holds;
  return problem.contiguous ? Search(problem, bound, effort).run()
                            : partitioning::proveAssignmentBound(problem, bound, effort);
}

} // namespace accord
