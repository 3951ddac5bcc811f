// Whether what a guarantee rests on is what is stated of the kinds of its members.
#pragma once
#include "lib/ensembles/problem/MemberStatistics.h"
#include <optional>
#include <string>

namespace accord {

/// What `claimed` says of so many members of each kind otherwise than `stated` says of the kinds; nothing: it says just
/// that. Rates of a set of members are those of its kinds, all sets of these kinds have one. Votes are those of columns
/// of the table: of the first members of each kind, or, where any of them may be lost, of members whose vote was wrong
/// as often as that of any; none where the table lacks members, or where 2^24 votes would have to be counted.
std::optional<std::string> statisticsViolation(const ErrorStatistics &claimed, const MemberStatistics &stated,
                                               const std::vector<unsigned> &counts);

} // namespace accord
