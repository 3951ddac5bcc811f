// What more would have to be known to certify a vote.
#pragma once
#include "lib/ensembles/solve/VoteBounds.h"

namespace accord {

/// Each by itself would do; nothing: it would not, or is known already.
struct MoreData {
  /// Every pair, or every three members, of which nothing is known, wrong together at most so often
  /// (six decimals, rounded down).
  std::optional<Rational> pairs, triples;
  /// So many samples of each rate that was measured, if the rates stay as they were seen.
  std::optional<int64_t> samples;
  /// A table of so many votes none of which is wrong, where there is no table; the same if as many
  /// of them are wrong as in the table there is, or else half of what is required.
  std::optional<int64_t> tableNoneWrong, table;
  Rational tableRate; ///< share of wrong votes that `table` supposes
};
/// For a vote whose error is to be at most `required`. `testsOfTable`: limits that would have to
/// hold together with a table of these members; 0: as many as now.
MoreData moreData(const ErrorStatistics &statistics, const Rational &required, const VoteOptions &options,
                  int64_t testsOfTable = 0);

/// The least number of samples of which a share of `rate`, rounded up to a number of samples, shows
/// an error of at most `required`, with an error of `delta`; nothing above 10^9.
std::optional<int64_t> samplesNeeded(const Rational &rate, const Rational &required, const Rational &delta);

} // namespace accord
