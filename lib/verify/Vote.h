// Proves again what is claimed of a majority vote, by arithmetic with fractions alone.
#pragma once
#include "lib/model/Check.h"
#include "lib/model/VoteClaim.h"

namespace accord {

struct VoteProof {
  std::vector<Issue> findings; ///< A0906 a bound that does not follow, A0901 what is malformed
  std::vector<std::string> checked, trusted;
  bool tight = false; ///< a distribution with these rates attains the bound
  bool holds() const { return findings.empty(); }
};

/// Limits by the binomial tail, multipliers on every pattern of wrong members, independence and
/// distributions by summing over all patterns. Samples of which too many were wrong for the sum are
/// trusted. Facts themselves are taken as given.
VoteProof verify(const VoteClaim &claim);

} // namespace accord
