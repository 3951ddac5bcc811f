// A table of votes, sample by sample: what `accord vote` reads, as a stub of a member answers it.
#pragma once
#include "lib/support/Result.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace accord::voting {

struct VoteRows {
  std::vector<std::string> members; ///< the columns: "wide", "wide.2"
  std::vector<uint64_t> wrong;      ///< by line: bit i is set where member i is wrong
  std::vector<int64_t> end;         ///< by line: samples of the lines up to this one; ascending

  int64_t samples() const { return end.empty() ? 0 : end.back(); }
  /// Of a sample from 0 to `samples()` - 1, in the order of lines.
  uint64_t wrongOf(int64_t sample) const;
};

/// A line for each sample, of 1 or `right` and 0 or `wrong`, with a column for each member (63 at most); with a column
/// `count`, a line stands for so many samples; columns `class` and `vote` are passed over. Errors of code A1009, or
/// A0460 where it is no CSV, at their place.
Result<VoteRows, Errors> readVoteRows(std::string_view text, const std::string &path);

/// A table says who is wrong, not what a label is: so the true label of a sample is drawn by its number, and everybody
/// who is wrong says the next label, which is the worst that can happen to a vote.
int64_t trueLabel(int64_t sample, int64_t classes);
int64_t wrongLabel(int64_t sample, int64_t classes);

} // namespace accord::voting
