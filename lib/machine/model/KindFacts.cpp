#include "lib/machine/model/KindFacts.h"
#include <algorithm>
#include <bit>

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
  for (auto i = static_cast<unsigned>(from); i < members.size(); ++i)
    if (members[i] == kinds[set.size()]) {
      set.push_back(i);
      eachSet(members, kinds, i + 1, set, f);
      set.pop_back();
    }
}

/// Members of the table by kind.
std::vector<unsigned> columnsOf(const KindFacts &facts) {
  std::vector<unsigned> columns(facts.alone.size(), 0);
  for (unsigned kind : facts.table.kinds)
    ++columns[kind];
  return columns;
}

/// The columns of the first members of each kind, as bits.
uint64_t firstColumns(const KindFacts &facts, std::vector<unsigned> left) {
  uint64_t columns = 0;
  for (unsigned c = 0; c < facts.table.kinds.size(); ++c)
    if (unsigned kind = facts.table.kinds[c]; left[kind] > 0)
      columns |= uint64_t{1} << c, --left[kind];
  return columns;
}

/// The columns of so many members of each kind whose vote was wrong most often, the first of equal
/// ones; nothing: too many to look at.
std::optional<uint64_t> worstColumns(const KindFacts &facts, const std::vector<unsigned> &counts) {
  constexpr double kMostLooks = 1 << 24;
  auto looks = static_cast<double>(facts.table.votes.size());
  std::vector<unsigned> columns = columnsOf(facts);
  int enough = 1;
  for (size_t k = 0; k < counts.size(); ++k) {
    enough += static_cast<int>(counts[k]);
    for (unsigned i = 0; i < counts[k]; ++i)
      looks *= static_cast<double>(columns[k] - i) / (i + 1);
  }
  enough /= 2;
  if (looks > kMostLooks)
    return std::nullopt;
  uint64_t worst = 0;
  int64_t most = -1;
  std::vector<unsigned> left = counts;
  auto choose = [&](auto &&self, unsigned column, uint64_t taken) -> void {
    if (column == facts.table.kinds.size()) {
      int64_t wrong = 0;
      for (const auto &[pattern, votes] : facts.table.votes)
        wrong += std::popcount(pattern & taken) >= enough ? votes : 0;
      if (wrong > most)
        most = wrong, worst = taken;
      return;
    }
    unsigned kind = facts.table.kinds[column];
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

} // namespace

KindFacts kindFacts(const EnsembleRequest &request) {
  KindFacts facts;
  for (const EnsembleRequest::Kind &kind : request.kinds)
    facts.alone.push_back(kind.error.value_or(ErrorRate{1, -1}));
  for (const EnsembleRequest::Joint &joint : request.joint)
    facts.together[joint.kinds] = joint.rate;
  facts.independent = request.independent;
  return facts;
}

std::vector<unsigned> kindsOf(const std::vector<unsigned> &counts) {
  std::vector<unsigned> kinds;
  for (unsigned k = 0; k < counts.size(); ++k)
    kinds.insert(kinds.end(), counts[k], k);
  return kinds;
}

bool inTable(const KindFacts &facts, const std::vector<unsigned> &counts) {
  for (unsigned k = 0; k < counts.size(); ++k)
    if (std::ranges::count(facts.table.kinds, k) < static_cast<ptrdiff_t>(counts[k]))
      return false;
  return !facts.table.kinds.empty();
}

ErrorFacts factsOf(const KindFacts &facts, const std::vector<unsigned> &counts) {
  std::vector<unsigned> members = kindsOf(counts);
  ErrorFacts known;
  known.independent = facts.independent;
  for (unsigned kind : members)
    known.alone.push_back(facts.alone[kind]);
  for (const auto &[kinds, rate] : facts.together) {
    std::vector<unsigned> set;
    auto add = [&](const std::vector<unsigned> &found) { known.together[found] = rate; };
    eachSet(members, kinds, 0, set, add);
  }
  if (!inTable(facts, counts))
    return known;
  std::optional<uint64_t> columns =
      facts.anyOfKind ? worstColumns(facts, counts) : firstColumns(facts, counts);
  if (!columns)
    return known;
  for (const auto &[pattern, votes] : facts.table.votes) {
    uint64_t own = 0;
    unsigned bit = 0;
    for (uint64_t rest = *columns; rest; rest &= rest - 1, ++bit)
      own |= (pattern >> std::countr_zero(rest) & 1) << bit;
    known.votes[own] += votes;
  }
  return known;
}

int64_t testsOf(const KindFacts &facts, const std::vector<unsigned> &sizes) {
  int64_t tests =
      std::ranges::count_if(facts.alone, [](auto &rate) { return rate.samples > 0; }) +
      std::ranges::count_if(facts.together, [](auto &entry) { return entry.second.samples > 0; });
  if (facts.table.kinds.empty())
    return std::max<int64_t>(1, tests);
  // By size: multisets of the table's members; there are less than 2^63 of 63.
  std::vector<int64_t> number(facts.table.kinds.size() + 1, 0);
  number[0] = 1;
  for (unsigned most : columnsOf(facts))
    for (size_t size = number.size(); size-- > 0;)
      for (unsigned count = 1; count <= most && count <= size; ++count)
        number[size] += number[size - count];
  for (size_t size = 3; size < number.size(); size += 2)
    if (facts.anyOfKind || std::ranges::find(sizes, size) != sizes.end())
      tests += number[size];
  return tests + static_cast<int64_t>(facts.table.kinds.size());
}

} // namespace accord
