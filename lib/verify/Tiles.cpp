// What crosses from memory to memory, again from the tiles and the order of the loops.
#include "lib/verify/Proof.h"
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace accord {
namespace {

/// The loops that index a tensor; nothing where two of them share a position (a window), which this
/// arithmetic does not follow.
std::optional<std::set<unsigned>> indexing(const LoopTensor &tensor) {
  std::set<unsigned> loops;
  for (const auto &terms : tensor.dimensions) {
    if (terms.size() > 1 || (terms.size() == 1 && terms[0].stride != 1))
      return std::nullopt;
    for (const LoopTensor::Term &term : terms)
      if (!loops.insert(term.loop).second)
        return std::nullopt;
  }
  return loops;
}

/// Tiles of a loop when it is cut once for each memory, each piece by itself.
double pieces(int64_t extent, const std::vector<int64_t> &cuts) {
  if (cuts.empty())
    return 1;
  std::vector<int64_t> rest(cuts.begin() + 1, cuts.end());
  int64_t whole = extent / cuts[0], left = extent % cuts[0];
  return static_cast<double>(whole) * pieces(cuts[0], rest) + (left ? pieces(left, rest) : 0);
}

/// Bytes between memory `memory` and the one behind it, of one tensor. A tile is fetched where the
/// innermost loop stands that has steps to make and indexes the tensor: once for each iteration of
/// it and of the loops around it. What is added to comes back, all but the first time.
double crossing(const Operation &op, const LoopTensor &tensor, const std::set<unsigned> &own,
                const std::vector<Tile> &tiles, int memory) {
  double elements = 1;
  for (unsigned loop : own)
    elements *= static_cast<double>(op.domain[loop].extent);
  // For each loop the cuts of the memories whose loop stands around the fetch.
  std::vector<std::vector<int64_t>> around(op.domain.size()), pending = around;
  for (int m = 1; m <= memory; ++m)
    for (unsigned loop : tiles[m - 1].order) {
      int64_t outer = m == 1 ? op.domain[loop].extent : tiles[m - 2].extents[loop];
      pending[loop].push_back(tiles[m - 1].extents[loop]);
      if (own.count(loop) && outer > tiles[m - 1].extents[loop])
        around = pending;
    }
  double times = 1;
  for (unsigned loop = 0; loop < op.domain.size(); ++loop)
    if (!own.count(loop))
      times *= pieces(op.domain[loop].extent, around[loop]);
  double moved = tensor.written ? 2 * times - 1 : times;
  return moved * elements * static_cast<double>(tensor.elementBits) / 8;
}

bool wellFormed(const Operation &op, const std::vector<Tile> &tiles, size_t memories) {
  for (size_t i = 0; i < tiles.size(); ++i) {
    const Tile &tile = tiles[i];
    if (tile.memory != static_cast<int>(i) + 1 || i + 1 >= memories ||
        tile.extents.size() != op.domain.size() || tile.order.size() != op.domain.size())
      return false;
    std::set<unsigned> once(tile.order.begin(), tile.order.end());
    if (once.size() != op.domain.size() || *once.rbegin() >= op.domain.size())
      return false;
    for (size_t loop = 0; loop < op.domain.size(); ++loop) {
      int64_t outer = i ? tiles[i - 1].extents[loop] : op.domain[loop].extent;
      if (tile.extents[loop] < 1 || tile.extents[loop] > outer)
        return false;
    }
  }
  return !op.domain.empty();
}

} // namespace

bool proveTiles(Proof &p, const Operation &op, const OperationCost &cost) {
  const Machine &machine = p.plan.machine;
  if (!wellFormed(op, cost.tiles, machine.memories.size())) {
    p.find("A0910", op.location, "the tiles of '{}' are not pieces of its loops", op.name);
    return false;
  }
  std::vector<std::set<unsigned>> loops;
  for (const LoopTensor &tensor : op.tensors) {
    for (const auto &terms : tensor.dimensions)
      for (const LoopTensor::Term &term : terms)
        if (term.loop >= op.domain.size()) {
          p.find("A0910", op.location, "a tensor of '{}' is indexed by loop {} of {}", op.name,
                 term.loop, op.domain.size());
          return false;
        }
    auto own = indexing(tensor);
    if (!own)
      return false;
    loops.push_back(std::move(*own));
  }
  for (const Tile &tile : cost.tiles) {
    double crossed = 0, held = 0;
    for (size_t t = 0; t < loops.size(); ++t) {
      crossed += crossing(op, op.tensors[t], loops[t], cost.tiles, tile.memory);
      double elements = 1;
      for (unsigned loop : loops[t])
        elements *= static_cast<double>(tile.extents[loop]);
      held += elements * static_cast<double>(op.tensors[t].elementBits) / 8;
    }
    const Memory &memory = machine.memories[tile.memory];
    double room = memory.capacity.value / (memory.doubleBuffered ? 2 : 1);
    if (held > room * (1 + 1e-9))
      p.find("A0910", op.location, "a tile of '{}' has {:.0f} B, '{}' has room for {:.0f} B",
             op.name, held, memory.name, room);
    double said = cost.bytes[tile.memory - 1].value;
    if (said < crossed * (1 - 1e-9))
      p.find("A0910", op.location,
             "traffic of '{}' at {} is {:.9g} B, its tiles and their order give {:.9g} B", op.name,
             machine.memories[tile.memory - 1].name, said, crossed);
  }
  return true;
}

} // namespace accord
