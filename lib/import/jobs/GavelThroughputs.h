// Tables of throughputs as the simulator of Gavel reads them.
#pragma once
#include "lib/jobs/problem/SteadyJob.h"
#include "lib/support/Result.h"
#include <string>
#include <string_view>

namespace accord::jobs {

/// A table in JSON (github.com/stanford-futuredata/gavel, scheduler/simulation_throughputs.json): device type ->
/// "('application', gang)" -> "null": steps a second alone, and for each co-runner on the same devices a list of both
/// rates. Kept are the rates alone; 0 also stands for a type that lacks an application. Types are in the order of their
/// names. Error A1101 with its place.
Result<ThroughputTable> readGavelThroughputs(std::string_view text, const std::string &path);

} // namespace accord::jobs
