// Which members, how many, and where each is trained.
#pragma once
#include "lib/ensembles/problem/Members.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace accord {

/// Guaranteed error of the vote of so many members of each kind, an odd number in all; nothing:
/// what is known of them contradicts itself. Asked once for each.
using VoteError = std::function<std::optional<Rational>(const std::vector<unsigned> &counts)>;

struct MemberOptions {
  uint64_t effort = 1'000'000; ///< partial placements of one ensemble that are looked at
};

/// For each size the least ensemble that keeps the requirement, of those that fit the devices, and
/// the least of all sizes. Exact but where `effort` ends a search (`proven`): all multisets of
/// kinds in the order of a lower bound of their objective, each placed by branch and bound if its
/// bound is below the best so far, and asked for its error if it is placed. Does not depend on the
/// order of kinds and devices but for which of equal ones is shown. The problem passes `check`.
///
/// With `MemberProblem::deviceFailures` the least error of an odd sub-quorum of those that are left counts,
/// after the worst loss of so many of the devices that are used.
MembersResult chooseMembers(const MemberProblem &problem, const VoteError &error, const MemberOptions &options = {});

/// Of a choice with members lost: which of the others vote, by kind; no votes where nothing is
/// left to vote with.
struct Quorum {
  std::vector<unsigned> counts;
  Rational error = 1;
};
/// The odd sub-multiset of `left` whose vote has the least error, the smallest of equal ones.
Quorum bestQuorum(const std::vector<unsigned> &left, const VoteError &error);

/// A loss of devices and what is voted with afterwards.
struct DeviceFailure {
  std::vector<std::pair<unsigned, int64_t>> devices; ///< kind and number
  std::vector<unsigned> left;                        ///< members, by kind
  Quorum quorum;
};
/// Each loss of `deviceFailures` of the devices that a choice uses (all, if it uses fewer).
std::vector<DeviceFailure> deviceFailuresOf(const MemberProblem &problem, const MemberChoice &choice,
                                            unsigned deviceFailures, const VoteError &error);

/// What one model of a width costs, by its real graph (parameters, multiply-accumulates, bytes):
/// layers inside grow with the square of the width, the first and the last one as it does. Nothing:
/// there is no such model.
using WidthCost = std::function<std::optional<double>(int64_t width)>;

struct MemberWidth {
  unsigned members = 1;
  int64_t width = 0; ///< of each
  double cost = 0;   ///< of all together, at most the budget
};

/// For each number of members the widest model, of a multiple of `step` up to `max`, of which so
/// many cost at most `budget`; those of which there is none are left out. By bisection, as cost is
/// taken to grow with width; with W widths O(log W) models are asked for per number. A heuristic:
/// what their errors are has to be measured. The square root law gives 1/sqrt(N) of the width.
std::vector<MemberWidth> memberWidths(const std::vector<unsigned> &members, int64_t max, int64_t step, double budget,
                                      const WidthCost &cost);

} // namespace accord
