// Prices that were kept against prices found anew, on machines that differ in a number each.
#include "lib/machine/cost/PriceCache.h"
#include "lib/machine/cost/Estimate.h"
#include "test/support/CatalogueWork.h"
#include "test/support/RandomMachine.h"
#include <gtest/gtest.h>

namespace accord {
namespace {

using testing::Draw, testing::randomMachine, testing::randomOperation;

void expectSame(const OperationCost &a, const OperationCost &b) {
  EXPECT_EQ(a.formula, b.formula);
  EXPECT_EQ(a.core, b.core);
  EXPECT_EQ(a.instances, b.instances);
  EXPECT_EQ(a.time, b.time);
  EXPECT_EQ(a.compute, b.compute);
  EXPECT_EQ(a.bytes, b.bytes);
  EXPECT_EQ(a.transfer, b.transfer);
  EXPECT_EQ(a.energy, b.energy);
  EXPECT_EQ(a.type, b.type);
  EXPECT_EQ(a.bound, b.bound);
  EXPECT_EQ(a.gap, b.gap);
  EXPECT_EQ(a.tiles.size(), b.tiles.size());
  EXPECT_EQ(a.parts.size(), b.parts.size());
}

void expectSame(const WorkGraph &graph, const Machine &machine, PriceCache &prices) {
  EstimateOptions options;
  options.prices = &prices;
  auto kept = estimate(graph, machine, options), anew = estimate(graph, machine);
  ASSERT_EQ(bool(kept), bool(anew));
  if (!anew) {
    EXPECT_EQ(kept.error().front().message, anew.error().front().message);
    return;
  }
  const Costs &a = *kept, &b = *anew;
  EXPECT_EQ(a.assumptions, b.assumptions);
  for (size_t i = 0; i < a.operations.size(); ++i)
    expectSame(a.operations[i], b.operations[i]);
  ASSERT_EQ(a.alternatives.size(), b.alternatives.size());
  for (const auto &[id, others] : a.alternatives)
    for (size_t i = 0; i < others.size(); ++i)
      expectSame(others[i], b.alternatives.at(id)[i]);
}

TEST(PriceCache, KeptPricesAreThoseFoundAnew) {
  Draw draw(21);
  PriceCache prices;
  for (int round = 0; round < 6; ++round) {
    WorkGraph graph;
    graph.regions.resize(2);
    for (int i = 0; i < 6; ++i) {
      accord::Operation op = randomOperation(draw);
      if (draw.whole(0, 3) == 0) {
        accord::Operation other = randomOperation(draw);
        op.parts = {
            {"a", op.kind, op.core, op.type, op.flops, op.contraction, op.domain, op.tensors},
            {"b", other.kind, other.core, other.type, other.flops, other.contraction, other.domain, other.tensors}};
        op.flops += other.flops;
      }
      graph.regions[0].operations.push_back(static_cast<OperationId>(graph.operations.size()));
      graph.operations.push_back(op);
    }
    Machine machine = randomMachine(draw);
    for (Core &core : machine.cores)
      core.anyMapping = !core.perInstanceMapping && draw.coin();
    for (int change = 0; change < 10; ++change) {
      Machine other = machine;
      Core &core = other.cores[static_cast<size_t>(draw.whole(0, static_cast<int64_t>(other.cores.size()) - 1))];
      Memory &memory =
          other.memories[static_cast<size_t>(draw.whole(0, static_cast<int64_t>(other.memories.size()) - 1))];
      switch (change) {
      case 1:
        core.count *= 2;
        break;
      case 2:
        core.efficiency /= 2;
        break;
      case 3:
        core.name += "x";
        break;
      case 4:
        memory.bandwidth = memory.bandwidth * 2;
        break;
      case 5:
        memory.capacity = memory.capacity * 2;
        break;
      case 6:
        memory.energy = JoulesPerByte(1e-11);
        break;
      case 7:
        other.clock = other.clock * 2;
        break;
      case 8:
        other.host.kernel = Seconds(1e-5);
        break;
      case 9:
        core.perInstanceMapping = !core.perInstanceMapping, core.anyMapping = false;
        break;
      default:
        break;
      }
      expectSame(graph, other, prices);
      if (HasFatalFailure() || HasNonfatalFailure())
        FAIL() << round << " " << change;
    }
  }
}

TEST(PriceCache, NumbersAloneAreTheSame) {
  auto found = test::ofCatalogue("resnet.dnn", "resnet18", "tpu_like", 4);
  ASSERT_TRUE(found);
  auto &[graph, machine] = *found;
  PriceCache prices(PriceCache::Detail::Numbers);
  prices.registerGraph(graph);
  EstimateOptions options;
  options.prices = &prices;
  for (int i = 0; i < 4; ++i) {
    // The second time nothing is found anew, then tiles are those of another machine.
    if (i == 2)
      machine.memories.back().bandwidth.value *= 2;
    if (i == 3)
      machine.memories.back().bandwidth.value /= 64;
    Costs kept = *estimate(graph, machine, options), anew = *estimate(graph, machine);
    for (size_t op = 0; op < anew.operations.size(); ++op) {
      OperationCost plain = anew.operations[op];
      plain.formula = kept.operations[op].formula, plain.tiles.clear();
      expectSame(kept.operations[op], plain);
    }
  }
}

TEST(PriceCache, NetworkOfTheCatalogue) {
  auto found = test::ofCatalogue("bert.dnn", "bert_large", "tpu_like", 4);
  ASSERT_TRUE(found);
  PriceCache prices;
  for (int i = 0; i < 3; ++i) {
    found->second.cores[1].lanes *= 2;
    expectSame(found->first, found->second, prices);
  }
}

} // namespace
} // namespace accord
