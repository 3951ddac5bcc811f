#include "lib/partitioning/verify/PartitioningVerifier.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace accord {
namespace {

class PartitioningVerifier {
public:
  PartitioningVerifier(const PartitioningProblem &problem, const PartitioningResult &result) : p(problem), r(result) {}

  Errors run() {
    errors = check(p);
    if (!errors.empty() || r.status != PartitioningResult::Status::Feasible)
      return std::move(errors);
    if (!places())
      return std::move(errors);
    order();
    int64_t accelerators = 0, processors = 0, max = 0;
    for (const PartitioningStage &stage : r.stages)
      (stage.processor ? processors : accelerators) += stage.processor ? 1 : stage.replicas;
    if (accelerators > p.accelerators || processors > p.processors)
      report(Code::MemoryExceeded, fmt::format("{} accelerators and {} processors are used of {} and {}", accelerators,
                                               processors, p.accelerators, p.processors));
    for (size_t s = 0; s < r.stages.size(); ++s) {
      stage(s);
      max = std::max(max, r.stages[s].load);
    }
    if (max != r.load || r.bound > r.load || r.bound < 0)
      report(Code::WrongObjective,
             fmt::format("stated load {} ps and bound {} ps, the largest stage has {} ps", r.load, r.bound, max));
    return std::move(errors);
  }

private:
  void report(Code code, std::string message) {
    if (errors.size() < 20)
      errors.push_back({code, std::move(message), p.location, {}});
  }

  bool places() {
    at.assign(p.nodes.size(), SIZE_MAX);
    for (size_t s = 0; s < r.stages.size(); ++s) {
      const PartitioningStage &stage = r.stages[s];
      if (stage.nodes.empty() || stage.replicas < 1 || (stage.replicas > 1 && (stage.processor || !p.allowReplicas)))
        report(Code::OperationMissing, fmt::format("stage {} has no node, or replicas it cannot have", s + 1));
      for (PartitioningProblem::Id id : stage.nodes)
        if (id >= p.nodes.size() || at[id] != SIZE_MAX)
          report(Code::OperationMissing,
                 fmt::format("stage {} has an unknown node or one that is in another, {}", s + 1, id));
        else
          at[id] = s;
    }
    for (size_t i = 0; i < p.nodes.size(); ++i)
      if (at[i] == SIZE_MAX)
        report(Code::OperationMissing, fmt::format("'{}' is in no stage", p.nodes[i].name));
    return errors.empty();
  }

  void order() {
    for (auto [a, b] : stageOrder(p))
      if (p.contiguous && at[a] > at[b])
        report(Code::StageOrderBroken, fmt::format("the edge from '{}' to '{}' points from stage {} back to {}",
                                                   p.nodes[a].name, p.nodes[b].name, at[a] + 1, at[b] + 1));
    std::map<int64_t, PartitioningProblem::Id> first;
    for (PartitioningProblem::Id i = 0; i < p.nodes.size(); ++i)
      if (p.nodes[i].colocationGroup >= 0) {
        auto [known, isNew] = first.try_emplace(p.nodes[i].colocationGroup, i);
        if (!isNew && at[known->second] != at[i])
          report(Code::StageOrderBroken,
                 fmt::format("'{}' and '{}' belong together, and are in stages {} and {}", p.nodes[known->second].name,
                             p.nodes[i].name, at[known->second] + 1, at[i] + 1));
      }
  }

  /// Each transfer that a stage receives, and what it sends, by looking at all of them.
  int64_t transfers(size_t s) const {
    int64_t all = 0;
    for (const auto &transfer : p.transfers) {
      bool made = at[transfer.from] == s, read = false, processorOnly = false;
      for (PartitioningProblem::Id to : transfer.to)
        (at[to] == s ? read : processorOnly) = true;
      if ((!made && read) || (made && processorOnly && p.rule == PartitioningProblem::Rule::Sum))
        all += transfer.time;
    }
    return all;
  }

  void stage(size_t s) {
    const PartitioningStage &stage = r.stages[s];
    __int128 time = 0, memory = 0, gradients = 0;
    for (PartitioningProblem::Id id : stage.nodes) {
      const auto &node = p.nodes[id];
      time += stage.processor ? node.processorTime : node.time;
      memory += node.memory;
      gradients += node.gradients;
      if (!stage.processor && !node.onAccelerator)
        report(Code::MemoryExceeded, fmt::format("'{}' runs on no accelerator, and stage {} is one", node.name, s + 1));
    }
    bool sum = p.rule == PartitioningProblem::Rule::Sum;
    __int128 moved = stage.processor ? 0 : transfers(s), load = time + moved, m = stage.replicas;
    if (!sum) {
      __int128 later = 0;
      for (size_t i = s; i < r.stages.size(); ++i)
        later += r.stages[i].replicas;
      memory *= (later + m - 1) / m;
      time = (time + m - 1) / m;
      double exchange = 2.0 * double(m - 1) / double(m) * double(gradients) * p.timePerByte;
      if (exchange > double(moved))
        moved = std::ceil(exchange);
      load = std::max(time, moved);
    }
    if (stage.compute != time || stage.communication != moved || stage.load != load || stage.memory != memory)
      report(Code::WrongObjective,
             fmt::format("stage {} states {} ps, {} ps, {} ps and {} B; it computes {} ps, moves {} "
                         "ps, load {} ps, in {} B",
                         s + 1, stage.compute, stage.communication, stage.load, stage.memory, int64_t(time),
                         int64_t(moved), int64_t(load), int64_t(memory)));
    if (!stage.processor && memory > p.memory)
      report(Code::MemoryExceeded,
             fmt::format("stage {} takes {} B of an accelerator's {} B", s + 1, int64_t(memory), p.memory));
  }

  const PartitioningProblem &p;
  const PartitioningResult &r;
  std::vector<size_t> at;
  Errors errors;
};

} // namespace

Errors verify(const PartitioningProblem &problem, const PartitioningResult &result) {
  return PartitioningVerifier(problem, result).run();
}

} // namespace accord
