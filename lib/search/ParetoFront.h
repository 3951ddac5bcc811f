// What is left where several objectives are minimized at once.
#pragma once
#include <algorithm>
#include <functional>
#include <ranges>
#include <utility>
#include <vector>

namespace accord {

/// Whether there are as many numbers in `a` as in `b`, none of them above its like.
template <class Numbers> bool isAtMost(const Numbers &a, const Numbers &b) {
  return std::ranges::equal(a, b, std::ranges::less_equal());
}

/// Adds `next` to the front unless one of it dominates `next`; what `next` dominates leaves. `dominates(a, b)`: a is at
/// least as good as b in everything, hence of equals the first stays. The front is in the order of additions. Returns
/// whether `next` was added.
template <class Value, class Dominates>
bool addNondominated(std::vector<Value> &front, Value next, Dominates dominates) {
  if (std::ranges::any_of(front, [&](const Value &one) { return dominates(one, next); }))
    return false;
  std::erase_if(front, [&](const Value &one) { return dominates(next, one); });
  front.push_back(std::move(next));
  return true;
}

/// The values of `all` whose two objectives no other has both at most, by ascending first and descending second
/// objective. Of equals one stays. O(n log n).
template <class Value, class First, class Second>
std::vector<Value> paretoFront(std::vector<Value> all, First first, Second second) {
  std::ranges::sort(all, std::less(),
                    [&](const Value &one) { return std::pair(std::invoke(first, one), std::invoke(second, one)); });
  std::vector<Value> front;
  for (Value &one : all)
    if (front.empty() || std::invoke(second, one) < std::invoke(second, front.back()))
      front.push_back(std::move(one));
  return front;
}

} // namespace accord
