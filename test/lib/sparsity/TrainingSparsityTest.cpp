// Which products of a training step zeros help: what follows a mask, and the operations of a graph.
#include "lib/sparsity/cost/TrainingSparsity.h"
#include "lib/sparsity/cost/Format.h"
#include "test/support/CatalogueWork.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace accord;

namespace {

SparsityPattern unstructured(double density) {
  SparsityPattern p;
  p.kind = SparsityPattern::Kind::Unstructured;
  p.density = density;
  p.independent = true;
  return p;
}

OperandSparsity stored(const SparsityPattern &pattern) {
  OperandSparsity sparsity{pattern, {}};
  sparsity.format.kind = SparseFormat::Kind::Bitmask;
  return sparsity;
}

TEST(TrainingSparsity, WhatFollowsAMask) {
  OperandShape shape{64, 64};
  EXPECT_EQ(*updateShare(unstructured(0.25), shape), 0.25);
  SparsityPattern dynamic = unstructured(0.25);
  dynamic.dynamic = true;
  EXPECT_EQ(*updateShare(dynamic, shape), 1);
  auto change = [&](GemmOperand of, const OperandSparsity &sparsity) {
    return *maskChange(of, sparsity, shape, 16, 0.95);
  };
  EXPECT_EQ(change(GemmOperand::Weights, stored(unstructured(0.25))).readBits, 0);
  MaskChange weights = change(GemmOperand::Weights, stored(dynamic));
  EXPECT_EQ(weights.readBits, 64 * 64 * 16);
  EXPECT_EQ(weights.writtenBits, 64 * 64 * (4 + 1));
  EXPECT_EQ(change(GemmOperand::Activations, stored(dynamic)).writtenBits, 64 * 64);
  EXPECT_EQ(change(GemmOperand::Activations, stored(dynamic)).readBits, 0);
}

TEST(TrainingSparsity, TransposedTwiceIsTheSame) {
  SparsityPattern mask;
  mask.kind = SparsityPattern::Kind::Mask;
  mask.mask = {{true, false, true}, {false, false, true}};
  EXPECT_EQ(transposed(mask).mask, (std::vector<std::vector<bool>>{{true, false}, {false, false}, {true, true}}));
  EXPECT_EQ(transposed(transposed(mask)).mask, mask.mask);
  SparsityPattern blocks;
  blocks.kind = SparsityPattern::Kind::Block;
  blocks.blockRows = 2;
  blocks.blockColumns = 8;
  EXPECT_EQ(transposed(blocks).blockRows, 8);
  EXPECT_EQ(transposed(transposed(blocks)).blockRows, 2);
}

TEST(TrainingSparsity, OperandsOfTheGraph) {
  auto work = test::ofCatalogue("resnet.dnn", "resnet18", "a100_80g", 4);
  ASSERT_TRUE(work);
  int products = 0;
  for (const Operation &op : work->first.operations) {
    auto found = productOf(work->first, op);
    if (!op.contraction || op.body != kNone)
      continue;
    ASSERT_TRUE(found) << op.name;
    ++products;
    // All multiply-accumulates are in the product.
    EXPECT_EQ(2.0 * static_cast<double>(found->rows) * static_cast<double>(found->columns) *
                  static_cast<double>(found->depth) * static_cast<double>(found->batch),
              static_cast<double>(op.flops))
        << op.name;
    auto category = [&](size_t tensor) { return work->first.values[op.operands[tensor]].category; };
    if (op.phase == Phase::WeightGradient)
      EXPECT_TRUE(category(found->stationary) == Category::Activations ||
                  category(found->stationary) == Category::Inputs)
          << op.name;
    else
      EXPECT_EQ(category(found->stationary), Category::Weights) << op.name;
    if (op.name == "resnet_features.conv_bn.conv") {
      EXPECT_EQ(found->columns, 64);
      EXPECT_EQ(found->depth, 7 * 7 * 3);
      EXPECT_EQ(found->rows, 4 * 112 * 112);
    }
  }
  EXPECT_GT(products, 40);
}

TEST(TrainingSparsity, ProductsOfActivationsAreDense) {
  auto work = test::ofCatalogue("gpt2.dnn", "gpt2", "a100_80g", 1);
  ASSERT_TRUE(work);
  int attention = 0, linear = 0;
  for (const Operation &op : work->first.operations)
    if (op.contraction && op.phase == Phase::Forward) {
      bool weights = false;
      for (ValueId value : op.operands)
        weights |= work->first.values[value].category == Category::Weights;
      EXPECT_EQ(productOf(work->first, op).has_value(), weights) << op.name;
      ++(weights ? linear : attention);
    }
  EXPECT_GT(attention, 0);
  EXPECT_GT(linear, 0);
}

} // namespace
