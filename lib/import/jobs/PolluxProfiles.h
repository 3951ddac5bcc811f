// Workloads and profiles of applications of the Pollux artefact (and of Sia, which keeps the format).
//
// A folder has placements.csv, scalability.csv and a validation-B.csv for each batch B that was trained with.
#pragma once
#include "lib/jobs/problem/TrainingProfile.h"
#include "lib/support/Result.h"
#include <cstdint>
#include <optional>
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

/// What the files do not say.
struct PolluxLimits {
  std::optional<int64_t> maxLocalBatch; ///< that fits in the memory of a device; else the largest of the placements
  unsigned maxDevices = 0;              ///< 0: not limited
};

/// Limits of the artefact's applications: yolov3 has a local batch of at most 8, ncf trains on one device. None for
/// others.
PolluxLimits polluxLimits(std::string_view application);

/// Reads an application's folder; its name is that of the folder. The initial and the maximum batch are those of the
/// first and the last curve, local batches those of the placements, and the shortest curve says how many epochs there
/// are. With a device type, times are those of placements-TYPE.csv and scalability-TYPE.csv, as Sia's artefact has
/// them. Errors have the code A1101 and the place in the file.
Result<TrainingProfile> readPolluxProfile(const std::string &folder, const PolluxLimits &limits,
                                          const std::string &deviceType = {});

/// The validation-B.csv files of a folder, batches ascending; at least one.
Result<std::vector<ValidationCurve>> readPolluxCurves(const std::string &folder);
/// placements.csv: columns placement (a digit from 1 to 9 for each server), local_bsz, step_time and sync_time, in
/// seconds. Rows of a placement stand together, local batches ascending.
Result<std::vector<PlacementTime>> readPolluxPlacements(std::string_view text, const std::string &path);
/// scalability.csv: columns num_nodes, num_replicas, local_bsz, step_time and sync_time.
Result<std::vector<ScalabilityTime>> readPolluxScalability(std::string_view text, const std::string &path);
/// validation-B.csv: columns progress, iteration, metric, grad_sqr and grad_var; progress and iterations grow.
Result<std::vector<ValidationEpoch>> readPolluxValidation(std::string_view text, const std::string &path);

} // namespace accord::jobs
