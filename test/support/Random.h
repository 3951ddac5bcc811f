// A seeded source of choices that is the same on every machine (std:: distributions are not), and how many cases tests
// draw from such a source.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace accord::fuzz {

class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t next() { // splitmix64, Steele et al., OOPSLA 2014
    uint64_t z = state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  /// 0 .. n-1; 0 if n is 0.
  size_t below(size_t n) { return n ? static_cast<size_t>(next() % n) : 0; }
  bool percent(unsigned p) { return below(100) < p; }
  template <class T> const T &pick(const std::vector<T> &from) { return from[below(from.size())]; }

private:
  uint64_t state;
};

} // namespace accord::fuzz

namespace accord {

/// `count` cases, or as many times that as ACCORD_TEST_CASES says: CI looks at few, a person who changes what is tested
/// looks at more and at others.
inline int64_t cases(int64_t count) {
  static const char *const factor = std::getenv("ACCORD_TEST_CASES"); // NOLINT(concurrency-mt-unsafe)
  return factor ? count * std::max<int64_t>(1, std::atoll(factor)) : count;
}

} // namespace accord
