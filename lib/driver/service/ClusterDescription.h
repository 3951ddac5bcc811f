// What an operator says of a cluster that a scheduler process plans: a `jobs` block without jobs, or a cluster alone.
#pragma once
#include "lib/driver/Options.h"
#include "lib/jobs/problem/JobsRequest.h"
#include <map>

namespace accord {

struct ClusterDescription {
  std::string name = "cluster";
  jobs::JobsRequest operation;      ///< tenants, capacities, objectives, limits
  std::string target;               ///< as --target names it: NAME or FILE:NAME; empty: nothing describes the devices
  std::vector<std::string> types;   ///< of its devices
  std::vector<double> pricePerHour; ///< of a device of each type; 0: not stated
  std::map<std::string, double> watts; ///< that a device of each type may draw; none where the machine does not say
  std::vector<std::pair<std::string, int64_t>> servers; ///< type and devices of each, as described
};

/// Reads FILE.dnn with a `jobs` block (its jobs, if it has some, are left out), FILE.accel, FILE.accel:NAME, or the
/// name of a cluster of the catalogue. Nothing after errors, which are printed.
std::optional<ClusterDescription> readClusterDescription(const Options &options);

} // namespace accord
