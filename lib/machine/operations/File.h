// The file that `accord calibrate --operations` writes: text that a person can check and edit.
#pragma once
#include "lib/machine/operations/Fit.h"

namespace accord::operations {

constexpr int kFileVersion = 2;

/// A line for each value, and a comment line first:
///   operations 2
///   shared product_efficiency = 0.93
///   device "Tesla T4" floor = 1.9e-05 s
///   device "Tesla T4" linear_tiles = 128x128 64x128
/// Reading it gives the same values to the last digit.
std::string write(const Fit &fit);
/// Errors of code A0469, at most 20, each with line and column: another version, a line that is none of these, an
/// unknown name, unit or tile, a number that is not above 0 or above the parameter's largest value, a value twice or
/// missing.
Result<Fit, Errors> readFile(std::string_view text, const std::string &path);

} // namespace accord::operations
