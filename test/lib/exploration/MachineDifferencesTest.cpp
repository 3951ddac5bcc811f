// Whether the machine and the prices of a plan are those of a design: each number that is another is named.
#include "lib/exploration/verify/MachineDifferences.h"
#include "test/support/RandomPlan.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::testing;

namespace {

Machine machineOf() {
  Machine machine = smallMachine();
  machine.clock = Hertz(1e9), machine.idle = Watts(50), machine.tdp = Watts(300), machine.area = {4e-4};
  machine.host = {Seconds(1e-6), Seconds(2e-5), Seconds(3e-4)};
  for (Memory &memory : machine.memories)
    memory.capacity = Bytes(1e9), memory.latency = Seconds(1e-7), memory.energy = JoulesPerByte(1e-11),
    memory.sector = Bytes(32);
  for (Core &core : machine.cores)
    core.rows = 16, core.cols = 8, core.lanes = 64, core.peak = {{"bf16", FlopsPerSecond(1e12)}};
  return machine;
}

TEST(MachineDifferences, EachNumberOfAMachineIsCompared) {
  Machine machine = machineOf();
  EXPECT_EQ(differs(machine, machine), "");
  auto named = [&](const std::string &what, auto change) {
    Machine other = machineOf();
    change(other);
    EXPECT_TRUE(differs(other, machine).starts_with(what)) << what << ": " << differs(other, machine);
    EXPECT_TRUE(differs(machine, other).starts_with(what)) << what << ": " << differs(machine, other);
  };
  // Of every quantity a millionth is another one, and what two orders of a sum make is not.
  for (auto [by, counts] : {std::pair(1 + 1e-6, true), {1 - 1e-6, true}, {1 + 1e-12, false}}) {
    auto quantity = [&, by = by, counts = counts](const std::string &what, auto of) {
      Machine other = machineOf();
      double &value = of(other);
      value *= by;
      ASSERT_NE(value, 0) << what;
      EXPECT_EQ(differs(other, machine).starts_with(what + " is "), counts) << what << ": " << differs(other, machine);
    };
    quantity("clock", [](Machine &m) -> double & { return m.clock.value; });
    quantity("idle power", [](Machine &m) -> double & { return m.idle.value; });
    quantity("design power", [](Machine &m) -> double & { return m.tdp.value; });
    quantity("area", [](Machine &m) -> double & { return m.area.value; });
    quantity("kernel launch overhead", [](Machine &m) -> double & { return m.host.kernel.value; });
    quantity("cost of a micro-batch", [](Machine &m) -> double & { return m.host.microbatch.value; });
    quantity("cost of a step", [](Machine &m) -> double & { return m.host.step.value; });
    for (size_t i = 0; i < machine.memories.size(); ++i) {
      const std::string &name = machine.memories[i].name;
      quantity("capacity of " + name, [i](Machine &m) -> double & { return m.memories[i].capacity.value; });
      quantity("bandwidth of " + name, [i](Machine &m) -> double & { return m.memories[i].bandwidth.value; });
      quantity("latency of " + name, [i](Machine &m) -> double & { return m.memories[i].latency.value; });
      quantity("energy of " + name, [i](Machine &m) -> double & { return m.memories[i].energy.value; });
      quantity("efficiency of " + name, [i](Machine &m) -> double & { return m.memories[i].efficiency; });
      quantity("sector of " + name, [i](Machine &m) -> double & { return m.memories[i].sector.value; });
    }
    for (size_t i = 0; i < machine.cores.size(); ++i) {
      const std::string &name = machine.cores[i].name;
      quantity("efficiency of " + name, [i](Machine &m) -> double & { return m.cores[i].efficiency; });
      quantity("bf16 peak of " + name, [i](Machine &m) -> double & { return m.cores[i].peak.at("bf16").value; });
    }
  }
  named("cost model", [](Machine &m) { m.costModel = "peak"; });
  named("energy of bf16", [](Machine &m) { m.energyPerFlopOf["bf16"] = JoulesPerFlop(7e-12); });
  named("number of memories", [](Machine &m) { m.memories.emplace_back(); });
  named("number of cores", [](Machine &m) { m.cores.emplace_back(); });
  for (size_t i = 0; i < machine.memories.size(); ++i) {
    const std::string name = machine.memories[i].name;
    named("name of a memory", [i](Machine &m) { m.memories[i].name += "x"; });
    named("kind of " + name, [i](Machine &m) { m.memories[i].kind += "x"; });
    named("double buffering of " + name, [i](Machine &m) { m.memories[i].doubleBuffered ^= true; });
  }
  for (size_t i = 0; i < machine.cores.size(); ++i) {
    const std::string name = machine.cores[i].name;
    auto core = [&](const char *what, auto change) { named(what + name, [&](Machine &m) { change(m.cores[i]); }); };
    named("name of a core", [i](Machine &m) { m.cores[i].name += "x"; });
    core("kind of ", [](Core &c) { c.kind = c.kind == CoreKind::Tensor ? CoreKind::Vector : CoreKind::Tensor; });
    core("dataflow of ", [](Core &c) { c.dataflow += "x"; });
    core("count of ", [](Core &c) { ++c.count; });
    core("rows of ", [](Core &c) { ++c.rows; });
    core("columns of ", [](Core &c) { ++c.cols; });
    core("lanes of ", [](Core &c) { ++c.lanes; });
    core("memory of ", [](Core &c) { ++c.reads; });
    core("half work of ", [](Core &c) { c.halfPerformanceWork.value += 1; });
    core("number of peaks of ", [](Core &c) { c.peak["fp8"] = FlopsPerSecond(1e12); });
    core("the cycles of ", [](Core &c) { c.cyclesOf["exp"] = 4; });
    // Which of two flags are set: each of the four is another one.
    for (bool fill : {false, true})
      for (bool drain : {false, true})
        if (fill || drain) {
          core("overlaps of ", [&](Core &c) { c.overlapFill ^= fill, c.overlapDrain ^= drain; });
          core("mapping of ", [&](Core &c) { c.perInstanceMapping ^= fill, c.anyMapping ^= drain; });
        }
  }
  // A peak of another type, not of one more.
  EXPECT_NE(differs(
                [] {
                  Machine other = machineOf();
                  other.cores[0].peak = {{"fp16", FlopsPerSecond(1e12)}};
                  return other;
                }(),
                machine),
            "");
}

TEST(MachineDifferences, EachPriceIsCompared) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    RandomGraph g(seed, {.maxIterations = 3});
    Machine machine = smallMachine();
    for (Core &core : machine.cores)
      core.count = 3, core.anyMapping = true;
    Plan plan = planFor(g.graph, machine);
    const Costs &good = plan.costs;
    EXPECT_EQ(differs(plan.graph, good, good), "");
    Costs other = good;
    other.operations.pop_back();
    EXPECT_NE(differs(plan.graph, other, good), "");
    EXPECT_NE(differs(plan.graph, good, other), "");
    for (OperationId id = 0; id < good.operations.size(); ++id) {
      bool repeat = plan.graph.operations[id].body != kNone; // has no price of its own
      auto compared = [&](auto change) {
        Costs wrong = good;
        change(wrong.operations[id]);
        EXPECT_EQ(differs(plan.graph, wrong, good).empty(), repeat) << seed << " " << id;
        EXPECT_EQ(differs(plan.graph, good, wrong).empty(), repeat) << seed << " " << id;
      };
      compared([](OperationCost &cost) { cost.time.value += 1e-6; });
      compared([](OperationCost &cost) { ++cost.core; });
      compared([](OperationCost &cost) { cost.instances += 9; });
      compared([](OperationCost &cost) { cost.transfer.emplace_back(); });
      for (size_t m = 0; m < good.operations[id].transfer.size(); ++m)
        compared([m](OperationCost &cost) { cost.transfer[m].value += 1e-6; });
      if (auto forms = good.alternatives.find(id); forms != good.alternatives.end() && !forms->second.empty()) {
        // The scheduler exchanges forms: their order is no difference, a form less or slower is one.
        Costs turned = good;
        std::swap(turned.operations[id], turned.alternatives[id].front());
        EXPECT_EQ(differs(plan.graph, turned, good), "");
        turned.alternatives[id].front().time.value += 1e-6;
        EXPECT_NE(differs(plan.graph, turned, good), "");
        turned = good;
        turned.alternatives[id].pop_back();
        EXPECT_NE(differs(plan.graph, turned, good), "");
        EXPECT_NE(differs(plan.graph, good, turned), "");
      }
    }
  }
}

} // namespace
