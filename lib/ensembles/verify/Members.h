// Proves again which members were chosen and where they are trained.
#pragma once
#include "lib/ensembles/problem/Members.h"
#include "lib/support/Verification.h"
#include <map>

namespace accord {

struct MembersProof : Verification {
  /// Of `MembersResult::rejected`: those that could be below a bound if their errors were guaranteed
  /// to be smaller. The bound rests on it that they are not.
  std::vector<size_t> assumedRejections;
};

/// Each choice: members, devices, memory, and what it takes; which is the best. Bounds: every
/// multiset of kinds is placed again, a device at a time: by the members that are done after each
/// device, whatever it has (dynamic programming over numbers of each kind). What takes more than
/// `effort` steps is trusted. Guaranteed errors themselves are proved elsewhere. A0904 devices, A0905 what a choice
/// takes, A0906 a bound.
MembersProof verify(const MemberProblem &problem, const MembersResult &result, uint64_t effort = 20'000'000);

/// After each failure of `problem.deviceFailures` of the devices that a choice uses some odd quorum of the members that
/// are left has an error of at most `errorAfterFailures`; errors of quorums, by number of members of each kind, as they
/// are `proven`. A0906 at the first failure of which that is not shown. `numFailures`: how many were looked at.
Errors verifyDeviceFailures(const MemberProblem &problem, const MemberChoice &choice,
                            const std::map<std::vector<unsigned>, Rational> &proven, uint64_t &numFailures);

} // namespace accord
