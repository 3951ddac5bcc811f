// Seeded choices that are the same on every machine (std:: distributions are not).
#pragma once
#include "lib/model/Design.h"
#include <optional>

namespace accord {

class MiningRandom {
public:
  explicit MiningRandom(uint64_t seed) : state_(seed) {}
  uint64_t next(); ///< splitmix64 (Steele et al., OOPSLA 2014)
  /// 0 .. n-1, evenly; 0 if n is 0.
  uint64_t below(uint64_t n);
  double unit(); ///< [0, 1)
  Design design(const std::vector<DesignParameter> &parameters);

private:
  uint64_t state_;
};

/// 0 .. size-1 in an order that looks random, each once: a Feistel network with cycle walking
/// (Black and Rogaway, CT-RSA 2002). `size` at most 2^63.
class Shuffled {
public:
  Shuffled(uint64_t size, uint64_t seed);
  uint64_t at(uint64_t index) const;

private:
  uint64_t once(uint64_t x) const;
  uint64_t size_, keys_[4];
  unsigned half_ = 1; ///< bits of a half
};

/// How many designs; nothing: above 2^63. A parameter without choices makes it 0.
std::optional<uint64_t> designsOf(const std::vector<DesignParameter> &parameters);
/// The last parameter counts fastest.
Design designAt(const std::vector<DesignParameter> &parameters, uint64_t point);

} // namespace accord
