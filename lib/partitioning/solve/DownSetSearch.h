// Stages one after another, over all sets of nodes that a pipeline may have done so far. Internal
// to lib/partitioning.
#pragma once
#include "lib/partitioning/solve/PartitioningGraph.h"
#include <atomic>
#include <functional>

namespace accord::partitioning {

/// What a set of nodes is as a stage; nodes are added and taken away in constant time for each
/// transfer they touch.
class StageSums {
public:
  explicit StageSums(const PartitioningGraph &graph)
      : graph(graph), inside(graph.nets.size(), 0), made(graph.nets.size(), 0), reached(graph.nets.size(), 0) {}
  void add(PartitioningGraph::Id id) { change(id, 1); }
  void remove(PartitioningGraph::Id id) { change(id, -1); }
  /// Of an empty stage: which nets have ends in what is done before it.
  void startAfter(const StageSums &done) {
    for (size_t net = 0; net < reached.size(); ++net)
      reached[net] = done.inside[net] > 0;
  }

  int64_t time = 0, processorTime = 0, memory = 0, gradients = 0;
  int64_t transfers = 0;         ///< of its nets that are paid
  int64_t incomingTransfers = 0; ///< of its nets that were reached before
  int64_t processorOnly = 0;     ///< nodes that no accelerator can run

private:
  bool paid(PartitioningGraph::Id net) const {
    return graph.incoming ? inside[net] > 0 && !made[net]
                          : inside[net] > 0 && inside[net] < graph.nets[net].ends.size();
  }
  void change(PartitioningGraph::Id id, int sign);

  const PartitioningGraph &graph;
  std::vector<uint32_t> inside; ///< ends of each net
  std::vector<uint8_t> made;    ///< whether the net's sender is inside
  std::vector<uint8_t> reached;
};

/// Accelerators, processors and what a stage on some costs. The objective is the longest load, or
/// the most memory.
struct StageCostRules {
  bool overlap = false, allowReplicas = false, minimizeMemory = false;
  int64_t accelerators = 0, processors = 0, memory = 0;
  double timePerByte = 0;

  explicit StageCostRules(const PartitioningProblem &problem);
  /// Of a stage on an accelerator, `later` of them in stages after it; nothing where it cannot be.
  std::optional<int64_t> accelerator(const StageSums &stage, int64_t replicas, int64_t later) const;
  /// Of the all-reduce among replicas.
  int64_t exchange(const StageSums &stage, int64_t replicas) const;
  int64_t processor(const StageSums &stage) const { return minimizeMemory ? 0 : stage.processorTime; }
};

/// What is left to do, and whether the devices left over may do it below a limit.
class RemainingCapacity {
public:
  struct Work {
    int64_t time = 0, memory = 0;
  };
  RemainingCapacity(const PartitioningGraph &graph, const StageCostRules &rules, int64_t limit);
  /// `crossing`: transfers that go on from what is done.
  bool enough(const Work &rest, int64_t crossing, int64_t accelerators, int64_t processors) const;
  /// Accelerator time that `accelerators` and `processors` cannot do.
  int64_t excessTime(const Work &rest, int64_t accelerators, int64_t processors) const;
  Work whole;    ///< what only accelerators, or both, can run
  int64_t limit; ///< may be lowered: room then stays a bound

private:
  const StageCostRules &rules;
  std::vector<int64_t> off; ///< most accelerator time that so many processors save
};

struct PartitionStage {
  bool processor = false;
  int64_t replicas = 1;
  std::vector<PartitioningGraph::Id> nodes;
};
/// Stages in the order in which they are built.
struct Partition {
  std::vector<PartitionStage> stages;
  int64_t value = 0;
};

struct DownSetLimits {
  uint64_t work = 0; ///< stages looked at
  size_t memory = 0; ///< bytes of sets
  const std::atomic<bool> *stop = nullptr;
  std::function<void()> tick; ///< now and then
};
struct DownSetSearch {
  bool complete = false;         ///< nothing below the limit was left out
  std::optional<Partition> best; ///< below the limit; where complete, the best of all
  uint64_t work = 0;
};

/// Searches all answers of less than `limit`: a dynamic program over down-sets, from the smallest
/// to the largest. From each, every stage below the limit is tried (each once: a node left out
/// takes all that follow it away), unless what is left cannot be done by the devices left over.
DownSetSearch searchDownSets(const PartitioningGraph &graph, const StageCostRules &rules, int64_t limit,
                             const DownSetLimits &limits);

/// Less than this, no answer has: all work on all devices.
int64_t loadLowerBound(const PartitioningGraph &graph, const StageCostRules &rules);

} // namespace accord::partitioning
