// Populations: who is replaced by whom, with what children go on, and tunings of them from end to end, which a verifier
// that shares nothing with the tuner looks at.
#include "lib/tuning/solve/Population.h"
#include "lib/tuning/solve/Tuner.h"
#include "lib/tuning/verify/TuningVerifier.h"
#include "test/support/Random.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <set>

using namespace accord;
using namespace accord::tuning;

namespace {

using Kind = HyperParameter::Kind;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

SearchSpace someSpace() {
  return {{.name = "rate", .kind = Kind::Real, .min = 1e-4, .max = 1, .isLog = true},
          {.name = "batch", .kind = Kind::Integer, .min = 1, .max = 9},
          {.name = "rule", .kind = Kind::Choice, .choices = {"sgd", "adam", "lion"}},
          {.name = "width", .kind = Kind::Integer, .min = 1, .max = 64, .isLog = true}};
}

TuningProblem someProblem(SplitMix &random) {
  TuningProblem problem;
  problem.name = "t", problem.space = someSpace(), problem.maximizes = random.below(2) == 1;
  problem.proposals = Proposals::Random;
  problem.minUnits = problem.maxUnits = 2 + static_cast<int64_t>(random.below(12));
  Population &population = problem.population.emplace();
  population.members = 2 + static_cast<int64_t>(random.below(9));
  population.every = 1 + static_cast<int64_t>(random.below(4));
  population.replaced = 0.05 + 0.45 * random.unit(), population.redrawn = random.unit();
  population.fixed = {"width"};
  problem.trials = population.members * problem.maxUnits;
  problem.devices = 1 + static_cast<int64_t>(random.below(6));
  problem.devicesPerNode = 1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(problem.devices)));
  if (problem.devices >= 2 && random.below(2))
    problem.widths.push_back({2, 1.5});
  if (random.below(3) == 0) {
    problem.slotsPerDevice = 2, problem.widths = {{1, 0.7}, {2, 1}};
    problem.fixedSlots = 2;
  }
  problem.sharing = random.below(3) ? Sharing::Joint : Sharing::Fixed;
  problem.restart = random.unit(), problem.seed = random.next();
  return problem;
}

/// A training whose state is what it has run with: one number for each unit. It says values by a function of the state,
/// which are those of the trial's whole lineage, and looks whether the tuner keeps to what a runner may rely on.
class LineageRunner : public TrialRunner {
public:
  using State = std::vector<Configuration>;
  explicit LineageRunner(std::function<TrialValue(const State &)> function) : function(std::move(function)) {}
  std::optional<Configuration> accept(Configuration proposed) override { return proposed; }
  std::optional<double> unitSeconds(const Configuration &configuration) override {
    return configuration.size() > 1 ? configuration[1] : 1;
  }
  Result<void> inherit(unsigned trial, const Origin &origin) override {
    EXPECT_FALSE(running.contains(origin.trial));
    EXPECT_EQ(static_cast<int64_t>(states[origin.trial].size()), origin.unit); // it has not gone on
    states[trial] = states[origin.trial];
    return {};
  }
  Result<void> start(const Segment &segment, const Configuration &, int64_t) override {
    EXPECT_EQ(static_cast<int64_t>(states[segment.trial].size()), segment.from);
    EXPECT_TRUE(running.insert(segment.trial).second);
    return {};
  }
  void pause(unsigned trial) override { running.erase(trial); }
  Result<TrialValue> value(unsigned trial, const Configuration &configuration, int64_t unit) override {
    ++asked;
    EXPECT_EQ(static_cast<int64_t>(states[trial].size()) + 1, unit);
    State next = states[trial];
    next.push_back(configuration);
    TrialValue said = function(next);
    if (said.value)
      states[trial] = std::move(next);
    return said;
  }
  std::function<TrialValue(const State &)> function;
  std::map<unsigned, State> states;
  std::set<unsigned> running;
  int asked = 0;
};

/// Even values, crashes and divergences, all of what a lineage has run with.
TrialValue hostile(const LineageRunner::State &state) {
  uint64_t seed = 0;
  for (const Configuration &one : state)
    for (double value : one)
      seed = SplitMix(seed + static_cast<uint64_t>(value * 1e6)).next();
  SplitMix random(seed);
  switch (random.below(30)) {
  case 0:
    return {std::nullopt, "killed"};
  case 1:
    return {kNan};
  case 2:
    return {-std::numeric_limits<double>::infinity()};
  default:
    return {std::floor(random.unit() * 10)};
  }
}

std::vector<double> keyOf(const TuningResult &result) {
  std::vector<double> out{result.seconds, result.deviceSeconds, double(result.units)};
  for (const Trial &trial : result.trials) {
    out.push_back(double(trial.state)), out.push_back(trial.origin ? trial.origin->trial : -1.0);
    out.insert(out.end(), trial.configuration.begin(), trial.configuration.end());
    for (const Report &report : trial.reports)
      out.push_back(double(report.unit)), out.push_back(report.time), out.push_back(report.value);
  }
  return out;
}

TEST(Population, SelectsAsTruncationSelectionSays) {
  SplitMix random(1);
  for (int round = 0; round < cases(2000); ++round) {
    TuningProblem problem = someProblem(random);
    std::vector<Member> members(2 + random.below(9));
    for (unsigned i = 0; i < members.size(); ++i)
      members[i] = {100 - i,
                    random.below(6) ? std::floor(random.unit() * 6) : kNan}; // trials and members in two orders
    const auto chosen = selectReplacements(problem, members, 3);
    // By counting: how many are better, of equals the earlier trials.
    auto rank = [&](const Member &one) {
      size_t better = 0;
      for (const Member &other : members)
        if (std::isfinite(other.value))
          better += (problem.maximizes ? other.value > one.value : other.value < one.value) ||
                    (other.value == one.value && other.trial < one.trial);
      return better;
    };
    const size_t live =
        static_cast<size_t>(std::ranges::count_if(members, [](const Member &one) { return std::isfinite(one.value); }));
    size_t share = 0; // the smallest whole number that is the share or more, so that parents and replaced are others
    while (double(share) < problem.population->replaced * double(members.size()) && 2 * (share + 1) <= members.size())
      ++share;
    share = std::max<size_t>(share, 1);
    std::set<size_t> replaced;
    for (size_t i = 0; i < members.size() && live; ++i)
      if (!std::isfinite(members[i].value) ||
          (rank(members[i]) + share >= live && rank(members[i]) >= std::min(share, live)))
        replaced.insert(i);
    std::set<size_t> found;
    for (const Replacement &one : chosen) {
      EXPECT_TRUE(found.insert(one.member).second);
      EXPECT_TRUE(std::isfinite(members[one.parent].value));
      EXPECT_LT(rank(members[one.parent]), share);
    }
    EXPECT_EQ(found, replaced) << round;
  }
}

TEST(Population, DrawsParentsEvenlyAndTheSameAgain) {
  SplitMix random(2);
  TuningProblem problem = someProblem(random);
  problem.population->replaced = 0.4, problem.maximizes = true;
  std::vector<Member> members(10);
  for (unsigned i = 0; i < 10; ++i)
    members[i] = {i, double(i)};
  std::map<size_t, int> counts;
  for (size_t generation = 0; generation < 1000; ++generation) {
    const auto first = selectReplacements(problem, members, generation);
    const auto again = selectReplacements(problem, members, generation);
    ASSERT_EQ(first.size(), 4u);
    for (size_t i = 0; i < 4; ++i) {
      ++counts[first[i].parent];
      EXPECT_EQ(first[i].parent, again[i].parent);
      EXPECT_EQ(SplitMix(first[i].random).next(), SplitMix(again[i].random).next());
    }
  }
  ASSERT_EQ(counts.size(), 4u);
  for (auto [parent, count] : counts) // 1000 of 4000, with a standard deviation of 27
    EXPECT_NEAR(count, 1000, 120) << parent;
}

TEST(Population, ChildrenFollowFromTheirParents) {
  SplitMix random(3);
  TuningProblem problem = someProblem(random);
  Population &population = *problem.population;
  int redrawn = 0, seen = 0, choices = 0;
  for (int i = 0; i < cases(2000); ++i) {
    const Configuration parent = fromCube(problem.space, drawPoint(problem.space, random));
    population.redrawn = 0;
    const ChildConfiguration by = childOf(problem, parent, random);
    EXPECT_TRUE(by.redrawn.empty());
    EXPECT_EQ(by.configuration[2], parent[2]);
    EXPECT_EQ(by.configuration[3], parent[3]);
    EXPECT_TRUE(by.configuration[0] == std::max(parent[0] * 0.8, 1e-4) ||
                by.configuration[0] == std::min(parent[0] * 1.25, 1.0));
    // 1 becomes 1 or 2, 2 becomes 1 or 3, 3: 2 or 4, 4: 3 or 5, 5: 4 or 6, 6: 5 or 8, 7: 6 or 9, 8: 6 or 9, 9: 7 or 9.
    const std::map<double, std::set<double>> due{{1, {1, 2}}, {2, {1, 3}}, {3, {2, 4}}, {4, {3, 5}}, {5, {4, 6}},
                                                 {6, {5, 8}}, {7, {6, 9}}, {8, {6, 9}}, {9, {7, 9}}};
    EXPECT_TRUE(due.at(parent[1]).contains(by.configuration[1])) << parent[1] << " " << by.configuration[1];
    population.redrawn = 0.25;
    const ChildConfiguration child = childOf(problem, parent, random);
    EXPECT_EQ(child.configuration[3], parent[3]);
    redrawn += static_cast<int>(child.redrawn.size()), seen += 3;
    choices += child.configuration[2] != parent[2];
    for (size_t p = 0; p < 2; ++p) {
      EXPECT_GE(child.configuration[p], problem.space[p].min);
      EXPECT_LE(child.configuration[p], problem.space[p].max);
    }
  }
  EXPECT_NEAR(double(redrawn) / seen, 0.25, 5 * std::sqrt(0.25 * 0.75 / seen));
  EXPECT_NEAR(double(choices) / seen * 3, 0.25 * 2 / 3, 0.05);
  population.redrawn = 1;
  EXPECT_EQ(childOf(problem, {0.1, 2, 0, 8}, random).redrawn, (std::vector<std::string>{"rate", "batch", "rule"}));
}

TEST(Population, BeginsEvenly) {
  SplitMix random(4);
  const SearchSpace space = someSpace();
  for (size_t count : {1, 2, 7, 24}) {
    const auto points = latinHypercube(space, count, random);
    std::map<double, size_t> choices;
    for (size_t p : {0, 1, 3}) {
      std::set<size_t> parts;
      for (const CubePoint &point : points)
        parts.insert(static_cast<size_t>(point[p] * static_cast<double>(count)));
      EXPECT_EQ(parts.size(), count);
      EXPECT_LT(*parts.rbegin(), count);
    }
    for (const CubePoint &point : points)
      ++choices[point[2]];
    for (auto [choice, times] : choices)
      EXPECT_LE(times, count / 3 + 1);
  }
}

TEST(Population, GivesMembersTheWidthThatEndsFirst) {
  TuningProblem problem;
  problem.slotsPerDevice = 2, problem.widths = {{1, 0.7}, {2, 1}, {4, 1.8}, {8, 3}};
  for (int64_t waiting = 1; waiting <= 12; ++waiting)
    for (int64_t slots = 0; slots <= 16; ++slots) {
      double best = std::numeric_limits<double>::infinity();
      int64_t due = 0;
      for (const Width &width : problem.widths) { // member by member onto the group of devices that is free first
        std::vector<double> groups(static_cast<size_t>(slots / width.slots));
        for (int64_t member = 0; member < waiting && !groups.empty(); ++member)
          *std::ranges::min_element(groups) += 1 / width.speed;
        if (!groups.empty() && std::ranges::max(groups) < best - 1e-12)
          best = std::ranges::max(groups), due = width.slots;
      }
      EXPECT_EQ(memberSlots(problem, waiting, slots), due) << waiting << " " << slots;
    }
}

TEST(Population, KeepsToItsRulesWhateverTheValuesAre) {
  SplitMix random(5);
  std::map<Trial::State, int> states;
  int extinct = 0;
  for (int i = 0; i < cases(300); ++i) {
    const TuningProblem problem = someProblem(random);
    LineageRunner runner(hostile);
    auto result = tune(problem, runner);
    ASSERT_TRUE(result);
    const Verification verified = verifyTuning(problem, *result);
    EXPECT_TRUE(verified.holds()) << "problem " << i << ": " << verified.findings.front().message;
    EXPECT_TRUE(runner.running.empty());
    int complete = 0;
    for (unsigned t = 0; t < result->trials.size(); ++t) {
      const Trial &trial = result->trials[t];
      ++states[trial.state], complete += trial.state == Trial::State::Complete;
      EXPECT_EQ(runner.states[t].size(), size_t(trial.inherited()) + trial.reports.size());
      EXPECT_NE(trial.state, Trial::State::Paused); // all go on to the end
    }
    extinct += complete == 0;
    LineageRunner again(hostile);
    EXPECT_EQ(keyOf(*result), keyOf(*tune(problem, again)));
  }
  for (auto state : {Trial::State::Complete, Trial::State::Replaced, Trial::State::Failed, Trial::State::Diverged})
    EXPECT_GT(states[state], 20);
  EXPECT_GT(extinct, 0);
}

TEST(Population, GoesOnToTheSameResultWhereItWasStopped) {
  SplitMix random(6);
  for (int i = 0; i < cases(40); ++i) {
    const TuningProblem problem = someProblem(random);
    LineageRunner whole(hostile);
    auto expected = tune(problem, whole);
    ASSERT_TRUE(expected);
    std::map<LineageRunner::State, TrialValue> known;
    auto until = static_cast<int64_t>(random.below(static_cast<uint64_t>(whole.asked) + 1));
    auto remembering = [&](const LineageRunner::State &state) -> TrialValue {
      if (auto found = known.find(state); found != known.end())
        return found->second;
      if (until-- <= 0)
        return {.value = std::nullopt, .isStopped = true};
      return known[state] = hostile(state);
    };
    LineageRunner first(remembering);
    auto stopped = tune(problem, first);
    ASSERT_TRUE(stopped);
    const Verification verified = verifyTuning(problem, *stopped);
    EXPECT_TRUE(verified.holds()) << verified.findings.front().message;
    until = std::numeric_limits<int64_t>::max();
    LineageRunner second(remembering);
    EXPECT_EQ(keyOf(*expected), keyOf(*tune(problem, second)));
  }
}

TEST(Population, EndsWhereAllHaveDiedAndAtItsTime) {
  SplitMix random(7);
  TuningProblem problem = someProblem(random);
  problem.minUnits = problem.maxUnits = 6, problem.population->every = 2, problem.restart = 0;
  LineageRunner dying([](const LineageRunner::State &state) {
    return state.size() == 4 ? TrialValue{kNan} : TrialValue{double(state.size())};
  });
  auto result = tune(problem, dying);
  EXPECT_TRUE(verifyTuning(problem, *result).holds());
  EXPECT_EQ(result->incumbents.back().unit, problem.maximizes ? 3 : 1);
  for (const Trial &trial : result->trials)
    EXPECT_TRUE(trial.state == Trial::State::Diverged || trial.state == Trial::State::Replaced);
  // One member alone lives: it is the parent of all others.
  int asked = 0;
  LineageRunner one([&](const LineageRunner::State &state) {
    return state.size() == 1 && asked++ > 0 ? TrialValue{std::nullopt, "killed"} : TrialValue{1.0};
  });
  result = tune(problem, one);
  EXPECT_TRUE(verifyTuning(problem, *result).holds());
  for (auto child = static_cast<size_t>(problem.population->members), i = child; i < 2 * child - 1; ++i)
    EXPECT_EQ(result->trials[i].origin->unit, 2);
  LineageRunner whole([](const LineageRunner::State &state) { return TrialValue{double(state.size())}; });
  const double seconds = tune(problem, whole)->seconds;
  problem.maxSeconds = seconds / 2;
  LineageRunner half(whole.function);
  result = tune(problem, half);
  EXPECT_TRUE(verifyTuning(problem, *result).holds());
  EXPECT_LT(result->seconds, seconds);
  LineageRunner broken(whole.function);
  class Failing final : public LineageRunner {
  public:
    using LineageRunner::LineageRunner;
    Result<void> inherit(unsigned, const Origin &) override { return Error{Code::CannotWrite, "the disk is full"}; }
  } failing(whole.function);
  problem.maxSeconds = 0;
  EXPECT_FALSE(tune(problem, failing));
}

TEST(Population, VerifierFindsWhatIsChanged) {
  SplitMix random(8);
  TuningProblem problem = someProblem(random);
  problem.maxUnits = problem.minUnits = 8, problem.devices = problem.devicesPerNode = 3, problem.slotsPerDevice = 1;
  problem.widths = {{1, 1}}, problem.fixedSlots = 1, problem.maximizes = true, problem.seed = 5;
  problem.population = Population{.members = 6, .every = 2, .replaced = 0.3, .redrawn = 0.3, .fixed = {"width"}};
  LineageRunner runner([](const LineageRunner::State &state) {
    double sum = 0;
    for (const Configuration &one : state)
      sum -= std::abs(std::log10(one[0]) + 2);
    return TrialValue{sum / double(state.size())};
  });
  auto result = tune(problem, runner);
  ASSERT_TRUE(result);
  ASSERT_TRUE(verifyTuning(problem, *result).holds());
  ASSERT_EQ(result->trials.size(), 6u + 3 * 2); // 0.3 of 6, rounded up, behind each of three generations
  using Change = std::function<void(TuningProblem &, TuningResult &)>;
  auto message = [&](const Change &change) {
    TuningProblem other = problem;
    TuningResult changed = *result;
    change(other, changed);
    const Verification verified = verifyTuning(other, changed);
    return verified.holds() ? std::string("holds") : verified.findings.front().message;
  };
  auto finds = [&](const std::string &part, const Change &change) {
    SCOPED_TRACE(part);
    const std::string found = message(change);
    EXPECT_NE(found.find(part), std::string::npos) << found;
  };
  auto isReplaced = [](const Trial &one) { return one.state == Trial::State::Replaced; };
  finds("not among the best", [&](auto &, auto &r) { // a parent was bad at the look
    Trial &parent = r.trials[r.trials[6].origin->trial];
    for (unsigned i = 0; i < 6; ++i)
      if (r.trials[i].reports.size() > 2 && &r.trials[i] != &parent)
        r.trials[i].reports[1].value = 10 + i;
  });
  finds("is replaced after unit 2", [&](auto &, auto &r) {
    for (unsigned i = 0; i < 6; ++i)
      if (isReplaced(r.trials[i]) && r.trials[i].reports.size() == 2)
        return void(r.trials[i].reports[1].value = 100);
  });
  finds("is not replaced after unit 2", [&](auto &, auto &r) {
    for (unsigned i = 0; i < 6; ++i)
      if (isReplaced(r.trials[i]) && r.trials[i].reports.size() == 2)
        return void(r.trials[i].state = Trial::State::Paused);
  });
  finds("is replaced after unit", [](auto &p, auto &) { p.population->replaced = 0.1; });
  finds("members go on", [](auto &p, auto &r) {
    p.population->members = 7; // as many as begin, but one child is missing
    r.trials.pop_back();
    std::erase_if(r.segments, [&](const Segment &one) { return one.trial == r.trials.size(); });
  });
  finds("begins from trial", [](auto &, auto &r) { r.trials[6].origin->trial = 40; });
  finds("which is not earlier", [](auto &, auto &r) { r.trials[6].origin->trial = 8; });
  finds("which is no member", [&](auto &, auto &r) { // one that had been replaced before
    unsigned gone = 0;
    while (!isReplaced(r.trials[gone]) || r.trials[gone].reports.size() != 2)
      ++gone;
    for (Trial &one : r.trials)
      if (one.origin && one.origin->unit == 4)
        return void(one.origin->trial = gone);
  });
  finds("goes on from unit", [](auto &, auto &r) { r.trials[6].origin->unit = 4; });
  finds("at unit 0", [](auto &p, auto &) { p.population->members = 5; });
  finds("does not follow",
        [](auto &, auto &r) { r.trials[6].configuration[3] += r.trials[6].configuration[3] > 5 ? -1 : 1; });
  finds("does not follow", [](auto &, auto &r) {
    for (unsigned i = 6; i < r.trials.size(); ++i)
      if (r.trials[i].origin->redrawn.empty())
        return void(r.trials[i].configuration[0] *= r.trials[i].configuration[0] > 0.01 ? 0.9 : 1.1);
  });
  finds("does not follow", [](auto &, auto &r) {
    for (unsigned i = 6; i < r.trials.size(); ++i)
      if (r.trials[i].origin->redrawn.empty())
        return void(r.trials[i].configuration[2] = r.trials[i].configuration[2] == 0);
  });
  finds("drew 'width' anew, which is fixed", [](auto &, auto &r) { r.trials[6].origin->redrawn.push_back("width"); });
  finds("which is no hyper-parameter", [](auto &, auto &r) { r.trials[6].origin->redrawn.push_back("depth"); });
  finds("drawn anew, and none is", [](auto &p, auto &r) {
    p.population->redrawn = 0;
    r.trials[6].origin->redrawn = {"rate"};
  });
  finds("no value of", [](auto &, auto &r) { r.trials[6].configuration[0] = 2; });
  finds("part of a population", [](auto &p, auto &) { p.population.reset(); });
  finds("across the end", [](auto &p, auto &) { p.population->every = 1; });
  finds("units are stated", [](auto &, auto &r) { r.units += 2; }); // what is inherited does not count
  finds("before all members", [&](auto &, auto &r) { // a member goes on at once where another one still runs
    Segment *last = nullptr;
    for (Segment &one : r.segments)
      if (one.to == 2 && (!last || one.end >= last->end))
        last = &one;
    const double later = 100;
    for (Report &report : r.trials[last->trial].reports)
      report.time += later;
    for (Segment &one : r.segments)
      if (one.trial == last->trial)
        one.start += later, one.end += later;
  });
}

/// The example of the paper (its section 3 and figure 2): two trainings maximize 1.2 - a0 x0^2 - a1 x1^2 with (a0, a1)
/// = (1, 0) and (0, 1), and what counts is 1.2 - x0^2 - x1^2. Alone both end at 0.4; a population comes to 1.2.
TEST(Population, ComesToTheOptimumOfThePapersExample) {
  double sum = 0, worst = 2;
  auto value = [](const LineageRunner::State &state) {
    double x0 = 0.9, x1 = 0.9;
    for (const Configuration &a : state)
      for (int step = 0; step < 4; ++step)
        x0 -= 0.02 * 2 * a[0] * x0, x1 -= 0.02 * 2 * a[1] * x1;
    return TrialValue{1.2 - x0 * x0 - x1 * x1};
  };
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    TuningProblem problem;
    problem.space = {{.name = "a0", .min = 0, .max = 1}, {.name = "a1", .min = 0, .max = 1}};
    problem.first = {{1, 0}, {0, 1}}, problem.minUnits = problem.maxUnits = 50, problem.seed = seed;
    problem.proposals = Proposals::Random, problem.trials = 100;
    problem.population = Population{.members = 2, .every = 1, .replaced = 0.5, .redrawn = 0.25};
    LineageRunner runner(value);
    auto result = tune(problem, runner);
    ASSERT_TRUE(verifyTuning(problem, *result).holds());
    sum += result->incumbents.back().value, worst = std::min(worst, result->incumbents.back().value);
  }
  EXPECT_NEAR(value(LineageRunner::State(50, {1, 0})).value.value(), 1.2 - 0.81, 1e-3);
  EXPECT_GT(sum / 10, 1.15);
  EXPECT_GT(worst, 1.0);
}

} // namespace
