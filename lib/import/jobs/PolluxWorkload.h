// Workloads of the Pollux artefact (and of Sia, which keeps the format): which jobs arrive when.
#pragma once
#include "lib/support/Result.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace accord::jobs {

struct PolluxJob {
  std::string name, application;
  double arrival = 0;   ///< seconds
  unsigned devices = 1; ///< that the user asks for
  int64_t batch = 0;    ///< of all devices
  unsigned line = 0;    ///< of the file
};

/// Reads a CSV text with the columns name, time, application, num_replicas and batch_size. Jobs stay in the order of
/// the file; names are not empty and occur once. Errors have the code A1101 and the place of the cell.
Result<std::vector<PolluxJob>> readPolluxWorkload(std::string_view text, const std::string &path);
/// The same of a file.
Result<std::vector<PolluxJob>> readPolluxWorkloadFile(const std::string &path);

} // namespace accord::jobs
