// Groups of operations that run as one, on plain data.
#include "lib/training/fuse/Fusion.h"
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace accord;

namespace {

using Family = FusionNode::Family;
using Groups = std::vector<std::vector<uint32_t>>;

FusionNode node(Family family, std::vector<uint32_t> operands, std::vector<uint32_t> along = {}, uint32_t zone = 0) {
  return {family, zone, std::move(operands), std::move(along)};
}

std::vector<FusionNode> randomNodes(unsigned size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<FusionNode> nodes;
  for (uint32_t n = 0; n < size; ++n) {
    FusionNode one;
    one.family = static_cast<Family>(random() % 4);
    one.zone = random() % 8 == 0;
    for (unsigned i = random() % 4; n > 0 && i > 0; --i) {
      uint32_t back = random() % 4 ? random() % std::min(n, 6u) : random() % n;
      uint32_t p = n - 1 - back;
      one.operands.push_back(p);
      if ((one.family == Family::Elementwise || one.family == Family::Normalization) && random() % 3)
        one.along.push_back(p);
    }
    nodes.push_back(std::move(one));
  }
  return nodes;
}

/// Every node once, and every operand in an earlier group or earlier in the same.
void expectRuns(const std::vector<FusionNode> &nodes, const Groups &groups) {
  std::vector<bool> done(nodes.size());
  for (const auto &group : groups)
    for (uint32_t n : group) {
      ASSERT_FALSE(done[n]);
      for (uint32_t p : nodes[n].operands)
        ASSERT_TRUE(done[p]) << p << " is needed by " << n;
      done[n] = true;
    }
  EXPECT_EQ(std::count(done.begin(), done.end(), true), static_cast<long>(nodes.size()));
}

} // namespace

TEST(Fusion, ElementwiseWorkFollowsAContraction) {
  Groups groups = fuse({node(Family::Contraction, {}), node(Family::Elementwise, {0}, {0}),
                        node(Family::Elementwise, {1}, {1}), node(Family::Contraction, {2})},
                       {});
  EXPECT_EQ(groups, (Groups{{0, 1, 2}, {3}}));
}

TEST(Fusion, ADetourThroughAnotherOperationIsACycle) {
  // 2 needs 0 directly and through 1, which joins nothing.
  Groups groups =
      fuse({node(Family::Contraction, {}), node(Family::Barrier, {0}), node(Family::Elementwise, {0, 1}, {0})}, {});
  EXPECT_EQ(groups, (Groups{{0}, {1}, {2}}));
}

TEST(Fusion, WhatAContractionReadsIsNotMadeInsideItsLoop) {
  // The residual x = 0 is read by the contraction and by the sum behind it.
  Groups groups = fuse(
      {node(Family::Elementwise, {}), node(Family::Contraction, {0}), node(Family::Elementwise, {0, 1}, {0, 1})}, {});
  EXPECT_EQ(groups, (Groups{{0}, {1, 2}}));
}

TEST(Fusion, ANormalizationTakesWhatIsBeforeAndBehindButNoContraction) {
  std::vector<FusionNode> nodes = {node(Family::Elementwise, {}), node(Family::Normalization, {0}, {0}),
                                   node(Family::Elementwise, {1}, {1}), node(Family::Contraction, {2}),
                                   node(Family::Normalization, {3}, {3})};
  EXPECT_EQ(fuse(nodes, {}), (Groups{{0, 1, 2}, {3}, {4}}));
  FusionOptions none;
  none.normalizations = false;
  EXPECT_EQ(fuse(nodes, none), (Groups{{0}, {1}, {2}, {3}, {4}}));
}

TEST(Fusion, BordersZonesAndTheLimitPartChains) {
  std::vector<FusionNode> nodes = {node(Family::Elementwise, {})};
  for (uint32_t n = 1; n < 8; ++n)
    nodes.push_back(node(Family::Elementwise, {n - 1}, {n - 1}, n >= 6));
  FusionOptions options;
  options.max = 4;
  EXPECT_EQ(fuse(nodes, options), (Groups{{0, 1, 2, 3}, {4, 5}, {6, 7}}));
  options.elementwise = false;
  EXPECT_EQ(fuse(nodes, options).size(), 8u);
  nodes[2].family = Family::Barrier;
  EXPECT_EQ(fuse(nodes, {}), (Groups{{0, 1}, {2}, {3, 4, 5}, {6, 7}}));
}

TEST(Fusion, RandomGraphsKeepTheirOrderAndTheirRules) {
  unsigned joined = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    auto nodes = randomNodes(1 + seed % 90, seed);
    FusionOptions options;
    options.max = 1 + seed % 9;
    Groups groups = fuse(nodes, options);
    expectRuns(nodes, groups);
    EXPECT_EQ(groups, fuse(nodes, options));
    for (const auto &group : groups) {
      EXPECT_LE(group.size(), options.max);
      unsigned heavy = 0;
      for (uint32_t n : group) {
        heavy += nodes[n].family != Family::Elementwise;
        EXPECT_EQ(nodes[n].zone, nodes[group[0]].zone);
        if (group.size() > 1) {
          EXPECT_NE(nodes[n].family, Family::Barrier);
        }
      }
      if (group.size() > 1) {
        EXPECT_LE(heavy, 1u);
        ++joined;
      }
    }
  }
  EXPECT_GT(joined, 300u);
}

TEST(Fusion, ManyNodesAtOnce) {
  auto nodes = randomNodes(100000, 1);
  EXPECT_LT(fuse(nodes, {}).size(), nodes.size());
}
