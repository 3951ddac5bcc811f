// Seeded choices of designs, the same on every machine.
#pragma once
#include "lib/exploration/problem/Design.h"
#include "lib/support/SplitMix.h"

namespace accord {

class MiningRandom : public SplitMix {
public:
  using SplitMix::SplitMix;
  Design design(const std::vector<DesignParameter> &parameters);
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

} // namespace accord
