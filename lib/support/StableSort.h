// Sorting that keeps the order of equal elements.
#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

namespace accord {

/// Sorts a vector; equal elements stay in their order. (std::stable_sort of libstdc++ 12 uses a function that the
/// standard deprecates, which is an error here.)
template <class T, class Less> void stableSort(std::vector<T> &elements, Less less) {
  std::vector<size_t> order(elements.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return less(elements[a], elements[b]) || (!less(elements[b], elements[a]) && a < b);
  });
  std::vector<T> sorted;
  sorted.reserve(elements.size());
  for (size_t i : order)
    sorted.push_back(std::move(elements[i]));
  elements = std::move(sorted);
}

} // namespace accord
