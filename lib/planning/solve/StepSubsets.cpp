#include "lib/planning/solve/StepSubsets.h"
#include "lib/planning/analysis/CriticalPath.h"
#include "lib/scheduling/solve/SubsetBound.h"
#include <algorithm>

namespace accord {
namespace {

/// Which operations of a top region run one after the other, all executions of both.
class ExecutionOrder {
public:
  ExecutionOrder(const WorkGraph &graph, const Dependences &dependences, RegionId top)
      : graph_(graph), dependences_(dependences), top_(top), times_(graph.operations.size()) {
    count(top, 1);
  }

  size_t executions() const { return executions_; }
  int64_t times(OperationId id) const { return times_[id]; }

  /// Whether a chain leads through all executions of all of these.
  bool isChain(const std::vector<OperationId> &operations) const {
    std::vector<Picoseconds> once(times_.size());
    int64_t all = 0;
    for (OperationId id : operations)
      if (once[id].value == 0)
        once[id] = {1}, all += times_[id];
    return CriticalPath::of(graph_, dependences_, once).length[top_].value == all;
  }

  /// Operations of the longest chain, if it leads through all their executions; else none.
  std::vector<OperationId> longestChain(const std::vector<OperationId> &operations) const {
    std::vector<Picoseconds> once(times_.size());
    for (OperationId id : operations)
      once[id] = {1};
    std::vector<OperationId> chain;
    for (OperationId id : CriticalPath::of(graph_, dependences_, once).chain)
      if (graph_.operations[id].body == kNone && times_[id] > 0 && once[id].value > 0)
        chain.push_back(id);
    return isChain(chain) ? chain : std::vector<OperationId>();
  }

private:
  void count(RegionId r, int64_t times) {
    for (OperationId id : graph_.regions[r].operations)
      if (RegionId body = graph_.operations[id].body; body != kNone)
        count(body, times * graph_.regions[body].count);
      else
        times_[id] = times, executions_ += times;
  }

  const WorkGraph &graph_;
  const Dependences &dependences_;
  RegionId top_;
  std::vector<int64_t> times_; ///< by OperationId: executions in one iteration of the region
  size_t executions_ = 0;
};

class StepWorkBuilder {
public:
  StepWorkBuilder(const WorkGraph &graph, const ExecutionOrder &order, const OperationVariants &variants)
      : graph_(graph), order_(order), variants_(variants) {
    for (OperationId id = 0; id < graph.operations.size(); ++id)
      if (order.times(id) > 0 && llvm::all_of(variants.of(id), [](const auto &one) { return one.duration > 0; }))
        operations_.push_back(id);
  }

  const std::vector<OperationId> &operations() const { return operations_; }

  ConcurrentWork work() {
    ConcurrentWork work;
    for (size_t r = 0; r < variants_.resources(); ++r)
      work.capacities.push_back(variants_.capacity(r));
    modes_.resize(operations_.size());
    for (size_t i = 0; i < operations_.size(); ++i) {
      for (const OperationVariants::Variant &variant : variants_.of(operations_[i])) {
        SchedulingProblem::Mode &mode = modes_[i].emplace_back();
        mode.duration = variant.duration;
        for (uint32_t r = 0; r < variants_.resources(); ++r)
          if (int64_t amount = variants_.amount(variant, r); amount > 0)
            mode.usage.push_back({r, amount});
      }
      work.tasks.push_back({&modes_[i], order_.times(operations_[i])});
    }
    return work;
  }

  std::vector<llvm::BitVector> apart() {
    std::vector<llvm::BitVector> apart(operations_.size(), llvm::BitVector(operations_.size()));
    order(apart);
    return apart;
  }

private:
  void order(std::vector<llvm::BitVector> &apart) {
    std::vector<OperationId> spine = order_.longestChain(operations_);
    std::vector<uint32_t> onSpine, beside;
    for (uint32_t i = 0; i < operations_.size(); ++i)
      (llvm::is_contained(spine, operations_[i]) ? onSpine : beside).push_back(i);
    for (uint32_t one : onSpine)
      for (uint32_t other : onSpine)
        apart[one].set(other);
    std::vector<uint32_t> placed = onSpine;
    for (uint32_t one : beside) {
      if (order_.isChain({operations_[one]}))
        apart[one].set(one);
      std::vector<uint32_t> others;
      for (uint32_t other : placed)
        if (mayBeApart(one, other, apart))
          others.push_back(other);
      separate(one, others, apart);
      placed.push_back(one);
    }
  }

  /// Operations of one repeat whose executions overlap are apart from nothing beside them.
  bool mayBeApart(uint32_t one, uint32_t other, const std::vector<llvm::BitVector> &apart) const {
    return graph_.operations[operations_[one]].region != graph_.operations[operations_[other]].region ||
           (apart[one][one] && apart[other][other]);
  }

  /// All of them at once if one chain leads through them, else by halves.
  void separate(uint32_t one, llvm::ArrayRef<uint32_t> others, std::vector<llvm::BitVector> &apart) {
    if (others.empty())
      return;
    std::vector<OperationId> together{operations_[one]};
    for (uint32_t other : others)
      together.push_back(operations_[other]);
    if (order_.isChain(together)) {
      for (uint32_t other : others)
        apart[one].set(other), apart[other].set(one);
    } else if (others.size() > 1) {
      separate(one, others.take_front(others.size() / 2), apart);
      separate(one, others.drop_front(others.size() / 2), apart);
    }
  }

  const WorkGraph &graph_;
  const ExecutionOrder &order_;
  const OperationVariants &variants_;
  std::vector<OperationId> operations_; ///< that take time in any form
  std::vector<std::vector<SchedulingProblem::Mode>> modes_;
};

} // namespace

std::shared_ptr<const ExecutionOrders::Apart> ExecutionOrders::find(RegionId top,
                                                                    const std::vector<OperationId> &operations) const {
  std::shared_lock lock(mutex_);
  auto found = known_.find({top, operations});
  return found != known_.end() ? found->second : nullptr;
}

void ExecutionOrders::add(RegionId top, const std::vector<OperationId> &operations, Apart apart) {
  std::unique_lock lock(mutex_);
  known_.try_emplace({top, operations}, std::make_shared<const Apart>(std::move(apart)));
}

SchedulingBound stepSubsets(const WorkGraph &graph, const Dependences &dependences, const OperationVariants &variants,
                            RegionId top, const StepSubsetOptions &options) {
  ExecutionOrder order(graph, dependences, top);
  StepWorkBuilder builder(graph, order, variants);
  const std::vector<OperationId> &operations = builder.operations();
  if (operations.empty() || operations.size() > kMaxSubsetOperations || order.executions() > kMaxSubsetExecutions)
    return {};
  SubsetLimits limits;
  limits.goal = options.goal, limits.subsets = options.subsets;
  ConcurrentWork work = builder.work();
  if (auto known = options.orders ? options.orders->find(top, operations) : nullptr) {
    work.apart = *known;
  } else {
    work.apart = builder.apart();
    if (options.orders)
      options.orders->add(top, operations, work.apart);
  }
  SchedulingBound bound = boundOf(subsetBound(work, limits));
  for (SchedulingProblem::Id &task : bound.tasks)
    task = operations[task];
  return bound;
}

} // namespace accord
