// Plans that are made without search: as even as memory lets them be.
#include "lib/placement/solve/PlaceShape.h"
#include <algorithm>

namespace accord::placing {

/// As far along the line as a stage goes within the bottleneck.
uint32_t Shape::reach(int64_t stage, uint32_t from, Id form, int64_t bottleneck, int64_t memory) {
  auto count = static_cast<uint32_t>(line_.size() - 1);
  auto most = static_cast<uint32_t>(count - (stages_ - 1 - stage));
  auto fits = [&](uint32_t to) {
    Sums sums = space_.between(form, line_[from], line_[to]);
    if (sums.cannot || sums.time() > bottleneck)
      return false;
    auto again = keeps_.leastAgain(form, line_[from], line_[to],
                                   inFlight_[static_cast<size_t>(stage)], memory);
    return again && sums.time() - sums.again + *again <= bottleneck;
  };
  uint32_t to = from, beyond = most + 1;
  auto step = static_cast<uint32_t>(std::max<int64_t>(1, count / stages_));
  while (to < most) {
    uint32_t next = std::min(most, to + step);
    if (!fits(next)) {
      beyond = next;
      break;
    }
    to = next;
  }
  while (to < most && beyond - to > 1) {
    uint32_t middle = to + (beyond - to) / 2;
    (fits(middle) ? to : beyond) = middle;
  }
  while (to > from && !mayHold(stage + 1, line_[to]))
    --to;
  return to;
}

std::optional<std::vector<Shape::Placed>> Shape::greedy(int64_t bottleneck) {
  std::vector<Placed> stages;
  std::vector<int64_t> used(problem_.kinds.size());
  uint32_t at = 0;
  for (int64_t s = 0; s < stages_; ++s) {
    uint32_t best = at;
    Id chosen = 0;
    for (size_t f = 0; f < configuration_.forms.size(); ++f) {
      Id form = configuration_.forms[f];
      const PlacementProblem::Form &one = problem_.forms[form];
      if (s >= groups_ && form != stages[static_cast<size_t>(s - groups_)].form)
        continue;
      if (s < groups_ && used[one.kind] + one.devices() > problem_.kinds[one.kind].devices)
        continue;
      if (configuration_.each && s < groups_) { // leave groups for forms not used yet
        int64_t missing = 0;
        for (Id other : configuration_.forms)
          missing += other != form && std::none_of(stages.begin(), stages.end(), [&](auto &placed) {
                       return placed.form == other;
                     });
        if (missing > groups_ - 1 - s)
          continue;
      }
      uint32_t to = reach(s, at, form, bottleneck, problem_.kinds[one.kind].memory);
      if (to > best)
        best = to, chosen = form;
    }
    if (best == at)
      return std::nullopt;
    if (s < groups_)
      used[problem_.forms[chosen].kind] += problem_.forms[chosen].devices();
    stages.push_back({line_[at], line_[best], chosen});
    at = best;
  }
  return at + 1 == line_.size() ? std::optional(stages) : std::nullopt;
}

void Shape::seed(bool moves) {
  if (stages_ >= static_cast<int64_t>(line_.size()))
    return;
  if (configuration_.chunks > 1)
    return seedEven(moves);
  int64_t total = 1;
  for (Id form : configuration_.forms)
    total += space_.all(form).time() + space_.all(form).mostAgain;
  int64_t low = 0, high = total;
  auto found = greedy(high);
  while (found && high - low > std::max<int64_t>(1, high / 1000)) {
    int64_t middle = low + (high - low) / 2;
    answer_.budget -= 2 * stages_;
    if (auto stages = greedy(middle))
      found = std::move(stages), high = middle;
    else
      low = middle;
  }
  if (found)
    leaf(*found, false);
}

} // namespace accord::placing
