// What `accord calibrate` does with a table: rows are chosen, then fitted, or scored with a fit.
#pragma once
#include "lib/machine/calibration/CalibrationFile.h"
#include "lib/machine/calibration/CaseBuilder.h"

namespace accord::calibrate {

/// Keeps the rows that hold one of the values asked for in every column asked for, each written
/// "column=value". Gives the name of a column that tables do not have; then all rows stay.
std::optional<std::string> keepMatchingRows(std::vector<Row> &rows, const std::vector<std::string> &where);

struct CalibrationFit {
  CalibrationFile file;
  Fit fit;
};
/// Parameters of the machine of the first case, fitted to all. A0467: no case, or no parameters
/// reproduce them.
Result<CalibrationFit> fitCalibration(const Prepared &prepared);

struct CalibrationScore {
  CalibrationFile file; ///< with the errors at these rows instead of those it was fitted to
  size_t seen = 0;      ///< rows left out because the file was fitted to them: an error there says little
};
/// How well a calibration of `machine` predicts the cases. A0467: it has seen all of them.
Result<CalibrationScore> scoreCalibration(CalibrationFile file, const Machine &machine, std::vector<Case> cases);

} // namespace accord::calibrate
