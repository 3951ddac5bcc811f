#include "lib/planning/analysis/TimeWindows.h"
#include "lib/machine/model/Check.h"
#include "lib/scheduling/solve/Bounds.h"
#include "test/support/RandomPlan.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::testing;

namespace {

TEST(TimeWindows, HoldForEachExecution) {
  for (unsigned seed = 0; seed < 600; ++seed) {
    RandomGraph g(seed, {});
    std::vector<Picoseconds> durations(g.graph.operations.size());
    for (OperationId id = 0; id < durations.size(); ++id)
      if (g.graph.operations[id].core != CoreKind::None)
        durations[id] = {g.pick(0, 30)};
    Dependences deps = Dependences::of(g.graph);
    TimeWindows windows = TimeWindows::of(g.graph, deps, durations, CriticalPath::of(g.graph, deps, durations));
    Flat flat(g.graph, sequential(g.graph, durations), durations);
    std::vector<int64_t> end = flat.longestTo(), from = flat.longestFrom();
    for (size_t i = 0; i < flat.nodes.size(); ++i) {
      OperationId id = flat.nodes[i].operation;
      EXPECT_LE(windows.head[id], end[i] - flat.nodes[i].duration) << seed << " " << id;
      EXPECT_LE(windows.tail[id], from[i] - flat.nodes[i].duration) << seed << " " << id;
    }
  }
}

/// All subsets of the jobs, least head + work + least tail (Carlier 1982, proposition 1).
TEST(OneMachine, EqualsBestSubset) {
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    std::vector<Job> jobs(1 + random() % 7);
    for (Job &job : jobs)
      job = {static_cast<int64_t>(random() % 20), static_cast<int64_t>(random() % 10),
             static_cast<int64_t>(random() % 20)};
    int64_t best = 0;
    for (unsigned set = 1; set < 1u << jobs.size(); ++set) {
      int64_t head = INT64_MAX, work = 0, tail = INT64_MAX;
      for (size_t i = 0; i < jobs.size(); ++i)
        if (set >> i & 1) {
          head = std::min(head, jobs[i].head);
          work += jobs[i].work;
          tail = std::min(tail, jobs[i].tail);
        }
      best = std::max(best, head + work + tail);
    }
    EXPECT_EQ(criticalSet(jobs).value, best);
  }
}

/// Layers whose forward pass is a chain over both cores and whose weight gradients may fill the
/// tensor core beside the vector work of the backward pass: neither the critical path nor the
/// tensor core's work alone comes near the step.
TEST(ScheduleStep, BoundIsSharpForLayers) {
  GraphBuilder b;
  ValueId x = b.value(0, 8, Category::Inputs);
  OperationId forward = b.repeat(0, 48);
  ValueId in = b.carry(forward, x), h = b.value(2, 8), out = b.value(2, 8);
  b.operation(2, {in}, {h}, CoreKind::Vector, 60000, 0);
  b.operation(2, {h}, {out}, CoreKind::Tensor, 400000, 0);
  ValueId y = b.yield(forward, 0, out), stack = b.stash(forward, in), gradient = b.value(0, 8, Category::Temporaries);
  b.operation(0, {y}, {gradient}, CoreKind::Vector, 1000, 0);
  OperationId backward = b.repeat(0, 48);
  ValueId g = b.carry(backward, gradient), kept = b.unstash(backward, stack), dx = b.value(3, 8, Category::Temporaries),
          next = b.value(3, 8, Category::Temporaries);
  b.operation(3, {g}, {dx}, CoreKind::Tensor, 400000, 0);
  b.operation(3, {g, kept}, {b.value(3, 0, Category::Gradients)}, CoreKind::Tensor, 400000, 0);
  b.operation(3, {dx}, {next}, CoreKind::Vector, 60000, 0);
  b.yield(backward, 0, next);
  ASSERT_TRUE(check(b.graph).empty());
  Plan plan = planFor(b.graph, smallMachine());
  double gap = 1 - plan.schedule.bound.seconds().value / plan.schedule.step.seconds().value;
  EXPECT_LT(gap, 0.002);
  EXPECT_EQ(plan.schedule.proof, "core tc");
}

} // namespace
