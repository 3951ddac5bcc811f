// What designs are worth for jobs: bounds of boxes against the designs in them, and values against
// the steps, areas and powers they are made of.
#include "lib/exploration/steps/StepProblem.h"
#include "lib/exploration/steps/StepWork.h"
#include "lib/planning/analysis/MinPeakMemory.h"
#include "test/support/CatalogueWork.h"
#include "test/support/DesignSpaceFixture.h"
#include <random>
#include <thread>

namespace accord {
namespace {

MiningJob jobOf(const char *file, const char *model, int64_t batch) {
  auto found = test::ofCatalogue(file, model, "tpu_like", batch);
  if (!found) {
    ADD_FAILURE() << model;
    return {};
  }
  return {model, {{"", std::make_shared<StepWork>(std::move(found->first))}}, batch};
}
std::vector<MiningJob> twoJobs() {
  std::vector<MiningJob> jobs;
  jobs.push_back(jobOf("bert.dnn", "bert_large", 4));
  jobs.push_back(jobOf("resnet.dnn", "resnet50", 8));
  jobs[1].weight = 3, jobs[0].best = 0.05, jobs[1].best = 0.01;
  return jobs;
}

TEST(StepProblem, NoDesignIsWorthLessThanTheBoundOfItsBox) {
  std::mt19937 random(5);
  for (const char *name : {"tpu_like_space", "phaze_template"}) {
    DesignSpace space = test::shippedSpace(name);
    for (auto [metric, aggregation] : {std::pair(MiningMetric::StepTime, ObjectiveAggregation::Sum),
                                       {MiningMetric::TdpTime, ObjectiveAggregation::MinimaxRegret},
                                       {MiningMetric::Energy, ObjectiveAggregation::Sum},
                                       {MiningMetric::AreaTime, ObjectiveAggregation::MinimaxRegret}}) {
      StepProblem problem(space, twoJobs(), metric, aggregation);
      int valued = 0;
      for (int i = 0; i < 200; ++i) {
        Design design = test::someDesign(space, random);
        double before = 0;
        for (const DesignBox &box : test::boxesAround(space, design, random)) {
          double bound = problem.bound(box);
          ASSERT_GE(bound, before * (1 - 1e-9)) << name << i;
          before = bound;
        }
        if (std::isinf(before)) {
          ASSERT_TRUE(std::isinf(problem.value(design)));
        } else if (valued < 8) {
          double value = problem.value(design);
          ASSERT_LE(before, value) << name << i;
          ++valued;
        }
      }
      EXPECT_EQ(valued, 8) << name;
    }
  }
}

TEST(StepProblem, ValuesAreStepsByMetricAndBlend) {
  DesignSpace space = test::shippedSpace("tpu_like_space");
  std::vector<MiningJob> jobs = twoJobs();
  std::vector<StepWork> works;
  for (const MiningJob &job : jobs)
    works.emplace_back(job.alternatives[0].work->graph());
  Design design = {};
  for (const DesignParameter &parameter : space.parameters()) {
    uint32_t place = 0; // tpu_like
    for (auto [name, chosen] : {std::pair("mxu.count", "2"),
                                {"mxu.array.rows", "128"},
                                {"mxu.array.cols", "128"},
                                {"vpu.count", "2"},
                                {"vpu.lanes", "1024"},
                                {"vmem.capacity", "16 MiB"},
                                {"mxu.dataflow", "weight_stationary"},
                                {"vmem.bandwidth", "2048 B/cycle"}})
      for (uint32_t i = 0; i < parameter.labels.size(); ++i)
        if (parameter.name == name && parameter.labels[i] == chosen)
          place = i;
    design.push_back(place);
  }
  Machine machine = *space.machine(design);
  ASSERT_EQ(machine.cores[0].rows * machine.cores[0].cols * machine.cores[0].count, 32768);
  StepValue a = works[0].value(machine), b = works[1].value(machine);
  auto valueOf = [&](MiningMetric metric, ObjectiveAggregation aggregation) {
    return StepProblem(space, twoJobs(), metric, aggregation).value(design);
  };
  EXPECT_DOUBLE_EQ(valueOf(MiningMetric::StepTime, ObjectiveAggregation::Sum), a.step + 3 * b.step);
  EXPECT_DOUBLE_EQ(valueOf(MiningMetric::StepTime, ObjectiveAggregation::MinimaxRegret),
                   std::max(a.step / 0.05, b.step / 0.01));
  EXPECT_DOUBLE_EQ(valueOf(MiningMetric::TdpTime, ObjectiveAggregation::Sum),
                   (a.step + 3 * b.step) * machine.tdp.value);
  EXPECT_DOUBLE_EQ(valueOf(MiningMetric::AreaTime, ObjectiveAggregation::Sum),
                   (a.step + 3 * b.step) * machine.area.value);
  EXPECT_DOUBLE_EQ(valueOf(MiningMetric::Energy, ObjectiveAggregation::Sum), a.joules + 3 * b.joules);

  // Of two ways the better one is taken.
  jobs.pop_back();
  jobs[0].alternatives.insert(jobs[0].alternatives.begin(), jobOf("bert.dnn", "bert_large", 8).alternatives[0]);
  StepProblem either(space, jobs, MiningMetric::StepTime);
  EXPECT_EQ(either.value(design), a.step);
  EXPECT_EQ(either.step(0, design)->alternative, 1u);

  StepProblem problem(space, twoJobs(), MiningMetric::StepTime);
  EXPECT_EQ(problem.step(0, design)->step, a.step);
  EXPECT_EQ(problem.step(0, design)->bytes, a.bytes);
  EXPECT_FALSE(problem.step(2, design));
  EXPECT_FALSE(problem.step(0, {}));
  EXPECT_TRUE(std::isinf(problem.value({})));
  Design max; // too large for the budget of area
  for (const DesignParameter &parameter : space.parameters())
    max.push_back(static_cast<uint32_t>(parameter.labels.size()) - 1);
  EXPECT_TRUE(std::isinf(problem.value(max)));
  EXPECT_TRUE(std::isinf(problem.bound({max, max})));
}

/// Two machines of which one thing is open.
constexpr const char *kWaiting = R"(accelerator s {
  clock = 1 GHz
  memory hbm : dram { capacity = {1 MiB, 64 GiB}, bandwidth = {1 GB/s, 1000000 GB/s} }
  memory glb : scratchpad { capacity = 16 MiB, bandwidth = 1000000 GB/s, double_buffered = true }
  core tc[{1, 64}] : tensor { array = 16 x 16, multiply = bf16, accumulate = fp32, reads = glb }
  core vc[{1, 4096}] : vector { lanes = 4096, types = {fp32, bf16}, reads = glb }
  path hbm -> glb -> {tc, vc}
})";

TEST(StepProblem, WhatTheCriticalPathWaitsFor) {
  test::Machines machines{std::string(kWaiting)};
  auto made = machines.space("s");
  ASSERT_TRUE(made) << made.error().front().message;
  DesignSpace space = std::move(*made);
  std::map<std::string, size_t> place;
  for (size_t p = 0; p < space.parameters().size(); ++p)
    place[space.parameters()[p].name] = p;
  std::vector<MiningJob> jobs;
  jobs.push_back(jobOf("bert.dnn", "bert_large", 1));
  StepProblem problem(space, std::move(jobs), MiningMetric::StepTime);
  auto designOf = [&](const char *min) { // all but one have plenty
    Design design(space.parameters().size(), 1);
    if (*min)
      design[place.at(min)] = 0;
    return design;
  };
  for (const char *name : {"tc.count", "hbm.bandwidth"}) {
    std::vector<double> bottleneckGains = problem.bottleneckGains(designOf(name));
    ASSERT_EQ(bottleneckGains.size(), 4u);
    for (size_t p = 0; p < 4; ++p) {
      EXPECT_GE(bottleneckGains[p], 0);
      EXPECT_LE(bottleneckGains[p], 1);
      if (p != place.at(name))
        EXPECT_LT(bottleneckGains[p], 0.2) << name << " " << space.parameters()[p].name;
    }
    EXPECT_GT(bottleneckGains[place.at(name)], 0.8) << name;
  }
  // Residents alone do not fit.
  EXPECT_TRUE(std::isinf(problem.bound({designOf("hbm.capacity"), designOf("hbm.capacity")})));
  EXPECT_TRUE(std::isinf(problem.value(designOf("hbm.capacity"))));
  EXPECT_FALSE(problem.step(0, designOf("hbm.capacity"))->fits);
  EXPECT_TRUE(std::isfinite(problem.value(designOf(""))));
}

/// No schedule takes less than the cut; with a loss behind all that is stashed it is most of what
/// is taken.
TEST(StepProblem, MemoryThatEveryScheduleTakes) {
  DesignSpace space = test::shippedSpace("tpu_like_space");
  std::mt19937 random(9);
  size_t near = 0, all = 0;
  for (auto [file, model, batch] : {std::tuple("bert.dnn", "bert_large", 4),
                                    {"resnet.dnn", "resnet50", 8},
                                    {"gpt2.dnn", "gpt2", 2},
                                    {"inception.dnn", "inception_v3", 4},
                                    {"gnmt.dnn", "gnmt", 8}}) {
    MiningJob job = jobOf(file, model, batch);
    double min = minPeakMemory(job.alternatives[0].work->graph()), staticTensors = 0;
    for (const StaticTensor &resident : job.alternatives[0].work->graph().staticTensors)
      staticTensors += static_cast<double>(resident.bytes);
    EXPECT_GT(min, staticTensors);
    for (int i = 0; i < 4; ++i) {
      auto machine = space.machine(test::someDesign(space, random));
      if (!machine)
        continue;
      StepValue value = job.alternatives[0].work->value(*machine);
      EXPECT_LE(min, value.bytes) << model;
      near += min - staticTensors > 0.5 * (value.bytes - staticTensors), ++all;
    }
  }
  EXPECT_GT(all, 10u);
  EXPECT_GT(2 * near, all);
}

TEST(StepProblem, ThreadsChangeNothing) {
  DesignSpace space = test::shippedSpace("phaze_template");
  std::mt19937 random(6);
  std::vector<Design> designs;
  for (int i = 0; i < 300; ++i)
    designs.push_back(test::someDesign(space, random));
  auto boundsOf = [&](unsigned threads) {
    std::vector<MiningJob> jobs;
    jobs.push_back(jobOf("bert.dnn", "bert_large", 4));
    StepProblem problem(space, std::move(jobs), MiningMetric::StepTime);
    std::vector<double> bounds(designs.size());
    std::vector<std::thread> all;
    for (unsigned t = 0; t < threads; ++t)
      all.emplace_back([&, t] {
        for (size_t i = t; i < designs.size(); i += threads)
          bounds[i] = problem.bound({designs[i], designs[i]});
      });
    for (std::thread &thread : all)
      thread.join();
    return bounds;
  };
  EXPECT_EQ(boundsOf(1), boundsOf(4));
}

} // namespace
} // namespace accord
