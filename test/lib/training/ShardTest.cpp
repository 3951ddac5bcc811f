// Sharded programs on 2 and 4 virtual devices against the same step on one device.
#include "passes/shard/Passes.h"
#include "test/lib/training/CollectiveTraffic.h"
#include "test/support/TrainingGraphFixture.h"

using namespace accord;

namespace {

struct Case {
  const char *name, *text;
  bool sequence = false;
  int splits = 0;     ///< parameters that must be split, at least
  bool whole = false; ///< recurrent layers stay single operations
};

const char kGpt[] = R"(
import "catalog/gpt2.dnn"
train t = gpt2(layers = 3, hidden = 16, heads = 4, vocab = 12, seq = 8, drop = 0.2) on a100_80g {
  batch = 2
  optimizer = adam
})";
const char kLlama[] = R"(
import "catalog/llama2.dnn"
train t = llama2(layers = 3, hidden = 16, heads = 8, kv_heads = 4, inner = 12, vocab = 8, seq = 4) on a100_80g {
  batch = 2
  optimizer = adam
})";
const char kBert[] = R"(
import "catalog/bert.dnn"
train t = bert_large(layers = 2, hidden = 8, heads = 4, vocab = 12, seq = 4, max_position = 8, masked = 2) on a100_80g {
  batch = 2
  optimizer = adam
})";
const char kBloom[] = R"(
import "catalog/bloom.dnn"
train t = bloom_176b(layers = 2, hidden = 16, heads = 4, vocab = 8, seq = 4) on a100_80g {
  batch = 2
  optimizer = adam
})";
const char kT5[] = R"(
import "catalog/t5.dnn"
train t = t5_large(layers = 2, hidden = 8, hidden_sqrt = 2, heads = 4, inner = 12, vocab = 8, length = 4, target = 8) on a100_80g {
  batch = 2
  optimizer = adam
})";
const char kMixtral[] = R"(
import "catalog/mixtral.dnn"
train t = mixtral_8x7b(layers = 2, hidden = 16, heads = 4, kv_heads = 4, inner = 8, experts = 3, vocab = 8, seq = 4, capacity = 2) on a100_80g {
  batch = 2
  optimizer = adam
})";
const char kExperts[] = R"(
import "catalog/mixtral.dnn"
train t = mixtral_8x7b(layers = 2, hidden = 16, heads = 4, kv_heads = 4, inner = 8, experts = 4, vocab = 8, seq = 4, capacity = 2) on a100_80g {
  batch = 8
  optimizer = adam
})";
const char kRecurrent[] = R"(
model net {
  input x      : float[4, 8]
  input words  : int32[4]
  input target : float[4, 8]
  var y = x + gru(lstm(x, hidden = 8), hidden = 4, bidirectional = true)
  repeat 2 as layer {
    var h = zeros(8)
    scan reverse y, words as yt, word -> states {
      h = tanh(linear(yt, out = 8) + linear(h, out = 8) + embedding(word, rows = 8, dim = 8))
      states = linear(h * yt, out = 8)
    }
    scan states as st -> after { after = st * h }
    y = y + linear(after, out = 8)
  }
  loss mse(y, target)
}
train t = net() on a100_80g {
  batch = 4
  optimizer = sgd
})";
const char kPlainExperts[] = R"(
model experts {
  input x      : float[4, 6]
  input target : float[4, 6]
  var h = x + moe(x, experts = 4, inner = 3, top_k = 1, capacity_factor = 0.75)
  repeat 2 { h = h + moe(rms_norm(h), experts = 8, inner = 5, top_k = 2) }
  repeat 2 { repeat 2 { h = h + moe(h, experts = 4, inner = 2, top_k = 3, normalize = true) } }
  loss mse(linear(h, out = 6), target)
}
train t = experts() on a100_80g {
  batch = 4
  optimizer = adam
})";

const Case kCases[] = {
    {"GPT", kGpt, false, 11},
    {"GPT along the sequence", kGpt, true, 12},
    {"Llama", kLlama, false, 9},
    {"Llama along the sequence", kLlama, true, 9},
    {"BERT", kBert, false, 14},
    {"BERT along the sequence", kBert, true, 14},
    {"BLOOM", kBloom, false, 10},
    {"T5", kT5, false, 10},
    {"T5 along the sequence", kT5, true, 10},
    {"Mixtral", kMixtral, false, 6},
    {"Mixtral whose experts are divided", kExperts, false, 6},
    {"Mixtral whose experts are divided along the sequence", kExperts, true, 6},
    {"experts of two weights", kPlainExperts, false, 6},
    {"odd vocabulary, heads that four devices do not divide", R"(
import "catalog/gpt2.dnn"
train t = gpt2(layers = 2, hidden = 12, heads = 6, vocab = 11, seq = 5) on a100_80g {
  batch = 2
  optimizer = adam
})",
     true, 2},
    {"ResNet", R"(
import "catalog/convolution.dnn"
import "catalog/resnet.dnn"
model net {
  input image : float[3, 9, 9]
  input label : int32[1]
  let stem = relu(conv_bn(image, out = 4, kernel = 3, stride = 2, padding = 1))
  var x = max_pool(stem, kernel = 3, stride = 2, padding = 1)
  x = basic_block(x, out = 4)
  x = bottleneck(x, inner = 4, out = 8)
  repeat 2 { x = bottleneck(x, inner = 4, out = 8, groups = 2) }
  x = bottleneck(x, inner = 4, out = 12, stride = 2)
  loss cross_entropy(classifier(x, 8), label)
}
train t = net() on a100_80g {
  batch = 3
  optimizer = momentum
})",
     false, 12},
    {"inverted residuals", R"(
import "catalog/convolution.dnn"
model net {
  input image : float[3, 6, 6]
  input label : int32[1]
  var x = relu6(conv_bn(image, out = 4, kernel = 3, padding = 1))
  repeat 2 { x = inverted_residual(x, out = 4, expanded_channels = 8) }
  x = inverted_residual(x, out = 4, expanded_channels = 8, kernel = 5, squeeze = 4, function = "hard_swish", gate = "hard_sigmoid")
  loss cross_entropy(classifier(x, 8, drop = 0.2), label)
}
train t = net() on a100_80g {
  batch = 3
  optimizer = momentum
})",
     false, 12},
    {"DLRM", R"(
import "catalog/recommender.dnn"
model net {
  input numbers    : float[5]
  input categories : int32[3]
  input bags       : int32[3]
  input clicked    : fp32[1]
  let dense = relu(linear(relu(linear(numbers, out = 8)), out = 4))
  let a = lookup(categories, feature = 0, rows = 4, dim = 4)
  let b = lookup(categories, feature = 1, rows = 3, dim = 4)
  let c = reshape(embedding_bag(bags, rows = 8, dim = 4), [1, 4])
  let pairs = interaction(concat(reshape(dense, [1, 4]), a, b, c, axis = 0))
  let top = relu(linear(concat(dense, pairs, axis = 0), out = 8))
  loss binary_cross_entropy(linear(top, out = 1), clicked)
}
train t = net() on a100_80g {
  batch = 3
  optimizer = sgd
})",
     false, 6},
    {"GCN", R"(
model gcn {
  input offsets  : int32[6]
  input columns  : int32[9]
  input degrees  : float[9]
  input features : float[5, 4]
  input labels   : int32[5]
  let h = relu(spmm(offsets, columns, degrees, linear(features, out = 8, bias = false)))
  loss cross_entropy(spmm(offsets, columns, degrees, linear(dropout(h, rate = 0.5), out = 4)), labels)
}
train t = gcn() on a100_80g {
  batch = 1
  optimizer = adam
})",
     false, 2},
    {"U-shaped convolutions", R"(
model unet {
  input image  : float[2, 8, 8]
  input target : float[1, 8, 8]
  let wide = silu(conv2d(image, out = 4, kernel = 3, padding = 1))
  let deep = gelu(depthwise_conv2d(avg_pool(wide, kernel = 2), kernel = 3, padding = 1))
  let up = conv_transpose2d(deep, out = 4, kernel = 2, stride = 2)
  let joined = concat(wide, up, upsample(deep, scale = 2), axis = 0)
  loss mse(sigmoid(conv2d(joined, out = 1, kernel = 1)), target)
}
train t = unet() on a100_80g {
  batch = 2
  optimizer = adam
})",
     false, 4},
    {"GNMT", R"(
import "catalog/gnmt.dnn"
train t = gnmt(hidden = 4, vocab = 8, length = 3, target = 2) on a100_80g {
  batch = 2
  optimizer = adam
})",
     false, 2},
    {"GNMT of whole layers", R"(
import "catalog/gnmt.dnn"
train t = gnmt(hidden = 4, vocab = 8, length = 3, target = 2) on a100_80g {
  batch = 2
  optimizer = adam
})",
     false, 2, true},
    {"recurrent layers with parts of the sequence", kRecurrent, true, 4},
    {"recurrent layers", kRecurrent, false, 4},
    {"experts in nested repeats", R"(
model nested {
  input x      : float[4, 8]
  input target : float[4, 8]
  var h = x
  repeat 2 {
    repeat 3 { h = h + moe(layer_norm(h), experts = 4, inner = 6, top_k = 1, gated = true) }
    h = h + linear(h, out = 8)
  }
  loss mse(h, target)
}
train t = nested() on a100_80g {
  batch = 2
  optimizer = sgd
})",
     false, 4},
    {"nested repeats", R"(
model nested {
  input x      : float[8]
  input target : float[8]
  let shared = parameter([8, 8])
  var h = x
  repeat 2 {
    repeat 3 { h = tanh(linear(h, out = 8)) }
    h = h + linear(h, out = 8, weight = shared)
  }
  loss mse(linear(h, out = 8, weight = shared), target)
}
train t = nested() on a100_80g {
  batch = 2
  optimizer = sgd
})",
     false, 2},
};

class Shard : public ::testing::TestWithParam<std::tuple<Case, int>> {};

int64_t splitParameters(dnn::TrainingGraphOp graph) {
  int64_t count = 0;
  for (auto parameter : graph.getParameters())
    count += parameter->hasAttr(dnn::DnnDialect::kPartsAttr);
  return count;
}

} // namespace

TEST_P(Shard, EqualsOneDevice) {
  auto [model, devices] = GetParam();
  TrainingGraph one(model.text, {"sgd", "fp32"}, model.whole ? nullptr : createExpandRecurrent());
  ASSERT_TRUE(one.graph);
  if (!model.whole)
    ASSERT_TRUE(one.runOnGraph(createGatherGradients()));
  auto inputs = llvm::cantFail(interpret::randomInputs(one.graph, one.batch, 7));
  auto expected = llvm::cantFail(interpret::interpret(one.graph, inputs));

  ShardOptions options;
  options.devices = devices;
  options.sequence = model.sequence;
  ASSERT_TRUE(one.run(createShard(options)));
  EXPECT_GE(splitParameters(one.graph), model.splits);
  auto found = interpret::interpret(one.graph, inputs);
  ASSERT_TRUE(static_cast<bool>(found)) << llvm::toString(found.takeError());
  expectSameStep(*found, expected);
}

INSTANTIATE_TEST_SUITE_P(Models, Shard, ::testing::Combine(::testing::ValuesIn(kCases), ::testing::Values(2, 4)),
                         [](const auto &info) {
                           std::string name;
                           for (char c : std::string(std::get<0>(info.param).name))
                             if (isalnum(static_cast<unsigned char>(c)))
                               name += c;
                           return name + "On" + std::to_string(std::get<1>(info.param));
                         });

namespace {

const char kDlrm[] = R"(
import "catalog/recommender.dnn"
model net {
  input numbers    : float[5]
  input categories : int32[3]
  input bag        : int32[3]
  input clicked    : fp32[1]
  let dense = relu(linear(relu(linear(numbers, out = 8)), out = 4))
  let a = lookup(categories, feature = 0, rows = 4, dim = 4)
  let b = lookup(categories, feature = 1, rows = 8, dim = 4)
  let c = reshape(embedding_bag(bag, rows = 8, dim = 4), [1, 4])
  let pairs = interaction(concat(reshape(dense, [1, 4]), a, b, c, axis = 0))
  let top = relu(linear(concat(dense, pairs, axis = 0), out = 8))
  loss binary_cross_entropy(linear(top, out = 1), clicked)
}
train t = net() on a100_80g {
  batch = 8
  optimizer = sgd
})";
const char kTables[] = R"(
model net {
  input ids    : int32[2, 3]
  input target : float[2, 8]
  let table = parameter([12, 8])
  var h = embedding(ids, rows = 12, dim = 8, table = table)
  let bags = embedding_bag(ids, rows = 12, dim = 8, table = table, mode = "mean")
  repeat 2 { h = tanh(h + linear(h, out = 8)) }
  loss mse(reduce_sum(h, axis = 1) + bags, target)
}
train t = net() on a100_80g {
  batch = 4
  optimizer = adam
})";

struct ReplicaCase {
  const char *name, *text, *tables;
  int64_t devices, divided;
  const char *experts = "whole";
};
const ReplicaCase kReplicas[] = {
    {"GPT", kGpt, "whole", 2, 0},
    {"DLRM", kDlrm, "whole", 4, 0},
    {"recurrent layers", kRecurrent, "whole", 4, 0},
    {"DLRM by rows", kDlrm, "rows", 2, 3},
    {"DLRM by rows", kDlrm, "rows", 4, 3},
    {"DLRM by columns", kDlrm, "columns", 2, 3},
    {"DLRM by columns", kDlrm, "columns", 4, 3},
    {"a shared table by rows", kTables, "rows", 4, 1},
    {"a shared table by columns", kTables, "columns", 2, 1},
    {"BERT, whose tied table stays whole", kBert, "rows", 2, 1},
    {"Mixtral", kExperts, "whole", 2, 0},
    {"Mixtral with divided experts", kExperts, "whole", 2, 3, "divided"},
    {"Mixtral with divided experts", kExperts, "whole", 4, 3, "divided"},
    {"experts of two weights", kPlainExperts, "whole", 2, 6, "divided"},
    {"experts of two weights", kPlainExperts, "whole", 4, 6, "divided"},
    {"three experts, which stay whole", kMixtral, "whole", 2, 0, "divided"},
};
class Replicate : public ::testing::TestWithParam<ReplicaCase> {};

} // namespace

TEST_P(Replicate, EqualsOneDevice) {
  const ReplicaCase &model = GetParam();
  TrainingGraph one(model.text, {"sgd", "fp32"}, createExpandRecurrent());
  ASSERT_TRUE(one.graph);
  ASSERT_TRUE(one.runOnGraph(createGatherGradients()));
  auto inputs = llvm::cantFail(interpret::randomInputs(one.graph, one.batch, 7));
  auto expected = llvm::cantFail(interpret::interpret(one.graph, inputs));
  ReplicateOptions options;
  options.devices = model.devices;
  options.tables = model.tables;
  options.experts = model.experts;
  ASSERT_TRUE(one.run(createReplicate(options)));
  EXPECT_EQ(splitParameters(one.graph), model.divided);
  auto found = interpret::interpret(one.graph, inputs);
  ASSERT_TRUE(static_cast<bool>(found)) << llvm::toString(found.takeError());
  expectSameStep(*found, expected);
}

INSTANTIATE_TEST_SUITE_P(Models, Replicate, ::testing::ValuesIn(kReplicas), [](const auto &info) {
  std::string name;
  for (char c : std::string(info.param.name))
    if (isalnum(static_cast<unsigned char>(c)))
      name += c;
  return name + "On" + std::to_string(info.param.devices);
});

// Two by two devices: parts of weights on one axis, samples on the other.
TEST(ShardAndReplicate, TensorAndDataParallel) {
  for (bool sequence : {false, true}) {
    TrainingGraph one(kLlama);
    ASSERT_TRUE(one.graph);
    auto inputs = llvm::cantFail(interpret::randomInputs(one.graph, one.batch, 3));
    auto expected = llvm::cantFail(interpret::interpret(one.graph, inputs));
    ShardOptions parts;
    parts.sequence = sequence;
    ReplicateOptions replicas;
    ASSERT_TRUE(one.run(createShard(parts)) && one.run(createReplicate(replicas)));
    auto found = interpret::interpret(one.graph, inputs);
    ASSERT_TRUE(static_cast<bool>(found)) << llvm::toString(found.takeError());
    expectSameStep(*found, expected);
  }
}

// Experts are parts on both axes: first those of a device's tensor rank, then those of its data rank.
TEST(ShardAndReplicate, ExpertsOnBothAxes) {
  TrainingGraph one(kExperts);
  ASSERT_TRUE(one.graph);
  auto inputs = llvm::cantFail(interpret::randomInputs(one.graph, one.batch, 3));
  auto expected = llvm::cantFail(interpret::interpret(one.graph, inputs));
  ReplicateOptions replicas;
  replicas.experts = "divided";
  ASSERT_TRUE(one.run(createShard()) && one.run(createReplicate(replicas)));
  int64_t ofExperts = 0;
  for (auto parameter : one.graph.getParameters())
    if (parameter.getTensorType().getRank() == 3) {
      ++ofExperts;
      EXPECT_EQ(parameter.getTensorType().getDimSize(0), 1) << parameter.getSymName().str();
    }
  EXPECT_EQ(ofExperts, 3);
  auto found = interpret::interpret(one.graph, inputs);
  ASSERT_TRUE(static_cast<bool>(found)) << llvm::toString(found.takeError());
  expectSameStep(*found, expected);
}

// Four experts on two by four devices: each replica has one of them, each device half of its matrices.
TEST(ShardAndReplicate, MatricesOfExpertsWhereReplicasHaveOneEach) {
  TrainingGraph one(kExperts);
  ASSERT_TRUE(one.graph);
  auto inputs = llvm::cantFail(interpret::randomInputs(one.graph, one.batch, 3));
  auto expected = llvm::cantFail(interpret::interpret(one.graph, inputs));
  std::map<std::string, int64_t> before;
  for (auto parameter : one.graph.getParameters())
    before[parameter.getSymName().str()] = parameter.getTensorType().getNumElements();
  ShardOptions parts;
  parts.expertReplicas = 4;
  ReplicateOptions replicas;
  replicas.devices = 4, replicas.experts = "divided";
  ASSERT_TRUE(one.run(createShard(parts)) && one.run(createReplicate(replicas)));
  int64_t ofExperts = 0;
  for (auto parameter : one.graph.getParameters())
    if (parameter.getTensorType().getRank() == 3) {
      ++ofExperts;
      EXPECT_EQ(parameter.getTensorType().getDimSize(0), 1) << parameter.getSymName().str();
      EXPECT_EQ(parameter.getTensorType().getNumElements() * 8, before[parameter.getSymName().str()]);
    }
  EXPECT_EQ(ofExperts, 3);
  auto found = interpret::interpret(one.graph, inputs);
  ASSERT_TRUE(static_cast<bool>(found)) << llvm::toString(found.takeError());
  expectSameStep(*found, expected);
}

// Lepikhin et al., GShard, 2020, section 3.2: the slots travel to the experts and the rows back, in the forward pass
// and, as gradients, in the backward pass.
TEST(ShardTraffic, ExpertsExchangeTheirSlotsFourTimes) {
  TrainingGraph one(kExperts);
  ReplicateOptions options;
  options.devices = 4;
  options.experts = "divided";
  ASSERT_TRUE(one.graph && one.run(createReplicate(options)));
  constexpr int64_t kLocalBatch = 2, kLayers = 2, kSlots = 4 * 4, kHidden = 16, kBytes = 2;
  std::optional<shard::Traffic> traffic = shard::trafficOf(one.graph, kLocalBatch);
  ASSERT_TRUE(traffic);
  shard::CollectiveTraffic all;
  for (const auto &[key, exchange] : *traffic)
    if (key.kind == "all_to_all") {
      all.count += exchange.count;
      all.payload += exchange.payload;
      all.sent += exchange.sent;
    }
  EXPECT_EQ(all.count, 4 * kLayers);
  EXPECT_EQ(all.payload, 4 * kLayers * kLocalBatch * kSlots * kHidden * kBytes);
  EXPECT_EQ(all.sent, all.payload * 3 / 4);
}

// Mudigere et al., 2022: each way batch / n * tables * dim values per device, as parts of n times as many.
TEST(ShardTraffic, TablesByColumnsExchangeTheirRows) {
  TrainingGraph one(kDlrm);
  ReplicateOptions options;
  options.devices = 4;
  options.tables = "columns";
  ASSERT_TRUE(one.graph && one.run(createReplicate(options)));
  constexpr int64_t kLocalBatch = 2, kTableCount = 3, kDim = 4, kBytes = 2;
  std::optional<shard::Traffic> traffic = shard::trafficOf(one.graph, kLocalBatch);
  ASSERT_TRUE(traffic);
  shard::CollectiveTraffic rows = (*traffic)[{"data", "all_to_all", "", false}];
  EXPECT_EQ(rows.count, 2 * kTableCount);
  EXPECT_EQ(rows.payload, 2 * kLocalBatch * kTableCount * kDim * kBytes);
}

namespace {

/// Payloads of one layer's collectives by kind, forward and backward, in elements of [seq, hidden].
std::map<std::string, int64_t> ofOneLayer(const char *text, bool sequence, int64_t layers, int64_t bytesOfActivation) {
  TrainingGraph one(text);
  ShardOptions options;
  options.devices = 4;
  options.sequence = sequence;
  EXPECT_TRUE(one.graph && one.run(createShard(options)));
  std::map<std::string, int64_t> units;
  std::optional<shard::Traffic> traffic = shard::trafficOf(one.graph, one.batch);
  for (const auto &[key, exchange] : traffic.value_or(shard::Traffic())) {
    EXPECT_EQ(key.axis, "tensor");
    int64_t passes = key.kind == "all_reduce" ? 2 : 1;
    EXPECT_EQ(exchange.sent, passes * exchange.payload * 3 / 4) << key.kind;
    if (!key.where.empty() && exchange.payload >= layers * bytesOfActivation)
      units[key.kind] += exchange.payload / (layers * bytesOfActivation);
  }
  return units;
}

} // namespace

// Shoeybi et al., 2019, section 3: two all-reduces of [batch, sequence, hidden] in the forward and two in the backward
// pass of each layer.
TEST(ShardTraffic, MegatronReducesFourTimesPerLayer) {
  constexpr int64_t kActivation = 2 * 8 * 16 * 2; // batch, sequence, hidden, bytes
  EXPECT_EQ(ofOneLayer(kGpt, false, 3, kActivation), (std::map<std::string, int64_t>{{"all_reduce", 4}}));
}
// Korthikanti et al., 2022, section 4.2.2: four all-gathers and four reduce-scatters instead, which send as much; and
// the two inputs of column parallel layers are not kept whole but gathered once more. The scales and offsets of the two
// layer norms, replicated, add up what each part of the sequence gives (smaller than one activation each: not counted
// here).
TEST(ShardTraffic, SequencesGatherAndScatterInstead) {
  constexpr int64_t kActivation = 2 * 8 * 16 * 2;
  EXPECT_EQ(ofOneLayer(kGpt, true, 3, kActivation),
            (std::map<std::string, int64_t>{{"all_gather", 4 + 2}, {"reduce_scatter", 4}}));
}
