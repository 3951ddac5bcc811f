// Builds dnn operations one by one in a scratch module.
#pragma once
#include "dialects/Register.h"
#include "dialects/dnn/Dnn.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

namespace accord::test {
using namespace mlir;

class DnnFixture : public ::testing::Test {
protected:
  DnnFixture() : context(registry()), builder(&context), module(ModuleOp::create(builder.getUnknownLoc())) {
    context.loadAllAvailableDialects();
    builder.setInsertionPointToEnd(module->getBody());
  }
  static DialectRegistry registry() {
    DialectRegistry all;
    registerAllDialects(all);
    return all;
  }
  /// A tensor of the shape (-1: the batch) without a producer that matters.
  Value tensor(ArrayRef<int64_t> shape, Type element = {}) {
    SmallVector<int64_t> extents;
    for (int64_t extent : shape)
      extents.push_back(extent < 0 ? ShapedType::kDynamic : extent);
    auto type = RankedTensorType::get(extents, element ? element : builder.getF32Type());
    return dnn::ConstantOp::create(builder, builder.getUnknownLoc(), type, builder.getF64FloatAttr(0));
  }
  Operation *make(StringRef name, ValueRange operands, ArrayRef<NamedAttribute> attributes = {}) {
    FailureOr<Operation *> op = dnn::createInferred(builder, builder.getUnknownLoc(), name, operands, attributes);
    return succeeded(op) ? *op : nullptr;
  }
  NamedAttribute integer(StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  }
  int64_t flopsOf(Operation *op, int64_t batch) { return cast<WorkOpInterface>(op).getFlops(batch).value_or(-1); }
  /// All gradients of `op`, as built for the result's gradient `dy`.
  SmallVector<Value> gradients(Operation *op, Value dy) {
    SmallVector<Value> out(op->getNumOperands());
    SmallVector<bool> needed(op->getNumOperands(), true);
    SmallVector<Value> resultGradients{dy};
    auto same = [](Value value) { return value; };
    GradientContext gradient{builder, op->getLoc(), resultGradients, needed, out, same};
    EXPECT_TRUE(succeeded(cast<DifferentiableOpInterface>(op).buildGradient(gradient)));
    return out;
  }

  MLIRContext context;
  OpBuilder builder;
  OwningOpRef<ModuleOp> module;
};

} // namespace accord::test
