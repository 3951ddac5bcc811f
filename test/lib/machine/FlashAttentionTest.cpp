// Attention that keeps no scores against attention made of matrix products and a softmax.
#include "lib/machine/calibration/Profile.h"
#include "lib/machine/translate/FromDnn.h"
#include "passes/shard/Passes.h"
#include "test/support/SavedActivations.h"
#include "test/support/TrainingGraphFixture.h"
#include <fmt/core.h>

using namespace accord;

namespace {

std::string llama(const char *flash, int layers = 2, int seq = 6, int heads = 4, int kvHeads = 2, int hidden = 16) {
  return fmt::format(R"(
import "catalog/llama2.dnn"
train t = llama2(layers = {}, hidden = {}, heads = {}, kv_heads = {}, inner = 12, vocab = 8, seq = {}, flash = {}) on a100_80g {{
  batch = 2
  optimizer = sgd
}})",
                     layers, hidden, heads, kvHeads, seq, flash);
}

/// Cross attention to a memory of another length, with biases; nothing is causal.
std::string crossed(const char *module) {
  return fmt::format(R"(
import "catalog/transformer.dnn"
model net {{
  input x      : float[3, 8]
  input memory : float[5, 8]
  input target : float[3, 8]
  loss mse({}(x, heads = 2, memory = memory, scaled = false), target)
}}
train t = net() on a100_80g {{
  batch = 2
  optimizer = sgd
}})",
                     module);
}

/// One key head that serves two of queries of width 4, over 5 tokens; `attended` gives [rows, 2 * values].
std::string ofHeads(const std::string &attended, int values, int rows) {
  return fmt::format(R"(
import "catalog/transformer.dnn"
model net {{
  input x      : float[5, 8]
  input target : float[{0}, 8]
  let q = reshape(linear(x, out = 8), [5, 1, 2, 4])
  let k = reshape(linear(x, out = 4), [5, 1, 4])
  let v = reshape(linear(x, out = {1}), [5, 1, {1}])
  loss mse(linear({2}, out = 8), target)
}}
train t = net() on a100_80g {{
  batch = 2
  optimizer = sgd
}})",
                     rows, values, attended);
}

/// The step on inputs that `like` takes; parameters go by their order, their names differ.
interpret::StepResult step(const TrainingGraph &one, const TrainingGraph &like, const interpret::StepInputs &inputs) {
  std::vector<std::string> names, others;
  for (auto parameter : dnn::TrainingGraphOp(one.graph).getParameters())
    names.push_back(parameter.getSymName().str());
  for (auto parameter : dnn::TrainingGraphOp(like.graph).getParameters())
    others.push_back(parameter.getSymName().str());
  EXPECT_EQ(names.size(), others.size());
  interpret::StepInputs renamed = inputs;
  renamed.parameters.clear();
  for (size_t i = 0; i < names.size(); ++i)
    renamed.parameters[names[i]] = inputs.parameters.at(others[i]);
  interpret::StepResult result = cantFail(interpret::interpret(one.graph, renamed)), back;
  back.loss = result.loss;
  for (size_t i = 0; i < names.size(); ++i)
    back.gradients[others[i]] = result.gradients.at(names[i]);
  return back;
}

WorkGraph workOf(const TrainingGraph &one, int64_t microbatch) {
  std::string error;
  auto work = workGraphFrom(one.graph, microbatch, 1, error);
  EXPECT_TRUE(work) << error;
  return work ? std::move(*work) : WorkGraph{};
}

} // namespace

TEST(FlashAttention, EqualsAttentionWithScores) {
  for (auto [plain, flash] : {std::pair(llama("false"), llama("true")),
                              {llama("false", 1, 4, 4, 4), llama("true", 1, 4, 4, 4)},
                              {llama("false", 1, 5, 4, 1), llama("true", 1, 5, 4, 1)},
                              {crossed("attention"), crossed("fused_attention")}}) {
    TrainingGraph expected(plain.c_str()), found(flash.c_str());
    ASSERT_TRUE(expected.graph && found.graph);
    auto inputs = cantFail(interpret::randomInputs(expected.graph, 2, 3));
    expectSameStep(step(found, expected, inputs), step(expected, expected, inputs));
  }
}

// A query that sees three keys is the last of the three in causal attention.
TEST(FlashAttention, OfAWindowIsAttentionOfEachPart) {
  std::string parts;
  for (int first = 0; first < 3; ++first) {
    auto cut = [&](const char *of) { return fmt::format("slice({}, axis = 0, start = {}, size = 3)", of, first); };
    parts +=
        fmt::format("{}slice(flash_attention({}, {}, {}, scale = 0.5, causal = true), axis = 0, start = 2, size = 1)",
                    first ? ", " : "", cut("q"), cut("k"), cut("v"));
  }
  TrainingGraph expected(ofHeads(fmt::format("reshape(concat({}, axis = 0), [3, 8])", parts), 4, 3).c_str());
  TrainingGraph found(
      ofHeads("reshape(slice(flash_attention(q, k, v, scale = 0.5, causal = true, window = 3), axis = 0, "
              "start = 2, size = 3), [3, 8])",
              4, 3)
          .c_str());
  ASSERT_TRUE(expected.graph && found.graph);
  auto inputs = cantFail(interpret::randomInputs(expected.graph, 2, 3));
  expectSameStep(step(found, expected, inputs), step(expected, expected, inputs));
}

TEST(FlashAttention, TakesValuesOfAnotherWidth) {
  TrainingGraph found(ofHeads("reshape(flash_attention(q, k, v, scale = 0.5), [5, 12])", 6, 5).c_str());
  TrainingGraph expected(
      ofHeads(
          "reshape(transpose(reshape(matmul(softmax(matmul(reshape(transpose(scale(q, factor = 0.5), [1, 2, 0, 3]), "
          "[1, 10, 4]), transpose(k, [1, 0, 2]), transpose_b = true)), transpose(v, [1, 0, 2])), [2, 5, 6]), "
          "[1, 0, 2]), [5, 12])",
          6, 5)
          .c_str());
  ASSERT_TRUE(expected.graph && found.graph);
  auto inputs = cantFail(interpret::randomInputs(expected.graph, 2, 3));
  expectSameStep(step(found, expected, inputs), step(expected, expected, inputs));
  for (const Operation &op : workOf(found, 2).operations)
    if (op.kind.starts_with("flash_attention")) {
      constexpr int64_t kScores = 2 * 2 * 5 * 5; // batch, heads, queries, keys
      bool gradient = op.kind.ends_with("grad");
      EXPECT_EQ(contractionFlops(op), kScores * (4 + 6) * (gradient ? 4 : 2)) << op.name;
      EXPECT_EQ(op.flops - contractionFlops(op), kScores * (gradient ? 2 * 4 + 6 : 5)) << op.name;
    }
}

TEST(FlashAttention, KeepsStatisticsInsteadOfScores) {
  constexpr int64_t kLayers = 3, kSequence = 32, kHeads = 8, kBatch = 2;
  TrainingGraph plain(llama("false", kLayers, kSequence, kHeads, kHeads, 64).c_str()),
      flash(llama("true", kLayers, kSequence, kHeads, kHeads, 64).c_str());
  int64_t with = findSavedActivations(workOf(plain, kBatch)).at(0).bytes,
          without = findSavedActivations(workOf(flash, kBatch)).at(0).bytes;
  int64_t rows = kLayers * kBatch * kHeads * kSequence;
  constexpr int64_t kScore = 2, kStatistic = 4; // bytes: bf16, fp32
  EXPECT_EQ(with - without, rows * kSequence * kScore - rows * kStatistic);
}

TEST(FlashAttention, DoesTheSameProductsAndTheScoresTwice) {
  TrainingGraph plain(llama("false").c_str()), flash(llama("true").c_str());
  WorkGraph a = workOf(plain, 2), b = workOf(flash, 2);
  auto modelFlops = [](const WorkGraph &graph) {
    int64_t sum = 0;
    for (OperationId id = 0; id < graph.operations.size(); ++id)
      sum += static_cast<int64_t>(graph.executions(id)) * contractionFlops(graph.operations[id]);
    return sum;
  };
  EXPECT_EQ(modelFlops(a), modelFlops(b));
  bool seen = false;
  for (const Operation &op : b.operations)
    if (op.kind == "flash_attention_grad") {
      seen = true;
      constexpr int64_t kScores = 2 * 6 * 6 * 4; // batch, queries, keys, heads
      EXPECT_EQ(contractionFlops(op), kScores * 4 * 8);
      EXPECT_EQ(op.flops, kScores * 4 * 10 + kScores * 6);
    }
  EXPECT_TRUE(seen);
}

// Of n queries the i-th sees i keys: n (n + 1) / 2 of n * n pairs, plus what tiles on the diagonal hold beside.
TEST(FlashAttention, LeavesOutWhatACausalMaskHides) {
  constexpr int kSequence = 512;
  TrainingGraph causal(llama("true", 1, kSequence).c_str()), other(crossed("fused_attention").c_str());
  constexpr double kVisible = kSequence * (kSequence + 1) / 2.0 / kSequence / kSequence;
  int seen = 0;
  for (const TrainingGraph *graph : {&causal, &other})
    for (const Operation &op : workOf(*graph, 2).operations)
      if (op.kind.starts_with("flash_attention")) {
        double share = calibrate::itemOf(op)->flops / static_cast<double>(op.flops);
        EXPECT_NEAR(share, graph == &causal ? kVisible : 1, 1.0 / kSequence) << op.name;
        ++seen;
      }
  EXPECT_EQ(seen, 4);
}

// With a window of w, the i-th query sees i keys up to w.
TEST(FlashAttention, CountsTheKeysOfAWindow) {
  constexpr int kSequence = 512, kHeads = 2, kWidth = 4;
  for (int window : {1, 128, 511, 512, 4096}) {
    TrainingGraph graph(fmt::format(R"(
model net {{
  input x      : float[{0}, 8]
  input target : float[{0}, 8]
  let q = reshape(linear(x, out = 8), [{0}, 2, 1, 4])
  let k = reshape(linear(x, out = 8), [{0}, 2, 4])
  let v = reshape(linear(x, out = 8), [{0}, 2, 4])
  loss mse(reshape(flash_attention(q, k, v, causal = true, window = {1}), [{0}, 8]), target)
}}
train t = net() on a100_80g {{
  batch = 1
  optimizer = sgd
}})",
                                    kSequence, window)
                            .c_str());
    ASSERT_TRUE(graph.graph);
    int64_t keys = std::min(window, kSequence), seen = 0;
    for (int i = 1; i <= kSequence; ++i)
      seen += std::min(i, window);
    for (const Operation &op : workOf(graph, 1).operations)
      if (op.kind.starts_with("flash_attention")) {
        int64_t perScore = op.kind.ends_with("grad") ? 10 * kWidth + 6 : 4 * kWidth + 5;
        EXPECT_EQ(op.flops, perScore * kHeads * kSequence * keys) << op.name << " of " << window;
        double share = static_cast<double>(seen) / static_cast<double>(kSequence * keys);
        EXPECT_NEAR(calibrate::itemOf(op)->flops / static_cast<double>(op.flops), share, 1.0 / kSequence) << window;
      }
  }
}

TEST(FlashAttention, IsSharedByHeadsAndSamples) {
  std::string text = llama("true", 2, 4, 8, 4, 16);
  TrainingGraph whole(text.c_str());
  ASSERT_TRUE(whole.graph);
  auto inputs = cantFail(interpret::randomInputs(whole.graph, 4, 6));
  auto expected = cantFail(interpret::interpret(whole.graph, inputs));
  for (int64_t devices : {2, 4})
    for (bool sequence : {false, true}) {
      TrainingGraph shared(text.c_str());
      ShardOptions options;
      options.devices = devices;
      options.sequence = sequence;
      ASSERT_TRUE(shared.run(createShard(options)));
      int attentions = 0;
      shared.graph.walk([&](dnn::FlashAttentionOp op) {
        ++attentions;
        EXPECT_EQ(op.getQ().getType().getDimSize(2), 4 / devices); // key heads
      });
      EXPECT_EQ(attentions, 1);
      expectSameStep(cantFail(interpret::interpret(shared.graph, inputs)), expected);
    }
  TrainingGraph replicated(text.c_str());
  ReplicateOptions options;
  options.devices = 2;
  ASSERT_TRUE(replicated.run(createReplicate(options)));
  expectSameStep(cantFail(interpret::interpret(replicated.graph, inputs)), expected);
}
