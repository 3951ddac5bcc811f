// Rows that cannot be true, found by arithmetic alone.
#pragma once
#include "lib/machine/calibration/Rows.h"
#include "lib/machine/model/Machine.h"
#include <functional>

namespace accord::calibrate {

/// The machine a row ran on; null if it is not known (then its peak is not checked).
using MachineOf = std::function<const Machine *(const Row &)>;

/// What is wrong, and with which rows.
struct Finding {
  Error error;
  std::vector<size_t> rows; ///< indices of rows that should not be fitted
};

/// Findings in the order of rows; a row may have several.
/// - A0463: faster than the peak of its devices allows (`model_pflop_per_step` against the peak of
/// `precision`). Of text of
///   512 words or less with a nominal length the message says so: such data are cut to their real
///   length.
/// - A0464: tp * pp * dp is not the number of devices (a whole multiple of it means parts of
/// devices; replicas that ZeRO 3
///   or FSDP forms are not counted, so that there the product only has to divide it);
///   faster than linear scaling allows (5 % of slack) against the same job with as much work for
///   each of fewer devices; values for one configuration that differ by more than a tenth: one finding at the first
///   of these rows, with a note at each other one.
std::vector<Finding> lint(const std::vector<Row> &rows, const MachineOf &machineOf);

} // namespace accord::calibrate
