#include "lib/planning/solve/StepWorkloads.h"
#include "lib/planning/analysis/CriticalPath.h"
#include <algorithm>
#include <map>

namespace accord {
namespace {

using Form = StepForms::Form;

/// Those that use a core and a memory in every form, and those that fill the memory.
class Exclusion {
public:
  Exclusion(const StepForms &forms, size_t operations, size_t core, size_t memory)
      : forms_(forms), operations_(operations), core_(core), memory_(memory) {}

  /// Nothing: no operation that does not use the core fills the memory.
  std::vector<std::vector<Workload>> find() {
    std::vector<std::vector<Workload>> of(operations_);
    int64_t least = StepForms::kWhole;
    for (OperationId id = 0; id < operations_; ++id)
      if (uses(id))
        for (const Form &form : forms_.of(id))
          least = std::min(least, forms_.amount(form, memory_));
    bool joined = false;
    for (OperationId id = 0; id < operations_; ++id) {
      bool filler = fills(id, least), user = uses(id);
      if (!filler && !user)
        continue;
      joined |= filler && !user;
      for (const Form &form : forms_.of(id))
        of[id].push_back({form.duration, filler ? form.duration : forms_.work(form, core_)});
    }
    if (!joined)
      of.clear();
    return of;
  }

private:
  template <typename Is> bool always(OperationId id, Is is) const {
    const std::vector<Form> &all = forms_.of(id);
    return !all.empty() && std::all_of(all.begin(), all.end(), is);
  }
  bool uses(OperationId id) const {
    return always(id, [&](const Form &form) {
      return forms_.amount(form, core_) > 0 && forms_.amount(form, memory_) > 0;
    });
  }
  /// `least`: what any of those that use both takes.
  bool fills(OperationId id, int64_t least) const {
    // Shares are rounded down: a few parts more than the whole are not lost in that.
    int64_t above = StepForms::kWhole - std::min(least, StepForms::kWhole / 2) + 4;
    return always(id, [&](const Form &form) { return forms_.amount(form, memory_) > above; });
  }

  const StepForms &forms_;
  size_t operations_, core_, memory_;
};

class Allotment {
public:
  Allotment(const WorkGraph &graph, const Dependences &dependences, const StepForms &forms,
            const Workloads &workloads, RegionId top)
      : graph_(graph), dependences_(dependences), forms_(forms), workloads_(workloads), top_(top),
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
      __int128 mean = -1, least = -1;
      auto take = [&](int64_t duration, int64_t used) {
        __int128 weighed = static_cast<__int128>(share) * used,
                 both = static_cast<__int128>(kAllotmentShares - share) * duration + weighed;
        least = least < 0 ? weighed : std::min(least, weighed);
        mean = mean < 0 ? both : std::min(mean, both);
      };
      for (const Workload &one : workloads_.of[id])
        take(one.duration, one.work);
      if (workloads_.of[id].empty())
        for (const Form &form : forms_.of(id))
          take(form.duration, 0);
      chain[id] = {static_cast<int64_t>((mean - least) / kAllotmentShares)};
      work += least * times_[id];
    }
    int64_t path = repeats_ ? CriticalPath::of(graph_, dependences_, chain).length[top_].value
                            : longest(chain);
    return known->second = path + static_cast<int64_t>(work / kAllotmentShares);
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
  const StepForms &forms_;
  const Workloads &workloads_;
  RegionId top_;
  bool repeats_ = false;
  std::vector<int64_t> ends_;  ///< by OperationId
  std::vector<int64_t> times_; ///< by OperationId: executions; 0: of another region, or a repeat
  std::map<int64_t, int64_t> known_;
};

} // namespace

int64_t Workloads::least(OperationId id) const {
  int64_t least = INT64_MAX;
  for (const Workload &one : of[id])
    least = std::min(least, one.work);
  return of[id].empty() ? 0 : least;
}

bool Workloads::choice() const {
  return std::any_of(of.begin(), of.end(), [](const std::vector<Workload> &forms) {
    return std::any_of(forms.begin(), forms.end(),
                       [&](const Workload &one) { return one.work != forms.front().work; });
  });
}

std::vector<Workloads> workloadsOf(const WorkGraph &graph, const Machine &machine,
                                   const StepForms &forms) {
  std::vector<Workloads> all;
  size_t operations = graph.operations.size(), cores = machine.cores.size();
  for (size_t core = 0; core < cores; ++core) {
    Workloads &alone = all.emplace_back(Workloads{forms.nameOf(core), {}});
    alone.of.resize(operations);
    for (OperationId id = 0; id < operations; ++id)
      for (const Form &form : forms.of(id))
        alone.of[id].push_back({form.duration, forms.work(form, core)});
    for (size_t memory = cores; memory < cores + machine.memories.size(); ++memory)
      if (auto of = Exclusion(forms, operations, core, memory).find(); !of.empty())
        all.push_back({forms.nameOf(core) + " and " + forms.nameOf(memory), std::move(of)});
  }
  return all;
}

int64_t allotmentBound(const WorkGraph &graph, const Dependences &dependences,
                       const StepForms &forms, const Workloads &workloads, RegionId top) {
  Allotment allotment(graph, dependences, forms, workloads, top);
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
