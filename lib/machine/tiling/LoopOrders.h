// Which orders of the loops around a tile matter, and what each lets stay in the buffer.
#pragma once
#include "lib/machine/tiling/NestShape.h"
#include <unordered_map>
#include <vector>

namespace accord::tile {

/// An order of the loops of one level, and for each tensor where its reuse ends: going outward from
/// the innermost loop, at the first one that iterates (has more than one tile in a tile around it)
/// and indexes the tensor.
struct Order {
  std::vector<unsigned> loops; ///< outermost first; those that do not iterate come first
  uint32_t ended = 0;          ///< mask of the tensors whose reuse ends in this level
  /// By tensor: mask of the loops that iterate and stand outside of where its reuse ends, or there.
  uint32_t outside[kMaxTensors] = {};
};

/// `loops`: outermost first, each at most once. `iterating`: mask.
Order orderOf(const Shape &shape, const std::vector<unsigned> &loops, uint32_t iterating);

/// The orders among which there is a best one for the traffic of this level and of all inside of
/// it, by the mask of loops that iterate.
///
/// Going outward, a loop that indexes only tensors whose reuse has ended already costs nothing and
/// is a reuse to the others: it is taken at once. Of the rest, one that ends the reuse of a subset
/// of what another ends is taken before it (exchange the two: no tensor is the worse for it). Once
/// all reuse has ended, the order of what is left outside is of no account. A matrix product has
/// three orders, one per tensor that stays; the same holds when reuse of some tensors has ended in
/// the levels inside of this one.
class Orders {
public:
  explicit Orders(const Shape &shape) : shape(shape) {}
  const std::vector<Order> &of(uint32_t iterating);
  /// Whether a nest had more orders than are searched (`kMaxOrders` for one mask).
  bool truncated() const { return cut; }
  static constexpr size_t kMaxOrders = 256;

private:
  void extend(std::vector<unsigned> &inner, uint32_t left, uint32_t ended, std::vector<Order> &into,
              uint32_t iterating);

  const Shape &shape;
  std::unordered_map<uint32_t, std::vector<Order>> known;
  bool cut = false;
};

} // namespace accord::tile
