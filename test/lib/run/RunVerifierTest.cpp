// The verifier of whole trainings: estimates of random problems hold, and no number of them may be another.
#include "lib/run/verify/RunVerifier.h"
#include "lib/run/solve/RunEstimator.h"
#include "lib/support/SplitMix.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace accord;

namespace {

/// From seconds of training without a failure to months with some hundred, exact inputs and wide ones, with and
/// without checkpoints that cost something, spare servers, energy, prices.
RunProblem drawProblem(SplitMix &random) {
  auto scaled = [&](double min, double max) { return min * std::pow(max / min, random.unit()); };
  auto maybe = [&] { return random.below(2) == 0; };
  auto input = [&](double value, double factor) {
    return maybe() ? RunInput::exact(value) : RunInput{value, value / factor, value * factor};
  };
  RunProblem p;
  p.samples = 1e6;
  double seconds = scaled(0.1, 30), days = scaled(0.05, 60);
  p.step = input(seconds, 1.1);
  p.steps = std::ceil(days * 86400 / seconds);
  if (maybe())
    p.slowdown = {0.02, 0, 0.1};
  p.servers = static_cast<int64_t>(scaled(1, 2000)), p.devices = 8 * p.servers;
  double failures = random.below(4) ? scaled(150, 300) : scaled(0.01, 0.3); // what lies between is slow to verify
  p.failureRate =
      maybe() && maybe() ? RunInput::exact(0) : input(failures / (days * 86400 * static_cast<double>(p.devices)), 2);
  double outage = scaled(1, std::min(3000.0, days * 86400 / failures / 4)); // it ends
  p.detection = input(outage * 0.2, 3), p.restart = input(outage * 0.8, 3);
  p.checkpointBytes = 1e12;
  p.checkpointBandwidth = maybe() && maybe() ? RunInput::exact(0) : input(1e12 / scaled(0.01, 60), 2);
  if (maybe())
    p.asynchronous = true, p.blocking = {0.5, 0.05, 5};
  if (maybe())
    p.interval = days * 86400 / std::max(2.0, failures) * scaled(0.05, 0.8);
  if (maybe())
    p.spareServers = static_cast<int64_t>(random.below(3)), p.repairShare = 0.4,
    p.repair = input(scaled(60, days * 86400 / failures / 2), 2);
  if (maybe()) {
    p.joulesPerStep = input(scaled(500, 700) * static_cast<double>(p.devices) * seconds, 1.2);
    p.idleWatts = 90 * static_cast<double>(p.devices);
  }
  p.pricePerSecond = 0.001 * static_cast<double>(p.devices), p.gramsPerJoule = 1e-4;
  return p;
}

std::vector<TrainingRun> drawRuns(int number, uint64_t seed) {
  SplitMix random(seed);
  std::vector<TrainingRun> runs;
  while (static_cast<int>(runs.size()) < number) {
    RunProblem p = drawProblem(random);
    RunEstimate estimate = estimateRun(p);
    if (isBounded(estimate))
      runs.push_back({p, estimate, {}});
  }
  return runs;
}

} // namespace

TEST(RunVerifier, ConfirmsEstimatesOfRandomProblems) {
  for (const TrainingRun &run : drawRuns(16, 1)) {
    const RunProblem &p = run.problem;
    for (const Error &error : verifyRun(run).findings)
      ADD_FAILURE() << p.steps << " steps of " << p.step.value << " s, " << run.estimate.interruptions.value
                    << " failures, outages of " << p.detection.value + p.restart.value << " s, a checkpoint each "
                    << run.estimate.interval << " s in " << run.estimate.checkpointTime << " s: " << error.message;
  }
}

// The margins are those that the header states, twice: the estimate itself may have used one of them.
TEST(RunVerifier, RefusesEachNumberThatIsAnother) {
  size_t forged = 0;
  for (const TrainingRun &run : drawRuns(4, 2)) {
    const RunEstimate &e = run.estimate;
    auto refused = [&](const char *what, auto change) {
      TrainingRun wrong = run;
      change(wrong.estimate);
      ++forged;
      EXPECT_FALSE(verifyRun(wrong).holds()) << what << " of " << e.time.value / 86400 << " days with "
                                             << e.interruptions.value << " failures, " << e.interval;
    };
    // A mean goes up or down, and its interval with it.
    auto moved = [&](const char *what, RunValue RunEstimate::*field, double margin) {
      const RunValue &stated = e.*field;
      double by = std::max(margin * stated.value, 0.05 * (stated.high - stated.low)) * 1.01 + 1e-9;
      for (double sign : {-1.0, 1.0})
        refused(what, [&](RunEstimate &wrong) {
          (wrong.*field).value += sign * by;
          (wrong.*field).low += sign * by, (wrong.*field).high += sign * by;
        });
    };
    moved("the time", &RunEstimate::time, 0.02);
    moved("the goodput", &RunEstimate::goodput, 0.02);
    moved("the energy", &RunEstimate::energy, 0.02);
    moved("the price", &RunEstimate::price, 1e-5);
    moved("the carbon", &RunEstimate::carbon, 1e-5);
    moved("the device hours", &RunEstimate::deviceHours, 1e-5);
    if (e.interruptions.value > 1e-6)
      for (double by : {0.92, 1.08})
        refused("interruptions", [&](RunEstimate &wrong) { wrong.interruptions.value *= by; });
    // Ends of intervals go inside, or as far outside again, where that is more than the margin of 1 %.
    auto ends = [&](const char *what, RunValue RunEstimate::*field) {
      const RunValue &stated = e.*field;
      double up = stated.high - stated.value, down = stated.value - stated.low;
      if (up > 0.04 * stated.value) {
        refused(what, [&](RunEstimate &wrong) { (wrong.*field).high -= 0.9 * up; });
        refused(what, [&](RunEstimate &wrong) { (wrong.*field).high = stated.value; });
        if (field != &RunEstimate::goodput || stated.high + up < 1)
          refused(what, [&](RunEstimate &wrong) { (wrong.*field).high += 2 * up; });
      }
      if (down > 0.04 * stated.value) {
        refused(what, [&](RunEstimate &wrong) { (wrong.*field).low += 0.9 * down; });
        refused(what, [&](RunEstimate &wrong) { (wrong.*field).low = stated.value; });
        refused(what, [&](RunEstimate &wrong) { (wrong.*field).low -= 2 * down; });
      }
      refused(what, [&](RunEstimate &wrong) { (wrong.*field).low = stated.value * 1.0001 + 1; });
      refused(what, [&](RunEstimate &wrong) { (wrong.*field).high = stated.value * 0.9999 - 1; });
    };
    ends("ends of the time", &RunEstimate::time);
    ends("ends of the goodput", &RunEstimate::goodput);
    if (run.problem.joulesPerStep.value > 0)
      ends("ends of the energy", &RunEstimate::energy);
    if (e.interruptions.value > 20) {
      double up = e.interruptions.high - e.interruptions.value, down = e.interruptions.value - e.interruptions.low;
      for (double by : {-0.8, 2.0}) {
        refused("most interruptions", [&](RunEstimate &wrong) { wrong.interruptions.high += std::ceil(by * up); });
        refused("fewest interruptions", [&](RunEstimate &wrong) { wrong.interruptions.low -= std::ceil(by * down); });
      }
    }
    // Time goes from each part to another one.
    std::array parts{&RunEstimate::stepTime, &RunEstimate::stragglerTime, &RunEstimate::blockedTime,
                     &RunEstimate::lostTime, &RunEstimate::outageTime,    &RunEstimate::repairTime};
    for (auto from : parts)
      for (auto to : parts)
        if (double by = 0.21 * e.*from + 2e-3 * e.time.value; from != to)
          refused("a part of the time", [&](RunEstimate &wrong) { wrong.*from -= by, wrong.*to += by; });
    for (auto part : parts)
      refused("a part of the time alone", [&](RunEstimate &wrong) { wrong.*part += 2e-6 * e.time.value; });
    refused("the time of a checkpoint", [](RunEstimate &wrong) { wrong.checkpointTime += 1e-3; });
    refused("spare servers", [](RunEstimate &wrong) { ++wrong.sparesNeeded; });
    refused("spare servers", [](RunEstimate &wrong) { --wrong.sparesNeeded; });
    for (double by : {0.999, 1.001})
      if (run.problem.interval > 0)
        refused("the stated interval", [&](RunEstimate &wrong) { wrong.interval *= by; });
  }
  EXPECT_GT(forged, 200u);
}

// A checkpoint interval that the estimator chose is the best one: a fifth more or less is worse, and known to be.
TEST(RunVerifier, RefusesIntervalsThatAreNotTheBest) {
  size_t forged = 0;
  for (TrainingRun &run : drawRuns(6, 3)) {
    run.problem.interval = 0;
    run.problem.failureRate =
        RunInput::exact(200 / (run.problem.steps * run.problem.step.value) / static_cast<double>(run.problem.devices));
    run.problem.checkpointBandwidth = RunInput::exact(run.problem.checkpointBytes / 2);
    RunEstimate best = estimateRun(run.problem);
    if (!isBounded(best))
      continue;
    for (double by : {0.5, 2.0}) {
      RunProblem forced = run.problem;
      forced.interval = best.interval * by;
      double whole = run.problem.steps * run.problem.step.value;
      if (best.interval < 4 * run.problem.step.value || forced.interval > 0.5 * whole)
        continue;
      // Every other number is right for the interval that is stated: only that it is not the best remains.
      TrainingRun wrong{run.problem, estimateRun(forced), {}};
      ++forged;
      Verification proof = verifyRun(wrong);
      ASSERT_FALSE(proof.holds());
      EXPECT_NE(proof.findings.front().message.find("stated as the best"), std::string::npos)
          << proof.findings.front().message;
    }
    // Nor is it shorter than a step, or longer than the training.
    for (double stated : {run.problem.step.value * 0.5, run.problem.steps * run.problem.step.value * 3}) {
      TrainingRun wrong{run.problem, best, {}};
      wrong.estimate.interval = stated;
      Errors findings = verifyRun(wrong).findings;
      EXPECT_TRUE(std::ranges::any_of(findings, [](const Error &error) {
        return error.message.find("between two of them are") != std::string::npos;
      }));
    }
  }
  EXPECT_GT(forged, 4u);
}
