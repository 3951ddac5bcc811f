// Shockwave: social welfare over a window of rounds, with finish-time fairness.
#pragma once
#include "lib/jobs/problem/Allocation.h"
#include "lib/jobs/simulate/Simulator.h"
#include <map>
#include <set>

namespace accord::jobs {

/// The parameters of the published configuration for 32 devices.
struct ShockwaveOptions {
  unsigned window = 20; ///< rounds
  double round = 60;    ///< seconds; that of the simulation
  double k = 1e-3;      ///< of the longest remaining time, for each second
  double lambda = 12;   ///< power of the priority of jobs that are late
  double maxRatio = 1;  ///< of the time of completion to that in an equal share
  double minProgress = 1e-6;
  double momentum = 0.9; ///< of the mean of the estimates in equal shares
};

/// The objective of Shockwave (Zheng et al., NSDI 2023) as its published program states it, for rigid jobs on one type
/// of devices. With N jobs, a window of R rounds of T seconds and n_j rounds for job j,
///   sum_j p_j * log(progress_j(n_j)) / (N * R) - k * max_j max(0, remaining_j - n_j * T)
/// is maximized, where progress is the done part of a job's work. First all p_j are 1, and
///   now + R * T + max(0, remaining_j - n_j * T) / share <= maxRatio * equal_j, with share = min(1, devices / N),
/// has to hold, where equal_j is the mean over time of the estimates arrival + time alone / share, which are made when
/// jobs come or go, and the last of them, in the parts `momentum` and the rest. Where that cannot be,
/// the constraints are left out, and a job that would be late by (now + remaining / share) / equal_j > maxRatio has
/// this ratio to the power of lambda as its p_j (of 100 if it is complete within a round), at most 10^6.
///
/// What differs: the logarithm is exact, not piecewise linear; work and speed are known, not estimated; and the rounds
/// of the window share one budget of devices times rounds. In a round, first run jobs that need all rounds left, then
/// those with the fewest planned rounds, then others by descending remaining time, each where its devices are free. The
/// window is planned again when jobs come or go, and at its end.
class ShockwavePolicy : public Policy {
public:
  explicit ShockwavePolicy(const ShockwaveOptions &options = {}) : options(options) {}
  std::vector<JobPlacement> decide(double now, const Cluster &cluster, const std::vector<JobView> &jobs) override;

  /// The objective above of the last plan of a window.
  double planValue() const { return lastValue; }
  const std::map<size_t, unsigned> &plan() const { return rounds; } ///< rounds that jobs still have in the window

private:
  struct Job {
    size_t number = 0;
    unsigned devices = 1;
    double remaining = 0, alone = 0; ///< seconds on its devices: left, and of all its work
    double weight = 1;               ///< p_j
    double latest = 0;               ///< seconds that may remain after the window
  };
  /// Estimates of the completion in an equal share.
  struct Share {
    double sum = 0, since = 0; ///< integral over time; start of the last estimate
    double first = 0, last = 0;
  };
  void estimate(double now, const std::vector<Job> &active, double share);
  double equalShare(double now, size_t job) const;
  struct Limits {
    int64_t devices = 0;
    bool isFair = false; ///< jobs are complete as early as in an equal share
    double longest = 0;  ///< seconds that may remain of a job after the window
  };
  double minRounds(const Job &job, const Limits &limits) const;
  std::optional<AllocationSolution> solve(const std::vector<Job> &active, const Limits &limits, double unit) const;
  std::set<double> longestTimes(const std::vector<Job> &active) const;
  bool planWindow(const std::vector<Job> &active, int64_t devices, bool isFair);
  double valueOf(const std::vector<Job> &active) const;
  void replan(double now, std::vector<Job> active, int64_t devices);
  double utility(const Job &job, unsigned count) const;

  ShockwaveOptions options;
  std::map<size_t, unsigned> rounds;
  std::map<size_t, Share> shares; ///< by job
  unsigned left = 0;              ///< rounds of the window
  double lastValue = 0;
};

} // namespace accord::jobs
