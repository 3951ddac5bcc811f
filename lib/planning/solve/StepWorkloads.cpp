#include "lib/planning/solve/StepWorkloads.h"
#include "lib/planning/analysis/CriticalPath.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <map>

namespace accord {
namespace {

using Variant = OperationVariants::Variant;

/// Those that use a core and a memory in every form, and those that fill the memory. Nothing: no operation that does
/// not use the core fills the memory.
std::vector<std::vector<Workload>> exclusion(const OperationVariants &variants, size_t operations, size_t core,
                                             size_t memory) {
  auto always = [&](OperationId id, auto is) { return !variants.of(id).empty() && llvm::all_of(variants.of(id), is); };
  std::vector<char> uses(operations);
  int64_t min = OperationVariants::kFullBandwidth; // of those that use both
  for (OperationId id = 0; id < operations; ++id) {
    uses[id] = always(id, [&](const Variant &variant) {
      return variants.amount(variant, core) > 0 && variants.amount(variant, memory) > 0;
    });
    for (const Variant &variant : variants.of(id))
      if (uses[id])
        min = std::min(min, variants.amount(variant, memory));
  }
  // Shares are rounded down: a few parts more than the whole are not lost in that.
  int64_t above = OperationVariants::kFullBandwidth - std::min(min, OperationVariants::kFullBandwidth / 2) + 4;
  std::vector<std::vector<Workload>> of(operations);
  bool joined = false;
  for (OperationId id = 0; id < operations; ++id) {
    bool fills = always(id, [&](const Variant &variant) { return variants.amount(variant, memory) > above; });
    joined |= fills && !uses[id];
    for (const Variant &variant : variants.of(id))
      if (fills || uses[id])
        of[id].push_back({variant.duration, fills ? variant.duration : variants.work(variant, core)});
  }
  return joined ? of : std::vector<std::vector<Workload>>();
}

class Allotment {
public:
  Allotment(const WorkGraph &graph, const Dependences &dependences, const OperationVariants &variants,
            const Workloads &workloads, RegionId top)
      : graph_(graph), dependences_(dependences), variants_(variants), workloads_(workloads), top_(top),
        times_(graph.operations.size()) {
    count(top, 1);
    for (OperationId id : graph.regions[top].operations)
      repeats_ |= graph.operations[id].body != kNone;
  }

  /// The bound of a share; concave in it but for rounding.
  int64_t at(int64_t share) {
    auto [known, isNew] = known_.try_emplace(share, 0);
    if (!isNew)
      return known->second;
    std::vector<Picoseconds> chain(times_.size());
    __int128 work = 0;
    for (OperationId id = 0; id < times_.size(); ++id) {
      if (times_[id] == 0)
        continue;
      __int128 mean = -1, min = -1;
      auto take = [&](int64_t duration, int64_t used) {
        __int128 weighed = __int128{share} * used, both = __int128{kAllotmentShares - share} * duration + weighed;
        min = min < 0 ? weighed : std::min(min, weighed);
        mean = mean < 0 ? both : std::min(mean, both);
      };
      for (const Workload &one : workloads_.of[id])
        take(one.duration, one.work);
      if (workloads_.of[id].empty())
        for (const Variant &variant : variants_.of(id))
          take(variant.duration, 0);
      chain[id] = {static_cast<int64_t>((mean - min) / kAllotmentShares)};
      work += min * times_[id];
    }
    int64_t path = repeats_ ? CriticalPath::of(graph_, dependences_, chain).length[top_].value : longest(chain);
    return known->second = path + work / kAllotmentShares;
  }

private:
  /// As `CriticalPath` has it where nothing repeats.
  int64_t longest(const std::vector<Picoseconds> &times) {
    int64_t longest = 0;
    ends_.assign(times.size(), 0);
    for (OperationId id : graph_.regions[top_].operations) {
      int64_t start = 0;
      for (OperationId before : dependences_.predecessors[id])
        start = std::max(start, ends_[before]);
      ends_[id] = start + times[id].value;
      longest = std::max(longest, ends_[id]);
    }
    return longest;
  }

  void count(RegionId r, int64_t times) {
    for (OperationId id : graph_.regions[r].operations)
      if (RegionId body = graph_.operations[id].body; body != kNone)
        count(body, times * graph_.regions[body].count);
      else
        times_[id] = times;
  }

  const WorkGraph &graph_;
  const Dependences &dependences_;
  const OperationVariants &variants_;
  const Workloads &workloads_;
  RegionId top_;
  bool repeats_ = false;
  std::vector<int64_t> ends_;  ///< by OperationId
  std::vector<int64_t> times_; ///< by OperationId: executions; 0: of another region, or a repeat
  std::map<int64_t, int64_t> known_;
};

} // namespace

int64_t Workloads::min(OperationId id) const {
  int64_t min = INT64_MAX;
  for (const Workload &one : of[id])
    min = std::min(min, one.work);
  return of[id].empty() ? 0 : min;
}

bool Workloads::choice() const {
  return llvm::any_of(of, [](const std::vector<Workload> &variants) {
    return llvm::any_of(variants, [&](const Workload &one) { return one.work != variants.front().work; });
  });
}

std::vector<Workloads> workloadsOf(const WorkGraph &graph, const Machine &machine, const OperationVariants &variants) {
  std::vector<Workloads> all;
  size_t operations = graph.operations.size(), cores = machine.cores.size();
  for (size_t core = 0; core < cores; ++core) {
    Workloads &alone = all.emplace_back(Workloads{variants.nameOf(core), {}});
    alone.of.resize(operations);
    for (OperationId id = 0; id < operations; ++id)
      for (const Variant &variant : variants.of(id))
        alone.of[id].push_back({variant.duration, variants.work(variant, core)});
    for (size_t memory = cores; memory < cores + machine.memories.size(); ++memory)
      if (auto of = exclusion(variants, operations, core, memory); !of.empty())
        all.push_back({variants.nameOf(core) + " and " + variants.nameOf(memory), std::move(of)});
  }
  return all;
}

int64_t allotmentBound(const WorkGraph &graph, const Dependences &dependences, const OperationVariants &variants,
                       const Workloads &workloads, RegionId top) {
  Allotment allotment(graph, dependences, variants, workloads, top);
  int64_t best = kAllotmentShares / 2;
  for (int64_t step = kAllotmentShares / 4; step > 0; step /= 2)
    for (int64_t share : {best - step, best + step})
      if (allotment.at(share) > allotment.at(best)) {
        best = share;
        break;
      }
  return allotment.at(best);
}

} // namespace accord
