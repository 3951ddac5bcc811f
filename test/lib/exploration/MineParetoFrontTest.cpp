// The Pareto front of hardware mining: against every design of random spaces.
#include "lib/exploration/steps/StepProblem.h"
#include "lib/exploration/steps/StepWork.h"
#include "lib/exploration/strategies/ParetoFront.h"
#include "test/lib/exploration/MineProblems.h"
#include "test/support/CatalogueWork.h"
#include "test/support/DesignSpaceFixture.h"
#include <mutex>
#include <set>

using namespace accord;
using namespace accord::test;

namespace {

using Numbers = std::vector<double>;

/// A table of values with one to three more of costs, which mostly grow with the choices; bounds of
/// a box are the least of it, less a slack.
class CostlyProblem : public MultiLevelProblem {
public:
  explicit CostlyProblem(uint64_t seed, double open = 0) : MultiLevelProblem(seed, open) {
    fuzz::Random random(seed + 7777);
    more.resize(1 + random.below(3));
    for (std::vector<double> &cost : more) {
      std::vector<double> slopes;
      for (size_t i = 0; i < all.size(); ++i)
        slopes.push_back(static_cast<double>(random.below(16)));
      size_t noise = 1 + random.below(10);
      for (size_t point = 0; point < table.size(); ++point) {
        Design design = at(point);
        double sum = static_cast<double>(random.below(noise));
        for (size_t i = 0; i < design.size(); ++i)
          sum += slopes[i] * design[i];
        cost.push_back(sum);
      }
    }
  }
  std::vector<std::string> costNames() override { return std::vector<std::string>(more.size(), "cost"); }
  Numbers costs(const DesignBox &box) override {
    Numbers min(more.size(), INFINITY);
    for (size_t point = 0; point < table.size(); ++point) {
      Design design = at(point);
      bool inside = true;
      for (size_t i = 0; i < design.size(); ++i)
        inside &= box.low[i] <= design[i] && design[i] <= box.high[i];
      for (size_t c = 0; c < more.size() && inside; ++c)
        min[c] = std::min(min[c], more[c][point]);
    }
    return min;
  }
  unsigned numBoundLevels() const override { return open > 0 ? 0 : count; }
  DesignEvaluation evaluate(const Design &design, double below) override {
    DesignEvaluation found = MultiLevelProblem::evaluate(design, below);
    std::lock_guard lock(mutex);
    if (std::isfinite(found.lowerBound)) {
      min.push_back({std::max(found.lowerBound, boundIn({design, design}))});
      Numbers own = costs({design, design});
      min.back().insert(min.back().end(), own.begin(), own.end());
    }
    return found;
  }
  /// Of every design that may be.
  std::vector<Numbers> every() const {
    std::vector<Numbers> numbers;
    for (size_t point = 0; point < table.size(); ++point) {
      if (std::isinf(table[point]))
        continue;
      numbers.push_back({table[point]});
      for (const std::vector<double> &cost : more)
        numbers.back().push_back(cost[point]);
    }
    return numbers;
  }

  std::vector<std::vector<double>> more;
  std::mutex mutex;
  std::vector<Numbers> min; ///< bounds that were told of designs, with their costs
};

bool within(const Numbers &a, const Numbers &b, double factor) {
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] > b[i] * factor * (1 + 1e-12))
      return false;
  return true;
}

std::set<Numbers> paretoFront(const std::vector<Numbers> &all) {
  std::set<Numbers> distinct(all.begin(), all.end()), front;
  for (const Numbers &one : distinct)
    if (std::none_of(distinct.begin(), distinct.end(),
                     [&](const Numbers &other) { return other != one && within(other, one, 1); }))
      front.insert(one);
  return front;
}

std::vector<Numbers> listed(const ParetoFront &front) {
  std::vector<Numbers> numbers;
  for (const ParetoPoint &point : front.points) {
    numbers.push_back({point.value});
    numbers.back().insert(numbers.back().end(), point.costs.begin(), point.costs.end());
  }
  return numbers;
}

void expectSame(const ParetoFront &a, const ParetoFront &b) {
  EXPECT_EQ(listed(a), listed(b));
  EXPECT_EQ(a.within, b.within);
  EXPECT_EQ(a.possibly, b.possibly);
  EXPECT_EQ(a.evaluations, b.evaluations);
  EXPECT_EQ(a.bounds, b.bounds);
  EXPECT_EQ(a.proof, b.proof);
  ASSERT_EQ(a.points.size(), b.points.size());
  for (size_t i = 0; i < a.points.size(); ++i)
    EXPECT_EQ(a.points[i].design, b.points[i].design);
}

/// The least share by which every one is near one of the list.
double farthest(const std::vector<Numbers> &list, const std::vector<Numbers> &all) {
  double max = 1;
  for (const Numbers &one : all) {
    double min = INFINITY;
    for (const Numbers &near : list) {
      double factor = 1;
      for (size_t i = 0; i < one.size(); ++i)
        if (near[i] > one[i])
          factor = std::max(factor, one[i] > 0 ? near[i] / one[i] : INFINITY);
      min = std::min(min, factor);
    }
    max = std::max(max, min);
  }
  return max - 1;
}

constexpr size_t kMax = 300; ///< designs of a table, for time

} // namespace

TEST(MineParetoFront, IsWhatNoDesignBeats) {
  size_t looked = 0, saved = 0, points = 0;
  for (uint64_t seed = 0; looked < 100; ++seed) {
    CostlyProblem problem(seed);
    if (problem.table.size() > kMax)
      continue;
    ++looked;
    std::vector<Numbers> all = problem.every();
    ParetoFront front = mineParetoFront(problem, 0);
    std::vector<Numbers> found = listed(front);
    EXPECT_EQ(std::set<Numbers>(found.begin(), found.end()), paretoFront(all)) << seed;
    EXPECT_EQ(std::set<Numbers>(found.begin(), found.end()).size(), found.size()) << seed;
    EXPECT_EQ(front.within, 0) << seed;
    for (const ParetoPoint &point : front.points)
      EXPECT_EQ(problem.valueOf(point.design), point.value) << seed;
    EXPECT_TRUE(std::is_sorted(found.begin(), found.end())) << seed;
    saved += front.evaluations < problem.table.size();
    points += found.size();
  }
  EXPECT_GT(saved, 60u);
  EXPECT_GT(points, 400u);
}

TEST(MineParetoFront, IsNearEveryDesign) {
  size_t looked = 0, fewer = 0, open = 0;
  for (uint64_t seed = 0; looked < 100; ++seed) {
    // Where a design's own search leaves something open, the front says so.
    CostlyProblem problem(seed, seed % 4 == 3 ? 0.02 : 0);
    if (problem.table.size() > kMax)
      continue;
    ++looked;
    std::vector<Numbers> all = problem.every();
    for (double share : {0.01, 0.1, 1.0}) {
      ParetoFront front = mineParetoFront(problem, share);
      EXPECT_LE(farthest(listed(front), all), front.within * (1 + 1e-9)) << seed << " " << share;
      EXPECT_EQ(front.within, share) << seed;
      EXPECT_LE(farthest(listed(front), problem.min), front.possibly * (1 + 1e-9) + 1e-12);
      problem.min.clear();
      open += front.possibly > share;
      if (problem.open == 0)
        EXPECT_EQ(front.possibly, share);
      std::vector<Numbers> list = listed(front);
      EXPECT_EQ(paretoFront(list).size(), list.size()) << seed;
      fewer += list.size() < paretoFront(all).size();
    }
  }
  EXPECT_GT(fewer, 100u);
  EXPECT_GT(open, 10u);
}

TEST(MineParetoFront, SaysHowNearItIsWhereItEndsEarly) {
  size_t looked = 0, nearer = 0;
  for (uint64_t seed = 0; looked < 40; ++seed) {
    CostlyProblem problem(seed);
    if (problem.table.size() > kMax)
      continue;
    ++looked;
    std::vector<Numbers> all = problem.every();
    MiningOptions options;
    double before = INFINITY;
    for (uint64_t evaluations : {0, 1, 5, 20, 10000}) {
      options.evaluations = evaluations;
      ParetoFront front = mineParetoFront(problem, 0, options);
      EXPECT_LE(front.evaluations, evaluations);
      if (!all.empty() && std::isfinite(front.within))
        EXPECT_LE(farthest(listed(front), all), front.within * (1 + 1e-9) + 1e-9) << seed;
      nearer += front.within < before;
      before = front.within;
    }
    EXPECT_EQ(before, 0) << seed;
    options = {};
    options.bounds = 40;
    ParetoFront front = mineParetoFront(problem, 0, options);
    EXPECT_LE(front.bounds, 40u);
    if (!all.empty() && std::isfinite(front.within))
      EXPECT_LE(farthest(listed(front), all), front.within * (1 + 1e-9) + 1e-9) << seed;
  }
  EXPECT_GT(nearer, 90u);
  std::atomic<bool> stop = true;
  MiningOptions options;
  options.stop = &stop;
  CostlyProblem problem(1);
  EXPECT_NE(mineParetoFront(problem, 0, options).proof.find("stopped"), std::string::npos);
}

TEST(MineParetoFront, ThreadsChangeNothing) {
  for (uint64_t seed : {3, 8, 21, 34}) {
    CostlyProblem problem(seed);
    MiningOptions one, three;
    three.threads = 3;
    one.evaluations = three.evaluations = 60;
    expectSame(mineParetoFront(problem, 0.02, one), mineParetoFront(problem, 0.02, three));
  }
}

TEST(MineParetoFront, BeginsWithWhatIsKnown) {
  CostlyProblem problem(5);
  MiningResult best = mineExactly(problem);
  ASSERT_TRUE(best.best);
  MiningOptions options;
  options.known = {*best.best, {}, Design(problem.all.size(), 100000)};
  options.evaluations = 1;
  ParetoFront front = mineParetoFront(problem, 0, options);
  ASSERT_EQ(front.points.size(), 1u);
  EXPECT_EQ(front.points[0].design, *best.best);
  // The exact search, too, with no other answer.
  MiningResult again = mineExactly(problem, options);
  EXPECT_EQ(again.best, best.best);
  EXPECT_EQ(again.evaluations, 1u);
  options.evaluations = UINT64_MAX;
  again = mineExactly(problem, options);
  EXPECT_EQ(again.best, best.best);
  EXPECT_EQ(again.bound, best.bound);
}

TEST(MineParetoFront, WithoutDesigns) {
  class Nothing : public TableProblem {
  public:
    Nothing() : TableProblem(1) {}
    double boundIn(const DesignBox &) override { return INFINITY; }
  } nothing;
  ParetoFront front = mineParetoFront(nothing, 0.01);
  EXPECT_TRUE(front.points.empty());
  EXPECT_EQ(front.evaluations, 0u);
  EXPECT_EQ(front.within, 0.01);
  nothing.all[0].labels.clear();
  EXPECT_TRUE(mineParetoFront(nothing, NAN).points.empty());
  // Without costs the front is the best design.
  TableProblem alone(2);
  MiningResult best = mineExactly(alone);
  front = mineParetoFront(alone, 0);
  ASSERT_EQ(front.points.size(), 1u);
  EXPECT_EQ(front.points[0].value, best.value);
}

/// Area and power of boxes and designs of shipped spaces.
TEST(MineParetoFront, NoDesignTakesLessThanItsBox) {
  fuzz::Random random(4);
  for (const char *name : {"tpu_like_space", "phaze_template"}) {
    DesignSpace space = test::shippedSpace(name);
    EXPECT_EQ(space.costNames().front(), "area");
    for (int i = 0; i < 300; ++i) {
      DesignBox box;
      Design inside;
      for (const DesignParameter &parameter : space.parameters()) {
        uint32_t a = static_cast<uint32_t>(random.below(parameter.labels.size())),
                 b = static_cast<uint32_t>(random.below(parameter.labels.size()));
        box.low.push_back(std::min(a, b));
        box.high.push_back(std::max(a, b));
        inside.push_back(box.low.back() + static_cast<uint32_t>(random.below(box.high.back() - box.low.back() + 1)));
      }
      auto machine = space.machine(inside);
      if (!machine)
        continue;
      Numbers min = space.costs(box), own = space.costs({inside, inside});
      ASSERT_EQ(own.size(), space.costNames().size());
      EXPECT_EQ(own[0], machine->area.value);
      for (size_t c = 0; c < own.size(); ++c)
        EXPECT_LE(min[c], own[c] * (1 + 1e-12)) << name << i;
    }
  }
}
