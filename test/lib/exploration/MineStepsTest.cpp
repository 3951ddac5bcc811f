// Searches for the best design against every design, on spaces and training steps drawn at random.
#include "MineRandom.h"
#include "lib/exploration/solve/MiningRandom.h"
#include "lib/exploration/steps/StepWork.h"
#include "test/support/CatalogueWork.h"
#include "test/support/DesignSpaceFixture.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>

using namespace accord;
using namespace accord::test;

namespace {

double medianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

/// The first of all designs of the least value, and how many may be.
struct Exhausted {
  double value = INFINITY;
  std::optional<Design> best;
  uint64_t possible = 0;
};
Exhausted exhaust(StepProblem &problem) {
  Exhausted all;
  const std::vector<DesignParameter> &parameters = problem.parameters();
  for (uint64_t point = 0; point < *designsOf(parameters); ++point) {
    Design design = designAt(parameters, point);
    double value = problem.value(design);
    all.possible += std::isfinite(value);
    if (value < all.value)
      all.value = value, all.best = design;
  }
  return all;
}

/// Seeds from the environment, or those of the usual run.
struct Seeds {
  uint64_t from, to;
  bool asked = false;
  Seeds(const char *variable, uint64_t first, uint64_t last) : from(first), to(last) {
    if (const char *seeds = std::getenv(variable))
      asked = std::sscanf(seeds, "%lu:%lu", &from, &to) == 2;
  }
};

/// How far above the least several searches ended.
class Gaps {
public:
  void add(const std::string &name, double above, uint64_t evaluations) {
    all[name].push_back(above);
    valued[name].push_back(static_cast<double>(evaluations));
  }
  double median(const std::string &name) { return medianOf(all[name]); }
  void print() {
    for (const auto &[name, gaps] : all)
      std::printf("%s: %.4f above the least in the median, %.4f at most, within 5 %% %ld of %zu; "
                  "%.0f designs evaluated in the median\n",
                  name.c_str(), medianOf(gaps), *std::max_element(gaps.begin(), gaps.end()),
                  std::count_if(gaps.begin(), gaps.end(), [](double gap) { return gap <= 0.05; }), gaps.size(),
                  medianOf(valued[name]));
  }

private:
  std::map<std::string, std::vector<double>> all, valued;
};

} // namespace

/// ACCORD_MINE_PROBLEMS=FROM:TO looks at other seeds than 1 to 24, and at up to 3,000 designs.
TEST(MineSteps, ExactIsTheFirstOfTheBestOfAllDesigns) {
  Seeds seeds("ACCORD_MINE_PROBLEMS", 1, 24);
  uint64_t found = 0, designs = 0, valued = 0;
  Gaps gaps;
  for (uint64_t seed = seeds.from; seed <= seeds.to; ++seed) {
    MiningAtRandom drawn = miningAtRandom(seed, {50, seeds.asked ? 3000u : 150u});
    ASSERT_TRUE(drawn.space) << seed;
    if (drawn.aggregation == ObjectiveAggregation::MinimaxRegret)
      for (MiningJob &job : drawn.jobs) {
        StepProblem alone(*drawn.space, {job}, drawn.metric);
        double best = exhaust(alone).value;
        job.best = std::isfinite(best) ? best : 0;
      }
    auto problem = drawn.problem();
    Exhausted all = exhaust(*problem);
    MiningResult exact = mineExactly(*drawn.problem());
    std::string where = fmt::format("seed {}: {}\n{}", seed, drawn.what, drawn.spaceText);
    EXPECT_EQ(exact.value, all.value) << where;
    EXPECT_EQ(exact.best, all.best) << where;
    EXPECT_EQ(exact.isOptimal, all.best.has_value()) << where;
    EXPECT_LE(exact.bound, all.value) << where; // a schedule may be better than that of its value
    found += all.best.has_value(), designs += drawn.designs, valued += exact.evaluations;
    std::string line;
    for (uint64_t part : {1, 10}) { // as long as it likes, and a tenth of the designs that may be
      if (!all.best)
        break;
      MiningOptions options;
      options.evaluations = all.possible / part + 1;
      MiningResult wham = mineByCriticalPath(*problem, options);
      EXPECT_GE(wham.value, all.value) << where;
      EXPECT_LE(wham.bound, all.value) << where;
      gaps.add(part == 1 ? "wham" : "wham of a tenth", wham.value / all.value - 1, wham.evaluations);
      line += fmt::format(", wham {:.4f} ({})", wham.value / all.value - 1, wham.evaluations);
    }
    if (seeds.asked)
      std::printf("seed %lu: %lu designs, %lu possible, %lu valued, %lu bounds%s; %s\n", seed, drawn.designs,
                  all.possible, exact.evaluations, exact.bounds, line.c_str(), drawn.what.c_str());
  }
  std::printf("%lu of %lu problems have a design; %lu of %lu designs evaluated\n", found, seeds.to - seeds.from + 1,
              valued, designs);
  gaps.print();
  EXPECT_GT(2 * found, seeds.to - seeds.from);
  EXPECT_LE(gaps.median("wham"), 0.05);
  EXPECT_LT(3 * valued, designs);
}

/// In spaces of many more designs than a search by rules of thumb values, against what is proven.
/// ACCORD_MINE_LARGE=FROM:TO looks at other seeds than 1 to 4,
/// and at annealing and chance besides.
TEST(MineSteps, CriticalPathIsNearWhatIsProven) {
  Seeds seeds("ACCORD_MINE_LARGE", 1, 4);
  Gaps gaps;
  for (uint64_t seed = seeds.from; seed <= seeds.to; ++seed) {
    MiningAtRandom drawn = miningAtRandom(seed, {5000, 200000, true});
    ASSERT_TRUE(drawn.space) << seed;
    auto problem = drawn.problem();
    MiningResult exact = mineExactly(*problem);
    if (!exact.best)
      continue;
    std::string line;
    for (const char *name : {"wham", "annealing", "random"}) {
      if (!seeds.asked && name != std::string("wham"))
        continue;
      MiningOptions options;
      options.evaluations = 300;
      MiningResult result = miningStrategy(name)(*problem, options);
      EXPECT_GE(result.value, exact.value) << seed << name;
      EXPECT_LE(result.bound, exact.value) << seed << name;
      double above = result.value / exact.value - 1;
      gaps.add(name, above, result.evaluations);
      line += fmt::format(", {} {:.4f} ({})", name, above, result.evaluations);
    }
    if (seeds.asked)
      std::printf("seed %lu: %lu designs, exact valued %lu, %lu bounds%s; %s\n", seed, drawn.designs, exact.evaluations,
                  exact.bounds, line.c_str(), drawn.what.c_str());
  }
  gaps.print();
  EXPECT_LE(gaps.median("wham"), 0.05);
}

/// Memory that helps a little takes the area of arrays that would help more: what gives way is told
/// by the critical path, several sizes at once.
TEST(MineSteps, CriticalPathTakesFromWhatNothingWaitsFor) {
  auto found = ofCatalogue("bert.dnn", "bert_large", "tpu_like", 4);
  ASSERT_TRUE(found);
  DesignSpace space = shippedSpace("tpu_like_space");
  MiningJob job{"bert", {{"", std::make_shared<StepWork>(std::move(found->first))}}, 4};
  StepProblem problem(space, {job}, MiningMetric::StepTime);
  MiningResult exact = mineExactly(problem), wham = mineByCriticalPath(problem);
  EXPECT_GE(wham.value, exact.value);
  EXPECT_LE(wham.value, 1.05 * exact.value);
  EXPECT_LT(wham.evaluations, 1200u); // of 76,800 designs
}
