#include "lib/machine/tiling/Mapping.h"
#include "lib/machine/tiling/Hierarchy.h"
#include "lib/machine/tiling/TileSearch.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord::tile {
namespace {

std::optional<Error> malformed(const Nest &nest, std::span<const Level> levels, std::span<const Tiling> tilings) {
  auto refuse = [](std::string why) { return Error{Code::MalformedGraph, std::move(why)}; };
  if (tilings.size() + 1 != levels.size())
    return refuse(fmt::format("{} tilings for {} memories", tilings.size(), levels.size()));
  for (size_t l = 0; l < tilings.size(); ++l) {
    std::vector<unsigned> sorted = tilings[l].order;
    std::sort(sorted.begin(), sorted.end());
    bool good = sorted.size() == nest.loops.size() && tilings[l].tile.size() == sorted.size();
    for (size_t i = 0; good && i < sorted.size(); ++i)
      good = sorted[i] == i && tilings[l].tile[i] >= 1 &&
             tilings[l].tile[i] <= (l ? tilings[l - 1].tile[i] : nest.loops[i].extent);
    if (!good)
      return refuse(fmt::format("a tiling of memory '{}' that is not one extent per loop, each within the tile around "
                                "it, and an order of all loops",
                                levels[l + 1].name));
  }
  return std::nullopt;
}

} // namespace

Result<Mapping> price(const Nest &nest, std::span<const Level> levels, std::span<const Tiling> tilings,
                      const ComputeOfTile &compute, const SearchLimits &limits) {
  for (auto error : {check(nest), check(levels)})
    if (error)
      return std::move(*error);
  if (auto error = malformed(nest, levels, tilings))
    return std::move(*error);
  Shape shape(nest);
  Clock clock(levels, limits.minCompute);
  unsigned loops = nest.loops.size();
  std::vector<std::vector<Split>> splits(levels.size());
  std::vector<Order> orders(levels.size());
  std::vector<const Split *> splitsAt;
  std::vector<const Order *> ordersAt;
  for (const NestLoop &loop : nest.loops)
    splits[0].push_back(Split::whole(loop.extent));
  for (size_t l = 0; l < levels.size(); ++l) {
    if (l > 0) {
      for (unsigned i = 0; i < loops; ++i)
        splits[l].push_back(splits[l - 1][i].cut(tilings[l - 1].tile[i]));
      orders[l] = orderOf(shape, tilings[l - 1].order, iterating(shape, splits[l - 1].data(), splits[l].data()));
    }
    splitsAt.push_back(splits[l].data());
    ordersAt.push_back(&orders[l]);
  }

  Mapping out;
  std::vector<double> bits(levels.size(), 0);
  for (unsigned l = 1; l < levels.size(); ++l) {
    LevelMapping level;
    level.tile = tilings[l - 1].tile;
    level.order = tilings[l - 1].order;
    double tileBits = shape.footprintBits(level.tile.data());
    if (tileBits > clock.capacityBits(l))
      return doesNotFitError(levels, l, tileBits);
    level.footprint = Bytes(tileBits / 8);
    for (unsigned i = 0; i < loops; ++i)
      level.trips.push_back((splits[l - 1][i].tile - 1) / level.tile[i] + 1);
    for (unsigned t = 0; t < shape.tensors.size(); ++t) {
      const ShapeTensor &tensor = shape.tensors[t];
      double moved = tensor.sum(splitsAt[l]) * visits(shape, t, splitsAt.data(), ordersAt.data(), l);
      TensorTraffic traffic{Bytes((tensor.written ? std::max(0.0, moved - tensor.whole) : moved) * tensor.bits / 8),
                            Bytes(tensor.written ? moved * tensor.bits / 8 : 0)};
      level.tensors.push_back(traffic);
      level.bytes += traffic.read + traffic.written;
    }
    bits[l] = level.bytes.value * 8;
    level.time = clock.link(l, bits[l]);
    out.levels.push_back(std::move(level));
  }
  std::vector<const Split *> nearest;
  for (unsigned i = 0; i < loops; ++i)
    nearest.push_back(&splits.back()[i]);
  out.compute = computeOf(compute, nearest.data(), loops);
  if (!(out.compute.value >= 0) || !std::isfinite(out.compute.value))
    return Error{Code::TimeOutOfRange, fmt::format("the compute time of a loop nest is {} s", out.compute.value)};
  out.time = out.bound = clock.total(out.compute, bits.data());
  if (!std::isfinite(out.time.value))
    return Error{Code::TimeOutOfRange, "the time of a loop nest passes all numbers"};
  return out;
}

Result<Mapping> bestMapping(const Nest &nest, std::span<const Level> levels, const ComputeOfTile &compute,
                            const SearchLimits &limits) {
  for (auto error : {check(nest), check(levels)})
    if (error)
      return std::move(*error);
  Search search(nest, levels, compute, limits);
  if (auto error = search.fits())
    return std::move(*error);
  if (!search.run())
    return Error{Code::TimeOutOfRange, "the compute time of a tile is negative, infinite or not a number"};
  auto priced = price(nest, levels, search.best, compute, limits);
  if (auto *mapping = priced.get()) {
    mapping->bound = std::min(mapping->time, Seconds(search.bound));
    mapping->gap = mapping->time.value > 0 ? 1 - mapping->bound / mapping->time : 0;
    mapping->exact = search.exact;
    mapping->nodes = search.nodes;
  }
  return priced;
}

std::vector<std::string> describe(const Nest &nest, std::span<const Level> levels, const Mapping &mapping) {
  std::vector<std::string> lines;
  Shape shape(nest);
  for (size_t l = 0; l < mapping.levels.size() && l + 1 < levels.size(); ++l) {
    const LevelMapping &level = mapping.levels[l];
    std::string line = levels[l + 1].name + " tile ", order;
    for (size_t i = 0; i < level.tile.size(); ++i)
      line += fmt::format("{}{}", i ? "x" : "", level.tile[i]);
    for (unsigned loop : level.order)
      if (level.trips[loop] > 1)
        order += " " + nameOf(nest, loop);
    line += order.empty() ? ", all at once:" : ", order" + order + ":";
    for (size_t t = 0; t < level.tensors.size(); ++t) {
      Bytes once(shape.tensors[t].whole * shape.tensors[t].bits / 8);
      Bytes moved = level.tensors[t].read + level.tensors[t].written;
      line += fmt::format("{} {} {:.3g}x", t ? "," : "", tensorName(nest, t), moved / once);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

} // namespace accord::tile
