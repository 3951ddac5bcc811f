#include "lib/planning/analysis/CriticalPath.h"
#include "lib/machine/model/Check.h"
#include "test/support/RandomGraph.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::testing;

namespace {

std::vector<Picoseconds> randomDurations(RandomGraph &g) {
  std::vector<Picoseconds> d(g.graph.operations.size());
  for (OperationId id = 0; id < d.size(); ++id)
    if (g.graph.operations[id].core != CoreKind::None)
      d[id] = {g.pick(0, 30)};
  return d;
}

int64_t max(const std::vector<int64_t> &v) { return v.empty() ? 0 : *std::max_element(v.begin(), v.end()); }

TEST(MaxPlus, PowerIsRepeatedMultiplication) {
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    MaxPlusMatrix m(4);
    for (unsigned i = 0; i < 4; ++i)
      for (unsigned j = 0; j < 4; ++j)
        if (random() % 3)
          m.at(i, j) = static_cast<int64_t>(random() % 50);
    MaxPlusMatrix product = MaxPlusMatrix::identity(4);
    for (int n = 0; n < 12; ++n) {
      EXPECT_EQ(m.power(n), product) << n;
      product = product * m;
    }
  }
}

TEST(CriticalPath, EqualsUnrolledGraph) {
  for (unsigned seed = 0; seed < 600; ++seed) {
    RandomGraph g(seed, {.stashes = false});
    ASSERT_TRUE(check(g.graph).empty()) << seed << check(g.graph)[0].message;
    auto durations = randomDurations(g);
    CriticalPath path = CriticalPath::of(g.graph, Dependences::of(g.graph), durations);
    Flat flat(g.graph, sequential(g.graph, durations), durations);
    std::vector<int64_t> end = flat.longestTo(), from = flat.longestFrom();
    std::vector<int64_t> micro(end.begin(), end.begin() + static_cast<ptrdiff_t>(flat.split));
    EXPECT_EQ(path.length[0].value, max(micro)) << seed;
    EXPECT_EQ(path.step.value, g.graph.microbatches * path.length[0].value + path.length[1].value);
    for (size_t i = 0; i < flat.split; ++i) {
      OperationId id = flat.nodes[i].operation;
      if (g.graph.operations[id].region != 0)
        continue;
      EXPECT_EQ(path.timing[id].earliest.value, end[i] - flat.nodes[i].duration) << seed << " " << id;
      EXPECT_EQ(path.timing[id].latest.value, max(micro) - from[i]) << seed << " " << id;
    }
    // The chain is as long as the path: its operations of region 0 have no slack.
    for (OperationId id : path.chain)
      EXPECT_EQ(path.timing[id].slack().value, 0) << seed << " " << id;
  }
}

TEST(CriticalPath, IsALowerBoundWithStashes) {
  unsigned equal = 0, rounds = 600;
  for (unsigned seed = 0; seed < rounds; ++seed) {
    RandomGraph g(seed, {});
    ASSERT_TRUE(check(g.graph).empty()) << seed << check(g.graph)[0].message;
    auto durations = randomDurations(g);
    CriticalPath path = CriticalPath::of(g.graph, Dependences::of(g.graph), durations);
    Flat flat(g.graph, sequential(g.graph, durations), durations);
    std::vector<int64_t> end = flat.longestTo();
    end.resize(flat.split);
    EXPECT_LE(path.length[0].value, max(end)) << seed;
    equal += path.length[0].value == max(end);
  }
  EXPECT_GT(equal, rounds * 8 / 10);
}

TEST(CriticalPath, CostDoesNotGrowWithCount) {
  GraphBuilder b;
  ValueId x = b.value(0, 8);
  OperationId loop = b.repeat(0, int64_t{1} << 40);
  ValueId in = b.carry(loop, x), out = b.value(2, 8), side = b.value(2, 8);
  OperationId first = b.operation(2, {in}, {out}), second = b.operation(2, {out}, {side});
  b.yield(loop, 0, out);
  std::vector<Picoseconds> durations(b.graph.operations.size());
  durations[first] = {3};
  durations[second] = {10};
  CriticalPath path = CriticalPath::of(b.graph, Dependences::of(b.graph), durations);
  // Iterations overlap: only the carried value is a chain, the side branch counts once.
  EXPECT_EQ(path.length[0].value, 3 * (int64_t{1} << 40) + 10);
  EXPECT_EQ(path.length[2].value, 13);
  EXPECT_EQ(path.chain, (std::vector<OperationId>{loop, first, second}));
}

} // namespace
