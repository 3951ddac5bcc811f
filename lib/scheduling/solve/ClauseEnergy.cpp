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

EnergyConstraint::EnergyConstraint(std::vector<ClauseResource> list, size_t tasks)
    : resources(std::move(list)), of(tasks), isDirty(resources.size(), 1) {
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

/// Only tasks that are not fixed begin and end intervals: of others all is certain.
bool EnergyConstraint::sweep(ClauseSolver &solver, uint32_t resource) {
  const ClauseResource &shared = resources[resource];
  open.clear(), ends.clear();
  int64_t first = INT64_MAX, last = 0, largest = 0;
  for (const ClauseResource::Use &use : shared.uses) {
    if (solver.isFixed(use.task))
      continue;
    int64_t low = solver.low(use.task), high = solver.high(use.task);
    open.push_back({low, high, use.duration, use.amount, static_cast<uint32_t>(&use - shared.uses.data())});
    ends.push_back(high + use.duration);
    first = std::min(first, low), last = std::max(last, high + use.duration);
    largest = std::max(largest, use.duration * use.amount);
  }
  solver.charge(1 + shared.uses.size() / 16 + open.size() * open.size() / 8);
  if (open.empty())
    return true;
  sumCertain(solver, shared, first, last);
  std::sort(open.begin(), open.end(), [](const Part &a, const Part &b) { return a.low > b.low; });
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  for (int64_t to : ends) {
    int64_t work = 0; // besides certain parts
    for (size_t i = 0; i < open.size(); ++i) {
      const Part &part = open[i];
      int64_t from = part.low, end = from + part.duration;
      if (from >= to)
        continue;
      int64_t inside = std::min(part.duration, std::max<int64_t>(0, to - part.high));
      int64_t sure = std::max<int64_t>(0, std::min(end, to) - part.high);
      work += part.amount * (inside - sure);
      if (i + 1 < open.size() && open[i + 1].low == from)
        continue;
      int64_t sum = certain[to - first] - certain[from - first], room = shared.capacity * (to - from);
      if (work + sum > room) {
        solver.contradiction.clear();
        stated = statementOf(resource, from, to);
        cover(solver, shared, from, to, room, ~0u, solver.contradiction);
        return false;
      }
      if (room - work - sum < largest && work > 0)
        narrow(solver, resource, from, to, room - sum);
    }
  }
  return true;
}

/// What certain parts need from `first` up to each time until `last`.
void EnergyConstraint::sumCertain(const ClauseSolver &solver, const ClauseResource &shared, int64_t first,
                                  int64_t last) {
  certain.assign(last - first + 2, 0);
  for (const ClauseResource::Use &use : shared.uses) {
    int64_t begin = std::max(solver.high(use.task), first), end = std::min(solver.low(use.task) + use.duration, last);
    if (begin < end)
      certain[begin - first + 1] += use.amount, certain[end - first + 1] -= use.amount;
  }
  for (int round = 0; round < 2; ++round) // what is used at times, then sums of it
    for (size_t time = 1; time < certain.size(); ++time)
      certain[time] += certain[time - 1];
}

/// `rest`: what certain parts leave in the interval. Bounds may have moved since they were summed up: what was needed
/// then is needed still.
void EnergyConstraint::narrow(ClauseSolver &solver, uint32_t resource, int64_t from, int64_t to, int64_t rest) {
  const ClauseResource &shared = resources[resource];
  for (Part &part : open) {
    int64_t end = part.low + part.duration;
    part.overlap = std::max<int64_t>(0, std::min({part.duration, to - from, end - from, to - part.high}));
    rest -= part.amount * (part.overlap - std::max<int64_t>(0, std::min(end, to) - std::max(part.high, from)));
  }
  solver.charge(open.size() / 8);
  for (const Part &part : open) {
    int64_t width = std::min(part.duration, to - from);
    if (part.amount * (width - part.overlap) <= rest)
      continue;
    uint32_t task = shared.uses[part.use].task;
    int64_t low = solver.low(task), high = solver.high(task);
    int64_t limit = (rest + part.amount * part.overlap) / part.amount;
    int64_t early = std::min({width, part.low + part.duration - from, to - part.low});
    int64_t late = std::min({width, part.high + part.duration - from, to - part.high});
    int64_t room = shared.capacity * (to - from) - part.amount * (limit + 1);
    auto give = [&](Literal literal, Literal bound) {
      int64_t at = static_cast<int64_t>(kept.size());
      std::vector<Literal> premises{bound};
      cover(solver, shared, from, to, room, part.use, premises);
      stated = statementOf(resource, from, to);
      kept.push_back(static_cast<Literal>(premises.size()));
      kept.push_back(static_cast<Literal>(resource));
      kept.push_back(static_cast<Literal>(from));
      kept.push_back(static_cast<Literal>(to));
      kept.insert(kept.end(), premises.begin(), premises.end());
      solver.derive(literal, *this, at);
    };
    if (early > limit && to - limit > low && to - limit <= high)
      give(solver.atLeast(task, to - limit), solver.atLeast(task, from + limit + 1 - part.duration));
    else if (late > limit && from + limit - part.duration < high && from + limit - part.duration >= low)
      give(solver.atMost(task, from + limit - part.duration), solver.atMost(task, to - limit - 1));
  }
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
