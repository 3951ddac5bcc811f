// The step in its planned order, and the critical path of repeats, while durations change.
#include "lib/planning/analysis/StepTiming.h"
#include "lib/planning/analysis/StepSensitivity.h"
#include "test/support/RandomPlan.h"
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
    IncrementalCriticalPath moving(g.graph, deps, durations);
    for (int round = 0; round < 12 && !ids.empty(); ++round) {
      OperationId id = ids[static_cast<size_t>(g.pick(0, static_cast<int64_t>(ids.size()) - 1))];
      std::vector<Picoseconds> changed = durations;
      changed[id] = {g.pick(0, 3) ? g.pick(0, 40) : 0};
      CriticalPath full = CriticalPath::of(g.graph, deps, changed);
      EXPECT_EQ(moving.stepWith(id, changed[id]), full.step) << seed;
      if (round % 2)
        continue;
      durations = changed;
      moving.setDuration(id, changed[id]);
      const CriticalPath &path = moving.path();
      EXPECT_EQ(path.step, full.step) << seed;
      EXPECT_EQ(path.length, full.length) << seed;
      EXPECT_EQ(path.repeat, full.repeat) << seed;
      EXPECT_EQ(path.chain, full.chain) << seed;
      EXPECT_EQ(path.summaries, full.summaries) << seed;
      for (OperationId op = 0; op < durations.size(); ++op) {
        EXPECT_EQ(path.timing[op].earliest, full.timing[op].earliest) << seed << " " << op;
        EXPECT_EQ(path.timing[op].latest, full.timing[op].latest) << seed << " " << op;
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

TEST(IncrementalCriticalPath, WorkDoesNotGrowWithDepth) {
  auto work = [](int64_t count) {
    Layers layers(count);
    Dependences deps = Dependences::of(layers.graph);
    std::vector<Picoseconds> durations(layers.graph.operations.size());
    for (OperationId id : workOf(layers.graph))
      durations[id] = {7};
    IncrementalCriticalPath moving(layers.graph, deps, durations);
    uint64_t first = moving.timed();
    moving.setDuration(layers.inside, {9});
    EXPECT_EQ(moving.path().step.value, 7 + count * 16 + count * 7);
    return std::pair{first, moving.timed() - first};
  };
  EXPECT_EQ(work(96), work(2));
  // Its own body twice (alone and as a summary) and the region around it once, not the other body.
  EXPECT_EQ(work(96).second, 2u * 2 + 3);
}

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

TEST(StepTiming, ClosedFormEqualsRetiming) {
  for (unsigned seed = 0; seed < 120; ++seed) {
    RandomGraph g(seed, {});
    Plan plan = planFor(g.graph, smallMachine());
    StepTiming timing = *StepTiming::of(plan);
    int64_t before = timing.step();
    for (OperationId id : workOf(g.graph)) {
      int64_t old = timing.duration(id);
      for (int64_t duration : {int64_t{0}, old / 2, old + 1000}) {
        int64_t foreseen = *timing.stepWith(id, duration);
        ASSERT_FALSE(timing.setDuration(id, duration));
        EXPECT_EQ(timing.step(), foreseen) << seed << " " << id;
        ASSERT_FALSE(timing.setDuration(id, old));
        EXPECT_EQ(timing.step(), before) << seed << " " << id;
      }
    }
  }
}

TEST(StepTiming, ChangeInABodyTimesNoOtherBody) {
  Layers layers(96), shallow(2);
  auto nodes = [](const Layers &l) {
    StepTiming timing = *StepTiming::of(planFor(l.graph, smallMachine()));
    int64_t before = timing.step();
    EXPECT_FALSE(timing.setDuration(l.inside, timing.duration(l.inside) + 5));
    EXPECT_EQ(timing.step(), before + 5 * l.graph.regions[2].count * l.graph.microbatches);
    return timing.work().nodes;
  };
  EXPECT_EQ(nodes(layers), nodes(shallow));
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
  int64_t step = timing.step();
  for (int64_t duration : {int64_t{-1}, kLongestStep / 2, INT64_MAX})
    EXPECT_TRUE(timing.setDuration(layers.inside, duration));
  EXPECT_EQ(timing.step(), step);
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
      EXPECT_EQ(s.slack.value, 0);
      if (i) {
        EXPECT_GE(what.operations[i - 1].gainIfFree, s.gainIfFree);
      }
      EXPECT_TRUE(std::find(what.critical.begin(), what.critical.end(), s.operation) != what.critical.end());
    }
  }
}

} // namespace
