// The script with which operations are measured.
#pragma once
#include <string>
#include <string_view>

namespace accord::operations {

/// A script for PyTorch that needs no other file and prints a table for `readRows`. `device` is what it measures if
/// its command line names none: letters, digits and ':' only. `sparse`: of 2:4 products and masks, for
/// `readSparseRows`.
std::string measuringScript(std::string_view device, bool sparse = false);

} // namespace accord::operations
