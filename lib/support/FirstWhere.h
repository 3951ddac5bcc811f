// Bisection of whole numbers.
#pragma once
#include <type_traits>

namespace accord {

/// The smallest of `low` .. `high` - 1 for which `holds`, which never turns false as the number grows; `high` where it
/// holds for none of them, and `low` where there are none. Asks at most log2(high - low) + 1 times, and never of
/// `high`.
template <class Whole, class Holds> Whole firstWhere(Whole low, std::type_identity_t<Whole> high, Holds &&holds) {
  while (low < high) {
    const Whole middle = low + (high - low) / 2;
    if (holds(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

} // namespace accord
