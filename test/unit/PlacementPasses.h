// Passes of a pipeline in an order in which they may run, and sums, for the enumerator of plans.
#pragma once
#include "lib/model/Placement.h"
#include <algorithm>
#include <array>
#include <cmath>

namespace accord::test {

constexpr int Layers = 10, Microbatches = 128;
/// Whether chunks of a group count at the same moment, or each at its own peak.
constexpr bool JointPeak = true;
using Mask = uint32_t;
using Id = PlacementProblem::Id;

/// The passes of a pipeline of groups with chunks in an order in which each comes after all that it
/// may wait for, in a chain and so wherever layers branch.
struct Passes {
  struct One {
    uint8_t stage, microbatch;
    bool forward;
  };
  std::vector<One> list;
  std::vector<std::vector<std::vector<int64_t>>> held; ///< by group: micro-batches by chunk

  Passes(PipelineSchedule schedule, int p, int v, int m, bool joint) : held(size_t(p)) {
    std::vector<std::vector<One>> orders;
    for (int g = 0; g < p; ++g)
      orders.push_back(orderOf(schedule, p, v, m, g));
    for (int g = 0; g < p; ++g)
      room(schedule, orders[size_t(g)], p, v, m, g, joint);
    std::vector<size_t> next(static_cast<size_t>(p));
    bool done[2][Layers][Microbatches] = {};
    for (bool any = true; any;) {
      any = false;
      for (size_t g = 0; g < size_t(p); ++g)
        for (; next[g] < orders[g].size(); ++next[g]) {
          One one = orders[g][next[g]];
          int s = one.stage;
          if (one.forward ? s > 0 && !done[1][s - 1][one.microbatch]
                          : s + 1 < p * v && !done[0][s + 1][one.microbatch])
            break;
          done[one.forward][s][one.microbatch] = true;
          list.push_back(one);
          any = true;
        }
    }
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
      int chunk = k / p % v, round = k / (p * v);
      if (v == 1)
        return One{uint8_t(g), uint8_t(k), forward};
      return One{uint8_t((forward ? chunk : v - 1 - chunk) * p + g), uint8_t(round * p + k % p),
                 forward};
    };
    std::vector<One> order;
    for (int f = 0, b = 0; b < all;)
      if (f < all && f < b + warm + 1)
        order.push_back(pass(f++, true));
      else
        order.push_back(pass(b++, false));
    return order;
  }

  void room(PipelineSchedule schedule, const std::vector<One> &order, int p, int v, int m, int g,
            bool joint) {
    auto &mine = held[size_t(g)];
    if (schedule == PipelineSchedule::ZeroBubble) {
      mine = {{std::min(m, p)}};
      return;
    }
    std::vector<int64_t> now(static_cast<size_t>(v)), most = now;
    for (const One &one : order) {
      auto c = static_cast<size_t>(one.stage / p);
      now[c] += one.forward ? 1 : -1;
      most[c] = std::max(most[c], now[c]);
      if (joint && std::find(mine.begin(), mine.end(), now) == mine.end())
        mine.push_back(now);
    }
    if (!joint)
      mine = {most};
  }
};

inline int64_t best(const std::vector<LinearTime> &ways, double bytes) {
  double least = INFINITY;
  for (const LinearTime &way : ways)
    least = std::min(least, way.latency + bytes * way.perByte);
  return bytes > 0 && !ways.empty() ? static_cast<int64_t>(std::ceil(least)) : 0;
}

/// Over the layers of a stage in a form.
struct Sum {
  bool can = true;
  int64_t forward = 0, backward = 0, weight = 0, update = 0, resident = 0, gradients = 0,
          weights = 0, least = 0, outside = 0;
  double joules = 0;
};
/// What a group may keep.
struct Option {
  std::array<int64_t, Layers> again; ///< by chunk
  double joules;
  std::array<uint32_t, Layers> keep; ///< by layer
};

} // namespace accord::test
