// What `accord compare` does.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace accord {

struct CompareOptions {
  std::string plan, trace;
  std::optional<int64_t> step, device;  ///< numbers in the trace
  std::string report, rows, operations; ///< files to write; empty: none
  bool all = false;                     ///< every operation on the terminal
  bool json = false;
};

/// Compares the plan of one device with a trace of PyTorch's profiler, prints the comparison, and writes the files that
/// are asked for. Returns the exit status.
int comparePlan(const CompareOptions &options);

} // namespace accord
