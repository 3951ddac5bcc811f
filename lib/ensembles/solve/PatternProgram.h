// The linear program over patterns of wrong members, told apart by how many of each group are
// wrong.
#pragma once
#include "lib/ensembles/solve/Patterns.h"
#include "lib/ensembles/solve/Simplex.h"

namespace accord {

/// n over k; exact for n up to 63.
int64_t choose(unsigned n, unsigned k);

struct PatternProgram {
  /// A row for all sets that have as many members of each group.
  PatternProgram(const VoteRates &rates, std::vector<std::vector<unsigned>> groups);
  /// Rows by number of members of each group: the sum of rates of all such sets.
  PatternProgram(std::vector<std::vector<unsigned>> groups, const std::map<std::vector<unsigned>, VoteRate> &sums);

  /// The objective: patterns of so many wrong members or more.
  void countWrong(unsigned enough);
  PatternBound solve() const;

  std::vector<std::vector<unsigned>> groups;
  std::vector<std::vector<unsigned>> sets;     ///< of rows
  std::vector<std::vector<unsigned>> patterns; ///< of columns
  ExactProgram program;

private:
  void fill(const std::map<std::vector<unsigned>, VoteRate> &sums);
};

} // namespace accord
