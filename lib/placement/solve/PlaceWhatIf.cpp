// What a plan would gain with a little more of what limits it, and what plans with less look like.
#include "lib/placement/solve/Place.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <tuple>

namespace accord {
namespace {

using Id = PlacementProblem::Id;

/// A tenth more, at least one more and whole multiples of `of`.
int64_t tenthMore(int64_t amount, int64_t of = 1) {
  of = std::max<int64_t>(1, of);
  int64_t more = std::max<int64_t>(1, (amount / 10 + of - 1) / of * of);
  return amount < (int64_t{1} << 60) ? amount + more : amount;
}

void faster(std::vector<LinearTime> &ways) {
  for (LinearTime &way : ways)
    way.perByte /= 1.1;
}

struct Change {
  std::string what;
  PlacementProblem problem;
};

std::vector<Change> changesOf(const PlacementProblem &problem) {
  std::vector<Change> all;
  auto change = [&](std::string what) -> PlacementProblem & {
    all.push_back({std::move(what), problem});
    return all.back().problem;
  };
  for (Id k = 0; k < problem.kinds.size(); ++k) {
    const PlacementProblem::Kind &kind = problem.kinds[k];
    change(fmt::format("memory of '{}' + 10 %", kind.name)).kinds[k].memory =
        tenthMore(kind.memory);
    int64_t devices = tenthMore(kind.devices, kind.perServer);
    change(fmt::format("{} more of '{}'", devices - kind.devices, kind.name)).kinds[k].devices =
        devices;
  }
  bool several = false, syncs = false;
  for (const PlacementProblem::Kind &kind : problem.kinds)
    several |= kind.devices > kind.perServer;
  if (problem.layers.size() > 1 && (several || problem.kinds.size() > 1))
    for (PlacementProblem::Link &link :
         change("bandwidth between stages in different servers + 10 %").links)
      link.across.perByte /= 1.1;
  if (problem.layers.size() > 1)
    for (PlacementProblem::Link &link : change("bandwidth between stages in a server + 10 %").links)
      link.inside.perByte /= 1.1;
  for (const PlacementProblem::Form &form : problem.forms)
    syncs |= !form.syncs.empty() || !form.gather.empty();
  if (syncs)
    for (PlacementProblem::Form &form :
         change("bandwidth of exchanging gradients and weights + 10 %").forms) {
      for (PlacementProblem::Sync &sync : form.syncs)
        faster(sync.ways);
      faster(form.gather);
    }
  const PlacementProblem::Limits &limits = problem.limits;
  if (limits.step > 0)
    change("limit of the step time + 10 %").limits.step = tenthMore(limits.step);
  if (limits.watts > 0)
    change("limit of the power + 10 %").limits.watts *= 1.1;
  if (limits.devices > 0)
    change("limit of the devices + 10 %").limits.devices = tenthMore(limits.devices);
  if (limits.joules > 0)
    change("limit of the energy + 10 %").limits.joules *= 1.1;
  if (limits.price > 0)
    change("limit of the price + 10 %").limits.price *= 1.1;
  for (Id pin = 0; pin < problem.pins.size(); ++pin) {
    PlacementProblem::Pin &one =
        change(fmt::format("without '{}'", problem.pins[pin].text)).pins[pin];
    one.kinds.clear();
    one.stage.reset();
    one.together = false;
  }
  return all;
}

} // namespace

std::vector<Relaxation> whatIf(const PlacementProblem &problem, const PlacementResult &result,
                               const PlaceOptions &options) {
  std::vector<Relaxation> all;
  if (!result.plan)
    return all;
  PlaceOptions how = options;
  how.known = &*result.plan;
  how.progress = nullptr;
  for (const Change &change : changesOf(problem)) {
    if (how.stop && how.stop->load())
      break;
    PlacementResult other = place(change.problem, how);
    if (other.plan) // the plan at hand is one of it, too
      all.push_back({change.what, std::min(other.value, result.value)});
  }
  return all;
}

std::vector<Tradeoff> frontOf(const PlacementProblem &problem, const PlacementResult &result,
                              const PlaceOptions &options) {
  std::vector<Tradeoff> all;
  if (!result.plan)
    return all;
  auto add = [&](const PlacementResult &one, std::string what) {
    all.push_back({std::move(what), *one.plan, one.worth});
  };
  auto fullest = [](const Tradeoff &one) {
    return *std::max_element(one.worth.memory.begin(), one.worth.memory.end());
  };
  add(result, "this plan");
  PlaceOptions how = options;
  how.progress = nullptr;
  constexpr size_t MostRungs = 6;
  PlacementProblem less = problem;
  for (size_t rung = 0; rung < MostRungs && all.back().worth.devices > 1; ++rung) {
    less.limits.devices = all.back().worth.devices / 2;
    if (how.stop && how.stop->load())
      break;
    PlacementResult one = place(less, how);
    if (!one.plan)
      break;
    add(one, fmt::format("at most {} devices", less.limits.devices));
  }
  less = problem;
  for (int quarters : {3, 2, 1}) {
    int64_t most = fullest(all.front());
    for (Id k = 0; k < less.kinds.size(); ++k)
      less.kinds[k].memory = std::min(problem.kinds[k].memory, most / 4 * quarters);
    if (how.stop && how.stop->load())
      break;
    PlacementResult one = place(less, how);
    if (!one.plan)
      break;
    add(one, fmt::format("{} % of its memory", 25 * quarters));
  }
  auto figures = [&](const Tradeoff &t) {
    return std::array<double, 5>{static_cast<double>(t.worth.devices),
                                 static_cast<double>(fullest(t)), static_cast<double>(t.worth.step),
                                 t.worth.joules, t.worth.price};
  };
  std::vector<Tradeoff> front;
  for (size_t i = 0; i < all.size(); ++i) {
    bool beaten = false;
    for (size_t j = 0; j < all.size() && !beaten; ++j) {
      auto mine = figures(all[i]), its = figures(all[j]);
      bool asGood = true;
      for (size_t f = 0; f < mine.size(); ++f)
        asGood &= its[f] <= mine[f];
      beaten = j != i && asGood && (its != mine || j < i);
    }
    if (!beaten || i == 0)
      front.push_back(all[i]);
  }
  std::sort(front.begin(), front.end(), [&](const Tradeoff &a, const Tradeoff &b) {
    return std::tuple(b.worth.devices, fullest(b), a.worth.step, a.what) <
           std::tuple(a.worth.devices, fullest(a), b.worth.step, b.what);
  });
  return front;
}

} // namespace accord
