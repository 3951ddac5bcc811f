// What is known of errors by kind of member, of which there may be several.
#pragma once
#include "lib/model/EnsembleRequest.h"

namespace accord {

/// Rates of kinds hold for all members of them.
struct KindFacts {
  std::vector<ErrorRate> alone;                        ///< by kind
  std::map<std::vector<unsigned>, ErrorRate> together; ///< by kinds ascending, with repetition
  bool independent = false;
  VoteTable table; ///< no members: there is none
};
KindFacts kindFacts(const EnsembleRequest &request);

/// Kind of each of so many members of each kind: the kinds ascending.
std::vector<unsigned> kindsOf(const std::vector<unsigned> &counts);
/// What is known of them. Votes of the first members of each kind in the table, if it has as many.
ErrorFacts factsOf(const KindFacts &facts, const std::vector<unsigned> &counts);
/// Whether the table has them all.
bool inTable(const KindFacts &facts, const std::vector<unsigned> &counts);

} // namespace accord
