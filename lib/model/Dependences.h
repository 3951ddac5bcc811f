// Who waits for whom inside each region, with repeats as single operations.
#pragma once
#include "lib/model/WorkGraph.h"

namespace accord {

/// Derived from the values of a checked graph. Adjacency lists are sorted and free of duplicates.
struct Dependences {
  std::vector<OperationId> producer; ///< by ValueId: the operation of the value's region that makes it, or kNone
  std::vector<std::vector<OperationId>> predecessors; ///< by OperationId, in the same region
  std::vector<std::vector<OperationId>> successors;   ///< by OperationId, in the same region
  /// By OperationId: values of the operation's own region (or an outer one) that it reads. For a repeat also what its
  /// body captures, the initial values of its carried arguments and the stacks it consumes.
  std::vector<std::vector<ValueId>> uses;

  static Dependences of(const WorkGraph &graph);
};

/// The value that `value` is a view of, following aliases; never leaves the graph. An alias of a carried argument or of
/// a stash's slice is followed too: those arguments are roots of their own.
ValueId storageRoot(const WorkGraph &graph, ValueId value);

} // namespace accord
