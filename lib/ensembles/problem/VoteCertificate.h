// What is claimed of a majority vote, and what proves it, as plain data: the certificate of a
// guarantee.
#pragma once
#include "lib/ensembles/problem/Ensemble.h"
#include "lib/ensembles/problem/VoteDelivery.h"

namespace accord {

/// A pattern of members fits a number of 64 bits, and so does how many patterns there are of a
/// kind.
constexpr unsigned kMaxEnsembleMembers = 63;

/// By group of members, of how many something is meant; a number of that.
struct VoteTerm {
  std::vector<unsigned> counts;
  Rational value;
  bool operator==(const VoteTerm &) const = default;
};

/// The upper limit of a share of which `wrong` of `samples` were seen.
struct VoteLimit {
  int64_t wrong = 0, samples = 0;
  Rational limit;
  bool operator==(const VoteLimit &) const = default;
};

/// "The vote of all members is wrong with a probability of at most `value`." A vote fails when half
/// of the members or more are wrong: a tie is an error. With a delivery: an answer is given, and
/// half of the weight that arrived for it or more is wrong.
///
/// Rates count so: as asserted; at most their limit where they were seen in samples; of a set that
/// nothing is known of, at most the least of its subsets. Where there is a table of votes, rates
/// seen in samples are set aside.
struct VoteCertificate {
  enum class Proof {
    /// `constant` + the sum over `multipliers` of value * the rates of all sets with so many
    /// members of each group. On every pattern of wrong members, `constant` + the sum over the sets
    /// that are wrong is the share of votes that fail or more: 1 or 0 without a delivery; rates
    /// that are only at most so large have no negative multiplier.
    Multipliers,
    Independence, ///< the members' errors are independent: sum over all patterns that fail
    /// Limit of wrong votes in the table. With a delivery, votes of the table fail with shares v1 < v2 < …: the sum of
    /// (v_j - v_(j-1)) * the limit of votes with a share of v_j or more, each limit a test of its own.
    Table,
    /// As Multipliers, but 0 or more on every pattern, and the sum is negative: no joint
    /// distribution has these rates.
    Contradiction,
  };

  ErrorStatistics statistics; ///< of the members that vote: 1 to kMaxEnsembleMembers
  /// Kind of each member: what is measured of kinds holds for all members of it, in one test.
  /// Empty: each is its own.
  std::vector<unsigned> kinds;
  Rational confidence = Rational(19) / Rational(20);
  /// Limits that have to hold together, each with an error of (1 - confidence) / tests.
  int64_t tests = 1;
  std::vector<VoteLimit> limits; ///< that are used

  std::optional<VoteDelivery> delivery; ///< nothing: all votes arrive as they are, and count alike

  Proof proof = Proof::Multipliers;
  Rational value = 1;
  /// Every member is in one. Members of a group have the same multipliers.
  std::vector<std::vector<unsigned>> groups;
  Rational constant;
  std::vector<VoteTerm> multipliers;
  /// A joint distribution with these rates whose vote is wrong so often: no better bound follows
  /// from them. By number of wrong members of each group, each pattern with these numbers alike,
  /// a probability. Empty: none is stated.
  std::vector<VoteTerm> attained;
};

} // namespace accord
