#include "lib/scheduling/solve/ClauseEnergy.h"
#include <algorithm>

namespace accord::solve {
namespace {

/// Literals of explanations, from which on old ones are let go between restarts.
constexpr size_t kMaxKept = size_t{1} << 22;

/// Times are below 4,000,000 (ClauseOracle::supports).
constexpr int kTimeBits = 22;
constexpr int64_t kTimes = int64_t{1} << kTimeBits;

int64_t statementOf(uint32_t resource, int64_t from, int64_t to) {
  return int64_t{resource} << (2 * kTimeBits) | from << kTimeBits | to;
}

} // namespace

EnergyConstraint::EnergyConstraint(std::vector<ClauseResource> list, size_t tasks, int64_t horizon)
    : resources(std::move(list)), of(tasks), isDirty(resources.size(), 1), certain(size_t(horizon) + 2) {
  for (uint32_t r = 0; r < resources.size(); ++r)
    for (const ClauseResource::Use &use : resources[r].uses)
      of[use.task].push_back(r);
}

bool EnergyConstraint::propagate(ClauseSolver &solver) {
  if (kept.size() > kMaxKept && solver.isAtRoot())
    kept.clear();
  for (uint32_t r = 0; r < resources.size(); ++r) {
    if (!isDirty[r])
      continue;
    isDirty[r] = 0;
    int32_t before = solver.now();
    if (!sweep(solver, r))
      return false;
    if (solver.now() != before)
      return true;
  }
  return true;
}

bool EnergyConstraint::sweep(ClauseSolver &solver, uint32_t resource) {
  const ClauseResource &shared = resources[resource];
  size_t n = shared.uses.size();
  std::fill(certain.begin(), certain.end(), 0);
  parts.resize(n), byLow.resize(n), ends.clear();
  int64_t largest = 0;
  for (uint32_t i = 0; i < n; ++i) {
    const ClauseResource::Use &use = shared.uses[i];
    int64_t low = solver.low(use.task), high = solver.high(use.task);
    parts[i] = {low, high, 0};
    byLow[i] = i;
    ends.push_back(high + use.duration);
    if (high < low + use.duration)
      certain[high + 1] += use.amount, certain[low + use.duration + 1] -= use.amount;
    if (low != high)
      largest = std::max(largest, use.duration * use.amount);
  }
  for (int round = 0; round < 2; ++round) // what is used at times, then sums of it
    for (size_t time = 1; time < certain.size(); ++time)
      certain[time] += certain[time - 1];
  std::sort(byLow.begin(), byLow.end(), [&](uint32_t a, uint32_t b) { return parts[a].low > parts[b].low; });
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  solver.charge(n * ends.size() / 8);
  for (int64_t to : ends) {
    int64_t open = 0; // work besides certain parts
    for (size_t i = 0; i < n; ++i) {
      const Part &part = parts[byLow[i]];
      const ClauseResource::Use &use = shared.uses[byLow[i]];
      int64_t from = part.low;
      if (from >= to)
        continue;
      int64_t inside = std::min(use.duration, std::max<int64_t>(0, to - part.high));
      int64_t sure = std::max<int64_t>(0, std::min(part.low + use.duration, to) - part.high);
      open += use.amount * (inside - sure);
      if (i + 1 < n && parts[byLow[i + 1]].low == from)
        continue;
      int64_t need = open + certain[to] - certain[from], room = shared.capacity * (to - from);
      if (need > room) {
        solver.contradiction.clear();
        stated = statementOf(resource, from, to);
        cover(solver, shared, from, to, room, ~0u, solver.contradiction);
        return false;
      }
      if (room - need < largest && open > 0 && !narrow(solver, resource, from, to))
        return true;
    }
  }
  return true;
}

/// False where a bound moved: the sums are old then.
bool EnergyConstraint::narrow(ClauseSolver &solver, uint32_t resource, int64_t from, int64_t to) {
  const ClauseResource &shared = resources[resource];
  int64_t rest = shared.capacity * (to - from);
  for (size_t i = 0; i < parts.size(); ++i) {
    Part &part = parts[i];
    const ClauseResource::Use &use = shared.uses[i];
    part.overlap =
        std::max<int64_t>(0, std::min({use.duration, to - from, part.low + use.duration - from, to - part.high}));
    rest -= use.amount * part.overlap;
  }
  bool moved = false;
  for (size_t i = 0; i < parts.size() && !moved; ++i) {
    const Part &part = parts[i];
    const ClauseResource::Use &use = shared.uses[i];
    int64_t limit = (rest + use.amount * part.overlap) / use.amount;
    int64_t width = std::min(use.duration, to - from);
    if (limit >= width || part.low == part.high)
      continue;
    int64_t first = std::min({width, part.low + use.duration - from, to - part.low});
    int64_t final = std::min({width, part.high + use.duration - from, to - part.high});
    int64_t room = shared.capacity * (to - from) - use.amount * (limit + 1);
    auto give = [&](Literal literal, Literal bound) {
      int64_t at = static_cast<int64_t>(kept.size());
      std::vector<Literal> premises{bound};
      cover(solver, shared, from, to, room, static_cast<uint32_t>(i), premises);
      stated = statementOf(resource, from, to);
      kept.push_back(static_cast<Literal>(premises.size()));
      kept.push_back(static_cast<Literal>(resource));
      kept.push_back(static_cast<Literal>(from));
      kept.push_back(static_cast<Literal>(to));
      kept.insert(kept.end(), premises.begin(), premises.end());
      solver.derive(literal, *this, at);
      moved = true;
    };
    if (first > limit && to - limit > part.low && to - limit <= part.high)
      give(solver.atLeast(use.task, to - limit), solver.atLeast(use.task, from + limit + 1 - use.duration));
    else if (final > limit && from + limit - use.duration < part.high && from + limit - use.duration >= part.low)
      give(solver.atMost(use.task, from + limit - use.duration), solver.atMost(use.task, to - limit - 1));
  }
  return !moved;
}

void EnergyConstraint::cover(const ClauseSolver &solver, const ClauseResource &shared, int64_t from, int64_t to,
                             int64_t room, uint32_t but, std::vector<Literal> &premises) {
  struct Share {
    int32_t decided;
    uint32_t use;
    int64_t overlap;
  };
  std::vector<Share> shares;
  int64_t sum = 0;
  for (uint32_t i = 0; i < shared.uses.size(); ++i) {
    const ClauseResource::Use &use = shared.uses[i];
    int64_t overlap =
        std::min({use.duration, to - from, solver.low(use.task) + use.duration - from, to - solver.high(use.task)});
    if (i == but || overlap <= 0)
      continue;
    sum += overlap * use.amount;
    Literal early = solver.atLeast(use.task, from + overlap - use.duration),
            late = solver.atMost(use.task, to - overlap);
    shares.push_back({std::max(solver.decidedAt(early), solver.decidedAt(late)), i, overlap});
  }
  // The latest give up first what is more than needed.
  std::sort(shares.begin(), shares.end(), [](const Share &a, const Share &b) {
    return a.decided != b.decided ? a.decided > b.decided : a.use < b.use;
  });
  int64_t spare = sum - room - 1;
  for (Share &share : shares) {
    const ClauseResource::Use &use = shared.uses[share.use];
    int64_t less = std::min(share.overlap, spare / use.amount);
    share.overlap -= less, spare -= less * use.amount;
    if (share.overlap == 0)
      continue;
    premises.push_back(solver.atLeast(use.task, from + share.overlap - use.duration));
    premises.push_back(solver.atMost(use.task, to - share.overlap));
  }
}

void EnergyConstraint::explain(const ClauseSolver &, int32_t, Literal, int64_t detail, std::vector<Literal> &premises) {
  auto at = kept.begin() + detail;
  stated = statementOf(static_cast<uint32_t>(at[1]), at[2], at[3]);
  premises.insert(premises.end(), at + 4, at + 4 + at[0]);
}

LearntClauses::Overload EnergyConstraint::overloadOf(int64_t statement) {
  if (statement < 0)
    return {};
  return {static_cast<Id>(statement >> (2 * kTimeBits)), (statement >> kTimeBits) & (kTimes - 1),
          statement & (kTimes - 1)};
}

} // namespace accord::solve
