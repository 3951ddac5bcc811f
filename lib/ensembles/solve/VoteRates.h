// The rates that bounds of votes count with.
#pragma once
#include "lib/ensembles/problem/VoteCertificate.h"

namespace accord {

struct VoteOptions {
  Rational confidence = Rational(19) / Rational(20); ///< above 0, below 1
  /// Limits that have to hold together at this confidence: of all candidates among which a choice
  /// is made with the same samples. 0: as many as these facts have.
  int64_t tests = 0;
  std::vector<unsigned> kinds; ///< as in VoteClaim
};

struct VoteRate {
  Rational rate;
  bool exact = true; ///< else at most
};

/// Facts with limits in place of what was seen. Sets that are none of 1 … `members` ascending
/// members are left out, as are rates that are not known.
class VoteRates {
public:
  VoteRates(const ErrorStatistics &statistics, const VoteOptions &options);

  unsigned members = 0;
  std::map<std::vector<unsigned>, VoteRate> known;
  int64_t tests = 1;             ///< stated, or counted
  std::vector<VoteLimit> limits; ///< that are in `known`
  /// Of any set: known, or at most the least of its known subsets, or 1.
  VoteRate of(const std::vector<unsigned> &set) const;
  /// Error of each limit.
  Rational delta;
};

} // namespace accord
