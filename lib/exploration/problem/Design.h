// A design space: parameters that are left open, and one design of it, as plain data.
#pragma once
#include "lib/support/Result.h"
#include <cstdint>
#include <string>
#include <vector>

namespace accord {

/// One choice that a description leaves open.
struct DesignParameter {
  std::string name;                ///< "tc.count", "tc.array.rows", "glb.capacity", "tc.dataflow"
  std::vector<std::string> labels; ///< what may be chosen, as it is written: "16 MiB"
  std::vector<double> numbers;     ///< the same in base units, ascending; empty: words
  SourceLocation location;
};

/// By parameter: position of what is chosen.
using Design = std::vector<uint32_t>;

/// All designs between two, both included, in every parameter.
struct DesignBox {
  Design low, high;
  bool one() const { return low == high; }
};

/// All designs.
inline DesignBox wholeOf(const std::vector<DesignParameter> &parameters) {
  DesignBox all;
  for (const DesignParameter &parameter : parameters) {
    all.low.push_back(0);
    all.high.push_back(static_cast<uint32_t>(parameter.labels.size() - 1));
  }
  return all;
}

} // namespace accord
