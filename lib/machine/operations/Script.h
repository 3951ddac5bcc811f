// The script with which operations are measured.
#pragma once
#include <string>
#include <string_view>

namespace accord::operations {

/// A script for PyTorch that needs no other file and prints a table for `readRows`. `device` is what it measures if
/// its command line names none: letters, digits and ':' only.
std::string measuringScript(std::string_view device);

} // namespace accord::operations
