#include "lib/launch/MegatronModel.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

namespace accord {
namespace {

using Family = ModelArchitecture::Family;
using Norm = ModelArchitecture::Norm;
using Activation = ModelArchitecture::Activation;
using Positions = ModelArchitecture::Positions;

class Model {
public:
  Model(const PlacementPlan &plan, const ModelArchitecture &model)
      : plan(plan), model(model),
        config(plan.problem.parallelConfigs[plan.result.plan->stages.front().parallelConfig]) {}

  Result<MegatronArguments> run() {
    if (model.family == Family::Other)
      return refuse("knows transformers alone, and '" + plan.model +
                    "' is not understood as one: " + model.notUnderstood);
    if (model.irregular)
      return refuse("builds equal blocks; those of '" + plan.model + "' differ in their sizes");
    if (model.family == Family::Vision)
      return refuse(vision());
    sizes();
    kinds();
    biases();
    positions();
    experts();
    head();
    wholeParameters();
    if (!lacking.empty())
      return refuse(fmt::format("builds another model than '{}': {}", plan.model, fmt::join(lacking, "; ")));
    return std::move(out);
  }

private:
  Error refuse(std::string why) const {
    return {Code::LauncherCannot, "Megatron-LM " + std::move(why), plan.location, {}};
  }
  void add(std::string argument) { out.arguments.push_back(std::move(argument)); }
  template <class... T> void lacks(fmt::format_string<T...> text, T &&...values) {
    lacking.push_back(fmt::format(text, std::forward<T>(values)...));
  }
  bool isCoder() const { return model.family == Family::EncoderDecoder; }

  /// pretrain_vision_classify.py has eight class tokens, each with its position, and a head of two products.
  std::string vision() const {
    int64_t hidden = model.hidden, tokens = 8 - model.classTokens;
    int64_t more = 2 * tokens * hidden + hidden * hidden + hidden;
    return fmt::format("builds another model than '{}': it has 8 class tokens where the plan has {}, and a product of "
                       "{} x {} and a hyperbolic tangent before the classes; {} parameters where the plan has {}",
                       plan.model, model.classTokens, hidden, hidden, model.parameters + more, model.parameters);
  }

  void sizes() {
    if (isCoder()) {
      out.script = "pretrain_t5.py";
      add(fmt::format("--encoder-num-layers {}", model.encoderLayers));
      add(fmt::format("--decoder-num-layers {}", model.layers));
      if (model.encoderLayers != model.layers)
        lacks("its decoder has as many layers as its encoder, here they are {} and {}", model.layers,
              model.encoderLayers);
    } else {
      add(fmt::format("--num-layers {}", model.layers));
    }
    add(fmt::format("--hidden-size {}", model.hidden));
    add(fmt::format("--ffn-hidden-size {}", model.inner));
    add(fmt::format("--num-attention-heads {}", model.heads));
    add(fmt::format("--kv-channels {}", model.headSize));
    if (model.keyValueHeads < model.heads) {
      add("--group-query-attention");
      add(fmt::format("--num-query-groups {}", model.keyValueHeads));
    }
    if (model.keyValueHeads % config.tensor != 0)
      lacks("it divides heads of keys and values evenly among devices, here {} among {}", model.keyValueHeads,
            config.tensor);
    add(fmt::format("--vocab-size {}", model.vocabulary));
    vocabulary();
    int64_t longest = std::max({model.sequence, model.encoderSequence, model.maxPositions});
    if (isCoder()) {
      add(fmt::format("--encoder-seq-length {}", model.encoderSequence));
      add(fmt::format("--decoder-seq-length {}", model.sequence));
    } else {
      add(fmt::format("--seq-length {}", model.sequence));
    }
    add(fmt::format("--max-position-embeddings {}", longest));
  }

  /// Megatron-LM pads the table to a multiple of this and of the tensor parallel degree.
  void vocabulary() {
    bool isPadded = plan.deviceMemory && plan.deviceMemory->vocabularyPerTensor;
    int64_t multiple = isPadded ? plan.deviceMemory->vocabularyMultiple : 1;
    add(fmt::format("--make-vocab-size-divisible-by {}", multiple));
    if (multiple > kMaxArchitectureSize || config.tensor > kMaxArchitectureSize)
      return;
    multiple *= config.tensor;
    auto padded = [&](int64_t rows) { return (rows + multiple - 1) / multiple * multiple; };
    int64_t rows = padded(model.vocabulary), other = padded(model.vocabulary + 1);
    if (rows != other)
      out.remarks.push_back(fmt::format("the tokenizer has to have {} tokens: NullTokenizer has one more than "
                                        "--vocab-size, and makes {} rows of the planned {}",
                                        model.vocabulary, other, rows));
  }

  void kinds() {
    switch (model.activation) {
    case Activation::SwiGlu:
      add("--swiglu");
      break;
    case Activation::SquaredRelu:
      add("--squared-relu");
      break;
    case Activation::Gelu:
      break;
    default:
      lacks("it has gelu, swiglu and squared relu in feed-forward networks, not {}",
            model.activation == Activation::Relu    ? "relu"
            : model.activation == Activation::GeGlu ? "networks gated by gelu"
                                                    : "silu without a gate");
    }
    add(fmt::format("--normalization {}", model.norm == Norm::RmsNorm ? "RMSNorm" : "LayerNorm"));
    add(fmt::format("--norm-epsilon {}", model.normEpsilon));
    if (model.norm == Norm::LayerNorm && !model.normBias)
      lacks("its layer norms have an offset");
    if (model.normAfter && model.family == Family::Encoder && model.embeddingNorm) {
      // The norm before each part, with the stream taken behind it, is the one behind the part before.
      add("--use-legacy-models");
      add("--ckpt-format torch");
      add("--apply-residual-connection-post-layernorm");
      out.remarks.push_back("models with norms behind their blocks need Megatron core 0.13 to 0.17");
      legacy();
    } else if (model.normAfter) {
      lacks("its norms stand before attention and feed-forward networks, here they stand behind");
    } else if (!model.finalNorm) {
      lacks("a norm stands before its head, here is none");
    }
    if (model.embeddingNorm && !model.normAfter)
      lacks("no norm stands behind its embedding");
    if (model.unscaledAttention)
      lacks("it divides scores by the root of the size of heads");
    if (model.embeddingScale != 1)
      lacks("it does not multiply embeddings, here by {:.6g}", model.embeddingScale);
    if (model.logitScale != 1)
      lacks("it does not multiply what enters the head, here by {:.6g}", model.logitScale);
    add(fmt::format("--attention-dropout {}", model.attentionDropout));
    add(fmt::format("--hidden-dropout {}", model.dropout));
    if (model.innerDropout > 0)
      lacks("it has no dropout inside feed-forward networks, here {}", model.innerDropout);
    add(fmt::format("--attention-backend {}", model.fusedAttention ? "flash" : "unfused"));
    if (!model.fusedAttention && !isCoder())
      scores();
  }

  /// What keeping scores takes, which the plan has counted.
  void scores() {
    double bytes = 2.0 * static_cast<double>(model.heads) / static_cast<double>(config.tensor) *
                   static_cast<double>(model.sequence) * static_cast<double>(model.sequence) /
                   static_cast<double>(config.context) * static_cast<double>(config.microbatch);
    out.remarks.push_back(fmt::format("attention keeps its scores as planned, {:.1f} MiB of a block and a micro-batch "
                                      "on each device; --attention-backend flash keeps none",
                                      bytes / 0x1p20));
  }

  void legacy() {
    if (config.context > 1)
      lacks("its blocks with norms behind them have no context parallelism");
    if (config.ringOverlap)
      lacks("its blocks with norms behind them do not overlap tensor parallel exchanges");
    if (config.zero > 1)
      lacks("its blocks with norms behind them have no ZeRO {}", config.zero);
  }

  void biases() {
    if (!model.linearBias)
      add("--disable-bias-linear");
    if (model.attentionBias && !model.linearBias)
      add("--add-qkv-bias");
    if (model.linearBias && !model.attentionBias)
      lacks("where its products have a bias, those of queries, keys and values have one");
  }

  void positions() {
    switch (model.positions) {
    case Positions::None:
      add("--position-embedding-type none");
      break;
    case Positions::Learned:
      add("--position-embedding-type learned_absolute");
      break;
    case Positions::Rope:
      add("--position-embedding-type rope");
      add(fmt::format("--rotary-base {:.0f}", model.rotaryBase));
      if (model.rotaryBase != std::floor(model.rotaryBase))
        lacks("the base of its rotary positions is an integer, not {}", model.rotaryBase);
      if (model.family == Family::Encoder && model.normAfter)
        lacks("its blocks with norms behind them have learned positions");
      break;
    case Positions::Relative:
      add("--position-embedding-type relative");
      add(fmt::format("--relative-attention-num-buckets {}", model.relativeBuckets));
      add(fmt::format("--relative-attention-max-distance {}", model.relativeDistance));
      if (!isCoder())
        lacks("only its encoder with a decoder has relative positions");
      break;
    case Positions::Sinusoidal:
      lacks("it has no sinusoidal positions");
      break;
    case Positions::Alibi:
      lacks("it has no linear biases of positions (ALiBi)");
      break;
    }
  }

  /// What each device has of parameters that the plan divides among those of tensor parallelism, and on which stage.
  void wholeParameters() {
    int64_t tensor = config.tensor, hidden = model.hidden, first = 0, last = 0;
    auto rest = [&](int64_t number) { return number % tensor == 0 ? number - number / tensor : 0; };
    if (config.sequence)
      first += rest(model.maxPositions) * hidden;
    first += rest(model.segments * hidden);
    if (model.headTransform)
      last += rest(hidden) * (hidden + 1);
    if (model.pairHead)
      last += rest(hidden) * (hidden + 3);
    size_t groups = plan.result.plan->groups();
    if (model.normAfter && groups > 1) // the norm of a stage's last block stands before the next one
      first -= 2 * hidden, last += 2 * hidden;
    if (groups == 1)
      first += std::exchange(last, 0);
    auto say = [&](int64_t more, const char *stage) {
      if (more != 0)
        out.remarks.push_back(
            fmt::format("{} parameters {} than planned on each device of the {} stage: Megatron-LM "
                        "has what stands beside the blocks whole on each, and the norm behind a block "
                        "before the next one",
                        std::abs(more), more > 0 ? "more" : "fewer", stage));
    };
    say(first, "first"), say(last, "last");
  }

  void experts() {
    if (model.experts == 0)
      return;
    add(fmt::format("--num-experts {}", model.experts));
    add(fmt::format("--moe-router-topk {}", model.expertsPerToken));
    add(fmt::format("--moe-ffn-hidden-size {}", model.inner));
    // The plan has no loss of the router, and slots that are served in the order of tokens.
    add("--moe-router-load-balancing-type none");
    add("--moe-token-dispatcher-type alltoall");
    add(fmt::format("--moe-expert-capacity-factor {}", model.expertCapacity));
    add("--moe-pad-expert-input-to-capacity");
    add("--moe-token-drop-policy position");
    if (!model.expertsNormalized)
      add("--moe-router-pre-softmax");
    if (model.expertsNormalized && model.expertsPerToken == 1)
      lacks("where a token has one expert, it weighs it with its share of all");
    if (model.expertLayers != model.layers)
      lacks("experts stand in {} of {} layers", model.expertLayers, model.layers);
    if (config.tensor > 1 && !config.sequence)
      lacks("beside tensor parallelism its experts need sequence parallelism");
    if (model.linearBias)
      lacks("its experts have a bias where other products have one");
    if (model.family != Family::Decoder)
      lacks("only decoders have experts");
  }

  void head() {
    if (!model.tiedEmbeddings)
      add("--untie-embeddings-and-output-weights");
    if (model.family == Family::Encoder)
      return bert();
    if (model.segments > 0)
      lacks("it has no table of kinds of tokens beside an encoder");
    if (model.headTransform || model.pairHead)
      lacks("nothing but a norm stands before its head");
    bool hasBias = isCoder() && model.tiedEmbeddings;
    if (model.headBias != hasBias)
      lacks("its head has {} bias{}", hasBias ? "a" : "no",
            hasBias ? fmt::format(", of {} parameters", model.vocabulary) : "");
    if (model.predictedPositions > 0)
      lacks("its head predicts tokens of all positions, here of {}", model.predictedPositions);
    if (isCoder() && plan.result.plan->groups() > 1)
      lacks("it cuts an encoder with a decoder into stages by arguments that core 0.14 removes");
  }

  /// pretrain_bert.py: a transform and a bias in the head, and a second one with a pooler beside kinds of tokens.
  void bert() {
    out.script = "pretrain_bert.py";
    if (!model.headTransform || !model.headBias)
      lacks("the head of its encoder has a product, gelu and a norm before it, and a bias");
    if (model.pairHead ? model.segments != 2 : model.segments != 0)
      lacks("it has 2 kinds of tokens and a head of pairs, or neither; here {} kinds and {} head of pairs",
            model.segments, model.pairHead ? "a" : "no");
    if (!model.pairHead)
      add("--bert-no-binary-head");
    if (model.predictedPositions == 0)
      return;
    double positions = static_cast<double>(model.sequence - model.predictedPositions);
    double width = static_cast<double>(model.vocabulary), hidden = static_cast<double>(model.hidden);
    out.remarks.push_back(fmt::format(
        "slower than planned: the head predicts tokens of all {} positions of a sample, planned are {}: "
        "{:.1f} GFLOP more for a sample, and {:.1f} MiB of logits more for a micro-batch on a device",
        model.sequence, model.predictedPositions, 6e-9 * positions * hidden * (width + hidden),
        2 * positions * width / static_cast<double>(config.tensor) * static_cast<double>(config.microbatch) / 0x1p20));
  }

  const PlacementPlan &plan;
  const ModelArchitecture &model;
  const ParallelConfig &config;
  std::vector<std::string> lacking;
  MegatronArguments out;
};

} // namespace

Result<MegatronArguments> megatronModel(const PlacementPlan &plan, const ModelArchitecture &model) {
  return Model(plan, model).run();
}

} // namespace accord
