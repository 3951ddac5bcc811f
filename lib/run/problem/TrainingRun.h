// A whole training with failures: what is asked and what an answer is, as plain data.
#pragma once
#include "lib/support/Result.h"
#include <cstdint>
#include <string>
#include <vector>

namespace accord {

/// A number that is not known exactly: its median, and the 5 % and 95 % quantiles. Between them it is log-normal on
/// either side of the median, or normal where `low` is not positive; it is never negative, and not beyond its 1 % and
/// 99 % quantiles: what is known of it says nothing of its tails, and means would be theirs.
struct RunInput {
  double value = 0, low = 0, high = 0;
  static RunInput exact(double value) { return {value, value, value}; }
  bool isExact() const { return low == value && high == value; }
};

/// Times are seconds. The training makes `steps` steps; after each `interval` of them it writes a checkpoint. Failures
/// of devices are a Poisson process in calendar time. Each takes the training back to the last checkpoint and stops it
/// for an outage (detection, then restart), which is exponentially distributed; one that comes during an outage starts
/// it anew.
struct RunProblem {
  double samples = 0; ///< that all steps see together, as the job states them
  double steps = 0;
  RunInput step;                ///< of a step without stragglers
  RunInput slowdown;            ///< share by which stragglers lengthen a step
  int64_t devices = 1;          ///< that the training uses
  int64_t servers = 1;          ///< that hold them
  RunInput failureRate;         ///< failures of one device in a second
  RunInput detection;           ///< from a failure to its discovery
  RunInput restart;             ///< from the discovery to the next step, with loading the checkpoint
  double checkpointBytes = 0;   ///< of one checkpoint of all devices
  RunInput checkpointBandwidth; ///< bytes per second of all devices together; 0: checkpoints take no time
  bool asynchronous = false;    ///< devices compute while a checkpoint is written
  RunInput blocking;            ///< an asynchronous checkpoint stops the devices for so long
  double interval = 0;          ///< of training between two checkpoints; 0: the best one is chosen
  int64_t spareServers = -1;    ///< that replace failed ones; -1: always enough
  double repairShare = 0;       ///< of failures after which a server has to be repaired
  RunInput repair;              ///< of one server
  RunInput joulesPerStep;       ///< of the whole cluster
  double idleWatts = 0;         ///< of all devices while no step runs
  double pricePerSecond = 0;    ///< dollars
  double gramsPerJoule = 0;     ///< carbon dioxide equivalents
};

/// Mean, and the 5 % and 95 % quantiles. Where failures are rare the mean can lie beyond a quantile (0.04 failures on
/// average, and none with 96 %): then the interval reaches to the mean (of failures, to the whole number beyond it), so
/// it always holds the mean, and at least 90 %.
struct RunValue {
  double value = 0, low = 0, high = 0;
};

struct RunEstimate {
  double interval = 0;       ///< of training between two checkpoints, chosen or given
  double checkpointTime = 0; ///< of writing one, at the medians
  RunValue goodput;          ///< effective training time ratio: time of steps that count / calendar time
  RunValue interruptions;    ///< failures, those during outages among them
  RunValue time;             ///< calendar time
  RunValue deviceHours;
  RunValue energy; ///< joules
  RunValue price;  ///< dollars
  RunValue carbon; ///< grams of carbon dioxide equivalents
  /// Means that sum to the mean of `time`: steps as planned, what stragglers add to them, checkpoints for which
  /// devices wait, steps that are made again, outages, and waiting for repaired servers.
  double stepTime = 0, stragglerTime = 0, blockedTime = 0, lostTime = 0, outageTime = 0, repairTime = 0;
  int64_t sparesNeeded =
      0; ///< minimum of spare servers with which at most 0.1 % of the time is spent waiting for repair
};

/// What a plan says of its whole training.
struct TrainingRun {
  RunProblem problem;
  RunEstimate estimate;
  std::vector<std::string> assumptions; ///< defaults that change a number
};

/// So begins the assumption of a plan that states how long to train, but whose run cannot be estimated.
constexpr const char *kNoRun = "run: not estimated: ";

/// What is wrong with a problem, as sentences (A0302); empty: it can be estimated.
Errors check(const RunProblem &problem);
/// Whether all numbers are finite, and steps that count are at least 1 in 10,000 of the calendar time: else failures
/// come so often that such a training does not end in practice.
bool isBounded(const RunEstimate &estimate);

} // namespace accord
