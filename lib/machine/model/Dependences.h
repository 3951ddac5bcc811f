// Who waits for whom inside each region, with repeats as single operations.
#pragma once
#include "lib/machine/model/WorkGraph.h"

namespace accord {

/// Derived from the values of a graph whose ids are in range. Adjacency lists are sorted and free
/// of duplicates.
struct Dependences {
  /// By ValueId: an argument that stands for another storage in each iteration (carried, or a slice
  /// of a stack).
  std::vector<bool> changing;
  std::vector<OperationId> producer; ///< by ValueId: the operation that makes it, or kNone
  /// By ValueId: the value whose storage it shares. Aliases are followed up to an argument that
  /// changes with the iteration (carried, or a slice of a stack), which is a root of its own.
  std::vector<ValueId> root;
  /// By ValueId: the first value on its alias chain that has a producer or is a root; who reads the
  /// value waits for it.
  std::vector<ValueId> source;
  std::vector<std::vector<OperationId>> predecessors; ///< by OperationId, in the same region
  std::vector<std::vector<OperationId>> successors;   ///< by OperationId, in the same region
  /// By OperationId: the sources it reads, of its own or an outer region. For a repeat: what its
  /// body captures, the initial values of its carried arguments and the stacks it consumes.
  std::vector<std::vector<ValueId>> uses;

  static Dependences of(const WorkGraph &graph);

  /// A dependence between iterations of a repeat: `after` waits for what `before` made `distance` iterations ago.
  struct Carried {
    OperationId before, after;
    int64_t distance; ///< 1 or more
    friend auto operator<=>(const Carried &, const Carried &) = default;
  };
  /// Of the operations of a repeat's body, through its carried values, also where one is handed on from argument to
  /// argument. Sorted; of the same two operations the one of the least distance.
  std::vector<Carried> carried(const WorkGraph &graph, RegionId body) const;

  /// Which iteration of `taker` needs the slice that is made last.
  enum class Slices : uint8_t {
    Whole,  ///< all: the slices are parts of a tensor that is there as a whole
    Newest, ///< the first: the other repeat runs the other way
    Oldest, ///< the last
  };
  Slices order(const WorkGraph &graph, const Region &taker, const Region::Slice &slice) const;
};

} // namespace accord
