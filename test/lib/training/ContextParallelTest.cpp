// Steps whose sequences are divided among virtual devices against the same step on one device.
#include "passes/shard/Passes.h"
#include "test/lib/training/CollectiveTraffic.h"
#include "test/support/TrainingGraphFixture.h"

using namespace accord;

namespace {

struct Case {
  const char *name, *text;
  bool fused = false; ///< attention is one operation: heads can be divided for it
};

const char kGpt[] = R"(
import "catalog/gpt2.dnn"
train t = gpt2(layers = 3, hidden = 16, heads = 4, vocab = 12, seq = 8, drop = 0.2) on a100_80g {
  batch = 2
  optimizer = adam
})";
// Grouped queries: rows of scores are those of several heads, each with positions of its own.
const char kLlama[] = R"(
import "catalog/llama2.dnn"
train t = llama2(layers = 3, hidden = 16, heads = 8, kv_heads = 4, inner = 12, vocab = 8, seq = 8) on a100_80g {
  batch = 2
  optimizer = adam
})";
const char kFused[] = R"(
import "catalog/llama2.dnn"
train t = llama2(layers = 3, hidden = 16, heads = 8, kv_heads = 4, inner = 12, vocab = 8, seq = 8, flash = true) on a100_80g {
  batch = 2
  optimizer = adam
})";
const char kBloom[] = R"(
import "catalog/bloom.dnn"
train t = bloom_176b(layers = 2, hidden = 16, heads = 4, vocab = 8, seq = 4) on a100_80g {
  batch = 2
  optimizer = adam
})";
// Experts have room for every token, so that none is dropped, however tokens are divided.
const char kMixtral[] = R"(
import "catalog/mixtral.dnn"
train t = mixtral_8x7b(layers = 2, hidden = 16, heads = 4, kv_heads = 4, inner = 8, experts = 4, vocab = 8, seq = 8, capacity = 2, flash = true) on a100_80g {
  batch = 8
  optimizer = adam
})";
// One layer, not repeated; positions without a table; keys of another sequence.
const char kEncoderDecoder[] = R"(
import "catalog/transformer.dnn"
model net {
  input source : int32[8]
  input target : int32[4]
  input labels : int32[4]
  let memory = sinusoids(embedding(source, rows = 8, dim = 16))
  let encoded = memory + attention(layer_norm(memory), heads = 4)
  let x = sinusoids(embedding(target, rows = 8, dim = 16))
  let y = x + fused_attention(layer_norm(x), heads = 4, memory = encoded)
  loss cross_entropy(linear(y, out = 8), labels)
}
train t = net() on a100_80g {
  batch = 2
  optimizer = sgd
})";

const Case kCases[] = {
    {"GPT", kGpt},     {"Llama", kLlama},           {"Llama with fused attention", kFused, true},
    {"BLOOM", kBloom}, {"Mixtral", kMixtral, true}, {"an encoder and a decoder", kEncoderDecoder},
};

DivideSequenceOptions among(int64_t devices, const char *exchange) {
  DivideSequenceOptions options;
  options.devices = devices;
  options.exchange = exchange;
  return options;
}

class Context : public ::testing::TestWithParam<std::tuple<Case, const char *, int>> {};

} // namespace

TEST_P(Context, EqualsOneDevice) {
  auto [model, exchange, devices] = GetParam();
  for (const char *policy : {"", "selective", "full"}) {
    RecomputeOptions recompute;
    recompute.policy = policy;
    TrainingGraph one(model.text, {"sgd", "fp32"}, createRecompute(recompute));
    ASSERT_TRUE(one.graph);
    auto inputs = llvm::cantFail(interpret::randomInputs(one.graph, one.batch, 7));
    auto expected = llvm::cantFail(interpret::interpret(one.graph, inputs));
    mlir::PassManager passes(&one.context);
    passes.addPass(createDivideSequence(among(devices, exchange)));
    bool heads = std::string(exchange) == "all_to_all";
    mlir::ScopedDiagnosticHandler quiet(&one.context, [&](mlir::Diagnostic &) { return mlir::success(heads); });
    bool divided = mlir::succeeded(passes.run(one.program->module()));
    ASSERT_EQ(divided, !heads || model.fused); // heads are exchanged for attention in one operation alone
    if (!divided)
      continue;
    auto found = interpret::interpret(one.graph, inputs);
    ASSERT_TRUE(static_cast<bool>(found)) << llvm::toString(found.takeError());
    expectSameStep(*found, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Context,
                         ::testing::Combine(::testing::ValuesIn(kCases),
                                            ::testing::Values("ring", "all_gather", "all_to_all"),
                                            ::testing::Values(2, 4)),
                         [](const auto &info) {
                           std::string name;
                           for (char c : std::string(std::get<0>(info.param).name) + std::get<1>(info.param))
                             if (isalnum(static_cast<unsigned char>(c)))
                               name += c;
                           return name + "On" + std::to_string(std::get<2>(info.param));
                         });

// All axes at once: tensors, what lies between them along the sequence, contexts, replicas that divide experts.
TEST(ContextAndOthers, EqualOneDevice) {
  for (const char *text : {kGpt, kLlama, kFused, kMixtral})
    for (const char *exchange : {"ring", "all_to_all"})
      for (bool sequence : {false, true}) {
        bool fused = text == kFused || text == kMixtral;
        if (std::string(exchange) == "all_to_all" && !fused)
          continue;
        TrainingGraph one(text);
        ASSERT_TRUE(one.graph);
        auto inputs = llvm::cantFail(interpret::randomInputs(one.graph, one.batch, 3));
        auto expected = llvm::cantFail(interpret::interpret(one.graph, inputs));
        ShardOptions parts;
        parts.sequence = sequence;
        ReplicateOptions replicas;
        replicas.experts = "divided";
        ASSERT_TRUE(one.run(createShard(parts)) && one.run(createDivideSequence(among(2, exchange))) &&
                    one.run(createReplicate(replicas)));
        auto found = interpret::interpret(one.graph, inputs);
        ASSERT_TRUE(static_cast<bool>(found)) << llvm::toString(found.takeError());
        expectSameStep(*found, expected);
      }
}

namespace {

/// Bytes that one device exchanges in the micro-batch, by kind, in keys and values of one layer.
std::map<std::string, double> ofOneLayer(const char *exchange) {
  TrainingGraph one(kFused);
  EXPECT_TRUE(one.graph && one.run(createDivideSequence(among(4, exchange))));
  constexpr int64_t kLayers = 3, kKeys = 2 * 8 * 8 * 2; // batch, sequence, 4 heads of 2, bytes
  std::map<std::string, double> units;
  std::optional<shard::Traffic> traffic = shard::trafficOf(one.graph, one.batch);
  for (const auto &[key, of] : traffic.value_or(shard::Traffic()))
    if (!key.where.empty())
      units[key.kind] += double(of.payload) / (kLayers * kKeys);
  return units;
}

} // namespace

// Keys and values travel in the forward pass and again in the backward pass, and both gradients come back (Grattafiori
// et al., Llama 3, 2024, section 3.3.2; Liu et al., 2023, section 3).
TEST(ContextTraffic, KeysAndValuesTravelTwiceAndTheirGradientsOnce) {
  for (const char *exchange : {"ring", "all_gather"})
    EXPECT_EQ(ofOneLayer(exchange), (std::map<std::string, double>{{"all_gather", 4}, {"reduce_scatter", 2}}));
}
// Jacobs et al., DeepSpeed Ulysses, 2023, section 3: queries, keys, values and the result forward, their gradients
// backward; a device sends a part of what it has, here a quarter of the sequence. Queries have twice the heads. Values
// and the result are kept as the layers around them have them, and travel once more.
TEST(ContextTraffic, HeadsTravelOnceEachWay) {
  EXPECT_EQ(ofOneLayer("all_to_all"),
            (std::map<std::string, double>{{"all_to_all", (2 * (2 + 1 + 1 + 2) + 1 + 2) / 4.0}}));
}
