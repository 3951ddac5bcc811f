// Random numbers that are the same on every machine (std:: distributions are not).
#pragma once
#include <cstdint>

namespace accord {

/// splitmix64 (Steele et al., OOPSLA 2014).
class SplitMix {
public:
  explicit SplitMix(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  /// 0 .. n-1, evenly; 0 if n is 0.
  uint64_t below(uint64_t n) {
    if (!n)
      return 0;
    uint64_t uneven = (UINT64_MAX % n + 1) % n; // so many numbers at the top would favour the first
    for (;;) {
      uint64_t drawn = next();
      if (drawn <= UINT64_MAX - uneven)
        return drawn % n;
    }
  }
  double unit() { return (next() >> 11) * 0x1p-53; } ///< [0, 1)

private:
  uint64_t state_;
};

} // namespace accord
