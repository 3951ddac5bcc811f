// Proves again what is claimed of a majority vote, by arithmetic with fractions alone.
#pragma once
#include "lib/ensembles/problem/MemberStatistics.h"
#include "lib/ensembles/problem/VoteCertificate.h"
#include "lib/support/Verification.h"

namespace accord {

struct VoteProof : Verification {
  bool tight = false;               ///< a distribution with these rates attains the bound
  std::optional<Rational> attained; ///< what a distribution with these rates attains, where one is stated
};

/// Limits by the binomial tail, multipliers on every pattern of wrong members, independence and
/// distributions by summing over all patterns. Samples of which too many were wrong for the sum are
/// trusted. Rates themselves are taken as given. A0906 a bound that does not follow, A0901 what is malformed.
VoteProof verify(const VoteCertificate &certificate);

/// Probability that less than the quorum arrives, at most, which does not depend on errors. Of a delivery that fits its
/// members.
Rational shareWithoutAnswer(const VoteDelivery &delivery);

/// The fewest limits that have to hold together where ensembles of these odd sizes, and after a
/// loss of devices of any odd size, may be chosen by them: measured rates, members of the table,
/// and multisets of its kinds. At most 63 members in the table.
Rational minSimultaneousTests(const MemberStatistics &statistics, const std::vector<unsigned> &sizes,
                              bool deviceFailures);

} // namespace accord
