// A calibration and its scores as JSON, for `accord calibrate --json`.
#pragma once
#include "lib/machine/calibration/CalibrationFile.h"
#include "llvm/Support/JSON.h"

namespace accord::calibrate {
/// {"command", "version", "status", "machine", "parameters": […], "strata": […], "rows": […],
/// "excluded_rows": […], "assumptions": […]}; `correlated` and `at_bound` warn of parameters that the
/// rows do not tell apart. docs/schema/calibrate.schema.json
llvm::json::Value toJson(const CalibrationFile &file, const Fit *fit, const Errors &leftOut);
/// Errors are shares: 0.05 is 5 %. Numbers may be negative.
llvm::json::Value calibrateSchema();
/// As lines for people: parameters with intervals, warnings of identifiability, a table of strata.
std::string toText(const CalibrationFile &file, const Fit *fit);
} // namespace accord::calibrate
