// How many random cases tests look at.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace accord {

/// `count` cases, or as many times that as ACCORD_TEST_CASES says: CI looks at few, a person who changes what is tested
/// looks at more and at others.
inline int64_t cases(int64_t count) {
  static const char *const factor = std::getenv("ACCORD_TEST_CASES"); // NOLINT(concurrency-mt-unsafe)
  return factor ? count * std::max<int64_t>(1, std::atoll(factor)) : count;
}

} // namespace accord
