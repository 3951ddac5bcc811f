// Estimates of whole trainings: against failures that are simulated one by one, limits, monotony and brute force.
#include "lib/run/solve/RunEstimator.h"
#include "lib/run/problem/RunPriors.h"
#include "lib/run/verify/RunVerifier.h"
#include "lib/support/SplitMix.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

using namespace accord;

namespace {

/// 30 days of steps on 1,024 devices that fail every 2,000 days each; a checkpoint takes 40 s.
RunProblem month() {
  RunProblem p;
  p.steps = 30 * 86400 / 10.0;
  p.step = RunInput::exact(10);
  p.devices = 1024, p.servers = 128;
  p.failureRate = RunInput::exact(1 / (2000 * 86400.0));
  p.detection = RunInput::exact(300);
  p.restart = RunInput::exact(900);
  p.checkpointBytes = 2e12;
  p.checkpointBandwidth = RunInput::exact(50e9);
  return p;
}

double exponential(SplitMix &random, double mean) { return -mean * std::log1p(-random.unit()); }

struct SimulatedRun {
  double time = 0, failures = 0;
};
/// One training, failure by failure: work since the last checkpoint that is written is lost. A failure while
/// the training stands begins the outage anew. Of `spares` >= 0 servers one replaces each failed one that has to be
/// repaired.
SimulatedRun simulate(const RunProblem &p, double interval, SplitMix &random) {
  SimulatedRun run;
  double rate = static_cast<double>(p.devices) * p.failureRate.value, steps = p.steps * p.step.value;
  double writing = p.checkpointBytes / p.checkpointBandwidth.value;
  double blocking = p.asynchronous ? p.blocking.value : writing;
  double outage = p.detection.value + p.restart.value;
  double saved = 0;               // steps of the last checkpoint that is written
  double pending = -1, ready = 0; // steps of one that is being written, and when it is
  double at = 0;                  // steps done
  std::vector<double> repairs;    // ends
  double next = exponential(random, 1 / rate);
  while (at < steps - 1e-9 || saved < at) {
    // Until the next checkpoint begins, or the end.
    double todo = std::min(steps, saved + (pending >= 0 ? pending - saved : 0) + interval) - at;
    double length = todo + blocking;
    if (next > length) {
      next -= length, run.time += length, at += todo;
      if (pending >= 0)
        saved = pending;
      if (p.asynchronous && at < steps - 1e-9)
        pending = at, ready = run.time + writing - blocking;
      else
        saved = at, pending = -1;
      continue;
    }
    run.time += next, ++run.failures;
    if (pending >= 0 && ready <= run.time)
      saved = pending;
    pending = -1, at = saved;
    next = exponential(random, 1 / rate);
    double left = exponential(random, outage);
    for (; next < left; next = exponential(random, 1 / rate), left = exponential(random, outage))
      run.time += next, ++run.failures;
    run.time += left;
    if (p.spareServers >= 0 && random.unit() < p.repairShare) {
      std::erase_if(repairs, [&](double end) { return end <= run.time; });
      repairs.push_back(run.time + exponential(random, p.repair.value));
      if (static_cast<int64_t>(repairs.size()) > p.spareServers)
        run.time = std::max(run.time, *std::min_element(repairs.begin(), repairs.end()));
    }
    next = exponential(random, 1 / rate);
  }
  return run;
}

struct Simulated {
  double time, timeLow, timeHigh, failures, failuresLow, failuresHigh;
};
Simulated simulateMany(const RunProblem &p, double interval, int often) {
  SplitMix random(7);
  std::vector<double> times, failures;
  for (int i = 0; i < often; ++i) {
    SimulatedRun run = simulate(p, interval, random);
    times.push_back(run.time), failures.push_back(run.failures);
  }
  std::ranges::sort(times);
  std::ranges::sort(failures);
  auto mean = [](const std::vector<double> &of) {
    return std::accumulate(of.begin(), of.end(), 0.0) / static_cast<double>(of.size());
  };
  return {mean(times),    times[often / 20],    times[often * 19 / 20],
          mean(failures), failures[often / 20], failures[often * 19 / 20]};
}

void expectAsSimulated(const RunProblem &p, int often = 4000) {
  RunEstimate e = estimateRun(p);
  Simulated s = simulateMany(p, e.interval, often);
  EXPECT_NEAR(e.time.value / s.time, 1, 0.004);
  EXPECT_NEAR(e.time.low / s.timeLow, 1, 0.006);
  EXPECT_NEAR(e.time.high / s.timeHigh, 1, 0.008);
  EXPECT_NEAR(e.interruptions.value, s.failures, 0.02 * s.failures + 0.05);
  EXPECT_NEAR(e.interruptions.low, s.failuresLow, 0.03 * s.failuresLow + 1);
  EXPECT_NEAR(e.interruptions.high, s.failuresHigh, 0.03 * s.failuresHigh + 1);
  EXPECT_NEAR(e.goodput.high, p.steps * p.step.value / s.timeLow, 0.006);
  EXPECT_NEAR(e.goodput.low, p.steps * p.step.value / s.timeHigh, 0.008);
}

} // namespace

TEST(RunEstimator, IsWhatSimulatedFailuresTake) { expectAsSimulated(month()); }

TEST(RunEstimator, IsWhatFewSimulatedFailuresTake) {
  RunProblem p = month();
  p.devices = 64, p.servers = 8;
  expectAsSimulated(p, 20000);
}

TEST(RunEstimator, IsWhatFailuresInMostSegmentsTake) {
  RunProblem p = month();
  p.devices = 131072, p.servers = 16384;
  p.interval = 1800;
  p.steps /= 10;
  expectAsSimulated(p);
}

TEST(RunEstimator, IsWhatAsynchronousCheckpointsTake) {
  RunProblem p = month();
  p.asynchronous = true;
  p.blocking = RunInput::exact(0.5);
  p.checkpointBandwidth = RunInput::exact(5e9);
  p.interval = 1200;
  expectAsSimulated(p);
}

TEST(RunEstimator, IsWhatWaitingForRepairTakes) {
  RunProblem p = month();
  p.devices = 8192, p.servers = 1024;
  p.spareServers = 2;
  p.repairShare = 0.4;
  p.repair = RunInput::exact(24 * 3600);
  RunEstimate e = estimateRun(p);
  EXPECT_NEAR(e.time.value / simulateMany(p, e.interval, 2000).time, 1, 0.03); // repairs end in outages, too
  EXPECT_GT(e.repairTime, 0);
  p.spareServers = e.sparesNeeded;
  EXPECT_LT(estimateRun(p).repairTime, 1.5e-3 * e.time.value);
  p.spareServers = -1;
  EXPECT_EQ(estimateRun(p).repairTime, 0);
}

TEST(RunEstimator, MeetsItsLimits) {
  RunProblem p = month();
  p.failureRate = RunInput::exact(0);
  RunEstimate never = estimateRun(p); // one checkpoint at the end
  EXPECT_NEAR(never.time.value, 30 * 86400.0 + 40, 1);
  EXPECT_EQ(never.interruptions.high, 0);
  EXPECT_NEAR(never.goodput.low, 1, 1e-4);
  p = month();
  p.checkpointBytes = 0; // then every step is saved at once
  RunEstimate instant = estimateRun(p);
  EXPECT_NEAR(instant.interval, 10, 1e-9);
  EXPECT_EQ(instant.blockedTime, 0);
  double outages = instant.interruptions.value * 1200;
  EXPECT_NEAR(instant.time.value, 30 * 86400.0 + outages, instant.interruptions.value * 10);
  p.slowdown = RunInput::exact(0.1);
  EXPECT_NEAR(estimateRun(p).time.value / instant.time.value, 1.1, 1e-3);
}

TEST(RunEstimator, IsMonotone) {
  const RunEstimate base = estimateRun(month());
  auto longer = [&](auto change) {
    RunProblem p = month();
    change(p);
    RunEstimate e = estimateRun(p);
    EXPECT_GT(e.time.value, base.time.value);
    EXPECT_GT(e.time.high, base.time.high);
    EXPECT_LE(e.goodput.value, base.goodput.value);
  };
  longer([](RunProblem &p) { p.failureRate = RunInput::exact(1 / (1000 * 86400.0)); });
  longer([](RunProblem &p) { p.restart = RunInput::exact(1800); });
  longer([](RunProblem &p) { p.detection = RunInput::exact(1800); });
  longer([](RunProblem &p) { p.checkpointBytes *= 4; });
  longer([](RunProblem &p) { p.interval = 4 * estimateRun(p).interval; });
  longer([](RunProblem &p) { p.interval = 0.25 * estimateRun(p).interval; });
  longer([](RunProblem &p) { p.slowdown = RunInput::exact(0.02); });
  longer([](RunProblem &p) { p.spareServers = 0, p.repairShare = 0.4, p.repair = RunInput::exact(3600); });
}

TEST(RunEstimator, WidensWithItsInputs) {
  const RunEstimate exact = estimateRun(month());
  RunProblem p = month();
  p.failureRate = {p.failureRate.value, p.failureRate.value / 2, p.failureRate.value * 2};
  p.restart = {900, 240, 4000};
  RunEstimate wide = estimateRun(p);
  EXPECT_LT(wide.time.low, exact.time.low);
  EXPECT_GT(wide.time.high, exact.time.high);
  EXPECT_LT(wide.interruptions.low, exact.interruptions.low);
  EXPECT_GT(wide.interruptions.high, exact.interruptions.high);
  p = month();
  p.step = {10, 9, 11}; // then little else counts
  p.failureRate = RunInput::exact(0);
  wide = estimateRun(p);
  EXPECT_NEAR(wide.time.low / (27 * 86400.0), 1, 0.003);
  EXPECT_NEAR(wide.time.high / (33 * 86400.0), 1, 0.003);
  // Devices idle for what a step takes beyond the planned one, or less.
  p.joulesPerStep = RunInput::exact(1000), p.idleWatts = 20;
  wide = estimateRun(p);
  EXPECT_NEAR(wide.energy.low / (p.steps * (1000 - 20)), 1, 0.001);
  EXPECT_NEAR(wide.energy.high / (p.steps * (1000 + 20)), 1, 0.001);
}

TEST(RunEstimator, ChoosesTheBestInterval) {
  for (double w : {0.01, 1.0, 40.0, 600.0})
    for (double rate : {1e-7, 1e-5, 1e-3}) {
      RunScenario s;
      s.steps = 1e7, s.rate = rate, s.outage = 600, s.writing = s.blocking = w;
      double best = 0, min = INFINITY;
      for (double interval = w / 100; interval < 1e7; interval *= 1.0005) {
        s.interval = interval;
        if (s.time() < min)
          min = s.time(), best = interval;
      }
      EXPECT_NEAR(bestInterval(w, rate) / best, 1, 0.01) << w << " " << rate;
      s.interval = bestInterval(w, rate);
      EXPECT_LE(s.time(), min * (1 + 1e-9));
      if (w * rate < 0.02) { // then the published approximations hold, Daly's closer than Young's
        s.interval = dalyInterval(w, rate);
        EXPECT_LE(s.time(), min * (1 + 1e-5));
        double daly = std::abs(dalyInterval(w, rate) / bestInterval(w, rate) - 1);
        double young = std::abs(youngInterval(w, rate) / bestInterval(w, rate) - 1);
        EXPECT_LE(daly, young + 1e-9);
        EXPECT_LE(daly, 1e-3);
      }
    }
}

TEST(RunEstimator, IsTheFormulaOfKokolisForSmallLosses) {
  // N = 2,048 nodes of 8 devices, 6.5 failures per 1,000 node-days: their 1.8 h between failures.
  RunScenario s;
  s.rate = 2048 * 6.5e-3 / 86400;
  EXPECT_NEAR(1 / s.rate / 3600, 1.8, 0.01);
  for (double scale : {1.0, 0.1, 0.01}) {
    RunScenario one = s;
    one.rate *= scale;
    one.steps = 1e9, one.outage = 300, one.interval = 600, one.writing = one.blocking = 10;
    double kokolis = (1 - one.rate * (one.outage + one.interval / 2)) / (1 + one.writing / one.interval);
    EXPECT_NEAR(one.steps / one.time(), kokolis, 0.012 * scale * scale + 0.0017 * scale);
  }
}

TEST(RunEstimator, KnowsErlangsTable) {
  // Blocking probabilities of Erlang's formula: 10 servers with a load of 5, 1 server with a load of 1.
  EXPECT_NEAR(erlangB(10, 5), 0.018385, 1e-6);
  EXPECT_NEAR(erlangB(1, 1), 0.5, 1e-12);
  EXPECT_EQ(erlangB(0, 3), 1);
}

TEST(RunVerifier, ConfirmsEstimatesAndFindsWhatIsChanged) {
  RunProblem p = month();
  p.failureRate = {p.failureRate.value, p.failureRate.value / 2, p.failureRate.value * 2};
  p.restart = {900, 240, 4000}, p.detection = {120, 12, 1800};
  p.slowdown = {0.02, 0, 0.1}, p.step = {10, 9, 11};
  p.checkpointBandwidth = {50e9, 20e9, 120e9};
  p.joulesPerStep = {5e6, 3.5e6, 5.5e6}, p.idleWatts = 60 * 1024, p.pricePerSecond = 1, p.gramsPerJoule = 1e-4;
  p.spareServers = 1, p.repairShare = 0.4, p.repair = {86400, 40000, 200000};
  for (int form = 0; form < 4; ++form) {
    if (form == 1)
      p.asynchronous = true, p.blocking = {0.5, 0.05, 5};
    if (form == 2)
      p.devices = 8, p.servers = 1;
    if (form == 3)
      p.interval = 7200;
    TrainingRun run{p, estimateRun(p), {}};
    Verification proof = verifyRun(run);
    for (const Error &error : proof.findings)
      ADD_FAILURE() << form << ": " << error.message;
    if (form > 0)
      continue;
    auto caught = [&](auto change) {
      TrainingRun wrong = run;
      change(wrong.estimate);
      EXPECT_FALSE(verifyRun(wrong).holds());
    };
    caught([](RunEstimate &e) { e.time.value *= 1.03; });
    caught([](RunEstimate &e) { e.time.high *= 1.05; });
    caught([](RunEstimate &e) { e.time.low *= 0.95; });
    caught([](RunEstimate &e) { e.goodput.low *= 0.97; });
    caught([](RunEstimate &e) { e.interruptions.value *= 1.05; });
    caught([](RunEstimate &e) { e.interruptions.high += 5; });
    caught([](RunEstimate &e) { e.interval *= 2; });
    caught([](RunEstimate &e) { e.price.low *= 1.01; });
    caught([](RunEstimate &e) { e.carbon.high *= 1.01; });
    caught([](RunEstimate &e) { e.lostTime *= 2, e.time.value += e.lostTime / 2; });
  }
}

TEST(RunVerifier, ConfirmsEstimatesFromPriors) {
  for (int64_t devices : {1, 8, 1000, 100000})
    for (double interval : {0.0, 600.0, 86400.0})
      for (double days : {0.01, 30.0}) {
        RunProblem p;
        p.devices = devices, p.servers = (devices + 7) / 8;
        p.step = {10, 9, 12};
        p.steps = std::ceil(days * 86400 / 10);
        p.failureRate = {kFailuresPerDay.value / 86400, kFailuresPerDay.low / 86400, kFailuresPerDay.high / 86400};
        p.detection = kDetectionTime, p.restart = kRestartTime, p.slowdown = kSlowdown, p.repair = kRepairTime;
        p.repairShare = kRepairShare, p.spareServers = devices > 8 ? 10 : -1;
        double servers = static_cast<double>(p.servers);
        p.checkpointBytes = 1e9 * servers * 10;
        const RunInput &each = kServerCheckpointBandwidth;
        p.checkpointBandwidth = {each.value * servers, each.low * servers, each.high * servers};
        p.interval = interval;
        p.joulesPerStep = {4e3 * servers, 2.8e3 * servers, 4.4e3 * servers}, p.idleWatts = 100 * servers;
        p.pricePerSecond = 0.01;
        TrainingRun run{p, estimateRun(p), {}};
        if (devices == 100000 && interval == 86400 && days > 1) {
          EXPECT_FALSE(isBounded(run.estimate)); // a failure in each half hour, and a checkpoint a day
          continue;
        }
        ASSERT_TRUE(isBounded(run.estimate)) << devices << " " << interval;
        for (const Error &error : verifyRun(run).findings)
          ADD_FAILURE() << devices << " " << interval << " " << days << ": " << error.message;
        for (const RunValue &value : {run.estimate.time, run.estimate.goodput, run.estimate.interruptions,
                                      run.estimate.energy, run.estimate.price, run.estimate.deviceHours}) {
          EXPECT_LE(value.low, value.value) << devices << " " << interval << " " << days;
          EXPECT_LE(value.value, value.high) << devices << " " << interval << " " << days;
        }
      }
}

TEST(RunEstimator, HoldsItsMeanWhereFailuresAreRare) {
  RunProblem p = month();
  p.devices = 1, p.servers = 1; // 0.015 failures
  RunEstimate e = estimateRun(p);
  EXPECT_NEAR(e.interruptions.value, 0.015, 1e-3);
  EXPECT_EQ(e.interruptions.low, 0);
  EXPECT_EQ(e.interruptions.high, 1);
  EXPECT_EQ(e.time.high, e.time.value); // the 95 % quantile is that of no failure
  EXPECT_LT(e.time.low, e.time.value);
  EXPECT_EQ(e.goodput.low, e.goodput.value);
}

TEST(RunCheck, RefusesWhatIsNoTraining) {
  EXPECT_TRUE(check(month()).empty());
  auto refused = [](auto change) {
    RunProblem p = month();
    change(p);
    EXPECT_FALSE(check(p).empty());
  };
  refused([](RunProblem &p) { p.steps = 0; });
  refused([](RunProblem &p) { p.step = {1, 2, 3}; });
  refused([](RunProblem &p) { p.restart = RunInput::exact(-1); });
  refused([](RunProblem &p) { p.repairShare = 1.5; });
  refused([](RunProblem &p) { p.servers = 0; });
  refused([](RunProblem &p) { p.checkpointBytes = NAN; });
}
