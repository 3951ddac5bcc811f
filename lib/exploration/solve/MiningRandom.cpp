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

std::optional<uint64_t> designsOf(const std::vector<DesignParameter> &parameters) {
  constexpr uint64_t kMax = uint64_t(1) << 63;
  uint64_t size = 1;
  bool large = false;
  for (const DesignParameter &parameter : parameters) {
    uint64_t choices = parameter.labels.size();
    if (!choices)
      return 0;
    large |= size > kMax / choices;
    size = large ? 1 : size * choices;
  }
  return large ? std::nullopt : std::optional(size);
}

Design designAt(const std::vector<DesignParameter> &parameters, uint64_t point) {
  Design design(parameters.size());
  for (size_t i = parameters.size(); i-- > 0;) {
    uint64_t choices = parameters[i].labels.size();
    design[i] = static_cast<uint32_t>(point % choices);
    point /= choices;
  }
  return design;
}

} // namespace accord
