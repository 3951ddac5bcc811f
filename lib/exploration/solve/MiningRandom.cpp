#include "lib/exploration/solve/MiningRandom.h"

namespace accord {

Design MiningRandom::design(const std::vector<DesignParameter> &parameters) {
  Design drawn;
  drawn.reserve(parameters.size());
  for (const DesignParameter &parameter : parameters)
    drawn.push_back(static_cast<uint32_t>(below(parameter.labels.size())));
  return drawn;
}

Shuffled::Shuffled(uint64_t size, uint64_t seed) : size_(size) {
  MiningRandom random(seed ^ 0x5bd1e995u);
  for (uint64_t &key : keys_)
    key = random.next();
  while (half_ < 32 && (uint64_t(1) << (2 * half_)) < size)
    ++half_;
}

uint64_t Shuffled::once(uint64_t x) const {
  uint64_t mask = (uint64_t(1) << half_) - 1, left = x >> half_, right = x & mask;
  for (uint64_t key : keys_) {
    uint64_t mixed = left ^ (MiningRandom(key ^ right).next() & mask);
    left = right;
    right = mixed;
  }
  return left << half_ | right;
}

uint64_t Shuffled::at(uint64_t index) const {
  // The network permutes a power of 4, less than four times the size: outside of it, again.
  uint64_t x = once(index);
  while (x >= size_)
    x = once(x);
  return x;
}

} // namespace accord
