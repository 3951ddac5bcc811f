// Traffic and room of tiles, against a nest of loops that is walked tile by tile.
#include "lib/planning/verify/Proof.h"
#include "lib/support/SplitMix.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace accord;

namespace {

/// An operation with tiles in the memories behind the first one.
struct Tiled {
  Machine machine;
  Operation op;
  OperationCost cost;
};

int64_t extentOf(const Tiled &of, size_t group) {
  int64_t extent = 1;
  for (unsigned loop : of.cost.tiles[0].groups[group])
    extent *= of.op.domain[loop].extent;
  return extent;
}

bool indexes(const Tiled &of, const LoopTensor &tensor, size_t group) {
  for (const auto &terms : tensor.dimensions)
    for (const LoopTensor::Term &term : terms)
      if (term.loop == of.cost.tiles[0].groups[group].front())
        return true;
  return false;
}

/// Bytes of a tensor that come into the memory of a level: whenever another tile of it is needed than the one before.
/// What is written leaves as often, and is read back unless it comes for the first time.
double walked(const Tiled &of, const LoopTensor &tensor, size_t level) {
  size_t groups = of.cost.tiles[0].groups.size();
  std::vector<int64_t> at(groups, 0), room(groups); // the part of each group that the levels outside work on
  for (size_t g = 0; g < groups; ++g)
    room[g] = extentOf(of, g);
  std::vector<int64_t> last;
  double fetched = 0, first = 0;
  auto nest = [&](auto &&self, size_t depth) -> void {
    if (depth == (level + 1) * groups) {
      std::vector<int64_t> now;
      double elements = 1;
      for (size_t g = 0; g < groups; ++g)
        if (indexes(of, tensor, g))
          now.push_back(at[g]), now.push_back(room[g]), elements *= static_cast<double>(room[g]);
      if (fetched == 0 || now != last)
        fetched += elements;
      last = now;
      return;
    }
    const Tile &tile = of.cost.tiles[depth / groups];
    unsigned g = tile.order[depth % groups];
    int64_t begin = at[g], all = room[g];
    for (int64_t from = 0; from < all; from += tile.extents[g]) {
      at[g] = begin + from, room[g] = std::min(tile.extents[g], all - from);
      self(self, depth + 1);
    }
    at[g] = begin, room[g] = all;
  };
  nest(nest, 0);
  first = 1;
  for (size_t g = 0; g < groups; ++g)
    if (indexes(of, tensor, g))
      first *= static_cast<double>(extentOf(of, g));
  double moved = tensor.written ? 2 * fetched - first : fetched;
  return moved * static_cast<double>(tensor.elementBits) / 8;
}

/// One or two levels of tiles that divide each other; with one, the last tile may be smaller.
Tiled draw(SplitMix &random) {
  Tiled of;
  size_t levels = 1 + random.below(2), groups = 1 + random.below(3), loops = 0;
  std::vector<std::vector<unsigned>> cut;
  std::vector<std::vector<int64_t>> extents(levels, std::vector<int64_t>(groups));
  for (size_t g = 0; g < groups; ++g) {
    cut.emplace_back();
    int64_t inner = 1 + static_cast<int64_t>(random.below(3)), middle = 1 + static_cast<int64_t>(random.below(3));
    if (random.below(3) == 0) { // two loops as one
      of.op.domain.push_back({inner, IteratorKind::Parallel}), of.op.domain.push_back({middle, IteratorKind::Parallel});
      cut[g] = {static_cast<unsigned>(loops), static_cast<unsigned>(loops + 1)};
      loops += 2;
      for (size_t level = 0; level < levels; ++level)
        extents[level][g] = level ? 1 : inner;
      continue;
    }
    int64_t outer = 1 + static_cast<int64_t>(random.below(3));
    int64_t more = levels == 1 ? static_cast<int64_t>(random.below(2)) : 0;
    of.op.domain.push_back({inner * middle * outer + more, IteratorKind::Parallel});
    cut[g] = {static_cast<unsigned>(loops++)};
    for (size_t level = 0; level < levels; ++level)
      extents[level][g] = level ? inner : inner * middle;
  }
  of.machine.memories.resize(levels + 1);
  for (size_t level = 0; level < levels; ++level) {
    Tile tile;
    tile.memory = static_cast<int>(level) + 1;
    tile.groups = cut, tile.extents = extents[level];
    tile.order.resize(groups);
    std::iota(tile.order.begin(), tile.order.end(), 0u);
    for (size_t i = groups; i > 1; --i)
      std::swap(tile.order[i - 1], tile.order[random.below(i)]);
    of.cost.tiles.push_back(tile);
  }
  for (size_t t = 0; t < 3; ++t) {
    LoopTensor tensor;
    tensor.written = t == 2, tensor.elementBits = t ? 16 : 32;
    for (size_t g = 0; g < groups; ++g)
      if (random.below(3))
        for (unsigned loop : cut[g])
          tensor.dimensions.push_back({{loop, 1}});
    of.op.tensors.push_back(tensor);
  }
  of.op.name = "product";
  of.cost.bytes.resize(levels + 1);
  for (size_t level = 0; level < levels; ++level) {
    double held = 0;
    for (const LoopTensor &tensor : of.op.tensors) {
      double elements = 1;
      for (size_t g = 0; g < groups; ++g)
        if (indexes(of, tensor, g))
          elements *= static_cast<double>(extents[level][g]);
      held += elements * static_cast<double>(tensor.elementBits) / 8;
      of.cost.bytes[level] = Bytes(of.cost.bytes[level].value + walked(of, tensor, level));
    }
    Memory &memory = of.machine.memories[level + 1];
    memory.name = "m" + std::to_string(level + 1);
    memory.doubleBuffered = random.below(2);
    memory.capacity = Bytes(held * (memory.doubleBuffered ? 2 : 1)); // exactly
  }
  return of;
}

struct Judged {
  bool followed;
  Errors findings;
};
Judged judged(const Tiled &of) {
  Plan plan;
  plan.machine = of.machine;
  Proof proof{plan, {}, {}};
  bool followed = verifyTiles(proof, of.op, of.cost);
  return {followed, proof.out.findings};
}

TEST(VerifyTiles, TrafficAndRoomAreThoseOfANestThatIsWalked) {
  SplitMix random(1);
  for (int i = 0; i < 400; ++i) {
    Tiled of = draw(random);
    Judged right = judged(of);
    EXPECT_TRUE(right.followed);
    for (const Error &error : right.findings)
      ADD_FAILURE() << i << ": " << error.message;
    for (size_t level = 0; level < of.cost.tiles.size(); ++level) {
      auto refused = [&](const char *said, auto change) {
        Tiled wrong = of;
        change(wrong);
        Errors findings = judged(wrong).findings;
        ASSERT_EQ(findings.size(), 1u) << i << said;
        EXPECT_NE(findings[0].message.find(said), std::string::npos) << findings[0].message;
      };
      refused("traffic of 'product'",
              [&](Tiled &wrong) { wrong.cost.bytes[level] = Bytes(wrong.cost.bytes[level].value * (1 - 1e-6)); });
      refused("a tile of 'product'", [&](Tiled &wrong) {
        Memory &memory = wrong.machine.memories[level + 1];
        memory.capacity = Bytes(memory.capacity.value * (1 - 1e-6));
      });
      const char *pieces = "the tiles of 'product' are not pieces of its loops";
      refused(pieces, [&](Tiled &wrong) { wrong.cost.tiles[level].extents[0] = 0; });
      refused(pieces, [&](Tiled &wrong) {
        int64_t outer = level ? wrong.cost.tiles[level - 1].extents[0] : extentOf(wrong, 0);
        wrong.cost.tiles[level].extents[0] = outer + 1;
      });
      refused(pieces, [&](Tiled &wrong) { wrong.cost.tiles[level].extents.pop_back(); });
      refused(pieces, [&](Tiled &wrong) { wrong.cost.tiles[level].order.pop_back(); });
      refused(pieces, [&](Tiled &wrong) { wrong.cost.tiles[level].order.push_back(0); });
      refused(pieces, [&](Tiled &wrong) { wrong.cost.tiles[level].order.back() = 7; });
      refused(pieces, [&](Tiled &wrong) { ++wrong.cost.tiles[level].memory; });
      refused(pieces, [&](Tiled &wrong) { --wrong.cost.tiles[level].memory; });
      refused(pieces, [&](Tiled &wrong) {
        unsigned all = static_cast<unsigned>(wrong.op.domain.size());
        for (Tile &tile : wrong.cost.tiles)
          tile.groups[0].push_back(all); // there is no such loop
      });
      refused(pieces, [&](Tiled &wrong) {
        for (Tile &tile : wrong.cost.tiles)
          tile.groups.back().push_back(tile.groups[0][0]); // one loop twice
      });
      refused(pieces, [&](Tiled &wrong) { wrong.op.domain.push_back({2, IteratorKind::Parallel}); }); // in no group
      refused(pieces, [&](Tiled &wrong) { wrong.machine.memories.pop_back(), wrong.cost.bytes.pop_back(); });
      refused(pieces, [&](Tiled &wrong) { wrong.cost.bytes.pop_back(); });
      if (level > 0)
        refused(pieces, [&](Tiled &wrong) { wrong.cost.tiles[level].groups[0].clear(); });
    }
    // A tensor of a loop that is not there.
    for (size_t beyond : {of.op.domain.size(), of.op.domain.size() + 9}) {
      Tiled wrong = of;
      wrong.op.tensors[0].dimensions.push_back({{static_cast<unsigned>(beyond), 1}});
      Judged found = judged(wrong);
      EXPECT_FALSE(found.followed);
      ASSERT_EQ(found.findings.size(), 1u);
      EXPECT_NE(found.findings[0].message.find("is indexed by loop"), std::string::npos);
    }
  }
}

// Windows, strides, a loop in two places and a group of which only a part is indexed are not followed, and nothing is
// said against them.
TEST(VerifyTiles, WhatIsNoPlainIndexIsNotFollowed) {
  Tiled of;
  of.op.name = "product";
  of.op.domain = {{4, IteratorKind::Parallel}, {6, IteratorKind::Parallel}, {2, IteratorKind::Reduction}};
  of.machine.memories.resize(2);
  of.cost.tiles = {{1, {{0}, {1, 2}}, {2, 3}, {0, 1}}};
  of.cost.bytes.resize(2);
  auto followed = [&](std::vector<std::vector<LoopTensor::Term>> dimensions) {
    Tiled one = of;
    one.op.tensors.resize(1);
    one.op.tensors[0].dimensions = std::move(dimensions);
    one.cost.bytes[0] = Bytes(1e9), one.machine.memories[1].capacity = Bytes(1e9);
    Judged found = judged(one);
    EXPECT_TRUE(found.findings.empty());
    return found.followed;
  };
  EXPECT_TRUE(followed({}));
  EXPECT_TRUE(followed({{}}));
  EXPECT_TRUE(followed({{{0, 1}}}));
  EXPECT_TRUE(followed({{{1, 1}}, {{2, 1}}}));
  EXPECT_FALSE(followed({{{0, 2}}}));
  EXPECT_FALSE(followed({{{1, 1}, {2, 1}}}));
  EXPECT_FALSE(followed({{{0, 1}}, {{0, 1}}}));
  EXPECT_FALSE(followed({{{1, 1}}}));
}

} // namespace
