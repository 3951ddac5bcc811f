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
///   sheet "Tesla T4" peak = 8.1e+12 FLOP/s
///   sparse "NVIDIA H200" bf16 4096 1024 4096 = 1.52
///   masks "NVIDIA H200" bf16 transposable 4194304 = 1.2e-05 s
/// The last two are a measured 2:4 product (rows, depth, columns: how much faster than dense) and what a mask of so
/// many elements took (also `plain`). A file of these alone has no parameters. Reading it gives the same values to the
/// last digit.
std::string write(const Fit &fit);
/// Errors of code A0469, at most 20, each with line and column: another version, a line that is none of these, an
/// unknown name, unit or tile, a number that is not above 0 or above the parameter's largest value, a value twice or
/// missing, fewer than `kMinSparsePoints` 2:4 products of a device and type. A file may have no sheet of a device.
Result<Fit, Errors> readFile(std::string_view text, const std::string &path);

/// Whether the first line that is no comment begins such a file, of whatever version.
bool isFile(std::string_view text);

} // namespace accord::operations
