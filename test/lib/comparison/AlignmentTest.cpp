// The alignment of planned and measured work, against all alignments of short sequences.
#include "lib/comparison/solve/Alignment.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

namespace accord::comparison {
namespace {

using Sequence = std::vector<Signature>;

std::vector<const Signature *> pointers(const Sequence &sequence) {
  std::vector<const Signature *> all;
  for (const Signature &one : sequence)
    all.push_back(&one);
  return all;
}

/// The largest sum of likenesses of pairs that rise in both, by trying each choice.
int bestOf(const Sequence &planned, const Sequence &measured, size_t i = 0, size_t j = 0) {
  if (i == planned.size() || j == measured.size())
    return 0;
  int best = std::max(bestOf(planned, measured, i + 1, j), bestOf(planned, measured, i, j + 1));
  if (int like = likenessOf(planned[i], measured[j]); like > 0)
    best = std::max(best, like + bestOf(planned, measured, i + 1, j + 1));
  return best;
}

Sequence drawn(std::mt19937 &random, size_t length) {
  Sequence sequence;
  for (size_t i = 0; i < length; ++i) {
    const bool isProduct = random() % 2;
    sequence.push_back({isProduct ? WorkClass::Product : WorkClass::ElementWise,
                        isProduct      ? ""
                        : random() % 2 ? "add"
                                       : "mul",
                        int64_t(random() % 3), int64_t(random() % 2)});
  }
  return sequence;
}

TEST(Alignment, HasTheLargestSumOfAllAlignments) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const Sequence planned = drawn(random, random() % 7), measured = drawn(random, random() % 7);
    int sum = 0;
    std::pair<uint32_t, uint32_t> before{0, 0};
    bool isFirst = true;
    for (auto pair : alignedPairs(pointers(planned), pointers(measured))) {
      EXPECT_TRUE(isFirst || (pair.first > before.first && pair.second > before.second));
      const int like = likenessOf(planned[pair.first], measured[pair.second]);
      EXPECT_GT(like, 0);
      sum += like, before = pair, isFirst = false;
    }
    EXPECT_EQ(sum, bestOf(planned, measured));
  }
}

TEST(Alignment, TellsSizesAndWordsApart) {
  const Signature product{WorkClass::Product, "", 100, 5}, longer{WorkClass::Product, "", 100, 10},
      unknown{WorkClass::Product, "", 0, 0}, add{WorkClass::ElementWise, "add", 8, 0},
      mul{WorkClass::ElementWise, "mul", 8, 0}, mulOfAnySize{WorkClass::ElementWise, "mul", 0, 0};
  EXPECT_GE(likenessOf(product, product), 3);
  EXPECT_EQ(likenessOf(product, longer), 0);
  EXPECT_EQ(likenessOf(product, unknown), 1);
  EXPECT_EQ(likenessOf(product, add), 0);
  EXPECT_GT(likenessOf(add, add), likenessOf(add, mul));
  EXPECT_EQ(likenessOf(add, mulOfAnySize), 0);
}

TEST(Alignment, LeavesOutWhatOneSequenceLacks) {
  const Sequence planned{
      {WorkClass::Product, "", 1, 1}, {WorkClass::Softmax, "", 2, 0}, {WorkClass::Product, "", 3, 1}};
  const Sequence measured{{WorkClass::Product, "", 1, 1}, {WorkClass::Copy, "", 9, 0}, {WorkClass::Product, "", 3, 1}};
  const std::vector<std::pair<uint32_t, uint32_t>> expected{{0, 0}, {2, 2}};
  EXPECT_EQ(alignedPairs(pointers(planned), pointers(measured)), expected);
}

} // namespace
} // namespace accord::comparison
