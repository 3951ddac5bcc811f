// Traces of jobs as the simulator of Gavel reads them.
#pragma once
#include "lib/support/Result.h"
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace accord::jobs {

/// A job of a trace.
struct GavelJob {
  std::string application; ///< "ResNet-18 (batch size 128)"
  std::string command, folder;
  double steps = 0;
  unsigned gang = 1;         ///< devices, all at once
  double arrival = 0;        ///< seconds
  double weight = 1;         ///< its priority
  std::optional<double> slo; ///< multiple of the duration alone by which it has to be complete
  unsigned line = 0;         ///< of the trace, from 1
};

/// Jobs by arrival. The format (github.com/stanford-futuredata/gavel, scheduler/utils.py and traces/README) has one job
/// a line, in columns between tabs: application, command, folder, the option of the steps, whether data are needed (0
/// or 1), steps, devices, priority, service-level objective (negative: none), arrival in seconds. The older one
/// (traces/msr) has neither folder, priority nor objective, and the arrival before the devices. The first line says
/// which it is. Error A1101 at the line and column of what is wrong.
Result<std::vector<GavelJob>> readGavelTrace(std::string_view text, const std::string &path);

} // namespace accord::jobs
