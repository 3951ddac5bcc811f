// The server that asks all members of an ensemble and answers what they agree on.
//
//   POST /answer    {"id": 7, "input": …, "truth": 3}     `truth` may be left out: it is for statistics alone
//     200           {"id": 7, "label": 3, "weight": 4, "voted": ["wide", "thin"], "latency_ms": 1.9}
//     503           {"id": 7, "error": "no quorum", "weight": 1, "quorum": 3,
//                    "missing": [{"member": "thin", "reason": "late"}, …], "latency_ms": 100.1}
//   GET /statistics, GET /ensemble (its ensemble.json), GET /health
//
// Each request is answered once: as soon as no vote that is awaited can change the label, or when the time-out is over,
// or when no quorum can be reached any more. A member that is stopped, slow or gone holds up nobody: it is asked over
// connections of its own, of which there are so many at most.
#pragma once
#include "lib/support/Result.h"
#include "lib/voting/problem/VotingConfig.h"
#include "lib/voting/problem/VotingStatistics.h"
#include <memory>

namespace accord::voting {

struct VotingServerOptions {
  std::string address = "127.0.0.1";
  int port = 0;                      ///< 0: any that is free
  size_t open = 4096;                ///< requests at once; others get 503
  size_t connectionsPerMember = 512; ///< that wait for a vote; above, its vote is refused
};

class VotingServer {
public:
  /// Error A0801: it cannot listen, or a member's URL has no address. Members need not be there.
  static Result<std::unique_ptr<VotingServer>> start(VotingConfig config, const VotingServerOptions &options);
  virtual ~VotingServer() = default;
  virtual int port() const = 0;
  virtual VotingStatistics statistics() const = 0;
  /// Takes no request any more and ends. May be called twice.
  virtual void stop() = 0;
};

} // namespace accord::voting
