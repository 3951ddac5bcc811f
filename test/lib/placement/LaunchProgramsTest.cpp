// Programs that build a model by themselves: what they are told of the model and of the degrees, held against published
// sizes and against what each program computes of its arguments.
#include "lib/launch/TransformersModel.h"
#include "lib/support/SplitMix.h"
#include "test/support/PlacementFixture.h"
#include "llvm/Support/JSON.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace accord;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

namespace {

using Architecture = ModelArchitecture;
using Norm = Architecture::Norm;
using Activation = Architecture::Activation;
using Positions = Architecture::Positions;
using Family = Architecture::Family;

Architecture gpt(int64_t layers, int64_t hidden, int64_t heads, int64_t vocabulary, int64_t sequence,
                 int64_t parameters) {
  Architecture a;
  a.family = Family::Decoder, a.norm = Norm::LayerNorm, a.activation = Activation::Gelu;
  a.positions = Positions::Learned, a.maxPositions = a.sequence = sequence;
  a.layers = layers, a.hidden = hidden, a.heads = a.keyValueHeads = heads, a.headSize = hidden / heads;
  a.inner = 4 * hidden, a.vocabulary = vocabulary, a.parameters = parameters, a.normEpsilon = 1e-5;
  a.tiedEmbeddings = a.linearBias = a.attentionBias = a.normBias = a.finalNorm = a.causal = true;
  return a;
}

Architecture llama(int64_t layers, int64_t hidden, int64_t heads, int64_t groups, int64_t inner, int64_t vocabulary,
                   int64_t sequence, int64_t parameters) {
  Architecture a;
  a.family = Family::Decoder, a.norm = Norm::RmsNorm, a.activation = Activation::SwiGlu;
  a.positions = Positions::Rope, a.rotaryBase = 10000, a.normEpsilon = 1e-5;
  a.layers = layers, a.hidden = hidden, a.heads = heads, a.keyValueHeads = groups, a.headSize = hidden / heads;
  a.inner = inner, a.vocabulary = vocabulary, a.sequence = sequence, a.parameters = parameters;
  a.finalNorm = a.causal = true;
  return a;
}

Architecture mixtral() {
  Architecture a = llama(32, 4096, 32, 8, 14336, 32000, 4096, 46702792704);
  a.experts = 8, a.expertsPerToken = 2, a.expertLayers = 32, a.expertsNormalized = true, a.rotaryBase = 1e6;
  return a;
}

Architecture bert() { // bert-large-uncased with both heads
  Architecture a = gpt(24, 1024, 16, 30522, 512, 336226108);
  a.family = Family::Encoder, a.causal = a.finalNorm = false, a.normEpsilon = 1e-12, a.segments = 2;
  a.normAfter = a.embeddingNorm = a.headBias = a.headTransform = a.pairHead = true;
  return a;
}

Architecture vit() { // google/vit-base-patch16-224
  Architecture a = gpt(12, 768, 12, 0, 197, 86567656);
  a.family = Family::Vision, a.causal = a.tiedEmbeddings = false, a.headBias = true, a.normEpsilon = 1e-6;
  a.imageSize = 224, a.patchSize = 16, a.classes = 1000, a.classTokens = 1;
  return a;
}

Architecture t5() { // google-t5/t5-large
  Architecture a = gpt(24, 1024, 16, 32128, 114, 737668096);
  a.family = Family::EncoderDecoder, a.encoderLayers = 24, a.encoderSequence = 512, a.norm = Norm::RmsNorm;
  a.activation = Activation::Relu, a.positions = Positions::Relative, a.relativeBuckets = 32;
  a.relativeDistance = 128, a.normEpsilon = 1e-6, a.unscaledAttention = true, a.logitScale = 1.0 / 32;
  a.linearBias = a.attentionBias = a.normBias = false;
  return a;
}

Architecture opt() { // facebook/opt-1.3b
  Architecture a = gpt(24, 2048, 32, 50272, 2048, 1315758080);
  a.activation = Activation::Relu, a.maxPositions = 2050, a.dropout = 0.1;
  return a;
}

Architecture llama3() {
  Architecture a = llama(32, 4096, 32, 8, 14336, 128256, 8192, 8030261248);
  a.rotaryBase = 500000;
  return a;
}

/// One stage of `data` replicas without a tensor parallel degree.
PlacementPlan replicas(int64_t data, int zero, std::optional<Architecture> architecture, int64_t microbatches = 1) {
  test::PlacementShape shape;
  shape.blocks = architecture ? architecture->layers : 12, shape.stages = 1, shape.tensor = 1, shape.data = data;
  shape.zero = zero, shape.batch = data * microbatches;
  PlacementPlan plan = test::gptPlacement(shape);
  plan.architecture = architecture;
  for (PlacedStage &stage : plan.result.plan->stages)
    std::fill(stage.recomputeChoices.begin(), stage.recomputeChoices.end(), 0);
  return plan;
}

void each(PlacementPlan &plan, void (*change)(ParallelConfig &)) {
  for (ParallelConfig &config : plan.problem.parallelConfigs)
    change(config);
}

using Maker = Result<LaunchProgram> (*)(const PlacementPlan &, const LaunchLayout &);
LaunchProgram made(Maker program, const PlacementPlan &plan) {
  auto one = program(plan, *launchLayout(plan));
  if (!one) {
    ADD_FAILURE() << one.error().message;
    return {};
  }
  return *one;
}
std::string refused(Maker program, const PlacementPlan &plan) {
  auto one = program(plan, *launchLayout(plan));
  return one ? "not refused" : numberOf(one.error().code) + " " + one.error().message;
}
std::string file(const LaunchProgram &program, const std::string &name) {
  for (const LaunchProgram::File &one : program.files)
    if (one.name == name)
      return one.text;
  return "no file " + name;
}
std::string configuration(const Architecture &architecture) {
  LaunchProgram program;
  auto model = transformersModel(program, replicas(8, 3, architecture), "Accelerate");
  return model ? model->configuration : model.error().message;
}

/// The number behind `key` in a file of lines `key SEPARATOR number`.
double number(const std::string &text, const std::string &key) {
  const size_t at = ("\n" + text).find("\n" + key);
  if (at == std::string::npos)
    return NAN;
  return std::stod(text.substr(at + key.size()));
}

} // namespace

// Published sizes, as Transformers counts its models.
TEST(LaunchPrograms, TransformersModelsHaveTheParametersOfThePlan) {
  const std::pair<const char *, Architecture> models[] = {
      {"llama", llama3()},
      {"llama", llama(80, 8192, 64, 8, 28672, 128256, 8192, 70553706496)},
      {"llama", llama(32, 4096, 32, 32, 11008, 32000, 4096, 6738415616)},
      {"mixtral", mixtral()},
      {"gpt2", gpt(96, 12288, 96, 50257, 2048, 174604259328)},
      {"gpt2", gpt(48, 1600, 25, 50257, 1024, 1557611200)},
      {"opt", opt()},
      {"t5", t5()},
      {"bert", bert()},
      {"vit", vit()}};
  for (const auto &[type, architecture] : models) {
    LaunchProgram program;
    auto model = transformersModel(program, replicas(8, 3, architecture), "Accelerate");
    ASSERT_TRUE(static_cast<bool>(model)) << type << ": " << model.error().message;
    EXPECT_EQ(model->type, type);
    EXPECT_EQ(model->parameters, architecture.parameters) << type;
    EXPECT_THAT(program.remarks, Not(Contains(HasSubstr("parameters"))));
  }
}

TEST(LaunchPrograms, ConfigurationsSayAllSizes) {
  const std::string text = configuration(llama3());
  auto parsed = llvm::json::parse(text);
  ASSERT_TRUE(static_cast<bool>(parsed)) << llvm::toString(parsed.takeError());
  const llvm::json::Object &config = *parsed->getAsObject();
  EXPECT_EQ(config.getString("model_type"), "llama");
  for (auto [name, value] : {std::pair{"num_hidden_layers", 32},
                             {"hidden_size", 4096},
                             {"intermediate_size", 14336},
                             {"num_attention_heads", 32},
                             {"num_key_value_heads", 8},
                             {"head_dim", 128},
                             {"vocab_size", 128256},
                             {"max_position_embeddings", 8192},
                             {"rope_theta", 500000}})
    EXPECT_EQ(config.getInteger(name), value) << name;
  EXPECT_EQ(config.getNumber("rms_norm_eps"), 1e-5);
  EXPECT_EQ(config.getBoolean("tie_word_embeddings"), false);
  EXPECT_THAT(configuration(mixtral()), HasSubstr("\"num_local_experts\": 8,\n  \"num_experts_per_tok\": 2,\n"));
  Architecture other = gpt(12, 768, 12, 50257, 1024, 124439808);
  other.inner = 1024, other.attentionDropout = 0.1, other.tiedEmbeddings = false;
  EXPECT_THAT(configuration(other), HasSubstr("\"n_inner\": 1024"));
  EXPECT_THAT(configuration(other), HasSubstr("\"resid_pdrop\": 0,\n  \"embd_pdrop\": 0,\n  \"attn_pdrop\": 0.1,\n"));
  EXPECT_THAT(configuration(other), HasSubstr("\"tie_word_embeddings\": false"));
  EXPECT_THAT(configuration(opt()), HasSubstr("\"max_position_embeddings\": 2048"));
  EXPECT_THAT(configuration(bert()), HasSubstr("BertForPreTraining"));
  other = llama3();
  other.linearBias = true;
  EXPECT_THAT(configuration(other), HasSubstr("'gpt3' is built like none of them"));
  other = llama3(), other.vocabulary = other.inner = other.hidden = INT64_MAX;
  EXPECT_THAT(configuration(other), HasSubstr("none of them"));
}

TEST(LaunchPrograms, AccelerateShards) {
  LaunchProgram full = made(accelerateProgram, replicas(16, 3, llama3(), 4));
  for (const char *word : {"--use_fsdp --fsdp_version 2", "--fsdp_reshard_after_forward true", "--mixed_precision bf16",
                           "--fsdp_transformer_layer_cls_to_wrap LlamaDecoderLayer",
                           "accelerate launch --num_machines 2 --num_processes 16"})
    EXPECT_THAT(full.start, Contains(word));
  EXPECT_THAT(full.arguments, Contains("--gradient_accumulation_steps 4"));
  EXPECT_THAT(full.arguments, Contains(HasSubstr("sync_each_batch")));
  EXPECT_THAT(full.remarks, Contains(HasSubstr("after each of 4 micro-batches")));
  LaunchProgram part = made(accelerateProgram, replicas(16, 2, llama3()));
  EXPECT_THAT(part.start, Contains("--fsdp_reshard_after_forward false"));
  EXPECT_THAT(part.remarks, IsEmpty());
  LaunchProgram whole = made(accelerateProgram, replicas(16, 0, llama3()));
  EXPECT_THAT(whole.start, Contains("--multi_gpu"));
  EXPECT_THAT(whole.start, Not(Contains(HasSubstr("fsdp"))));
  EXPECT_THAT(refused(accelerateProgram, replicas(16, 1, llama3())), HasSubstr("A0955 Accelerate shards nothing"));
  EXPECT_THAT(refused(accelerateProgram, test::gptPlacement()), HasSubstr("no pipeline; the plan has 8 stages"));
  PlacementPlan context = replicas(16, 3, llama3());
  for (ParallelConfig &config : context.problem.parallelConfigs)
    config.context = 4;
  full = made(accelerateProgram, context);
  EXPECT_THAT(full.start, Contains("--use_parallelism_config --parallelism_config_dp_shard_size 4"));
  EXPECT_THAT(full.start, Contains("--parallelism_config_cp_size 4"));
  EXPECT_THAT(full.start, Contains("--parallelism_config_cp_comm_strategy alltoall"));
  EXPECT_THAT(refused(deepSpeedProgram, context), HasSubstr("leaves sequences whole"));
  for (ParallelConfig &config : context.problem.parallelConfigs)
    config.contextExchange = ContextExchange::AllToAll;
  EXPECT_THAT(refused(accelerateProgram, context), HasSubstr("the plan does it by all-to-all"));
  LaunchProgram unknown = made(accelerateProgram, replicas(16, 3, std::nullopt));
  std::vector<std::string> names;
  for (const auto &variable : unknown.needed)
    names.push_back(variable.name);
  EXPECT_THAT(names, testing::ElementsAre("TRANSFORMERS", "MODEL_TYPE", "LAYER_CLASS", "CONFIG_OVERRIDES"));
}

TEST(LaunchPrograms, DeepSpeedStages) {
  for (int zero : {0, 1, 2, 3}) {
    PlacementPlan plan = replicas(16, zero, llama3(), 4);
    LaunchProgram program = made(deepSpeedProgram, plan);
    auto parsed = llvm::json::parse(file(program, "ds_config.json"));
    ASSERT_TRUE(static_cast<bool>(parsed)) << llvm::toString(parsed.takeError());
    const llvm::json::Object &config = *parsed->getAsObject();
    EXPECT_EQ(config.getInteger("train_batch_size"), 64);
    EXPECT_EQ(config.getInteger("train_micro_batch_size_per_gpu"), 1);
    EXPECT_EQ(config.getInteger("gradient_accumulation_steps"), 4);
    EXPECT_EQ(config.getObject("zero_optimization")->getInteger("stage"), zero);
    EXPECT_EQ(config.getObject("bf16")->getBoolean("enabled"), true);
    EXPECT_EQ(!program.remarks.empty(), zero >= 2); // gradients are divided, hence exchanged each time
  }
  PlacementPlan host = replicas(16, 3, llama3());
  for (ParallelConfig &config : host.problem.parallelConfigs)
    config.hostStates = config.hostWeights = true;
  auto parsed = llvm::json::parse(file(made(deepSpeedProgram, host), "ds_config.json"));
  const llvm::json::Object *zero = parsed->getAsObject()->getObject("zero_optimization");
  EXPECT_EQ(zero->getObject("offload_param")->getString("device"), "cpu");
  EXPECT_EQ(zero->getObject("offload_optimizer")->getString("device"), "cpu");
  for (ParallelConfig &config : host.problem.parallelConfigs)
    config.zero = 1;
  EXPECT_THAT(refused(deepSpeedProgram, host), HasSubstr("offloads weights where they are divided"));
  EXPECT_THAT(refused(deepSpeedProgram, test::gptPlacement()), HasSubstr("models of Megatron-DeepSpeed have it"));
}

TEST(LaunchPrograms, TitanDegreesAndStages) {
  test::PlacementShape shape;
  shape.blocks = 32, shape.stages = 4, shape.data = 16, shape.zero = 2, shape.batch = 512;
  PlacementPlan plan = test::gptPlacement(shape);
  plan.architecture = llama3();
  std::string text = file(made(titanProgram, plan), "titan.toml");
  EXPECT_EQ(number(text, "data_parallel_shard_degree ="), 16);
  EXPECT_EQ(number(text, "data_parallel_replicate_degree ="), 1);
  EXPECT_EQ(number(text, "tensor_parallel_degree ="), 8);
  EXPECT_EQ(number(text, "pipeline_parallel_degree ="), 4);
  EXPECT_EQ(number(text, "local_batch_size ="), 32); // all micro-batches of a replica
  EXPECT_EQ(number(text, "pipeline_parallel_microbatch_size ="), 1);
  EXPECT_THAT(text, HasSubstr("  [\"tok_embeddings\", \"layers.0\","));
  EXPECT_THAT(text, HasSubstr("\"layers.31\", \"norm\", \"output\"]"));
  EXPECT_THAT(text, HasSubstr("mode = \"selective\""));
  EXPECT_THAT(text, HasSubstr("fsdp_reshard_after_forward = \"never\""));
  plan.result.plan->schedule = PipelineSchedule::ZeroBubble;
  EXPECT_THAT(refused(titanProgram, plan), HasSubstr("torchtitan has no schedule zero_bubble"));
  plan.result.plan->schedule = PipelineSchedule::OneFOneB, plan.architecture = mixtral();
  EXPECT_THAT(refused(titanProgram, plan), HasSubstr("no pipeline for models with experts"));
  plan.architecture = gpt(96, 12288, 96, 50257, 2048, 174604259328);
  EXPECT_THAT(refused(titanProgram, plan), HasSubstr("models of Llama's kind; 'gpt3' has LayerNorm"));
  // DDP where nothing else divides the work.
  text = file(made(titanProgram, replicas(16, 0, llama3())), "titan.toml");
  EXPECT_EQ(number(text, "data_parallel_replicate_degree ="), 16);
  EXPECT_EQ(number(text, "data_parallel_shard_degree ="), 1);
}

// The inner size is int(2 (4 dim) / 3), times a multiplier, rounded up to a multiple (torchtitan/models/llama3).
TEST(LaunchPrograms, TitanBuildsAnyInnerSize) {
  SplitMix random(7);
  for (int i = 0; i < 300; ++i) {
    const int64_t hidden = 64 * (1 + static_cast<int64_t>(random.next() % 300));
    const int64_t inner = 1 + static_cast<int64_t>(random.next() % 70000);
    const std::string text =
        file(made(titanProgram, replicas(1, 0, llama(4, hidden, hidden / 64, hidden / 64, inner, 1000, 128, 0))),
             "accord_model.py");
    auto built = static_cast<int64_t>(2 * (4.0 * static_cast<double>(hidden)) / 3);
    if (const size_t at = text.find("ffn_dim_multiplier="); at != std::string::npos) {
      const double above = std::stod(text.substr(at + 19)), below = std::stod(text.substr(text.find('/', at) + 1));
      built = static_cast<int64_t>(above / below * static_cast<double>(built));
    }
    const auto multiple = static_cast<int64_t>(number(text, "    multiple_of="));
    EXPECT_EQ((built + multiple - 1) / multiple * multiple, inner) << hidden;
    EXPECT_GT(built, 0);
  }
}

TEST(LaunchPrograms, MaxTextFillsServersAndBatches) {
  SplitMix random(11);
  auto power = [&](int max) { return int64_t(1) << (random.next() % (max + 1)); };
  int tried = 0;
  for (int i = 0; i < 400; ++i) {
    test::PlacementShape shape;
    shape.blocks = 32, shape.stages = 1, shape.tensor = power(3), shape.data = power(6), shape.microbatch = power(2);
    shape.zero = static_cast<int>(random.next() % 4), shape.batch = shape.data * shape.microbatch * 3;
    PlacementPlan plan = test::gptPlacement(shape);
    plan.architecture = llama3();
    for (ParallelConfig &config : plan.problem.parallelConfigs)
      config.context = std::min(config.data, power(2));
    auto layout = launchLayout(plan);
    ASSERT_TRUE(static_cast<bool>(layout));
    auto program = maxTextProgram(plan, *layout);
    ASSERT_TRUE(static_cast<bool>(program)) << program.error().message;
    const std::string text = file(*program, "maxtext.yml");
    double within = 1, across = 1;
    for (const char *axis : {"tensor_sequence", "context", "expert", "fsdp", "data", "pipeline"}) {
      within *= number(text, std::string("ici_") + axis + "_parallelism:");
      across *= number(text, std::string("dcn_") + axis + "_parallelism:");
    }
    EXPECT_EQ(within, layout->perNode);
    EXPECT_EQ(across, layout->nodes);
    const double devices = static_cast<double>(layout->nodes * layout->perNode);
    const ParallelConfig &config = plan.problem.parallelConfigs[plan.result.plan->stages[0].parallelConfig];
    EXPECT_EQ(std::floor(devices * number(text, "per_device_batch_size:")), config.samples());
    EXPECT_EQ(number(text, "gradient_accumulation_steps:"), plan.result.plan->microbatches);
    ++tried;
  }
  EXPECT_EQ(tried, 400);
}

TEST(LaunchPrograms, MaxTextModelsAndPipelines) {
  const std::string gptText =
      file(made(maxTextProgram, replicas(8, 3, gpt(96, 12288, 96, 50257, 2048, 0))), "maxtext.yml");
  EXPECT_THAT(gptText, HasSubstr("decoder_block: \"gpt3\"\nbase_num_decoder_layers: 96\nbase_emb_dim: 12288\n"));
  EXPECT_THAT(gptText, HasSubstr("trainable_position_size: 2048\n"));
  const std::string experts = file(made(maxTextProgram, replicas(8, 3, mixtral())), "maxtext.yml");
  EXPECT_THAT(experts, HasSubstr("decoder_block: \"mixtral\""));
  EXPECT_THAT(experts, HasSubstr("num_experts: 8\nnum_experts_per_tok: 2\n"));
  PlacementPlan slices = replicas(8, 3, mixtral());
  slices.problem.deviceTypes[0].name = "tpu_v5e";
  const LaunchProgram onTpu = made(maxTextProgram, slices);
  EXPECT_THAT(file(onTpu, "maxtext.yml"), HasSubstr("hardware: \"tpu\""));
  EXPECT_THAT(programText(*launchLayout(slices), onTpu), Not(HasSubstr("NODE_RANK:?")));
  PlacementPlan ulysses = replicas(8, 3, llama3());
  for (ParallelConfig &config : ulysses.problem.parallelConfigs)
    config.context = 2, config.contextExchange = ContextExchange::AllToAll;
  EXPECT_THAT(refused(maxTextProgram, ulysses), HasSubstr("by all-to-all within a slice of TPUs alone"));
  ulysses.problem.deviceTypes[0].name = "tpu_v5e";
  EXPECT_THAT(file(made(maxTextProgram, ulysses), "maxtext.yml"), HasSubstr("context_parallel_strategy: \"ulysses\""));
  EXPECT_THAT(refused(maxTextProgram, replicas(8, 3, t5())), HasSubstr("A0955 MaxText builds decoders"));
  test::PlacementShape shape;
  shape.blocks = 32, shape.stages = 4, shape.batch = 512;
  PlacementPlan plan = test::gptPlacement(shape);
  plan.architecture = llama3();
  EXPECT_THAT(refused(maxTextProgram, plan), HasSubstr("MaxText has no schedule one_f_one_b: it runs gpipe"));
  plan.result.plan->schedule = PipelineSchedule::GPipe;
  const std::string text = file(made(maxTextProgram, plan), "maxtext.yml");
  EXPECT_EQ(number(text, "num_layers_per_pipeline_stage:"), 8);
  EXPECT_EQ(number(text, "num_pipeline_microbatches:"), 32);
  EXPECT_EQ(std::floor(512 * number(text, "per_device_batch_size:")), 512);
}

// A plan with something beside what every launcher has is refused by those without a word for it, whatever their file.
TEST(LaunchPrograms, FeaturesAreThoseOfTheTable) {
  const std::pair<Launcher, Maker> makers[] = {{Launcher::Accelerate, accelerateProgram},
                                               {Launcher::DeepSpeed, deepSpeedProgram},
                                               {Launcher::Titan, titanProgram},
                                               {Launcher::MaxText, maxTextProgram}};
  struct Change {
    const char *why; ///< in the message
    std::vector<Launcher> able;
    void (*make)(PlacementPlan &plan);
  };
  using P = PlacementPlan;
  const Change changes[] = {
      {"tensor parallel degree of 2",
       {Launcher::Titan, Launcher::MaxText},
       [](P &p) { each(p, [](ParallelConfig &c) { c.tensor = 2, c.data = 4; }); }},
      {"leaves sequences whole",
       {Launcher::Accelerate, Launcher::Titan, Launcher::MaxText},
       [](P &p) { each(p, [](ParallelConfig &c) { c.context = 2; }); }},
      {"by all-to-all",
       {},
       [](P &p) { each(p, [](ParallelConfig &c) { c.context = 2, c.contextExchange = ContextExchange::AllToAll; }); }},
      {"one of them on the host",
       {Launcher::DeepSpeed, Launcher::MaxText},
       [](P &p) { each(p, [](ParallelConfig &c) { c.hostStates = true; }); }},
      {"does not divide embedding tables",
       {},
       [](P &p) { each(p, [](ParallelConfig &c) { c.tables = Tables::Rows; }); }},
      {"; the plan has mixed(fp16)",
       {Launcher::Accelerate, Launcher::DeepSpeed},
       [](P &p) { p.precision = "mixed(fp16)"; }},
      {"not 'sgd'", {Launcher::Accelerate, Launcher::DeepSpeed, Launcher::MaxText}, [](P &p) { p.optimizer = "sgd"; }},
      {"not 'lion'", {Launcher::Accelerate, Launcher::DeepSpeed}, [](P &p) { p.optimizer = "lion"; }},
  };
  for (const Change &change : changes)
    for (const auto &[launcher, maker] : makers) {
      PlacementPlan plan = replicas(8, 3, llama3());
      change.make(plan);
      const std::string text = refused(maker, plan);
      if (std::ranges::find(change.able, launcher) != change.able.end())
        EXPECT_EQ(text, "not refused") << change.why << " " << featuresOf(launcher).name;
      else
        EXPECT_THAT(text, HasSubstr("A0955 " + std::string(featuresOf(launcher).name) + " ")) << change.why;
      if (text != "not refused" && launcher != Launcher::DeepSpeed && launcher != Launcher::MaxText)
        EXPECT_THAT(text, HasSubstr(change.why));
    }
}

// No program is started with fewer blocks, tables or experts than planned without a word.
TEST(LaunchPrograms, AnotherModelIsRefused) {
  test::PlacementShape shape;
  shape.blocks = 16, shape.stages = 4, shape.data = 16, shape.zero = 2, shape.batch = 512; // 32 blocks in 16 layers
  PlacementPlan pairs = test::gptPlacement(shape);
  pairs.architecture = llama3();
  EXPECT_THAT(refused(titanProgram, pairs), HasSubstr("cuts between blocks; 32 of them are 16 equal layers"));
  pairs.result.plan->schedule = PipelineSchedule::GPipe;
  EXPECT_THAT(refused(maxTextProgram, pairs), HasSubstr("cuts between blocks; 32 of them are 16 equal layers"));
  Architecture kinds = llama3(), alone = llama3(), raw = mixtral(), known;
  kinds.segments = 3;
  alone.experts = alone.expertsPerToken = 1, alone.expertLayers = alone.layers;
  raw.expertsNormalized = false;
  known.notUnderstood = "the model has no attention";
  for (Maker maker : {accelerateProgram, deepSpeedProgram, titanProgram, maxTextProgram}) {
    EXPECT_THAT(refused(maker, replicas(8, 3, kinds)), HasSubstr("has a table of 3 kinds of tokens"));
    EXPECT_THAT(refused(maker, replicas(8, 3, alone)), HasSubstr("has one expert in a block, with a router"));
    EXPECT_THAT(refused(maker, replicas(8, 3, known)), HasSubstr("the model has no attention"));
    if (maker != static_cast<Maker>(titanProgram))
      EXPECT_THAT(refused(maker, replicas(8, 3, raw)), HasSubstr("add up to 1"));
  }
  const std::string own = file(made(titanProgram, replicas(8, 3, raw)), "accord_model.py");
  EXPECT_THAT(own, HasSubstr("route_norm=False"));
  EXPECT_THAT(own, HasSubstr("load_balance_coeff=None")); // the plan has no bias of experts
  EXPECT_THAT(file(made(titanProgram, replicas(8, 3, llama3())), "accord_model.py"),
              HasSubstr("rope_scaling_args.scaling_factor = 1.0"));
  Architecture scaled = t5();
  scaled.logitScale = 1;
  EXPECT_THAT(refused(accelerateProgram, replicas(8, 3, scaled)), HasSubstr("built like none of them"));
}

// Every Nth block is recomputed, counted from the first one of each stage: never fewer than planned.
TEST(LaunchPrograms, TitanRecomputesEveryNthBlock) {
  auto recomputes = [](std::vector<int64_t> full, bool areBlocks = true) {
    test::PlacementShape shape;
    shape.blocks = areBlocks ? 32 : 16, shape.stages = static_cast<int64_t>(full.size());
    shape.data = 16, shape.zero = 2, shape.batch = 512;
    PlacementPlan plan = test::gptPlacement(shape);
    plan.architecture = llama3();
    if (!areBlocks)
      plan.architecture->layers = 32;
    const std::vector<bool> isBlock = blocksOf(plan);
    for (size_t s = 0; s < full.size(); ++s) {
      PlacedStage &stage = plan.result.plan->stages[s];
      int64_t left = full[s];
      for (size_t i = 0; i < stage.layers.size(); ++i)
        stage.recomputeChoices[i] = isBlock[stage.layers[i]] && left-- > 0 ? 2 : 0;
    }
    return made(titanProgram, plan);
  };
  LaunchProgram half = recomputes({4, 4, 4, 4});
  EXPECT_THAT(file(half, "titan.toml"), HasSubstr("mode = \"selective\"\nselective_ac_option = \"2\""));
  EXPECT_THAT(half.remarks, Not(Contains(HasSubstr("recomputes"))));
  LaunchProgram uneven = recomputes({3, 1, 0, 2}); // of 8 each: every second one has 3
  EXPECT_THAT(file(uneven, "titan.toml"), HasSubstr("selective_ac_option = \"2\""));
  EXPECT_THAT(uneven.remarks, Contains(HasSubstr("recomputes 6 in full and 0 selectively, torchtitan 16 in full")));
  for (const auto &all : {recomputes({8, 8, 8, 8}), recomputes({5, 0, 0, 0}), recomputes({8}, false)})
    EXPECT_THAT(file(all, "titan.toml"), HasSubstr("mode = \"full\""));
}

TEST(LaunchPrograms, OtherDropoutIsStated) {
  Architecture dropped = llama3();
  dropped.dropout = dropped.attentionDropout = 0.1;
  for (Maker maker : {accelerateProgram, deepSpeedProgram, titanProgram, maxTextProgram}) {
    EXPECT_THAT(made(maker, replicas(8, 3, dropped)).remarks, Contains(HasSubstr("other dropout than planned")));
    EXPECT_THAT(made(maker, replicas(8, 3, llama3())).remarks, Not(Contains(HasSubstr("dropout"))));
  }
  // Masks of two sums, 4096 wide, of 8192 tokens: 64 MiB.
  dropped.attentionDropout = 0;
  EXPECT_THAT(made(titanProgram, replicas(8, 3, dropped)).remarks,
              Contains(HasSubstr("torchtitan drops what blocks add of none where the plan has 0.1, which takes 64 MiB "
                                 "less of a block")));
  Architecture inside = gpt(12, 768, 12, 50257, 1024, 124439808);
  inside.dropout = inside.attentionDropout = inside.innerDropout = 0.1;
  EXPECT_THAT(made(accelerateProgram, replicas(8, 3, inside)).remarks, Contains(HasSubstr("feed-forward networks of")));
}

// Names of a user end in no script as anything but letters.
TEST(LaunchPrograms, NamesAreNeverCommands) {
  for (bool known : {false, true}) {
    PlacementPlan plan = replicas(8, 3, known ? std::optional(llama3()) : std::nullopt, 2);
    plan.model = "x\n$(rm -rf /)`id`\"}; reboot\\'";
    plan.job = plan.cluster = plan.version = plan.model;
    for (Launcher launcher : {Launcher::Accelerate, Launcher::DeepSpeed, Launcher::Titan, Launcher::MaxText}) {
      auto text = launchText(plan, launcher);
      ASSERT_TRUE(static_cast<bool>(text));
      for (const char *bad : {"$(rm", "`", "\n$(", "\"};", "$(reboot", "reboot\\"})
        EXPECT_THAT(*text, Not(HasSubstr(bad)));
    }
  }
}
