// Products in fp8: which they are, what is cast and saved, and that nothing else is computed.
#include "lib/machine/translate/FromDnn.h"
#include "passes/shard/Passes.h"
#include "passes/simplify/Passes.h"
#include "test/support/SavedActivations.h"
#include "test/support/TrainingGraphFixture.h"
#include <fmt/format.h>

using namespace accord;

namespace {

constexpr int64_t kLayers = 3, kHidden = 32, kInner = 64, kTokens = 8, kBatch = 2;

/// A block that normalizes, widens, and narrows again, and one product behind it.
std::string mlp(const char *precision) {
  return fmt::format(R"(
model net(layers = {}, hidden = {}, inner = {}, tokens = {}) {{
  input x : float[tokens, hidden]
  input y : float[tokens, hidden]
  var h = x
  repeat layers as block {{
    h = h + linear(gelu(linear(layer_norm(h), out = inner, bias = false)), out = hidden, bias = false)
  }}
  loss mse(linear(layer_norm(h), out = hidden, bias = false), y)
}}
train t = net() on h100 {{
  batch = {}
  precision = {}
  optimizer = adam
}})",
                     kLayers, kHidden, kInner, kTokens, kBatch, precision);
}

std::string catalogue(const char *training, const char *precision) {
  return fmt::format("{} on h100 {{\n  batch = 4\n  precision = {}\n  optimizer = adam\n}}", training, precision);
}
const char *const kGpt = "import \"catalog/gpt2.dnn\"\n"
                         "train t = gpt2(layers = 3, hidden = 32, heads = 4, vocab = 32, seq = 8, drop = 0)";
const char *const kLlama =
    "import \"catalog/llama2.dnn\"\n"
    "train t = llama2(layers = 2, hidden = 32, heads = 4, kv_heads = 2, inner = 48, vocab = 32, seq = 8)";
const char *const kExperts = R"(
import "catalog/transformer.dnn"
model net(hidden = 32, seq = 8) {
  input x : float[seq, hidden]
  input y : float[seq, hidden]
  var h = x
  repeat 2 as block { h = h + moe(layer_norm(h), experts = 4, inner = 64, top_k = 2) }
  loss mse(h, y)
}
train t = net())";

/// As stated by the model, after the pass.
std::unique_ptr<TrainingGraph> graphOf(const std::string &text, std::unique_ptr<mlir::Pass> then = nullptr) {
  auto one = std::make_unique<TrainingGraph>(text.c_str(), BuildTrainingGraphOptions{"", ""}, createQuantizeProducts(),
                                             std::move(then));
  EXPECT_TRUE(one->graph);
  return one;
}

WorkGraph workOf(TrainingGraph &one, int64_t microbatch = kBatch) {
  std::string error;
  auto work = workGraphFrom(one.graph, microbatch, 1, error);
  EXPECT_TRUE(work) << error;
  return std::move(*work);
}

template <typename OpTy> std::vector<OpTy> allOf(dnn::TrainingGraphOp graph) {
  std::vector<OpTy> all;
  graph.walk([&](OpTy op) { all.push_back(op); });
  return all;
}

mlir::Type elementOf(mlir::Value value) { return mlir::cast<mlir::RankedTensorType>(value.getType()).getElementType(); }

interpret::StepResult stepOf(TrainingGraph &one, const interpret::StepInputs &inputs) {
  auto result = interpret::interpret(one.graph, inputs);
  if (!result) {
    ADD_FAILURE() << llvm::toString(result.takeError());
    return {};
  }
  return std::move(*result);
}

} // namespace

// By hand: two products of a block, each with one cast forward and one of its result's gradient, and two products of
// the backward pass that take both. The one behind the block is in bf16.
TEST(Quantize, CastsWhatProductsTake) {
  auto one = graphOf(mlp("mixed(fp8)"));
  std::vector<std::string> forward, backward;
  for (dnn::CastOp cast : allOf<dnn::CastOp>(one->graph)) {
    EXPECT_TRUE(elementOf(cast.getX()).isBF16());
    bool isForward = dnn::phaseOf(cast) == dnn::Phase::Forward;
    EXPECT_TRUE(isForward ? mlir::isa<mlir::Float8E4M3FNType>(elementOf(cast.getY()))
                          : mlir::isa<mlir::Float8E5M2Type>(elementOf(cast.getY())));
    (isForward ? forward : backward).push_back(dnn::nameOf(cast).str());
  }
  EXPECT_EQ(forward.size(), 2U);
  EXPECT_EQ(backward.size(), 2U);
  unsigned eight = 0, sixteen = 0;
  for (dnn::ContractOp product : allOf<dnn::ContractOp>(one->graph)) {
    EXPECT_TRUE(elementOf(product.getResult()).isBF16());
    if (mlir::isa<mlir::Float8E5M2Type>(elementOf(product.getA()))) {
      EXPECT_TRUE(mlir::isa<mlir::Float8E4M3FNType>(elementOf(product.getB())));
      ++eight;
    } else {
      ++sixteen;
    }
  }
  EXPECT_EQ(eight, 4U);
  EXPECT_EQ(sixteen, 2U);
  unsigned quantized = 0;
  for (dnn::UpdateOp update : allOf<dnn::UpdateOp>(one->graph))
    quantized += update.getQuantized().has_value();
  EXPECT_EQ(quantized, 2U);
  // What costs follow from.
  WorkGraph work = workOf(*one);
  EXPECT_EQ(work.precision, "mixed(fp8)");
  int64_t inFp8 = 0, contractions = 0;
  for (const Operation &op : work.operations) {
    contractions += op.contraction;
    inFp8 += op.contraction && op.type == "fp8";
    EXPECT_TRUE(op.contraction || op.type != "fp8") << op.name;
  }
  EXPECT_EQ(contractions, 9);
  EXPECT_EQ(inFp8, 6);
}

// Of a token and a layer: what the norm, the gelu and the two weight gradients read.
TEST(Quantize, SavesTheCopiesOfEightBits) {
  auto sixteen = graphOf(mlp("mixed(bf16)")), eight = graphOf(mlp("mixed(fp8)"));
  constexpr int64_t kRows = kLayers * kTokens * kBatch;
  EXPECT_EQ(findSavedActivations(workOf(*sixteen)).at(0).bytes, kRows * (4 * kHidden + 4 * kInner));
  EXPECT_EQ(findSavedActivations(workOf(*eight)).at(0).bytes, kRows * (3 * kHidden + 3 * kInner));
}

// Two copies of the weights of a byte each stay, and the update writes them after it has read the weights again.
TEST(Quantize, CopiesOfWeightsStay) {
  auto sixteen = graphOf(mlp("mixed(bf16)")), eight = graphOf(mlp("mixed(fp8)"));
  auto residents = [](const WorkGraph &work, bool quantized) {
    int64_t sum = 0;
    for (const StaticTensor &tensor : work.staticTensors)
      sum += tensor.quantized == quantized ? tensor.bytes : 0;
    return sum;
  };
  auto updated = [](const WorkGraph &work) {
    std::pair<int64_t, int64_t> sum;
    for (OperationId id : work.regions[kUpdateRegion].operations)
      sum.first += work.operations[id].bytesRead, sum.second += work.operations[id].bytesWritten;
    return sum;
  };
  WorkGraph a = workOf(*sixteen), b = workOf(*eight);
  constexpr int64_t kInBlocks = 2 * kLayers * kHidden * kInner;
  EXPECT_EQ(residents(a, true), 0);
  EXPECT_EQ(residents(b, true), 2 * kInBlocks);
  EXPECT_EQ(residents(a, false), residents(b, false));
  EXPECT_EQ(updated(b).first - updated(a).first, 2 * kInBlocks);
  EXPECT_EQ(updated(b).second - updated(a).second, 2 * kInBlocks);
}

// Attention's own products, and the gate of experts, stay in bf16; experts do not.
TEST(Quantize, LeavesAttentionAndGates) {
  for (const char *text : {kGpt, kLlama}) {
    auto one = graphOf(catalogue(text, "mixed(fp8)"));
    unsigned products = 0;
    for (dnn::LinearOp linear : allOf<dnn::LinearOp>(one->graph)) {
      bool inBlock = linear->getParentOfType<dnn::RepeatOp>() != nullptr;
      EXPECT_EQ(dnn::isQuantized(elementOf(linear.getX())), inBlock) << dnn::nameOf(linear).str();
      products += inBlock;
    }
    EXPECT_GE(products, 4U);
    for (dnn::MatmulOp matmul : allOf<dnn::MatmulOp>(one->graph))
      EXPECT_TRUE(elementOf(matmul.getA()).isBF16() && elementOf(matmul.getB()).isBF16());
  }
  auto one = graphOf(catalogue(kExperts, "mixed(fp8)"));
  for (dnn::MoeDispatchOp dispatch : allOf<dnn::MoeDispatchOp>(one->graph))
    EXPECT_TRUE(elementOf(dispatch.getX()).isBF16() && elementOf(dispatch.getGate()).isBF16());
  for (dnn::MoeExpertsOp experts : allOf<dnn::MoeExpertsOp>(one->graph))
    EXPECT_TRUE(dnn::isQuantized(elementOf(experts.getSlots())) && dnn::isQuantized(elementOf(experts.getW1())) &&
                elementOf(experts.getY()).isBF16() && elementOf(experts.getSaved()).isBF16());
  for (dnn::MoeExpertsGradOp gradient : allOf<dnn::MoeExpertsGradOp>(one->graph))
    EXPECT_TRUE(mlir::isa<mlir::Float8E5M2Type>(elementOf(gradient.getDy())) && elementOf(gradient.getDw1()).isBF16());
}

// Computed exactly, the step is that in bf16: on one device, with recomputation, fused, and divided in every way.
TEST(Quantize, SameLossAndGradients) {
  auto recompute = [](const char *policy) {
    RecomputeOptions options;
    options.policy = policy;
    return createRecompute(options);
  };
  for (const std::string &text : {std::string(kGpt), std::string(kLlama), std::string(kExperts)}) {
    auto plain = graphOf(catalogue(text.c_str(), "mixed(bf16)"));
    auto inputs = llvm::cantFail(interpret::randomInputs(plain->graph, plain->batch, 7));
    interpret::StepResult expected = stepOf(*plain, inputs);
    std::string eight = catalogue(text.c_str(), "mixed(fp8)");
    expectSameStep(stepOf(*graphOf(eight), inputs), expected, 1e-12);
    for (const char *policy : {"selective", "full"})
      expectSameStep(stepOf(*graphOf(eight, recompute(policy)), inputs), expected, 1e-12);
    auto fused = graphOf(eight);
    ASSERT_TRUE(fused->runOnGraph(createFuse()));
    expectSameStep(stepOf(*fused, inputs), expected, 1e-12);
    for (auto [sequence, policy] : {std::pair(false, "none"), std::pair(true, "full")}) {
      auto divided = graphOf(eight, recompute(policy));
      ShardOptions options;
      options.devices = 2;
      options.sequence = sequence;
      ASSERT_TRUE(divided->run(createShard(options)));
      expectSameStep(stepOf(*divided, inputs), expected);
    }
    for (const char *experts : {"whole", "divided"}) {
      auto replicas = graphOf(eight);
      ReplicateOptions options;
      options.devices = 2;
      options.experts = experts;
      ASSERT_TRUE(replicas->run(createReplicate(options)));
      expectSameStep(stepOf(*replicas, inputs), expected);
    }
  }
}

// A cast comes before what is gathered for a product or sent to experts: it travels as 8 bits. Sums do not.
TEST(Quantize, CollectivesMoveWhatProductsTake) {
  auto divided = graphOf(catalogue(kGpt, "mixed(fp8)"));
  ShardOptions options;
  options.devices = 2;
  options.sequence = true;
  ASSERT_TRUE(divided->run(createShard(options)));
  unsigned gathers = 0;
  for (dnn::AllGatherOp gather : allOf<dnn::AllGatherOp>(divided->graph))
    if (gather->getParentOfType<dnn::RepeatOp>()) {
      EXPECT_TRUE(dnn::isQuantized(elementOf(gather.getX()))) << dnn::nameOf(gather).str();
      ++gathers;
    }
  EXPECT_GE(gathers, 4U);
  for (dnn::ReduceScatterOp scatter : allOf<dnn::ReduceScatterOp>(divided->graph))
    EXPECT_FALSE(dnn::isQuantized(elementOf(scatter.getX()))) << dnn::nameOf(scatter).str();

  auto experts = graphOf(catalogue(kExperts, "mixed(fp8)"));
  ReplicateOptions replicate;
  replicate.devices = 2;
  replicate.experts = "divided";
  ASSERT_TRUE(experts->run(createReplicate(replicate)));
  unsigned eight = 0, sixteen = 0;
  for (dnn::AllToAllOp exchange : allOf<dnn::AllToAllOp>(experts->graph))
    ++(dnn::isQuantized(elementOf(exchange.getX())) ? eight : sixteen);
  EXPECT_EQ(eight, 2U);   // to the experts, forward and backward
  EXPECT_EQ(sixteen, 2U); // and back
}

// The cast runs in the kernel that makes what it reads.
TEST(Quantize, CastsFuse) {
  auto one = graphOf(mlp("mixed(fp8)"));
  ASSERT_TRUE(one->runOnGraph(createFuse()));
  unsigned alone = 0;
  for (dnn::CastOp cast : allOf<dnn::CastOp>(one->graph))
    alone += cast->getParentOfType<dnn::FusedOp>() == nullptr && dnn::phaseOf(cast) == dnn::Phase::Forward;
  EXPECT_EQ(alone, 0U);
}
