// The time of a step as a person may rely on it: where it will be measured, and what the data sheet promises.
#pragma once
#include <string>

namespace accord {

/// Seconds. Of 100 measured steps 90 lie between `low` and `high`, so far as those say that the machine was calibrated
/// with; `ideal` is the step of the same degrees where every operation reaches the rates of the data sheet.
struct StepEstimate {
  double low = 0, high = 0, ideal = 0;
  std::string source; ///< the calibration: `Machine::Fitted::source`
};

} // namespace accord
