// What `accord calibrate` writes and `efficiency from "…"` reads: text that a person can check and
// edit.
#pragma once
#include "lib/machine/calibration/Score.h"
#include <string>
#include <string_view>

namespace accord::calibrate {

/// Example:
///   calibration 2
///   machine "a100_80g"
///   prior_weight = 1
///   step_time = 0.93 .. 1.12
///   other_step_time = 0.6 .. 1.5
///   product_efficiency = 0.83 in 0.79 .. 0.87
///   launch = 3.5e-05 s in 3.3e-05 .. 3.7e-05
///   attention_depth = 32 in 8.1 .. 126 assumed
///   assume "the vocabulary has 50257 words"
///   row "r1" of "Megatron-LM, a100-sxm-80, one server" measured 1.42 s computed 1.44 s
/// `step_time`: 90 of 100 measured steps of other sources lie between these factors of the computed one. `in low ..
/// high` is the 95 % interval; `assumed` marks a value that the rows say nothing of, which is then the default's.
/// Comments start with //. Scores of strata follow from the rows, and stand above them as comments.
struct CalibrationFile {
  std::string machine; ///< the values are those of this machine
  double priorWeight = 1;
  StepTimeIntervals stepTime{kUnseenSource, kUnseenSource}; ///< of steps that it has not seen
  Parameters value{}, low{}, high{};
  std::array<bool, kParameters> informed{};
  std::vector<std::string> assumptions;
  std::vector<Residual> rows;
};
constexpr int kCalibrationVersion = 2;

CalibrationFile calibrationOf(const std::string &machine, const Parameters &prior, const Fit &fit,
                              std::vector<Residual> rows, std::vector<std::string> assumptions);
/// Reading it gives the same values to the last digit.
std::string write(const CalibrationFile &);
/// Issues of code A0469, at most 20, each with line and column: another version, an unknown,
/// repeated or missing name, a number that is none, is not positive or passes the parameter's
/// bound, a value outside of its interval.
Result<CalibrationFile, Errors> readCalibration(std::string_view text, const std::string &path);
/// The factors on the prior of the file's own machine.
Factors factorsOf(const CalibrationFile &, const Parameters &prior);
/// Residuals by stratum, in the order of names.
std::map<std::string, std::vector<Residual>> byStratum(const std::vector<Residual> &rows);

} // namespace accord::calibrate
