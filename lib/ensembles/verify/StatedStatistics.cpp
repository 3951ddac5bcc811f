#include "lib/ensembles/verify/StatedStatistics.h"
#include <algorithm>
#include <bit>

namespace accord {
namespace {

/// n over k; above 2^53 only nearly.
double choose(unsigned n, unsigned k) {
  double all = 1;
  for (unsigned i = 0; i < k; ++i)
    all = all * (n - i) / (i + 1);
  return all;
}

class StatisticsChecker {
public:
  StatisticsChecker(const ErrorStatistics &claimed, const MemberStatistics &stated, const std::vector<unsigned> &counts)
      : claimed(claimed), stated(stated), counts(counts) {
    for (unsigned kind = 0; kind < counts.size(); ++kind)
      kinds.insert(kinds.end(), counts[kind], kind);
  }

  std::optional<std::string> run() const {
    if (claimed.independent != stated.independent)
      return "errors are not independent as is stated";
    if (claimed.memberErrors.size() != kinds.size())
      return "another number of members";
    for (size_t i = 0; i < kinds.size(); ++i)
      if (claimed.memberErrors[i] != stated.memberErrors[kinds[i]])
        return "a member has another rate than its kind";
    if (auto other = joint())
      return other;
    return votesAreStated() ? std::nullopt : std::optional<std::string>("votes are not those of the table");
  }

private:
  /// Each claimed rate is that of its kinds, and there are as many as the kinds have sets of members.
  std::optional<std::string> joint() const {
    for (const auto &[members, rate] : claimed.jointErrors) {
      std::vector<unsigned> of;
      for (unsigned member : members) {
        if (member >= kinds.size())
          return "a rate is of no member";
        of.push_back(kinds[member]);
      }
      auto known = stated.jointErrors.find(of);
      if (known == stated.jointErrors.end() || known->second != rate)
        return "a set of members has another rate than its kinds";
    }
    double sets = 0;
    for (const auto &[of, rate] : stated.jointErrors) {
      double each = 1;
      for (unsigned kind = 0; kind < counts.size(); ++kind)
        each *= choose(counts[kind], static_cast<unsigned>(std::ranges::count(of, kind)));
      sets += each;
    }
    return sets == static_cast<double>(claimed.jointErrors.size()) ? std::nullopt
                                                                   : std::optional<std::string>("a rate is left out");
  }

  /// The votes of the members in these columns, in their order.
  std::map<uint64_t, int64_t> votesOf(uint64_t columns) const {
    std::map<uint64_t, int64_t> votes;
    for (const auto &[pattern, number] : stated.table.votes) {
      uint64_t own = 0;
      for (unsigned column = 0, bit = 0; column < stated.table.kinds.size(); ++column)
        if (columns >> column & 1)
          own |= (pattern >> column & 1) << bit++;
      votes[own] += number;
    }
    return votes;
  }
  /// How often half of the members in these columns or more were wrong.
  int64_t wrongOf(uint64_t columns) const {
    int64_t wrong = 0;
    for (const auto &[pattern, number] : stated.table.votes)
      if (2 * std::popcount(pattern & columns) >= std::popcount(columns))
        wrong += number;
    return wrong;
  }
  /// By kind, each way to take as many columns as there are members.
  std::vector<std::vector<uint64_t>> waysByKind() const {
    std::vector<std::vector<uint64_t>> ways;
    for (unsigned kind = 0; kind < counts.size(); ++kind) {
      const int wanted = static_cast<int>(counts[kind]);
      auto left = std::ranges::count(stated.table.kinds, kind);
      std::vector<uint64_t> of = {0};
      for (unsigned column = 0; column < stated.table.kinds.size(); ++column) {
        if (stated.table.kinds[column] != kind)
          continue;
        --left;
        std::vector<uint64_t> next;
        for (uint64_t way : of) {
          if (std::popcount(way) < wanted)
            next.push_back(way | uint64_t{1} << column);
          if (std::popcount(way) + left >= wanted)
            next.push_back(way);
        }
        of = std::move(next);
      }
      ways.push_back(std::move(of));
    }
    return ways;
  }

  bool votesAreStated() const {
    double looks = static_cast<double>(stated.table.votes.size());
    uint64_t first = 0;
    for (unsigned kind = 0; kind < counts.size(); ++kind) {
      unsigned left = counts[kind], has = 0;
      for (unsigned column = 0; column < stated.table.kinds.size(); ++column)
        if (stated.table.kinds[column] == kind && has++ < left)
          first |= uint64_t{1} << column;
      if (has < left)
        return claimed.votes.empty();
      looks *= choose(has, left);
    }
    if (stated.table.kinds.empty())
      return claimed.votes.empty();
    if (stated.table.softWrong && kinds.size() > 1)
      return isSoftVote();
    if (!stated.anyOfKind)
      return claimed.votes == votesOf(first);
    if (looks > 1 << 24)
      return claimed.votes.empty();
    int64_t claimedWrong = 0, worst = -1;
    for (const auto &[pattern, number] : claimed.votes)
      if (2 * std::popcount(pattern) >= static_cast<int>(kinds.size()))
        claimedWrong += number;
    bool found = false;
    eachChoice([&](uint64_t columns) {
      int64_t wrong = wrongOf(columns);
      worst = std::max(worst, wrong);
      found = found || (wrong == claimedWrong && votesOf(columns) == claimed.votes);
    });
    return found && claimedWrong == worst;
  }

  /// A soft vote is known of all columns together: either all of them are wrong in the place of the vote, or none.
  bool isSoftVote() const {
    if (kinds.size() < stated.table.kinds.size())
      return claimed.votes.empty();
    int64_t wrong = 0, right = 0;
    for (const auto &[pattern, number] : claimed.votes)
      if (pattern == 0)
        right += number;
      else if (pattern == (uint64_t{1} << (kinds.size() - 1)) * 2 - 1)
        wrong += number;
      else
        return false;
    return wrong == *stated.table.softWrong && right == stated.table.samples - wrong;
  }

  /// Calls `look` for so many columns of each kind.
  template <typename Look> void eachChoice(Look look) const {
    std::vector<std::vector<uint64_t>> ways = waysByKind();
    std::vector<size_t> at(ways.size(), 0);
    for (bool more = true; more;) {
      uint64_t columns = 0;
      for (size_t kind = 0; kind < ways.size(); ++kind)
        columns |= ways[kind][at[kind]];
      look(columns);
      size_t kind = 0;
      while (kind < ways.size() && ++at[kind] == ways[kind].size())
        at[kind++] = 0;
      more = kind < ways.size();
    }
  }

  const ErrorStatistics &claimed;
  const MemberStatistics &stated;
  const std::vector<unsigned> &counts;
  std::vector<unsigned> kinds; ///< of each member
};

} // namespace

std::optional<std::string> statisticsViolation(const ErrorStatistics &claimed, const MemberStatistics &stated,
                                               const std::vector<unsigned> &counts) {
  return StatisticsChecker(claimed, stated, counts).run();
}

} // namespace accord
