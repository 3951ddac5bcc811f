// What `accord compare` does.
#pragma once
#include "lib/support/Result.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace accord {
struct TextStyle;

struct CompareOptions {
  std::string plan;
  std::vector<std::string> traces;      ///< files, or folders of them
  std::string from;                     ///< the file that the plan of a cluster was made of; empty: not given
  std::optional<int64_t> step, device;  ///< numbers in the trace
  std::string report, rows, operations; ///< files to write; empty: none
  bool all = false;                     ///< every operation on the terminal
  bool json = false;
};

/// Compares the plan of one device with a trace of PyTorch's profiler, or that of a cluster with one trace of each of
/// some ranks, prints the comparison, and writes the files that are asked for. Returns the exit status.
int comparePlan(const CompareOptions &options);
/// The same for a cluster. `files`: the traces, no folders.
int compareCluster(const CompareOptions &options, const std::vector<std::string> &files);

/// What a comparison looks like in each form.
struct ComparisonWriters {
  std::function<std::string()> page, steps, operations, json;
  std::function<std::string(const TextStyle &style)> text;
};
/// Writes the files that are asked for, and prints the comparison. Returns the exit status.
int writeComparison(const CompareOptions &options, const ComparisonWriters &writers);

/// Writes an error of a trace, with its place where it has one. Returns the exit status.
int refuseTrace(const Error &error, bool json);

} // namespace accord
