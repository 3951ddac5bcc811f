// Pipelines of passes: closed forms of the papers, the verifier's event simulation, and what must
// hold of any.
#include "lib/placement/evaluate/Pipeline.h"
#include "lib/placement/verify/PipelineReplay.h"
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace accord;
using enum PipelineSchedule;

namespace {

ReplayInput toReplay(const PipelineShape &shape, const std::vector<StageTimes> &stages, const StageEdges &feeds) {
  return {shape.schedule, shape.groups, shape.virtualStages, shape.microbatches, stages, feeds};
}

/// Micro-batches in flight in each stage at most, whatever passes take: from the verifier's order alone.
std::vector<int64_t> roomOf(const ReplayInput &pipeline) {
  std::vector<int64_t> room;
  int64_t p = pipeline.groups;
  for (int64_t s = 0; s < p * pipeline.virtualStages; ++s) {
    std::vector<int64_t> activations(static_cast<size_t>(pipeline.virtualStages));
    activations[static_cast<size_t>(s / p)] = 1;
    room.push_back(peakOf(pipeline, modelOf(pipeline.schedule).groupOf(s, p), activations).first);
  }
  return room;
}

/// Steps of both simulations, which have to be one.
int64_t stepOf(const PipelineShape &shape, const std::vector<StageTimes> &stages, const StageEdges &feeds) {
  int64_t step = simulate(shape, stages, feeds).step;
  EXPECT_EQ(step, replay(toReplay(shape, stages, feeds)).step);
  return step;
}

int64_t uniformStages(const PipelineShape &shape, int64_t forward, int64_t backward, int64_t weight) {
  auto n = static_cast<size_t>(shape.groups * shape.virtualStages);
  std::vector<StageTimes> stages(
      n, {forward / shape.virtualStages, backward / shape.virtualStages, weight / shape.virtualStages, 0, 0});
  return stepOf(shape, stages, chainOf(n));
}

/// (m + p - 1) (tF + tB): Narayanan et al., SC 2021, section 2.2.1.
TEST(Pipeline, GPipeAndOneFOneBOfEqualStages) {
  for (PipelineSchedule schedule : {GPipe, OneFOneB})
    for (int64_t p = 1; p <= 9; ++p)
      for (int64_t m = 1; m <= 20; ++m)
        EXPECT_EQ(uniformStages({schedule, p, 1, m}, 7, 9, 4), (m + p - 1) * 20) << p << " " << m;
}

/// (m + (p - 1) / v) (tF + tB): section 2.2.2, m a multiple of p.
TEST(Pipeline, InterleavedEqualStages) {
  for (int64_t v : {2, 3, 4})
    for (int64_t p = 1; p <= 8; ++p)
      for (int64_t m = p; m <= 4 * p; m += p)
        EXPECT_EQ(uniformStages({Interleaved, p, v, m}, 12 * 2, 12 * 3, 12), m * 72 + (p - 1) * 72 / v)
            << p << " " << v << " " << m;
}

/// m (tF + tB + tW) + (p - 1) (tF + tB - tW), of m >= p: Qi et al., ICLR 2024, table 2.
TEST(Pipeline, ZeroBubbleOfEqualStages) {
  for (auto [f, b, w] : {std::array<int64_t, 3>{10, 10, 10}, {10, 12, 8}, {5, 9, 3}, {6, 6, 0}})
    for (int64_t p = 1; p <= 8; ++p)
      for (int64_t m = p; m <= 3 * p + 2; ++m)
        EXPECT_EQ(uniformStages({ZeroBubble, p, 1, m}, f, b, w), m * (f + b + w) + (p - 1) * (f + b - w))
            << p << " " << m << " " << f << b << w;
}

/// No wait between the passes of a group where all take equally long, from 2 p - 1 micro-batches on, and at most 2 p
/// activations of half the layers each: those of 1F1B's first stage (Qi et al., NeurIPS 2024, section 4.1).
TEST(Pipeline, ZeroBubbleVOfEqualStages) {
  for (int64_t p = 1; p <= 8; ++p)
    for (int64_t m = 1; m <= 3 * p + 2; ++m) {
      PipelineShape shape{ZeroBubbleV, p, 2, m};
      int64_t step = uniformStages(shape, 10, 10, 10);
      if (m >= 2 * p - 1)
        EXPECT_EQ(step, m * 30 + (p - 1) * 5) << p << " " << m;
      PipelineRun run = simulate(shape, std::vector<StageTimes>(static_cast<size_t>(2 * p), {5, 5, 5, 0, 0}),
                                 chainOf(static_cast<size_t>(2 * p)), true);
      for (size_t g = 0; g < run.passes.size(); ++g) {
        int64_t held = 0, max = 0;
        for (const SimulatedPass &pass : run.passes[g]) {
          held += pass.pass.pass == Pass::Forward ? 1 : pass.pass.pass == Pass::Weight ? -1 : 0;
          max = std::max(max, held);
        }
        EXPECT_LE(max, 2 * p);
        EXPECT_EQ(held, 0);
        EXPECT_TRUE(m < 2 * p - 1 || max == 2 * p);
      }
    }
}

/// Every pass as late as all that it needs: the order of the groups is all that brute force takes from the model, and
/// the fix point over all passes all it computes with.
TEST(Pipeline, ZeroBubbleVAgainstFixPoint) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
    PipelineShape shape{ZeroBubbleV, pick(1, 5), 2, pick(1, 12)};
    auto n = static_cast<size_t>(2 * shape.groups), m = static_cast<size_t>(shape.microbatches);
    std::vector<StageTimes> stages;
    for (size_t s = 0; s < n; ++s)
      stages.push_back({pick(0, 20), pick(0, 20), pick(0, 20), 0, pick(0, 20)});
    std::vector<int64_t> ends(3 * n * m); // by pass, stage and micro-batch
    auto at = [&](size_t pass, size_t stage, size_t i) -> int64_t & { return ends[(pass * n + stage) * m + i]; };
    for (bool changed = true; changed;) {
      changed = false;
      for (int64_t g = 0; g < shape.groups; ++g) {
        int64_t free = 0;
        for (const PipelinePass &one : passesOf(shape, g)) {
          size_t s = one.stage, i = one.microbatch;
          int64_t start = free, takes = one.pass == Pass::Forward    ? stages[s].forward
                                        : one.pass == Pass::Backward ? stages[s].backward
                                                                     : stages[s].weight;
          if (one.pass == Pass::Forward && s > 0)
            start = std::max(start, at(0, s - 1, i));
          if (one.pass == Pass::Backward)
            start = std::max({start, at(0, s, i), s + 1 < n ? at(1, s + 1, i) : 0});
          if (one.pass == Pass::Weight)
            start = std::max(start, at(1, s, i));
          int64_t &end = at(static_cast<size_t>(one.pass), s, i);
          changed |= end != start + takes;
          free = end = start + takes;
        }
      }
    }
    int64_t step = 0;
    for (size_t g = 0; g < n / 2; ++g) {
      int64_t last = 0;
      for (size_t s : {g, n - 1 - g})
        for (size_t i = 0; i < m; ++i)
          last = std::max({last, at(0, s, i), at(1, s, i), at(2, s, i)});
      step = std::max(step, last + stages[g].stepTail + stages[n - 1 - g].stepTail);
    }
    ASSERT_EQ(stepOf(shape, stages, chainOf(n)), step) << seed;
  }
}

/// Most pieces that a group holds together, as its passes ran.
int64_t maxPieces(const PipelineShape &shape, size_t group) {
  auto n = static_cast<size_t>(shape.groups * shape.virtualStages);
  PipelineRun run = simulate(shape, std::vector<StageTimes>(n, {4, 4, 4, 0, 0}), chainOf(n), true);
  int64_t held = 0, max = 0;
  for (const SimulatedPass &pass : run.passes[group]) {
    bool frees = pass.pass.pass == (modelOf(shape.schedule).splitsWeights() ? Pass::Weight : Pass::Backward);
    held += pass.pass.pass == Pass::Forward ? 1 : frees ? -1 : 0;
    max = std::max(max, held);
  }
  EXPECT_EQ(held, 0);
  return max;
}

TEST(Pipeline, ActivationsInFlight) {
  for (int64_t p = 1; p <= 6; ++p)
    for (int64_t m = 1; m <= 14; ++m)
      for (int64_t s = 0; s < p; ++s) {
        auto g = static_cast<size_t>(s);
        EXPECT_EQ(maxPieces({GPipe, p, 1, m}, g), m);
        EXPECT_EQ(maxPieces({OneFOneB, p, 1, m}, g), std::min(m, p - s));
        EXPECT_LE(maxPieces({ZeroBubble, p, 1, m}, g), std::min(m, p));
        EXPECT_EQ(inFlightOf({GPipe, p, 1, m})[g], m);
        EXPECT_EQ(inFlightOf({OneFOneB, p, 1, m})[g], std::min(m, p - s));
        EXPECT_EQ(inFlightOf({ZeroBubble, p, 1, m})[g], std::min(m, p));
      }
}

/// L (1 + (p - 1) / (p v)) layers' activations on the first device, of L / (p v) layers each: (v +
/// 1) p - 1 pieces (Korthikanti et al., 2022, section 4.2.1). Exact for m >= 2 p; m = p never holds
/// more than p v, L layers.
TEST(Pipeline, ActivationsInFlightInterleaved) {
  for (int64_t v : {2, 3, 4})
    for (int64_t p = 2; p <= 6; ++p)
      for (int64_t m = p; m <= 4 * p; m += p) {
        EXPECT_EQ(maxPieces({Interleaved, p, v, m}, 0), m == p ? p * v : (v + 1) * p - 1) << p << " " << v << " " << m;
        for (const auto &held : inFlightStatesOf({Interleaved, p, v, m}, 0))
          EXPECT_EQ(std::accumulate(held.begin(), held.end(), int64_t(0)), m == p ? p * v : (v + 1) * p - 1);
        EXPECT_LE(inFlightStatesOf({Interleaved, p, v, m}, 0).size(), static_cast<size_t>(2 * v + 2));
      }
}

/// Bytes in flight as the passes of random pipelines ran, one after the other, against the moments
/// of `heldOf` and the verifier's walk.
TEST(Pipeline, PeaksOfChunksTogether) {
  std::mt19937_64 random(5);
  auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
  size_t less = 0;
  for (int i = 0; i < 600; ++i) {
    PipelineShape shape{Interleaved, pick(1, 7), pick(2, 6), 1};
    shape.microbatches = shape.groups * pick(1, 6);
    auto p = static_cast<size_t>(shape.groups), n = p * static_cast<size_t>(shape.virtualStages);
    std::vector<StageTimes> stages;
    for (size_t s = 0; s < n; ++s)
      stages.push_back({pick(1, 50), pick(1, 50), pick(1, 50), pick(0, 9), 0});
    PipelineRun run = simulate(shape, stages, chainOf(n), true);
    for (size_t g = 0; g < p; ++g) {
      std::vector<int64_t> activations, held(static_cast<size_t>(shape.virtualStages));
      for (size_t c = 0; c < held.size(); ++c)
        activations.push_back(pick(0, 2) ? pick(0, 1000) : 0);
      int64_t bytes = 0, max = 0;
      for (const SimulatedPass &pass : run.passes[g]) {
        bytes += (pass.pass.pass == Pass::Forward ? 1 : -1) * activations[pass.pass.stage / p];
        max = std::max(max, bytes);
      }
      auto moment = peakOf(inFlightStatesOf(shape, static_cast<int64_t>(g)), activations);
      ASSERT_EQ(std::inner_product(activations.begin(), activations.end(), moment.begin(), int64_t(0)), max);
      auto again = peakOf(toReplay(shape, stages, chainOf(n)), static_cast<int64_t>(g), activations);
      ASSERT_EQ(again, std::pair(max, moment));
      std::vector<int64_t> alone = inFlightOf(shape);
      int64_t rooms = 0;
      for (size_t c = 0; c < held.size(); ++c)
        rooms += alone[c * p + g] * activations[c];
      ASSERT_LE(max, rooms);
      less += max < rooms;
    }
  }
  EXPECT_GT(less, 1000u);
}

struct Uneven {
  PipelineShape shape;
  std::vector<StageTimes> stages;
  StageEdges feeds;
};

Uneven uneven(uint64_t seed) {
  std::mt19937_64 random(seed);
  auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
  Uneven all;
  all.shape.schedule = static_cast<PipelineSchedule>(pick(0, 4));
  all.shape.groups = pick(1, 7);
  bool interleaves = all.shape.schedule == Interleaved;
  all.shape.virtualStages = interleaves ? pick(2, 4) : all.shape.schedule == ZeroBubbleV ? 2 : 1;
  all.shape.microbatches = interleaves ? all.shape.groups * pick(1, 4) : pick(1, 20);
  auto n = static_cast<size_t>(all.shape.groups * all.shape.virtualStages);
  bool beside = pick(0, 1), dag = pick(0, 1), small = pick(0, 1); // small: many equal times
  int64_t max = small ? 3 : 1000;
  for (size_t s = 0; s < n; ++s)
    all.stages.push_back({pick(0, max), pick(0, max), pick(0, max), beside ? pick(0, max) : 0, pick(0, max)});
  all.feeds = chainOf(n);
  if (dag)
    for (uint32_t to = 0; to < n; ++to) {
      all.feeds[to].clear();
      for (uint32_t from = 0; from < to; ++from)
        if (pick(0, 2) == 0)
          all.feeds[to].push_back(from);
    }
  return all;
}

TEST(Pipeline, EqualsTheVerifiersEvents) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    Uneven all = uneven(seed);
    PipelineRun run = simulate(all.shape, all.stages, all.feeds);
    PipelineReplay again = replay(toReplay(all.shape, all.stages, all.feeds));
    ASSERT_TRUE(again.ends) << seed;
    ASSERT_EQ(run.step, again.step) << seed << " " << name(all.shape.schedule);
    ASSERT_EQ(run.groupEnd, again.groupEnd) << seed;
    ASSERT_EQ(run.inFlight, again.inFlight) << seed;
    ASSERT_EQ(inFlightOf(all.shape), roomOf(toReplay(all.shape, all.stages, all.feeds))) << seed;
    for (size_t s = 0; s < run.inFlight.size(); ++s)
      ASSERT_LE(run.inFlight[s], inFlightOf(all.shape)[s]) << seed;
  }
}

/// What no schedule can break: passes of a group one after the other, none before what it needs.
TEST(Pipeline, PassesNeitherOverlapNorComeEarly) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Uneven all = uneven(seed);
    PipelineRun run = simulate(all.shape, all.stages, all.feeds, true);
    auto m = static_cast<size_t>(all.shape.microbatches);
    std::vector<std::vector<SimulatedPass>> of(3 * all.stages.size(), std::vector<SimulatedPass>(m));
    size_t count = 0;
    for (const auto &group : run.passes)
      for (size_t i = 0; i < group.size(); ++i, ++count) {
        ASSERT_GE(group[i].start, i ? group[i - 1].end : 0) << seed;
        of[3 * group[i].pass.stage + static_cast<size_t>(group[i].pass.pass)][group[i].pass.microbatch] = group[i];
      }
    ASSERT_EQ(count, (modelOf(all.shape.schedule).splitsWeights() ? 3 : 2) * m * all.stages.size());
    for (uint32_t s = 0; s < all.stages.size(); ++s)
      for (size_t i = 0; i < m; ++i) {
        ASSERT_GE(of[3 * s + 1][i].start, of[3 * s][i].end);
        if (modelOf(all.shape.schedule).splitsWeights())
          ASSERT_GE(of[3 * s + 2][i].start, of[3 * s + 1][i].end);
        for (uint32_t from : all.feeds[s]) {
          ASSERT_GE(of[3 * s][i].start, of[3 * from][i].end + all.stages[from].send);
          ASSERT_GE(of[3 * from + 1][i].start, of[3 * s + 1][i].end + all.stages[from].send);
        }
      }
  }
}

/// A longer pass or transfer never makes a step shorter where the order is fixed. (ZeroBubble
/// chooses by times: a longer pass can leave room for a weight gradient.)
TEST(Pipeline, MonotoneInEveryDuration) {
  std::mt19937_64 random(7);
  size_t tried = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Uneven all = uneven(seed);
    if (all.shape.schedule == ZeroBubble)
      continue;
    int64_t step = simulate(all.shape, all.stages, all.feeds).step;
    for (size_t s = 0; s < all.stages.size(); ++s)
      for (auto duration : {&StageTimes::forward, &StageTimes::backward, &StageTimes::weight, &StageTimes::send,
                            &StageTimes::stepTail}) {
        std::vector<StageTimes> longer = all.stages;
        longer[s].*duration += 1 + static_cast<int64_t>(random() % 300);
        ASSERT_GE(simulate(all.shape, longer, all.feeds).step, step) << seed << " " << s;
        ++tried;
      }
  }
  EXPECT_GT(tried, 5000u);
}

TEST(Pipeline, TimesScale) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Uneven all = uneven(seed);
    PipelineRun run = simulate(all.shape, all.stages, all.feeds);
    for (StageTimes &times : all.stages)
      times = {1000003 * times.forward, 1000003 * times.backward, 1000003 * times.weight, 1000003 * times.send,
               1000003 * times.stepTail};
    ASSERT_EQ(simulate(all.shape, all.stages, all.feeds).step, 1000003 * run.step) << seed;
  }
}

/// By hand: two stages, three micro-batches; the second is the slower.
TEST(Pipeline, TwoUnevenStagesByHand) {
  std::vector<StageTimes> stages{{2, 3, 1, 0, 5}, {4, 6, 2, 0, 1}};
  // Stage 1: F 2-6, B 6-14, F 14-18, B 18-26, F 26-30, B 30-38; stage 0's last backward 38-42.
  EXPECT_EQ(stepOf({OneFOneB, 2, 1, 3}, stages, chainOf(2)), 47);
  // F on 1: 2-6-10-14; B: 22, 30, 38; stage 0 ends at 42 and updates.
  EXPECT_EQ(stepOf({GPipe, 2, 1, 3}, stages, chainOf(2)), 47);
  // B 6-12 without weight gradients; in stage 1 no wait, but at most 2 in flight:
  // F0 2-6 B0 6-12 F1 12-16 B1 16-22 W0 22-24 F2 24-28 B2 28-34 W1 W2 34-38. Stage 0: B2 34-37 and
  // its W.
  EXPECT_EQ(stepOf({ZeroBubble, 2, 1, 3}, stages, chainOf(2)), 43);
  // Transfers beside, 10 each way: stage 0's forward passes arrive at 12, 22, 32.
  stages[0].send = 10;
  // 1F1B: F0 12-16 B0 16-24 -> 34; F1 (sent 4-14, port free at 12: 12-22) 24-28 B1 28-36 -> 46;
  // stage 0: B0 34-38, F2 38-40 -> 50: F2 50-54 B2 54-62 -> 72: B2 72-76.
  EXPECT_EQ(stepOf({OneFOneB, 2, 1, 3}, stages, chainOf(2)), 81);
}

} // namespace
