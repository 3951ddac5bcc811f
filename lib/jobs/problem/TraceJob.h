// Jobs as a cluster recorded them, in one form for all formats of traces: plain data.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace accord::jobs {

/// What became of a job, as far as its trace says.
enum class TraceState : uint8_t { Unknown, Waiting, Running, Completed, Failed, Cancelled, TimedOut };

struct TraceJob {
  std::string name;                     ///< unique in its trace
  std::string tenant;                   ///< account, virtual cluster or user; empty if the trace says none
  double arrival = 0;                   ///< seconds since the first arrival of the trace
  double duration = 0;                  ///< seconds on its devices; 0: unknown
  unsigned devices = 1;                 ///< all at once, 1 or more
  std::vector<std::string> deviceTypes; ///< all of its devices are of one of them; empty: of any type
  double timeLimit = 0;                 ///< seconds after which it is stopped; 0: none, or unknown
  TraceState state = TraceState::Unknown;
  unsigned line = 0; ///< of the trace, from 1; 0 where a trace has no lines (JSON)
};

struct Trace {
  std::string format;         ///< "Slurm accounting, text", …
  double origin = 0;          ///< the time of arrival 0 in the trace's own seconds (of dates: since 1970-01-01)
  std::vector<TraceJob> jobs; ///< by arrival, ties in the order of the trace
  size_t parts = 0;           ///< jobs that asked for a part of a device, which is rounded up to a whole one
  size_t withoutDevices = 0;  ///< jobs that are left out because they use no device
  /// What the trace did not say and was assumed, and what was left out, each with its count.
  std::vector<std::string> assumptions;
};

} // namespace accord::jobs
