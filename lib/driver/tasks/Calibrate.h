// A machine's parameters from measured step times, and how well they predict others.
#pragma once
#include <string>
#include <vector>

namespace accord {

struct CalibrateOptions {
  std::string rows;               ///< table of measured steps (.csv)
  std::string target;             ///< machine of all rows; empty: what each row names
  std::string output;             ///< calibration file to write, or ""
  std::string check;              ///< a calibration that is scored instead of fitting one, or ""
  std::string prior;              ///< a calibration that stands where the rows say little, or ""
  bool cluster = false;           ///< plans will be of the cluster that the rows are of
  std::vector<std::string> where; ///< COLUMN=VALUE: only such rows
  std::string accuracy;           ///< "page", "gates", "unseen" or nothing
  std::string placements;         ///< "page", "forced" or nothing
  bool json = false;
};

/// Fits or scores a calibration and prints it. Returns the exit status of `accord calibrate`.
int calibrateMachine(const CalibrateOptions &options);

} // namespace accord
