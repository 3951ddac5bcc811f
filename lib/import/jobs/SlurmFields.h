// Values of fields as Slurm prints them, in text and in JSON (man sacct, man squeue). Internal to lib/import/jobs.
#pragma once
#include "lib/jobs/problem/TraceJob.h"
#include <cstdint>
#include <optional>
#include <string_view>

namespace accord::jobs {

/// GPUs of a list of trackable resources: "cpu=8,gres/gpu:a100=4,gres/gpu=4".
struct SlurmDevices {
  int64_t count = 0;              ///< the sum over types, or the count without a type if that is larger
  std::vector<std::string> types; ///< with their names, in the order of the list, each once
};
/// Nothing where a count of GPUs is no whole number from 0 to 1,000,000.
std::optional<SlurmDevices> readSlurmDevices(std::string_view resources);
/// Adds one resource of such a list: "gres/gpu:a100" and its count.
void addSlurmDevice(SlurmDevices &devices, int64_t &typed, std::string_view name, int64_t count);

/// "COMPLETED", "CANCELLED by 1000"; Unknown for a word that is none of Slurm's states.
TraceState slurmState(std::string_view text);

/// A duration, 0 for "UNLIMITED", "Partition_Limit", "INVALID", "Unknown", "None" and an empty text; nothing for
/// others.
std::optional<double> slurmTimeLimit(std::string_view text);

/// Whether a time is not known: empty, "Unknown", "None", "N/A".
bool isUnknownTime(std::string_view text);

/// The indices of an array's pending tasks: "1-4,7", "0-20:5", "1-10%2" (of which the number that may run at once is
/// not looked at), with or without brackets; a list that Slurm has cut ends with "...". Nothing for other texts and for
/// more than 1,000,000 tasks.
std::optional<std::vector<int64_t>> slurmTasks(std::string_view text);

} // namespace accord::jobs
