// What choices and limits of a design space are worth, and what a step waits for.
#include "lib/exploration/solve/Sensitivity.h"
#include "lib/exploration/steps/StepBottlenecks.h"
#include "lib/exploration/steps/StepProblem.h"
#include "lib/exploration/steps/StepWork.h"
#include "test/lib/exploration/MineProblems.h"
#include "test/support/CatalogueWork.h"
#include "test/support/DesignSpaceFixture.h"

using namespace accord;
using namespace accord::test;

namespace {

/// The least value of all designs with one choice.
double minWith(TableProblem &problem, size_t parameter, uint32_t choice) {
  double min = INFINITY;
  for (size_t point = 0; point < problem.table.size(); ++point)
    if (problem.at(point)[parameter] == choice)
      min = std::min(min, problem.table[point]);
  return min;
}

bool same(const ChoiceSensitivity &a, const ChoiceSensitivity &b) {
  return a.choice == b.choice && a.value == b.value && a.searched == b.searched && a.best == b.best &&
         a.bound == b.bound;
}

} // namespace

TEST(MineSensitivity, IsWhatEveryDesignTells) {
  size_t better = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    MultiLevelProblem problem(seed);
    MiningResult best = mineExactly(problem);
    if (!best.best)
      continue;
    SensitivityOptions options;
    auto beside = sensitivityOf(problem, *best.best, options);
    options.evaluations = options.bounds = UINT64_MAX;
    auto searched = sensitivityOf(problem, *best.best, options);
    options.threads = 3;
    auto threads = sensitivityOf(problem, *best.best, options);
    options.threads = 1, options.evaluations = 2, options.bounds = 30;
    auto brief = sensitivityOf(problem, *best.best, options);
    ASSERT_EQ(searched.size(), problem.all.size());
    for (size_t p = 0; p < searched.size(); ++p) {
      ASSERT_EQ(searched[p].size(), problem.all[p].labels.size());
      for (uint32_t c = 0; c < searched[p].size(); ++c) {
        const ChoiceSensitivity &one = searched[p][c];
        Design other = *best.best;
        other[p] = c;
        EXPECT_EQ(one.choice, c);
        EXPECT_EQ(one.value, problem.valueOf(other)) << seed;
        EXPECT_EQ(beside[p][c].value, one.value) << seed;
        EXPECT_FALSE(beside[p][c].searched);
        EXPECT_TRUE(same(one, threads[p][c])) << seed;
        bool near = c != (*best.best)[p] && std::max(c, (*best.best)[p]) - std::min(c, (*best.best)[p]) <= 8;
        ASSERT_EQ(one.searched, near);
        if (!one.searched)
          continue;
        double min = minWith(problem, p, c);
        EXPECT_EQ(one.best, min) << seed;
        EXPECT_EQ(one.bound, min) << seed;
        EXPECT_TRUE(one.isOptimal) << seed;
        EXPECT_LE(brief[p][c].bound, min) << seed;
        EXPECT_GE(brief[p][c].best, min) << seed;
        better += one.best < one.value;
      }
    }
  }
  EXPECT_GT(better, 150u);
}

TEST(MineSensitivity, OfManyChoicesThoseAround) {
  VastProblem problem;
  Design best = {0, 20, 40, 60, 80, 100, 120, 140, 160, 255};
  SensitivityOptions options;
  options.choices = 10;
  auto all = sensitivityOf(problem, best, options);
  ASSERT_EQ(all.size(), 10u);
  EXPECT_EQ(all[0].front().choice, 0u);
  EXPECT_EQ(all[0].back().choice, 9u);
  EXPECT_EQ(all[4].front().choice, 75u);
  EXPECT_EQ(all[4].back().choice, 84u);
  EXPECT_EQ(all[9].front().choice, 246u);
  EXPECT_EQ(all[9].back().choice, 255u);
  EXPECT_TRUE(sensitivityOf(problem, {1, 2}, options)[0].empty());
  std::atomic<bool> stop = true;
  options.stop = &stop;
  EXPECT_TRUE(sensitivityOf(problem, best, options)[0].empty());
}

/// A relaxed limit allows what the same limit, written larger, allows.
TEST(DesignLimits, RelaxedAreThoseWrittenLarger) {
  auto spaceOf = [](const std::string &area, const std::string &count) {
    Machines machines{fmt::format(R"(accelerator s {{
  clock = 1 GHz
  memory hbm : dram {{ capacity = 8 GiB, bandwidth = 100 GB/s }}
  memory glb : scratchpad {{ capacity = pow2 1..8 MiB, bandwidth = 1024 B/cycle, double_buffered = true }}
  core tc[1..8] : tensor {{ array = (pow2 16..128) x 32, multiply = bf16, accumulate = fp32, reads = glb }}
  path hbm -> glb -> {{tc}}
  area {{ mac = 1000 um2, sram = 2 mm2 per 1 MiB }}
  require budget: area <= {}
  require {} <= tc.count
  require tc.count <= tc.array.rows
}})",
                                  area, count)};
    auto made = machines.space("s");
    if (!made)
      throw std::runtime_error(made.error().front().message);
    return std::move(*made);
  };
  DesignSpace space = spaceOf("10 mm2", "3"), larger = spaceOf("11 mm2", "2"), written = spaceOf("10 mm2", "3");
  auto keeps = [](const DesignSpace &in, uint64_t point) {
    Design design = in.at(point);
    return !in.violatedRequirement(design, *in.machine(design));
  };
  auto expectAs = [&](const DesignSpace &other) {
    size_t kept = 0;
    for (uint64_t point = 0; point < *space.points(); ++point) {
      EXPECT_EQ(keeps(space, point), keeps(other, point)) << point;
      kept += keeps(space, point);
      DesignBox box{space.at(point), space.at(*space.points() - 1)};
      EXPECT_EQ(space.violatedRequirement(box), other.violatedRequirement(box)) << point;
    }
    return kept;
  };
  size_t before = expectAs(written);
  space.relax(0, 1.1);
  space.relax(1, 1.5);
  EXPECT_GT(expectAs(larger), before);
  space.relax(2, 1.1); // no limit: both sides are choices
  space.relax(7, 1.1);
  space.relax(0, 1);
  space.relax(1, 1);
  EXPECT_EQ(expectAs(written), before);

  Design design = {2, 3, 1}; // 4 MiB, 4 arrays of 32 x 32
  for (size_t p = 0; p < 3; ++p) {
    const DesignParameter &parameter = space.parameters()[p];
    std::string chosen = parameter.name == "glb.capacity" ? "4 MiB" : parameter.name == "tc.count" ? "4" : "32";
    design[p] = static_cast<uint32_t>(std::find(parameter.labels.begin(), parameter.labels.end(), chosen) -
                                      parameter.labels.begin());
  }
  Machine machine = *space.machine(design);
  auto area = space.limit(0, design, machine), count = space.limit(1, design, machine);
  ASSERT_TRUE(area && count);
  EXPECT_TRUE(area->atMost());
  EXPECT_NEAR(area->number, 4e-6 * 2 + 4 * 1024 * 1e-9, 1e-12);
  EXPECT_NEAR(area->limit, 1e-5, 1e-15);
  EXPECT_EQ(area->dimension, Dimension::of(Base::Metre, 2));
  EXPECT_FALSE(count->atMost());
  EXPECT_EQ(count->number, 4);
  EXPECT_EQ(count->limit, 3);
  EXPECT_FALSE(space.limit(2, design, machine));
  EXPECT_FALSE(space.limit(3, design, machine));
  EXPECT_FALSE(space.limit(0, {}, machine));
}

TEST(StepLimits, NameWhatAStepWaitsFor) {
  auto found = ofCatalogue("bert.dnn", "bert_large", "tpu_like", 4);
  ASSERT_TRUE(found);
  StepWork work(found->first);
  auto sharesOf = [&](const Machine &machine) {
    std::map<std::string, double> shares;
    double sum = 0, before = 1;
    for (const LimitShare &one : stepLimits(*work.planned(machine))) {
      EXPECT_LE(one.share, before);
      before = one.share;
      sum += one.share;
      shares[one.resource] = one.share;
    }
    EXPECT_NEAR(sum, 1, 1e-9);
    return shares;
  };
  Machine machine = found->second;
  auto shares = sharesOf(machine);
  EXPECT_GT(shares["core mxu"], 0.2);
  EXPECT_GT(shares["bandwidth hbm"], 0.05);
  EXPECT_EQ(shares.count("host"), 0u);
  // With bandwidth to spare the cores bind, with a launch of a second the host does.
  Machine other = machine;
  for (Memory &memory : other.memories)
    memory.bandwidth = memory.bandwidth * 1e6;
  shares = sharesOf(other);
  EXPECT_LT(shares["bandwidth hbm"], 1e-3);
  other = machine;
  other.memories[0].bandwidth = other.memories[0].bandwidth * 1e-3;
  EXPECT_GT(sharesOf(other)["bandwidth hbm"], 0.9);
  other = machine;
  other.host.step = Seconds(1000);
  EXPECT_GT(sharesOf(other)["host"], 0.9);
  other.cores.clear();
  EXPECT_FALSE(work.planned(other));
}
