// What the command line says of events and noise in a simulation of jobs.
#pragma once
#include "lib/driver/simulation/Jobs.h"
#include "lib/jobs/problem/FairAllocation.h"
#include "lib/jobs/simulate/Simulator.h"

namespace accord {

/// Sets the events, the noise, the checkpoints and the limit of restarts of `simulation`. Error A0801 with the option
/// and what is expected there.
Result<void> readJobEvents(const JobsOptions &options, const jobs::Cluster &cluster,
                           jobs::SimulationOptions &simulation);

/// Seconds of a time as written: "90 s", "2 h", "30d"; a plain number counts as seconds. Nothing where it is no time of
/// at least 0.
std::optional<double> readSeconds(const std::string &text);

/// The tenants of `--tenants a=2,b=1`: names with weights. Error A0801.
Result<std::vector<jobs::FairTenant>> readTenants(const std::string &text);

} // namespace accord
