// Training graphs of transformers as scheduling problems of any size.
#pragma once
#include "lib/scheduling/problem/SchedulingProblem.h"
#include <random>

namespace accord::testing {

/// Layers of forward and backward operations on tensor and vector cores; each backward product has
/// one of the weights beside it. Picoseconds.
inline SchedulingProblem transformer(unsigned layers, int64_t tensor, int64_t vector, bool either) {
  SchedulingProblem p;
  p.addResource("tensor", tensor);
  p.addResource("vector", vector);
  std::mt19937_64 random(layers);
  auto add = [&](bool product, int64_t microseconds, std::vector<SchedulingProblem::Id> after) {
    int64_t duration = microseconds * (800'000 + static_cast<int64_t>(random() % 400'000));
    int64_t all = product ? tensor : vector;
    SchedulingProblem::Id t = p.addTask("", duration, {{product ? 0u : 1u, 1}});
    if (either && all > 1) { // on all cores, with a loss
      SchedulingProblem::Mode spread{"all", duration / all + duration / 50, {{product ? 0u : 1u, all}}, {}, false};
      p.tasks[t].modes.push_back(spread);
    }
    for (SchedulingProblem::Id before : after)
      p.addPrecedence(before, t);
    return t;
  };
  struct Kept {
    SchedulingProblem::Id norm, q, k, v, soft, context, norm2, up, active;
  };
  std::vector<Kept> kept;
  SchedulingProblem::Id x = add(false, 20, {});
  for (unsigned l = 0; l < layers; ++l) {
    Kept of{};
    of.norm = add(false, 15, {x});
    of.q = add(true, 60, {of.norm}), of.k = add(true, 60, {of.norm}), of.v = add(true, 60, {of.norm});
    of.soft = add(false, 50, {add(true, 40, {of.q, of.k})});
    of.context = add(true, 40, {of.soft, of.v});
    auto residual = add(false, 10, {add(true, 60, {of.context}), x});
    of.norm2 = add(false, 15, {residual});
    of.up = add(true, 240, {of.norm2});
    of.active = add(false, 40, {of.up});
    x = add(false, 10, {add(true, 240, {of.active}), residual});
    kept.push_back(of);
  }
  auto g = add(false, 100, {x});
  for (unsigned l = layers; l-- > 0;) {
    const Kept &of = kept[l];
    auto weight = [&](int64_t time, std::vector<SchedulingProblem::Id> after) {
      add(false, 12, {add(true, time, std::move(after))});
    };
    auto down = add(true, 240, {g});
    weight(240, {g, of.active});
    auto active = add(false, 60, {down, of.up});
    auto up = add(true, 240, {active});
    weight(240, {active, of.norm2});
    auto residual = add(false, 10, {add(false, 30, {up}), g});
    auto out = add(true, 60, {residual});
    weight(60, {residual, of.context});
    auto dv = add(true, 40, {out, of.soft}), scores = add(false, 70, {add(true, 40, {out, of.v})});
    auto dq = add(true, 40, {scores, of.k}), dk = add(true, 40, {scores, of.q});
    auto norm = add(false, 30, {add(true, 60, {dq}), add(true, 60, {dk}), add(true, 60, {dv})});
    for (auto d : {dq, dk, dv})
      weight(60, {d, of.norm});
    g = add(false, 10, {norm, residual});
  }
  return p;
}

} // namespace accord::testing
