// How far predicted times of operations are from measured ones, by operation, device and size.
#pragma once
#include "lib/machine/operations/Fit.h"

namespace accord::operations {

struct Prediction {
  Kind kind = Kind::Gemm;
  std::string device;
  double measured = 0, computed = 0; ///< seconds
  double error() const { return computed / measured - 1; }
};

/// Errors are relative to the measured time.
struct ErrorSummary {
  std::string group; ///< "linear", "Tesla T4", "below 50 us", "50 us to 1 ms", "above 1 ms", "all"
  size_t rows = 0;
  double meanError = 0; ///< mean of |error|
  double bias = 0;      ///< mean of error
};

/// Predictions that were made alike: "seen", "other half", "device left out", "checked".
struct ErrorTable {
  std::string title;
  std::vector<ErrorSummary> groups; ///< operations, devices, sizes, all; those without rows are left out
};

std::vector<Prediction> predictions(const Fit &fit, const std::vector<Row> &rows, const Devices &devices);
ErrorTable summarize(const std::string &title, const std::vector<Prediction> &predictions);

/// Each device's rows predicted by a fit to those of all others. Error A0467: a fit failed, or there is one device.
Result<std::vector<Prediction>> leaveDevicesOut(const std::vector<Row> &rows, const Devices &devices);
/// The rows outside of `isInFittedHalf`, predicted by a fit to those inside.
Result<std::vector<Prediction>> predictOtherHalf(const std::vector<Row> &rows, const Devices &devices);

/// The tables side by side: a line for each group, a column for each table.
std::string toText(const std::vector<ErrorTable> &tables);

} // namespace accord::operations
