// What is known of errors by kind of member, of which there may be several.
#pragma once
#include "lib/ensembles/problem/EnsembleRequest.h"

namespace accord {

/// Rates of kinds hold for all members of them.
struct MemberStatistics {
  std::vector<ErrorRate> memberErrors;                    ///< by kind
  std::map<std::vector<unsigned>, ErrorRate> jointErrors; ///< by kinds ascending, with repetition
  bool independent = false;
  VoteTable table; ///< no members: there is none
  /// Devices may be lost, and any members of a kind with them: of the table those with the most
  /// wrong votes count, whose limit holds for the others too.
  bool anyOfKind = false;
};
MemberStatistics memberStatistics(const EnsembleRequest &request);

/// By kind, 4 ln((1 - e) / e) as a whole number, 1 at least: weights of the vote that is wrong least often where errors
/// are independent (Nitzan and Paroush, International Economic Review 23, 1982), and weights as good as any others
/// where they are not. e is what is stated, or seen of the first member of the kind in the table; without either the
/// weight is 1.
std::vector<int64_t> logOddsWeights(const MemberStatistics &statistics);

/// Kind of each of so many members of each kind: the kinds ascending.
std::vector<unsigned> kindsOf(const std::vector<unsigned> &counts);
/// What is known of them. Of a soft vote the table knows single members, and all members together: then a sample has
/// the vote of all in place of each member's, so that the count of votes is the soft vote. Votes of the first members
/// of each kind in the table, or with `anyOfKind` of those whose vote was wrong most often, if it has as many; none
/// where that are too many to look at (2^24 votes of members).
ErrorStatistics statisticsOf(const MemberStatistics &statistics, const std::vector<unsigned> &counts);

/// Limits that have to hold together where an ensemble is chosen from all of these odd sizes (of
/// all odd ones where devices may be lost): one for each rate that was measured, each member in the
/// table, and each multiset of kinds that the table could be asked about. One or more.
int64_t simultaneousTests(const MemberStatistics &statistics, const std::vector<unsigned> &sizes);

} // namespace accord
