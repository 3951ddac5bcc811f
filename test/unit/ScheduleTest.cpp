#include "RandomPlan.h"
#include "lib/solve/SchedulingProblem.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

using namespace accord;
using namespace accord::testing;

namespace {

SchedulingProblem randomProblem(std::mt19937 &random, unsigned tasks, bool delays) {
  SchedulingProblem p;
  p.addResource("core", 1);
  p.addResource("lanes", 2);
  p.addResource("bandwidth", 100);
  for (unsigned t = 0; t < tasks; ++t) {
    std::vector<SchedulingProblem::Usage> usage;
    if (random() % 2)
      usage.push_back({0, 1});
    else
      usage.push_back({1, 1 + static_cast<int64_t>(random() % 2)});
    if (random() % 2)
      usage.push_back({2, 1 + static_cast<int64_t>(random() % 100)});
    p.addTask(random() % 10, usage);
    for (unsigned before = 0; before < t; ++before)
      if (random() % 4 == 0)
        p.addPrecedence(before, t, delays ? random() % 4 : 0);
  }
  return p;
}

/// Some order of starting each task as early as it fits is optimal (regular objective): tries all
/// orders.
int64_t bruteForce(const SchedulingProblem &p) {
  std::vector<uint32_t> order(p.tasks().size());
  std::iota(order.begin(), order.end(), 0);
  int64_t best = INT64_MAX;
  do {
    std::vector<int64_t> start(order.size(), -1);
    int64_t length = 0;
    bool possible = true;
    for (uint32_t t : order) {
      int64_t at = 0;
      for (const auto &e : p.precedences())
        if (e.after == t) {
          possible &= start[e.before] >= 0;
          at = std::max(at, start[e.before] + p.tasks()[e.before].duration + e.delay);
        }
      if (!possible)
        break;
      int64_t duration = p.tasks()[t].duration;
      auto fits = [&] {
        for (int64_t x = at; x < at + duration; ++x)
          for (const auto &use : p.tasks()[t].usage) {
            int64_t used = use.amount;
            for (uint32_t o = 0; o < order.size(); ++o)
              if (start[o] >= 0 && start[o] <= x && x < start[o] + p.tasks()[o].duration)
                for (const auto &other : p.tasks()[o].usage)
                  used += other.resource == use.resource ? other.amount : 0;
            if (used > p.resources()[use.resource].capacity)
              return false;
          }
        return true;
      };
      while (!fits())
        ++at;
      start[t] = at;
      length = std::max(length, at + duration);
    }
    if (possible)
      best = std::min(best, length);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(SchedulingProblem, BoundBelowOptimumBelowSchedule) {
  std::mt19937 random(7);
  unsigned optimal = 0, tight = 0, rounds = 300;
  for (unsigned round = 0; round < rounds; ++round) {
    SchedulingProblem p = randomProblem(random, 6, round % 2);
    ASSERT_TRUE(p.check().empty());
    auto s = p.solve();
    EXPECT_TRUE(p.verify(s).empty()) << p.verify(s)[0];
    int64_t best = bruteForce(p);
    EXPECT_LE(p.lowerBound().length, best) << round;
    EXPECT_GE(s.length, best) << round;
    EXPECT_LE(p.longestChain(), best);
    optimal += s.length == best;
    tight += p.lowerBound().length == best;
  }
  EXPECT_GT(optimal, rounds * 9 / 10);
  EXPECT_GT(tight, rounds / 2);
}

TEST(SchedulingProblem, LargeProblemIsFeasible) {
  std::mt19937 random(1);
  SchedulingProblem p;
  for (int r = 0; r < 3; ++r)
    p.addResource("core", 1);
  p.addResource("bandwidth", 1000000);
  for (uint32_t t = 0; t < 10000; ++t) {
    p.addTask(1 + random() % 1000, {{static_cast<uint32_t>(random() % 3), 1},
                                    {3, 1 + static_cast<int64_t>(random() % 500000)}});
    for (int k = 0; k < 2 && t > 0; ++k)
      p.addPrecedence(t - 1 - random() % std::min<uint32_t>(t, 500), t);
  }
  ASSERT_TRUE(p.check().empty());
  auto s = p.solve();
  EXPECT_TRUE(p.verify(s).empty());
  EXPECT_EQ(s.start, p.solve().start); // deterministic
}

TEST(SchedulingProblem, ChecksItsInput) {
  SchedulingProblem p;
  uint32_t core = p.addResource("core", 1), a = p.addTask(1, {{core, 2}}),
           b = p.addTask(-1, {{7, 1}});
  p.addPrecedence(a, b);
  p.addPrecedence(b, a);
  p.addPrecedence(a, 9);
  std::vector<std::string> wrong = p.check();
  ASSERT_EQ(wrong.size(), 5u);
  EXPECT_EQ(wrong[0], "task 0 uses 2 of resource 'core', which has 1");
  EXPECT_EQ(wrong[4], "the precedences have a cycle");
}

TEST(SchedulingProblem, VerifyFindsWhatIsWrong) {
  SchedulingProblem p;
  uint32_t core = p.addResource("core", 1), a = p.addTask(5, {{core, 1}}),
           b = p.addTask(5, {{core, 1}}), c = p.addTask(1, {});
  p.addPrecedence(a, c, 2);
  EXPECT_TRUE(p.verify({{0, 5, 7}, 10, {10, ""}}).empty());
  EXPECT_EQ(p.verify({{0, 4, 7}, 9, {0, ""}}).size(), 1u);  // two on one core
  EXPECT_EQ(p.verify({{0, 5, 6}, 10, {0, ""}}).size(), 1u); // delay not kept
  EXPECT_EQ(p.verify({{0, 5, 7}, 11, {12, ""}}).size(), 2u);
  (void)b;
}

TEST(ScheduleStep, BoundHoldsForOverlappingIterations) {
  Machine machine = smallMachine();
  for (unsigned seed = 0; seed < 300; ++seed) {
    RandomGraph g(seed, {});
    Costs costs = std::get<Costs>(estimate(g.graph, machine));
    auto scheduled = scheduleStep(g.graph, machine, costs);
    Schedule &s = std::get<Schedule>(scheduled);
    EXPECT_LE(s.bound, s.step) << seed;
    // One schedule of the unrolled micro-batch, in which iterations overlap as they like.
    std::vector<Picoseconds> durations = durationsOf(g.graph, costs);
    Flat flat(g.graph, s, durations);
    SchedulingProblem micro, update;
    for (auto *p : {&micro, &update})
      for (size_t r = 0; r < 2; ++r)
        p->addResource("core", 1);
    for (size_t i = 0; i < flat.nodes.size(); ++i) {
      SchedulingProblem &p = i < flat.split ? micro : update;
      int core = costs.operations[flat.nodes[i].operation].core;
      uint32_t base = i < flat.split ? 0 : static_cast<uint32_t>(flat.split);
      std::vector<SchedulingProblem::Usage> usage;
      if (core >= 0)
        usage.push_back({static_cast<uint32_t>(core), 1});
      p.addTask(flat.nodes[i].duration, usage);
      for (int before : flat.nodes[i].before)
        p.addPrecedence(static_cast<uint32_t>(before) - base, static_cast<uint32_t>(i) - base);
    }
    // The memories' bandwidth is left out here: it only makes schedules longer.
    bool byMemory = s.proof.find("memory") != std::string::npos;
    if (!byMemory)
      EXPECT_LE(s.bound.value, g.graph.microbatches * micro.solve().length + update.solve().length)
          << seed;
  }
}

TEST(ScheduleStep, RefusesWhatDoesNotFit) {
  RandomGraph g(1, {});
  Machine machine = smallMachine();
  Costs costs = std::get<Costs>(estimate(g.graph, machine));
  Costs fewer = costs;
  fewer.operations.pop_back();
  EXPECT_EQ(std::get<1>(scheduleStep(g.graph, machine, fewer))[0].code, "A0917");
  for (OperationCost &cost : costs.operations)
    cost.time = Seconds(8e6);
  EXPECT_EQ(std::get<1>(scheduleStep(g.graph, machine, costs))[0].code, "A0452");
}

} // namespace
