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
