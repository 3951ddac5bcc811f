#include "lib/microarchitecture/text/TripCount.h"
#include <fmt/format.h>

namespace accord::microarchitecture {

bool holds(IntegerMeaning branch, int64_t difference) {
  switch (branch) {
  case IntegerMeaning::IfEqual:
    return difference == 0;
  case IntegerMeaning::IfNotEqual:
    return difference != 0;
  case IntegerMeaning::IfLess:
    return difference < 0;
  case IntegerMeaning::IfNotLess:
    return difference >= 0;
  default:
    return true;
  }
}

int64_t iterationsUntil(IntegerMeaning branch, bool isTaken, int64_t base, int64_t move) {
  using Meaning = IntegerMeaning;
  // Not taken is taken of the opposite.
  const Meaning until = isTaken                         ? branch
                        : branch == Meaning::IfEqual    ? Meaning::IfNotEqual
                        : branch == Meaning::IfNotEqual ? Meaning::IfEqual
                        : branch == Meaning::IfLess     ? Meaning::IfNotLess
                                                        : Meaning::IfLess;
  if (holds(until, base))
    return 0;
  if (move == 0)
    return -1;
  const __int128 start = base, step = move;
  switch (until) {
  case Meaning::IfEqual: // start is not 0
    return start % step == 0 && -start / step > 0 ? int64_t(-start / step) : -1;
  case Meaning::IfNotEqual: // start is 0
    return 1;
  case Meaning::IfLess: // start >= 0
    return step < 0 ? int64_t(start / -step + 1) : -1;
  case Meaning::IfNotLess: // start < 0
    return step > 0 ? int64_t((-start + step - 1) / step) : -1;
  default:
    return 0;
  }
}

void ValueRange::Extent::close(int64_t depth, int64_t iterations) {
  const auto at = terms.find(depth);
  if (at == terms.end())
    return;
  (at->second < 0 ? low : high) += __int128(at->second) * (iterations - 1);
  terms.erase(at);
}

std::string ValueRange::wrong() const {
  const int width = bits > 0 && bits < 64 ? bits : 64;
  const __int128 half = __int128(1) << (width - 1);
  const __int128 low = std::min(left.low, right.low), high = std::max(left.high, right.high);
  auto shown = [](__int128 value) { return int64_t(std::clamp<__int128>(value, INT64_MIN, INT64_MAX)); };
  if (!isCompared)
    return left.low >= -half && left.high < 2 * half
               ? ""
               : fmt::format("makes values from {} to {}, which a register of {} bits does not hold", shown(left.low),
                             shown(left.high), width);
  if ((low >= -half && high < half) || (!isSigned && low >= 0 && high < 2 * half))
    return "";
  return fmt::format("compares values from {} to {}, which registers of {} bits do not tell apart", shown(low),
                     shown(high), width);
}

} // namespace accord::microarchitecture
