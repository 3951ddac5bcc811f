// Whole models of the catalogue, scaled down: gradients against finite differences, through repeats, shared parameters,
// dropout and whatever else meets in them.
#include "lib/machine/model/Check.h"
#include "lib/machine/translate/FromDnn.h"
#include "mlir/Transforms/Passes.h"
#include "passes/simplify/Passes.h"
#include "test/support/TrainingGraphFixture.h"

using namespace accord;

namespace {

struct Model {
  const char *name, *text;
  bool overTime = false; ///< with recurrent layers as repeats, as plans have them
};

const Model kModels[] = {
    {"GPT-2", R"(
import "catalog/gpt2.dnn"
train t = gpt2(layers = 3, hidden = 8, heads = 2, vocab = 11, seq = 4) on a100_80g {
  batch = 2
  optimizer = adam
})"},
    {"BERT", R"(
import "catalog/bert.dnn"
train t = bert_large(layers = 2, hidden = 8, heads = 2, vocab = 9, seq = 5, max_position = 6, masked = 2) on a100_80g {
  batch = 2
  optimizer = adam
})"},
    {"Llama-2 with grouped queries", R"(
import "catalog/llama2.dnn"
train t = llama2(layers = 3, hidden = 8, heads = 4, kv_heads = 2, inner = 12, vocab = 7, seq = 3) on a100_80g {
  batch = 2
  optimizer = adam
})"},
    {"GNMT", R"(
import "catalog/gnmt.dnn"
train t = gnmt(hidden = 3, vocab = 7, length = 3, target = 2) on a100_80g {
  batch = 2
  optimizer = adam
})"},
    {"GNMT over time", R"(
import "catalog/gnmt.dnn"
train t = gnmt(hidden = 3, vocab = 7, length = 3, target = 2) on a100_80g {
  batch = 2
  optimizer = adam
})",
     true},
    {"ResNet", R"(
import "catalog/convolution.dnn"
import "catalog/resnet.dnn"
model net {
  input image : float[3, 9, 9]
  input label : int32[1]
  let stem = relu(conv_bn(image, out = 4, kernel = 3, stride = 2, padding = 1))
  var x = max_pool(stem, kernel = 3, stride = 2, padding = 1)
  x = basic_block(x, out = 4)
  x = bottleneck(x, inner = 2, out = 8)
  repeat 2 { x = bottleneck(x, inner = 4, out = 8, groups = 2) }
  x = bottleneck(x, inner = 3, out = 12, stride = 2)
  loss cross_entropy(classifier(x, 5), label)
}
train t = net() on a100_80g {
  batch = 3
  optimizer = momentum
})"},
    {"MobileNet and EfficientNet", R"(
import "catalog/convolution.dnn"
model net {
  input image : float[3, 6, 6]
  input label : int32[1]
  var x = relu6(conv_bn(image, out = 4, kernel = 3, padding = 1))
  repeat 2 { x = inverted_residual(x, out = 4, expanded_channels = 6) }
  x = inverted_residual(x, out = 4, expanded_channels = 6, kernel = 5, squeeze = 2, function = "hard_swish", gate = "hard_sigmoid")
  x = inverted_residual(x, out = 6, expanded_channels = 8, stride = 2, squeeze = 2, function = "silu", squeeze_function = "silu")
  loss cross_entropy(classifier(x, 5, drop = 0.2), label)
}
train t = net() on a100_80g {
  batch = 3
  optimizer = momentum
})"},
    {"vision transformer", R"(
import "catalog/vit.dnn"
model net {
  input image : float[3, 4, 6]
  input label : int32[1]
  loss cross_entropy(vit_logits(image, layers = 2, hidden = 8, heads = 2, classes = 5, patch = 2), label)
}
train t = net() on a100_80g {
  batch = 2
  optimizer = adamw
})"},
    {"DLRM", R"(
import "catalog/recommender.dnn"
model net {
  input numbers    : float[5]
  input categories : int32[3]
  input clicked    : fp32[1]
  let dense = relu(linear(relu(linear(numbers, out = 6)), out = 4))
  let a = lookup(categories, feature = 0, rows = 4, dim = 4)
  let b = lookup(categories, feature = 1, rows = 3, dim = 4)
  let c = lookup(categories, feature = 2, rows = 7, dim = 4)
  let pairs = interaction(concat(reshape(dense, [1, 4]), a, b, c, axis = 0))
  let top = relu(linear(concat(dense, pairs, axis = 0), out = 6))
  loss binary_cross_entropy(linear(top, out = 1), clicked)
}
train t = net() on a100_80g {
  batch = 3
  optimizer = sgd
})"},
    {"GCN", R"(
model gcn {
  input offsets  : int32[6]
  input columns  : int32[9]
  input degrees  : float[9]
  input features : float[5, 4]
  input labels   : int32[5]
  let h = relu(spmm(offsets, columns, degrees, linear(features, out = 3, bias = false)))
  loss cross_entropy(spmm(offsets, columns, degrees, linear(dropout(h, rate = 0.5), out = 2)), labels)
}
train t = gcn() on a100_80g {
  batch = 1
  optimizer = adam
})"},
    {"mixture of experts", R"(
import "catalog/transformer.dnn"
model experts {
  input x      : float[4, 6]
  input target : float[4, 6]
  var h = x
  repeat 2 {
    h = h + attention(layer_norm(h), heads = 2, causal = true)
    h = h + moe(rms_norm(h), experts = 3, inner = 4, top_k = 2)
  }
  loss mse(linear(h, out = 6), target)
}
train t = experts() on a100_80g {
  batch = 2
  optimizer = adamw
})"},
    {"Mixtral with gated experts", R"(
import "catalog/mixtral.dnn"
train t = mixtral_8x7b(layers = 2, hidden = 8, heads = 2, kv_heads = 1, inner = 4, experts = 3, vocab = 7, seq = 3, capacity = 2) on a100_80g {
  batch = 2
  optimizer = adam
})"},
    {"latent attention with shared experts", R"(
import "catalog/deepseek.dnn"
train t = deepseek_v3(dense_layers = 1, expert_layers = 1, hidden = 6, heads = 2, query_rank = 3, key_rank = 2, nope_dim = 2, rope_dim = 2,
                      value_dim = 3, inner = 5, experts = 3, expert_inner = 2, top_k = 2, vocab = 7, seq = 3, capacity = 2) on a100_80g {
  batch = 2
  optimizer = adam
})"},
    {"windows and norms of heads", R"(
import "catalog/gemma.dnn"
model local {
  input x      : float[4, 6]
  input target : float[4, 6]
  let h = gemma_block(x, heads = 2, kv_heads = 1, inner = 3, window = 2, base = 100, head_norms = true)
  loss mse(h, target)
}
train t = local() on a100_80g {
  batch = 2
  optimizer = adam
})"},
    {"selective scan", R"(
import "catalog/mamba.dnn"
model scanned {
  input x      : float[4, 4]
  input target : float[4, 4]
  loss mse(x + mamba_mixer(x, inner = 6, state = 2, rank = 2, kernel = 3), target)
}
train t = scanned() on a100_80g {
  batch = 2
  optimizer = adam
})"},
    {"diffusion transformer", R"(
import "catalog/dit.dnn"
train t = dit_xl_2(layers = 1, hidden = 4, heads = 2, classes = 3, size = 4, channels = 1) on a100_80g {
  batch = 2
  optimizer = adam
})"},
    {"BLOOM with linear biases", R"(
import "catalog/bloom.dnn"
train t = bloom_176b(layers = 2, hidden = 8, heads = 2, vocab = 7, seq = 4) on a100_80g {
  batch = 2
  optimizer = adam
})"},
    {"T5 with biases by distance that all layers share", R"(
import "catalog/t5.dnn"
train t = t5_large(layers = 2, hidden = 4, hidden_sqrt = 2, heads = 2, inner = 6, vocab = 7, length = 4, target = 3) on a100_80g {
  batch = 2
  optimizer = adam
})"},
    {"Transformer", R"(
import "catalog/transformer_big.dnn"
train t = transformer_big(layers = 2, hidden = 4, hidden_sqrt = 2, heads = 2, inner = 6, vocab = 7, length = 3, target = 4) on a100_80g {
  batch = 2
  optimizer = adam
})"},
    {"GAT", R"(
import "catalog/gat.dnn"
train t = gat(nodes = 5, edges = 6, features = 4, hidden = 2, heads = 2, classes = 3, labelled = 3) on a100_80g {
  batch = 2
  optimizer = adam
})"},
    {"U-shaped convolutions", R"(
model unet {
  input image  : float[2, 8, 8]
  input target : float[1, 8, 8]
  let wide = silu(group_norm(conv2d(image, out = 4, kernel = 3, padding = 1), groups = 2))
  let deep = gelu(depthwise_conv2d(avg_pool(wide, kernel = 2), kernel = 3, padding = 1))
  let up = conv_transpose2d(deep, out = 4, kernel = 2, stride = 2)
  let joined = concat(wide, up, upsample(deep, scale = 2), axis = 0)
  loss mse(sigmoid(conv2d(joined, out = 1, kernel = 1)), target)
}
train t = unet() on a100_80g {
  batch = 2
  optimizer = adam
})"},
    {"nested repeats", R"(
model nested {
  input x      : float[6]
  input target : float[6]
  let shared = parameter([6, 6])
  var h = x
  repeat 2 {
    repeat 3 { h = tanh(linear(h, out = 6)) }
    h = h + linear(h, out = 6, weight = shared)
  }
  loss mse(linear(h, out = 6, weight = shared), target)
}
train t = nested() on a100_80g {
  batch = 2
  optimizer = sgd
})"},
};

class InterpretModels : public ::testing::TestWithParam<Model> {
protected:
  /// Loss and all gradients.
  interpret::StepResult result() {
    auto inputs = llvm::cantFail(interpret::randomInputs(model.graph, model.batch, 7));
    return llvm::cantFail(interpret::interpret(model.graph, inputs));
  }
  WorkGraph work() {
    std::string error;
    return workGraphFrom(model.graph, model.batch, 2, error).value();
  }

  TrainingGraph model{GetParam().text, {"sgd", "fp32"}, GetParam().overTime ? createExpandRecurrent() : nullptr};
};

Count sumOf(const WorkGraph &graph, int64_t Operation::*what) {
  Count sum = 0;
  for (OperationId id = 0; id < graph.operations.size(); ++id)
    sum += graph.executions(id) * graph.operations[id].*what;
  return sum;
}
Count contractionsOf(const WorkGraph &graph) {
  Count sum = 0;
  for (OperationId id = 0; id < graph.operations.size(); ++id)
    sum += graph.executions(id) * contractionFlops(graph.operations[id]);
  return sum;
}

} // namespace

TEST_P(InterpretModels, GradientsEqualFiniteDifferences) {
  ASSERT_TRUE(model.graph);
  auto inputs = llvm::cantFail(interpret::randomInputs(model.graph, model.batch, 7));
  auto check = llvm::cantFail(interpret::checkDerivatives(model.graph, inputs, 12));
  EXPECT_GE(check.checked, 20);
  EXPECT_LT(check.largestError, 1e-5) << check.where;
}

TEST_P(InterpretModels, FusingKeepsTheResultAndTheWorkAndSavesTraffic) {
  ASSERT_TRUE(model.graph);
  interpret::StepResult before = result();
  WorkGraph unfused = work();
  mlir::PassManager passes(&model.context);
  passes.addNestedPass<dnn::TrainingGraphOp>(createFuse());
  ASSERT_TRUE(mlir::succeeded(passes.run(model.program->module())));
  expectSameStep(result(), before, 0); // bit for bit
  WorkGraph fused = work();
  EXPECT_TRUE(check(fused).empty());
  EXPECT_LT(fused.operations.size(), unfused.operations.size());
  EXPECT_TRUE(sumOf(fused, &Operation::flops) == sumOf(unfused, &Operation::flops));
  EXPECT_TRUE(contractionsOf(fused) == contractionsOf(unfused));
  EXPECT_LT(sumOf(fused, &Operation::bytesRead), sumOf(unfused, &Operation::bytesRead));
  EXPECT_LE(sumOf(fused, &Operation::bytesWritten), sumOf(unfused, &Operation::bytesWritten));
}

TEST_P(InterpretModels, SimplifyingKeepsTheResult) {
  ASSERT_TRUE(model.graph);
  interpret::StepResult before = result();
  ASSERT_TRUE(model.run(mlir::createCanonicalizerPass()));
  ASSERT_TRUE(model.run(createMergeEqual()));
  ASSERT_TRUE(model.run(mlir::createCSEPass()));
  ASSERT_TRUE(model.run(mlir::createCanonicalizerPass()));
  expectSameStep(result(), before, 1e-12); // products of factors are rounded once, not twice
}

INSTANTIATE_TEST_SUITE_P(Catalogue, InterpretModels, ::testing::ValuesIn(kModels), [](const auto &info) {
  std::string name;
  for (char c : std::string(info.param.name))
    if (isalnum(static_cast<unsigned char>(c)))
      name += c;
  return name;
});
