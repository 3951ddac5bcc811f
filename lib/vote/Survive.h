// What a vote guarantees after members were lost.
#pragma once
#include "lib/vote/Bounds.h"

namespace accord {

struct VoteLoss {
  std::vector<unsigned> lost;   ///< members, ascending
  std::vector<unsigned> quorum; ///< which of the others vote: an odd number; empty: none are left
  Rational value = 1;           ///< error of their vote at most
};
struct VoteSurvival {
  std::vector<VoteLoss> losses; ///< as asked
  size_t worst = 0;             ///< of `losses`
  Rational value() const { return losses.empty() ? Rational(1) : losses[worst].value; }
};

/// For each set of members that may be lost the odd quorum of the others whose vote is guaranteed
/// best, the smallest of equal ones. Above nine members only those of the members with the least
/// error for each size are looked at. Where it is a table of votes that shows it, its tests are as
/// many as quorums are looked at. Rates must not contradict each other.
VoteSurvival survive(const ErrorFacts &facts, const std::vector<std::vector<unsigned>> &losses,
                     const VoteOptions &options);
/// All sets of so many of the members.
std::vector<std::vector<unsigned>> lossesOf(unsigned members, unsigned lost);

} // namespace accord
