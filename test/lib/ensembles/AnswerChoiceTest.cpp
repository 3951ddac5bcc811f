// Members that answer, beside all placements and quorums there are.
#include "AnswerRandom.h"
#include "lib/ensembles/solve/AnswerBound.h"
#include "lib/ensembles/solve/ChooseAnswer.h"
#include "lib/ensembles/verify/Answer.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::test;

namespace {

/// Of one device: the probability that its votes are there, from the quantiles of at most three latencies.
std::pair<Rational, Rational> arrival(const AnswerProblem &problem, const AnsweringDevice &on, int64_t time) {
  std::vector<TimeQuantiles> parts;
  for (unsigned kind : on.kinds)
    parts.push_back(problem.runs[kind][on.device][on.level].latency);
  if (!problem.devices[on.device].network.empty())
    parts.push_back(problem.devices[on.device].network);
  Rational low = 0, high = 1;
  for (size_t code = 0; code < (size_t{1} << parts.size()); ++code) { // two quantiles each
    Rational late = 0;
    int64_t sum = 0;
    for (size_t p = 0; p < parts.size(); ++p) {
      const TimeQuantile &one = parts[p][code >> p & 1];
      sum += one.time, late = late + Rational(1) - one.share;
    }
    if (sum <= time)
      low = std::max(low, Rational(1) - late);
  }
  for (const TimeQuantiles &part : parts) {
    Rational there = time <= part[0].time ? part[0].share : time <= part[1].time ? part[1].share : Rational(1);
    high = std::min(high, there);
  }
  const Rational answers = Rational(1) - problem.devices[on.device].lost;
  return {low * answers, high * answers};
}

class AnswersTried {
public:
  AnswersTried(const AnswerProblem &problem, const MemberStatistics &statistics)
      : problem(problem), statistics(statistics) {}

  /// The best value; nothing: no placement keeps what is required.
  std::optional<double> run() {
    place(0, 0);
    return best;
  }

private:
  void place(unsigned device, int64_t number) {
    if (device == problem.devices.size())
      return evaluate();
    if (number == problem.devices[device].count)
      return place(device + 1, 0);
    place(device, number + 1);
    for (unsigned level = 0; level < problem.devices[device].levels.size(); ++level) {
      std::vector<std::vector<unsigned>> sets;
      for (unsigned a = 0; a < problem.kinds.size(); ++a) {
        sets.push_back({a});
        for (unsigned b = a; b < problem.kinds.size() && problem.membersPerDevice > 1; ++b)
          sets.push_back({a, b});
      }
      for (const auto &set : sets) {
        int64_t memory = 0;
        bool runs = true;
        for (unsigned kind : set) {
          memory += problem.runs[kind][device][level].memory;
          runs &= problem.runs[kind][device][level].isPossible;
        }
        if (!runs || (problem.devices[device].memory && memory > problem.devices[device].memory))
          continue;
        devices.push_back({device, number, level, set});
        place(device, number + 1);
        devices.pop_back();
      }
    }
  }

  VoteDelivery delivery(int64_t quorum, int64_t time, std::optional<size_t> failed, bool isUndecided) const {
    VoteDelivery made;
    made.quorum = quorum, made.isUndecided = isUndecided;
    for (size_t i = 0; i < devices.size(); ++i) {
      auto [low, high] = arrival(problem, devices[i], time);
      made.undelivered.push_back(failed == i ? Rational(1) : Rational(1) - low);
      made.minUndelivered.push_back(failed == i ? Rational(1) : Rational(1) - high);
    }
    for (unsigned kind = 0; kind < problem.kinds.size(); ++kind)
      for (unsigned i = 0; i < devices.size(); ++i)
        for (unsigned one : devices[i].kinds)
          if (one == kind) {
            made.device.push_back(i);
            made.weights.push_back(problem.kinds[kind].weight);
            Rational bits = problem.runs[kind][devices[i].device][devices[i].level].corrupted;
            made.corrupted.push_back(bits + (Rational(1) - bits) * problem.devices[devices[i].device].corrupted);
          }
    return made;
  }

  void evaluate() {
    std::vector<unsigned> counts = kindCounts(problem, devices);
    int64_t members = 0, weight = 0;
    double joules = 0;
    for (const AnsweringDevice &on : devices)
      for (unsigned kind : on.kinds)
        ++members, weight += problem.kinds[kind].weight, joules += problem.runs[kind][on.device][on.level].joules;
    if (members < problem.minSize || members > problem.maxSize)
      return;
    ErrorStatistics known = statisticsOf(statistics, counts);
    std::vector<std::optional<size_t>> cases = {std::nullopt};
    for (size_t i = 0; i < devices.size() && problem.deviceFailures; ++i)
      cases.push_back(i);
    for (int64_t quorum = problem.quorum.value_or(1); quorum <= problem.quorum.value_or(weight); ++quorum) {
      if (quorum > weight)
        continue;
      Rational worst = 0;
      bool keeps = true;
      for (auto failed : cases) {
        auto found = answerGuarantee(known, delivery(quorum, problem.timeout, failed, false), {});
        keeps &= found->certificate.value <= *problem.maxWrong && found->none <= *problem.maxNone;
        worst = std::max(worst, found->certificate.value);
        for (const LatencyLimit &limit : problem.limits)
          keeps &= answerGuarantee(known, delivery(quorum, limit.time, failed, true), {})->certificate.value <=
                   Rational(1) - limit.share;
        if (!keeps)
          break;
      }
      if (!keeps)
        continue;
      double value = problem.objective == AnswerObjective::Energy ? joules : worst.toDouble();
      if (problem.objective == AnswerObjective::Latency)
        for (int64_t time = 0; time <= problem.timeout; ++time) {
          value = static_cast<double>(time);
          if (time == problem.timeout ||
              answerGuarantee(known, delivery(quorum, time, std::nullopt, true), {})->certificate.value <=
                  ratio(1, 100))
            break;
        }
      if (!best || value < *best)
        best = value;
    }
  }

  const AnswerProblem &problem;
  const MemberStatistics &statistics;
  std::vector<AnsweringDevice> devices;
  std::optional<double> best;
};

AnswerPlan planOf(AnswerProblem problem, MemberStatistics statistics) {
  AnswerPlan plan;
  plan.problem = std::move(problem);
  plan.statistics = std::move(statistics);
  plan.confidence = ratio(19, 20);
  plan.tests = answerTests(plan.problem, plan.statistics);
  plan.result = chooseAnswer(plan.problem, plan.statistics, {plan.confidence, plan.tests});
  if (!plan.result.best)
    plan.conflict = "no placement keeps what is required";
  return plan;
}

} // namespace

TEST(AnswerChoice, IsThatOfAllPlacementsAndQuorums) {
  std::mt19937 draw(31);
  unsigned found = 0;
  for (unsigned round = 0; round < 300; ++round) {
    AnswerProblem problem = randomAnswerProblem(draw);
    MemberStatistics statistics = randomKinds(draw, problem.kinds.size());
    ASSERT_EQ(check(problem), "") << round;
    std::optional<double> expected = AnswersTried(problem, statistics).run();
    AnswerPlan plan = planOf(problem, statistics);
    ASSERT_EQ(plan.result.best.has_value(), expected.has_value()) << round;
    EXPECT_TRUE(plan.result.isComplete);
    if (expected) {
      ++found;
      EXPECT_NEAR(valueOf(*plan.result.best, problem.objective), *expected, 1e-9) << round;
      EXPECT_NEAR(plan.result.bound, *expected, 1e-9) << round;
    }
    Verification proof = verify(plan);
    EXPECT_TRUE(proof.holds()) << round << ": " << (proof.findings.empty() ? "" : proof.findings[0].message);
  }
  EXPECT_GT(found, 100u);
  EXPECT_LT(found, 290u);
}

/// What is changed in an answer is found out.
TEST(AnswerChoice, ForgedAnswersAreRefused) {
  std::mt19937 draw(32);
  unsigned forged = 0;
  for (unsigned round = 0; round < 60; ++round) {
    AnswerProblem problem = randomAnswerProblem(draw);
    problem.objective = AnswerObjective::Energy;
    AnswerPlan plan = planOf(problem, randomKinds(draw, problem.kinds.size()));
    if (!plan.result.best)
      continue;
    ASSERT_TRUE(verify(plan).holds()) << round;
    auto isRefused = [&](auto change) {
      AnswerPlan other = plan;
      change(other);
      ++forged;
      return !verify(other).holds();
    };
    const Rational less = ratio(99, 100);
    EXPECT_TRUE(isRefused([](AnswerPlan &other) { other.result.best->joules /= 2; })) << round;
    EXPECT_TRUE(isRefused([](AnswerPlan &other) { other.result.bound *= 1.01; })) << round;
    EXPECT_TRUE(isRefused([](AnswerPlan &other) { ++other.result.best->quorum; })) << round;
    EXPECT_TRUE(isRefused([](AnswerPlan &other) { other.result.best->devices.front().number = 63; })) << round;
    EXPECT_TRUE(isRefused([](AnswerPlan &other) { other.result.claims.clear(); })) << round;
    if (!plan.result.best->none.isZero())
      EXPECT_TRUE(isRefused([&](AnswerPlan &other) { other.result.best->none = other.result.best->none * less; }))
          << round;
    if (!plan.result.best->wrong.isZero()) {
      EXPECT_TRUE(isRefused([&](AnswerPlan &other) { other.result.best->wrong = other.result.best->wrong * less; }))
          << round;
      EXPECT_TRUE(isRefused([&](AnswerPlan &other) {
        for (AnswerClaim &claim : other.result.claims) {
          claim.certificate.value = claim.certificate.value * less;
          claim.certificate.attained.clear();
        }
        other.result.best->wrong = other.result.best->wrong * less;
        other.result.best->wrongAfter = other.result.best->wrongAfter * less;
      })) << round;
    }
    EXPECT_TRUE(isRefused([](AnswerPlan &other) {
      for (AnswerProblem::Device &device : other.problem.devices)
        device.lost = Rational(1) / Rational(3);
    })) << round;
  }
  EXPECT_GT(forged, 200u);
}

/// A table of votes: every placement is a test of its own.
TEST(AnswerChoice, OfATableSharesItsConfidence) {
  AnswerProblem problem;
  problem.kinds = {{"a", 1}};
  AnswerProblem::Device device;
  device.name = "p", device.count = 3;
  problem.devices = {device};
  MemberRun run;
  run.isPossible = true, run.joules = 1;
  problem.runs = {{{run}}};
  problem.maxWrong = ratio(1, 100);
  problem.maxSize = 3;
  MemberStatistics statistics;
  statistics.memberErrors = {{1, -1}};
  statistics.table.kinds = {0, 0, 0};
  statistics.table.votes = {{0, 99'000}, {1, 400}, {2, 300}, {4, 200}, {7, 100}};
  statistics.table.samples = 100'000;
  AnswerPlan plan = planOf(problem, statistics);
  ASSERT_TRUE(plan.result.best);
  EXPECT_EQ(plan.result.best->devices.size(), 1u);
  EXPECT_GT(plan.tests, 200);
  EXPECT_TRUE(verify(plan).holds());
  plan.tests = 10;
  EXPECT_FALSE(verify(plan).holds());
  plan = planOf(problem, statistics);
  problem.maxWrong = ratio(2, 1000);
  plan = planOf(problem, statistics);
  ASSERT_TRUE(plan.result.best);
  EXPECT_EQ(plan.result.best->devices.size(), 3u);
  Verification proof = verify(plan);
  EXPECT_TRUE(proof.holds()) << (proof.findings.empty() ? "" : proof.findings[0].message);
  // That cheaper placements are not certified follows from the votes.
  EXPECT_TRUE(
      std::ranges::none_of(proof.trusted, [](const std::string &text) { return text.starts_with("the search"); }));
}

TEST(AnswerChoice, SaysWhyDevicesAreIdle) {
  std::mt19937 draw(33);
  AnswerProblem problem;
  problem.kinds = {{"a", 1}};
  AnswerProblem::Device device;
  device.name = "p", device.count = 4, device.memory = 10;
  problem.devices = {device};
  device.name = "q", device.count = 1, device.memory = 4;
  problem.devices.push_back(device);
  device.name = "r", device.memory = 0;
  problem.devices.push_back(device);
  MemberRun run;
  run.isPossible = true, run.joules = 1, run.memory = 5;
  problem.runs = {{{run}, {run}, {MemberRun()}}};
  problem.maxWrong = ratio(1, 2);
  AnswerPlan plan = planOf(problem, randomKinds(draw, 1));
  ASSERT_TRUE(plan.result.best);
  ASSERT_EQ(plan.result.idle.size(), 3u);
  EXPECT_EQ(plan.result.idle[0].count, 3);
  EXPECT_NE(plan.result.idle[0].reason.find("raises the energy of an input from 1 J to 2 J"), std::string::npos);
  EXPECT_EQ(plan.result.idle[1].reason, "no member fits its memory of 4 bytes: a needs 5");
  EXPECT_EQ(plan.result.idle[2].reason, "no member states how it runs there");
}
