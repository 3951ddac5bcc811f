// The execution trace of one rank, as plain data: what it computes, loads and exchanges, and what each waits for.
#pragma once
#include "lib/support/Result.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace accord::chakra {

/// In the order of the format.
enum class NodeKind : uint8_t { Invalid, Metadata, MemoryLoad, MemoryStore, Compute, Send, Receive, Collective };
constexpr unsigned kNodeKinds = 8;
/// "COMP_NODE", …
inline const char *nameOf(NodeKind kind) {
  constexpr const char *names[kNodeKinds] = {"INVALID_NODE", "METADATA_NODE",  "MEM_LOAD_NODE",  "MEM_STORE_NODE",
                                             "COMP_NODE",    "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE"};
  return names[static_cast<unsigned>(kind)];
}

enum class CollectiveKind : uint8_t {
  AllReduce,
  Reduce,
  AllGather,
  Gather,
  Scatter,
  Broadcast,
  AllToAll,
  ReduceScatter,
  ReduceScatterBlock,
  Barrier
};
constexpr unsigned kCollectiveKinds = 10;
/// "all_reduce", …
inline const char *nameOf(CollectiveKind kind) {
  constexpr const char *names[kCollectiveKinds] = {
      "all_reduce", "reduce",         "all_gather",           "gather", "scatter", "broadcast",
      "all_to_all", "reduce_scatter", "reduce_scatter_block", "barrier"};
  return names[static_cast<unsigned>(kind)];
}

struct Node {
  uint64_t id = 0;
  std::string name;
  NodeKind kind = NodeKind::Compute;
  std::vector<uint64_t> dataDependences, controlDependences; ///< ids of nodes
  double start = 0, seconds = 0; ///< in a file: whole microseconds, and the seconds as an attribute of Accord
  std::string phase;             ///< "forward", "update"; empty: not stated
  int64_t flops = 0;             ///< of a computation: num_ops
  int64_t bytes = 0;             ///< of a computation: what it moves; else what is loaded, sent, exchanged
  int64_t resultBytes = 0;       ///< of a computation
  CollectiveKind collective = CollectiveKind::AllReduce;
  std::string group;                 ///< of a collective: the number of its ranks' list (pg_name); empty: all ranks
  int32_t from = 0, to = 0, tag = 0; ///< ranks, of messages
};

struct ExecutionTrace {
  int64_t rank = 0;
  std::vector<Node> nodes; ///< each behind those that it depends on, when Accord wrote them
};

/// Nodes with one id, dependences on nodes that there are none of, cycles, times and sizes that are negative or not
/// finite, nodes of no kind. Code A0811, at most 20, with the name of the node.
Errors check(const ExecutionTrace &trace, const std::string &path);

} // namespace accord::chakra
