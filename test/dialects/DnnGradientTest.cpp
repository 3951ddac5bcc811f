// Every forward operation has gradients with the types of its operands, and they verify.
#include "mlir/IR/TypeUtilities.h"
#include "mlir/IR/Verifier.h"
#include "test/support/DnnFixture.h"

using namespace mlir;
using namespace accord;

namespace {
class DnnGradient : public test::DnnFixture {
protected:
  /// Builds the operation and its gradients and checks types and verifier. Integer operands have none.
  void check(StringRef name, ArrayRef<Value> operands, ArrayRef<NamedAttribute> attributes = {}) {
    SCOPED_TRACE(name.str());
    Operation *op = make(name, operands, attributes);
    ASSERT_TRUE(op);
    SmallVector<Value> results(op->getNumOperands()), dy{op->getResult(0)};
    SmallVector<bool> needed;
    for (Value operand : operands)
      needed.push_back(isa<FloatType>(getElementTypeOrSelf(operand.getType())));
    if (name == "dnn.binary_cross_entropy")
      needed[1] = false; // labels are data
    dy.append(op->getNumResults() - 1, Value());
    auto same = [](Value value) { return value; };
    GradientContext gradient{builder, op->getLoc(), dy, needed, results, same};
    ASSERT_TRUE(succeeded(cast<DifferentiableOpInterface>(op).buildGradient(gradient)));
    for (auto [operand, result, isNeeded] : llvm::zip(operands, results, needed))
      if (isNeeded) {
        ASSERT_TRUE(result);
        EXPECT_EQ(result.getType(), operand.getType());
      }
    EXPECT_TRUE(succeeded(verify(*module)));
    module->walk([&](WorkOpInterface work) { // one map per operand and result, each with the tensor's rank
      Work stated = work.getWork();
      SmallVector<Type> types(work->getOperandTypes());
      types.append(work->result_type_begin(), work->result_type_end());
      ASSERT_EQ(stated.maps.size(), types.size()) << work->getName().getStringRef().str();
      ASSERT_EQ(stated.kinds.size(), stated.domain.size());
      for (auto [map, type] : llvm::zip(stated.maps, types)) {
        auto stash = dyn_cast<dnn::StashType>(type); // which slice, and where in it
        auto of = cast<RankedTensorType>(stash ? stash.getElement() : type);
        EXPECT_EQ(map.getNumResults(), of.getRank() + (stash ? 1 : 0)) << work->getName().getStringRef().str();
        EXPECT_EQ(map.getNumDims(), stated.domain.size());
      }
      EXPECT_TRUE(work.getBytesRead(4).has_value() && work.getBytesWritten(4).has_value() &&
                  work.getFlops(4).has_value());
    });
    module->getBody()->clear();
  }
  NamedAttribute array(StringRef name, ArrayRef<int64_t> values) {
    return builder.getNamedAttr(name, builder.getDenseI64ArrayAttr(values));
  }
  NamedAttribute number(StringRef name, double value) {
    return builder.getNamedAttr(name, builder.getF64FloatAttr(value));
  }
  Value ids(ArrayRef<int64_t> shape) { return tensor(shape, builder.getI32Type()); }
};
} // namespace

TEST_F(DnnGradient, Contractions) {
  check("dnn.linear", {tensor({-1, 3, 4}), tensor({5, 4}), tensor({5})});
  check("dnn.matmul", {tensor({-1, 2, 3, 4}), tensor({4, 5})});
  check("dnn.conv2d", {tensor({-1, 4, 6, 6}), tensor({6, 2, 3, 3}), tensor({6})}, {integer("groups", 2)});
  check("dnn.conv1d", {tensor({-1, 4, 6}), tensor({6, 2, 3}), tensor({6})}, {integer("groups", 2)});
  check("dnn.conv3d", {tensor({-1, 4, 3, 6, 6}), tensor({6, 4, 2, 3, 3}), tensor({6})});
  check("dnn.conv_transpose1d", {tensor({-1, 4, 6}), tensor({4, 2, 3}), tensor({2})});
  check("dnn.conv_transpose3d", {tensor({-1, 4, 2, 6, 6}), tensor({4, 2, 2, 3, 3}), tensor({2})});
  check("dnn.depthwise_conv2d", {tensor({-1, 4, 6, 6}), tensor({4, 1, 3, 3}), tensor({4})});
  check("dnn.conv_transpose2d", {tensor({-1, 4, 6, 6}), tensor({4, 2, 3, 3}), tensor({4})}, {integer("groups", 2)});
  check("dnn.interaction", {tensor({-1, 5, 8})});
}

TEST_F(DnnGradient, Elementwise) {
  for (StringRef name : {"relu", "relu6", "hard_sigmoid", "hard_swish", "gelu", "silu", "sigmoid", "softplus", "tanh",
                         "exp", "sqrt", "neg"})
    check(("dnn." + name).str(), {tensor({-1, 8})});
  for (StringRef name : {"add", "sub", "mul", "div"}) {
    check(("dnn." + name).str(), {tensor({-1, 3, 8}), tensor({3, 8})});
    check(("dnn." + name).str(), {tensor({-1, 1, 8}), tensor({-1, 3, 1})});
    check(("dnn." + name).str(), {tensor({}), tensor({})});
  }
  check("dnn.scale", {tensor({-1, 8})}, number("factor", 0.5));
  check("dnn.dropout", {tensor({-1, 8})}, number("rate", 0.1));
  check("dnn.prelu", {tensor({-1, 8, 3}), tensor({8})});
  check("dnn.prelu", {tensor({-1, 8, 3}), tensor({1})});
  check("dnn.rotary", {tensor({-1, 2, 8, 4})});
  check("dnn.leaky_relu", {tensor({-1, 8})}, number("slope", 0.2));
  check("dnn.elu", {tensor({-1, 8})});
  check("dnn.sinusoids", {tensor({-1, 3, 8})});
  check("dnn.alibi", {tensor({-1, 4, 3, 3})});
}

TEST_F(DnnGradient, Normalizations) {
  for (StringRef name : {"layer_norm", "batch_norm"}) {
    check(("dnn." + name).str(), {tensor({-1, 4, 4, 4}), tensor({4}), tensor({4})});
    check(("dnn." + name).str(), {tensor({-1, 4, 4, 4}), tensor({4})});
  }
  check("dnn.group_norm", {tensor({-1, 4, 4, 4}), tensor({4}), tensor({4})}, integer("groups", 2));
  check("dnn.rms_norm", {tensor({-1, 3, 4}), tensor({4})});
  check("dnn.lrn", {tensor({-1, 8, 4, 4})}, integer("size", 5));
  check("dnn.softmax", {tensor({-1, 3, 4})}, integer("axis", 0));
  check("dnn.selective_scan",
        {tensor({-1, 4, 6}), tensor({-1, 4, 6}), tensor({6, 2}), tensor({-1, 4, 2}), tensor({-1, 4, 2})});
}

TEST_F(DnnGradient, Movement) {
  check("dnn.reshape", {tensor({-1, 3, 4})}, array("dims", {2, 6}));
  check("dnn.transpose", {tensor({-1, 2, 3, 4})}, array("permutation", {2, 0, 1}));
  check("dnn.transpose", {tensor({3, 4})}, array("permutation", {1, 0}));
  check("dnn.concat", {tensor({-1, 2, 3}), tensor({-1, 4, 3})}, integer("axis", 0));
  check("dnn.concat", {tensor({2, 3}), tensor({-1, 4, 3})}, integer("axis", 0));
  check("dnn.split", {tensor({-1, 2, 6})}, {integer("axis", -1), integer("parts", 3)});
  check("dnn.unstack", {tensor({-1, 2, 6})}, integer("axis", -1));
  check("dnn.slice", {tensor({-1, 5})}, {integer("axis", 0), integer("start", 1), integer("size", 2)});
  check("dnn.reduce_sum", {tensor({-1, 2, 6})}, integer("axis", 0));
  check("dnn.reduce_max", {tensor({-1, 2, 6})}, integer("axis", -1));
  check("dnn.reduce_min", {tensor({-1, 2, 6})}, integer("axis", 0));
  check("dnn.pad", {tensor({-1, 2, 6})}, {array("before", {1, -2}), array("after", {0, 3})});
  check("dnn.reduce_mean", {tensor({-1, 2, 6})}, integer("axis", -1));
  check("dnn.max_pool", {tensor({-1, 2, 9, 9})}, {integer("kernel", 3), integer("stride", 2), integer("padding", 1)});
  check("dnn.avg_pool", {tensor({-1, 2, 8, 8})}, integer("kernel", 2));
  check("dnn.global_avg_pool", {tensor({-1, 2, 8, 8})});
  check("dnn.upsample", {tensor({-1, 2, 8, 8})}, integer("scale", 2));
  check("dnn.upsample", {tensor({-1, 2, 8})},
        {integer("scale", 2), builder.getNamedAttr("mode", builder.getStringAttr("linear"))});
  check("dnn.max_pool", {tensor({-1, 2, 9})}, {integer("kernel", 3), array("padding", {0, 1})});
  check("dnn.avg_pool", {tensor({-1, 2, 4, 9, 9})}, {integer("kernel", 3), array("padding", {0, 1, 0})});
  check("dnn.global_avg_pool", {tensor({-1, 2, 4, 3, 3})});
}

TEST_F(DnnGradient, Profiled) {
  auto seconds = [&](const char *name, double value) {
    return NamedAttribute(StringAttr::get(&context, name), FloatAttr::get(Float64Type::get(&context), value));
  };
  auto trained = NamedAttribute(StringAttr::get(&context, "trained"), BoolAttr::get(&context, true));
  check("dnn.profiled", {tensor({-1, 8})}, {seconds("forward", 1e-3), integer("elements", 5)});
  check("dnn.profiled", {tensor({-1, 8}), tensor({-1, 3}), tensor({4})},
        {seconds("forward", 1e-3), seconds("backward", 2e-3), integer("elements", 5), trained});
}

TEST_F(DnnGradient, Sparse) {
  check("dnn.embedding", {ids({-1, 8}), tensor({100, 4})});
  check("dnn.embedding_bag", {ids({-1, 8}), tensor({100, 4})});
  check("dnn.gather", {tensor({-1, 8, 4}), ids({-1, 3})});
  check("dnn.scatter", {tensor({-1, 8, 4}), ids({-1, 3}), tensor({-1, 3, 4})});
  check("dnn.segment_sum", {tensor({-1, 8, 4}), ids({-1, 8})}, integer("segments", 3));
  check("dnn.segment_softmax", {tensor({-1, 8, 4}), ids({-1, 8})}, integer("segments", 3));
  check("dnn.relative_bias", {tensor({32, 4})}, {integer("queries", 5), integer("keys", 7)});
  check("dnn.spmm", {ids({-1, 6}), ids({-1, 9}), tensor({-1, 9}), tensor({-1, 7, 4})});
  check("dnn.spmm", {ids({6}), ids({9}), tensor({9}), tensor({-1, 7, 4})});
  check("dnn.topk", {tensor({-1, 8})}, integer("k", 2));
}

TEST_F(DnnGradient, CompositesAndLosses) {
  check("dnn.lstm", {tensor({-1, 5, 3}), tensor({16, 3}), tensor({16, 4}), tensor({2, 16})});
  check("dnn.lstm", {tensor({-1, 5, 3}), tensor({2, 16, 3}), tensor({2, 16, 4}), tensor({2, 2, 16})},
        builder.getNamedAttr("bidirectional", builder.getBoolAttr(true)));
  check("dnn.gru", {tensor({-1, 5, 3}), tensor({12, 3}), tensor({12, 4})});
  check("dnn.moe_dispatch", {tensor({-1, 64, 16}), tensor({8, 16})}, integer("top_k", 2));
  check("dnn.moe_experts", {tensor({-1, 8, 20, 16}), tensor({8, 32, 16}), tensor({8, 16, 32})});
  check("dnn.moe_experts", {tensor({-1, 2, 4, 20, 16}), tensor({4, 32, 16}), tensor({4, 16, 32}), tensor({4, 32, 16})});
  check("dnn.moe_combine", {tensor({-1, 8, 20, 16}), ids({-1, 8, 20}), tensor({-1, 8, 20})}, array("dims", {8, 8}));
  check("dnn.cross_entropy", {tensor({-1, 8, 10}), ids({-1, 8})});
  check("dnn.mse", {tensor({-1, 8}), tensor({-1, 8})});
  check("dnn.smooth_l1", {tensor({-1, 8}), tensor({-1, 8})});
  check("dnn.binary_cross_entropy", {tensor({-1, 8}), tensor({-1, 8})});
}
