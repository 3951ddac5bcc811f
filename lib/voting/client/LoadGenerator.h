// Requests to a voting server, at a rate or by so many at once, and what was measured of the answers.
#pragma once
#include "lib/service/call/HttpCall.h"
#include "lib/support/Result.h"
#include "lib/voting/problem/AskReport.h"
#include <atomic>
#include <functional>

namespace accord::voting {

/// One input; as JSON.
struct AskedInput {
  std::string input;
  std::optional<int64_t> truth = std::nullopt;
};

struct LoadOptions {
  service::HttpUrl url;
  int64_t requests = 1000;
  size_t connections = 16; ///< at once; with a rate, requests that are due wait for one
  double rate = 0;         ///< a second: exponential times between requests (Poisson); 0: each after an answer
  uint64_t seed = 1;       ///< of these times
};

/// Sends `requests` requests with ids from 0 on; `inputOf` makes the input of an id. Ends after the last answer, or
/// when `stop` is set: then those that were not answered are left out. Counts and latencies; the limits of shares and
/// what is planned are for `evaluate`. Error A0801: the server has no address.
Result<AskReport> generateLoad(const LoadOptions &options, const std::function<AskedInput(int64_t id)> &inputOf,
                               const std::atomic<bool> &stop);

/// Adds limits of the shares, and what contradicts the plan: a share of wrong answers, or one without an answer, that
/// is larger with 95 % confidence.
void evaluate(AskReport &report, const VotingConfig &config);

} // namespace accord::voting
