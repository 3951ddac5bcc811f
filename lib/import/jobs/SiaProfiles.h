// Profiles of applications on several device types, as Sia's artefact has them (Jayaram Subramanya et al., SOSP 2023;
// github.com/siasosp23/artifacts, sia-simulator/traces).
//
// A folder has one folder for each application, and in it placements-TYPE.csv and scalability-TYPE.csv for each device
// type, and the curves validation-B.csv for all of them. Workloads have the columns of Pollux (`readPolluxWorkload`).
#pragma once
#include "lib/jobs/problem/TrainingProfile.h"
#include "lib/support/Result.h"
#include <map>
#include <string>
#include <vector>

namespace accord::jobs {

struct SiaProfiles {
  std::vector<std::string> types;        ///< ascending
  std::vector<std::string> applications; ///< ascending
  /// By application and device type; one that is missing could not be imputed.
  std::map<std::pair<std::string, std::string>, TrainingProfile> profiles;
  std::vector<std::string> assumptions; ///< what was imputed from what, and what was left out
};

/// Reads all applications of a folder on `types`, or without any on all types for which the folder has files.
///
/// A type that an application was not profiled on is imputed as Sia does: its times are those of another type, times a
/// ratio. Sia measures the ratio on one device; here it is the geometric mean of the ratios of step times of one
/// device, over the applications that were profiled on both and the local batches of either. Of several types, the
/// first with a ratio is taken. gpt_pmp is left out: its files have times of pipeline stages.
///
/// Errors have the code A1101 and the place in the file; also where the folder has no application, or no file for a
/// type of `types`.
Result<SiaProfiles> readSiaProfiles(const std::string &folder, const std::vector<std::string> &types = {});

/// Seconds of a restart of an application in Sia's simulator: 15 to 250, and 30 for others.
double siaRestartSeconds(std::string_view application);
/// How many times as long steps take in Sia's simulator as in its profiles, by which it was calibrated to runs on a
/// cluster: 1.2 to 1.8, and 1 for others.
double siaSlowdown(std::string_view application);
/// A profile whose steps take `ratio` times as long.
TrainingProfile scaledProfile(TrainingProfile profile, double ratio);

} // namespace accord::jobs
