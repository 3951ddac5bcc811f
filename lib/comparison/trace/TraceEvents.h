// The events of a trace of PyTorch's profiler (Kineto), as plain data.
#pragma once
#include "lib/support/Result.h"
#include <map>
#include <optional>

namespace accord::comparison {

using Shape = std::vector<int64_t>;

enum class EventKind : uint8_t {
  Call,       ///< of the framework: "cpu_op"
  Annotation, ///< "user_annotation", a module of "python_function"
  Launch,     ///< a call of the driver: "cuda_runtime", "hip_runtime", "cuda_driver"
  Kernel,     ///< on the device
  Copy,       ///< "gpu_memcpy"
  Fill        ///< "gpu_memset"
};

struct TraceEvent {
  EventKind kind = EventKind::Call;
  uint32_t name = 0;              ///< index into TraceEvents::texts
  uint32_t thread = 0;            ///< index into TraceEvents::texts, of process and thread
  uint32_t inputs = 0;            ///< index into TraceEvents::inputs; 0: not recorded
  uint32_t device = 0;            ///< of what runs on one
  double start = 0, duration = 0; ///< microseconds
  int64_t correlation = -1, external = -1;
  int64_t sequence = -1;
  uint32_t collective = 0; ///< index into TraceEvents::collectives; 0: it says nothing of one
  double end() const { return start + duration; }
};

/// What calls were given, as far as it was recorded.
struct CallInputs {
  std::vector<Shape> shapes;       ///< of tensors, in order; lists of tensors are taken apart
  std::vector<std::string> values; ///< "Concrete Inputs": "[2, 2]"; empty for tensors
  friend auto operator<=>(const CallInputs &, const CallInputs &) = default;
};

/// What a call or a kernel says of the collective that it is.
struct CollectiveArguments {
  std::string name;                  ///< "allreduce", "_allgather_base", "send"
  std::string type;                  ///< "BFloat16"
  std::string group;                 ///< name of the process group
  std::vector<int64_t> ranks;        ///< of the group, ascending; empty: it does not say
  int64_t inputs = -1, outputs = -1; ///< elements
  int64_t groupSize = -1;
  int64_t from = -1, to = -1; ///< ranks, of messages
  friend auto operator<=>(const CollectiveArguments &, const CollectiveArguments &) = default;
};

/// Which process of a distributed training wrote the trace ("distributedInfo").
struct DistributedInfo {
  int64_t rank = -1, worldSize = -1;                  ///< -1: it does not say
  std::string backend;                                ///< "nccl"
  std::map<std::string, std::vector<int64_t>> groups; ///< ranks by name of a process group ("pg_config"), ascending
};

struct TraceEvents {
  std::string path;
  std::vector<std::string> texts;
  std::vector<CallInputs> inputs;               ///< the first stands for none
  std::vector<CollectiveArguments> collectives; ///< the first stands for none
  std::vector<TraceEvent> events;               ///< in the order of the file
  std::map<uint32_t, std::string> devices;      ///< names by number
  DistributedInfo distributed;
  size_t passedOver = 0; ///< events that say nothing about the time of an operation
};

/// Reads a trace; each event takes less than 100 bytes. Errors: those of `readTraceText`; A0811 an event whose time is
/// no number, negative or not finite, or whose identifiers, shapes or sizes of collectives are no whole numbers, or a
/// rank that is none of the world; A0812 no event of the framework and no kernel.
Result<TraceEvents> readTraceEvents(const std::string &path);

} // namespace accord::comparison
