// Traffic and best mappings against a replay of the loop nest, tile by tile, that knows no formula:
// sets of elements, what each buffer holds, what has been written before.
#include "lib/machine/tiling/Mapping.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <random>

using namespace accord;
using namespace accord::tile;

namespace {

using Elements = uint64_t; // one bit per element: tensors of these tests have at most 64

struct Moved {
  std::vector<int64_t> read, written; // elements, by tensor
  int64_t bits(const Nest &nest) const {
    int64_t sum = 0;
    for (size_t t = 0; t < nest.tensors.size(); ++t)
      sum += (read[t] + written[t]) * nest.tensors[t].elementBits;
    return sum;
  }
};

class Replay {
public:
  explicit Replay(const Nest &nest) : nest(nest), cache(nest.tensors.size()) {}

  /// Elements of one tensor that iterations from[i] to from[i] + size[i] - 1 touch.
  Elements touched(unsigned t, const std::vector<int64_t> &from, const std::vector<int64_t> &size) {
    auto key = std::pair(from, size);
    auto known = cache[t].find(key);
    if (known != cache[t].end())
      return known->second;
    Elements set = 0;
    std::vector<int64_t> at = from;
    for (bool more = true; more;) {
      int64_t index = 0;
      for (const auto &terms : nest.tensors[t].dimensions) {
        int64_t position = 0, size = 1;
        for (const Term &term : terms) {
          position += term.stride * at[term.loop];
          size += term.stride * (nest.loops[term.loop].extent - 1);
        }
        index = index * size + position;
      }
      EXPECT_LT(index, 64);
      set |= Elements(1) << index;
      more = false;
      for (size_t i = 0; i < at.size() && !more; ++i) {
        more = ++at[i] < from[i] + size[i];
        if (!more)
          at[i] = from[i];
      }
    }
    return cache[t][key] = set;
  }

  /// What crosses the link into the memory of the last tiling. `byPlace`: a transfer stands at its
  /// place in the nest and happens at each iteration of the loops around it; otherwise it happens
  /// when the buffer does not hold what is asked for.
  Moved run(const std::vector<Tiling> &tilings, bool byPlace) {
    size_t n = nest.loops.size(), tensors = nest.tensors.size();
    Moved moved{std::vector<int64_t>(tensors), std::vector<int64_t>(tensors)};
    std::vector<Elements> held(tensors), seen(tensors);
    std::vector<std::vector<int64_t>> place(tensors, {-1});
    // All loops, outermost first: (level, loop).
    std::vector<std::pair<size_t, unsigned>> all;
    for (size_t l = 0; l < tilings.size(); ++l)
      for (unsigned loop : tilings[l].order)
        all.emplace_back(l, loop);
    auto around = [&](size_t l, unsigned i) { return l ? tilings[l - 1].tile[i] : nest.loops[i].extent; };
    std::vector<size_t> depth(tensors, 0); // loops outside of the transfer
    for (size_t t = 0; t < tensors; ++t)
      for (size_t d = 0; d < all.size(); ++d)
        for (const auto &terms : nest.tensors[t].dimensions)
          for (const Term &term : terms)
            if (term.loop == all[d].second && tilings[all[d].first].tile[term.loop] < around(all[d].first, term.loop))
              depth[t] = d + 1;
    std::vector<int64_t> counters;
    auto leaf = [&](const std::vector<int64_t> &from, const std::vector<int64_t> &size) {
      for (unsigned t = 0; t < tensors; ++t) {
        Elements wanted = touched(t, from, size);
        std::vector<int64_t> here(counters.begin(), counters.begin() + static_cast<std::ptrdiff_t>(depth[t]));
        if (byPlace ? here == place[t] : wanted == held[t])
          continue;
        place[t] = here;
        if (nest.tensors[t].written) {
          moved.written[t] += std::popcount(held[t]);
          moved.read[t] += std::popcount(wanted & seen[t]);
          seen[t] |= wanted;
        } else {
          moved.read[t] += std::popcount(wanted);
        }
        held[t] = wanted;
      }
    };
    auto walk = [&](auto &&self, size_t d, std::vector<int64_t> from, std::vector<int64_t> size) -> void {
      if (d == all.size())
        return leaf(from, size);
      auto [l, loop] = all[d];
      int64_t end = from[loop] + size[loop], step = tilings[l].tile[loop];
      counters.push_back(0);
      for (int64_t at = from[loop]; at < end; at += step, ++counters.back()) {
        auto inner = from, left = size;
        inner[loop] = at;
        left[loop] = std::min(step, end - at);
        self(self, d + 1, inner, left);
      }
      counters.pop_back();
    };
    std::vector<int64_t> from(n, 0), size(n);
    for (size_t i = 0; i < n; ++i)
      size[i] = nest.loops[i].extent;
    walk(walk, 0, from, size);
    for (unsigned t = 0; t < tensors; ++t)
      if (nest.tensors[t].written)
        moved.written[t] += std::popcount(held[t]);
    return moved;
  }

  int64_t footprint(const std::vector<int64_t> &tile) {
    int64_t bits = 0;
    for (unsigned t = 0; t < nest.tensors.size(); ++t)
      bits += std::popcount(touched(t, std::vector<int64_t>(tile.size(), 0), tile)) * nest.tensors[t].elementBits;
    return bits;
  }

private:
  const Nest &nest;
  std::vector<std::map<std::pair<std::vector<int64_t>, std::vector<int64_t>>, Elements>> cache;
};

struct Random {
  std::mt19937 engine;
  int64_t operator()(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine() % static_cast<uint64_t>(high - low + 1));
  }
  template <class T> T of(std::initializer_list<T> list) {
    return *(list.begin() + (*this)(0, static_cast<int64_t>(list.size()) - 1));
  }
};

Nest gemm(Random &random, int64_t max) {
  return {{{random(1, max), 1, "m"}, {random(1, max), 1, "n"}, {random(1, max), 1, "k"}},
          {{"A", {{{0, 1}}, {{2, 1}}}, {}, random.of<int64_t>({8, 16, 32}), false},
           {"B", {{{2, 1}}, {{1, 1}}}, {}, random.of<int64_t>({8, 16, 32}), false},
           {"C", {{{0, 1}}, {{1, 1}}}, {}, random.of<int64_t>({16, 32}), true}}};
}

Nest batched(Random &random) {
  Nest nest = gemm(random, 4);
  nest.loops.push_back({random(1, 3), 1, "b"});
  for (NestTensor &tensor : nest.tensors)
    tensor.dimensions.push_back({{3, 1}});
  return nest;
}

/// n, c, h, w, i and a window of h and w; `written` chooses the forward pass or one of the
/// gradients.
Nest convolution(Random &random, int64_t dilation) {
  int64_t s = random(1, 3);
  Nest nest{{{random(1, 2), 1, "n"},
             {random(1, 2), 1, "c"},
             {random(1, 3), 1, "h"},
             {random(1, 2), 1, "i"},
             {random(1, 3), 1, "r"}},
            {{"X", {{{0, 1}}, {{3, 1}}, {{2, s}, {4, dilation}}}, {}, 16, false},
             {"W", {{{1, 1}}, {{3, 1}}, {{4, 1}}}, {}, 16, false},
             {"Y", {{{0, 1}}, {{1, 1}}, {{2, 1}}}, {}, 32, false}}};
  nest.tensors[static_cast<size_t>(random(0, 2))].written = true;
  nest.loops[4].granule = random(0, 1) ? nest.loops[4].extent : 1;
  return nest;
}

Nest elementwise(Random &random) {
  return {{{random(1, 6), 1, "x"}, {random(1, 6), 1, "y"}},
          {{"A", {{{0, 1}}, {{1, 1}}}, {}, 32, false},
           {"B", {{{1, 1}}}, {}, 16, false},
           {"C", {{{0, 1}}, {{1, 1}}}, {}, 32, true}}};
}

Nest anyNest(Random &random, int64_t dilation = 1) {
  switch (random(0, 3)) {
  case 0:
    return gemm(random, 5);
  case 1:
    return batched(random);
  case 2:
    return convolution(random, dilation);
  default:
    return elementwise(random);
  }
}

std::vector<Level> roomy(size_t memories) {
  std::vector<Level> levels;
  for (size_t l = 0; l < memories; ++l)
    levels.push_back({fmt::format("m{}", l), Bytes(1e9), BytesPerSecond(1), Seconds(0), true, {}});
  return levels;
}

const ComputeOfTile nothing = [](std::span<const int64_t>) { return Seconds(0); };

std::vector<Tiling> randomTilings(Random &random, const Nest &nest, size_t count) {
  std::vector<Tiling> tilings(count);
  for (size_t l = 0; l < count; ++l) {
    for (size_t i = 0; i < nest.loops.size(); ++i)
      tilings[l].tile.push_back(random(1, l ? tilings[l - 1].tile[i] : nest.loops[i].extent));
    tilings[l].order.resize(nest.loops.size());
    std::iota(tilings[l].order.begin(), tilings[l].order.end(), 0);
    for (size_t i = tilings[l].order.size(); i > 1; --i)
      std::swap(tilings[l].order[i - 1], tilings[l].order[static_cast<size_t>(random(0, static_cast<int64_t>(i) - 1))]);
  }
  return tilings;
}

void expectTraffic(const Nest &nest, const LevelMapping &level, const Moved &moved) {
  for (size_t t = 0; t < nest.tensors.size(); ++t) {
    double bytes = static_cast<double>(nest.tensors[t].elementBits) / 8;
    EXPECT_DOUBLE_EQ(level.tensors[t].read.value, static_cast<double>(moved.read[t]) * bytes);
    EXPECT_DOUBLE_EQ(level.tensors[t].written.value, static_cast<double>(moved.written[t]) * bytes);
  }
}

/// Whether a loop that shares a position is cut: then two tiles, which the contract tells by their
/// iterations, may hold the same elements.
bool cutsWindow(const Nest &nest, const std::vector<int64_t> &tile) {
  for (const NestTensor &tensor : nest.tensors)
    for (const auto &terms : tensor.dimensions)
      if (terms.size() > 1 && tile[terms[1].loop] < nest.loops[terms[1].loop].extent)
        return true;
  return false;
}

/// Every tiling of one memory inside of `outer`, by a callback.
void eachTile(const Nest &nest, const std::vector<int64_t> &outer,
              const std::function<void(const std::vector<int64_t> &)> &visit) {
  std::vector<int64_t> tile(outer.size());
  auto next = [&](auto &&self, size_t i) -> void {
    if (i == tile.size())
      return visit(tile);
    for (int64_t t = 1; t <= outer[i]; ++t)
      if (t == outer[i] || t % nest.loops[i].granule == 0) {
        tile[i] = t;
        self(self, i + 1);
      }
  };
  next(next, 0);
}

struct Answer {
  double time = 1e300, bits = 1e300;
  void take(double t, double b) {
    if (t < time * (1 - 1e-12) || (t <= time * (1 + 1e-12) && b < bits)) {
      time = t;
      bits = b;
    }
  }
};

std::vector<int64_t> extentsOf(const Nest &nest) {
  std::vector<int64_t> extents;
  for (const NestLoop &loop : nest.loops)
    extents.push_back(loop.extent);
  return extents;
}

} // namespace

// One memory: the buffer is asked what it holds at every tile.
TEST(TileBruteForce, TrafficOfOneMemoryIsWhatAReplayMoves) {
  Random random{std::mt19937(1)};
  for (int round = 0; round < 600; ++round) {
    Nest nest = anyNest(random, random(1, 3));
    auto tilings = randomTilings(random, nest, 1);
    auto priced = price(nest, roomy(2), tilings, nothing);
    ASSERT_TRUE(priced);
    Replay replay(nest);
    const LevelMapping &level = priced->levels[0];
    expectTraffic(nest, level, replay.run(tilings, cutsWindow(nest, tilings[0].tile)));
    EXPECT_DOUBLE_EQ(level.footprint.value * 8, static_cast<double>(replay.footprint(tilings[0].tile)));
  }
}

TEST(TileBruteForce, TrafficOfAHierarchyIsWhatTransfersAtTheirPlacesMove) {
  Random random{std::mt19937(2)};
  for (int round = 0; round < 400; ++round) {
    Nest nest = anyNest(random, random(1, 2));
    auto tilings = randomTilings(random, nest, 3);
    auto priced = price(nest, roomy(4), tilings, nothing);
    ASSERT_TRUE(priced);
    Replay replay(nest);
    for (size_t l = 0; l < 3; ++l)
      expectTraffic(nest, priced->levels[l],
                    replay.run({tilings.begin(), tilings.begin() + static_cast<long>(l) + 1}, true));
  }
}

// All tilings times all orders, replayed, against the search.
TEST(TileBruteForce, NoMappingOfOneMemoryIsBetter) {
  Random random{std::mt19937(3)};
  int tight = 0;
  for (int round = 0; round < 200; ++round) {
    Nest nest = anyNest(random);
    Replay replay(nest);
    int64_t whole = replay.footprint(extentsOf(nest));
    bool doubled = random(0, 1);
    std::vector<Level> levels = roomy(2);
    levels[0].bandwidth = BytesPerSecond(static_cast<double>(random(1, 8)));
    levels[0].latency = Seconds(static_cast<double>(random(0, 2)));
    levels[1].bandwidth = BytesPerSecond(random(0, 1) ? 1e6 : 2);
    levels[1].doubleBuffered = doubled;
    levels[1].capacity = Bytes(static_cast<double>(random(whole / 8, whole * 2)) / 8);
    double perIteration = 0.01 * static_cast<double>(random(0, 40)), perTile = 0.5 * static_cast<double>(random(0, 3));
    ComputeOfTile compute = [&](std::span<const int64_t> extents) {
      double iterations = 1;
      for (int64_t e : extents)
        iterations *= static_cast<double>(e);
      return Seconds(perTile + perIteration * iterations);
    };
    double total = std::accumulate(nest.loops.begin(), nest.loops.end(), perIteration,
                                   [](double p, const NestLoop &l) { return p * double(l.extent); });
    double rate = levels[0].bandwidth.value;
    Answer answer;
    eachTile(nest, extentsOf(nest), [&](const std::vector<int64_t> &tile) {
      if (static_cast<double>(replay.footprint(tile)) * (doubled ? 2 : 1) > levels[1].capacity.value * 8)
        return;
      double tiles = 1;
      std::vector<unsigned> order;
      for (unsigned i = 0; i < tile.size(); ++i) {
        tiles *= std::ceil(static_cast<double>(nest.loops[i].extent) / static_cast<double>(tile[i]));
        if (tile[i] < nest.loops[i].extent)
          order.push_back(i); // loops of one iteration are anywhere
      }
      do {
        std::vector<unsigned> all = order;
        for (unsigned i = 0; i < tile.size(); ++i)
          if (tile[i] == nest.loops[i].extent)
            all.push_back(i);
        double bits = static_cast<double>(replay.run({{tile, all}}, cutsWindow(nest, tile)).bits(nest));
        double link = levels[0].latency.value + bits / 8 / rate, core = total + perTile * tiles;
        answer.take(doubled ? std::max(link, core) : link + core, bits);
      } while (std::next_permutation(order.begin(), order.end()));
    });
    auto found = bestMapping(nest, levels, compute);
    if (answer.time == 1e300) {
      ASSERT_TRUE(!found);
      EXPECT_EQ(found.error().code, Code::TileDoesNotFit);
      ++tight;
      continue;
    }
    ASSERT_TRUE(found) << found.error().message;
    const Mapping &mapping = *found;
    EXPECT_TRUE(mapping.exact);
    EXPECT_NEAR(mapping.time.value, answer.time, answer.time * 1e-9);
    EXPECT_DOUBLE_EQ(mapping.levels[0].bytes.value * 8, answer.bits);
  }
  EXPECT_GT(tight, 0);
  EXPECT_LT(tight, 100);
}

TEST(TileBruteForce, NoMappingOfTwoMemoriesIsBetter) {
  Random random{std::mt19937(4)};
  int solved = 0;
  for (int round = 0; round < 12; ++round) {
    Nest nest = round % 3 ? gemm(random, 3) : elementwise(random);
    Replay replay(nest);
    int64_t whole = replay.footprint(extentsOf(nest));
    std::vector<Level> levels = roomy(3);
    for (size_t l = 0; l < 3; ++l)
      levels[l].bandwidth = BytesPerSecond(static_cast<double>(random(1, 4) << 2 * l));
    levels[1].capacity = Bytes(static_cast<double>(random(whole / 3, whole * 2)) / 8);
    levels[2].capacity = Bytes(static_cast<double>(random(whole / 6, whole)) / 8);
    levels[1].doubleBuffered = random(0, 1);
    levels[2].doubleBuffered = random(0, 1);
    Answer answer;
    auto orders = [&](const std::vector<int64_t> &outer, const std::vector<int64_t> &tile) {
      std::vector<std::vector<unsigned>> list;
      std::vector<unsigned> order;
      for (unsigned i = 0; i < tile.size(); ++i)
        if (tile[i] < outer[i])
          order.push_back(i);
      do {
        list.push_back(order);
        for (unsigned i = 0; i < tile.size(); ++i)
          if (tile[i] == outer[i])
            list.back().push_back(i);
      } while (std::next_permutation(order.begin(), order.end()));
      return list;
    };
    auto fits = [&](const std::vector<int64_t> &tile, size_t l) {
      return static_cast<double>(replay.footprint(tile)) * (levels[l].doubleBuffered ? 2 : 1) <=
             levels[l].capacity.value * 8;
    };
    auto extents = extentsOf(nest);
    eachTile(nest, extents, [&](const std::vector<int64_t> &first) {
      if (!fits(first, 1))
        return;
      for (const auto &outside : orders(extents, first)) {
        double bits1 = static_cast<double>(replay.run({{first, outside}}, true).bits(nest));
        double link1 = bits1 / 8 / levels[0].bandwidth.value;
        eachTile(nest, first, [&](const std::vector<int64_t> &second) {
          if (!fits(second, 2))
            return;
          for (const auto &inside : orders(first, second)) {
            double bits2 = static_cast<double>(replay.run({{first, outside}, {second, inside}}, true).bits(nest));
            // No arithmetic: memory 2 is filled from 1, which is filled from 0 before or meanwhile.
            double link2 = bits2 / 8 / levels[1].bandwidth.value;
            answer.take(levels[1].doubleBuffered ? std::max(link1, link2) : link1 + link2, bits1);
          }
        });
      }
    });
    auto found = bestMapping(nest, levels, nothing);
    if (answer.time == 1e300) {
      EXPECT_TRUE(!found);
      continue;
    }
    ASSERT_TRUE(found) << found.error().message;
    const Mapping &mapping = *found;
    EXPECT_TRUE(mapping.exact);
    EXPECT_NEAR(mapping.time.value, answer.time, answer.time * 1e-9);
    EXPECT_DOUBLE_EQ(mapping.levels[0].bytes.value * 8, answer.bits);
    ++solved;
  }
  EXPECT_GT(solved, 6);
}
