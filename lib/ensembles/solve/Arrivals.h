// When the votes of a device are there.
#pragma once
#include "lib/ensembles/problem/AnswerProblem.h"

namespace accord {

/// Probability that the sum of some latencies is at most a time: limits that hold for all distributions with the stated
/// quantiles, however the parts of the sum depend on each other, and an estimate between them.
struct ArrivalShare {
  Rational min = 1, max = 1;
  double estimate = 1;
};

/// At least: 1 - the sum over the parts of 1 - share, for one quantile of each whose times add up to `time` at most
/// (the union bound). At most: for each part alone, what the others leave is all of `time`; a part whose quantiles lie
/// before and behind it has the share of the later one. Both are the share itself where there is one part with a
/// quantile at just this time. The estimate is lognormal between quantiles: ln t is linear in the standard normal
/// quantile of the share, and goes on so beyond the outer ones; of several parts the same quantiles are added.
ArrivalShare arrivalShare(const std::vector<TimeQuantiles> &parts, int64_t time);

/// Of one device: its members in turn, and its network.
std::vector<TimeQuantiles> latencyParts(const AnswerProblem &problem, const AnsweringDevice &device);

/// How votes reach whoever counts them within `time`. Devices of `failed` (indices) lose all.
VoteDelivery deliveryOf(const AnswerProblem &problem, const std::vector<AnsweringDevice> &devices, int64_t quorum,
                        int64_t time, const std::vector<size_t> &failed);

} // namespace accord
