// What a voting server has seen so far, as plain data.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace accord::voting {

/// Milliseconds; quantiles.
struct LatencyQuantiles {
  double p50 = 0, p90 = 0, p99 = 0, p999 = 0;
};

/// What became of the votes that a member was asked for. The numbers behind `asked` add up to it, but for those that
/// are awaited.
struct MemberTally {
  std::string name;
  int64_t asked = 0;
  int64_t inTime = 0;    ///< counted
  int64_t late = 0;      ///< not there at the time-out
  int64_t refused = 0;   ///< nobody took the request, or the connection ended without an answer
  int64_t wrongForm = 0; ///< an answer that is no vote of these classes
  int64_t unneeded = 0;  ///< the decision was certain before it came
};

struct VotingStatistics {
  int64_t requests = 0;     ///< that could be understood
  int64_t answered = 0;     ///< with a label
  int64_t none = 0;         ///< without a quorum
  int64_t overloaded = 0;   ///< refused because too many were open
  int64_t open = 0;         ///< not answered yet
  int64_t known = 0;        ///< of those with a label: the true one was stated
  int64_t wrong = 0;        ///< of these
  LatencyQuantiles latency; ///< from the request to its answer, of those with a label and without a quorum
  std::vector<MemberTally> members;
};

} // namespace accord::voting
