#include "lib/model/KindFacts.h"
#include <algorithm>

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
  // The columns of the first members of each kind.
  std::vector<unsigned> columns, left = counts;
  for (unsigned c = 0; c < facts.table.kinds.size(); ++c)
    if (unsigned kind = facts.table.kinds[c]; left[kind] > 0)
      columns.push_back(c), --left[kind];
  for (const auto &[pattern, votes] : facts.table.votes) {
    uint64_t own = 0;
    for (size_t i = 0; i < columns.size(); ++i)
      own |= (pattern >> columns[i] & 1) << i;
    known.votes[own] += votes;
  }
  return known;
}

} // namespace accord
