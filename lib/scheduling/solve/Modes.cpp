#include "lib/scheduling/solve/Modes.h"
#include <algorithm>
#include <tuple>

namespace accord::solve {

Modes::Modes(const Instance &instance) : in(instance), usable(instance.size()), pairings(instance.size()) {
  for (Id t = 0; t < in.size(); ++t) {
    const auto &modes = in.problem.tasks[t].modes;
    for (Id m = 0; m < modes.size(); ++m)
      if (in.problem.fits(modes[m]))
        usable[t].push_back(m);
    std::sort(usable[t].begin(), usable[t].end(), [&](Id a, Id b) {
      return std::tuple(!modes[a].absent, modes[a].duration, a) < std::tuple(!modes[b].absent, modes[b].duration, b);
    });
    if (usable[t].size() > 1)
      choices.push_back(t);
  }
  for (uint32_t i = 0; i < in.problem.pairings.size(); ++i)
    for (Id t : {in.problem.pairings[i].a, in.problem.pairings[i].b})
      pairings[t].push_back(i);
}

bool Modes::fits(std::vector<Id> &modes, Id task, const std::vector<char> &decided) const {
  for (uint32_t i : pairings[task]) {
    const auto &p = in.problem.pairings[i];
    if (decided[p.a == task ? p.b : p.a] && !p.allows(modes[p.a], modes[p.b]))
      return false;
  }
  return true;
}

bool Modes::allowed(const std::vector<Id> &modes) const {
  for (const auto &p : in.problem.pairings)
    if (!p.allows(modes[p.a], modes[p.b]))
      return false;
  std::vector<__int128> spent(in.problem.budgets.size());
  for (Id t = 0; t < in.size(); ++t)
    for (const auto &use : in.mode(t, modes[t]).spends)
      spent[use.of] += use.amount;
  for (size_t b = 0; b < spent.size(); ++b)
    if (spent[b] > in.problem.budgets[b].capacity)
      return false;
  return true;
}

std::optional<std::vector<Id>> Modes::first() const {
  std::vector<Id> modes(in.size(), 0);
  std::vector<char> decided(in.size(), 0);
  std::vector<__int128> rest(in.problem.budgets.size());
  for (size_t b = 0; b < rest.size(); ++b)
    rest[b] = in.problem.budgets[b].capacity;
  auto min = [&](Id t, Id budget) {
    int64_t amount = INT64_MAX;
    for (Id m : usable[t])
      amount = std::min(amount, in.mode(t, m).consumes(budget));
    return amount;
  };
  // What the undecided spend at least is set aside.
  std::vector<std::vector<int64_t>> needs(rest.size(), std::vector<int64_t>(in.size()));
  for (Id b = 0; b < rest.size(); ++b)
    for (Id t = 0; t < in.size(); ++t)
      rest[b] -= needs[b][t] = usable[t].empty() ? 0 : min(t, b);
  // Tries beyond one for each task, of which many have a single mode.
  constexpr int64_t kNodes = 200'000;
  const int64_t maxNodes = kNodes + int64_t(in.size());
  int64_t nodes = 0;
  // Depth first without recursion: position and mode index of each level.
  std::vector<size_t> at(in.size(), 0);
  auto spend = [&](Id t, Id m, int sign) {
    for (const auto &use : in.mode(t, m).spends)
      rest[use.of] -= static_cast<__int128>(sign) * use.amount;
    for (Id b = 0; b < rest.size(); ++b)
      rest[b] += static_cast<__int128>(sign) * needs[b][t];
  };
  size_t depth = 0;
  while (depth < in.size()) {
    Id t = depth;
    bool placed = false;
    for (; at[depth] < usable[t].size() && ++nodes < maxNodes; ++at[depth]) {
      modes[t] = usable[t][at[depth]];
      if (!fits(modes, t, decided))
        continue;
      spend(t, modes[t], 1);
      if (std::all_of(rest.begin(), rest.end(), [](__int128 r) { return r >= 0; })) {
        placed = true;
        break;
      }
      spend(t, modes[t], -1);
    }
    if (nodes >= maxNodes)
      return std::nullopt;
    if (placed) {
      decided[t] = 1;
      if (++depth < in.size())
        at[depth] = 0;
      continue;
    }
    if (depth == 0)
      return std::nullopt;
    --depth;
    decided[depth] = 0;
    spend(depth, modes[depth], -1);
    ++at[depth];
  }
  return modes;
}

std::vector<int64_t> Modes::slackOf(const std::vector<Id> &modes) const {
  std::vector<int64_t> head(in.size()), tail(in.size());
  auto duration = [&](Id t) { return in.mode(t, modes[t]).duration; };
  for (Id t : in.order)
    for (const Edge &e : in.after(t))
      head[e.task] = std::max(head[e.task], head[t] + duration(t) + e.delay);
  int64_t longest = 0;
  for (size_t i = in.size(); i-- > 0;) {
    Id t = in.order[i];
    for (const Edge &e : in.after(t))
      tail[t] = std::max(tail[t], tail[e.task] + duration(e.task) + e.delay);
    longest = std::max(longest, head[t] + duration(t) + tail[t]);
  }
  for (Id t = 0; t < in.size(); ++t)
    head[t] = longest - head[t] - duration(t) - tail[t];
  return head;
}

std::vector<int64_t> Modes::slacks(const std::vector<Id> &from, size_t count) const {
  std::vector<int64_t> all, some, slack = slackOf(from);
  for (Id t : choices)
    all.push_back(slack[t]);
  std::sort(all.begin(), all.end());
  for (size_t i = 0; i < count && !all.empty(); ++i)
    some.push_back(all[i * (all.size() - 1) / std::max<size_t>(count - 1, 1)] - (i == 0));
  some.erase(std::unique(some.begin(), some.end()), some.end());
  return some;
}

std::vector<Id> Modes::relaxed(const std::vector<Id> &from, int64_t slack) const {
  std::vector<int64_t> have = slackOf(from);
  std::vector<Id> modes = from;
  auto work = [&](Id t, Id m) {
    double sum = 0;
    const auto &mode = in.mode(t, m);
    for (const auto &use : mode.usage)
      sum += double(use.amount) * mode.duration / std::max<int64_t>(in.problem.resources[use.of].capacity, 1);
    return sum;
  };
  for (Id t : choices)
    if (have[t] > slack && !in.mode(t, from[t]).absent)
      for (Id m : usable[t])
        if (!in.mode(t, m).absent && work(t, m) < work(t, modes[t]))
          modes[t] = m;
  return allowed(modes) ? modes : from;
}

void Modes::mutate(std::vector<Id> &modes, std::mt19937_64 &random) const {
  if (choices.empty())
    return;
  std::vector<Id> changed = modes;
  Id task = choices[random() % choices.size()];
  changed[task] = usable[task][random() % usable[task].size()];
  // What is paired with it follows, if another of its modes fits.
  std::vector<Id> moved = {task};
  for (size_t i = 0; i < moved.size() && i < 8; ++i)
    for (uint32_t p : pairings[moved[i]]) {
      const auto &pair = in.problem.pairings[p];
      Id other = pair.a == moved[i] ? pair.b : pair.a;
      for (size_t k = 0; !pair.allows(changed[pair.a], changed[pair.b]) && k < usable[other].size(); ++k)
        changed[other] = usable[other][k];
      moved.push_back(other);
    }
  if (allowed(changed))
    modes = std::move(changed);
}

} // namespace accord::solve
