#include "lib/launch/LauncherFeatures.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace accord {
namespace {

using Offload = LauncherFeatures::Offload;
using Models = LauncherFeatures::Models;
using Exchange = ContextExchange;

/// "a", "a and b", "a, b and c".
std::string listText(const std::vector<const char *> &all, const char *last) {
  std::string text;
  for (size_t i = 0; i < all.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == all.size() ? fmt::format(" {} ", last) : ", ", all[i]);
  return text;
}

bool has(const std::vector<const char *> &all, std::string_view one) {
  return std::ranges::any_of(all, [&](const char *each) { return one == each; });
}

std::string refusalOfStages(const LauncherFeatures &of, const PlacementPlan &plan) {
  const Placement &placement = *plan.result.plan;
  const std::string elsewhere = *of.elsewhere ? fmt::format("; {}", of.elsewhere) : "";
  if (placement.groups() > 1 && of.schedules.empty())
    return fmt::format("has no pipeline; the plan has {} stages{}", placement.stages.size(), elsewhere);
  if (placement.groups() > 1 && std::ranges::find(of.schedules, placement.schedule) == of.schedules.end()) {
    std::vector<const char *> names;
    for (PipelineSchedule schedule : of.schedules)
      names.push_back(name(schedule));
    return fmt::format("has no schedule {}: it runs {}", name(placement.schedule), listText(names, "or"));
  }
  for (size_t s = 1; s < placement.stages.size(); ++s)
    if (placement.stages[s].parallelConfig != placement.stages[0].parallelConfig)
      return fmt::format("has the same degrees in all stages; stage {} has another parallel configuration than stage 0",
                         s);
  for (const PlacedStage &stage : placement.stages)
    for (size_t i = 0; i < stage.layers.size(); ++i)
      if (plan.problem.choiceOf(stage, i).hostActivations > 0)
        return "keeps activations on the devices; the plan has some on the host";
  return {};
}

std::string refusalOfDegrees(const LauncherFeatures &of, const ParallelConfig &config) {
  if (config.tensor > 1 && !of.tensor)
    return fmt::format("shards states and weights alone; the plan has a tensor parallel degree of {}{}", config.tensor,
                       *of.elsewhere ? fmt::format("; {}", of.elsewhere) : "");
  if (config.expert > 1 && !of.experts)
    return fmt::format("does not divide experts; the plan does so among {} replicas", config.expert);
  if (config.tables != Tables::Whole)
    return "does not divide embedding tables among replicas";
  if (config.context > 1 && of.exchanges.empty())
    return fmt::format("leaves sequences whole; the plan divides each among {} devices", config.context);
  static const std::map<Exchange, const char *> ways{
      {Exchange::Ring, "in a ring"}, {Exchange::AllGather, "by all-gather"}, {Exchange::AllToAll, "by all-to-all"}};
  if (config.context > 1 && std::ranges::find(of.exchanges, config.contextExchange) == of.exchanges.end()) {
    std::vector<const char *> own;
    for (Exchange exchange : of.exchanges)
      own.push_back(ways.at(exchange));
    return fmt::format("exchanges keys and values of a sequence {}; the plan does it {}", listText(own, "or"),
                       ways.at(config.contextExchange));
  }
  if (of.offload == Offload::Together && config.hostStates != config.hostWeights)
    return "offloads weights with the optimizer or neither; the plan has one of them on the host";
  if (config.hostWeights && (of.offload == Offload::None || of.offload == Offload::States))
    return "keeps weights on the devices; the plan has them on the host";
  if (config.hostStates && of.offload == Offload::None)
    return "keeps states of the optimizer on the devices; the plan has them on the host";
  return {};
}

std::string refusalOfTypes(const LauncherFeatures &of, const PlacementPlan &plan) {
  const PlannedPrecision precision = precisionOf(plan);
  if (!of.precisions.empty() &&
      (!has(of.precisions, precision.type) || (precision.type == "fp8" && !precision.isMixed)))
    return fmt::format("trains in {}; the plan has {}", listText(of.precisions, "or"), plan.precision);
  if (!of.optimizers.empty() && !has(of.optimizers, plan.optimizer))
    return fmt::format("has the optimizers {}, not '{}'", listText(of.optimizers, "and"), plan.optimizer);
  return {};
}

} // namespace

const LauncherFeatures &featuresOf(Launcher launcher) {
  static const std::vector<Exchange> ringOrGather{Exchange::AllGather, Exchange::Ring};
  static const std::vector<Exchange> any{Exchange::AllGather, Exchange::Ring, Exchange::AllToAll};
  static const std::map<Launcher, LauncherFeatures> rows{
      {Launcher::Megatron,
       {.name = "Megatron-LM",
        .schedules = {PipelineSchedule::OneFOneB, PipelineSchedule::Interleaved},
        .exchanges = any,
        .offload = Offload::States,
        .optimizers = {"adam", "adamw", "sgd", "momentum"}}},
      {Launcher::Accelerate,
       {.name = "Accelerate",
        .schedules = {},
        .tensor = false,
        .experts = false,
        .exchanges = ringOrGather,
        .offload = Offload::Together}},
      {Launcher::DeepSpeed,
       {.name = "DeepSpeed",
        .elsewhere = "models of Megatron-DeepSpeed have it in their own code",
        .schedules = {},
        .tensor = false,
        .experts = false,
        .offload = Offload::Apart}},
      {Launcher::Titan,
       {.name = "torchtitan",
        .schedules = {PipelineSchedule::GPipe, PipelineSchedule::OneFOneB, PipelineSchedule::Interleaved,
                      PipelineSchedule::ZeroBubbleV},
        .exchanges = ringOrGather,
        .offload = Offload::Together,
        .precisions = {"bf16", "fp8", "tf32", "fp32"},
        .optimizers = {"adam", "adamw"},
        .models = Models::Llama}},
      {Launcher::MaxText,
       {.name = "MaxText",
        .schedules = {PipelineSchedule::GPipe},
        .exchanges = any,
        .offload = Offload::Apart,
        .precisions = {"bf16", "fp8", "tf32", "fp32"},
        .optimizers = {"adam", "adamw", "sgd"},
        .models = Models::LlamaAndGpt,
        .rawExperts = false}},
  };
  static const LauncherFeatures none{.name = "", .schedules = {}};
  const auto row = rows.find(launcher);
  return row == rows.end() ? none : row->second;
}

std::string refusalOf(const LauncherFeatures &features, const PlacementPlan &plan) {
  const Placement &placement = *plan.result.plan;
  const ParallelConfig &config = plan.problem.parallelConfigs[placement.stages.front().parallelConfig];
  std::string reason = refusalOfStages(features, plan);
  if (reason.empty())
    reason = refusalOfDegrees(features, config);
  return reason.empty() ? refusalOfTypes(features, plan) : reason;
}

std::string refusalOfModel(const LauncherFeatures &features, const ModelArchitecture &model, const std::string &name) {
  if (features.models == Models::Described)
    return {};
  const std::string notLlama = unlikeLlama(model, name), notGpt = unlikeGpt(model, name);
  if (features.models == Models::Llama && !notLlama.empty())
    return "builds models of Llama's kind; " + notLlama;
  if (!notLlama.empty() && !notGpt.empty())
    return "builds decoders of the kinds of Llama and GPT-3; " +
           (model.norm == ModelArchitecture::Norm::LayerNorm ? notGpt : notLlama);
  if (model.experts > 0 && !model.expertsNormalized && !features.rawExperts)
    return fmt::format("weighs experts of a token so that weights add up to 1; '{}' does not", name);
  return {};
}

static std::string noDecoder(const ModelArchitecture &model, const std::string &name) {
  if (model.family == ModelArchitecture::Family::Other && !model.notUnderstood.empty())
    return fmt::format("'{}' is not understood as one: {}", name, model.notUnderstood);
  return model.family == ModelArchitecture::Family::Decoder && model.causal
             ? ""
             : fmt::format("'{}' is no decoder of transformers", name);
}

/// What neither Llama nor GPT has.
static std::string unlikeDecoders(const ModelArchitecture &model, const std::string &name) {
  if (model.embeddingNorm)
    return fmt::format("'{}' has a norm behind its embedding", name);
  if (model.segments > 0)
    return fmt::format("'{}' has a table of {} kinds of tokens", name, model.segments);
  if (model.headTransform || model.pairHead)
    return fmt::format("'{}' has a head of several products", name);
  if (model.unscaledAttention || model.embeddingScale != 1 || model.logitScale != 1)
    return fmt::format("'{}' scales its embedding, scores or logits in another way", name);
  return {};
}

std::string unlikeLlama(const ModelArchitecture &model, const std::string &name) {
  using M = ModelArchitecture;
  auto has = [&](const char *what) { return fmt::format("'{}' has {}", name, what); };
  if (std::string other = noDecoder(model, name); !other.empty())
    return other;
  if (model.irregular)
    return has("blocks of different sizes");
  if (model.norm != M::Norm::RmsNorm || !model.finalNorm)
    return has(model.norm == M::Norm::LayerNorm ? "LayerNorm" : "no RMS norm before each part and at the end");
  if (model.normAfter)
    return has("norms behind its blocks");
  if (model.activation != M::Activation::SwiGlu)
    return has("another activation than SwiGLU");
  if (model.positions != M::Positions::Rope)
    return has("no rotary positions");
  if (model.linearBias || model.attentionBias || model.normBias || model.headBias)
    return has("biases");
  if (std::string other = unlikeDecoders(model, name); !other.empty())
    return other;
  if (model.experts == 1)
    return has("one expert in a block, with a router");
  if (model.experts > 1 && model.expertLayers != model.layers)
    return fmt::format("'{}' has experts in {} of {} blocks", name, model.expertLayers, model.layers);
  return {};
}

std::string unlikeGpt(const ModelArchitecture &model, const std::string &name) {
  using M = ModelArchitecture;
  auto has = [&](const char *what) { return fmt::format("'{}' has {}", name, what); };
  if (std::string other = noDecoder(model, name); !other.empty())
    return other;
  if (model.irregular || model.experts > 0)
    return has(model.irregular ? "blocks of different sizes" : "experts");
  if (model.norm != M::Norm::LayerNorm || !model.finalNorm || model.normAfter)
    return has("no LayerNorm before each part and at the end");
  if (model.positions != M::Positions::Learned)
    return has("no learned positions");
  if (!model.linearBias || !model.attentionBias || !model.normBias)
    return has("products or norms without biases");
  if (model.headBias)
    return has("a head with a bias");
  if (std::string other = unlikeDecoders(model, name); !other.empty())
    return other;
  if (model.keyValueHeads != model.heads)
    return has("grouped queries");
  return {};
}

void remarkDropout(LaunchProgram &program, const PlacementPlan &plan, const char *launcher, const DropoutRates &built) {
  if (!plan.architecture)
    return;
  const ModelArchitecture &of = *plan.architecture;
  const ParallelConfig &config = plan.problem.parallelConfigs[plan.result.plan->stages.front().parallelConfig];
  const double tokens = static_cast<double>(sequenceOf(plan)) / static_cast<double>(config.context) *
                        static_cast<double>(config.microbatch);
  const auto tensor = static_cast<double>(config.tensor);
  double bytes = 0;
  std::vector<std::string> places;
  auto compare = [&](const char *place, double is, double planned, double elements) {
    if (is == planned)
      return;
    places.push_back(
        fmt::format("{} of {} where the plan has {:g}", place, is == 0 ? "none" : fmt::format("{:g}", is), planned));
    bytes += ((is > 0) - (planned > 0)) * tokens * elements;
  };
  compare("what blocks add", built.hidden, of.dropout,
          2 * static_cast<double>(of.hidden) / (config.sequence ? tensor : 1));
  compare("the softmax", built.attention, of.attentionDropout,
          static_cast<double>(of.heads) * static_cast<double>(of.sequence) / tensor);
  compare("feed-forward networks", built.inner, of.innerDropout, static_cast<double>(of.inner) / tensor);
  if (places.empty())
    return;
  program.remarks.push_back(fmt::format(
      "other dropout than planned: {} drops {}{}", launcher, fmt::join(places, ", "),
      bytes == 0 ? ""
                 : fmt::format(", which takes {:.3g} MiB {} of a block and a micro-batch on each device, if a mask is "
                               "of bytes, and its time",
                               std::abs(bytes) / 0x1p20, bytes > 0 ? "more" : "less")));
}

} // namespace accord
