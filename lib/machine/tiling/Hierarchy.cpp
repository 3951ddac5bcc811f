#include "lib/machine/tiling/Hierarchy.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace accord::tile {

double visits(const Shape &shape, unsigned tensor, const Split *const *levels, const Order *const *orders,
              unsigned level) {
  while (level > 0 && !(orders[level]->ended >> tensor & 1))
    --level;
  if (level == 0)
    return 1;
  double product = 1;
  uint32_t outside = orders[level]->outside[tensor];
  for (unsigned loop = 0; loop < shape.indexes.size(); ++loop)
    if (!(shape.tensors[tensor].loops >> loop & 1))
      product *= levels[outside >> loop & 1 ? level : level - 1][loop].tiles;
  return product;
}

double linkBits(const Shape &shape, const double *sums, const Split *const *levels, const Order *const *orders,
                unsigned level, double *moved) {
  double bits = 0;
  for (unsigned t = 0; t < shape.tensors.size(); ++t) {
    const ShapeTensor &tensor = shape.tensors[t];
    moved[t] = sums[t] * visits(shape, t, levels, orders, level);
    double again = tensor.written ? std::max(0.0, moved[t] - tensor.whole) : 0;
    bits += (moved[t] + again) * tensor.bits;
  }
  return bits;
}

uint32_t iterating(const Shape &shape, const Split *outer, const Split *inner) {
  uint32_t mask = 0;
  for (unsigned loop = 0; loop < shape.indexes.size(); ++loop)
    if (inner[loop].tile < outer[loop].tile)
      mask |= uint32_t(1) << loop;
  return mask;
}

Clock::Clock(std::span<const Level> levels, Seconds minCompute) : min(minCompute) {
  auto rate = [](const Level &level) {
    return level.bandwidth.value > 0 ? level.bandwidth.value : std::numeric_limits<double>::infinity();
  };
  for (size_t l = 0; l < levels.size(); ++l) {
    double capacityBits = levels[l].capacity.value * 8 / (levels[l].doubleBuffered ? 2 : 1);
    capacitiesBits.push_back(l > 1 ? std::min(capacityBits, capacitiesBits[l - 1]) : capacityBits);
    rates.push_back(l ? rate(levels[l - 1]) : 0);
    otherBytes.push_back(levels[l].otherBytes.value * 8);
    latencies.push_back(l ? levels[l - 1].latency : Seconds(0));
    overlapped.push_back(levels[l].doubleBuffered);
  }
}

Seconds Clock::link(unsigned level, double bits) const {
  bits += otherBytes[level];
  return bits > 0 ? latencies[level] + Seconds(bits / 8 / rates[level]) : Seconds(0);
}

Seconds Clock::total(Seconds compute, const double *bits) const {
  Seconds time = std::max(compute, min);
  for (unsigned l = count(); l-- > 1;) {
    Seconds transfer = link(l, bits[l]);
    time = overlapped[l] ? std::max(time, transfer) : time + transfer;
  }
  return time;
}

Seconds computeOf(const ComputeOfTile &compute, const Split *const *splits, unsigned loops) {
  int64_t extents[kMaxLoops];
  unsigned kind[kMaxLoops] = {};
  Seconds sum(0);
  for (;;) {
    double times = 1;
    for (unsigned i = 0; i < loops; ++i) {
      extents[i] = splits[i]->size[kind[i]];
      times *= splits[i]->times[kind[i]];
    }
    Seconds one = compute(std::span<const int64_t>(extents, loops));
    if (!(one.value >= 0))
      return Seconds(std::numeric_limits<double>::quiet_NaN());
    sum += times * one;
    unsigned i = 0;
    while (i < loops && ++kind[i] == splits[i]->kinds)
      kind[i++] = 0;
    if (i == loops)
      return sum;
  }
}

std::optional<Error> check(std::span<const Level> levels) {
  if (levels.empty() || levels.size() > kMaxLevels)
    return Error{Code::MalformedMachine,
                 fmt::format("a mapping needs 1 to {} memories, found {}", kMaxLevels, levels.size())};
  for (const Level &level : levels) {
    bool good = level.capacity.value >= 0;
    for (double number : {level.bandwidth.value, level.latency.value, level.otherBytes.value})
      good = good && std::isfinite(number) && number >= 0;
    if (!good)
      return Error{
          Code::MalformedMachine,
          fmt::format("memory '{}' has a capacity, bandwidth or latency that is negative or not a number", level.name)};
  }
  return std::nullopt;
}

Error doesNotFitError(std::span<const Level> levels, unsigned level, double bits) {
  const Level &memory = levels[level];
  return Error{Code::TileDoesNotFit,
               fmt::format("memory '{}' has {:.0f} B, but one tile of each tensor takes {:.0f} B{}", memory.name,
                           memory.capacity.value, std::ceil(bits / 8 * (memory.doubleBuffered ? 2 : 1)),
                           memory.doubleBuffered ? ", counted twice because it is double buffered" : "")};
}

} // namespace accord::tile
