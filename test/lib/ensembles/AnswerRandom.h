// Problems of members that answer, at random.
#pragma once
#include "VoteRandom.h"
#include "lib/ensembles/problem/AnswerPlan.h"

namespace accord::test {

/// Up to three devices of one or two kinds and two members; some quantiles are at the time-out.
inline AnswerProblem randomAnswerProblem(std::mt19937 &draw) {
  AnswerProblem problem;
  const unsigned kinds = 1 + draw() % 2, types = 1 + draw() % 2;
  problem.timeout = 20;
  for (unsigned k = 0; k < kinds; ++k)
    problem.kinds.push_back({std::string(1, static_cast<char>('a' + k)), draw() % 4 ? 1 : 2});
  int64_t left = 3;
  for (unsigned d = 0; d < types; ++d) {
    AnswerProblem::Device device;
    device.name = std::string(1, static_cast<char>('p' + d));
    device.count = d + 1 < types ? 1 + static_cast<int64_t>(draw() % 2) : left;
    left -= device.count;
    device.memory = draw() % 3 ? 0 : 10;
    device.lost = ratio(draw() % 3, 40);
    device.corrupted = ratio(draw() % 2, 100);
    if (draw() % 3 == 0)
      device.network = {{ratio(9, 10), 2}, {1, 5}};
    if (draw() % 4 == 0)
      device.levels = {"high", "low"};
    problem.devices.push_back(std::move(device));
  }
  for (unsigned k = 0; k < kinds; ++k) {
    auto &byDevice = problem.runs.emplace_back();
    for (const AnswerProblem::Device &device : problem.devices) {
      auto &byLevel = byDevice.emplace_back();
      for (size_t level = 0; level < device.levels.size(); ++level) {
        MemberRun run;
        run.isPossible = draw() % 8 != 0;
        run.joules = 1 + static_cast<double>(draw() % 9);
        run.memory = 4 + static_cast<int64_t>(draw() % 9);
        run.corrupted = ratio(level * (draw() % 4), 50);
        const int64_t median = 3 + static_cast<int64_t>(draw() % 10);
        run.latency = {{ratio(1, 2), median}, {ratio(19, 20), draw() % 2 ? 20 : median + 6}};
        byLevel.push_back(std::move(run));
      }
    }
  }
  problem.minSize = 1, problem.maxSize = 3;
  problem.membersPerDevice = draw() % 4 ? 1 : 2;
  problem.deviceFailures = draw() % 3 == 0;
  problem.maxWrong = ratio(3 + draw() % 25, 100);
  problem.maxNone = ratio(1 + draw() % 30, 100);
  if (draw() % 4 == 0)
    problem.quorum = 1 + draw() % 2;
  if (draw() % 4 == 0)
    problem.limits.push_back({ratio(1, 2), 10 + static_cast<int64_t>(draw() % 8)});
  problem.objective = static_cast<AnswerObjective>(draw() % 3);
  return problem;
}

/// Errors of kinds with pairs and triples that some joint distribution of equal copies has: each input is hard with a
/// probability, and members err independently on inputs that are as hard.
inline MemberStatistics randomKinds(std::mt19937 &draw, size_t kinds) {
  MemberStatistics statistics;
  const Rational hard = ratio(5 + draw() % 20, 100);
  std::vector<Rational> onEasy, onHard;
  for (size_t k = 0; k < kinds; ++k) {
    onEasy.push_back(ratio(draw() % 8, 100)), onHard.push_back(ratio(30 + draw() % 60, 100));
    statistics.memberErrors.push_back({hard * onHard[k] + (Rational(1) - hard) * onEasy[k], 0});
  }
  const unsigned sizes = 2 + draw() % 2;
  for (unsigned a = 0; a < kinds; ++a)
    for (unsigned b = a; b < kinds; ++b) {
      statistics.jointErrors[{a, b}] = {hard * onHard[a] * onHard[b] + (Rational(1) - hard) * onEasy[a] * onEasy[b], 0};
      for (unsigned c = b; c < kinds && sizes > 2; ++c)
        statistics.jointErrors[{a, b, c}] = {
            hard * onHard[a] * onHard[b] * onHard[c] + (Rational(1) - hard) * onEasy[a] * onEasy[b] * onEasy[c], 0};
    }
  return statistics;
}

} // namespace accord::test
