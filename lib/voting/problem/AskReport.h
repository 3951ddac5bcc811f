// What a client measured of an ensemble that runs, as plain data.
#pragma once
#include "lib/voting/problem/VotingConfig.h"
#include "lib/voting/problem/VotingStatistics.h"

namespace accord::voting {

/// A share of all requests, with the limits of Clopper and Pearson: at 95 % confidence it is between them.
struct MeasuredShare {
  int64_t number = 0;
  double share = 0, low = 0, high = 1;
};

struct AskReport {
  std::string name; ///< of the ensemble
  int64_t requests = 0;
  int64_t answered = 0;     ///< with a label
  int64_t failed = 0;       ///< neither a label nor "no quorum": the server was not there, or answered something else
  int64_t known = 0;        ///< of those with a label: the true one is known
  MeasuredShare wrong;      ///< there is an answer and it is wrong
  MeasuredShare none;       ///< there is no quorum
  double seconds = 0;       ///< from the first request to the last answer
  LatencyQuantiles latency; ///< of a client: from when a request was due to its answer
  double maxLatency = 0;    ///< milliseconds
  std::optional<PlannedAnswer> planned = std::nullopt;
  /// What the plan states and the measurement contradicts, in sentences; empty: nothing.
  std::vector<std::string> contradictions = {};

  double rate() const { return seconds > 0 ? static_cast<double>(requests) / seconds : 0; }
};

} // namespace accord::voting
