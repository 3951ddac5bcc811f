// The passes of a small pipeline, for brute force.
#pragma once
#include "lib/placement/problem/Placement.h"
#include <algorithm>
#include <array>
#include <cmath>

namespace accord::test {

/// The fastest of several ways to move so many bytes.
inline int64_t best(const std::vector<AlphaBetaModel> &alternatives, double bytes) {
  double min = INFINITY;
  for (const AlphaBetaModel &way : alternatives)
    min = std::min(min, way.latency + bytes * way.perByte);
  return bytes > 0 && !alternatives.empty() ? static_cast<int64_t>(std::ceil(min)) : 0;
}

/// Of the exchange with most members in a server, but no more than `here`.
inline int64_t exchanged(const std::vector<PlacementProblem::GradientSync> &gradientSyncs, int64_t bytes,
                         int64_t here) {
  const PlacementProblem::GradientSync *sync = gradientSyncs.empty() ? nullptr : &gradientSyncs.front();
  for (const auto &one : gradientSyncs)
    if (one.replicasPerNode <= here)
      sync = &one;
  return sync ? best(sync->alternatives, static_cast<double>(bytes)) : 0;
}

/// The passes of a pipeline of groups with chunks in an order in which each comes after all that it
/// may wait for, in a chain and so wherever layers branch.
struct Passes {
  static constexpr int Layers = 10, Microbatches = 128;
  /// By stage; `finish` by group.
  struct Pipeline {
    std::array<StageTimes, Layers> times{};
    std::array<int64_t, Layers> backward{}, stepTail{}; ///< backward with what is computed again
    std::array<std::vector<int>, Layers> feeds, fed;    ///< stages before it, stages after it
  };
  struct One {
    uint8_t stage, microbatch;
    bool forward;
  };
  std::vector<One> list;
  std::vector<std::vector<std::vector<int64_t>>> held; ///< by group: micro-batches by chunk

  Passes(PipelineSchedule schedule, int p, int v, int m)
      : held(size_t(p)), split(schedule == PipelineSchedule::ZeroBubble), groups(p), stages(p * v), microbatches(m) {
    std::vector<std::vector<One>> orders;
    for (int g = 0; g < p; ++g)
      orders.push_back(orderOf(schedule, p, v, m, g));
    for (int g = 0; g < p; ++g)
      room(schedule, orders[size_t(g)], p, v, m, g);
    std::vector<size_t> next(static_cast<size_t>(p));
    bool done[2][Layers][Microbatches] = {};
    for (bool any = true; any;) {
      any = false;
      for (size_t g = 0; g < size_t(p); ++g)
        for (; next[g] < orders[g].size(); ++next[g]) {
          One one = orders[g][next[g]];
          int s = one.stage;
          if (one.forward ? s > 0 && !done[1][s - 1][one.microbatch] : s + 1 < p * v && !done[0][s + 1][one.microbatch])
            break;
          done[one.forward][s][one.microbatch] = true;
          list.push_back(one);
          any = true;
        }
    }
  }

  /// Each pass when its group is free and all has arrived.
  int64_t run(const Pipeline &in) {
    int64_t max = std::min(microbatches, groups);
    std::array<int64_t, Layers> free{}, forwardLink{}, backwardLink{};
    std::array<int, Layers> owed{}, holds{};
    for (auto &stage : arrived)
      for (int s = 0; s < stages; ++s)
        std::fill_n(stage[s], microbatches, 0);
    for (auto [stage, i, forward] : list) {
      int g = stage % groups;
      const StageTimes &times = in.times[stage];
      int64_t arrival = arrived[forward][stage][i];
      for (; split && owed[g] > 0 && ((forward && holds[g] >= max) || free[g] + times.weight <= arrival);
           --owed[g], --holds[g])
        free[g] += times.weight;
      int64_t takes = forward ? times.forward : in.backward[stage] + (split ? 0 : times.weight);
      int64_t end = free[g] = std::max(free[g], arrival) + takes;
      if (forward)
        ++holds[g];
      else
        split ? ++owed[g] : --holds[g];
      int64_t &link = (forward ? forwardLink : backwardLink)[stage];
      for (int other : forward ? in.fed[stage] : in.feeds[stage]) {
        link = std::max(link, end) + in.times[forward ? stage : other].send;
        arrived[forward][other][i] = std::max(arrived[forward][other][i], link);
      }
    }
    int64_t step = 0;
    for (int g = 0; g < groups; ++g)
      step = std::max(step, free[g] + owed[g] * in.times[g].weight + in.stepTail[g]);
    return step;
  }

private:
  static std::vector<One> orderOf(PipelineSchedule schedule, int p, int v, int m, int g) {
    int all = m * v, warm = 0;
    if (schedule == PipelineSchedule::GPipe)
      warm = all;
    else if (v == 1)
      warm = std::min(all, p - g - 1);
    else
      warm = std::min(all, 2 * (p - g - 1) + (v - 1) * p);
    auto pass = [&](int k, bool forward) {
      int virtualStage = k / p % v, round = k / (p * v);
      if (v == 1)
        return One{uint8_t(g), uint8_t(k), forward};
      return One{uint8_t((forward ? virtualStage : v - 1 - virtualStage) * p + g), uint8_t(round * p + k % p), forward};
    };
    std::vector<One> order;
    for (int f = 0, b = 0; b < all;)
      if (f < all && f < b + warm + 1)
        order.push_back(pass(f++, true));
      else
        order.push_back(pass(b++, false));
    return order;
  }

  /// What the chunks of a group hold at each moment.
  void room(PipelineSchedule schedule, const std::vector<One> &order, int p, int v, int m, int g) {
    auto &mine = held[size_t(g)];
    if (schedule == PipelineSchedule::ZeroBubble) {
      mine = {{std::min(m, p)}};
      return;
    }
    std::vector<int64_t> now(static_cast<size_t>(v));
    for (const One &one : order) {
      now[static_cast<size_t>(one.stage / p)] += one.forward ? 1 : -1;
      if (std::find(mine.begin(), mine.end(), now) == mine.end())
        mine.push_back(now);
    }
  }

  bool split;
  int groups, stages, microbatches;
  int64_t arrived[2][Layers][Microbatches];
};

} // namespace accord::test
