#include "lib/planning/analysis/Liveness.h"
#include "lib/machine/model/Check.h"
#include "test/support/Random.h"
#include "test/support/RandomGraph.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace accord;
using namespace accord::testing;

namespace {

TEST(Liveness, EqualsUnrolledGraph) {
  for (unsigned seed = 0; seed < cases(1000); ++seed) {
    RandomGraph g(seed, {.maxIterations = 11});
    ASSERT_TRUE(check(g.graph).empty()) << seed << check(g.graph)[0].message;
    std::vector<Picoseconds> durations(g.graph.operations.size());
    for (OperationId id = 0; id < durations.size(); ++id)
      if (g.graph.operations[id].core != CoreKind::None)
        durations[id] = {g.pick(1, 30)};
    Schedule schedule = sequential(g.graph, durations);
    MemoryUse use = liveness(g.graph, schedule);
    Flat flat(g.graph, schedule, durations);
    EXPECT_EQ(use.peak, flat.peak()) << seed;
    EXPECT_EQ(std::accumulate(use.atPeak.begin(), use.atPeak.end(), int64_t{0}), use.peak);
    int64_t highest = 0;
    for (const MemoryPoint &p : use.timeline)
      highest = std::max(highest, std::accumulate(p.bytes.begin(), p.bytes.end(), int64_t{0}));
    EXPECT_EQ(highest, use.peak) << seed;
  }
}

/// Forward keeps one activation per layer, backward consumes them: layers * activation at the turn,
/// plus what is being worked on.
TEST(Liveness, StashOfManyLayers) {
  constexpr int64_t kLayers = 100000, kBytes = 1000;
  GraphBuilder b;
  ValueId x = b.value(0, kBytes, Category::Inputs);
  OperationId forward = b.repeat(0, kLayers);
  ValueId in = b.carry(forward, x), out = b.value(2, kBytes);
  b.operation(2, {in}, {out});
  ValueId y = b.yield(forward, 0, out), stack = b.stash(forward, in);
  ValueId gradient = b.value(0, kBytes, Category::Temporaries);
  b.operation(0, {y}, {gradient});
  OperationId backward = b.repeat(0, kLayers);
  b.graph.regions[b.graph.operations[backward].body].reverse = true;
  ValueId g = b.carry(backward, gradient), kept = b.unstash(backward, stack),
          next = b.value(3, kBytes, Category::Temporaries);
  b.operation(3, {g, kept}, {next});
  b.yield(backward, 0, next);
  ASSERT_TRUE(check(b.graph).empty());
  std::vector<Picoseconds> durations(b.graph.operations.size(), {10});
  MemoryUse use = liveness(b.graph, sequential(b.graph, durations), {.points = 100});
  // At the loss: all layer inputs, the last output, its gradient. (The first backward layer holds
  // as much.)
  EXPECT_EQ(use.peak, (kLayers + 2) * kBytes);
  EXPECT_EQ(use.when.value, kLayers * 10);
  EXPECT_LE(use.timeline.size(), 100u);
}

TEST(Liveness, ParametersAreCountedAsResidents) {
  GraphBuilder b;
  ValueId x = b.value(0, 10, Category::Inputs), w = b.value(0, 1000, Category::Weights),
          dw = b.value(0, 1000, Category::Gradients);
  b.operation(0, {x, w}, {dw});
  b.graph.staticTensors = {{"w", Category::Weights, 1000}, {"w", Category::Gradients, 1000}};
  std::vector<Picoseconds> durations(1, {5});
  MemoryUse use = liveness(b.graph, sequential(b.graph, durations));
  EXPECT_EQ(use.peak, 2010);
  EXPECT_EQ(use.atPeak[static_cast<unsigned>(Category::Inputs)], 10);
}

} // namespace
