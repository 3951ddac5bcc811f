// Configurations of a job that nobody described, from the speeds at which it ran so far.
#pragma once
#include "lib/jobs/problem/Cluster.h"
#include "lib/service/problem/ServedJob.h"
#include <map>

namespace accord::service {

/// A speed that was seen: samples a second on a number of devices of a type, over a number of seconds.
struct SeenSpeed {
  std::string deviceType;
  int64_t devices = 1;
  double rate = 0, seconds = 0;
  double communication = -1; ///< share of its time in which it did nothing but communicate; -1: not known
};

/// Samples a second on devices that a job may have, of those `counts` of each type (index into `Cluster::types`);
/// nothing where it is not known yet. Of a number that was seen, its mean. Of others up to twice as many as ever (the
/// rule of Pollux: Qiao et al., OSDI 2021, section 4.1) by Amdahl's law fitted to the numbers that were seen of the
/// type,
///   rate(n) = r n / (1 + s (n - 1))
/// where one number n alone is seen with s = 0.05, or, if a trace says that a share c of its time on n > 1 devices is
/// communication alone, so that it is 1 - c as fast as n times one device, with s = c / (1 - c) / (n - 1). A type that
/// was not seen is as fast as one that was, times the ratio of `speeds`, which are of one device; 0: not known, then as
/// fast.
std::vector<SeenSpeed> learnedSpeeds(const jobs::Cluster &cluster, const std::vector<std::vector<int64_t>> &counts,
                                     const std::map<std::string, double> &speeds, const std::vector<SeenSpeed> &seen);

} // namespace accord::service
