// How votes reach whoever counts them, as plain data.
#pragma once
#include "lib/support/Rational.h"
#include <cstdint>
#include <vector>

namespace accord {

/// Votes of devices that may be lost or late, with weights, and a quorum. What happens to one device or vote is
/// independent of all others, and of errors of members.
struct VoteDelivery {
  std::vector<unsigned> device; ///< by member: index into `undelivered`
  /// By device: probability that none of its votes arrives in time; at most, where `minUndelivered` says at least
  /// which.
  std::vector<Rational> undelivered;
  std::vector<Rational> minUndelivered; ///< by device; none: `undelivered` is exact
  std::vector<Rational> corrupted;      ///< by member: probability that its vote is wrong whatever the member found
  std::vector<int64_t> weights;         ///< by member, from 1 to 2^20
  /// Without votes of this weight there is no answer, which is no wrong one.
  int64_t quorum = 1;
  /// What is claimed: false: that an answer is given and wrong. True: that the votes do not decide, for some votes are
  /// missing, and less than the quorum, or half of the weight of all members or less, is right.
  bool isUndecided = false;
  bool operator==(const VoteDelivery &) const = default;
};

} // namespace accord
