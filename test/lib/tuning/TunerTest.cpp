// Tunings keep to their rules, whoever says the values; a verifier that shares nothing with the tuner looks at each.
#include "lib/tuning/solve/Tuner.h"
#include "lib/tuning/solve/DeviceShares.h"
#include "lib/tuning/solve/TrialTable.h"
#include "lib/tuning/verify/TuningVerifier.h"
#include "test/support/Random.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <set>

using namespace accord;
using namespace accord::tuning;

namespace {

using Kind = HyperParameter::Kind;

SearchSpace someSpace() {
  return {{.name = "rate", .kind = Kind::Real, .min = 1e-4, .max = 1, .isLog = true},
          {.name = "width", .kind = Kind::Integer, .min = 1, .max = 9},
          {.name = "rule", .kind = Kind::Choice, .choices = {"sgd", "adam"}}};
}

/// Values by a function of the configuration and the unit.
class FunctionRunner : public TrialRunner {
public:
  using Function = std::function<TrialValue(const Configuration &, int64_t unit)>;
  explicit FunctionRunner(Function function) : function(std::move(function)) {}
  std::optional<Configuration> accept(Configuration proposed) override { return proposed; }
  std::optional<double> unitSeconds(const Configuration &configuration) override { return configuration[1]; }
  Result<TrialValue> value(unsigned /*trial*/, const Configuration &configuration, int64_t unit) override {
    ++asked;
    return function(configuration, unit);
  }
  Function function;
  int asked = 0;
};

/// Best at a rate of 0.01 with adam, and better with each unit.
double smooth(const Configuration &configuration, int64_t unit) {
  const double far = std::log10(configuration[0]) + 2;
  return 1 - 0.1 * far * far - 0.2 * (configuration[2] == 0) - 0.5 / static_cast<double>(unit);
}

TuningProblem someProblem(SplitMix &random) {
  TuningProblem problem;
  problem.name = "t", problem.space = someSpace();
  problem.maximizes = random.below(2) == 1;
  problem.minUnits = 1 + static_cast<int64_t>(random.below(3));
  problem.maxUnits = problem.minUnits + static_cast<int64_t>(random.below(30));
  problem.reduction = 2 + static_cast<int64_t>(random.below(3));
  problem.trials = 1 + static_cast<int64_t>(random.below(40));
  problem.probes = random.below(2) ? static_cast<int64_t>(random.below(9)) : 0;
  problem.devices = 1 + static_cast<int64_t>(random.below(9));
  problem.devicesPerNode = 1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(problem.devices)));
  problem.widths = {{1, 1}};
  if (random.below(2)) {
    problem.slotsPerDevice = 2 + static_cast<int64_t>(random.below(2));
    problem.widths = {{1, 0.7}, {problem.slotsPerDevice, 1}};
  }
  if (problem.devices >= 2 && random.below(2))
    problem.widths.push_back({2 * problem.slotsPerDevice, 1.5});
  problem.restart = random.unit() * 3;
  problem.unitSeconds = 1 + random.unit();
  problem.proposals = static_cast<Proposals>(random.below(3));
  problem.stops = static_cast<Stops>(random.below(3));
  problem.stopBelow = random.unit() / 4;
  problem.sharing = random.below(3) ? Sharing::Joint : Sharing::Fixed;
  problem.fixedSlots = problem.widths[random.below(problem.widths.size())].slots;
  problem.seed = random.next();
  return problem;
}

/// Values that are even, that crash, and that diverge, all of the configuration and unit alone.
TrialValue hostile(const Configuration &configuration, int64_t unit) {
  SplitMix random(static_cast<uint64_t>(configuration[0] * 1e9) + static_cast<uint64_t>(unit) * 977);
  switch (random.below(25)) {
  case 0:
    return {std::nullopt, "killed"};
  case 1:
    return {std::numeric_limits<double>::quiet_NaN()};
  case 2:
    return {-std::numeric_limits<double>::infinity()};
  default:
    return {std::floor(random.unit() * 10)};
  }
}

bool areSame(const TuningResult &a, const TuningResult &b) {
  auto key = [](const TuningResult &result) {
    std::vector<double> out{result.seconds, result.deviceSeconds, double(result.units)};
    for (const Trial &trial : result.trials) {
      out.insert(out.end(), trial.configuration.begin(), trial.configuration.end());
      for (const Report &report : trial.reports)
        out.push_back(report.time), out.push_back(report.value);
    }
    return out;
  };
  return key(a) == key(b);
}

TEST(Tuner, KeepsToItsRulesWhateverTheValuesAre) {
  SplitMix random(7);
  int failed = 0, diverged = 0, complete = 0, stopped = 0;
  for (int i = 0; i < accord::cases(300); ++i) {
    const TuningProblem problem = someProblem(random);
    FunctionRunner runner(hostile);
    auto result = tune(problem, runner);
    ASSERT_TRUE(result);
    const Verification verified = verifyTuning(problem, *result);
    EXPECT_TRUE(verified.holds()) << "problem " << i << ": " << verified.findings.front().message;
    EXPECT_EQ(static_cast<int64_t>(result->trials.size()), problem.trials); // one that crashes costs itself alone
    for (const Trial &trial : result->trials) {
      failed += trial.state == Trial::State::Failed, diverged += trial.state == Trial::State::Diverged;
      complete += trial.state == Trial::State::Complete, stopped += trial.state == Trial::State::Stopped;
    }
    FunctionRunner again(hostile);
    EXPECT_TRUE(areSame(*result, *tune(problem, again)));
  }
  EXPECT_GT(failed, 0);
  EXPECT_GT(diverged, 0);
  EXPECT_GT(complete, 0);
  EXPECT_GT(stopped, 0);
}

TEST(Tuner, VerifierFindsWhatIsChanged) {
  SplitMix random(3);
  TuningProblem problem = someProblem(random);
  problem.trials = 30, problem.maxUnits = 9, problem.minUnits = 1, problem.reduction = 3, problem.devices = 3;
  problem.devicesPerNode = 3, problem.slotsPerDevice = 1, problem.widths = {{1, 1}}, problem.sharing = Sharing::Fixed;
  problem.fixedSlots = 1, problem.maximizes = true, problem.restart = 1;
  FunctionRunner runner([](const Configuration &c, int64_t unit) { return TrialValue{smooth(c, unit)}; });
  auto result = tune(problem, runner);
  ASSERT_TRUE(result);
  ASSERT_TRUE(verifyTuning(problem, *result).holds());
  auto isRefused = [&](const std::function<void(TuningProblem &, TuningResult &)> &change) {
    TuningProblem other = problem;
    TuningResult changed = *result;
    change(other, changed);
    return !verifyTuning(other, changed).holds();
  };
  EXPECT_TRUE(isRefused([](auto &, auto &r) { r.trials[0].configuration[1] = 10; }));
  EXPECT_TRUE(isRefused([](auto &, auto &r) { r.segments[1].devices[0] = r.segments[0].devices[0]; }));
  EXPECT_TRUE(isRefused([](auto &, auto &r) { r.segments[2].devices[0] = 7; }));
  EXPECT_TRUE(isRefused([](auto &, auto &r) { r.segments.back().start -= 1; }));
  EXPECT_TRUE(isRefused([](auto &, auto &r) { r.incumbents.back().value += 0.01; }));
  EXPECT_TRUE(isRefused([](auto &, auto &r) { r.incumbents.pop_back(); }));
  EXPECT_TRUE(isRefused([](auto &, auto &r) { r.units += 1; }));
  EXPECT_TRUE(isRefused([](auto &, auto &r) { r.seconds /= 2; }));
  EXPECT_TRUE(isRefused([](auto &p, auto &) { p.trials = 29; }));
  EXPECT_TRUE(isRefused([](auto &p, auto &) { p.restart = 0; }));
  EXPECT_TRUE(isRefused([](auto &, auto &r) { // the worst of a rung goes on
    for (Segment &segment : r.segments)
      if (segment.from == 1) {
        r.trials[segment.trial].reports[0].value = -100;
        return;
      }
  }));
}

/// Where all trials run side by side and a unit takes the same time, halving is synchronous: of n trials at a rung the
/// best n / reduction go on, which is computed here from the values alone.
TEST(Tuner, IsSuccessiveHalvingWhereAllRunSideBySide) {
  SplitMix random(11);
  for (int i = 0; i < 20; ++i) {
    TuningProblem problem;
    problem.space = someSpace();
    problem.maxUnits = 27, problem.trials = 27 + static_cast<int64_t>(random.below(30));
    problem.devices = problem.devicesPerNode = problem.trials;
    problem.sharing = Sharing::Fixed, problem.proposals = Proposals::Random, problem.seed = random.next();
    FunctionRunner runner([](const Configuration &c, int64_t unit) { return TrialValue{smooth(c, unit)}; });
    class Even : public FunctionRunner {
    public:
      using FunctionRunner::FunctionRunner;
      std::optional<double> unitSeconds(const Configuration &) override { return 1; }
    } even(runner.function);
    auto result = tune(problem, even);
    ASSERT_TRUE(result);
    std::vector<unsigned> left(result->trials.size());
    for (unsigned trial = 0; trial < left.size(); ++trial)
      left[trial] = trial;
    std::vector<int64_t> units(left.size());
    for (int64_t rung : {1, 3, 9, 27}) {
      for (unsigned trial : left)
        units[trial] = rung;
      std::ranges::sort(left, [&](unsigned a, unsigned b) {
        const double one = smooth(result->trials[a].configuration, rung),
                     two = smooth(result->trials[b].configuration, rung);
        return one > two || (one == two && a < b);
      });
      left.resize(left.size() / 3);
    }
    for (unsigned trial = 0; trial < units.size(); ++trial)
      EXPECT_EQ(static_cast<int64_t>(result->trials[trial].reports.size()), units[trial]) << trial;
  }
}

TEST(Tuner, GoesOnToTheSameResultWhereItWasStopped) {
  SplitMix random(5);
  for (int i = 0; i < 20; ++i) {
    const TuningProblem problem = someProblem(random);
    FunctionRunner whole(hostile);
    auto expected = tune(problem, whole);
    ASSERT_TRUE(expected);
    // A runner that remembers: what was asked before the stop is not computed again.
    std::map<std::pair<double, int64_t>, TrialValue> known;
    int computed = 0;
    int64_t until = static_cast<int64_t>(random.below(static_cast<uint64_t>(whole.asked) + 1));
    auto remembering = [&](const Configuration &configuration, int64_t unit) -> TrialValue {
      auto found = known.find({configuration[0], unit});
      if (found != known.end())
        return found->second;
      if (until-- <= 0)
        return {.value = std::nullopt, .isStopped = true};
      ++computed;
      return known[{configuration[0], unit}] = hostile(configuration, unit);
    };
    FunctionRunner first(remembering);
    auto stopped = tune(problem, first);
    ASSERT_TRUE(stopped);
    EXPECT_TRUE(verifyTuning(problem, *stopped).holds());
    until = std::numeric_limits<int64_t>::max();
    FunctionRunner second(remembering);
    EXPECT_TRUE(areSame(*expected, *tune(problem, second)));
    EXPECT_EQ(computed, whole.asked);
  }
}

TEST(Tuner, DensityFindsBetterOnesThanChance) {
  double density = 0, chance = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    TuningProblem problem;
    problem.space = someSpace(), problem.space[0].min = 1e-9; // good ones are rare
    problem.maxUnits = 9, problem.trials = 60, problem.devices = 4, problem.devicesPerNode = 4, problem.seed = seed;
    auto function = [](const Configuration &c, int64_t unit) { return TrialValue{smooth(c, unit)}; };
    FunctionRunner one(function), two(function);
    density += tune(problem, one)->incumbents.back().value;
    problem.proposals = Proposals::Random;
    chance += tune(problem, two)->incumbents.back().value;
  }
  EXPECT_GT(density, chance);
}

TEST(Tuner, StopsTrialsThatTheirCurvesKeepFromTheBest) {
  TuningProblem problem;
  problem.space = someSpace(), problem.maxUnits = 30, problem.trials = 40, problem.stops = Stops::Curves;
  auto function = [](const Configuration &c, int64_t unit) { return TrialValue{smooth(c, unit)}; };
  FunctionRunner runner(function);
  auto result = tune(problem, runner);
  size_t stopped = 0, complete = 0;
  double best = -10;
  for (Trial &trial : result->trials) {
    stopped += trial.state == Trial::State::Stopped, complete += trial.state == Trial::State::Complete;
    best = std::max(best, smooth(trial.configuration, problem.maxUnits));
  }
  EXPECT_EQ(stopped + complete, result->trials.size());
  EXPECT_GT(stopped, 20u);
  EXPECT_EQ(result->incumbents.back().value, best); // on curves without noise none is lost
  EXPECT_TRUE(verifyTuning(problem, *result).holds());
  // What would have become the best is not stopped, says the verifier.
  Trial &winner = result->trials[result->incumbents.back().trial];
  winner.state = Trial::State::Stopped, winner.reports.resize(9);
  EXPECT_FALSE(verifyTuning(problem, *result).holds());
  problem.stopBelow = 1e-4;
  FunctionRunner other(function);
  auto careful = tune(problem, other);
  EXPECT_GT(careful->units, result->units);
  EXPECT_TRUE(verifyTuning(problem, *careful).holds());
  problem.stopBelow = 0.05;
  EXPECT_TRUE(verifyTuning(problem, *careful).holds());
}

TEST(Tuner, PricedProposalsTakeLessTimeForTheSame) {
  double density = 0, priced = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    TuningProblem problem; // the width alone is the price, and says nothing about the value
    problem.space = someSpace(), problem.maxUnits = 9, problem.trials = 60, problem.seed = seed;
    auto function = [](const Configuration &c, int64_t unit) { return TrialValue{smooth(c, unit)}; };
    FunctionRunner one(function), two(function);
    density += tune(problem, one)->seconds;
    problem.proposals = Proposals::Priced;
    auto result = tune(problem, two);
    priced += result->seconds;
    EXPECT_TRUE(verifyTuning(problem, *result).holds());
    EXPECT_GT(result->incumbents.back().value, 0.8);
  }
  EXPECT_LT(priced, 0.8 * density);
}

TEST(Tuner, EndsAtItsTargetAndItsTime) {
  TuningProblem problem;
  problem.space = someSpace(), problem.maxUnits = 9, problem.trials = 60, problem.devices = 2,
  problem.devicesPerNode = 2;
  auto function = [](const Configuration &c, int64_t unit) { return TrialValue{smooth(c, unit)}; };
  FunctionRunner one(function), two(function);
  auto whole = tune(problem, one);
  problem.target = whole->incumbents[whole->incumbents.size() / 2].value;
  auto reached = tune(problem, two);
  EXPECT_GE(reached->incumbents.back().value, *problem.target);
  EXPECT_LT(reached->seconds, whole->seconds);
  EXPECT_TRUE(verifyTuning(problem, *reached).holds());
  problem.target.reset(), problem.maxSeconds = whole->seconds / 2;
  FunctionRunner three(function);
  auto half = tune(problem, three);
  EXPECT_TRUE(verifyTuning(problem, *half).holds());
  EXPECT_LE(half->seconds, problem.maxSeconds + 9); // a unit of the slowest
}

TEST(DeviceShares, GivesMoreDevicesWhereNothingElseWaits) {
  TuningProblem problem;
  problem.devices = problem.devicesPerNode = 8, problem.slotsPerDevice = 2;
  problem.widths = {{1, 0.75}, {2, 1}, {4, 1.8}, {16, 3}};
  EXPECT_EQ(shareSlots(problem, 0, {{.rung = 2, .seconds = 100}}), std::vector<int64_t>{16});
  // Where much waits, the width with the largest speed for its slots.
  EXPECT_EQ(shareSlots(problem, 1e9, {{.rung = 2, .seconds = 100}}), std::vector<int64_t>{1});
  // Never more slots than there are.
  std::vector<ShareRequest> requests(40, {.rung = 0, .seconds = 3});
  int64_t sum = 0;
  for (int64_t slots : shareSlots(problem, 5, requests))
    sum += slots;
  EXPECT_LE(sum, 16);
}

} // namespace
