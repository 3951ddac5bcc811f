// Nodes of a profiled graph onto accelerators and processors in a pipeline: the problem and its
// answer. Input and answer of lib/partitioning/solve/GraphPartitioner.h; lib/partitioning/verify/PartitioningVerifier.h
// judges the same data again.
#pragma once
#include "lib/support/Result.h"
#include <cstdint>
#include <string>
#include <vector>

namespace accord {

/// Of an accelerator whose memory is not limited, bytes.
constexpr int64_t kUnlimitedMemory = int64_t(1) << 60;

/// Times are picoseconds of one sample (or of the mini-batch that was profiled), sizes bytes, none
/// negative. The times of all nodes and transfers together, and the sizes together, are below
/// 2^60: `check` says so.
///
/// A *stage* is a set of nodes for one accelerator (or several replicas of it), or for one
/// processor. Stages are in an order in which no edge between nodes that are not `backward` points
/// back, unless they need not be `contiguous`; nodes that are `together` are in one stage. Edges are the pairs of
/// `transfers`.
struct PartitioningProblem {
  using Id = uint32_t;

  /// What makes the load of a stage.
  /// - `Sum`: an accelerator's is the time of its nodes and of each transfer into and out of it,
  /// one
  ///   after another; a processor's the time of its nodes, for the data is in its memory (Tarnawski
  ///   et al., Efficient Algorithms for Device Placement of DNN Graph Operators, NeurIPS 2020,
  ///   section 3, throughput). Its memory is the sum of the nodes'.
  /// - `Overlap`: the longest of time / replicas, transfers into the stage, and the all-reduce of
  ///   2 (replicas - 1) / replicas * `gradients` bytes (PipeDream, Narayanan et al., SOSP 2019,
  ///   section 3.1). Its memory is that of the nodes times the mini-batches in flight: accelerators
  ///   of this and the later stages / replicas, rounded up.
  enum class Rule : uint8_t { Sum, Overlap };

  struct Node {
    std::string name;
    int64_t time = 0;          ///< on an accelerator
    bool onAccelerator = true; ///< whether it can run there
    int64_t processorTime = 0;
    int64_t memory = 0;           ///< of the accelerator it is on
    int64_t gradients = 0;        ///< bytes that replicas reduce (Overlap)
    int64_t colocationGroup = -1; ///< nodes of one number share a stage; -1: on its own
    bool backward = false;        ///< is where nodes `together` with it are; see `stageOrder`
    SourceLocation location;
  };
  /// What a node sends to all that read it. A stage that reads it, and is not where it is made,
  /// pays once; so does (Sum) the stage where it is made, if any other reads it.
  struct Transfer {
    Id from = 0;
    std::vector<Id> to; ///< at least one; none twice
    int64_t time = 0;
  };

  Rule rule = Rule::Sum;
  std::vector<Node> nodes;
  std::vector<Transfer> transfers; ///< one of each node at most
  int64_t accelerators = 1;
  int64_t processors = 0;
  int64_t memory = 0;         ///< of an accelerator
  double timePerByte = 0;     ///< picoseconds a byte takes between replicas (Overlap)
  bool allowReplicas = false; ///< whether a stage may have several replicas (Overlap)
  /// Whether stages are in an order; else a stage is any set of nodes (Sum; Tarnawski et al., section 4.2).
  bool contiguous = true;
  SourceLocation location;
};

/// Pairs (a, b): the stage of a is not after the stage of b. Edges between forward nodes; and, for
/// backward nodes that no forward node is together with, the reverse of edges from and to other
/// backward nodes: they run in the reverse order.
std::vector<std::pair<PartitioningProblem::Id, PartitioningProblem::Id>> stageOrder(const PartitioningProblem &problem);

/// Empty where a problem may be computed on: numbers in range, no cycle, one transfer of each node,
/// no edge from a backward to a forward node. Code A0943.
Errors check(const PartitioningProblem &problem);

struct PartitioningStage {
  bool processor = false;
  int64_t replicas = 1;
  std::vector<PartitioningProblem::Id> nodes; ///< ascending
  int64_t compute = 0;                        ///< time of its nodes; of one replica
  int64_t communication = 0;                  ///< transfers, and (Overlap) the all-reduce if that is longer
  int64_t load = 0;
  int64_t memory = 0; ///< of one accelerator; on a processor what its nodes would take of one
};

struct PartitioningResult {
  enum class Status : uint8_t {
    Feasible,   ///< `stages` is an answer; the best where load = bound
    Infeasible, ///< there is none; `conflict` says why
    Unknown,    ///< none was found, and none was proven not to exist
  };
  Status status = Status::Unknown;
  std::vector<PartitioningStage> stages; ///< in their order, none empty
  int64_t load = 0;                      ///< of the fullest stage
  int64_t bound = 0;                     ///< no answer has less
  std::string proof;                     ///< of the bound, for people
  std::string conflict;
  int64_t minMemory = 0; ///< Infeasible: with so much of each accelerator there is one; 0: never
  std::string stopped;   ///< "", "work limit", "interrupted"
  uint64_t stagesTried = 0;
};

} // namespace accord
