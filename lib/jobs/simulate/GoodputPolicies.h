// Policies of others that choose a configuration for each job by its goodput, with the exact allocation in place of
// their own optimizers.
#pragma once
#include "lib/jobs/simulate/Simulator.h"

namespace accord::jobs {

/// Devices that a job may run on.
struct DeviceOption {
  unsigned type = 0, devices = 0;
  double rate = 0;    ///< work in a second, more than 0
  bool stays = false; ///< the job has this type and number of devices already
};

/// In each round, each job takes one of its options or waits, so that the sum of their values is largest
/// (`solveAllocation`), and jobs are packed on servers with the fewest moves (`packServers`). A job that is still in a
/// restart keeps its devices.
class ConfigurationPolicy : public Policy {
public:
  std::vector<JobPlacement> decide(double now, const Cluster &cluster, const std::vector<JobView> &jobs) override;
  std::optional<double> maxGap() const override { return worstGap; }

protected:
  /// The value of an option of a job, where waiting has 0; of at most 0 it is left out. `minRate` is the rate in
  /// the worst of the job's minimum configurations: the fewest devices of each type.
  virtual double value(double now, const JobView &job, const DeviceOption &option, double minRate) const = 0;

private:
  double worstGap = 0;
};

/// The options of a job: for each type the sizes of `deviceCounts` on which it has a rate.
std::vector<DeviceOption> deviceOptions(const Cluster &cluster, const JobView &job);
/// The rate in the worst minimum configuration; 0 without options.
double minRateOf(const std::vector<DeviceOption> &options);

struct SiaOptions {
  double power = -0.5;   ///< p, below 0
  double waitCost = 1.1; ///< lambda, of a job that waits
};

/// The objective of Sia (Jayaram Subramanya et al., SOSP 2023) with the parameters of its published simulator: the sum
/// of u^p and of lambda for each job that waits is minimized. u is the rate over that in the job's worst minimum
/// configuration, to 2 decimals and at most 3000. For a job that runs and changes its devices, u is multiplied by
/// (age - restarts * S) / (age + S), where S is the seconds of a restart. Rates are the measured ones, where Sia
/// estimates them; its doubling of devices from round to round is not there.
class SiaPolicy : public ConfigurationPolicy {
public:
  explicit SiaPolicy(const SiaOptions &options = {}) : options(options) {}

protected:
  double value(double now, const JobView &job, const DeviceOption &option, double minRate) const override;

private:
  SiaOptions options;
};

/// The objective of Pollux (Qiao et al., OSDI 2021) as AdaptDL's scheduler states it, with the exact allocation in
/// place of its genetic search: the sum of the speed-ups of goodput over one device is maximized, and the speed-up of a
/// job that runs and changes its devices counts 0.9 times. Rates are the measured ones, and the cluster does not grow.
class PolluxObjective : public ConfigurationPolicy {
protected:
  double value(double now, const JobView &job, const DeviceOption &option, double minRate) const override;
};

} // namespace accord::jobs
