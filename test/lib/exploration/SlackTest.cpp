// Which critical operations wait for a core: against a reference that unrolls nothing and sorts
// nothing.
#include "lib/exploration/steps/StepBottlenecks.h"
#include "test/support/RandomPlan.h"
#include <cstdio>
#include <gtest/gtest.h>

namespace accord {
namespace {
using namespace accord::testing;

/// Seconds that critical operations of a graph without repeats wait for a core, by core.
std::vector<CoreDelay> reference(const Plan &plan) {
  const WorkGraph &graph = plan.graph;
  std::map<ValueId, OperationId> maker;
  for (OperationId id = 0; id < graph.operations.size(); ++id)
    for (ValueId made : graph.operations[id].results)
      maker[made] = id;
  std::vector<CoreDelay> all;
  for (const Core &core : plan.machine.cores)
    all.push_back({core.name, 0, 0});
  for (RegionId region : {kMicrobatchRegion, kUpdateRegion}) {
    std::map<OperationId, const Slot *> slots;
    for (const Slot &slot : plan.schedule.regions[region].slots)
      slots[slot.operation] = &slot;
    auto before = [&](OperationId id) {
      std::set<OperationId> found;
      for (ValueId read : graph.operations[id].operands) {
        while (!maker.count(read) && graph.values[read].alias != kNone)
          read = graph.values[read].alias;
        if (maker.count(read) && slots.count(maker[read]))
          found.insert(maker[read]);
      }
      return found;
    };
    auto length = [&](OperationId id) { return slots.at(id)->duration.value; };
    std::map<OperationId, int64_t> asap, tail; // longest chains before, and after with itself
    auto head = [&](auto &&self, OperationId id) -> int64_t {
      int64_t max = 0;
      for (OperationId one : before(id))
        max = std::max(max, self(self, one) + length(one));
      return asap[id] = max;
    };
    int64_t whole = 0;
    for (auto [id, slot] : slots)
      whole = std::max(whole, head(head, id) + length(id));
    for (size_t round = 0; round < slots.size(); ++round)
      for (auto [id, slot] : slots)
        for (OperationId one : before(id))
          tail[one] = std::max(tail[one], tail[id] + length(id));
    double times = region == kUpdateRegion ? 1 : static_cast<double>(graph.microbatches);
    for (auto [id, slot] : slots) {
      int64_t ready = 0;
      for (OperationId one : before(id))
        ready = std::max(ready, slots[one]->start.value + length(one));
      if (asap[id] + length(id) + tail[id] < whole || slot->start.value <= ready || !length(id))
        continue;
      for (size_t core = 0; core < all.size(); ++core) {
        bool busy = false; // until it begins
        for (auto [other, at] : slots)
          busy |= other != id && length(other) > 0 && at->start.value + length(other) == slot->start.value &&
                  usesCore(plan.costs.operations[other], static_cast<int>(core));
        if (busy && usesCore(plan.costs.operations[id], static_cast<int>(core))) {
          ++all[core].operations;
          all[core].seconds += times * static_cast<double>(slot->start.value - ready) * 1e-12;
        }
      }
    }
  }
  return all;
}

TEST(Slack, IsWhatCriticalOperationsWaitForCores) {
  uint64_t waiting = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    Shape shape;
    shape.repeats = false;
    RandomGraph draw(seed, shape);
    Machine machine = smallMachine();
    machine.cores[1].perInstanceMapping = seed % 2 == 0;
    machine.cores[1].count = 1 + seed % 3;
    Plan plan = planFor(draw.graph, machine);
    std::vector<CoreDelay> found = coreDelays(plan), wanted = reference(plan);
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t core = 0; core < found.size(); ++core) {
      EXPECT_EQ(found[core].operations, wanted[core].operations) << seed << found[core].core;
      EXPECT_NEAR(found[core].seconds, wanted[core].seconds, 1e-12) << seed << found[core].core;
      waiting += found[core].operations;
    }
  }
  std::printf("%lu operations wait\n", waiting);
  EXPECT_GT(waiting, 50u);
}

/// Three operations of a body that need nothing of each other, on one core: one begins after a
/// first, and one after two, in each of 5 iterations of each of 2 micro-batches.
TEST(Slack, CountsRepeatsAsOftenAsTheyRun) {
  GraphBuilder builder;
  builder.graph.microbatches = 2;
  ValueId input = builder.value(0, 8, Category::Inputs);
  OperationId repeat = builder.repeat(0, 5);
  RegionId body = builder.graph.operations[repeat].body;
  ValueId carried = builder.carry(repeat, input);
  std::vector<ValueId> made;
  for (int i = 0; i < 3; ++i) {
    made.push_back(builder.value(body, 8));
    builder.operation(body, {carried}, {made.back()}, CoreKind::Vector, 1'000'000, 8);
  }
  builder.yield(repeat, 0, made.back());
  Machine machine = smallMachine();
  machine.cores[1].count = 1;
  Plan plan = planFor(builder.graph, machine);
  std::vector<CoreDelay> found = coreDelays(plan);
  ASSERT_EQ(found.size(), 2u);
  double one = plan.schedule.regions[body].slots[0].duration.seconds().value;
  ASSERT_GT(one, 0);
  EXPECT_EQ(found[0].operations, 0u);
  EXPECT_EQ(found[1].operations, 2u);
  EXPECT_NEAR(found[1].seconds, 2 * 5 * (one + 2 * one), 1e-12);
  machine.cores[1].count = 3, machine.cores[1].perInstanceMapping = true; // a core for each
  for (const CoreDelay &none : coreDelays(planFor(builder.graph, machine)))
    EXPECT_EQ(none.operations, 0u);
}

} // namespace
} // namespace accord
