// Prices of operations on cores at the level of instructions.
#include "lib/machine/cost/Estimate.h"
#include "lib/machine/cost/PriceCache.h"
#include "lib/microarchitecture/kernels/FromOperation.h"
#include "lib/microarchitecture/mapping/EmitKernel.h"
#include "lib/microarchitecture/solve/TimeProgram.h"
#include "lib/microarchitecture/verify/ReplayTiming.h"
#include "test/lib/microarchitecture/KernelMachines.h"
#include <gtest/gtest.h>

namespace accord {
namespace {

using microarchitecture::KernelMachine;
using microarchitecture::Microarchitecture;

Machine machineWith(Microarchitecture core, int64_t count = 1) {
  Machine machine;
  machine.name = "chip";
  machine.clock = Hertz(2e9);
  machine.memories.resize(1);
  machine.memories[0].name = "memory"; // as the storage of the test's cores
  machine.memories[0].energy = JoulesPerByte(1e-12);
  machine.cores.resize(1);
  machine.cores[0].name = "core", machine.cores[0].kind = CoreKind::Vector, machine.cores[0].count = count;
  machine.cores[0].microarchitecture = std::make_shared<const Microarchitecture>(std::move(core));
  return machine;
}

Operation product(int64_t m, int64_t n, int64_t k) {
  Operation op;
  op.name = "product", op.kind = "linear", op.core = CoreKind::Tensor, op.contraction = true;
  op.flops = 2 * m * n * k, op.bytesRead = 4 * (m * k + k * n), op.bytesWritten = 4 * m * n;
  op.domain = {{m}, {n}, {k, IteratorKind::Reduction}};
  op.tensors = {
      {{{{0, 1}}, {{2, 1}}}, {m, k}}, {{{{2, 1}}, {{1, 1}}}, {k, n}}, {{{{0, 1}}, {{1, 1}}}, {m, n}, 32, true}};
  return op;
}

Result<Costs, Errors> costsOf(const std::vector<Operation> &operations, const Machine &machine,
                              const std::string &model = "") {
  WorkGraph graph;
  graph.optimizer = "adam";
  graph.regions.resize(2);
  graph.operations = operations;
  for (OperationId id = 0; id < operations.size(); ++id)
    graph.regions[0].operations.push_back(id);
  EstimateOptions options;
  options.costModel = model;
  return estimate(graph, machine, options);
}

TEST(InstructionModel, CyclesAreThoseThatTheStepperProves) {
  for (const Microarchitecture &core :
       {KernelMachine({}).scalar(), KernelMachine({}).vector(), KernelMachine({}).tiles()}) {
    const Operation op = product(6, 10, 7);
    const auto costs = costsOf({op}, machineWith(core));
    ASSERT_TRUE(costs) << costs.error().front().message;
    const OperationCost &cost = costs->operations[0];
    ASSERT_TRUE(cost.timing);
    EXPECT_EQ(cost.model, "instructions");
    EXPECT_DOUBLE_EQ(cost.time.value, double(cost.timing->cycles) / 2e9);
    const auto kernel = microarchitecture::kernelOf(op, "adam", core);
    ASSERT_TRUE(kernel);
    const auto mapped = microarchitecture::emitKernel(*kernel, core);
    ASSERT_TRUE(mapped);
    EXPECT_TRUE(microarchitecture::verifyTiming(core, mapped->program, *cost.timing).empty());
    EXPECT_EQ(cost.timing->instructions, microarchitecture::executedInstructions(mapped->program));
    // What the memory of this name moved, and its energy.
    EXPECT_DOUBLE_EQ(cost.bytes[0].value, double(cost.timing->storages[0].beats) * core.storages[0].portBytes);
    EXPECT_GE(cost.bytes[0].value, op.bytesRead + op.bytesWritten);
    EXPECT_DOUBLE_EQ(cost.energy.value, cost.bytes[0].value * 1e-12);
  }
}

TEST(InstructionModel, InstancesShareTheLongestParallelLoop) {
  const Microarchitecture core = KernelMachine({}).vector();
  const auto halves = costsOf({product(64, 16, 5)}, machineWith(core, 2)),
             half = costsOf({product(32, 16, 5)}, machineWith(core, 1));
  ASSERT_TRUE(halves && half);
  EXPECT_EQ(halves->operations[0].timing->cycles, half->operations[0].timing->cycles);
  EXPECT_EQ(halves->operations[0].instances, 2);
}

TEST(InstructionModel, OperationsOfOneShapeShareATiming) {
  const auto costs =
      costsOf({product(8, 8, 8), product(8, 8, 8), product(8, 8, 9)}, machineWith(KernelMachine({}).scalar()));
  ASSERT_TRUE(costs);
  EXPECT_EQ(costs->operations[0].timing, costs->operations[1].timing);
  EXPECT_NE(costs->operations[0].timing, costs->operations[2].timing);
}

TEST(InstructionModel, WhatIsOutsideOfTheCoreIsARoof) {
  Machine machine = machineWith(KernelMachine({}).vector());
  machine.memories[0].name = "host";
  machine.memories[0].bandwidth = BytesPerSecond(1e3);
  const auto costs = costsOf({product(8, 8, 8)}, machine);
  ASSERT_TRUE(costs);
  EXPECT_EQ(costs->operations[0].bound, "bandwidth host");
  EXPECT_DOUBLE_EQ(costs->operations[0].time.value, 3 * 8 * 8 * 4 / 1e3);
}

TEST(InstructionModel, SearchedSchedulesAreNoWorse) {
  for (const Microarchitecture &core :
       {KernelMachine({}).scalar(), KernelMachine({}).vector(), KernelMachine({}).tiles()}) {
    const std::vector<Operation> operations = {product(6, 10, 7), product(40, 24, 16), product(1, 64, 33)};
    const auto plain = costsOf(operations, machineWith(core)),
               searched = costsOf(operations, machineWith(core), "mapping_search");
    ASSERT_TRUE(plain && searched);
    for (size_t i = 0; i < operations.size(); ++i) {
      EXPECT_LE(searched->operations[i].timing->cycles, plain->operations[i].timing->cycles);
      EXPECT_NE(searched->operations[i].formula.find("takes fewer"), std::string::npos)
          << searched->operations[i].formula;
      EXPECT_EQ(searched->operations[i].model, "mapping_search");
    }
  }
}

TEST(InstructionModel, RefusesWhatCannotBeMappedAtItsPlace) {
  Operation op = product(8, 8, 8);
  op.core = CoreKind::Vector, op.kind = "exp", op.contraction = false, op.tensors.clear();
  op.domain = {{8}};
  op.location = {"m.dnn", 3, 4};
  Microarchitecture core = KernelMachine({}).scalar();
  for (auto &opcode : core.opcodes)
    if (opcode.role.does == microarchitecture::Role::Exp)
      opcode.role = {};
  const auto costs = costsOf({op}, machineWith(core));
  ASSERT_FALSE(costs);
  EXPECT_EQ(costs.error().front().code, Code::NotMapped);
}

/// Prices that are kept for one machine are not those of another one that differs in one number of its core.
TEST(InstructionModel, KeysOfMachinesHoldTheirNumbers) {
  std::set<std::string> keys;
  auto add = [&](const Microarchitecture &core) {
    return keys.insert(PriceCache::keyOf(machineWith(core), 0, "")).second;
  };
  const Microarchitecture plain = KernelMachine({}).vector();
  EXPECT_TRUE(add(plain));
  EXPECT_FALSE(add(plain));
  for (const auto &change : std::vector<std::function<void(Microarchitecture &)>>{
           [](auto &m) { m.window += 1; }, [](auto &m) { m.fetch.buffer += 1; },
           [](auto &m) { m.opcodes[3].role.lanes += 1; }, [](auto &m) { m.stages[0].capacity += 1; },
           [](auto &m) { m.stages[0].latency.terms[0].value += 1; }, [](auto &m) { m.units[1].count += 1; },
           [](auto &m) { m.units[1].operations[0].interval.terms[0].value += 1; },
           [](auto &m) { m.registers[0].readPorts += 1; }, [](auto &m) { m.registers[0].renamed = true; },
           [](auto &m) { m.storages[0].banks += 1; }, [](auto &m) { m.storages[0].rows = {2048, 9}; },
           [](auto &m) { m.storages[0].cache.emplace(); }}) {
    Microarchitecture other = plain;
    change(other);
    EXPECT_TRUE(add(other));
  }
}

} // namespace
} // namespace accord
