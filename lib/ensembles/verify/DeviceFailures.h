// Proves again that a vote survives the loss of devices.
#pragma once
#include "lib/ensembles/problem/Members.h"
#include "lib/support/Result.h"
#include <map>

namespace accord {

/// After each loss of `problem.lost` of the devices that a choice uses some odd quorum of the
/// members that are left has an error of at most `afterLoss`; errors of quorums, by number of
/// members of each kind, as they are `proven`. A0906 at the first loss of which that is not shown.
/// `losses`: how many were looked at.
Errors verifyDeviceFailures(const MemberProblem &problem, const MemberChoice &choice,
                            const std::map<std::vector<unsigned>, Rational> &proven, uint64_t &numFailures);

} // namespace accord
