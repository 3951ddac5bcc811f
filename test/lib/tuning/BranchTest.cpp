// Trials that begin with the state of another one: what they say is what they would have said if each had been trained
// alone, without the units that they share.
#include "lib/tuning/solve/TrialTable.h"
#include "lib/tuning/solve/Tuner.h"
#include "lib/tuning/verify/TuningVerifier.h"
#include "test/support/Random.h"
#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace accord;
using namespace accord::tuning;

namespace {

using Kind = HyperParameter::Kind;

/// A state that each unit changes by what acts in it, and only by that.
double trained(const SearchSpace &space, const Configuration &configuration, double state, int64_t unit) {
  for (size_t i = 0; i < space.size(); ++i)
    if (space[i].from < unit)
      state = std::fmod(
          0.7 * state + 0.31 * (static_cast<double>(i) + 1) * configuration[i] + 0.01 * static_cast<double>(unit), 1.0);
  return state;
}

/// Programs that have a state, which begins with 0.
class StateRunner final : public TrialRunner {
public:
  StateRunner(const TuningProblem &problem, bool isHostile) : problem_(problem), isHostile_(isHostile) {}
  std::optional<Configuration> accept(Configuration proposed) override { return proposed; }
  Result<void> keep(unsigned trial, int64_t unit) override {
    EXPECT_EQ(states_[trial].second, unit) << "a state is kept that is not the one behind the unit";
    EXPECT_TRUE(kept_.try_emplace({trial, unit}, states_[trial].first).second) << "a state is kept twice";
    return {};
  }
  Result<void> inherit(unsigned trial, const Origin &origin) override {
    states_[trial] = {kept_.at({origin.trial, origin.unit}), origin.unit};
    return {};
  }
  Result<TrialValue> value(unsigned trial, const Configuration &configuration, int64_t unit) override {
    auto &[state, done] = states_[trial];
    EXPECT_EQ(unit, done + 1) << "a unit is trained twice, or left out";
    ++asked, done = unit;
    state = trained(problem_.space, configuration, state, unit);
    if (isHostile_ && state < 0.03)
      return TrialValue{std::nullopt, "killed"};
    if (isHostile_ && state > 0.98)
      return TrialValue{std::nan("")};
    return TrialValue{state};
  }
  int64_t asked = 0;

private:
  const TuningProblem &problem_;
  const bool isHostile_;
  std::map<unsigned, std::pair<double, int64_t>> states_; ///< with units
  std::map<std::pair<unsigned, int64_t>, double> kept_;
};

TuningProblem someProblem(SplitMix &random) {
  TuningProblem problem;
  problem.name = "t", problem.maximizes = random.below(2) == 1;
  problem.minUnits = 1 + static_cast<int64_t>(random.below(3));
  problem.reduction = 2 + static_cast<int64_t>(random.below(2));
  problem.maxUnits = problem.minUnits * 9 + static_cast<int64_t>(random.below(12));
  const std::vector<int64_t> all = rungs(problem);
  auto unit = [&] { return all[random.below(all.size() - 1)]; };
  problem.space = {{.name = "rate", .kind = Kind::Real, .min = 1e-3, .max = 1, .isLog = true},
                   {.name = "decay", .kind = Kind::Choice, .choices = {"1", "0.3", "0.1"}, .from = unit()},
                   {.name = "width", .kind = Kind::Integer, .min = 1, .max = 9, .from = random.below(2) ? unit() : 0}};
  problem.branches = 2 + static_cast<int64_t>(random.below(3));
  problem.trials = 1 + static_cast<int64_t>(random.below(60));
  problem.probes = random.below(2) ? static_cast<int64_t>(random.below(6)) : 0;
  problem.devices = 1 + static_cast<int64_t>(random.below(5));
  problem.devicesPerNode = problem.devices;
  problem.widths = {{1, 1}};
  if (problem.devices >= 2 && random.below(2))
    problem.widths.push_back({2, 1.5});
  problem.restart = random.unit();
  problem.proposals = static_cast<Proposals>(random.below(3));
  problem.stops = static_cast<Stops>(random.below(3));
  problem.sharing = random.below(3) ? Sharing::Joint : Sharing::Fixed;
  problem.seed = random.next();
  return problem;
}

std::string findingOf(const TuningProblem &problem, const TuningResult &result) {
  const Verification verified = verifyTuning(problem, result);
  return verified.holds() ? "" : verified.findings.front().message;
}

TEST(Branches, SayWhatTheyWouldSayIfEachWereTrainedAlone) {
  SplitMix random(11);
  int64_t branches = 0, deep = 0, died = 0;
  for (int i = 0; i < accord::cases(60); ++i) {
    const TuningProblem problem = someProblem(random);
    const bool isHostile = random.below(2) == 1;
    StateRunner runner(problem, isHostile);
    const auto result = tune(problem, runner);
    ASSERT_TRUE(result);
    EXPECT_EQ(findingOf(problem, *result), "") << "problem " << i;
    EXPECT_EQ(runner.asked, result->units + std::ranges::count(result->trials, Trial::State::Failed, &Trial::state));
    std::set<Configuration> configurations;
    for (unsigned trial = 0; trial < result->trials.size(); ++trial) {
      const Trial &one = result->trials[trial];
      branches += one.origin.has_value();
      deep += one.origin && result->trials[one.origin->trial].origin;
      died += one.origin && (one.state == Trial::State::Failed || one.state == Trial::State::Diverged);
      double state = 0;
      int64_t unit = 0;
      for (double value : curveOf(*result, trial)) {
        state = trained(problem.space, one.configuration, state, ++unit);
        if (std::isfinite(value)) {
          EXPECT_EQ(value, state);
        }
      }
      EXPECT_EQ(unit, one.inherited() + std::ssize(one.reports));
    }
  }
  EXPECT_GT(branches, 80);
  EXPECT_GT(deep, 3);
  EXPECT_GT(died, 2);
}

/// A tuning with several branches, at unit 3 and, from there, at unit 9.
struct Branched {
  Branched() {
    problem.name = "t", problem.minUnits = 1, problem.maxUnits = 27, problem.reduction = 3, problem.branches = 3;
    problem.trials = 60, problem.devices = problem.devicesPerNode = 2;
    problem.space = {{.name = "rate", .kind = Kind::Real, .min = 1e-3, .max = 1},
                     {.name = "decay", .kind = Kind::Real, .min = 0, .max = 1, .from = 3},
                     {.name = "late", .kind = Kind::Real, .min = 0, .max = 1, .from = 9}};
    StateRunner runner(problem, /*isHostile=*/false);
    result = *tune(problem, runner);
    for (unsigned i = 0; i < result.trials.size(); ++i)
      if (result.trials[i].origin)
        branches.push_back(i);
  }
  TuningProblem problem;
  TuningResult result;
  std::vector<unsigned> branches;
};

TEST(Branches, AreRefusedWhereTheyAreNotWhatTheySay) {
  const Branched made;
  ASSERT_EQ(findingOf(made.problem, made.result), "");
  ASSERT_GT(made.branches.size(), 4u);
  auto expectRefused = [&](const std::string &what, auto change) {
    Branched copy = made;
    change(copy);
    EXPECT_NE(findingOf(copy.problem, copy.result).find(what), std::string::npos)
        << what << ": " << findingOf(copy.problem, copy.result);
  };
  const unsigned last = made.branches.back();
  expectRefused("'rate' acts before unit", [&](Branched &of) { of.result.trials[last].configuration[0] = 0.5; });
  expectRefused("which is not earlier", [&](Branched &of) { of.result.trials[last].origin->trial = last; });
  expectRefused("but 2 may have it", [](Branched &of) { of.problem.branches = 2; });
  expectRefused("where no hyper-parameter begins to act",
                [](Branched &of) { of.problem.space[1].from = 1, of.problem.space[2].from = 1; });
  expectRefused("drawn anew", [&](Branched &of) { of.result.trials[last].origin->redrawn = {"rate"}; });
  expectRefused("one of those that judge rungs", [](Branched &of) { of.problem.probes = 60; });
  expectRefused("is part of a population", [](Branched &of) { of.problem.branches = 1; });
  expectRefused("is the same as trial", [&](Branched &of) {
    of.result.trials[last].configuration = of.result.trials[of.result.trials[last].origin->trial].configuration;
  });
  expectRefused("where that one has no value", [&](Branched &of) { // a trial that never came so far
    for (unsigned i = 0; i < last; ++i)
      if (const Trial &one = of.result.trials[i]; !one.at(of.result.trials[last].inherited())) {
        of.result.trials[last].origin->trial = i;
        of.result.trials[last].configuration[0] = one.configuration[0];
        of.result.trials[last].configuration[1] = one.configuration[1];
        return;
      }
  });
  expectRefused("before that one goes on", [&](Branched &of) { // its parent never went on
    Trial &parent = of.result.trials[of.result.trials[last].origin->trial];
    const int64_t unit = of.result.trials[last].inherited();
    std::erase_if(of.result.segments, [&](const Segment &one) {
      return one.trial == of.result.trials[last].origin->trial && one.from >= unit;
    });
    std::erase_if(parent.reports, [&](const Report &one) { return one.unit > unit; });
    parent.state = Trial::State::Paused;
  });
}

TEST(Branches, DivideAsManyTimesAsIsAllowed) {
  const Branched made;
  std::map<std::pair<unsigned, int64_t>, int64_t> count;
  for (unsigned i : made.branches)
    ++count[{made.result.trials[i].origin->trial, made.result.trials[i].origin->unit}];
  int64_t full = 0;
  for (const auto &[state, branches] : count)
    full += branches + 1 == made.problem.branches;
  EXPECT_GT(full, std::ssize(count) / 2);
  int64_t behind = 0; // of all that go on behind unit 3, so many more than a third came there
  for (const Segment &segment : made.result.segments)
    behind += segment.from == 3;
  EXPECT_GT(behind, 8);
}

/// Rows of a table for each rate and decay.
std::string tableOf(const SearchSpace &space, int64_t units) {
  std::string text = "rate,decay,seconds";
  for (int64_t unit = 1; unit <= units; ++unit)
    text += fmt::format(",{}", unit);
  for (int rate = 1; rate <= 60; ++rate)
    for (int decay = 0; decay < 8; ++decay) {
      text += fmt::format("\n{},{},1", rate / 64.0, space[1].choices[static_cast<size_t>(decay)]);
      double state = 0;
      for (int64_t unit = 1; unit <= units; ++unit)
        text += fmt::format(",{}", state = trained(space, {rate / 64.0, static_cast<double>(decay)}, state, unit));
    }
  return text + "\n";
}

TEST(Branches, OfATableAreRowsThatAreTheSameBefore) {
  TuningProblem problem;
  problem.name = "t", problem.minUnits = 1, problem.maxUnits = 9, problem.reduction = 3, problem.branches = 3;
  problem.trials = 60, problem.devices = problem.devicesPerNode = 2;
  problem.space = {{.name = "rate", .kind = Kind::Real, .min = 0, .max = 1},
                   {.name = "decay",
                    .kind = Kind::Choice,
                    .choices = {"1", "0.7", "0.5", "0.3", "0.2", "0.1", "0.05", "0.03"},
                    .from = 3}};
  const std::string text = tableOf(problem.space, 9);
  auto table = readTrialTable(text, "t.csv", problem.space);
  ASSERT_TRUE(table);
  TableRunner runner(problem, *table);
  const auto result = tune(problem, runner);
  ASSERT_TRUE(result);
  EXPECT_EQ(findingOf(problem, *result), "");
  const auto branches = std::ranges::count_if(result->trials, [](const Trial &one) { return one.origin.has_value(); });
  EXPECT_GT(branches, 3);
  EXPECT_EQ(std::ssize(result->trials), 60);

  std::string changed = text;
  changed.replace(changed.rfind(',') + 1, 1, "7"); // behind the unit, where rows may differ
  EXPECT_TRUE(readTrialTable(changed, "t.csv", problem.space));
  const size_t row = changed.rfind('\n', changed.size() - 2) + 1;
  size_t cell = row;
  for (int i = 0; i < 4; ++i)
    cell = changed.find(',', cell) + 1;
  changed.replace(cell, 1, "7"); // the value after unit 2
  const auto wrong = readTrialTable(changed, "t.csv", problem.space);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().front().location.line, 481u);
  EXPECT_NE(wrong.error().front().message.find("another value after unit 2"), std::string::npos);
}

} // namespace
