#include "lib/planning/verify/Verify.h"
#include "test/support/RandomPlan.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::testing;

namespace {

std::string said(const Verification &v) {
  std::string all;
  for (const Error &i : v.findings)
    all += numberOf(i.code) + " " + i.message + "\n";
  return all;
}

TEST(Verify, AcceptsWhatTheCompilerMakes) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    RandomGraph g(seed, {.maxIterations = 9});
    Plan plan = planFor(g.graph, smallMachine());
    Verification v = verify(plan);
    EXPECT_TRUE(v.holds()) << seed << "\n" << said(v);
    EXPECT_GE(v.checked.size(), 8u);
  }
}

/// A forward repeat with a stash, a loss, a backward repeat, an update.
Plan training() {
  GraphBuilder b;
  ValueId x = b.value(0, 1000, Category::Inputs);
  OperationId forward = b.repeat(0, 6);
  ValueId in = b.carry(forward, x), h = b.value(2, 1000), out = b.value(2, 1000);
  b.operation(2, {in}, {h}, CoreKind::Tensor, 400000, 1000);
  b.operation(2, {h}, {out}, CoreKind::Vector, 50000, 2000);
  ValueId y = b.yield(forward, 0, out), stack = b.stash(forward, in);
  ValueId loss = b.value(0, 8), gradient = b.value(0, 1000, Category::Temporaries);
  b.operation(0, {y}, {loss}, CoreKind::Vector, 1000, 1000);
  b.operation(0, {loss, y}, {gradient}, CoreKind::Vector, 1000, 1000);
  OperationId backward = b.repeat(0, 6);
  ValueId g = b.carry(backward, gradient), kept = b.unstash(backward, stack),
          next = b.value(3, 1000, Category::Temporaries), dw = b.value(3, 0, Category::Gradients);
  b.operation(3, {g}, {next}, CoreKind::Tensor, 400000, 1000);
  b.operation(3, {g, kept}, {dw}, CoreKind::Tensor, 400000, 1000);
  b.yield(backward, 0, next);
  ValueId w = b.value(1, 0, Category::Weights);
  b.operation(1, {w}, {b.value(1, 0, Category::Weights)}, CoreKind::Vector, 1000, 5000);
  b.operation(1, {w}, {b.value(1, 0, Category::Weights)}, CoreKind::Vector, 1000, 5000);
  b.graph.staticTensors = {{"w", Category::Weights, 5000}, {"w", Category::Gradients, 5000}};
  b.graph.microbatches = 4;
  b.graph.microbatch = 2;
  return planFor(b.graph, smallMachine());
}

struct Mutation {
  const char *what;
  const char *code;
  std::function<void(Plan &)> apply;
};

/// Slot of an operation by its place among the slots of a region.
Slot &slot(Plan &p, RegionId r, size_t k) { return p.schedule.regions[r].slots[k]; }

TEST(Verify, CatchesEachMutation) {
  Plan good = training();
  ASSERT_TRUE(verify(good).holds()) << said(verify(good));
  std::vector<Mutation> mutations = {
      {"operation started before its operand", "A0902",
       [](Plan &p) {
         std::swap(slot(p, 2, 0).start, slot(p, 2, 1).start);
         slot(p, 2, 0).start = {slot(p, 2, 1).duration.value};
         slot(p, 2, 1).start = {0};
       }},
      {"slot dropped", "A0909", [](Plan &p) { p.schedule.regions[2].slots.pop_back(); }},
      {"slot twice", "A0909", [](Plan &p) { p.schedule.regions[2].slots.push_back(slot(p, 2, 0)); }},
      {"slot in a foreign region", "A0909", [](Plan &p) { p.schedule.regions[1].slots.push_back(slot(p, 2, 0)); }},
      {"slot shortened", "A0907", [](Plan &p) { slot(p, 2, 0).duration.value -= 1; }},
      {"repeat shortened", "A0907", [](Plan &p) { slot(p, 0, 0).duration.value /= 2; }},
      {"negative start", "A0907", [](Plan &p) { slot(p, 2, 0).start = {-1}; }},
      {"core used twice", "A0903",
       [](Plan &p) {
         auto &slots = p.schedule.regions[1].slots; // two independent updates: together
         slots[1].start = slots[0].start;
         p.schedule.regions[1].length = {std::max(slots[0].duration.value, slots[1].duration.value)};
         p.schedule.regions[1].criticalPath = p.schedule.regions[1].resourceBound = {0};
         p.schedule.step = {4 * p.schedule.regions[0].length.value + p.schedule.regions[1].length.value};
       }},
      {"bandwidth used twice", "A0911",
       [](Plan &p) {
         auto &slots = p.schedule.regions[1].slots; // both are bound by the device memory
         slots[1].start = slots[0].start;
         p.schedule.regions[1].length = slots[0].duration;
         p.schedule.step = {4 * p.schedule.regions[0].length.value + slots[0].duration.value};
       }},
      {"wrong core", "A0903", [](Plan &p) { slot(p, 2, 0).core = 1; }},
      {"instance that is not there", "A0903", [](Plan &p) { slot(p, 2, 0).instance = 1; }},
      {"iteration shorter than its slots", "A0912", [](Plan &p) { p.schedule.regions[2].length.value -= 1; }},
      {"step too short", "A0912", [](Plan &p) { p.schedule.step.value -= 1; }},
      {"update forgotten in the step", "A0912",
       [](Plan &p) { p.schedule.step.value -= p.schedule.regions[1].length.value; }},
      {"memory understated", "A0913",
       [](Plan &p) {
         p.memory.peak -= 1;
         p.memory.atPeak[3] -= 1;
       }},
      {"memory overstated", "A0913",
       [](Plan &p) {
         p.memory.peak += 1;
         p.memory.atPeak[3] += 1;
       }},
      {"categories that do not add up", "A0913", [](Plan &p) { p.memory.atPeak[0] += 1; }},
      {"device too small", "A0904",
       [](Plan &p) { p.machine.memories[0].capacity = Bytes(static_cast<double>(p.memory.peak) - 1); }},
      {"cost too cheap", "A0910", [](Plan &p) { p.costs.operations[1].compute = p.costs.operations[1].compute * 0.5; }},
      {"traffic forgotten", "A0910", [](Plan &p) { p.costs.operations[1].transfer[0] = Seconds(0); }},
      {"energy forgotten", "A0910", [](Plan &p) { p.costs.operations[1].energy = Joules(0); }},
      {"machine faster than priced", "A0910", [](Plan &p) { p.machine.cores[0].peak["fp32"] = FlopsPerSecond(1e12); }},
      {"tensor work on no core", "A0910", [](Plan &p) { p.costs.operations[1].core = -1; }},
      {"narrower arithmetic", "A0910", [](Plan &p) { p.costs.operations[1].type = "bf16"; }},
      {"costs of another graph", "A0917", [](Plan &p) { p.costs.operations.pop_back(); }},
      {"bound above the step", "A0906", [](Plan &p) { p.schedule.bound.value = p.schedule.step.value + 1; }},
      {"bound above what is proved", "A0906",
       [](Plan &p) {
         // Room for a bound that is below the step and still unproved.
         p.schedule.bound.value = (p.schedule.step.value + p.schedule.bound.value) / 2 + 1;
       }},
      {"critical path above the length", "A0906",
       [](Plan &p) { p.schedule.regions[2].criticalPath = {p.schedule.regions[2].length.value + 1}; }},
      {"objective inflated", "A0905", [](Plan &p) { p.objectiveValue *= 1.001; }},
      {"objective bound too tight", "A0905", [](Plan &p) { p.objectiveBound = p.objectiveBound * 0.999; }},
      {"batch inflated", "A0915",
       [](Plan &p) {
         p.batch *= 2;
         p.objectiveValue *= 2;
         p.objectiveBound *= 2;
       }},
      {"negative slack", "A0914", [](Plan &p) { p.timing[1].latest = {-1}; }},
      {"slack beyond the end", "A0914", [](Plan &p) { p.timing[1].latest = p.schedule.regions[2].length; }},
      {"critical path in circles", "A0914", [](Plan &p) { p.criticalPath.push_back(p.criticalPath.front()); }},
      {"feasible with a conflict", "A0916", [](Plan &p) { p.conflicts.push_back({"device memory", "", 0, ""}); }},
      {"infeasible without one", "A0916", [](Plan &p) { p.feasible = false; }},
      {"feasible, and excluded", "A0916", [](Plan &p) { p.excludedCandidates = 2; }},
      {"operation out of order", "A0920",
       [](Plan &p) { std::reverse(p.graph.regions[2].operations.begin(), p.graph.regions[2].operations.end()); }},
      {"impossible machine", "A0921", [](Plan &p) { p.machine.cores[0].efficiency = 2; }},
  };
  for (const Mutation &m : mutations) {
    Plan bad = good;
    m.apply(bad);
    Verification v = verify(bad);
    bool found = false;
    for (const Error &i : v.findings)
      found |= numberOf(i.code) == m.code;
    EXPECT_TRUE(found) << m.what << ": expected " << m.code << ", found\n" << said(v);
  }
}

TEST(Verify, SaysWhatItTakesAsGiven) {
  Plan plan = training();
  for (OperationCost &cost : plan.costs.operations)
    if (cost.core >= 0)
      cost.model = "mine";
  Verification v = verify(plan);
  EXPECT_TRUE(v.holds()) << said(v);
  EXPECT_NE(std::find(v.trusted.begin(), v.trusted.end(), "times of 8 operations by cost model 'mine' are assumed"),
            v.trusted.end());
}

/// Times like 4074 ns are no whole picoseconds in binary: rounding has to agree with the
/// schedule's.
TEST(Verify, RoundsAsSchedulesDo) {
  for (int64_t flops = 1; flops < 20000; flops += 7) {
    GraphBuilder b;
    b.operation(0, {}, {b.value(0, 8)}, CoreKind::Vector, flops * 1000, 0);
    Verification v = verify(planFor(b.graph, smallMachine()));
    ASSERT_TRUE(v.holds()) << said(v);
  }
}

TEST(Verify, LongRepeatsAreWalkedAtTheirEnds) {
  GraphBuilder b;
  ValueId x = b.value(0, 8, Category::Inputs);
  OperationId loop = b.repeat(0, 50000000);
  ValueId in = b.carry(loop, x), out = b.value(2, 8);
  b.operation(2, {in}, {out}, CoreKind::Tensor, 20000, 0);
  b.yield(loop, 0, out);
  Verification v = verify(planFor(b.graph, smallMachine()));
  EXPECT_TRUE(v.holds()) << said(v);
  EXPECT_GE(v.trusted.size(), 3u);
}

} // namespace
