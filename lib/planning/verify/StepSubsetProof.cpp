// What can run at once in a whole step: which executions are ordered is read off a walk of all of them.
#include "lib/planning/verify/Proof.h"
#include "lib/scheduling/verify/SubsetProof.h"
#include <bit>
#include <map>

namespace accord {
namespace {

/// Ancestors of all executions are held as bits: 112 MB.
constexpr size_t kMaxExecutions = 30'000;
constexpr int64_t kBillion = 1'000'000'000;

/// By pair of operations: whether each execution of one is before or after each of the other, by the values that they
/// make and read.
class OrderedExecutions {
public:
  OrderedExecutions(const ScheduleReplay &walk, const std::vector<OperationId> &operations) : size_(operations.size()) {
    std::map<OperationId, size_t> place;
    for (size_t i = 0; i < size_; ++i)
      place[operations[i]] = i;
    size_t count = walk.executions.size(), words = (count + 63) / 64;
    std::vector<uint64_t> before(count * words), of(size_ * words);
    times.assign(size_, 0);
    comparable_.assign(size_ * size_, 0);
    for (size_t e = 0; e < count; ++e) {
      const Execution &execution = walk.executions[e];
      uint64_t *mine = &before[e * words];
      for (uint32_t m = execution.producersBegin; m < execution.producersEnd; ++m) {
        size_t by = walk.producers[m];
        for (size_t w = 0; w < words; ++w)
          mine[w] |= before[by * words + w];
        mine[by / 64] |= uint64_t{1} << by % 64;
      }
      auto at = place.find(execution.operation);
      if (at == place.end())
        continue;
      ++times[at->second];
      for (size_t other = 0; other < size_; ++other)
        for (size_t w = 0; w < words; ++w)
          comparable_[at->second * size_ + other] += std::popcount(mine[w] & of[other * words + w]);
      of[at->second * words + e / 64] |= uint64_t{1} << e % 64;
    }
  }

  /// Each pair of executions was counted where its later one stands.
  bool ordered(size_t one, size_t other) const {
    if (one == other)
      return comparable_[one * size_ + one] == times[one] * (times[one] - 1) / 2;
    return comparable_[one * size_ + other] + comparable_[other * size_ + one] == times[one] * times[other];
  }

  std::vector<int64_t> times; ///< executions, by place in the list

private:
  size_t size_;
  std::vector<int64_t> comparable_; ///< by later and earlier operation
};

std::vector<SchedulingProblem::Mode> modesOf(const Proof &p, OperationId id,
                                             const std::map<std::string, uint32_t> &networks) {
  const Machine &machine = p.plan.machine;
  std::vector<SchedulingProblem::Mode> modes;
  p.variants(id, [&](const OperationCost &cost) {
    SchedulingProblem::Mode &mode = modes.emplace_back();
    mode.duration = Picoseconds::ceil(cost.time).value;
    uint32_t resource = 0;
    auto take = [&](double amount) {
      if (amount >= 1)
        mode.usage.push_back({resource, static_cast<int64_t>(amount)});
      ++resource;
    };
    for (size_t core = 0; core < machine.cores.size(); ++core)
      take(static_cast<double>(p.instances(cost, static_cast<int>(core))));
    for (size_t memory = 0; memory < machine.memories.size(); ++memory)
      take(mode.duration > 0 ? std::min<double>(kBillion, std::floor(cost.transfer[memory].value * 1e12 /
                                                                     double(mode.duration) * 1e9))
                             : 0);
    if (auto network = networks.find(p.network(id)); network != networks.end())
      mode.usage.push_back({network->second, 1});
  });
  return modes;
}

} // namespace

int64_t verifyStepSubsets(Proof &p, RegionId top) {
  const SchedulingBound &bound = p.plan.schedule.regions[top].proven;
  const WorkGraph &graph = p.plan.graph;
  auto refuse = [&](const std::string &why) {
    p.find(Code::BoundNotProved, {}, "region '{}': no schedule is stated to be shorter than {} ps, but {}",
           graph.regions[top].name, bound.value, why);
    return 0;
  };
  if (bound.weights.size() != bound.tasks.size())
    return refuse(fmt::format("its proof has {} weights for {} operations", bound.weights.size(), bound.tasks.size()));
  for (size_t i = 0; i < bound.tasks.size(); ++i)
    if (bound.tasks[i] >= graph.operations.size() || graph.operations[bound.tasks[i]].body != kNone ||
        std::count(bound.tasks.begin(), bound.tasks.end(), bound.tasks[i]) > 1)
      return refuse(fmt::format("its proof counts operation {} twice, or there is no such one", bound.tasks[i]));
  ScheduleReplay walk =
      replaySchedule(graph, p.plan.schedule, std::vector<int64_t>(graph.operations.size(), 0), Clock::Earliest, {top});
  if (!walk.complete || walk.executions.size() > kMaxExecutions)
    return refuse(fmt::format("its {} executions are too many to be ordered", walk.executions.size()));
  std::map<std::string, uint32_t> networks;
  ConcurrentWork work;
  for (const Core &core : p.plan.machine.cores)
    work.capacities.push_back(core.count);
  work.capacities.resize(work.capacities.size() + p.plan.machine.memories.size(), kBillion);
  for (OperationId id = 0; id < graph.operations.size(); ++id)
    if (std::string network = p.network(id); !network.empty())
      networks[network] = 0;
  for (auto &[network, resource] : networks) {
    resource = work.capacities.size();
    work.capacities.push_back(1);
  }
  OrderedExecutions order(walk, bound.tasks);
  std::vector<std::vector<SchedulingProblem::Mode>> modes;
  for (OperationId id : bound.tasks)
    modes.push_back(modesOf(p, id, networks));
  for (size_t i = 0; i < modes.size(); ++i)
    work.tasks.push_back({&modes[i], order.times[i]});
  auto proved = provedBySubsets(
      work, {bound.weights, bound.unit, 0}, [&](uint32_t one, uint32_t other) { return order.ordered(one, other); },
      [&](uint32_t task) { return graph.operations[bound.tasks[task]].name; });
  if (!proved)
    return refuse(proved.error());
  if (*proved < bound.value)
    return refuse(fmt::format("its weights add up to {}", *proved));
  p.checked("no iteration of region '{}' is below {} ps: {}, with {} executions in the order of their values",
            graph.regions[top].name, bound.value, bound.proof, walk.executions.size());
  return bound.value;
}

} // namespace accord
