// Steps whose weights have zeros: their prices against those of `accord prune`, their bounds against values, searches
// against all designs with all choices, and what a verifier computes of them by itself.
#include "lib/exploration/steps/StepZeros.h"
#include "lib/exploration/steps/StepWork.h"
#include "lib/exploration/verify/StepLowerBound.h"
#include "lib/exploration/verify/ZeroProof.h"
#include "lib/machine/cost/Estimate.h"
#include "lib/sparsity/cost/SparseCost.h"
#include "test/support/CatalogueWork.h"
#include "test/support/DesignSpaceFixture.h"
#include <random>

namespace accord {
namespace {

/// Machines of some shapes that skip 2:4 weights, with a list of what else `sparse` says.
std::string spaceText(const std::string &sparse, const std::string &rest = "pow2 1..4") {
  return "accelerator s {\n  clock = 1 GHz\n  technology = 16 nm\n"
         "  memory hbm : dram { capacity = 16 GiB, bandwidth = {100 GB/s, 800 GB/s}, latency = 100 ns, energy = 3.9 "
         "pJ/bit }\n"
         "  memory glb : scratchpad { capacity = pow2 1..8 MiB, bandwidth = 1024 B/cycle, double_buffered = true }\n"
         "  core tc[" +
         rest +
         "] : tensor {\n    array = (pow2 32..128) x (pow2 32..64), dataflow = {weight_stationary, "
         "output_stationary}\n    multiply = bf16, accumulate = fp32, reads = glb\n    sparse nm(2, 4) { " +
         sparse +
         " }\n  }\n  core vc : vector { lanes = pow2 64..256, types = {fp32, bf16}, reads = glb }\n"
         "  path hbm -> glb -> {tc, vc}\n  power { idle = 5 W, mac = 0.6 pJ }\n}\n";
}

DesignSpace spaceOf(const std::string &text) {
  test::Machines machines{std::string(text)};
  auto made = machines.space("s");
  if (!made) {
    ADD_FAILURE() << made.error().front().message;
    std::abort();
  }
  return std::move(*made);
}

WorkGraph graphOf(const char *file, const char *model) {
  auto found = test::ofCatalogue(file, model, "tpu_like", 2);
  if (!found) {
    ADD_FAILURE() << model;
    return {};
  }
  return std::move(found->first);
}

/// Some layers with patterns that are drawn.
StepZeros drawnZeros(const WorkGraph &graph, const DesignSpace &space, std::mt19937 &random) {
  StepZeros zeros;
  zeros.core = space.machine(space.at(0))->cores[0].sparse;
  for (const PrunedLayer &layer : prunedLayers(graph))
    if (random() % 3 > 0)
      zeros.layers.push_back({layer.name, random() % 2 ? 2 : 1, random() % 4 ? 4 : 8, random() % 2 == 0});
  return zeros;
}

std::shared_ptr<const StepWork> workOf(const WorkGraph &dense, const StepZeros &zeros) {
  auto graph = withZeros(dense, zeros);
  if (!graph)
    ADD_FAILURE() << graph.error().message;
  return std::make_shared<StepWork>(std::move(*graph), std::vector<double>{}, zeros);
}

constexpr std::pair<const char *, const char *> kModels[] = {{"bert.dnn", "bert_large"}, {"resnet.dnn", "resnet18"}};
constexpr const char *kSparse[] = {"", "setup_cycles = 200 cycles", "words_per_cycle = 40, tile = 16"};

TEST(StepZeros, PricesAreThoseOfPrunedOperations) {
  std::mt19937 random(1);
  unsigned shorter = 0, updates = 0;
  for (const auto &[file, model] : kModels)
    for (const char *sparse : kSparse) {
      const DesignSpace space = spaceOf(spaceText(sparse));
      const WorkGraph dense = graphOf(file, model);
      const StepZeros zeros = drawnZeros(dense, space, random);
      const auto work = workOf(dense, zeros);
      std::map<OperationId, LinearSparsity> touched;
      for (const auto &[id, linear] : zeroOperations(dense, zeros))
        touched[id] = linear;
      ASSERT_FALSE(touched.empty());
      for (int i = 0; i < 3; ++i) {
        const Machine machine = *space.machine(test::someDesign(space, random));
        const auto before = estimate(dense, machine);
        const auto after = work->costs(machine);
        ASSERT_TRUE(before && after);
        for (OperationId id = 0; id < dense.operations.size(); ++id) {
          const OperationCost &was = before->operations[id], &is = after->operations[id];
          auto found = touched.find(id);
          if (found == touched.end()) {
            ASSERT_EQ(is.time.value, was.time.value) << dense.operations[id].name;
            continue;
          }
          const auto cost = sparseCost(dense, dense.operations[id], machine, was, found->second, 0.95);
          ASSERT_TRUE(cost) << cost.error().message;
          ASSERT_EQ(is.time.value, cost->mean.time.value) << dense.operations[id].name;
          ASSERT_EQ(is.energy.value, cost->mean.energy.value);
          ASSERT_EQ(cost->mean.time.value, cost->quantile.value); // nothing is random
          shorter += is.time.value < was.time.value;
          updates += dense.operations[id].phase == Phase::Update;
        }
      }
    }
  EXPECT_GT(shorter, 100u);
  EXPECT_GT(updates, 100u);
}

TEST(StepZeros, StaticMemoryIsThatOfPrunedLayers) {
  const DesignSpace space = spaceOf(spaceText(""));
  const WorkGraph dense = graphOf("bert.dnn", "bert_large");
  const PrunedLayer layer = prunedLayers(dense).front();
  const StepZeros zeros{{{layer.name, 2, 4, false}}, space.machine(space.at(0))->cores[0].sparse};
  const auto graph = withZeros(dense, zeros);
  ASSERT_TRUE(graph);
  double before = 0, after = 0;
  unsigned changed = 0;
  for (size_t t = 0; t < dense.staticTensors.size(); ++t) {
    const StaticTensor &was = dense.staticTensors[t], &is = graph->staticTensors[t];
    before += was.bytes, after += is.bytes;
    if (was.bytes == is.bytes)
      continue;
    ++changed;
    // Two of four, with two bits each for their places.
    const double share = was.category == Category::Weights ? 0.5 * (1 + 2.0 / layer.weightBits) : 0.5;
    EXPECT_EQ(is.bytes, std::ceil(was.bytes * share)) << was.name;
  }
  EXPECT_GE(changed, 2u);
  EXPECT_LT(after, before);
}

TEST(StepZeros, NoDesignIsWorthLessThanTheBoundOfItsBox) {
  std::mt19937 random(2);
  for (const auto &[file, model] : kModels)
    for (const char *sparse : kSparse)
      for (MiningMetric metric : {MiningMetric::StepTime, MiningMetric::Energy}) {
        const DesignSpace space = spaceOf(spaceText(sparse));
        const WorkGraph dense = graphOf(file, model);
        MiningJob job{model, {}, 2};
        for (int a = 0; a < 2; ++a)
          job.alternatives.push_back({"", workOf(dense, drawnZeros(dense, space, random))});
        StepProblem problem(space, {job}, metric);
        for (int i = 0; i < 6; ++i) {
          const Design design = test::someDesign(space, random);
          double before = 0;
          for (const DesignBox &box : test::boxesAround(space, design, random)) {
            const double bound = problem.bound(box);
            ASSERT_GE(bound, before * (1 - 1e-9));
            before = bound;
          }
          const DesignEvaluation found = problem.evaluate(design, INFINITY);
          ASSERT_TRUE(std::isfinite(found.value));
          ASSERT_LE(before, found.value) << model << sparse << i;
          ASSERT_LE(found.lowerBound, found.value);
        }
      }
}

TEST(StepZeros, TheSearchFindsTheBestOfAllDesignsAndChoices) {
  std::mt19937 random(3);
  for (int round = 0; round < 3; ++round) {
    std::string text = spaceText(kSparse[round], "pow2 1..2");
    for (const auto &[open, closed] : {std::pair("pow2 1..8 MiB", "{2 MiB, 8 MiB}"), {"pow2 64..256", "256"}})
      text.replace(text.find(open), std::string(open).size(), closed);
    const DesignSpace space = spaceOf(text);
    const WorkGraph dense = graphOf(kModels[round % 2].first, kModels[round % 2].second);
    MiningJob job{"job", {{"", std::make_shared<StepWork>(dense)}}, 2};
    for (int a = 0; a < 2; ++a)
      job.alternatives.push_back({"", workOf(dense, drawnZeros(dense, space, random)), 0});
    StepProblem problem(space, {job}, MiningMetric::StepTime);
    const MiningResult found = mineExactly(problem);
    double best = INFINITY, denseBest = INFINITY;
    for (uint64_t i = 0; i < *space.points(); ++i)
      for (size_t a = 0; a < job.alternatives.size(); ++a) {
        const double step = job.alternatives[a].work->value(*space.machine(space.at(i))).step;
        best = std::min(best, step);
        denseBest = std::min(denseBest, a == 0 ? step : INFINITY);
      }
    EXPECT_EQ(found.value, best);
    EXPECT_LE(found.bound, best);
    // An array that waits for its words may be faster without zeros.
    EXPECT_LE(best, denseBest);
    if (!std::string(kSparse[round]).starts_with("words"))
      EXPECT_LT(best, denseBest);
  }
}

TEST(ZeroProof, SharesAndBoundsOfTheVerifier) {
  std::mt19937 random(4);
  for (const auto &[file, model] : kModels)
    for (const char *sparse : kSparse) {
      const DesignSpace space = spaceOf(spaceText(sparse));
      const WorkGraph dense = graphOf(file, model);
      const StepZeros zeros = drawnZeros(dense, space, random);
      const auto work = workOf(dense, zeros);
      const auto shares = zeroShares(dense, zeros);
      ASSERT_TRUE(shares) << shares.error().message;
      const StepZeroShares searched = minZeroShares(dense, zeros);
      for (OperationId id = 0; id < dense.operations.size(); ++id) {
        ASSERT_DOUBLE_EQ((*shares)[id].compute, searched[id].compute) << dense.operations[id].name;
        ASSERT_DOUBLE_EQ((*shares)[id].active, searched[id].active);
        ASSERT_DOUBLE_EQ((*shares)[id].bytes, searched[id].bytes);
        ASSERT_DOUBLE_EQ((*shares)[id].stored, searched[id].stored) << dense.operations[id].name;
      }
      StepLowerBound bound(work->graph(), {}, *shares), whole(dense);
      for (int i = 0; i < 8; ++i) {
        const Machine machine = *space.machine(test::someDesign(space, random));
        const StepValue value = work->value(machine);
        const auto costs = work->costs(machine);
        ASSERT_TRUE(costs);
        const double seconds = bound.seconds(machine), priced = bound.seconds(machine, &*costs);
        EXPECT_LE(seconds, value.step);
        EXPECT_LE(priced, value.step);
        EXPECT_LE(bound.joules(machine, nullptr, value.step), value.joules);
        EXPECT_LT(seconds, whole.seconds(machine));
      }
    }
}

TEST(ZeroProof, WhatNoPatternGivesIsRefused) {
  const DesignSpace space = spaceOf(spaceText(""));
  const Machine machine = *space.machine(space.at(0));
  const WorkGraph dense = graphOf("resnet.dnn", "resnet18");
  StepZeros zeros{{}, machine.cores[0].sparse};
  for (const PrunedLayer &layer : prunedLayers(dense))
    zeros.layers.push_back({layer.name, 2, 4, true});
  MiningCertificate good;
  CertificateJob &job = good.jobs.emplace_back();
  job.alternatives.push_back({"dense", dense});
  CertificateAlternative &sparse = job.alternatives.emplace_back("sparse", WorkGraph{}, 0, zeros);
  for (const MinedZeros &one : zeros.layers)
    sparse.shares.push_back(*sharesOfPattern(dense, one, zeros.core));
  auto check = [&](auto change) {
    MiningCertificate certificate = good;
    change(certificate.jobs[0].alternatives[1]);
    return readZeros(certificate, machine);
  };
  MiningCertificate read = good;
  ASSERT_TRUE(readZeros(read, machine).empty());
  const auto graph = withZeros(dense, zeros);
  ASSERT_TRUE(graph);
  for (size_t t = 0; t < graph->staticTensors.size(); ++t)
    EXPECT_EQ(read.jobs[0].alternatives[1].graph.staticTensors[t].bytes, graph->staticTensors[t].bytes);

  using Alternative = CertificateAlternative;
  EXPECT_FALSE(check([](Alternative &a) { a.shares[0].compute *= 0.99; }).empty());
  EXPECT_FALSE(check([](Alternative &a) { a.shares[1].weights *= 0.99; }).empty());
  EXPECT_FALSE(check([](Alternative &a) { a.shares[1].states = 0.25; }).empty());
  EXPECT_FALSE(check([](Alternative &a) { a.zeros.layers[0].kept = 1; }).empty());
  EXPECT_FALSE(check([](Alternative &a) { a.zeros.layers[0].of = 8; }).empty());
  EXPECT_FALSE(check([](Alternative &a) { a.zeros.layers[0].kept = 5; }).empty());
  EXPECT_FALSE(check([](Alternative &a) { a.zeros.layers[0].layer = "nothing"; }).empty());
  EXPECT_FALSE(check([](Alternative &a) { a.zeros.layers[0].layer = a.zeros.layers[1].layer; }).empty());
  EXPECT_FALSE(check([](Alternative &a) { a.shares.pop_back(); }).empty());
  EXPECT_FALSE(check([](Alternative &a) { a.dense = 1; }).empty());
  EXPECT_FALSE(check([](Alternative &a) { a.zeros.layers.clear(), a.shares.clear(); }).empty());
}

} // namespace
} // namespace accord
