// Times of single operations: a fit to measured ones, and how well it predicts others.
#pragma once
#include <string>

namespace accord {

struct CalibrateOperationsOptions {
  std::string rows;    ///< table of measured operations (.csv)
  std::string devices; ///< table of data sheets (.csv); empty: that of the catalogue
  std::string output;  ///< file to write, or ""
  std::string check;   ///< a file that is scored instead of fitting one, or ""
  bool json = false;
};

/// Fits or scores times of operations and prints the errors. Returns the exit status of `accord calibrate
/// --operations`.
int calibrateOperations(const CalibrateOperationsOptions &options);

} // namespace accord
