#include "lib/ensembles/problem/MemberStatistics.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <ranges>

namespace accord {
namespace {

/// Calls `f` for each set of members, ascending, whose kinds these are.
template <typename F>
void eachSet(const std::vector<unsigned> &members, const std::vector<unsigned> &kinds, size_t from,
             std::vector<unsigned> &set, F &f) {
  if (set.size() == kinds.size()) {
    f(set);
    return;
  }
  for (unsigned i = from; i < members.size(); ++i)
    if (members[i] == kinds[set.size()]) {
      set.push_back(i);
      eachSet(members, kinds, i + 1, set, f);
      set.pop_back();
    }
}

/// Members of the table by kind.
std::vector<unsigned> columnsOf(const MemberStatistics &statistics) {
  std::vector<unsigned> columns(statistics.memberErrors.size(), 0);
  for (unsigned kind : statistics.table.kinds)
    ++columns[kind];
  return columns;
}

/// The columns of the first members of each kind, as bits.
uint64_t firstColumns(const MemberStatistics &statistics, std::vector<unsigned> left) {
  uint64_t columns = 0;
  for (unsigned c = 0; c < statistics.table.kinds.size(); ++c)
    if (unsigned kind = statistics.table.kinds[c]; left[kind] > 0)
      columns |= uint64_t{1} << c, --left[kind];
  return columns;
}

/// The columns of so many members of each kind whose vote was wrong most often, the first of equal
/// ones; nothing: too many to look at.
std::optional<uint64_t> worstColumns(const MemberStatistics &statistics, const std::vector<unsigned> &counts) {
  constexpr double kMaxVisits = 1 << 24;
  double looks = statistics.table.votes.size();
  std::vector<unsigned> columns = columnsOf(statistics);
  unsigned enough = 1;
  for (size_t k = 0; k < counts.size(); ++k) {
    enough += counts[k];
    for (unsigned i = 0; i < counts[k]; ++i)
      looks *= (columns[k] - i) / (i + 1.0);
  }
  enough /= 2;
  if (looks > kMaxVisits)
    return std::nullopt;
  uint64_t worst = 0;
  int64_t max = -1;
  std::vector<unsigned> left = counts;
  auto choose = [&](auto &&self, unsigned column, uint64_t taken) -> void {
    if (column == statistics.table.kinds.size()) {
      int64_t wrong = 0;
      for (const auto &[pattern, votes] : statistics.table.votes)
        wrong += unsigned(std::popcount(pattern & taken)) >= enough ? votes : 0;
      if (wrong > max)
        max = wrong, worst = taken;
      return;
    }
    unsigned kind = statistics.table.kinds[column];
    --columns[kind]; // those that come after it
    if (left[kind] > 0) {
      --left[kind];
      self(self, column + 1, taken | uint64_t{1} << column);
      ++left[kind];
    }
    if (columns[kind] >= left[kind])
      self(self, column + 1, taken);
    ++columns[kind];
  };
  choose(choose, 0, 0);
  return worst;
}

/// Whether the table has so many members of each kind.
bool inTable(const MemberStatistics &statistics, const std::vector<unsigned> &counts) {
  return !statistics.table.kinds.empty() &&
         std::ranges::equal(counts, columnsOf(statistics) | std::views::take(counts.size()), std::ranges::less_equal());
}

} // namespace

MemberStatistics memberStatistics(const EnsembleRequest &request) {
  MemberStatistics statistics;
  for (const EnsembleRequest::Kind &kind : request.kinds)
    statistics.memberErrors.push_back(kind.error.value_or(ErrorRate{1, -1}));
  for (const EnsembleRequest::JointError &joint : request.joint)
    statistics.jointErrors[joint.kinds] = joint.rate;
  statistics.independent = request.independent;
  return statistics;
}

std::vector<int64_t> logOddsWeights(const MemberStatistics &statistics) {
  std::vector<int64_t> weights;
  for (unsigned kind = 0; kind < statistics.memberErrors.size(); ++kind) {
    double error = statistics.memberErrors[kind].samples < 0 ? 0.5 : statistics.memberErrors[kind].rate.toDouble();
    auto column = std::ranges::find(statistics.table.kinds, kind);
    if (column != statistics.table.kinds.end() && statistics.table.samples > 0) {
      int64_t wrong = 0;
      for (const auto &[pattern, votes] : statistics.table.votes)
        wrong += pattern >> (column - statistics.table.kinds.begin()) & 1 ? votes : 0;
      error = static_cast<double>(wrong) / static_cast<double>(statistics.table.samples);
    }
    constexpr double kScale = 4, kMin = 1e-6;
    error = std::clamp(error, kMin, 0.5);
    weights.push_back(std::max<int64_t>(1, std::llround(kScale * std::log((1 - error) / error))));
  }
  return weights;
}

std::vector<unsigned> kindsOf(const std::vector<unsigned> &counts) {
  std::vector<unsigned> kinds;
  for (unsigned k = 0; k < counts.size(); ++k)
    kinds.insert(kinds.end(), counts[k], k);
  return kinds;
}

ErrorStatistics statisticsOf(const MemberStatistics &statistics, const std::vector<unsigned> &counts) {
  std::vector<unsigned> members = kindsOf(counts);
  ErrorStatistics known;
  known.independent = statistics.independent;
  for (unsigned kind : members)
    known.memberErrors.push_back(statistics.memberErrors[kind]);
  for (const auto &[kinds, rate] : statistics.jointErrors) {
    std::vector<unsigned> set;
    auto add = [&](const std::vector<unsigned> &found) { known.jointErrors[found] = rate; };
    eachSet(members, kinds, 0, set, add);
  }
  if (!inTable(statistics, counts))
    return known;
  if (statistics.table.softWrong && members.size() > 1) {
    if (members.size() < statistics.table.kinds.size())
      return known;
    const uint64_t all = ~uint64_t{0} >> (64 - members.size());
    known.votes = {{0, statistics.table.samples - *statistics.table.softWrong}, {all, *statistics.table.softWrong}};
    std::erase_if(known.votes, [](const auto &entry) { return entry.second == 0; });
    return known;
  }
  std::optional<uint64_t> columns =
      statistics.anyOfKind ? worstColumns(statistics, counts) : firstColumns(statistics, counts);
  if (!columns)
    return known;
  for (const auto &[pattern, votes] : statistics.table.votes) {
    uint64_t own = 0;
    unsigned bit = 0;
    for (uint64_t rest = *columns; rest; rest &= rest - 1, ++bit)
      own |= (pattern >> std::countr_zero(rest) & 1) << bit;
    known.votes[own] += votes;
  }
  return known;
}

int64_t simultaneousTests(const MemberStatistics &statistics, const std::vector<unsigned> &sizes) {
  int64_t tests = std::ranges::count_if(statistics.memberErrors, [](auto &rate) { return rate.samples > 0; }) +
                  std::ranges::count_if(statistics.jointErrors, [](auto &entry) { return entry.second.samples > 0; });
  if (statistics.table.kinds.empty())
    return std::max<int64_t>(1, tests);
  // By size: multisets of the table's members; there are less than 2^63 of 63.
  std::vector<int64_t> number(statistics.table.kinds.size() + 1, 0);
  number[0] = 1;
  for (unsigned max : columnsOf(statistics))
    for (size_t size = number.size(); size-- > 0;)
      for (unsigned count = 1; count <= max && count <= size; ++count)
        number[size] += number[size - count];
  for (size_t size = 3; size < number.size(); size += 2)
    if (statistics.anyOfKind || std::ranges::find(sizes, size) != sizes.end())
      tests += number[size];
  return tests + std::ssize(statistics.table.kinds);
}

} // namespace accord
