// Executing operations again in the backward pass changes what is kept, not what is computed.
#include "lib/machine/translate/FromDnn.h"
#include "passes/shard/Passes.h"
#include "test/support/SavedActivations.h"
#include "test/support/TrainingGraphFixture.h"

using namespace accord;

namespace {

const char kGpt[] = R"(
import "catalog/gpt2.dnn"
train t = gpt2(layers = 3, hidden = 16, heads = 4, vocab = 12, seq = 8, drop = 0.2) on a100_80g {
  batch = 2
  optimizer = adam
})";
const char kConvolutions[] = R"(
import "catalog/convolution.dnn"
model net {
  input image : float[3, 6, 6]
  input label : int32[1]
  var x = relu6(conv_bn(image, out = 4, kernel = 3, padding = 1))
  repeat 2 { x = inverted_residual(x, out = 4, expanded_channels = 8, squeeze = 4, function = "hard_swish") }
  loss cross_entropy(classifier(x, 5, drop = 0.2), label)
}
train t = net() on a100_80g {
  batch = 2
  optimizer = sgd
})";

std::unique_ptr<mlir::Pass> marks(const char *policy, std::vector<std::string> operations = {}) {
  RecomputeOptions options;
  options.policy = policy;
  options.operations.assign(operations.begin(), operations.end());
  return createRecompute(options);
}

int64_t keptBy(const char *policy) {
  TrainingGraph one(kGpt, {"sgd", "fp32"}, marks(policy));
  std::string error;
  auto work = workGraphFrom(one.graph, 2, 1, error);
  EXPECT_TRUE(work) << error;
  return findSavedActivations(*work).at(0).bytes;
}

} // namespace

TEST(Recompute, SameLossAndGradients) {
  for (const char *text : {kGpt, kConvolutions}) {
    TrainingGraph plain(text);
    ASSERT_TRUE(plain.graph);
    auto inputs = llvm::cantFail(interpret::randomInputs(plain.graph, plain.batch, 5));
    auto expected = llvm::cantFail(interpret::interpret(plain.graph, inputs));
    std::vector<std::unique_ptr<mlir::Pass>> policies;
    policies.push_back(marks("selective"));
    policies.push_back(marks("full"));
    policies.push_back(marks("none", {"*"})); // outside of repeats, too
    policies.push_back(marks("none", {"*drop*", "*relu6*"}));
    for (auto &policy : policies) {
      TrainingGraph again(text, {"sgd", "fp32"}, std::move(policy));
      ASSERT_TRUE(again.graph);
      auto found = interpret::interpret(again.graph, inputs);
      ASSERT_TRUE(static_cast<bool>(found)) << llvm::toString(found.takeError());
      expectSameStep(*found, expected, 1e-12);
    }
  }
}

TEST(Recompute, SameOnSeveralDevices) {
  TrainingGraph plain(kGpt);
  ASSERT_TRUE(plain.graph);
  auto inputs = llvm::cantFail(interpret::randomInputs(plain.graph, plain.batch, 5));
  auto expected = llvm::cantFail(interpret::interpret(plain.graph, inputs));
  for (const char *policy : {"selective", "full"})
    for (bool sequence : {false, true}) {
      TrainingGraph again(kGpt, {"sgd", "fp32"}, marks(policy));
      ShardOptions options;
      options.devices = 4;
      options.sequence = sequence;
      ASSERT_TRUE(again.graph && again.run(createShard(options)));
      auto found = interpret::interpret(again.graph, inputs);
      ASSERT_TRUE(static_cast<bool>(found)) << llvm::toString(found.takeError());
      expectSameStep(*found, expected);
    }
}

// Korthikanti et al., 2022, table 2, for 16-bit activations and masks of one byte: everything; without what attention
// computes again; the input alone.
TEST(Recompute, KeepsWhatIsPublished) {
  constexpr int64_t kLayers = 3, s = 8, b = 2, h = 16, a = 4;
  EXPECT_EQ(keptBy("none"), kLayers * (34 * s * b * h + 5 * a * s * s * b));
  EXPECT_EQ(keptBy("selective"), kLayers * 34 * s * b * h);
  EXPECT_EQ(keptBy("full"), kLayers * 2 * s * b * h);
}

// What stands in the parentheses of `recompute(...)`, and nothing else.
TEST(Recompute, MarksInTheLanguage) {
  auto model = [](const char *fed) {
    return std::string(R"(
model net {
  input x      : float[4, 8]
  input target : float[4, 8]
  var h = x
  repeat 3 as block { h = h + linear()") +
           fed + R"(, out = 8) }
  loss mse(linear(h, out = 8), target)
}
train t = net() on a100_80g {
  batch = 2
  optimizer = sgd
})";
  };
  constexpr int64_t kActivation = 2 * 4 * 2; // batch, sequence, bytes: times a width
  auto kept = [&](const char *fed) {
    TrainingGraph one(model(fed).c_str());
    std::string error;
    auto work = workGraphFrom(one.graph, 2, 1, error);
    return findSavedActivations(*work).at(0).bytes / (3 * kActivation);
  };
  EXPECT_EQ(kept("gelu(linear(h, out = 32))"), 8 + 32 + 32); // input, before and after gelu
  EXPECT_EQ(kept("recompute(gelu(linear(h, out = 32)))"), 8);
  EXPECT_EQ(kept("gelu(recompute(linear(h, out = 32)))"), 8 + 32);
  EXPECT_EQ(kept("recompute(gelu(recompute(linear(h, out = 32))))"), 8);
}
