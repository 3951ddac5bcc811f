// Voter ensembles as plain data: what is known of their members' errors, and what is claimed of
// the vote.
#pragma once
#include "lib/support/Rational.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace accord {

/// A share of wrong answers: asserted, or seen in samples. Not known: {1, -1}.
struct ErrorRate {
  Rational rate;       ///< 0 to 1
  int64_t samples = 0; ///< 0: exact, as the user asserts; below 0: not known
  bool operator==(const ErrorRate &) const = default;
};

/// What is known of errors of members 0 … n-1 of one ensemble (copies of a kind are members each).
struct ErrorStatistics {
  std::vector<ErrorRate> memberErrors;
  /// By ascending members, two or more: all of them wrong at once.
  std::map<std::vector<unsigned>, ErrorRate> jointErrors;
  bool independent = false; ///< as the user asserts
  /// Votes seen: bit i of the pattern set where member i was wrong; how often. Empty: none.
  std::map<uint64_t, int64_t> votes;
  bool operator==(const ErrorStatistics &) const = default;
};

} // namespace accord
