// What an operation with zeros costs, against its dense cost and figures worked out by hand.
#include "lib/machine/cost/Estimate.h"
#include "lib/sparsity/cost/Format.h"
#include "lib/sparsity/cost/SparseCost.h"
#include "test/support/CatalogueWork.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace accord;

namespace {

struct Job {
  WorkGraph graph;
  Machine machine;
  Costs costs;
};

Job job(const char *file, const char *model, const char *target, int64_t batch) {
  auto found = test::ofCatalogue(file, model, target, batch);
  if (!found) {
    ADD_FAILURE() << model;
    return {};
  }
  auto costs = estimate(found->first, found->second);
  if (!costs) {
    ADD_FAILURE() << costs.error().front().message;
    return {};
  }
  return {std::move(found->first), std::move(found->second), std::move(*costs)};
}

/// GPT-2 on an A100 whose cores use zeros in this way.
const Job &gpt2() {
  static const Job one = job("gpt2.dnn", "gpt2", "a100_80g", 1);
  return one;
}

/// With memory on the chip, for which operations are cut into tiles.
const Job &tiled() {
  static const Job one = job("resnet.dnn", "resnet18", "tpu_like", 4);
  return one;
}

Machine with(const Machine &machine, const SparseCore &sparse) {
  Machine result = machine;
  for (Core &core : result.cores)
    core.sparse = sparse;
  return result;
}

SparsityPattern unstructured(double density) {
  SparsityPattern p;
  p.kind = SparsityPattern::Kind::Unstructured;
  p.density = density;
  return p;
}

SparsityPattern twoOfFour() {
  SparsityPattern p;
  p.kind = SparsityPattern::Kind::Structured;
  p.kept = 2;
  p.of = 4;
  return p;
}

SparseFormat format(SparseFormat::Kind kind) {
  SparseFormat f;
  f.kind = kind;
  f.kept = 2;
  f.of = 4;
  return f;
}

const auto kBitmask = format(SparseFormat::Kind::Bitmask), kStructured = format(SparseFormat::Kind::Structured);

SparseAcceleration use(SparseAcceleration::Mode mode, bool compress, int64_t kept = 0, int64_t of = 0) {
  return {mode, compress, kept, of, 1};
}

SparseCost cost(const Job &of, const Machine &machine, OperationId id, const LinearSparsity &sparsity,
                double confidence = 0.95) {
  auto found = sparseCost(of.graph, of.graph.operations[id], machine, of.costs.operations[id], sparsity, confidence);
  if (!found) {
    ADD_FAILURE() << found.error().message;
    return {};
  }
  return *found;
}

/// The first operation with this phase and end of its name.
OperationId named(const Job &of, const std::string &end, Phase phase = Phase::Forward) {
  for (OperationId id = 0; id < of.graph.operations.size(); ++id) {
    const Operation &op = of.graph.operations[id];
    if (op.phase == phase && op.contraction && productOf(of.graph, op) && op.name.find(end) != std::string::npos)
      return id;
  }
  ADD_FAILURE() << end;
  return 0;
}

void expectSame(const OperationCost &found, const OperationCost &dense, const std::string &name) {
  EXPECT_EQ(found.time, dense.time) << name;
  EXPECT_EQ(found.compute, dense.compute) << name;
  EXPECT_EQ(found.energy, dense.energy) << name;
  EXPECT_EQ(found.bytes, dense.bytes) << name;
  EXPECT_EQ(found.transfer, dense.transfer) << name;
  EXPECT_EQ(found.cycles, dense.cycles) << name;
  EXPECT_EQ(found.bound, dense.bound) << name;
}

TEST(SparsityCost, DensityOneIsDenseToTheBit) {
  SparseCore core;
  core.stationary = core.streaming = use(SparseAcceleration::Mode::Skip, true);
  core.tile = 32, core.slots = 4, core.lanes = 8;
  OperandSparsity all{unstructured(1), {}};
  for (const Job *of : {&gpt2(), &tiled()})
    for (OperationId id = 0; id < of->graph.operations.size(); ++id) {
      const std::string &name = of->graph.operations[id].name;
      SparseCost found = cost(*of, with(of->machine, core), id, {all, all, all});
      expectSame(found.mean, of->costs.operations[id], name);
      EXPECT_EQ(found.quantile, of->costs.operations[id].time) << name;
      EXPECT_EQ(found.quantileEnergy, of->costs.operations[id].energy) << name;
      EXPECT_FALSE(found.used) << name;
      // A core that says nothing of zeros gains nothing from them.
      OperandSparsity few{unstructured(0.1), kBitmask};
      expectSame(
          cost(*of, of->machine, id, {of->graph.operations[id].phase == Phase::Update ? all : few, few, few}).mean,
          of->costs.operations[id], name);
    }
}

TEST(SparsityCost, TwoOfFourOnAnA100) {
  SparseCore core;
  core.stationary = use(SparseAcceleration::Mode::Skip, true, 2, 4);
  const Machine machine = with(gpt2().machine, core);
  const OperationId forward = named(gpt2(), "mlp.linear"), data = named(gpt2(), "mlp.linear", Phase::DataGradient),
                    weight = named(gpt2(), "mlp.linear", Phase::WeightGradient);
  LinearSparsity sparsity{{twoOfFour(), kStructured}, {}, {}};
  const OperationCost &dense = gpt2().costs.operations[forward];
  SparseCost found = cost(gpt2(), machine, forward, sparsity);
  EXPECT_EQ(found.cycles, 0.5);
  EXPECT_EQ(found.mean.compute, dense.compute * 0.5);
  EXPECT_EQ(found.quantile, found.mean.time); // nothing is random
  auto product = *productOf(gpt2().graph, gpt2().graph.operations[forward]);
  double weights = static_cast<double>(product.columns) * static_cast<double>(product.depth) * 2;
  EXPECT_NEAR(found.mean.bytes[0].value, dense.bytes[0].value - weights * (1 - 0.5625), 1e-6 * weights);
  EXPECT_NEAR(found.stationary.value, weights * 0.5625, 1e-6 * weights);
  EXPECT_NEAR(found.metadata.value, weights * 0.0625, 1e-6 * weights);
  EXPECT_LT(found.mean.energy, dense.energy);
  // Whatever the product, the weights lie in memory as they are.
  EXPECT_NEAR(cost(gpt2(), machine, data, sparsity).stationary.value, weights * 0.5625, 1e-6 * weights);
  // Along the reduction of the forward product alone: no multiply-accumulate less in the gradients.
  EXPECT_EQ(cost(gpt2(), machine, data, sparsity).cycles, 1);
  EXPECT_EQ(cost(gpt2(), machine, weight, sparsity).cycles, 1);
  sparsity.weights.pattern.transposable = true;
  EXPECT_EQ(cost(gpt2(), machine, data, sparsity).cycles, 0.5);
  EXPECT_EQ(cost(gpt2(), machine, weight, sparsity).cycles, 1);
}

TEST(SparsityCost, GatingSavesEnergyAlone) {
  SparseCore core;
  core.stationary = use(SparseAcceleration::Mode::Gate, false);
  core.gatedEnergy = 0.03; // 0.0660 of 2.200 pJ (Sparseloop's table, 45 nm, 16 bits)
  Machine machine = with(gpt2().machine, core);
  machine.energyPerFlop = JoulesPerFlop(1.1e-12);
  machine.energyPerFlopOf.clear();
  OperationId id = named(gpt2(), "mlp.linear");
  auto again = estimate(gpt2().graph, machine);
  const OperationCost &dense = again->operations[id];
  auto found =
      sparseCost(gpt2().graph, gpt2().graph.operations[id], machine, dense, {{unstructured(0.25), {}}, {}, {}}, 0.95);
  const auto &gated = *found;
  EXPECT_EQ(gated.mean.time, dense.time);
  EXPECT_EQ(gated.mean.bytes, dense.bytes);
  double arithmetic = static_cast<double>(gpt2().graph.operations[id].flops) * 1.1e-12;
  EXPECT_NEAR(gated.mean.energy.value, dense.energy.value - arithmetic * (1 - 0.25 - 0.75 * 0.03), 1e-9 * arithmetic);
  EXPECT_LT(gated.quantileEnergy, dense.energy);
  EXPECT_EQ(gated.quantile, dense.time);
}

TEST(SparsityCost, CompressionFollowsTheTiles) {
  SparseCore core;
  core.stationary = use(SparseAcceleration::Mode::None, true);
  const Machine machine = with(tiled().machine, core);
  int smaller = 0;
  for (OperationId id = 0; id < tiled().graph.operations.size(); ++id) {
    const Operation &op = tiled().graph.operations[id];
    if (op.phase != Phase::Forward || !productOf(tiled().graph, op))
      continue;
    const OperationCost &dense = tiled().costs.operations[id];
    SparseCost found = cost(tiled(), machine, id, {{unstructured(0.25), kBitmask}, {}, {}});
    EXPECT_EQ(found.mean.compute, dense.compute);
    double share = found.stationary.value > 0 ? 0.25 + 1.0 / 16 : 1, weights = found.stationary.value / share;
    for (size_t i = 0; i < dense.bytes.size(); ++i) {
      double saved = dense.bytes[i].value - found.mean.bytes[i].value;
      EXPECT_GE(saved, 0) << op.name;
      EXPECT_LT(saved, dense.bytes[i].value);
      // Whole passes of the weights are saved: each element of them once for each time a tile needs it.
      double passes = saved / (1 - share) / weights;
      EXPECT_GE(passes, 1 - 1e-3) << op.name << " memory " << i;
      smaller += saved > 0;
    }
    EXPECT_LE(found.mean.time, dense.time);
  }
  EXPECT_GT(smaller, 20);
}

TEST(SparsityCost, PositionsCanCostMoreThanTheySave) {
  SparseCore core;
  core.stationary = core.streaming = use(SparseAcceleration::Mode::Skip, true);
  core.setupCycles = 1000;
  const Machine machine = with(gpt2().machine, core);
  OperationId id = named(gpt2(), "mlp.linear");
  const OperationCost &dense = gpt2().costs.operations[id];
  SparseCost found = cost(gpt2(), machine, id, {{unstructured(0.97), kBitmask}, {}, {}});
  EXPECT_GT(found.mean.bytes[0], dense.bytes[0]);
  EXPECT_NEAR(found.mean.compute.value, dense.compute.value * found.cycles + 1000 / machine.clock.value, 1e-15);
  Machine clockless = machine;
  clockless.clock = Hertz(0);
  auto refused = sparseCost(gpt2().graph, gpt2().graph.operations[id], clockless, dense,
                            {{unstructured(0.5), kBitmask}, {}, {}}, 0.95);
  ASSERT_TRUE(!refused);
  EXPECT_EQ(refused.error().code, Code::NotSkipped);
}

TEST(SparsityCost, QuantilesAreAboveMeans) {
  SparseCore core;
  core.stationary = core.streaming = use(SparseAcceleration::Mode::Skip, true);
  core.tile = 32, core.slots = 4, core.lanes = 16;
  const Machine machine = with(gpt2().machine, core);
  OperationId id = named(gpt2(), "mlp.linear");
  OperandSparsity half{unstructured(0.5), kBitmask};
  half.pattern.independent = true;
  SparseCost less = cost(gpt2(), machine, id, {half, half, half}, 0.9),
             more = cost(gpt2(), machine, id, {half, half, half}, 0.999);
  EXPECT_GT(less.quantileCycles, less.cycles);
  EXPECT_GT(more.quantileCycles, less.quantileCycles);
  EXPECT_GE(more.stationary, less.stationary);
  EXPECT_GE(less.quantile, less.mean.time);
  EXPECT_GE(less.quantileEnergy, less.mean.energy);
  EXPECT_NEAR(less.active, 0.25, 1e-9);
}

TEST(SparsityCost, WhatADynamicMaskMoves) {
  SparseCore core;
  core.stationary = use(SparseAcceleration::Mode::Skip, true);
  const Machine machine = with(gpt2().machine, core);
  OperationId id = named(gpt2(), "mlp.linear"), back = named(gpt2(), "mlp.linear", Phase::DataGradient);
  LinearSparsity fixed{{unstructured(0.25), kBitmask}, {}, {}}, dynamic = fixed;
  dynamic.weights.pattern.dynamic = true;
  auto product = *productOf(gpt2().graph, gpt2().graph.operations[id]);
  double weights = static_cast<double>(product.columns) * static_cast<double>(product.depth) * 2;
  EXPECT_NEAR(cost(gpt2(), machine, id, dynamic).mean.bytes[0].value -
                  cost(gpt2(), machine, id, fixed).mean.bytes[0].value,
              weights * (1 + 0.25 + 1.0 / 16), 1e-6 * weights);
  EXPECT_EQ(cost(gpt2(), machine, back, dynamic).mean.bytes,
            cost(gpt2(), machine, back, fixed).mean.bytes); // found once
}

TEST(SparsityCost, UpdatesFollowAStaticMask) {
  OperationId update = kNone;
  for (OperationId id = 0; id < gpt2().graph.operations.size() && update == kNone; ++id)
    if (gpt2().graph.operations[id].phase == Phase::Update && gpt2().costs.operations[id].core >= 0)
      update = id;
  ASSERT_NE(update, kNone);
  const OperationCost &dense = gpt2().costs.operations[update];
  LinearSparsity sparsity{{unstructured(0.25), kBitmask}, {}, {}};
  SparseCost found = cost(gpt2(), gpt2().machine, update, sparsity);
  EXPECT_EQ(found.mean.bytes[0], dense.bytes[0] * 0.25);
  EXPECT_NEAR(found.mean.energy.value, dense.energy.value * 0.25, 1e-9 * dense.energy.value);
  sparsity.weights.pattern.dynamic = true;
  expectSame(cost(gpt2(), gpt2().machine, update, sparsity).mean, dense, "dynamic");
}

} // namespace
