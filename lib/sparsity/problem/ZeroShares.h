// What zeros leave of each operation of a step, as shares of what it takes without: plain data.
#pragma once
#include <cstddef>
#include <vector>

namespace accord {

struct ZeroShares {
  double compute = 1; ///< of the time of its arithmetic, without set-up: no execution takes less
  double active = 1;  ///< of the energy of its arithmetic
  double bytes = 1;   ///< of all that it moves
  size_t tensor = 0;  ///< one of its tensors, of which `stored` is moved
  double stored = 1;  ///< share of its bytes, positions included
  friend bool operator==(const ZeroShares &, const ZeroShares &) = default;
};

/// By OperationId. Empty: nothing is zero.
using StepZeroShares = std::vector<ZeroShares>;

} // namespace accord
