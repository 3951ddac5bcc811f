// Configurations named on a command line: "microbatch=1,2,4,8".
#pragma once
#include "lib/latency/model/LatencyModel.h"

namespace accord {

/// Every combination of the values that are asked for; other arguments at their initial values.
struct LatencySweep {
  std::vector<size_t> arguments;           ///< that are asked for, in the order of the model's
  std::vector<std::vector<double>> values; ///< of each of them
  size_t rows() const;
  /// All arguments of the model in row `row`; the last asked for changes fastest.
  std::vector<double> at(const LatencyModel &model, size_t row) const;
};

constexpr size_t kMaxSweepRows = 1'000'000;

/// Each text is `name=value`, values and further names separated by commas. A0801: no such argument, no number, a name
/// twice, more than `kMaxSweepRows` combinations.
Result<LatencySweep> parseSweep(const LatencyModel &model, const std::vector<std::string> &texts);

/// Whole numbers from 1 to `max` that the texts ask for an argument, before there is a model; none where they are
/// wrong.
std::vector<int64_t> wholeValuesAskedFor(const std::string &name, const std::vector<std::string> &texts, int64_t max);

} // namespace accord
