// Inference: a forward pass alone, decoding from a cache, and numbers in fewer bits, against sums by hand.
#include "lib/machine/translate/FromDnn.h"
#include "test/support/TrainingGraphFixture.h"
#include <fmt/format.h>

using namespace accord;

namespace {

constexpr int64_t kLayers = 3, kHidden = 32, kHeads = 4, kKvHeads = 2, kInner = 48, kVocab = 40, kSeq = 8, kBatch = 2;

std::string llama(const std::string &kind, bool flash, const std::string &settings) {
  return fmt::format(
      "import \"catalog/llama2.dnn\"\n{} t = llama2(layers = {}, hidden = {}, heads = {}, kv_heads = {}, "
      "inner = {}, vocab = {}, seq = {}, flash = {}) on h100 {{\n  batch = {}\n{}\n}}",
      kind, kLayers, kHidden, kHeads, kKvHeads, kInner, kVocab, kSeq, flash, kBatch, settings);
}

WorkGraph workOf(const std::string &text) {
  TrainingGraph one(text.c_str(), BuildTrainingGraphOptions{"", ""});
  EXPECT_TRUE(one.graph);
  std::string error;
  auto work = workGraphFrom(one.graph, kBatch, 1, error);
  EXPECT_TRUE(work) << error;
  return work ? std::move(*work) : WorkGraph();
}

/// Of products, all executions; of attention in one operation without its softmax.
double productFlops(const WorkGraph &graph, bool forwardAlone = false) {
  double sum = 0;
  for (OperationId id = 0; id < graph.operations.size(); ++id) {
    const Operation &op = graph.operations[id];
    if (!op.contraction || op.body != kNone || (forwardAlone && op.phase != Phase::Forward))
      continue;
    double flops = op.parts.empty() ? static_cast<double>(op.flops) : 0;
    for (const FusedPart &part : op.parts)
      flops += part.contraction ? static_cast<double>(part.flops) : 0;
    sum += flops * static_cast<double>(graph.executions(id));
  }
  return sum;
}
int64_t staticBytes(const WorkGraph &graph, Category category) {
  int64_t sum = 0;
  for (const StaticTensor &tensor : graph.staticTensors)
    sum += tensor.category == category ? tensor.bytes : 0;
  return sum;
}

/// Weights of products, without embeddings and norms: of a layer, and of the head.
constexpr int64_t kWidth = kHidden / kHeads;
constexpr int64_t kLayerWeights = 2 * kHidden * kHidden + 2 * kHidden * kKvHeads * kWidth + 3 * kHidden * kInner;
constexpr int64_t kHeadWeights = kHidden * kVocab, kProductWeights = kLayers * kLayerWeights + kHeadWeights;
constexpr int64_t kOtherWeights = kVocab * kHidden + (2 * kLayers + 1) * kHidden;

TEST(Inference, IsTheForwardPassOfTheTraining) {
  for (bool flash : {false, true}) {
    WorkGraph training = workOf(llama("train", flash, "  precision = bf16\n  optimizer = adam")),
              inference = workOf(llama("infer", flash, "  precision = bf16"));
    EXPECT_TRUE(inference.isInference());
    EXPECT_FALSE(training.isInference());
    EXPECT_EQ(productFlops(inference), productFlops(training, /*forwardAlone=*/true));
    EXPECT_TRUE(inference.regions[kUpdateRegion].operations.empty());
    EXPECT_EQ(inference.parameters, kProductWeights + kOtherWeights);
    EXPECT_EQ(staticBytes(inference, Category::Weights), 2 * inference.parameters);
    EXPECT_EQ(staticBytes(inference, Category::Gradients) + staticBytes(inference, Category::OptimizerStates), 0);
    for (const Operation &op : inference.operations) {
      EXPECT_EQ(op.phase, Phase::Forward) << op.name;
      EXPECT_EQ(op.kind.find("cross_entropy"), std::string::npos);
    }
  }
}

TEST(Inference, AnswersTheLastPositionOfAPrompt) {
  WorkGraph all = workOf(llama("infer", true, "  precision = bf16")),
            last = workOf(llama("infer", true, "  precision = bf16\n  phase = prefill"));
  EXPECT_EQ(productFlops(all) - productFlops(last), 2.0 * kBatch * (kSeq - 1) * kHeadWeights);
}

TEST(Inference, DecodesOneTokenFromACache) {
  constexpr int64_t kContext = 100;
  for (bool flash : {false, true}) {
    WorkGraph one =
        workOf(llama("infer", flash, fmt::format("  precision = bf16\n  phase = decode\n  context = {}", kContext)));
    // A product with every weight, and of every head two products with keys or values of all tokens.
    EXPECT_EQ(productFlops(one), 2.0 * kBatch * (kProductWeights + kLayers * 2 * kContext * kHidden)) << flash;
    EXPECT_EQ(staticBytes(one, Category::Activations), 2 * 2 * kBatch * kLayers * kContext * kKvHeads * kWidth);
    int64_t written = 0;
    for (const Operation &op : one.operations)
      if (op.kind == "cached") {
        written += op.bytesWritten;
        EXPECT_EQ(op.bytesRead, op.bytesWritten);
        for (ValueId result : op.results)
          EXPECT_EQ(one.values[result].bytes, 0);
      }
    EXPECT_EQ(written, 2 * 2 * kBatch * kKvHeads * kWidth); // of one iteration
  }
}

TEST(Inference, WindowsKeepNoMoreThanThemselves) {
  std::string model = R"(
import "catalog/transformer.dnn"
model net(seq = 16) {
  input x : float[seq, 32]
  input y : float[seq, 32]
  let h = linear(x, out = 32)
  loss mse(fused_attention(h, heads = 4, causal = true, window = 10), y)
}
infer t = net() on h100 {
  batch = 2
  precision = bf16
  phase = decode
  context = 100
})";
  EXPECT_EQ(staticBytes(workOf(model), Category::Activations), 2 * 2 * kBatch * 10 * 32);
}

TEST(Inference, StoresWeightsInFewerBits) {
  WorkGraph full = workOf(llama("infer", true, "  precision = fp16")),
            eight = workOf(llama("infer", true, "  precision = fp16\n  weights = int8")),
            four = workOf(llama("infer", true, "  precision = fp16\n  weights = int4\n  group = 16"));
  EXPECT_EQ(productFlops(full), productFlops(four));
  // int8: a byte a weight, and 16 bits for each output: rows of the weights, whose last extent is what is summed.
  int64_t outputs = kLayers * (2 * kHidden + 2 * kKvHeads * kWidth + 2 * kInner + kHidden) + kVocab;
  EXPECT_EQ(staticBytes(eight, Category::Weights), kProductWeights + 2 * outputs + 2 * kOtherWeights);
  EXPECT_EQ(staticBytes(four, Category::Weights), kProductWeights / 2 + 2 * (kProductWeights / 16) + 2 * kOtherWeights);
  auto linearBytes = [](const WorkGraph &graph) {
    int64_t read = 0;
    for (OperationId id = 0; id < graph.operations.size(); ++id)
      if (graph.operations[id].kind == "linear")
        read += graph.operations[id].bytesRead * static_cast<int64_t>(graph.executions(id));
    return read;
  };
  EXPECT_EQ(linearBytes(full) - linearBytes(eight), kProductWeights - 2 * outputs);
  EXPECT_EQ(linearBytes(full) - linearBytes(four), kProductWeights * 3 / 2 - 2 * (kProductWeights / 16));
}

TEST(Inference, ComputesProductsOfIntegers) {
  WorkGraph full = workOf(llama("infer", true, "  precision = fp16")),
            narrow = workOf(llama("infer", true, "  precision = int8"));
  EXPECT_EQ(2 * staticBytes(narrow, Category::Weights), staticBytes(full, Category::Weights));
  for (const Operation &op : narrow.operations)
    if (op.contraction && op.body == kNone)
      EXPECT_EQ(op.type, "int8") << op.name;
}

TEST(Inference, LeavesOutDropoutAndFoldsNorms) {
  std::string model = R"(
model net() {
  input x : float[3, 8, 8]
  input y : float[4, 8, 8]
  let h = batch_norm(conv2d(x, out = 4, kernel = 3, padding = 1))
  loss mse(dropout(batch_norm(relu(h)), rate = 0.1), y)
}
infer t = net() on h100 {
  batch = 2
  precision = fp32
ENGINE
})";
  for (bool eager : {false, true}) {
    std::string text = model;
    text.replace(text.find("ENGINE"), 6, eager ? "  engine = eager" : "");
    WorkGraph graph = workOf(text);
    unsigned norms = 0;
    for (const Operation &op : graph.operations) {
      norms += op.kind == "batch_norm";
      EXPECT_NE(op.kind, "dropout");
      EXPECT_NE(op.kind, "mse");
    }
    EXPECT_EQ(norms, eager ? 2u : 1u); // one is behind a relu
  }
}

} // namespace
