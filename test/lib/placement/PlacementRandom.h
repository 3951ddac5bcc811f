// Small random placement problems, and all their plans one by one.
#pragma once
#include "lib/placement/evaluate/Judge.h"
#include "test/lib/placement/PlacementProblems.h"
#include <functional>
#include <random>

namespace accord::testing {

/// Chains, chains with edges that skip layers, or DAGs of 2 to `mostLayers` layers on one or two
/// kinds of devices.
inline PlacementProblem randomPlacementProblem(uint64_t seed, unsigned mostLayers = 5) {
  std::mt19937_64 random(seed);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  PlacementProblem p;
  p.name = "random";
  p.objective = static_cast<PlacementObjective>(pick(0, 5) > 2 ? 0 : pick(1, 3));
  p.batch = int64_t(1) << pick(0, 3);
  if (pick(0, 4) == 0)
    p.batch = 6;
  auto kinds = static_cast<size_t>(pick(0, 3) == 0 ? 2 : 1);
  for (size_t k = 0; k < kinds; ++k) {
    PlacementProblem::Kind kind;
    kind.name = k ? "b" : "a";
    kind.devices = pick(1, kinds == 2 ? 2 : 4);
    kind.perServer = pick(1, 4);
    kind.memory = pick(0, 2) ? pick(90, 600) : 100000;
    kind.idleWatts = static_cast<double>(pick(0, 100));
    kind.tdpWatts = static_cast<double>(pick(100, 500));
    kind.pricePerHour = static_cast<double>(pick(1, 9));
    p.kinds.push_back(kind);
  }
  for (size_t i = 0; i < kinds * kinds; ++i)
    p.links.push_back(
        {{static_cast<double>(pick(0, 5)), 0.5}, {static_cast<double>(pick(3, 20)), 1.25}});
  size_t forms = static_cast<size_t>(pick(1, kinds == 2 ? 4 : 3));
  for (size_t f = 0; f < forms; ++f) {
    PlacementProblem::Form form;
    form.kind = static_cast<uint32_t>(f % kinds);
    form.tensor = pick(1, 2);
    form.data = pick(1, 2);
    form.microbatch = pick(1, 2);
    if (form.data > 1)
      form.syncs = {{1, {{static_cast<double>(pick(0, 20)), 0.75}}}, {2, {{1, 0.25}}}};
    if (pick(0, 3) == 0)
      form.zero = 3, form.gather = {{2, 0.1}, {0, 0.5}};
    p.forms.push_back(form);
  }
  auto layers = static_cast<size_t>(pick(2, mostLayers));
  auto classes = static_cast<size_t>(pick(1, 3));
  for (size_t c = 0; c < classes; ++c) {
    PlacementProblem::LayerClass one;
    one.name = "c" + std::to_string(c);
    for (size_t f = 0; f < forms; ++f) {
      PlacementProblem::Cost cost;
      cost.forward = pick(1, 60), cost.backward = pick(1, 60), cost.weight = pick(0, 40);
      cost.update = pick(0, 30);
      cost.resident = pick(5, 30), cost.gradients = pick(0, 40), cost.weights = pick(0, 40);
      cost.joules = 1e-9 * static_cast<double>(pick(1, 50)), cost.joulesAgain = 1e-11;
      cost.keeps = {{"none", 0, pick(10, 60), pick(0, 20)}};
      if (pick(0, 1))
        cost.keeps.push_back({"full", pick(1, 50), pick(0, 10), pick(0, 40)});
      one.costs.push_back(cost);
      if (pick(0, 15) == 0 && f > 0)
        one.costs.back().reset();
    }
    p.classes.push_back(one);
  }
  for (size_t l = 0; l < layers; ++l) {
    PlacementProblem::Layer layer;
    layer.name = "l" + std::to_string(l);
    layer.of = static_cast<uint32_t>(static_cast<size_t>(pick(0, 9)) % classes);
    if (pick(0, 20) == 0)
      layer.pins.push_back(static_cast<uint32_t>(p.pins.size())),
          p.pins.push_back({"pin",
                            {static_cast<uint32_t>(pick(0, static_cast<int64_t>(kinds) - 1))},
                            {},
                            false,
                            {}});
    p.layers.push_back(layer);
  }
  int64_t shape = pick(0, 3); // 0, 1: chain · 2: with edges that skip · 3: DAG
  for (uint32_t to = 1; to < layers; ++to)
    for (uint32_t from = 0; from < to; ++from)
      if ((shape < 3 && from + 1 == to) || (shape >= 2 && pick(0, 2) == 0))
        p.edges.push_back({from, to, pick(0, 12)});
  p.schedules.clear();
  for (int64_t s = 0; s < 4; ++s)
    if (pick(0, 1))
      p.schedules.push_back(static_cast<PipelineSchedule>(s));
  if (p.schedules.empty())
    p.schedules = {PipelineSchedule::OneFOneB};
  p.chunks = {2};
  if (int64_t way = pick(0, 3); way == 0)
    p.groups = {{1, 2}};
  else if (way == 1)
    p.groups = {{1, 1}, {3, 4}};
  p.sameForm = pick(0, 2) > 0;
  p.blockingTransfers = pick(0, 1);
  p.hidden = pick(0, 1) ? 0.5 : 0;
  p.perMicrobatch = pick(0, 3);
  p.perStep = pick(0, 9);
  if (pick(0, 7) == 0)
    p.limits.devices = pick(1, 3);
  if (pick(0, 7) == 0)
    p.limits.step = pick(200, 2000);
  test::addOtherChoices(p, seed);
  return p;
}

inline bool withinLimits(const PlacementProblem &p, const PlacementWorth &w) {
  const auto &l = p.limits;
  return w.fits && (l.step == 0 || w.step <= l.step) &&
         (l.devices == 0 || w.devices <= l.devices) && (l.joules == 0 || w.joules <= l.joules) &&
         (l.price == 0 || w.price <= l.price) &&
         (l.watts == 0 || w.joules <= l.watts * static_cast<double>(w.step) * 1e-12);
}

/// Every plan that fits and is within the limits: each layer in each stage in each form with each
/// choice.
inline void
forEachPlacement(const PlacementProblem &p,
                 const std::function<void(const Placement &, const PlacementWorth &)> &look) {
  size_t n = p.layers.size();
  for (PipelineSchedule schedule : p.schedules)
    for (int64_t chunks :
         schedule == PipelineSchedule::Interleaved ? p.chunks : std::vector<int64_t>{1})
      for (size_t stages = static_cast<size_t>(chunks); stages <= n;
           stages += static_cast<size_t>(chunks)) {
        size_t groups = stages / static_cast<size_t>(chunks);
        std::vector<uint32_t> form(groups), stage(n), keep(n);
        auto count = [](std::vector<uint32_t> &digits, auto most) { // false: all seen
          for (size_t i = 0; i < digits.size(); ++i) {
            if (++digits[i] < most(i))
              return true;
            digits[i] = 0;
          }
          return false;
        };
        do {
          const auto &first = p.forms[form[0]];
          int64_t m = p.batch / (first.data * first.microbatch);
          do {
            bool back = false;
            for (const auto &edge : p.edges)
              back |= stage[edge.from] > stage[edge.to];
            if (back || m < 1)
              continue;
            auto keeps = [&](size_t l) {
              const auto &cost = p.cost(static_cast<uint32_t>(l), form[stage[l] % groups]);
              return cost ? static_cast<uint32_t>(cost->keeps.size()) : 1u;
            };
            std::fill(keep.begin(), keep.end(), 0);
            do {
              Placement plan{schedule, chunks, m, std::vector<PlacedStage>(stages)};
              for (size_t s = 0; s < stages; ++s)
                plan.stages[s].form = form[s % groups];
              for (uint32_t l = 0; l < n; ++l) {
                plan.stages[stage[l]].layers.push_back(l);
                plan.stages[stage[l]].keeps.push_back(keep[l]);
              }
              if (!faults(p, plan).empty())
                break;
              PlacementWorth worth = judge(p, plan);
              if (withinLimits(p, worth))
                look(plan, worth);
            } while (count(keep, keeps));
          } while (count(stage, [&](size_t) { return static_cast<uint32_t>(stages); }));
        } while (count(form, [&](size_t) { return static_cast<uint32_t>(p.forms.size()); }));
      }
}

/// The best of all, its value as bound; without a plan where none fits.
inline PlacementResult bruteForcePlacement(const PlacementProblem &p, size_t *seen = nullptr) {
  PlacementResult best;
  forEachPlacement(p, [&](const Placement &plan, const PlacementWorth &worth) {
    if (seen)
      ++*seen;
    if (!best.plan || worth.value < best.value) {
      best.plan = plan, best.worth = worth;
      best.value = best.bound = worth.value;
    }
  });
  return best;
}

} // namespace accord::testing
