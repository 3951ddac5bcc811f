// Means of paths that prove bounds: none is above what a plan takes, whatever paths it has; and
// what is no path, no mean or not all plans is refused.
#include "lib/placement/evaluate/Pipeline.h"
#include "lib/placement/evaluate/PipelinePaths.h"
#include "lib/placement/evaluate/PlanEvaluator.h"
#include "lib/placement/output/PlacementJson.h"
#include "lib/placement/solve/PlacementSolver.h"
#include "lib/placement/verify/BalancedStepBound.h"
#include "lib/placement/verify/PlacementVerifier.h"
#include <bit>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace accord;

namespace {

using Random = std::mt19937_64;
using Part = PathBound::Part;

int64_t pick(Random &random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

/// Interleaved stages of one form on p groups with v chunks: a chain of layers that are equal but
/// for the first and the last, or of any.
PlacementProblem balancedProblem(Random &random, int64_t p, int64_t v, int64_t max = 7) {
  PlacementProblem problem;
  auto small = [&](int64_t max) { return pick(random, 0, max); };
  int64_t layers = pick(random, p * v, max);
  problem.batch = p * pick(random, 1, 2);
  problem.schedules = {PipelineSchedule::Interleaved};
  problem.virtualStages = {v};
  problem.groups = {{p, p}};
  PlacementProblem::DeviceType deviceType;
  deviceType.devices = 8, deviceType.devicesPerNode = pick(random, 1, 5);
  PlacementProblem::ParallelConfig parallelConfig;
  parallelConfig.tensor = pick(random, 1, 2);
  if (pick(random, 0, 2) == 0) {
    parallelConfig.data = 2, problem.batch *= 2;
    parallelConfig.gradientSyncs = {{1, {{static_cast<double>(small(20)), 0.75}}}, {2, {{1, 0.25}}}};
    if (p * parallelConfig.tensor > 4)
      parallelConfig.tensor = 1;
    if (pick(random, 0, 1) == 0)
      parallelConfig.gather = {{2, 0.1}, {0, 0.5}};
    if (pick(random, 0, 2) == 0)
      parallelConfig.order = PlacementProblem::RankOrder::TensorPipelineData;
  }
  problem.parallelConfigs = {parallelConfig};
  problem.links = {{{static_cast<double>(small(5)), 0.5}, {static_cast<double>(small(20)), 1.25}}};
  for (int c = 0; c < 3; ++c) {
    PlacementProblem::Cost cost;
    cost.forward = small(60), cost.backward = small(60), cost.weight = small(40);
    cost.update = small(60), cost.staticMemory = small(20), cost.gradients = small(80);
    cost.weights = small(40), cost.tied = small(60);
    cost.recomputeChoices = {{"none", 0, 10 + small(20), small(15)}, {"full", 5 + small(30), small(8), small(20)}};
    problem.classes.push_back({std::string(1, static_cast<char>('a' + c)), {cost}});
  }
  bool any = pick(random, 0, 3) == 0;
  for (int64_t l = 0; l < layers; ++l) {
    int64_t of = any ? pick(random, 0, 2) : l == 0 ? 0 : l + 1 == layers ? 2 : 1;
    problem.layers.push_back({"l" + std::to_string(l), static_cast<uint32_t>(of), {}, {}});
    if (l > 0)
      problem.edges.push_back({static_cast<uint32_t>(l - 1), static_cast<uint32_t>(l), small(30)});
  }
  if (pick(random, 0, 1) == 0)
    problem.ties = {{0, static_cast<uint32_t>(layers - 1)}};
  deviceType.memory = pick(random, 0, 2) == 0 ? 100'000 : pick(random, 60, 600) * max / 7;
  problem.deviceTypes = {deviceType};
  problem.blockingTransfers = pick(random, 0, 1) == 0;
  problem.hostOverheadPerMicrobatch = small(3);
  if (pick(random, 0, 1) == 0)
    problem.overlapFraction = 0.9, problem.maxOverlap = pick(random, 0, 1) == 0 ? 0.8 : 1;
  return problem;
}

/// The least step of all plans that fit, one by one; infinite if none does.
double minStep(const PlacementProblem &p) {
  auto n = p.layers.size(), stages = static_cast<size_t>(p.groups[0].min * p.virtualStages[0]);
  double best = INFINITY;
  for (uint32_t larger = 0; larger < 1u << stages; ++larger) {
    if (static_cast<size_t>(std::popcount(larger)) != n % stages)
      continue;
    for (uint32_t recomputeChoices = 0; recomputeChoices < 1u << n; ++recomputeChoices) {
      const auto &parallelConfig = p.parallelConfigs[0];
      Placement plan{
          p.schedules[0], p.virtualStages[0], p.batch / (parallelConfig.data * parallelConfig.microbatch), {}};
      uint32_t at = 0;
      for (size_t s = 0; s < stages; ++s) {
        PlacedStage stage;
        for (size_t i = 0; i < n / stages + (larger >> s & 1); ++i, ++at)
          stage.layers.push_back(at), stage.recomputeChoices.push_back(recomputeChoices >> at & 1);
        plan.stages.push_back(std::move(stage));
      }
      EXPECT_TRUE(findViolations(p, plan).empty());
      PlanMetrics metrics = evaluate(p, plan);
      if (metrics.fits)
        best = std::min(best, static_cast<double>(metrics.step));
    }
  }
  return best;
}

Configuration configurationOf(const PlacementProblem &p) {
  const auto &parallelConfig = p.parallelConfigs[0];
  return {p.batch / (parallelConfig.data * parallelConfig.microbatch), p.virtualStages[0], p.schedules[0], {0}};
}

/// A way through the orders of lib/place, over to other groups now and then.
PathBound::Path anyPath(Random &random, const PipelineShape &shape) {
  auto p = static_cast<size_t>(shape.groups);
  std::vector<std::vector<PipelinePass>> orders;
  for (int64_t g = 0; g < shape.groups; ++g)
    orders.push_back(passesOf(shape, g));
  PathBound::Path path{{0, 1}};
  int64_t often = pick(random, 1, 6);
  auto last = static_cast<uint32_t>(shape.groups * shape.virtualStages - 1);
  for (size_t g = 0, at = 0;;) {
    ++path.back().first;
    PipelinePass pass = orders[g][at];
    bool forward = pass.pass == Pass::Forward;
    if ((forward ? pass.stage < last : pass.stage > 0) && pick(random, 0, often) == 0) {
      pass.stage += forward ? 1 : -1;
      g = pass.stage % p, at = 0;
      while (orders[g][at].pass != pass.pass || orders[g][at].stage != pass.stage ||
             orders[g][at].microbatch != pass.microbatch)
        ++at;
      path.push_back({0, 1});
    } else if (++at == orders[g].size()) {
      return path;
    }
  }
}

std::vector<PathBound::Share> anyMean(Random &random, std::vector<uint32_t> of) {
  std::vector<PathBound::Share> shares;
  double sum = 0;
  for (uint32_t one : of)
    shares.push_back({one, static_cast<double>(pick(random, 1, 100))}), sum += shares.back().weight;
  for (auto &share : shares)
    share.weight /= sum;
  return shares;
}

/// Some paths and moments, and stages or groups split at random.
PathBound anyBound(Random &random, const PipelineShape &shape) {
  PathBound bound{shape.groups, shape.virtualStages, shape.microbatches, 0, {}, {}};
  for (int64_t i = pick(random, 1, 4); i-- > 0;)
    bound.paths.push_back(anyPath(random, shape));
  std::vector<char> chosen(static_cast<size_t>(shape.groups * shape.virtualStages));
  std::function<void(int)> part = [&](int depth) {
    Part one;
    if (depth < 3 && pick(random, 0, 2) == 0) {
      auto s = static_cast<size_t>(pick(random, 0, static_cast<int64_t>(chosen.size()) - 1));
      bool stage = !chosen[s];
      one.fork = stage ? Part::Split::Stage : Part::Split::Group;
      one.of = static_cast<uint32_t>(stage ? s : s % static_cast<size_t>(shape.groups));
      one.max = pick(random, 0, 1);
      bound.parts.push_back(one);
      chosen[s] = 1;
      part(depth + 1), part(depth + 1);
      chosen[s] = stage ? 0 : 1;
      return;
    }
    std::vector<uint32_t> paths;
    for (uint32_t i = 0; i < bound.paths.size(); ++i)
      paths.push_back(i);
    one.paths = anyMean(random, paths);
    for (int64_t g = 0; g < shape.groups; ++g) {
      std::vector<uint32_t> moments;
      for (int64_t i = pick(random, 1, 3); i-- > 0;)
        moments.push_back(static_cast<uint32_t>(pick(random, 1, shape.microbatches * shape.virtualStages)));
      one.moments.push_back(anyMean(random, moments));
    }
    bound.parts.push_back(one);
  };
  part(0);
  return bound;
}

/// The least step that the verifier takes as proved: of the whole, the least of its parts.
BalancedStepBound minProvedStep(const PlacementProblem &p, const PathBound *paths, double &step) {
  BalancedStepCache known;
  uint64_t work = 0;
  double worst = INFINITY;
  size_t asked = 0;
  bool weighs = false;
  Configuration c = configurationOf(p);
  // Until the parts are weighed nothing is enough, so that all of them are.
  auto enough = [&](double now, double) {
    ++asked;
    if (weighs)
      worst = std::min(worst, now);
    return weighs;
  };
  BalancedStepBound simple = balancedStepBound(p, c, p.groups[0].min, nullptr, enough, 2e7, known, work);
  if (!paths)
    return step = simple.step, simple;
  BalancedStages stages(p, c, 0, p.groups[0].min, work);
  BalancedStepBound answer = simple;
  if (!stages.can())
    return step = INFINITY, answer;
  weighs = true;
  PathOrders orders(p.groups[0].min, c.virtualStages, c.microbatches);
  std::vector<int64_t> max(static_cast<size_t>(p.groups[0].min), stages.max());
  answer.proved = checkPathMeans(
                      *paths, stages, orders, max, [&](double now) { return enough(now, 0); }, answer.error) ==
                  PathsVerdict::Enough;
  step = worst;
  return answer;
}

/// No mean of paths is above the best of all plans, and neither is what needs none.
TEST(PlacementPaths, NoneIsAboveAPlan) {
  size_t compared = 0, infinite = 0;
  double near = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    int64_t p = pick(random, 2, 3), v = p == 2 ? pick(random, 2, 3) : 2;
    PlacementProblem problem = balancedProblem(random, p, v);
    ASSERT_TRUE(check(problem).empty()) << seed << ": " << check(problem)[0].message;
    double step = minStep(problem), simple = 0;
    minProvedStep(problem, nullptr, simple);
    ASSERT_LE(simple, step) << seed;
    PipelineShape shape{PipelineSchedule::Interleaved, p, v, configurationOf(problem).microbatches};
    double max = simple;
    for (int i = 0; i < 6; ++i) {
      double proved = 0;
      PathBound bound = anyBound(random, shape);
      BalancedStepBound answer = minProvedStep(problem, &bound, proved);
      ASSERT_EQ(answer.error, "") << seed;
      ASSERT_TRUE(answer.proved) << seed;
      ASSERT_LE(proved, step) << seed << " with " << bound.parts.size() << " parts";
      max = std::max(max, proved);
    }
    infinite += std::isinf(step);
    if (std::isfinite(step))
      ++compared, near += max / step;
  }
  std::printf("%zu compared, %.3f of the best step on average; %zu without a plan\n", compared,
              near / static_cast<double>(compared), infinite);
  EXPECT_GT(compared, 150u);
  EXPECT_GT(near / static_cast<double>(compared), 0.8);
}

/// What the search writes proves its bound, and none above; read back it is the same.
/// Rows and columns that are each other turned round all have one sum, so equal weights are best for both sides, and
/// the value is the mean. Rows that are there several times are ties of the simplex method.
TEST(PlacementPaths, GameWithTies) {
  for (size_t size : {2, 7, 24, 60}) {
    std::vector<std::vector<double>> matrix;
    for (size_t row = 0; row < 3 * size; ++row) {
      matrix.emplace_back();
      for (size_t column = 0; column < size; ++column)
        matrix.back().push_back(1.0 + (row + column) % size);
    }
    placing::GameWeights game = placing::solveGame(matrix);
    double value = (size + 1) / 2.0;
    EXPECT_NEAR(game.value, value, 1e-6 * value);
    for (size_t column = 0; column < size; ++column) {
      double sum = 0;
      for (size_t row = 0; row < matrix.size(); ++row)
        sum += game.rows[row] * matrix[row][column];
      EXPECT_GE(sum, value * (1 - 1e-6));
    }
    for (const std::vector<double> &row : matrix)
      EXPECT_LE(std::inner_product(row.begin(), row.end(), game.columns.begin(), 0.0), value * (1 + 1e-6));
  }
}

TEST(PlacementPaths, OfTheSearch) {
  size_t without = 0, with = 0, left = 0;
  for (uint64_t seed = 0; seed < 80; ++seed) {
    Random random(seed);
    int64_t p = pick(random, 2, 3), v = pick(random, 2, 4);
    PlacementProblem problem = balancedProblem(random, p, v, 40);
    PlacementOptions options;
    PlacementResult result = place(problem, options);
    if (!result.plan || result.paths.empty())
      continue;
    std::string text = placementPaths(result.paths);
    auto back = placementPathsFrom(text, "paths.json");
    ASSERT_TRUE(static_cast<bool>(back)) << llvm::toString(back.takeError());
    ASSERT_EQ(placementPaths(*back), text);
    std::vector<std::string> trusted;
    ASSERT_TRUE(verify(problem, result, &trusted).empty()) << seed;
    left += !trusted.empty();
    // Without the enumeration of plans, that is.
    BalancedStepCache known;
    uint64_t work = 0;
    Configuration c = configurationOf(problem);
    // A plan has the value, so that nothing above it is proved.
    for (double bound : {result.bound, result.value * 1.0001}) {
      auto enough = [&](double step, double) {
        return std::max(step + static_cast<double>(problem.hostOverheadPerStep),
                        static_cast<double>(problem.minStep)) >= bound * (1 - 1e-9);
      };
      bool alone = balancedStepBound(problem, c, p, nullptr, enough, 2e7, known, work).proved;
      BalancedStepBound paths = balancedStepBound(problem, c, p, &result.paths[0], enough, 2e7, known, work);
      ASSERT_EQ(paths.error, "") << seed;
      if (bound > result.value)
        ASSERT_FALSE(alone || paths.proved) << seed;
      else
        without += alone, with += paths.proved;
    }
  }
  std::printf("proved %zu with paths, of these %zu without; %zu left\n", with, without, left);
  EXPECT_GT(with, without);
}

/// Each way to spoil paths is told, and what it is.
TEST(PlacementPaths, WrongOnesAreRefused) {
  Random random(7);
  PlacementProblem problem = balancedProblem(random, 2, 2);
  problem.deviceTypes[0].memory = 1'000'000;
  auto m = configurationOf(problem).microbatches;
  Part leaf{Part::Split::None, 0, 0, {{0, 0.5}, {1, 0.5}}, {{{3, 1}}, {{1, 0.25}, {2, 0.75}}}};
  Part fork{Part::Split::Stage, 1, 0, {}, {}};
  auto all = static_cast<uint32_t>(4 * m);
  const PathBound right{2, 2, m, 0, {{{all, 1}}, {{1, 1}, {all, 1}}}, {fork, leaf, leaf}};
  double step = 0;
  EXPECT_EQ(minProvedStep(problem, &right, step).error, "");
  EXPECT_GT(step, 0);
  struct Case {
    const char *says;
    std::function<void(PathBound &)> spoil;
  };
  for (const Case &one : std::vector<Case>{
           {"passes along group 0", [](PathBound &b) { ++b.paths[0][0].first; }},
           {"passes behind the end", [](PathBound &b) { --b.paths[0][0].first; }},
           {"passes along group 0", [](PathBound &b) { b.paths[0][0].first = 0; }},
           {"nothing waits", [](PathBound &b) { b.paths[0].push_back({1, 1}); }},
           {"behind the end", [](PathBound &b) { b.paths[1].clear(); }},
           {"together", [](PathBound &b) { b.parts[1].paths[0].weight = 0.4; }},
           {"together", [](PathBound &b) { b.parts[2].moments[1][0].weight = 0.5; }},
           {"together", [](PathBound &b) { b.parts[2].moments[0].clear(); }},
           {"weight -0.5", [](PathBound &b) { b.parts[1].paths[0].weight = -0.5; }},
           {"weight nan", [](PathBound &b) { b.parts[1].paths[0].weight = NAN; }},
           {"of number 2", [](PathBound &b) { b.parts[1].paths[0].of = 2; }},
           {"before any pass", [](PathBound &b) { b.parts[1].moments[0][0].of = 0; }},
           {"of number", [&](PathBound &b) { b.parts[1].moments[0][0].of = all; }},
           {"moments of 1 groups", [](PathBound &b) { b.parts[1].moments.pop_back(); }},
           {"left out", [](PathBound &b) { b.parts.pop_back(); }},
           {"left out", [](PathBound &b) { b.parts.clear(); }},
           {"there are 3", [](PathBound &b) { b.parts.push_back(b.parts[1]); }},
           {"none to choose", [](PathBound &b) { b.parts[0].of = 4; }},
           {"none to choose", [&](PathBound &b) { b.parts.insert(b.parts.begin(), fork); }},
           {"there is no group", [](PathBound &b) { b.parts[0].fork = Part::Split::Group, b.parts[0].of = 2; }}}) {
    PathBound wrong = right;
    one.spoil(wrong);
    BalancedStepBound answer = minProvedStep(problem, &wrong, step);
    EXPECT_FALSE(answer.proved) << one.says;
    EXPECT_NE(answer.error.find(one.says), std::string::npos) << one.says << ": " << answer.error;
  }
}

} // namespace
