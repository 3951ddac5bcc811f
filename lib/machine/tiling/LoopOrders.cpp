#include "lib/machine/tiling/LoopOrders.h"

namespace accord::tile {

Order orderOf(const Shape &shape, const std::vector<unsigned> &loops, uint32_t iterating) {
  Order order;
  order.loops = loops;
  uint32_t inside = 0;
  for (size_t at = loops.size(); at-- > 0;) {
    unsigned loop = loops[at];
    if (!(iterating >> loop & 1))
      continue;
    uint32_t ends = shape.indexes[loop] & ~order.ended;
    order.ended |= ends;
    for (unsigned t = 0; ends; ++t, ends >>= 1)
      if (ends & 1)
        order.outside[t] = iterating & ~inside;
    inside |= uint32_t(1) << loop;
  }
  return order;
}

const std::vector<Order> &Orders::of(uint32_t iterating) {
  auto found = known.find(iterating);
  if (found != known.end())
    return found->second;
  std::vector<Order> orders;
  std::vector<unsigned> inner;
  extend(inner, iterating, 0, orders, iterating);
  return known.emplace(iterating, std::move(orders)).first->second;
}

void Orders::extend(std::vector<unsigned> &inner, uint32_t left, uint32_t ended, std::vector<Order> &into,
                    uint32_t iterating) {
  size_t before = inner.size();
  for (unsigned loop = shape.indexes.size(); loop-- > 0;)
    if ((left >> loop & 1) && !(shape.indexes[loop] & ~ended)) {
      inner.push_back(loop);
      left &= ~(uint32_t(1) << loop);
    }
  if (into.size() >= kMaxOrders) {
    cut = true;
  } else if (!left) {
    std::vector<unsigned> loops;
    for (unsigned loop = 0; loop < shape.indexes.size(); ++loop)
      if (!(iterating >> loop & 1))
        loops.push_back(loop);
    loops.insert(loops.end(), inner.rbegin(), inner.rend());
    into.push_back(orderOf(shape, loops, iterating));
  } else {
    for (unsigned loop = 0; loop < shape.indexes.size(); ++loop) {
      if (!(left >> loop & 1))
        continue;
      uint32_t ends = shape.indexes[loop] & ~ended;
      bool skip = false;
      for (unsigned other = 0; other < shape.indexes.size() && !skip; ++other) {
        uint32_t less = shape.indexes[other] & ~ended;
        // Of loops that end the same, the first stands for all: the others follow at no cost.
        skip = (left >> other & 1) && !(less & ~ends) && (less != ends || other < loop);
      }
      if (skip)
        continue;
      inner.push_back(loop);
      extend(inner, left & ~(uint32_t(1) << loop), ended | ends, into, iterating);
      inner.pop_back();
    }
  }
  inner.resize(before);
}

} // namespace accord::tile
