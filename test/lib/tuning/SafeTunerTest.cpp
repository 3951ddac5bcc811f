// Tunings of servers: the sequential test against its promise, baselines that drift and jump, and tunings of drawn
// surfaces, of the loader's recursion with the power of a board, and of programs that die, each proved by the verifier.
#include "lib/tuning/solve/SafeTuner.h"
#include "lib/machine/cost/DataLoader.h"
#include "lib/machine/energy/BoardPower.h"
#include "lib/prediction/GaussianProcess.h"
#include "lib/support/SplitMix.h"
#include "lib/tuning/solve/BaselineTrack.h"
#include "lib/tuning/solve/ServerTable.h"
#include "lib/tuning/verify/ServerVerifier.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numbers>

namespace accord::tuning {
namespace {
using Kind = ServerInterval::Kind;
using Outcome = ServerInterval::Outcome;

double normal(SplitMix &random) {
  return std::sqrt(-2 * std::log(1 - random.unit())) * std::cos(2 * std::numbers::pi * random.unit());
}

ServerParameter numbers(std::string name, double low, double high, double step) {
  ServerParameter out{.name = std::move(name), .unit = {}, .values = {}, .words = {}};
  for (double value = low; value <= high; value += step)
    out.values.push_back(value);
  return out;
}

ServerProblem problemOf(std::vector<ServerParameter> parameters, Setting baseline, int64_t intervals = 40) {
  ServerProblem out;
  out.name = "s", out.parameters = std::move(parameters), out.baseline = std::move(baseline);
  out.intervals = intervals;
  return out;
}

/// Rates by a function of the values of a setting.
template <class Rate> ServerTable tableOf(const ServerProblem &problem, Rate rate, double deviation = 0.02) {
  ServerTable out;
  for (int64_t i = 0; i < numSettings(problem.parameters); ++i) {
    std::vector<double> values;
    const Setting setting = settingOf(problem.parameters, i);
    EXPECT_EQ(numberOf(problem.parameters, setting), i);
    for (size_t p = 0; p < setting.size(); ++p)
      values.push_back(problem.parameters[p].values[static_cast<size_t>(setting[p])]);
    out.rates.push_back(rate(values));
    out.deviations.push_back(deviation);
  }
  return out;
}

ServerResult tunedOn(const ServerProblem &problem, const ServerTable &table) {
  ServerTableRunner runner(problem, table);
  auto result = tuneServer(problem, runner, {}, nullptr);
  EXPECT_TRUE(static_cast<bool>(result));
  const Verification verified = verifyServerTuning(problem, *result);
  for (const Error &error : verified.findings)
    ADD_FAILURE() << error.message;
  return std::move(*result);
}

size_t below(const ServerProblem &problem, const ServerTable &table, const ServerResult &result) {
  auto rate = [&](const Setting &setting) {
    return table.rates[static_cast<size_t>(numberOf(problem.parameters, setting))];
  };
  return static_cast<size_t>(std::ranges::count_if(result.intervals, [&](const ServerInterval &one) {
    return rate(one.setting) < problem.floor * rate(problem.baseline) * (1 - 1e-12);
  }));
}

TEST(SafeTuner, RollsBackNoMoreOftenThanStated) {
  // Exactly at the floor, looked at after each of the windows.
  SplitMix random(5);
  int rolledBack = 0;
  constexpr int kRuns = 4000;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<ServerWindow> windows;
    for (size_t i = 0; i < 4 * kWindows; ++i) {
      windows.push_back({1, 95 * std::exp(0.05 * normal(random)), 0});
      if (isBelowFloor(windows, 100, 0, 0.05, 0.95, 0.05)) {
        ++rolledBack;
        break;
      }
    }
  }
  EXPECT_LT(rolledBack, 0.05 * kRuns);
  EXPECT_GT(rolledBack, 0.005 * kRuns); // it is no test that never speaks
  // Half as fast, with a noise of 5 %: at the first window.
  EXPECT_TRUE(isBelowFloor({{1, 50, 0}}, 100, 0, 0.05, 0.95));
  EXPECT_FALSE(isBelowFloor({}, 100, 0, 0.05, 0.95));
  EXPECT_TRUE(isBelowFloor({{1, 0, 0}, {1, 0, 0}}, 100, 0, 0.05, 0.95));
}

ServerInterval baselineOf(double rate) {
  ServerInterval out;
  out.setting = {0};
  out.windows.assign(kWindows, ServerWindow{1, rate, 0});
  out.windows.front().samples *= 1.02, out.windows.back().samples *= 0.98;
  return out;
}

TEST(SafeTuner, FollowsABaselineThatDriftsAndJumps) {
  std::vector<ServerInterval> record{baselineOf(100), baselineOf(100), baselineOf(101)};
  EXPECT_NEAR(std::exp(*BaselineTrack(record, false).now()), 100.4, 0.2);
  ServerInterval trial = baselineOf(90);
  trial.kind = Kind::Trial, trial.setting = {1};
  record.push_back(trial);
  record.push_back(baselineOf(70)); // others take the machine
  const BaselineTrack track(record, false);
  EXPECT_NEAR(std::exp(*track.now()), 70, 1);
  EXPECT_FALSE(track.at(3)); // before or behind the jump, nobody knows
  EXPECT_NEAR(std::exp(*track.at(1)), 100.3, 0.3);
  EXPECT_FALSE(BaselineTrack({}, false).now());
}

TEST(SafeTuner, KeepsItsPromiseOnSurfacesOfItsModel) {
  // Drawn from the prior on a grid; with a confidence of 0.9, an interval below the floor in at most 10 % of runs.
  const ServerProblem problem = problemOf({numbers("a", 1, 6, 1), numbers("b", 1, 6, 1)}, {2, 2}, 20);
  constexpr int kSurfaces = 30;
  int withOne = 0;
  double gain = 0;
  for (int surface = 0; surface < kSurfaces; ++surface) {
    SplitMix random(100 + static_cast<uint64_t>(surface));
    std::vector<prediction::GaussianRow> drawn;
    const ServerTable table = tableOf(problem, [&](const std::vector<double> &values) {
      const std::vector<double> point{values[0], values[1]};
      const auto at =
          prediction::GaussianProcess({kSignalMedian, {kLengthMedian, kLengthMedian}, 1}, {false, false}, drawn)
              .at(point);
      drawn.push_back({point, at.mean + at.deviation * normal(random), 0});
      return 100 * std::exp(drawn.back().value);
    });
    ServerProblem seeded = problem;
    seeded.seed = static_cast<uint64_t>(surface);
    const ServerResult result = tunedOn(seeded, table);
    withOne += below(problem, table, result) > 0;
    gain += table.rates[static_cast<size_t>(numberOf(problem.parameters, result.best))] /
            table.rates[static_cast<size_t>(numberOf(problem.parameters, problem.baseline))];
  }
  EXPECT_LE(withOne, 6); // more have a probability below 3 % where it holds
  EXPECT_GT(gain / kSurfaces, 1.03);
}

TEST(SafeTuner, FeedsATrainingByTheRecursionOfItsLoader) {
  // Time of a step by the bounded queue, with the clock that a power cap leaves.
  const ServerProblem problem =
      problemOf({numbers("loader_workers", 1, 12, 1), numbers("prefetch", 1, 4, 1), numbers("power_cap", 250, 400, 25)},
                {1, 1, 6});
  const ServerTable table = tableOf(problem, [](const std::vector<double> &values) {
    const BoardPower power = boardPower({Watts(60), Watts(400), Watts(values[2])},
                                        {.busy = 1, .vector = 0.3, .tensor = 0.6, .memory = 0.5, .link = 0}, {});
    auto step = dataLoaderStep({Seconds(0.9 / values[0]), Seconds(0.02), Seconds(0.15 * power.slowdown)},
                               static_cast<int64_t>(values[1]), Bytes(1), 0);
    return 256 / step->step.value;
  });
  const ServerResult result = tunedOn(problem, table);
  const double best = *std::ranges::max_element(table.rates);
  const auto rate = [&](const Setting &setting) {
    return table.rates[static_cast<size_t>(numberOf(problem.parameters, setting))];
  };
  EXPECT_GT(rate(result.best), 0.95 * best);
  EXPECT_GT(best / rate(problem.baseline), 2);
}

TEST(SafeTuner, LivesWithACliff) {
  // Beyond 9 workers and batches there is no memory left: the program dies. It is never tried there again.
  const ServerProblem problem = problemOf({numbers("workers", 1, 8, 1), numbers("prefetch", 1, 8, 1)}, {1, 1});
  const ServerTable table = tableOf(problem, [](const std::vector<double> &values) {
    return values[0] + values[1] > 9 ? 0 : 100 * (1 + 0.1 * values[0] + 0.02 * values[1]);
  });
  const ServerResult result = tunedOn(problem, table);
  EXPECT_GE(result.failures, 1);
  EXPECT_LE(result.failures, kMaxFailures + 1);
  EXPECT_GT(result.gain, 0.2);
  std::vector<Setting> dead;
  for (size_t i = 0; i < result.intervals.size(); ++i) {
    const ServerInterval &one = result.intervals[i];
    EXPECT_EQ(std::ranges::count(dead, one.setting), 0);
    if (one.outcome == Outcome::Failed) {
      dead.push_back(one.setting);
      if (i + 1 < result.intervals.size())
        EXPECT_NE(result.intervals[i + 1].kind, Kind::Trial);
    }
  }
}

TEST(SafeTuner, GoesOnFromItsRecordToTheSameEnd) {
  const ServerProblem problem = problemOf({numbers("a", 1, 9, 1)}, {4}, 24);
  const ServerTable table = tableOf(problem, [](const std::vector<double> &values) { return 100 + 4 * values[0]; });
  const ServerResult whole = tunedOn(problem, table);
  std::vector<ServerInterval> part(whole.intervals.begin(), whole.intervals.begin() + 11);
  ServerTableRunner runner(problem, table, part.size());
  auto rest = tuneServer(problem, runner, part, nullptr);
  ASSERT_TRUE(static_cast<bool>(rest));
  EXPECT_EQ(rest->best, whole.best);
  EXPECT_EQ(rest->gain, whole.gain);
  EXPECT_EQ(rest->gainedSamples, whole.gainedSamples);
}

TEST(SafeTuner, EndsWhereTheBaselineFails) {
  struct Dead final : ServerRunner {
    Result<Measured> run(const Setting &, const Watch &) override {
      return Measured{.outcome = Outcome::Failed, .windows = {}, .reason = "nothing works"};
    }
  } dead;
  const ServerProblem problem = problemOf({numbers("a", 1, 9, 1)}, {4}, 24);
  auto result = tuneServer(problem, dead, {}, nullptr);
  ASSERT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(result->intervals.size(), 1u);
  EXPECT_EQ(result->best, problem.baseline);
  EXPECT_NE(failureOf(result->intervals).find("nothing works"), std::string::npos);
  EXPECT_TRUE(verifyServerTuning(problem, *result).holds());
}

TEST(SafeTuner, TheVerifierRefusesWhatWasChanged) {
  const ServerProblem problem = problemOf({numbers("a", 1, 9, 1), numbers("b", 1, 9, 1)}, {4, 4}, 24);
  const ServerTable table = tableOf(problem, [](const std::vector<double> &values) {
    return values[0] < 3 ? 40.0 : 100 + 4 * values[0] - 8 * std::max(0.0, values[1] - 5);
  });
  const ServerResult right = tunedOn(problem, table);
  const auto trial = static_cast<size_t>(std::ranges::find(right.intervals, Kind::Trial, &ServerInterval::kind) -
                                         right.intervals.begin());
  ASSERT_LT(trial, right.intervals.size());
  auto refused = [&](auto change) {
    ServerResult wrong = right;
    change(wrong);
    return !verifyServerTuning(problem, wrong).holds();
  };
  EXPECT_TRUE(refused([&](ServerResult &r) { r.intervals[trial].lower += 0.01; }));
  EXPECT_TRUE(refused([&](ServerResult &r) { r.intervals[trial].setting = {0, 0}; }));
  EXPECT_TRUE(refused([&](ServerResult &r) { r.intervals[trial].scales->signal *= 2; }));
  EXPECT_TRUE(refused([&](ServerResult &r) { r.intervals[trial].outcome = Outcome::RolledBack; }));
  EXPECT_TRUE(refused([&](ServerResult &r) { r.intervals[trial].reference *= 1.01; }));
  EXPECT_TRUE(refused([&](ServerResult &r) { r.intervals[0].windows[3].samples *= 2; }));
  EXPECT_TRUE(refused([&](ServerResult &r) {
    for (ServerWindow &window : r.intervals[trial].windows)
      window.samples *= 0.5; // which would have been rolled back
  }));
  EXPECT_TRUE(refused([&](ServerResult &r) { r.gain += 0.001; }));
  EXPECT_TRUE(refused([&](ServerResult &r) { r.lostSamples += 1; }));
  EXPECT_TRUE(refused([&](ServerResult &r) { r.best = {0, 0}; }));
  EXPECT_TRUE(refused([&](ServerResult &r) { std::swap(r.intervals[1], r.intervals[trial]); }));
  EXPECT_FALSE(refused([](ServerResult &) {}));
}

} // namespace
} // namespace accord::tuning
