// Which products of a training step zeros help: bounds of the literature, and the operations of a graph.
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

SparsityPattern twoOfFour(bool transposable) {
  SparsityPattern p;
  p.kind = SparsityPattern::Kind::Structured;
  p.kept = 2;
  p.of = 4;
  p.transposable = transposable;
  return p;
}

OperandSparsity stored(const SparsityPattern &pattern) {
  OperandSparsity sparsity{pattern, {}};
  sparsity.format.kind = SparseFormat::Kind::Bitmask;
  return sparsity;
}

SparseCore skipping(bool streaming) {
  SparseCore core;
  core.stationary.mode = SparseAcceleration::Mode::Skip;
  core.streaming.mode = streaming ? SparseAcceleration::Mode::Skip : SparseAcceleration::Mode::None;
  return core;
}

PhaseShares shares(const LinearSparsity &sparsity, const SparseCore &core) {
  auto found = workShares(sparsity, core, 256, 128, 512);
  if (!found) {
    ADD_FAILURE() << found.error().message;
    return {};
  }
  return *found;
}

TEST(TrainingSparsity, BoundsOfStaticWeights) {
  for (double d : {0.05, 0.2, 0.5, 1.0}) {
    PhaseShares found = shares({stored(unstructured(d)), {}, {}, false}, skipping(false));
    EXPECT_DOUBLE_EQ(speedUpBound(found), 3 / (2 * d + 1));
    EXPECT_EQ(found.weightGradient, 1);
  }
  EXPECT_NEAR(speedUpBound(shares({stored(unstructured(0.2)), {}, {}, false}, skipping(true))), 2.143, 5e-4);
}

TEST(TrainingSparsity, BoundsOfTwoOfFour) {
  SparseCore core = skipping(false);
  core.stationary.kept = 2;
  core.stationary.of = 4;
  PhaseShares along = shares({stored(twoOfFour(false)), {}, {}, false}, core);
  EXPECT_EQ(along.forward, 0.5);
  EXPECT_EQ(along.dataGradient, 1); // there the groups lie across the reduction
  EXPECT_DOUBLE_EQ(speedUpBound(along), 1.2);
  EXPECT_DOUBLE_EQ(speedUpBound(shares({stored(twoOfFour(true)), {}, {}, false}, core)), 1.5);
  // A pattern that the core does not take, or zeros that are stored, gain nothing.
  EXPECT_EQ(speedUpBound(shares({stored(unstructured(0.5)), {}, {}, false}, core)), 1);
  EXPECT_EQ(speedUpBound(shares({{twoOfFour(true), {}}, {}, {}, false}, core)), 1);
}

TEST(TrainingSparsity, BothSides) {
  LinearSparsity sparsity{stored(unstructured(0.2)), stored(unstructured(0.5)), stored(unstructured(0.5)), false};
  PhaseShares found = shares(sparsity, skipping(true));
  EXPECT_DOUBLE_EQ(found.forward, 0.1);
  EXPECT_DOUBLE_EQ(found.dataGradient, 0.1);
  EXPECT_DOUBLE_EQ(found.weightGradient, 0.25);
  EXPECT_NEAR(speedUpBound(found), 6.67, 5e-3);
  sparsity.maskedGradients = true;
  EXPECT_DOUBLE_EQ(shares(sparsity, skipping(true)).weightGradient, 0.05);
  sparsity.weights.pattern.dynamic = true; // to find another mask, all gradients are wanted
  EXPECT_DOUBLE_EQ(shares(sparsity, skipping(true)).weightGradient, 0.25);
  // Sparse weights and activations in all three products: 80 % less work.
  LinearSparsity swat{stored(unstructured(0.2)), stored(unstructured(0.2)), {}, false};
  PhaseShares one = shares(swat, skipping(false));
  EXPECT_DOUBLE_EQ(one.mean(), 0.2);
}

TEST(TrainingSparsity, DenseGradientsNowAndThen) {
  EXPECT_NEAR(shareWithDenseGradients(0.2, 100), 0.2026, 5e-5);
  EXPECT_DOUBLE_EQ(shareWithDenseGradients(1, 100), 1);
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
