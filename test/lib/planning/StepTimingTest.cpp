// The step in its planned order, and the critical path of repeats, with other durations.
#include "lib/planning/analysis/StepTiming.h"
#include "lib/planning/analysis/StepSensitivity.h"
#include "test/support/RandomPlan.h"
#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::testing;

namespace {

std::vector<OperationId> workOf(const WorkGraph &graph) {
  std::vector<OperationId> ids;
  for (OperationId id = 0; id < graph.operations.size(); ++id)
    if (graph.operations[id].body == kNone && graph.operations[id].core != CoreKind::None)
      ids.push_back(id);
  return ids;
}

TEST(IncrementalCriticalPath, EqualsFullComputation) {
  for (unsigned seed = 0; seed < 250; ++seed) {
    RandomGraph g(seed, {});
    Dependences deps = Dependences::of(g.graph);
    std::vector<OperationId> ids = workOf(g.graph);
    std::vector<Picoseconds> durations(g.graph.operations.size());
    for (OperationId id : ids)
      durations[id] = {g.pick(0, 30)};
    CriticalPath before = CriticalPath::of(g.graph, deps, durations);
    IncrementalCriticalPath moving(g.graph, deps, durations);
    for (int round = 0; round < 12 && !ids.empty(); ++round) {
      OperationId id = ids[static_cast<size_t>(g.pick(0, static_cast<int64_t>(ids.size()) - 1))];
      std::vector<Picoseconds> changed = durations;
      changed[id] = {g.pick(0, 3) ? g.pick(0, 40) : 0};
      EXPECT_EQ(moving.stepWith(id, changed[id]), CriticalPath::of(g.graph, deps, changed).step) << seed;
      const CriticalPath &path = moving.path();
      EXPECT_EQ(path.step, before.step) << seed;
      EXPECT_EQ(path.length, before.length) << seed;
      EXPECT_EQ(path.repeat, before.repeat) << seed;
      EXPECT_EQ(path.chain, before.chain) << seed;
      EXPECT_EQ(path.summaries, before.summaries) << seed;
      for (OperationId op = 0; op < durations.size(); ++op) {
        EXPECT_EQ(path.timing[op].earliest, before.timing[op].earliest) << seed << " " << op;
        EXPECT_EQ(path.timing[op].latest, before.timing[op].latest) << seed << " " << op;
      }
    }
  }
}

/// A forward chain of layers and a backward chain that takes what they keep; `inside` is in a body.
struct Layers : GraphBuilder {
  OperationId inside = 0;
  explicit Layers(int64_t count) {
    ValueId x = value(0, 8);
    operation(0, {}, {x});
    OperationId forward = repeat(0, count);
    ValueId in = carry(forward, x);
    RegionId body = graph.operations[forward].body;
    ValueId a = value(body, 8), b = value(body, 8);
    inside = operation(body, {in}, {a}, CoreKind::Tensor);
    operation(body, {a, in}, {b});
    ValueId y = yield(forward, 0, b), kept = stash(forward, a);
    OperationId backward = repeat(0, count);
    ValueId gradient = carry(backward, y), slice = unstash(backward, kept);
    RegionId other = graph.operations[backward].body;
    graph.regions[other].reverse = true;
    ValueId next = value(other, 8);
    operation(other, {gradient, slice}, {next}, CoreKind::Tensor);
    yield(backward, 0, next);
  }
};

TEST(StepTiming, IsThePlanOrShorter) {
  unsigned same = 0, rounds = 200;
  for (unsigned seed = 0; seed < rounds; ++seed) {
    RandomGraph g(seed, {});
    Machine machine = smallMachine();
    machine.cores[1].perInstanceMapping = seed % 2;
    machine.host.microbatch = Seconds(seed % 3 * 1e-7);
    Plan plan = planFor(g.graph, machine);
    StepTiming timing = *StepTiming::of(plan);
    EXPECT_LE(timing.step(), plan.schedule.step.value) << seed;
    EXPECT_GE(timing.step(), plan.schedule.bound.value) << seed;
    same += timing.step() == plan.schedule.step.value;
  }
  EXPECT_GT(same, rounds * 8 / 10);
}

/// Each execution of an operation on the longest path that takes longer makes the step longer by as much, and none
/// makes it longer by more. Nor is a step with a shorter operation longer than the plan in which its slot is shorter:
/// that one has the same orders, and perhaps more.
TEST(StepTiming, StepWithAnotherDuration) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    RandomGraph g(seed, {});
    Plan plan = planFor(g.graph, smallMachine());
    StepTiming timing = *StepTiming::of(plan);
    StepSensitivity what = *StepSensitivity::of(plan);
    for (OperationId id : workOf(g.graph)) {
      int64_t old = timing.duration(id), longer = *timing.stepWith(id, old + 1000) - timing.step();
      auto all = static_cast<int64_t>(1000 * plan.graph.executions(id));
      EXPECT_EQ(*timing.stepWith(id, old), timing.step()) << seed << " " << id;
      EXPECT_GE(longer, 0) << seed << " " << id;
      EXPECT_LE(longer, all) << seed << " " << id;
      if (llvm::is_contained(what.critical, id)) {
        EXPECT_EQ(longer, all) << seed << " " << id;
      }
      Plan shorter = plan;
      for (Slot &slot : shorter.schedule.regions[plan.graph.operations[id].region].slots)
        if (slot.operation == id)
          slot.duration.value = old / 2;
      EXPECT_LE(*timing.stepWith(id, old / 2), StepTiming::of(shorter)->step()) << seed << " " << id;
    }
  }
}

TEST(StepTiming, LongerInABodyCountsInEachIteration) {
  Layers layers(96);
  Plan plan = planFor(layers.graph, smallMachine());
  StepTiming timing = *StepTiming::of(plan);
  EXPECT_EQ(*timing.stepWith(layers.inside, timing.duration(layers.inside) + 5),
            timing.step() + 5 * 96 * plan.graph.microbatches);
}

TEST(StepTiming, RefusesPlansThatContradictThemselves) {
  Layers layers(3);
  Plan plan = planFor(layers.graph, smallMachine());
  auto message = [](const Plan &p) {
    auto made = StepTiming::of(p);
    return !made ? made.error().message : "";
  };
  EXPECT_EQ(message(plan), "");
  Plan bad = plan;
  std::vector<Slot> &slots = bad.schedule.regions[2].slots;
  ASSERT_EQ(slots.size(), 2u); // both read the memory: the second now ends before the first starts
  slots[1].start = {0};
  slots[0].start = slots[1].duration;
  EXPECT_EQ(message(bad).find("operations wait for each other: '"), 0u) << message(bad);
  bad = plan;
  bad.schedule.regions[2].slots.pop_back();
  EXPECT_NE(message(bad).find("has no slot"), std::string::npos);
  bad = plan;
  bad.schedule.regions[2].slots[0].duration = {kLongestStep / 2};
  EXPECT_NE(message(bad).find("2^61"), std::string::npos);
  bad.schedule.regions[2].slots[0].duration = {-1};
  EXPECT_NE(message(bad), "");
  EXPECT_NE(message(Plan()), "");
  StepTiming timing = *StepTiming::of(plan);
  for (int64_t duration : {int64_t{-1}, kLongestStep / 2, INT64_MAX})
    EXPECT_FALSE(timing.stepWith(layers.inside, duration));
}

TEST(StepSensitivity, AddsUpAndIsOrdered) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    RandomGraph g(seed, {});
    Machine machine = smallMachine();
    machine.host.step = Seconds(seed % 3 * 1e-7);
    Plan plan = planFor(g.graph, machine);
    StepSensitivity what = *StepSensitivity::of(plan);
    int64_t kinds = what.host.value, phases = what.host.value;
    for (const CoreKindShare &share : what.kinds) {
      kinds += share.critical.value;
      EXPECT_LE(share.alone, what.step) << seed;
    }
    for (auto [phase, time] : what.phases)
      phases += time.value;
    EXPECT_EQ(kinds, what.step.value) << seed;
    EXPECT_EQ(phases, what.step.value) << seed;
    for (size_t i = 0; i < what.operations.size(); ++i) {
      const OperationSensitivity &s = what.operations[i];
      EXPECT_LE(s.gainIfHalved, s.gainIfFree);
      EXPECT_LE(s.gainIfFree, s.busy);
      EXPECT_EQ(StepTiming::of(plan)->slack(s.operation), 0);
      if (i) {
        EXPECT_GE(what.operations[i - 1].gainIfFree, s.gainIfFree);
      }
      EXPECT_TRUE(std::find(what.critical.begin(), what.critical.end(), s.operation) != what.critical.end());
    }
  }
}

} // namespace
