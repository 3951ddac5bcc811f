// The dynamic program from the last stage to the first.
#include "lib/placement/solve/PlaceShape.h"
#include <algorithm>
#include <cmath>
#include <set>

namespace accord::placing {

void Shape::listStates() {
  collapsed_ = false;
  states_.assign(static_cast<size_t>(groups_) + 1, {});
  follow_.assign(static_cast<size_t>(groups_) + 1, {});
  states_[0] = {std::vector<int64_t>(problem_.kinds.size())};
  size_t forms = configuration_.forms.size(), total = 0;
  for (size_t k = 1; k <= static_cast<size_t>(groups_); ++k) {
    std::map<std::vector<int64_t>, int64_t> at;
    follow_[k].assign(states_[k - 1].size() * forms, -1);
    for (size_t u = 0; u < states_[k - 1].size(); ++u)
      for (size_t f = 0; f < forms; ++f) {
        auto used = states_[k - 1][u];
        const PlacementProblem::Form &form = problem_.forms[configuration_.forms[f]];
        used[form.kind] += form.devices();
        if (used[form.kind] > problem_.kinds[form.kind].devices)
          continue;
        auto [found, added] = at.emplace(used, static_cast<int64_t>(states_[k].size()));
        if (added)
          states_[k].push_back(used);
        follow_[k][u * forms + f] = found->second;
      }
    total += states_[k].size();
    if (states_[k].size() > 256 || total > 4096) {
      // Too many: devices are not counted, which only makes the bound lower.
      collapsed_ = true;
      states_.assign(static_cast<size_t>(groups_) + 1,
                     {std::vector<int64_t>(problem_.kinds.size())});
      follow_.assign(static_cast<size_t>(groups_) + 1, std::vector<int64_t>(forms, 0));
      return;
    }
  }
}

int64_t Shape::limitAt(int64_t stage, uint32_t from) const {
  int64_t m = microbatches_;
  if (!space_.chain || configuration_.forms.size() != 1)
    return longest_ / m;
  Sums before = space_.between(configuration_.forms[0], 0, from);
  if (configuration_.schedule == PipelineSchedule::ZeroBubble)
    return (longest_ - before.forward) / m;
  // What `Span` says of this stage, with the least work of all others.
  int64_t rest = space_.all(configuration_.forms[0]).time() - before.time();
  int64_t limit = (longest_ - before.time()) / m, k = stages_ - stage;
  if (configuration_.schedule == PipelineSchedule::GPipe && m > 1)
    limit = std::min(limit, (longest_ - before.time() - rest) / (m - 1));
  else if (m > k + 1)
    limit = std::min(limit, (longest_ - before.time() - 2 * rest) / (m - k - 1));
  return limit + (m > k + 1 ? problem_.perMicrobatch : 0);
}

/// Where stages can begin and end if none may take longer than `limit` per micro-batch: taking as
/// many layers as one can from either end is best, as what fits in a stage also fits without some
/// of its layers. Transfers, which may shrink with more layers, are not looked at here.
void Shape::windows() {
  auto count = static_cast<uint32_t>(space_.last());
  low_.assign(static_cast<size_t>(stages_) + 1, 0);
  high_.assign(static_cast<size_t>(stages_) + 1, count);
  if (!space_.above(0).empty())
    return;
  auto fits = [&](int64_t s, uint32_t from, uint32_t to) {
    for (Id form : configuration_.forms) {
      Sums sums = space_.between(form, from, to);
      int64_t limit = limitAt(s, from);
      if (sums.cannot || sums.time() + problem_.perMicrobatch > limit)
        continue;
      auto again = keeps_.leastAgain(form, from, to, inFlight_[static_cast<size_t>(s)],
                                     problem_.kinds[problem_.forms[form].kind].memory);
      if (again && sums.time() - sums.again + *again + problem_.perMicrobatch <= limit)
        return true;
    }
    return false;
  };
  high_[0] = 0, low_[static_cast<size_t>(stages_)] = count;
  for (int64_t s = 0; s < stages_; ++s) {
    auto from = high_[static_cast<size_t>(s)];
    uint32_t to = from, beyond = count + 1; // `to` fits, `beyond` does not
    uint32_t step = static_cast<uint32_t>(std::max<int64_t>(1, count / stages_));
    for (uint32_t next = from + step; to < count; next = to + step) { // gallop, then bisect
      next = std::min(next, count);
      if (!fits(s, from, next)) {
        beyond = next;
        break;
      }
      to = next;
    }
    while (beyond - to > 1 && to < count) {
      uint32_t middle = to + (beyond - to) / 2;
      (fits(s, from, middle) ? to : beyond) = middle;
    }
    high_[static_cast<size_t>(s) + 1] =
        std::min(to, static_cast<uint32_t>(count - (stages_ - 1 - s)));
  }
  for (int64_t s = stages_; s-- > 0;) {
    auto to = low_[static_cast<size_t>(s) + 1];
    uint32_t from = to, beyond = 0;
    bool found = false;
    uint32_t step = static_cast<uint32_t>(std::max<int64_t>(1, count / stages_));
    while (from > 0) {
      uint32_t next = from > step ? from - step : 0;
      if (!fits(s, next, to)) {
        beyond = next, found = true;
        break;
      }
      from = next;
    }
    while (found && from - beyond > 1) {
      uint32_t middle = beyond + (from - beyond) / 2;
      (fits(s, middle, to) ? from : beyond) = middle;
    }
    low_[static_cast<size_t>(s)] = std::max(from, static_cast<uint32_t>(s));
  }
}

Shape::Cell *Shape::cellAt(int64_t stage, uint32_t node, uint32_t state) {
  auto s = static_cast<size_t>(stage);
  if (node < low_[s] || node > high_[s])
    return nullptr;
  size_t states = states_[static_cast<size_t>(stages_ - stage)].size();
  return &cells_[s][(node - low_[s]) * states + state];
}

double Shape::table() {
  if (configuration_.chunks > 1 || !space_.complete)
    return 0;
  longest_ = longest();
  windows();
  for (int64_t s = 0; s <= stages_; ++s)
    if (low_[static_cast<size_t>(s)] > high_[static_cast<size_t>(s)])
      return answer_.goal(); // no cut of better value fits
  if (low_[0] > 0)
    return answer_.goal();
  listStates();
  double cells = 0;
  for (int64_t s = 0; s <= stages_; ++s)
    cells += static_cast<double>(high_[static_cast<size_t>(s)] - low_[static_cast<size_t>(s)] + 1) *
             static_cast<double>(states_[static_cast<size_t>(stages_ - s)].size());
  if (cells > 2e7)
    return 0;
  constexpr int64_t Never = INT64_MAX;
  cells_.assign(static_cast<size_t>(stages_) + 1, {});
  for (int64_t s = 0; s <= stages_; ++s)
    cells_[static_cast<size_t>(s)].assign(
        static_cast<size_t>(high_[static_cast<size_t>(s)] - low_[static_cast<size_t>(s)] + 1) *
            states_[static_cast<size_t>(stages_ - s)].size(),
        {Never, Never, Never, 0, 0, 0});
  *cellAt(stages_, space_.last(), 0) = {0, 0, 0, 0, 0, 0};
  size_t forms = configuration_.forms.size();
  for (int64_t s = stages_; s-- > 0;) {
    auto k = static_cast<size_t>(stages_ - s);
    for (uint32_t from = low_[static_cast<size_t>(s)]; from <= high_[static_cast<size_t>(s)];
         ++from) {
      if (!mayHold(s, from))
        continue;
      int64_t limit = limitAt(s, from);
      stagesFrom(from, high_[static_cast<size_t>(s) + 1], [&](uint32_t to) {
        bool any = false;
        for (size_t f = 0; f < forms; ++f) {
          Id form = configuration_.forms[f];
          answer_.budget -= 2;
          if (space_.between(form, from, to).cannot)
            continue;
          auto stage = stageAt(form, from, to, s, problem_.kinds[problem_.forms[form].kind].memory);
          if (!stage)
            continue;
          // Transfers apart, larger stages take longer.
          any |= stage->work() <= limit || space_.path;
          if (stage->work() > limit)
            continue;
          if (to < low_[static_cast<size_t>(s) + 1])
            continue;
          int64_t head = 0, tail = 0;
          if (!space_.chain) {
            head = space_.before(chainForward_, from, to);
            tail = space_.before(chainBackward_, from, to);
          }
          for (uint32_t u = 0; u < states_[k - 1].size(); ++u) {
            Cell *behind = cellAt(s + 1, to, u);
            int64_t state = follow_[k][u * forms + f];
            if (!behind || behind->end == Never || state < 0)
              continue;
            Span span;
            if (space_.chain) {
              span = extend({behind->leave, behind->end, behind->through}, *stage, s);
            } else {
              // Alone: after the longest chain of layers before it, and before theirs backward.
              Span mine = extend({}, *stage, -1);
              span.end = std::max({behind->end, head + mine.end, head + mine.leave + tail});
              span.leave = span.end;
            }
            Cell *cell = cellAt(s, from, static_cast<uint32_t>(state));
            if (span.end < cell->end)
              cell->next = to, cell->form = form, cell->state = u;
            cell->end = std::min(cell->end, span.end);
            cell->leave = std::min(cell->leave, span.leave);
            cell->through = std::min(cell->through, span.through);
          }
        }
        return any;
      });
    }
    if (answer_.over())
      return 0;
  }
  tabled_ = true;
  double best = INFINITY;
  const auto &states = states_[static_cast<size_t>(groups_)];
  for (uint32_t u = 0; u < states.size(); ++u) {
    Cell *cell = cellAt(0, 0, u);
    if (cell->end == Never)
      continue;
    Rates rates = ratesAtLeast({});
    if (!collapsed_ && configuration_.each) { // devices tell the groups of each form
      rates = {};
      bool all = true;
      for (size_t f = 0; f < forms; ++f) {
        const PlacementProblem::Form &form = problem_.forms[configuration_.forms[f]];
        int64_t n = states[u][form.kind] / form.devices();
        all &= n > 0;
        for (int64_t i = 0; i < n; ++i)
          rates += rates_[f];
      }
      if (!all)
        continue;
    } else if (!collapsed_) {
      rates = {};
      for (size_t kind = 0; kind < problem_.kinds.size(); ++kind) {
        auto n = static_cast<double>(states[u][kind]);
        rates += {n * problem_.kinds[kind].idleWatts, n * problem_.kinds[kind].pricePerHour / 3600,
                  n * problem_.kinds[kind].tdpWatts, states[u][kind]};
      }
    }
    double bound = value(static_cast<double>(cell->end), rates);
    if (bound >= best)
      continue;
    best = bound;
    std::vector<Placed> stages;
    uint32_t node = 0, state = u;
    for (int64_t s = 0; s < stages_; ++s) {
      Cell *at = cellAt(s, node, state);
      stages.push_back({node, at->next, at->form});
      node = at->next, state = at->state;
    }
    if (bound < answer_.value)
      leaf(stages, false);
  }
  return std::isinf(best) ? std::max(answer_.goal(), 0.0) : best;
}

} // namespace accord::placing
