// What crosses from memory to memory, again from the tiles and the order of the loops.
#include "lib/planning/verify/Proof.h"
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace accord {
namespace {

/// The groups of loops that index a tensor; nothing where a position has a window or a stride, or a
/// group is there in part: this arithmetic does not follow those.
std::optional<std::set<unsigned>> indexing(const LoopTensor &tensor, const Tile &tile) {
  std::set<unsigned> loops, own;
  for (const auto &terms : tensor.dimensions) {
    if (terms.size() > 1 || (terms.size() == 1 && terms[0].stride != 1))
      return std::nullopt;
    for (const LoopTensor::Term &term : terms)
      if (!loops.insert(term.loop).second)
        return std::nullopt;
  }
  for (unsigned g = 0; g < tile.groups.size(); ++g) {
    size_t count = 0;
    for (unsigned loop : tile.groups[g])
      count += loops.count(loop);
    if (count != 0 && count != tile.groups[g].size())
      return std::nullopt;
    if (count != 0)
      own.insert(g);
  }
  return own;
}

/// Iterations of all loops of a group.
int64_t extentOf(const Operation &op, const Tile &tile, unsigned group) {
  int64_t extent = 1;
  for (unsigned loop : tile.groups[group])
    extent *= op.domain[loop].extent;
  return extent;
}

/// Tiles of a loop when it is cut once for each memory, each piece by itself.
double pieces(int64_t extent, const std::vector<int64_t> &cuts) {
  if (cuts.empty())
    return 1;
  std::vector<int64_t> rest(cuts.begin() + 1, cuts.end());
  int64_t whole = extent / cuts[0], left = extent % cuts[0];
  return whole * pieces(cuts[0], rest) + (left ? pieces(left, rest) : 0);
}

/// Bytes between memory `memory` and the one behind it, of one tensor. A tile is fetched where the
/// innermost loop stands that has steps to make and indexes the tensor: once for each iteration of
/// it and of the loops around it. What is added to comes back, all but the first time.
double crossing(const Operation &op, const LoopTensor &tensor, const std::set<unsigned> &own,
                const std::vector<Tile> &tiles, int memory) {
  size_t groups = tiles[0].groups.size();
  double elements = 1;
  for (unsigned group : own)
    elements *= extentOf(op, tiles[0], group);
  // For each group the cuts of the memories whose loop stands around the fetch.
  std::vector<std::vector<int64_t>> around(groups), pending = around;
  for (int m = 1; m <= memory; ++m)
    for (unsigned group : tiles[m - 1].order) {
      int64_t outer = m == 1 ? extentOf(op, tiles[0], group) : tiles[m - 2].extents[group];
      pending[group].push_back(tiles[m - 1].extents[group]);
      if (own.count(group) && outer > tiles[m - 1].extents[group])
        around = pending;
    }
  double times = 1;
  for (unsigned group = 0; group < groups; ++group)
    if (!own.count(group))
      times *= pieces(extentOf(op, tiles[0], group), around[group]);
  double moved = tensor.written ? 2 * times - 1 : times;
  return moved * elements * tensor.elementBits / 8;
}

/// Each loop is in one group, each tile has the same groups and is a piece of the one around it.
bool wellFormed(const Operation &op, const std::vector<Tile> &tiles, size_t memories) {
  std::set<unsigned> loops;
  size_t count = 0;
  double points = 1;
  for (const auto &group : tiles[0].groups)
    for (unsigned loop : group) {
      loops.insert(loop);
      ++count;
      if (loop >= op.domain.size())
        return false;
      points *= op.domain[loop].extent;
    }
  if (count != op.domain.size() || loops.size() != count || points > 0x1p62)
    return false;
  size_t groups = tiles[0].groups.size();
  for (size_t i = 0; i < tiles.size(); ++i) {
    const Tile &tile = tiles[i];
    std::set<unsigned> once(tile.order.begin(), tile.order.end());
    if (tile.memory != static_cast<int>(i) + 1 || i + 1 >= memories || tile.groups != tiles[0].groups ||
        tile.extents.size() != groups || tile.order.size() != groups || once.size() != groups ||
        (groups && *once.rbegin() >= groups))
      return false;
    for (unsigned g = 0; g < groups; ++g) {
      int64_t outer = i ? tiles[i - 1].extents[g] : extentOf(op, tile, g);
      if (tile.extents[g] < 1 || tile.extents[g] > outer)
        return false;
    }
  }
  return true;
}

} // namespace

bool verifyTiles(Proof &p, const Operation &op, const OperationCost &cost) {
  const Machine &machine = p.plan.machine;
  if (cost.bytes.size() != machine.memories.size() || !wellFormed(op, cost.tiles, machine.memories.size())) {
    p.find(Code::WrongCost, op.location, "the tiles of '{}' are not pieces of its loops", op.name);
    return false;
  }
  std::vector<std::set<unsigned>> groups;
  for (const LoopTensor &tensor : op.tensors) {
    for (const auto &terms : tensor.dimensions)
      for (const LoopTensor::Term &term : terms)
        if (term.loop >= op.domain.size()) {
          p.find(Code::WrongCost, op.location, "a tensor of '{}' is indexed by loop {} of {}", op.name, term.loop,
                 op.domain.size());
          return false;
        }
    auto own = indexing(tensor, cost.tiles[0]);
    if (!own)
      return false;
    groups.push_back(std::move(*own));
  }
  const ZeroShares zeros = p.zerosOf(op);
  for (const Tile &tile : cost.tiles) {
    double crossed = 0, held = 0;
    for (size_t t = 0; t < groups.size(); ++t) {
      crossed += crossing(op, op.tensors[t], groups[t], cost.tiles, tile.memory) *
                 (zeros.stored < 1 && t == zeros.tensor ? zeros.stored : 1);
      double elements = 1;
      for (unsigned group : groups[t])
        elements *= tile.extents[group];
      held += elements * op.tensors[t].elementBits / 8;
    }
    const Memory &memory = machine.memories[tile.memory];
    double room = memory.capacity.value / (memory.doubleBuffered ? 2 : 1);
    if (held > room * (1 + 1e-9))
      p.find(Code::WrongCost, op.location, "a tile of '{}' has {:.0f} B, '{}' has room for {:.0f} B", op.name, held,
             memory.name, room);
    double said = cost.bytes[tile.memory - 1].value;
    if (said < crossed * (1 - 1e-9))
      p.find(Code::WrongCost, op.location, "traffic of '{}' at {} is {:.9g} B, its tiles and their order give {:.9g} B",
             op.name, machine.memories[tile.memory - 1].name, said, crossed);
  }
  return true;
}

} // namespace accord
