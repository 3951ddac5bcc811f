// Iterations that overlap: against the repeat written out, and in whole steps that `verify` replays.
#include "lib/planning/solve/SoftwarePipeline.h"
#include "lib/planning/analysis/StepTiming.h"
#include "lib/planning/verify/Verify.h"
#include "lib/scheduling/verify/Scheduling.h"
#include "test/support/RandomPlan.h"
#include <gtest/gtest.h>
#include <random>

using namespace accord;
using namespace accord::testing;

namespace {

using Id = SchedulingProblem::Id;

SolveOptions quick() {
  SolveOptions options;
  options.effort = kQuickEffort;
  return options;
}

struct Body {
  SchedulingProblem problem;
  std::vector<IterationDependence> dependences;

  explicit Body(unsigned seed) {
    std::mt19937 random(seed);
    auto below = [&](uint32_t n) { return static_cast<int64_t>(random() % n); };
    for (int r = 0; r < 3; ++r)
      problem.addResource("r" + std::to_string(r), 1 + below(3));
    Id n = 3 + static_cast<Id>(below(8));
    for (Id t = 0; t < n; ++t) {
      problem.addTask("t" + std::to_string(t), below(6), {});
      std::vector<SchedulingProblem::Mode> &modes = problem.tasks[t].modes;
      if (below(3) == 0)
        modes.push_back(modes.front());
      for (SchedulingProblem::Mode &mode : modes) {
        mode.duration = below(8);
        for (Id r = 0; r < 3; ++r)
          if (int64_t amount = below(static_cast<uint32_t>(problem.resources[r].capacity) + 1); amount > 0)
            mode.usage.push_back({r, amount});
      }
      for (Id before = 0; before < t; ++before)
        if (below(3) == 0)
          dependences.push_back({before, t, 0});
    }
    for (Id t = 0; t < n; ++t)
      if (below(3) == 0)
        dependences.push_back({t, static_cast<Id>(below(n)), 1 + below(2)});
    for (const IterationDependence &d : dependences)
      if (d.distance == 0)
        problem.addPrecedence(d.before, d.after);
  }

  /// `count` iterations as one problem.
  SchedulingProblem unrolled(int64_t count) const {
    SchedulingProblem all;
    all.resources = problem.resources;
    size_t n = problem.tasks.size();
    for (int64_t i = 0; i < count; ++i)
      all.tasks.insert(all.tasks.end(), problem.tasks.begin(), problem.tasks.end());
    for (const IterationDependence &d : dependences)
      for (int64_t i = d.distance; i < count; ++i)
        all.addPrecedence(static_cast<Id>((i - d.distance) * n + d.before), static_cast<Id>(i * n + d.after));
    return all;
  }
};

TEST(SoftwarePipeline, IsAScheduleOfAllIterationsWrittenOut) {
  int found = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Body body(seed);
    int64_t count = 2 + seed % 9;
    SchedulingSolution inOrder = schedule(body.problem, quick()).solution;
    auto made = overlapIterations(body.problem, body.dependences, count, inOrder, quick());
    if (!made)
      continue;
    ++found;
    SchedulingProblem all = body.unrolled(count);
    SchedulingSolution solution;
    size_t n = body.problem.tasks.size();
    for (int64_t i = 0; i < count; ++i)
      for (Id t = 0; t < n; ++t) {
        solution.start.push_back(i * made->solution.makespan + made->start(t));
        solution.mode.push_back(made->solution.mode[t]);
        const SchedulingProblem::Mode &mode = body.problem.tasks[t].modes[solution.mode.back()];
        solution.makespan = std::max(solution.makespan, solution.start.back() + mode.duration);
      }
    Errors wrong = verify(all, solution);
    EXPECT_TRUE(wrong.empty()) << wrong.front().message;
    // As long as it is said to be, and shorter than one after the other.
    EXPECT_LE(solution.makespan, count * made->solution.makespan + made->overhang);
    EXPECT_LT(count * made->solution.makespan + made->overhang, count * inOrder.makespan);
    EXPECT_EQ(*std::ranges::min_element(made->stage), 0);
    EXPECT_LE(*std::ranges::max_element(made->stage), 2);
  }
  EXPECT_GT(found, 30);
}

/// Of long repeats a period is near what all iterations written out need on average.
TEST(SoftwarePipeline, PeriodIsNearTheBoundOfTheRepeatWrittenOut) {
  constexpr int64_t kCount = 12;
  double sum = 0, inOrderSum = 0;
  int bodies = 0;
  for (unsigned seed = 1000; seed < 1030; ++seed) {
    Body body(seed);
    SchedulingSolution inOrder = schedule(body.problem, quick()).solution;
    if (inOrder.makespan == 0)
      continue;
    auto result = schedule(body.unrolled(kCount), quick());
    auto made = overlapIterations(body.problem, body.dependences, kCount, inOrder, quick());
    int64_t length = made ? kCount * made->solution.makespan + made->overhang : kCount * inOrder.makespan;
    EXPECT_GE(length, result.bound.value) << seed;
    if (result.bound.value == 0)
      continue;
    ++bodies;
    sum += static_cast<double>(length) / static_cast<double>(result.bound.value);
    inOrderSum += static_cast<double>(kCount * inOrder.makespan) / static_cast<double>(result.bound.value);
  }
  ASSERT_GT(bodies, 15);
  EXPECT_LT(sum / bodies, 1 + (inOrderSum / bodies - 1) * 0.6); // two fifths at least of what could be won are
}

/// The one resource is free while the carried chain runs on another one.
TEST(SoftwarePipeline, WeightGradientsRunUnderTheNextDataGradient) {
  SchedulingProblem body;
  body.addResource("array", 1);
  body.addResource("vector", 1);
  Id data = body.addTask("data gradient", 4, {{0, 1}}), sum = body.addTask("sum", 3, {{1, 1}}),
     weight = body.addTask("weight gradient", 3, {{0, 1}});
  std::vector<IterationDependence> dependences{{data, sum, 0}, {data, weight, 0}, {sum, data, 1}};
  body.addPrecedence(data, sum);
  body.addPrecedence(data, weight);
  auto made = overlapIterations(body, dependences, 10, schedule(body).solution, SolveOptions());
  EXPECT_FALSE(made) << "both run at once already: 7 in each iteration";
  // The sum's vector core is what the weight gradient needs first.
  Id cast = body.addTask("cast", 2, {{1, 1}});
  body.precedences.pop_back();
  dependences[1] = {data, cast, 0};
  dependences.push_back({cast, weight, 0});
  body.addPrecedence(data, cast);
  body.addPrecedence(cast, weight);
  SchedulingSolution inOrder = schedule(body).solution;
  EXPECT_EQ(inOrder.makespan, 9); // 4, then 2, then 3 of either
  made = overlapIterations(body, dependences, 10, inOrder, SolveOptions());
  ASSERT_TRUE(made);
  EXPECT_EQ(made->solution.makespan, 7); // all that the chain takes
}

/// `a` reads what `b` made of the last iteration; `c` reads what the argument of `a` was one iteration before.
TEST(SoftwarePipeline, DependencesGoThroughCarriedValues) {
  WorkGraph graph;
  graph.regions.resize(3);
  graph.regions[2].count = 8, graph.regions[2].parent = 0, graph.regions[2].owner = 3;
  auto value = [&](RegionId region) {
    graph.values.emplace_back().region = region;
    return static_cast<ValueId>(graph.values.size() - 1);
  };
  ValueId initial = value(0), older = value(0), result = value(0), olderResult = value(0);
  ValueId now = value(2), before = value(2), fromA = value(2), fromB = value(2), fromC = value(2);
  auto add = [&](std::string name, std::vector<ValueId> operands, std::vector<ValueId> results) {
    Operation &op = graph.operations.emplace_back();
    op.name = std::move(name), op.region = 2;
    op.operands = std::move(operands), op.results = std::move(results);
    graph.regions[2].operations.push_back(static_cast<OperationId>(graph.operations.size() - 1));
  };
  add("a", {now}, {fromA});
  add("b", {fromA}, {fromB});
  add("c", {before, fromA}, {fromC});
  graph.operations.emplace_back().body = 2;
  graph.regions[0].operations = {3};
  graph.regions[2].carried = {{now, fromB, initial, result}, {before, now, older, olderResult}};
  using Carried = Dependences::Carried;
  EXPECT_EQ(Dependences::of(graph).carried(graph, 2), (std::vector<Carried>{{1, 0, 1}, {1, 2, 2}}));
}

TEST(SoftwarePipeline, WholeStepsAreVerified) {
  Machine machine = smallMachine();
  machine.cores[0].count = 2, machine.cores[0].anyMapping = machine.cores[0].perInstanceMapping = true;
  int overlapping = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    RandomGraph g(seed, {});
    ScheduleOptions options;
    options.overlap = true;
    Plan plan = planFor(g.graph, machine, options);
    for (size_t r = 0; r < plan.schedule.regions.size(); ++r) {
      if (plan.schedule.regions[r].overhang.value == 0)
        continue;
      ++overlapping;
      // Iterations that start sooner, or are said to be over sooner or later, are found out.
      for (int64_t shorter : {1'000'000, 0}) {
        Plan forged = plan;
        forged.schedule.regions[r].length.value -= shorter;
        forged.schedule.regions[r].overhang.value += shorter > 0 ? shorter : -1;
        EXPECT_FALSE(verify(forged).findings.empty());
      }
    }
    EXPECT_LE(plan.schedule.step, planFor(g.graph, machine).schedule.step);
    PlanVerification proof = verify(plan);
    EXPECT_TRUE(proof.findings.empty()) << proof.findings.front().message;
    auto timing = StepTiming::of(plan);
    ASSERT_TRUE(timing);
    EXPECT_LE(timing->step(), plan.schedule.step.value);
  }
  EXPECT_GE(overlapping, 5);
}

} // namespace
