// Whatever a converter, plugin or file hands over: refused, or planned and proved. Nothing in
// between.
#include "lib/machine/model/Check.h"
#include "lib/planning/verify/Verify.h"
#include "test/support/RandomPlan.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::testing;

namespace {

/// Changes one thing that a checked graph relies on.
void damage(RandomGraph &g) {
  WorkGraph &graph = g.graph;
  auto value = [&] {
    return static_cast<ValueId>(g.pick(0, static_cast<int64_t>(graph.values.size()) - 1 + (g.pick(0, 20) == 0)));
  };
  auto region = [&] { return static_cast<RegionId>(g.pick(0, static_cast<int64_t>(graph.regions.size()) - 1)); };
  Operation &op = graph.operations[g.pick(0, static_cast<int64_t>(graph.operations.size()) - 1)];
  Region &r = graph.regions[region()];
  switch (g.pick(0, 13)) {
  case 0:
    op.operands.push_back(value());
    break;
  case 1:
    op.results.push_back(value());
    break;
  case 2:
    graph.values[value() % graph.values.size()].alias = value();
    break;
  case 3:
    graph.values[value() % graph.values.size()].region = region();
    break;
  case 4:
    r.count = g.pick(-1, 9);
    break;
  case 5:
    graph.values[value() % graph.values.size()].bytes = g.pick(-1, 100);
    break;
  case 6:
    if (r.operations.size() > 1)
      std::swap(r.operations.front(), r.operations.back());
    break;
  case 7:
    r.parent = region();
    break;
  case 8:
    op.body = region();
    break;
  case 9:
    if (!r.carried.empty())
      (g.pick(0, 1) ? r.carried[0].yielded : r.carried[0].initial) = value();
    break;
  case 10:
    if (!r.stashed.empty())
      r.stashed[0].inside = value();
    break;
  case 11:
    if (!r.unstashed.empty())
      r.unstashed[0].stacked = value();
    break;
  case 12:
    if (!op.results.empty())
      graph.values[op.results[0]].alias = value();
    break;
  default:
    op.core = static_cast<CoreKind>(g.pick(0, 2));
  }
}

TEST(Malformed, GraphsAreRefusedOrPlanned) {
  unsigned refused = 0, planned = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    RandomGraph g(seed, {.maxIterations = 9});
    for (int64_t k = g.pick(1, 3); k > 0; --k)
      damage(g);
    if (!check(g.graph).empty()) {
      ++refused;
      continue;
    }
    ++planned;
    Verification v = verify(planFor(g.graph, smallMachine()));
    EXPECT_TRUE(v.holds()) << seed << " " << v.findings[0].code << " " << v.findings[0].message;
  }
  EXPECT_GT(refused, 500u);
  EXPECT_GT(planned, 500u);
}

TEST(Malformed, PlansGetFindings) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    RandomGraph g(seed, {});
    Plan plan = planFor(g.graph, smallMachine());
    for (int64_t k = g.pick(1, 3); k > 0; --k) {
      int64_t odd = std::vector<int64_t>{-1, 0, 1, 99, INT64_MAX, INT64_MIN}[g.pick(0, 5)];
      auto &slots = plan.schedule.regions[g.pick(0, static_cast<int64_t>(plan.schedule.regions.size()) - 1)].slots;
      OperationCost &cost = plan.costs.operations[g.pick(0, static_cast<int64_t>(plan.costs.operations.size()) - 1)];
      switch (g.pick(0, 11)) {
      case 0:
        if (!slots.empty())
          slots[0].start = {odd};
        break;
      case 1:
        if (!slots.empty())
          slots[0].duration = {odd};
        break;
      case 2:
        if (!slots.empty())
          slots[0].operation = static_cast<OperationId>(odd);
        break;
      case 3:
        if (!slots.empty())
          slots[0].core = static_cast<int>(odd);
        break;
      case 4:
        cost.core = static_cast<int>(odd);
        break;
      case 5:
        cost.time = Seconds(static_cast<double>(odd));
        break;
      case 6:
        cost.transfer.resize(g.pick(0, 3));
        break;
      case 7:
        plan.schedule.step = {odd};
        break;
      case 8:
        plan.schedule.bound = {odd};
        break;
      case 9:
        plan.memory.peak = plan.memory.atPeak[0] = odd;
        break;
      case 10:
        plan.timing[0] = {{odd}, {odd}};
        break;
      default:
        plan.schedule.regions[g.pick(0, static_cast<int64_t>(plan.schedule.regions.size()) - 1)].length = {odd};
      }
    }
    verify(plan);
  }
}

} // namespace
