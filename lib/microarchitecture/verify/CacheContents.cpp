#include "lib/microarchitecture/verify/CacheContents.h"
#include <algorithm>

namespace accord::microarchitecture {

int32_t CacheContents::victimOf(const Set &set) const {
  for (int32_t w = 0; w < cache.ways; ++w)
    if (!set.ways[w].valid)
      return w;
  if (cache.replacement == Replacement::TreePlru) {
    int32_t node = 1;
    while (node < cache.ways)
      node = 2 * node + int32_t(set.tree >> node & 1);
    return node - cache.ways;
  }
  int32_t found = 0;
  auto stamp = [&](int32_t w) { return cache.replacement == Replacement::Lru ? set.ways[w].used : set.ways[w].came; };
  for (int32_t w = 1; w < cache.ways; ++w)
    if (stamp(w) < stamp(found))
      found = w;
  return found;
}

void CacheContents::use(Set &set, int32_t way) {
  set.ways[way].used = ++clock;
  for (int32_t node = way + cache.ways; node > 1 && cache.replacement == Replacement::TreePlru; node /= 2) {
    // The way is below `node`: its parent points to the other side from now on.
    const uint32_t bit = uint32_t(1) << (node / 2);
    set.tree = node % 2 == 0 ? set.tree | bit : set.tree & ~bit;
  }
}

Lookup CacheContents::access(int64_t lineAddress, bool store, Touch touch) {
  Set &set = sets[(lineAddress / cache.lineBytes) % cache.sets];
  set.ways.resize(size_t(cache.ways));
  Lookup found;
  for (int32_t w = 0; w < cache.ways; ++w)
    if (set.ways[w].valid && set.ways[w].address == lineAddress) {
      use(set, w);
      set.ways[w].touch = touch, set.ways[w].dirty |= store && cache.writeBack;
      found.hit = true, found.fill = set.ways[w].fill;
      return found;
    }
  if (store && !cache.allocatesOnWrite)
    return found;
  const int32_t chosen = victimOf(set);
  Way &way = set.ways[chosen];
  found.fills = true, found.fill = begun++;
  if (way.valid && way.dirty)
    found.writesBack = true, found.victim = way.address, found.victimTouch = way.touch;
  way.valid = true, way.dirty = store && cache.writeBack;
  way.address = lineAddress, way.fill = found.fill, way.touch = touch;
  use(set, chosen);
  way.came = clock;
  return found;
}

std::vector<std::pair<int32_t, const CacheContents::Way *>> CacheContents::ordered(const Set &set) const {
  std::vector<std::pair<int32_t, const Way *>> all;
  for (int32_t w = 0; w < int32_t(set.ways.size()); ++w)
    if (set.ways[w].valid)
      all.push_back({w, &set.ways[w]});
  if (cache.replacement == Replacement::TreePlru)
    return all;
  const bool byUse = cache.replacement == Replacement::Lru;
  std::sort(all.begin(), all.end(), [&](const auto &a, const auto &b) {
    return byUse ? a.second->used < b.second->used : a.second->came < b.second->came;
  });
  for (int32_t p = 0; p < int32_t(all.size()); ++p)
    all[p].first = p; // where a line lies does not matter then
  return all;
}

} // namespace accord::microarchitecture
