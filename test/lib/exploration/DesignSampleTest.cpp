// Which designs of a search are kept: against every design that was added.
#include "lib/exploration/solve/DesignSample.h"
#include "test/lib/exploration/MineProblems.h"
#include "gtest/gtest.h"
#include <map>
#include <set>

using namespace accord;
using namespace accord::test;

namespace {

struct Added {
  Design design;
  double value;
  std::vector<double> costs;
};

bool asGood(const Added &a, const Added &b) {
  bool good = a.value <= b.value;
  for (size_t i = 0; i < a.costs.size(); ++i)
    good &= a.costs[i] <= b.costs[i];
  return good;
}

TEST(DesignSample, KeepsFrontAndBestOfEachChoice) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    fuzz::Random random(seed);
    std::vector<DesignParameter> parameters;
    for (size_t p = 0, count = 1 + random.below(5); p < count; ++p)
      parameters.push_back(powers("p" + std::to_string(p), 0, 1 + static_cast<int>(random.below(5))));
    DesignSample sample(parameters, {"area", "tdp"});
    std::vector<Added> all;
    for (uint64_t point = 0; point < *designsOf(parameters); ++point) {
      if (random.percent(40))
        continue;
      Added one{
          designAt(parameters, point), double(random.below(30)), {double(random.below(9)), double(random.below(5))}};
      sample.add(one.design, {one.value, 0, {{one.value, 1}}}, one.costs);
      all.push_back(one);
    }
    EvaluatedDesigns kept = sample.finish();
    ASSERT_EQ(kept.count, all.size());
    EXPECT_FALSE(kept.truncated);
    EXPECT_LE(kept.designs.size(), 3 * DesignSample::kMaxKept);
    // Each set of numbers that nothing is as good as, by comparing all with all.
    std::set<std::pair<double, std::vector<double>>> front, stated;
    for (const Added &one : all)
      if (std::ranges::none_of(all, [&](const Added &other) { return asGood(other, one) && !asGood(one, other); }))
        front.emplace(one.value, one.costs);
    std::map<std::pair<size_t, uint32_t>, double> best, bestKept;
    auto note = [](auto &into, const Design &design, double value) {
      for (size_t p = 0; p < design.size(); ++p) {
        auto [at, isNew] = into.try_emplace({p, design[p]}, value);
        at->second = std::min(at->second, value);
      }
    };
    for (const Added &one : all)
      note(best, one.design, one.value);
    std::set<Design> seen;
    for (const EvaluatedDesign &one : kept.designs) {
      EXPECT_TRUE(seen.insert(one.design).second);
      note(bestKept, one.design, one.value);
      EXPECT_EQ(one.steps.at(0).seconds, one.value);
      if (one.nonDominated)
        EXPECT_TRUE(stated.emplace(one.value, one.costs).second);
    }
    EXPECT_EQ(kept.nonDominated, front.size());
    EXPECT_EQ(stated, front);
    EXPECT_EQ(bestKept, best);
  }
}

TEST(DesignSample, StaysSmallWhateverTheSearch) {
  std::vector<DesignParameter> parameters;
  for (int p = 0; p < 12; ++p)
    parameters.push_back(powers("p" + std::to_string(p), 0, 40));
  auto kept = [&] {
    DesignSample sample(parameters, {"area", "tdp"});
    fuzz::Random random(3);
    for (int i = 0; i < 30000; ++i) {
      Design design;
      for (size_t p = 0; p < parameters.size(); ++p)
        design.push_back(static_cast<uint32_t>(random.below(41)));
      // Most of them are as good as no other one.
      double area = double(i), value = double(30000 - i);
      sample.add(design, {value, 0}, {area, double(random.below(3))});
    }
    return sample.finish();
  };
  EvaluatedDesigns first = kept(), again = kept();
  EXPECT_EQ(first.count, 30000u);
  EXPECT_TRUE(first.truncated);
  EXPECT_LE(first.designs.size(), 3 * DesignSample::kMaxKept);
  ASSERT_EQ(first.designs.size(), again.designs.size());
  for (size_t i = 0; i < first.designs.size(); ++i)
    EXPECT_EQ(first.designs[i].design, again.designs[i].design);
}

/// A search leaves what it evaluated and may be, and the best is among it.
TEST(DesignSample, OfSearches) {
  for (uint64_t seed = 1; seed <= 20; ++seed)
    for (const std::string strategy : {"exact", "exhaustive", "random", "annealing", "wham", "genetic"}) {
      TableProblem problem(seed, 300);
      MiningResult result = miningStrategy(strategy)(problem, {});
      uint64_t finite = std::ranges::count_if(problem.table, [](double value) { return std::isfinite(value); });
      if (strategy == "exhaustive")
        EXPECT_EQ(result.evaluated.count, finite);
      EXPECT_LE(result.evaluated.count, std::min(result.evaluations, finite));
      if (result.best) {
        ASSERT_FALSE(result.evaluated.designs.empty());
        EXPECT_EQ(result.evaluated.designs.front().value, result.value);
        EXPECT_TRUE(result.evaluated.designs.front().nonDominated);
      }
    }
}

} // namespace
