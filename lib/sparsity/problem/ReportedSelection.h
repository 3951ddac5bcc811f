// What an answer shows of the options that operations take, in the units that people read.
#pragma once
#include "lib/support/Rational.h"
#include <string>
#include <vector>

namespace accord {

struct ReportedSelection {
  struct Option {
    std::string label, sparsity; ///< with and without formats
    /// On average, the parts that it is the sum of, and what is not exceeded.
    double seconds = 0, parts = 0, quantile = 0;
    double joules = 0, quantileJoules = 0, bytes = 0;
    Rational loss = 0;
  };
  struct Layer {
    std::string name;
    int64_t chosen = 0;
    std::vector<Option> options; ///< the first is dense
  };
  /// Of a step, with what no option changes.
  struct Totals {
    double seconds = 0, joules = 0, bytes = 0;
  };
  std::string objective;
  bool proven = false;
  double gap = 0;
  std::vector<Layer> layers;
  Totals chosen, dense;
  double quantile = 0;     ///< seconds of the step that are not exceeded
  double otherSeconds = 0; ///< of `seconds`, what no option changes
};

} // namespace accord
