// Which model Megatron-LM is told to build: megatron/training/arguments.py, core 0.13.
#include "lib/launch/MegatronModel.h"
#include "lib/placement/output/PlacementJson.h"
#include "lib/support/SplitMix.h"
#include "test/support/PlacementFixture.h"
#include "llvm/Support/FormatVariadic.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace accord;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

namespace {

using Architecture = ModelArchitecture;

/// GPT-3 of the fixture: Brown et al., 2020, table 2.1.
PlacementPlan gpt() {
  PlacementPlan plan = test::gptPlacement();
  Architecture a;
  a.family = Architecture::Family::Decoder, a.norm = Architecture::Norm::LayerNorm;
  a.activation = Architecture::Activation::Gelu, a.positions = Architecture::Positions::Learned;
  a.layers = 96, a.hidden = 12288, a.heads = a.keyValueHeads = 96, a.headSize = 128, a.inner = 49152;
  a.vocabulary = 50257, a.sequence = a.maxPositions = 2048, a.parameters = 174604259328;
  a.tiedEmbeddings = a.linearBias = a.attentionBias = a.normBias = a.finalNorm = a.causal = a.fusedAttention = true;
  a.dropout = a.attentionDropout = 0.1, a.normEpsilon = 1e-5;
  plan.architecture = a, plan.parameters = a.parameters;
  return plan;
}

MegatronArguments arguments(const PlacementPlan &plan) {
  auto made = megatronArguments(plan);
  if (!made) {
    ADD_FAILURE() << made.error().message;
    return {};
  }
  return *made;
}

std::string refusal(const PlacementPlan &plan) {
  auto made = megatronArguments(plan);
  return made ? "not refused" : numberOf(made.error().code) + " " + made.error().message;
}

} // namespace

TEST(MegatronModel, SaysGpt) {
  MegatronArguments made = arguments(gpt());
  EXPECT_EQ(made.script, "pretrain_gpt.py");
  for (const char *argument :
       {"--num-layers 96", "--hidden-size 12288", "--ffn-hidden-size 49152", "--num-attention-heads 96",
        "--kv-channels 128", "--vocab-size 50257", "--make-vocab-size-divisible-by 1", "--seq-length 2048",
        "--max-position-embeddings 2048", "--normalization LayerNorm", "--norm-epsilon 1e-05",
        "--position-embedding-type learned_absolute", "--attention-dropout 0.1", "--hidden-dropout 0.1",
        "--attention-backend flash", "--optimizer adam"})
    EXPECT_THAT(made.arguments, Contains(argument));
  for (const char *other : {"swiglu", "untie", "disable-bias", "qkv-bias", "group-query", "rotary", "expert", "legacy"})
    EXPECT_THAT(made.arguments, Not(Contains(HasSubstr(other))));
  // Eight devices divide the sequence, and with it the 2048 rows of 12288 of positions.
  EXPECT_THAT(made.remarks, Contains(HasSubstr("22020096 parameters more than planned on each device of the first")));
}

TEST(MegatronModel, SaysLlamaAndItsRelatives) {
  PlacementPlan plan = gpt();
  Architecture &a = *plan.architecture;
  a.norm = Architecture::Norm::RmsNorm, a.activation = Architecture::Activation::SwiGlu, a.keyValueHeads = 8;
  a.positions = Architecture::Positions::Rope, a.rotaryBase = 500000, a.maxPositions = 0, a.dropout = 0;
  a.tiedEmbeddings = a.linearBias = a.attentionBias = a.normBias = a.fusedAttention = false, a.attentionDropout = 0;
  plan.optimizer = "adamw"; // its adam is AdamW
  MegatronArguments made = arguments(plan);
  for (const char *argument :
       {"--swiglu", "--normalization RMSNorm", "--group-query-attention", "--num-query-groups 8",
        "--rotary-base 500000", "--position-embedding-type rope", "--untie-embeddings-and-output-weights",
        "--disable-bias-linear", "--attention-dropout 0", "--hidden-dropout 0", "--attention-backend unfused",
        "--optimizer adam"})
    EXPECT_THAT(made.arguments, Contains(argument));
  // 12 heads on each of 8 devices keep 2048 x 2048 scores of 2 bytes.
  EXPECT_THAT(made.remarks, Contains(HasSubstr("96.0 MiB of a block and a micro-batch on each device")));
  EXPECT_THAT(made.arguments, Not(Contains("--add-qkv-bias")));
  a.attentionBias = true, a.activation = Architecture::Activation::SquaredRelu;
  made = arguments(plan);
  EXPECT_THAT(made.arguments, AllOf(Contains("--add-qkv-bias"), Contains("--squared-relu"), Not(Contains("--swiglu"))));
  a.experts = 16, a.expertsPerToken = 4, a.expertLayers = 96, a.expertCapacity = 1.25;
  made = arguments(plan);
  for (const char *argument :
       {"--num-experts 16", "--moe-router-topk 4", "--moe-ffn-hidden-size 49152", "--moe-router-pre-softmax",
        "--moe-expert-capacity-factor 1.25", "--moe-pad-expert-input-to-capacity"})
    EXPECT_THAT(made.arguments, Contains(argument));
  a.expertLayers = 48;
  EXPECT_THAT(refusal(plan), HasSubstr("experts stand in 48 of 96 layers"));
}

TEST(MegatronModel, RefusesWhatItWouldBuildOtherwise) {
  struct Case {
    void (*change)(Architecture &);
    const char *why;
  };
  const Case cases[] = {
      {[](Architecture &a) { a.activation = Architecture::Activation::Relu; }, "not relu"},
      {[](Architecture &a) { a.activation = Architecture::Activation::GeGlu; }, "not networks gated by gelu"},
      {[](Architecture &a) { a.activation = Architecture::Activation::Silu; }, "not silu without a gate"},
      {[](Architecture &a) { a.normBias = false; }, "layer norms have an offset"},
      {[](Architecture &a) { a.normAfter = true; }, "here they stand behind"},
      {[](Architecture &a) { a.finalNorm = false; }, "a norm stands before its head"},
      {[](Architecture &a) { a.embeddingNorm = true; }, "no norm stands behind its embedding"},
      {[](Architecture &a) { a.unscaledAttention = true; }, "divides scores"},
      {[](Architecture &a) { a.embeddingScale = 64; }, "does not multiply embeddings, here by 64"},
      {[](Architecture &a) { a.logitScale = 0.5; }, "enters the head, here by 0.5"},
      {[](Architecture &a) { a.innerDropout = 0.2; }, "no dropout inside feed-forward networks, here 0.2"},
      {[](Architecture &a) { a.attentionBias = false; }, "those of queries, keys and values have one"},
      {[](Architecture &a) { a.positions = Architecture::Positions::Alibi; }, "no linear biases"},
      {[](Architecture &a) { a.positions = Architecture::Positions::Sinusoidal; }, "no sinusoidal positions"},
      {[](Architecture &a) { a.positions = Architecture::Positions::Relative; }, "only its encoder with a decoder"},
      {[](Architecture &a) { a.headBias = true; }, "its head has no bias"},
      {[](Architecture &a) { a.segments = 2; }, "no table of kinds of tokens"},
      {[](Architecture &a) { a.headTransform = true; }, "nothing but a norm"},
      {[](Architecture &a) { a.predictedPositions = 7; }, "here of 7"},
      {[](Architecture &a) { a.keyValueHeads = 4; }, "here 4 among 8"},
      {[](Architecture &a) { a.irregular = true; }, "builds equal blocks"},
      {[](Architecture &a) { a.layers = 95; }, "95 of them are 96 equal layers"},
      {[](Architecture &a) { a = {}, a.notUnderstood = "it has no attention"; }, "it has no attention"},
      {[](Architecture &a) { a.family = Architecture::Family::Vision, a.classTokens = 1; }, "8 class tokens"},
  };
  for (const Case &one : cases) {
    PlacementPlan plan = gpt();
    one.change(*plan.architecture);
    EXPECT_THAT(refusal(plan), AllOf(HasSubstr("A0955 Megatron-LM "), HasSubstr(one.why)));
  }
  PlacementPlan plan = gpt(); // all of it at once
  plan.architecture->headBias = true, plan.architecture->positions = Architecture::Positions::Alibi;
  EXPECT_THAT(refusal(plan), AllOf(HasSubstr("no linear biases"), HasSubstr("its head has no bias")));
  plan = gpt(), plan.optimizer = "rowwise_adagrad";
  EXPECT_THAT(refusal(plan), HasSubstr("has the optimizers adam, adamw, sgd and momentum, not 'rowwise_adagrad'"));
}

TEST(MegatronModel, SaysBert) {
  PlacementPlan plan = gpt();
  Architecture &a = *plan.architecture;
  a.family = Architecture::Family::Encoder, a.causal = a.finalNorm = false, a.normAfter = a.embeddingNorm = true;
  a.segments = 2, a.headBias = a.headTransform = a.pairHead = true, a.predictedPositions = 307;
  MegatronArguments made = arguments(plan);
  EXPECT_EQ(made.script, "pretrain_bert.py");
  for (const char *argument :
       {"--use-legacy-models", "--ckpt-format torch", "--apply-residual-connection-post-layernorm"})
    EXPECT_THAT(made.arguments, Contains(argument));
  EXPECT_THAT(made.arguments, Not(Contains("--overlap-param-gather")));
  EXPECT_THAT(made.remarks, Contains(HasSubstr("of all 2048 positions of a sample, planned are 307")));
  auto text = launchText(plan, Launcher::Megatron);
  ASSERT_TRUE(static_cast<bool>(text));
  EXPECT_THAT(*text, HasSubstr("\"$MEGATRON/pretrain_bert.py\""));
  a.pairHead = false, a.segments = 0;
  EXPECT_THAT(arguments(plan).arguments, Contains("--bert-no-binary-head"));
  a.normAfter = a.embeddingNorm = false, a.finalNorm = true; // in core
  EXPECT_THAT(arguments(plan).arguments, Not(Contains("--use-legacy-models")));
  a.headBias = false;
  EXPECT_THAT(refusal(plan), HasSubstr("the head of its encoder"));
}

// The padding is that of memory: without a framework there is none.
TEST(MegatronModel, PadsAsPlanned) {
  PlacementPlan plan = gpt();
  EXPECT_THAT(arguments(plan).remarks, Not(Contains(HasSubstr("NullTokenizer")))); // 50264 rows either way
  plan.architecture->vocabulary = 50264;
  EXPECT_THAT(arguments(plan).remarks, Contains(HasSubstr("makes 50272 rows of the planned 50264")));
  plan.deviceMemory.emplace().framework = "megatron";
  plan.deviceMemory->vocabularyMultiple = 128, plan.deviceMemory->vocabularyPerTensor = true;
  MegatronArguments made = arguments(plan);
  EXPECT_THAT(made.arguments, Contains("--make-vocab-size-divisible-by 128"));
  EXPECT_THAT(made.remarks, Not(Contains(HasSubstr("NullTokenizer"))));
}

TEST(MegatronModel, LayersOfStagesAreBlocks) {
  PlacementPlan plan = gpt();
  auto layersOf = [](const PlacementPlan &of) {
    auto layout = launchLayout(of);
    for (const auto &[name, value] : layout->environment)
      if (name == "ACCORD_STAGE_LAYERS")
        return value;
    return std::string();
  };
  EXPECT_EQ(layersOf(plan), "12 12 12 12 12 12 12 12");
  plan.architecture->layers = 24; // of which four layers of the plan are one
  EXPECT_EQ(layersOf(plan), "13 12 12 12 12 12 12 13");
  plan.architecture.reset();
  EXPECT_EQ(layersOf(plan), "13 12 12 12 12 12 12 13");
}

TEST(MegatronModel, ChecksTheModel) {
  PlacementPlan plan = gpt();
  auto smoke = megatronSmokeText(plan);
  ASSERT_TRUE(static_cast<bool>(smoke));
  EXPECT_THAT(*smoke, AllOf(HasSubstr("PLANNED = 174604259328"), HasSubstr("ROWS = 50257"),
                            HasSubstr("SCRIPT = \"pretrain_gpt\""), Not(HasSubstr("-parallel-size"))));
  plan.architecture.reset();
  EXPECT_FALSE(static_cast<bool>(megatronSmokeText(plan)));
  EXPECT_FALSE(static_cast<bool>(megatronSmokeText(test::infeasiblePlacement())));
}

// Whatever stands in an architecture comes back from the certificate, and plan.json follows from it.
TEST(MegatronModel, ArchitecturesAreKeptInCertificates) {
  SplitMix random(7);
  for (int i = 0; i < 50; ++i) {
    PlacementPlan plan = gpt();
    Architecture &a = *plan.architecture;
    auto some = [&](uint64_t max) { return random.next() % (max + 1); };
    a.family = static_cast<Architecture::Family>(some(4)), a.norm = static_cast<Architecture::Norm>(some(2));
    a.activation = static_cast<Architecture::Activation>(some(6));
    a.positions = static_cast<Architecture::Positions>(some(5));
    for (int64_t *size : {&a.layers,          &a.encoderLayers,    &a.hidden,          &a.heads,
                          &a.keyValueHeads,   &a.headSize,         &a.inner,           &a.vocabulary,
                          &a.sequence,        &a.maxPositions,     &a.experts,         &a.expertsPerToken,
                          &a.expertLayers,    &a.imageSize,        &a.patchSize,       &a.classes,
                          &a.parameters,      &a.expertParameters, &a.relativeBuckets, &a.relativeDistance,
                          &a.encoderSequence, &a.segments,         &a.classTokens,     &a.predictedPositions})
      *size = some(1) ? static_cast<int64_t>(some(uint64_t(1) << 30)) : 0;
    for (bool *flag : {&a.tiedEmbeddings, &a.linearBias, &a.attentionBias, &a.normAfter, &a.finalNorm, &a.causal,
                       &a.irregular, &a.normBias, &a.embeddingNorm, &a.unscaledAttention, &a.expertsNormalized,
                       &a.headBias, &a.headTransform, &a.pairHead, &a.fusedAttention})
      *flag = some(1);
    for (double *share : {&a.dropout, &a.attentionDropout, &a.innerDropout})
      *share = static_cast<double>(some(10)) / 11;
    for (double *number : {&a.normEpsilon, &a.rotaryBase, &a.embeddingScale, &a.logitScale, &a.expertCapacity})
      *number = static_cast<double>(some(1000)) / 7;
    if (some(1))
      a.notUnderstood = "'softmax': does not weigh \"values\"\n";
    std::string text = llvm::formatv("{0:2}", placementCertificate(plan)).str();
    auto read = placementFromCertificate(text, "certificate/placement.json");
    ASSERT_TRUE(static_cast<bool>(read)) << llvm::toString(read.takeError());
    EXPECT_EQ(*read->architecture, a) << text.substr(0, 2000);
    EXPECT_FALSE(agrees(*read, llvm::formatv("{0:2}", toJson(plan)).str(), "plan.json"));
  }
}
