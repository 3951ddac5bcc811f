// What ranks exchange in a measured step, as plain data.
#pragma once
#include "lib/comparison/problem/Intervals.h"
#include "lib/comparison/problem/Work.h"

namespace accord::comparison {

enum class CommunicationKind : uint8_t {
  AllReduce,
  ReduceScatter,
  AllGather,
  AllToAll,
  Broadcast,
  Reduce,
  Message, ///< from one rank to another: send and receive
  Other
};
constexpr unsigned kCommunicationKinds = 8;
inline const char *nameOf(CommunicationKind kind) {
  constexpr const char *names[kCommunicationKinds] = {"all-reduce", "reduce-scatter", "all-gather", "all-to-all",
                                                      "broadcast",  "reduce",         "message",    "other"};
  return names[static_cast<unsigned>(kind)];
}

/// One kernel of a collective, or of messages, on one rank. Times are seconds, from the start of its step.
struct MeasuredCollective {
  CommunicationKind kind = CommunicationKind::Other;
  std::string call;           ///< "allreduce", "recv"; empty: the trace does not say
  std::string kernel;         ///< "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"; on a processor the call
  std::string group;          ///< name of the process group; empty: the trace does not say
  std::vector<int64_t> ranks; ///< of the group, ascending; empty: the trace does not say
  int64_t groupSize = 0;      ///< 0: the trace does not say
  int64_t bytes = 0; ///< of the whole tensor: what is reduced, or all parts together. 0: the trace does not say
  int64_t from = -1, to = -1; ///< ranks of a message; -1: the trace does not say
  Part part = Part::Unknown;
  double start = 0, seconds = 0;
  std::vector<Interval> alone; ///< when no computation of the step runs; other collectives may
};

} // namespace accord::comparison
