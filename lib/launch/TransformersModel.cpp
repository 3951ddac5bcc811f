#include "lib/launch/TransformersModel.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord {
namespace {

using Family = ModelArchitecture::Family;
using Norm = ModelArchitecture::Norm;
using Activation = ModelArchitecture::Activation;
using Positions = ModelArchitecture::Positions;

constexpr const char *kCausal = "\"$TRANSFORMERS/examples/pytorch/language-modeling/run_clm.py\"";
constexpr const char *kOwn = "\"$TRAIN_SCRIPT\""; ///< no example trains it from nothing
constexpr const char *kMasked = "\"$TRANSFORMERS/examples/pytorch/language-modeling/run_mlm.py\"";

/// Sizes of a model that is described; with them, no formula below passes 127 bits.
constexpr int64_t kMaxSize = int64_t(1) << 30;
using Wide = __int128;
int64_t narrow(Wide count) { return count > 0 && count <= INT64_MAX ? static_cast<int64_t>(count) : 0; }

/// One model with its configuration.
class Description {
public:
  explicit Description(const ModelArchitecture &of) : of_(of) {}

  /// Nothing where Transformers has no such model.
  std::optional<TransformersModel> model() {
    for (int64_t size : {of_.layers, of_.encoderLayers, of_.hidden, of_.heads, of_.keyValueHeads, of_.headSize,
                         of_.inner, of_.vocabulary, of_.sequence, of_.maxPositions, of_.experts, of_.imageSize,
                         of_.patchSize, of_.classes, of_.segments, of_.relativeBuckets})
      if (size < 0 || size > kMaxSize)
        return std::nullopt;
    switch (of_.family) {
    case Family::Decoder:
      return decoder();
    case Family::Encoder:
      return bert();
    case Family::EncoderDecoder:
      return t5();
    case Family::Vision:
      return vit();
    case Family::Other:
      break;
    }
    return std::nullopt;
  }

private:
  void set(const char *name, int64_t value) { entries_.push_back(fmt::format("\"{}\": {}", name, value)); }
  void setText(const char *name, const char *value) { entries_.push_back(fmt::format("\"{}\": \"{}\"", name, value)); }
  void setNumber(const char *name, double value) { entries_.push_back(fmt::format("\"{}\": {:.12g}", name, value)); }
  /// Unless it is not known.
  void setPositive(const char *name, double value) {
    if (value > 0)
      setNumber(name, value);
  }
  void setFlag(const char *name, bool value) {
    entries_.push_back(fmt::format("\"{}\": {}", name, value ? "true" : "false"));
  }

  /// `entries` are all but these.
  TransformersModel done(const char *type, const char *model, const char *blocks, const char *script,
                         const char *sequence, Wide count) {
    made_.type = type, made_.blocks = blocks, made_.script = script;
    made_.configuration = fmt::format("{{\n  \"model_type\": \"{}\",\n  \"architectures\": [\"{}\"],\n  {}\n}}\n", type,
                                      model, fmt::join(entries_, ",\n  "));
    if (sequence && of_.sequence > 0)
      made_.sequence = fmt::format("{} {}", sequence, of_.sequence);
    made_.parameters = narrow(count);
    return std::move(made_);
  }

  bool headsFillHidden() const { return Wide(of_.heads) * of_.headSize == of_.hidden; }

  std::optional<TransformersModel> decoder() {
    if (unlikeLlama(of_, {}).empty()) // Mixtral's weights of the experts of a token always add up to 1
      return of_.experts > 1 && !of_.expertsNormalized ? std::nullopt : std::optional(llama());
    if (!unlikeGpt(of_, {}).empty() || !headsFillHidden())
      return std::nullopt;
    if (of_.activation == Activation::Gelu)
      return gpt2();
    return of_.activation == Activation::Relu && of_.maxPositions > 2 ? std::optional(opt()) : std::nullopt;
  }

  /// Parameters of blocks of GPT's kind: four products of attention and two of the network, with biases, and two norms.
  Wide gptBlocks() const {
    const Wide h = of_.hidden, i = of_.inner;
    return of_.layers * (4 * h * h + 4 * h + 2 * h * i + i + h + 4 * h);
  }
  Wide head() const { return of_.tiedEmbeddings ? Wide(0) : Wide(of_.vocabulary) * of_.hidden; }

  TransformersModel gpt2() {
    const int64_t positions = of_.maxPositions > 0 ? of_.maxPositions : of_.sequence;
    set("n_layer", of_.layers), set("n_embd", of_.hidden), set("n_head", of_.heads);
    set("n_inner", of_.inner), set("vocab_size", of_.vocabulary), set("n_positions", positions);
    setNumber("resid_pdrop", of_.dropout), setNumber("embd_pdrop", of_.dropout);
    setNumber("attn_pdrop", of_.attentionDropout), setPositive("layer_norm_epsilon", of_.normEpsilon);
    setFlag("tie_word_embeddings", of_.tiedEmbeddings);
    made_.dropout = {of_.dropout, of_.attentionDropout, 0};
    return done("gpt2", "GPT2LMHeadModel", "GPT2Block", kCausal, "--block_size",
                Wide(of_.vocabulary + positions) * of_.hidden + gptBlocks() + Wide(2) * of_.hidden + head());
  }

  /// The table of positions has two rows before the first one.
  TransformersModel opt() {
    set("num_hidden_layers", of_.layers), set("hidden_size", of_.hidden), set("word_embed_proj_dim", of_.hidden);
    set("ffn_dim", of_.inner), set("num_attention_heads", of_.heads), set("vocab_size", of_.vocabulary);
    set("max_position_embeddings", of_.maxPositions - 2), setNumber("dropout", of_.dropout);
    setNumber("attention_dropout", of_.attentionDropout);
    setFlag("tie_word_embeddings", of_.tiedEmbeddings);
    made_.dropout = {of_.dropout, of_.attentionDropout, 0};
    return done("opt", "OPTForCausalLM", "OPTDecoderLayer", kCausal, "--block_size",
                Wide(of_.vocabulary + of_.maxPositions) * of_.hidden + gptBlocks() + Wide(2) * of_.hidden + head());
  }

  TransformersModel llama() {
    const bool experts = of_.experts > 1;
    set("num_hidden_layers", of_.layers), set("hidden_size", of_.hidden), set("intermediate_size", of_.inner);
    set("num_attention_heads", of_.heads), set("num_key_value_heads", of_.keyValueHeads);
    set("head_dim", of_.headSize);
    if (experts)
      set("num_local_experts", of_.experts), set("num_experts_per_tok", of_.expertsPerToken);
    set("vocab_size", of_.vocabulary);
    if (of_.sequence > 0)
      set("max_position_embeddings", of_.sequence);
    setFlag("tie_word_embeddings", of_.tiedEmbeddings);
    setNumber("attention_dropout", of_.attentionDropout), setPositive("rms_norm_eps", of_.normEpsilon);
    setPositive("rope_theta", of_.rotaryBase);
    const Wide h = of_.hidden, q = Wide(of_.heads) * of_.headSize, kv = Wide(of_.keyValueHeads) * of_.headSize;
    const Wide network = 3 * h * of_.inner;
    made_.dropout = {0, of_.attentionDropout, 0};
    const Wide block = 2 * h * q + 2 * h * kv + 2 * h + (experts ? of_.experts * network + h * of_.experts : network);
    return done(experts ? "mixtral" : "llama", experts ? "MixtralForCausalLM" : "LlamaForCausalLM",
                experts ? "MixtralDecoderLayer" : "LlamaDecoderLayer", kCausal, "--block_size",
                of_.vocabulary * h + head() + of_.layers * block + h);
  }

  /// With the head of masked tokens alone run_mlm.py trains it; with that of pairs of sentences besides, no example
  /// does.
  std::optional<TransformersModel> bert() {
    if (!isBiased() || !of_.normAfter || !of_.embeddingNorm || of_.activation != Activation::Gelu ||
        of_.positions != Positions::Learned || !of_.headTransform || !of_.headBias || !of_.tiedEmbeddings)
      return std::nullopt;
    const int64_t segments = std::max<int64_t>(1, of_.segments);
    set("num_hidden_layers", of_.layers), set("hidden_size", of_.hidden), set("intermediate_size", of_.inner);
    set("num_attention_heads", of_.heads), set("vocab_size", of_.vocabulary);
    set("max_position_embeddings", of_.maxPositions);
    set("type_vocab_size", segments);
    setNumber("hidden_dropout_prob", of_.dropout), setPositive("layer_norm_eps", of_.normEpsilon);
    setNumber("attention_probs_dropout_prob", of_.attentionDropout);
    const Wide h = of_.hidden, pair = of_.pairHead ? h * h + h + 2 * h + 2 : 0; // pooler, and two logits
    const Wide tables = (of_.vocabulary + of_.maxPositions + segments) * h + 2 * h;
    made_.dropout = {of_.dropout, of_.attentionDropout, 0};
    return done("bert", of_.pairHead ? "BertForPreTraining" : "BertForMaskedLM", "BertLayer",
                of_.pairHead ? kOwn : kMasked, "--max_seq_length",
                tables + gptBlocks() + h * h + h + 2 * h + of_.vocabulary + pair);
  }

  /// Whether blocks have LayerNorm, biases in all products and heads that fill the hidden size.
  bool isBiased() const {
    return of_.norm == Norm::LayerNorm && of_.normBias && of_.linearBias && of_.attentionBias && !of_.irregular &&
           of_.experts == 0 && of_.keyValueHeads == of_.heads && headsFillHidden() && !of_.unscaledAttention &&
           of_.embeddingScale == 1 && of_.logitScale == 1;
  }

  /// A head that is the token table gets its input divided by the root of the hidden size, another one does not.
  bool isHeadScaled() const {
    const double planned = of_.tiedEmbeddings ? 1 / std::sqrt(static_cast<double>(of_.hidden)) : 1;
    return std::abs(of_.logitScale / planned - 1) < 1e-3;
  }

  /// Both sides have a table of distances in their first block; the token table is that of both sides.
  std::optional<TransformersModel> t5() {
    const bool gated = of_.activation == Activation::GeGlu;
    if (of_.norm != Norm::RmsNorm || of_.normAfter || !of_.finalNorm || of_.positions != Positions::Relative ||
        of_.linearBias || of_.attentionBias || of_.normBias || of_.irregular || of_.experts > 0 ||
        !of_.unscaledAttention || of_.embeddingScale != 1 || !isHeadScaled() || of_.headBias || of_.headTransform ||
        of_.segments > 0 || of_.keyValueHeads != of_.heads || (!gated && of_.activation != Activation::Relu))
      return std::nullopt;
    set("num_layers", of_.encoderLayers), set("num_decoder_layers", of_.layers), set("d_model", of_.hidden);
    set("d_kv", of_.headSize), set("d_ff", of_.inner), set("num_heads", of_.heads), set("vocab_size", of_.vocabulary);
    set("relative_attention_num_buckets", of_.relativeBuckets);
    set("relative_attention_max_distance", of_.relativeDistance);
    setNumber("dropout_rate", of_.dropout), setPositive("layer_norm_epsilon", of_.normEpsilon);
    if (gated)
      setText("feed_forward_proj", "gated-gelu");
    setFlag("tie_word_embeddings", of_.tiedEmbeddings);
    const Wide h = of_.hidden, attention = 4 * h * of_.heads * of_.headSize + h;
    const Wide network = (gated ? 3 : 2) * h * of_.inner + h;
    made_.dropout = {of_.dropout, of_.dropout, of_.dropout}; // one rate for all
    TransformersModel model =
        done("t5", "T5ForConditionalGeneration", "T5Block", kOwn, "--max_target_length",
             of_.vocabulary * h + head() + of_.encoderLayers * (attention + network) +
                 of_.layers * (2 * attention + network) + Wide(2) * of_.relativeBuckets * of_.heads + 2 * h);
    if (of_.encoderSequence > 0)
      model.sequence += fmt::format(" --max_source_length {}", of_.encoderSequence);
    return model;
  }

  std::optional<TransformersModel> vit() {
    if (!isBiased() || of_.normAfter || !of_.finalNorm || of_.activation != Activation::Gelu || of_.patchSize <= 0 ||
        of_.classTokens != 1 || of_.embeddingNorm || of_.positions != Positions::Learned || !of_.headBias)
      return std::nullopt;
    set("num_hidden_layers", of_.layers), set("hidden_size", of_.hidden), set("intermediate_size", of_.inner);
    set("num_attention_heads", of_.heads), set("image_size", of_.imageSize), set("patch_size", of_.patchSize);
    set("num_labels", of_.classes), setNumber("hidden_dropout_prob", of_.dropout);
    setNumber("attention_probs_dropout_prob", of_.attentionDropout), setPositive("layer_norm_eps", of_.normEpsilon);
    made_.dropout = {of_.dropout, of_.attentionDropout, 0};
    const Wide h = of_.hidden, side = of_.imageSize / of_.patchSize, patch = Wide(3) * of_.patchSize * of_.patchSize;
    return done("vit", "ViTForImageClassification", "ViTLayer", kOwn, nullptr,
                patch * h + h + h + (side * side + 1) * h + gptBlocks() + 2 * h + h * of_.classes + of_.classes);
  }

  const ModelArchitecture &of_;
  std::vector<std::string> entries_; ///< of the configuration
  TransformersModel made_;
};

/// What a decoder, or a model that is not understood, has beside those of Transformers.
std::string whyNone(const ModelArchitecture &of, const std::string &name) {
  if (of.family == Family::Other)
    return of.notUnderstood.empty() ? "" : ": " + of.notUnderstood;
  if (of.family != Family::Decoder)
    return "";
  const std::string own = of.norm == Norm::RmsNorm ? unlikeLlama(of, name) : unlikeGpt(of, name);
  const bool isRaw = of.experts > 1 && !of.expertsNormalized;
  return own.empty() ? isRaw ? ": the weights of the experts of a token do not add up to 1" : "" : ": " + own;
}

} // namespace

Result<TransformersModel> transformersModel(LaunchProgram &program, const PlacementPlan &plan,
                                            const std::string &launcher) {
  if (!plan.architecture) {
    TransformersModel unknown;
    unknown.type = "\"" + program.ask(plan, "MODEL_TYPE", "model of Transformers") + "\"";
    unknown.blocks = "\"" + program.ask(plan, "LAYER_CLASS", "class of a block") + "\"";
    unknown.overrides = program.ask(plan, "CONFIG_OVERRIDES", "sizes, as hidden_size=4096 with commas between them,");
    unknown.script = kCausal;
    if (const int64_t sequence = sequenceOf(plan); sequence > 0)
      unknown.sequence = fmt::format("--block_size {}", sequence);
    return unknown;
  }
  auto model = Description(*plan.architecture).model();
  if (!model)
    return Error{
        Code::LauncherCannot,
        fmt::format("{} trains gpt2, llama, mixtral, opt, bert, t5 and vit of Transformers; '{}' is built like "
                    "none of them{}",
                    launcher, plan.model, whyNone(*plan.architecture, plan.model)),
        plan.location,
        {}};
  if (model->script == kOwn)
    program.needed.push_back(
        {"TRAIN_SCRIPT",
         fmt::format("program that trains {} from --model_type and --config_overrides, as run_clm.py of "
                     "Transformers does for others",
                     model->type)});
  remarkCapacity(program, *plan.architecture, "Transformers");
  remarkDropout(program, plan, "Transformers", model->dropout);
  remarkPredictions(program, plan);
  const int64_t planned = plan.architecture->parameters;
  if (model->parameters > 0 && planned > 0 && model->parameters != planned)
    program.remarks.push_back(fmt::format("the model of Transformers has {} parameters, the plan {}: by the difference "
                                          "its memory and its step are others",
                                          model->parameters, planned));
  return *std::move(model);
}

void addTransformersArguments(LaunchProgram &program, const PlacementPlan &plan, const TransformersModel &model,
                              bool checkpoints) {
  const ParallelConfig &config = plan.problem.parallelConfigs[plan.result.plan->stages.front().parallelConfig];
  auto add = [&](std::string argument) { program.arguments.push_back(std::move(argument)); };
  if (model.configuration.empty()) {
    add("--model_type " + model.type);
    add(fmt::format("--config_overrides \"{}\"", model.overrides));
  } else {
    program.files.push_back({"config.json", model.configuration});
    add("--config_name \"$folder\"");
  }
  if (!model.sequence.empty())
    add(model.sequence);
  add(fmt::format("--per_device_train_batch_size {}", config.microbatch));
  add(fmt::format("--gradient_accumulation_steps {}", plan.result.plan->microbatches));
  if (checkpoints)
    add("--gradient_checkpointing true");
  if (plan.optimizer == "adam" || plan.optimizer == "adamw")
    add("--optim adamw_torch");
  else if (plan.optimizer == "sgd")
    add("--optim sgd");
  else
    program.remarks.push_back("optimizer '" + plan.optimizer + "' has to be chosen by hand");
}

bool checkpointsBlocks(LaunchProgram &program, const PlacementPlan &plan, const char *launcher) {
  const BlockRecompute blocks = blockRecompute(plan);
  const bool checkpoints = blocks.full + blocks.selective > 0;
  if (checkpoints && blocks.none + blocks.selective > 0)
    program.remarks.push_back(fmt::format(
        "slower than planned by {:.3g} ms a step at most: of {} blocks the plan keeps all in {} and recomputes {} "
        "selectively, {} checkpoints every block",
        static_cast<double>(blocks.untilFull) * 1e-9, blocks.blocks, blocks.none, blocks.selective, launcher));
  return checkpoints;
}

} // namespace accord
