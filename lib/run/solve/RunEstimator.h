// What a whole training takes, with failures and checkpoints, as means and 90 % intervals.
#pragma once
#include "lib/run/problem/TrainingRun.h"

namespace accord {

/// One set of exact inputs, in seconds: what a training takes on average, and how that varies.
///
/// With failures at the rate r, segments of length s = interval + blocking and a mean loss u after each failure, a
/// segment takes (1/r + u) (exp(r s) - 1) on average (Daly, FGCS 22, 2006, for failures that may hit the same segment
/// again); the failures of n segments are negative binomial, n exp(r s) - n on average. For r s -> 0 the effective
/// training time ratio is (1 - r (u + interval / 2)) / (1 + w / interval), the form of Kokolis et al. (HPCA 2025).
struct RunScenario {
  double steps = 0;    ///< seconds of all steps, with stragglers
  double rate = 0;     ///< failures of all devices in a second
  double outage = 0;   ///< detection and restart, mean
  double wait = 0;     ///< for a repaired server, mean over all failures
  double writing = 0;  ///< of a checkpoint
  double blocking = 0; ///< of it what devices wait for
  double interval = 0; ///< of steps between two checkpoints
  bool asynchronous = false;

  double segments() const { return steps / interval; }
  double segment() const { return interval + blocking; }
  /// Mean and variance of the failures that stop the training: of the negative binomial distribution.
  double failures() const;
  double failureVariance() const;
  /// Mean of all failures: while an outage of the mean length u lasts, r u more come on average, geometrically
  /// distributed. Each of them starts the outage anew, which leaves the time that it takes as it is, because that is
  /// exponentially distributed and so has no memory.
  double interruptions() const { return failures() * (1 + rate * outage); }
  /// Their variance less their mean.
  double interruptionExcess() const;
  /// Mean time since the last checkpoint when a failure comes, and its variance: of the exponential distribution
  /// within a segment.
  double lost() const;
  double lostVariance() const;
  /// Steps made again after a failure, mean: an asynchronous checkpoint counts when it is written, so a failure takes
  /// the training back by `writing` more.
  double redone() const { return lost() + (asynchronous ? writing : 0); }
  /// Mean calendar time.
  double time() const;
};

/// Young's interval (CACM 17, 1974): sqrt(2 w / rate), seconds; `w` is what devices wait for a checkpoint.
double youngInterval(double w, double rate);
/// Daly's higher-order interval (FGCS 22, 2006, equation 37): with m = 1 / rate and w < 2 m,
/// sqrt(2 w m) (1 + sqrt(w / (2 m)) / 3 + w / (18 m)) - w, else m.
double dalyInterval(double w, double rate);
/// The interval that minimizes the mean time of a segment per interval: (1 - rate x) exp(rate (x + w)) = 1.
double bestInterval(double w, double rate);

/// Probability that a customer finds all `servers` busy (Erlang B) when `load` of them are busy on average with no
/// limit; by Erlang's recursion.
double erlangB(int64_t servers, double load);
/// Mean time that one failure waits for a repaired server, in seconds: a failure needs a repair with probability
/// `share`, failures come at `rate`, a repair takes `repair`, and `spares` servers stand by; 0 where `spares` < 0.
/// Machine repair with a stopped machine: of s spares, all are in repair with probability erlangB(s, rate share
/// repair), then the first of s + 1 repairs ends after repair / (s + 1).
double repairWait(int64_t spares, double rate, double share, double repair);

/// A rank-1 lattice rule (Korobov) of kRunScenarios points over the uncertain inputs gives scenarios of equal weight;
/// in each the failures are negative binomial, and what they cost given their number is taken as a gamma distribution
/// of the right mean and variance (Wilson and Hilferty, PNAS 17, 1931). `problem` has no errors (`check`).
RunEstimate estimateRun(const RunProblem &problem);
/// Of it, the interval of checkpoints, the calendar time, and the mean of interruptions: a third of the work.
struct RunTime {
  double interval = 0;
  RunValue time;
  double interruptions = 0;
};
RunTime estimateRunTime(const RunProblem &problem);
constexpr int kRunScenarios = 1021;

/// The scenario in which each input is its median.
RunScenario medianScenario(const RunProblem &problem);

} // namespace accord
