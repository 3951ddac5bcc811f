// A plan in the words of MaxText (JAX): its YAML over base.yml (src/maxtext/configs/base.yml and types.py of 2026), one
// process for each server of GPUs, or host of TPUs. Axes within a server are called ici, those across servers dcn.
#include "lib/launch/LauncherFeatures.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace accord {
namespace {

class MaxText {
public:
  explicit MaxText(const PlacementPlan &plan)
      : plan(plan), placement(*plan.result.plan),
        config(plan.problem.parallelConfigs[placement.stages.front().parallelConfig]), groups(placement.groups()) {}

  Result<LaunchProgram> run(const LaunchLayout &shape) {
    set("base_config", "\"base.yml\"");
    set("hardware", isTpu() ? "\"tpu\"" : "\"gpu\"");
    const LauncherFeatures &features = featuresOf(Launcher::MaxText);
    std::string reason = refusalOf(features, plan);
    if (reason.empty() && plan.architecture)
      reason = refusalOfModel(features, *plan.architecture, plan.model);
    for (auto part : {&MaxText::model, &MaxText::schedule, &MaxText::memory, &MaxText::training})
      if (reason.empty())
        reason = (this->*part)();
    if (reason.empty())
      reason = axes(shape);
    if (!reason.empty())
      return Error{Code::LauncherCannot, fmt::format("{} {}", features.name, reason), plan.location, {}};
    recompute();
    out.files.push_back({"maxtext.yml", text});
    if (isTpu()) { // their runtime knows hosts and slices
      out.meets = false;
      out.remarks.push_back("servers are slices of TPUs: the script is run on each host of each slice");
    } else {
      out.exports = {"export NNODES=" + std::to_string(shape.nodes) + " NODE_RANK",
                     "export JAX_COORDINATOR_IP=\"$MASTER_ADDR\" JAX_COORDINATOR_PORT=\"$MASTER_PORT\""};
    }
    out.start = {"python3 -m maxtext.trainers.pre_train.train \"$folder/maxtext.yml\""};
    remarkFramework(out, plan, "maxtext");
    return std::move(out);
  }

private:
  bool isTpu() const { return plan.problem.deviceTypes[config.deviceType].name.starts_with("tpu"); }
  void set(const std::string &key, const std::string &value) { text += fmt::format("{}: {}\n", key, value); }
  void set(const std::string &key, int64_t value) { text += fmt::format("{}: {}\n", key, value); }
  void set(const std::string &key, bool value) { set(key, std::string(value ? "true" : "false")); }
  void set(const std::string &key, const char *value) { set(key, std::string(value)); }

  /// Decoders of Llama's kind, with experts in each block or in none, and of GPT-3's with a tied head.
  std::string model() {
    if (!plan.architecture) {
      set("model_name", "\"" + out.ask(plan, "MAXTEXT_MODEL", "name in MaxText") + "\"");
      return {};
    }
    const ModelArchitecture &of = *plan.architecture;
    const bool gpt = unlikeGpt(of, plan.model).empty(), experts = of.experts > 1;
    const bool relu = of.activation == ModelArchitecture::Activation::Relu;
    if (gpt && !relu && of.activation != ModelArchitecture::Activation::Gelu)
      return fmt::format("has gelu and relu in blocks of GPT's kind; '{}' has neither", plan.model);
    set("decoder_block", gpt ? "\"gpt3\"" : experts ? "\"mixtral\"" : "\"llama2\"");
    set("base_num_decoder_layers", of.layers), set("base_emb_dim", of.hidden), set("base_mlp_dim", of.inner);
    set("base_num_query_heads", of.heads), set("base_num_kv_heads", of.keyValueHeads), set("head_dim", of.headSize);
    set("vocab_size", of.vocabulary);
    set("mlp_activations", !gpt ? "[\"silu\", \"linear\"]" : relu ? "[\"relu\"]" : "[\"gelu\"]");
    set("logits_via_embedding", of.tiedEmbeddings), set("normalize_embedding_logits", false);
    if (gpt)
      set("trainable_position_size", of.maxPositions > 0 ? of.maxPositions : sequenceOf(plan)), set("fused_qkv", true);
    if (experts)
      set("base_moe_mlp_dim", of.inner), set("num_experts", of.experts),
          set("num_experts_per_tok", std::max<int64_t>(1, of.expertsPerToken));
    if (experts && of.expertCapacity > 0) // products of equal sizes, of the tokens that have a place
      set("capacity_factor", fmt::format("{:g}", of.expertCapacity)), set("sparse_matmul", false),
          set("megablox", false);
    if (of.normEpsilon > 0)
      set("normalization_layer_epsilon", fmt::format("{:.3e}", of.normEpsilon)); // YAML needs the point
    if (of.rotaryBase >= 1)
      set("rope_max_timescale", static_cast<int64_t>(std::min(of.rotaryBase, 0x1p62)));
    set("enable_dropout", of.dropout > 0);
    if (of.dropout > 0)
      set("dropout_rate", fmt::format("{:g}", of.dropout));
    remarkDropout(out, plan, "MaxText", {of.dropout, 0, of.dropout}); // one rate for all places but the softmax
    remarkPredictions(out, plan);
    return {};
  }

  /// A pipeline of MaxText runs all forward passes before the backward ones, of equally many blocks in each stage, with
  /// embedding and head on all of its devices.
  std::string schedule() {
    if (groups == 1)
      return {};
    const StageBlocks cut = stageBlocks(plan);
    if (!cut.refusal.empty())
      return cut.refusal;
    const int64_t each = cut.stages.front().end - cut.stages.front().first;
    for (const StageBlocks::Stage &stage : cut.stages)
      if (stage.end - stage.first != each || each == 0)
        return "gives each stage equally many blocks; the plan does not";
    if (placement.microbatches % static_cast<int64_t>(groups) != 0)
      return fmt::format("runs a multiple of {} micro-batches in {} stages; the plan has {}", groups, groups,
                         placement.microbatches);
    set("num_layers_per_pipeline_stage", each), set("num_pipeline_repeats", int64_t(1));
    set("num_pipeline_microbatches", placement.microbatches);
    out.remarks.push_back("other memory than planned: embedding and head are divided among the devices of all stages");
    return {};
  }

  /// Where weights, states and what else the host may hold are.
  std::string memory() {
    set("optimizer_memory_host_offload", config.hostStates);
    set("parameter_memory_host_offload", config.hostWeights);
    set("shard_optimizer_over_data", config.zero == 1);
    if (config.zero == 2)
      out.remarks.push_back(fmt::format("less memory than planned: weights are divided among {} devices, too (ZeRO 3), "
                                        "and gathered for each of {} micro-batches",
                                        config.data, placement.microbatches));
    if (config.data > 1 && groups == 1)
      remarkExchanges(out, plan);
    return {};
  }

  std::string training() {
    if (const int64_t sequence = sequenceOf(plan); sequence > 0)
      set("max_target_length", sequence);
    else
      set("max_target_length", out.ask(plan, "SEQUENCE_LENGTH", "tokens of a sample"));
    const int64_t accumulated = groups > 1 ? 1 : placement.microbatches;
    const PlannedPrecision precision = precisionOf(plan);
    const bool whole = precision.type == "fp32" || precision.type == "tf32", fp8 = precision.type == "fp8";
    if (fp8 && accumulated > 1)
      return "has no fp8 beside accumulated gradients";
    set("dtype", whole ? "\"float32\"" : "\"bfloat16\"");
    set("weight_dtype", precision.isMixed || whole ? "\"float32\"" : "\"bfloat16\"");
    if (fp8)
      set("quantization", "\"fp8\"");
    set("gradient_accumulation_steps", accumulated);
    set("opt_type", plan.optimizer == "sgd" ? "\"sgd\"" : "\"adamw\"");
    return {};
  }

  /// How parts of a sequence come to the keys and values of all of it. TPUs have kernels of their own for rings and
  /// all-to-all, which GPUs do not have for the latter.
  std::string contexts(const LaunchLayout &shape) {
    if (config.context == 1)
      return {};
    const bool ring = config.contextExchange == ContextExchange::Ring;
    const bool toAll = config.contextExchange == ContextExchange::AllToAll;
    if (toAll && (!isTpu() || shape.perNode % (config.tensor * config.context) != 0))
      return "exchanges keys and values of a sequence by all-to-all within a slice of TPUs alone";
    if (isTpu() && (ring || toAll) && plan.architecture && plan.architecture->dropout > 0)
      return "divides sequences of TPUs by all-gather alone where something is dropped";
    set("context_parallel_strategy", toAll ? "\"ulysses\"" : ring ? "\"ring\"" : "\"all_gather\"");
    if (isTpu() && (ring || toAll))
      set("attention", "\"flash\""), set("use_tokamax_splash", true);
    if (toAll)
      set("context_parallel_load_balance", false);
    return {};
  }

  /// Degrees of each axis, within servers from the devices that are neighbours on; samples of a device, which may be
  /// less than one.
  std::string axes(const LaunchLayout &shape) {
    if (config.tensor > 1 && config.expert > 1 && config.expertTensor != config.tensor)
      return "divides each expert as all else; the plan divides whole experts among tensor parallel devices";
    if (std::string reason = contexts(shape); !reason.empty())
      return reason;
    const int64_t replicas = config.data / config.context / config.expert;
    const bool stages = groups > 1, divides = config.zero >= 2;
    std::vector<std::pair<const char *, int64_t>> all{{config.sequence ? "tensor_sequence" : "tensor", config.tensor},
                                                      {"context", config.context},
                                                      {"expert", config.expert},
                                                      {divides ? "fsdp" : "data", replicas},
                                                      {divides ? "data" : "fsdp", 1},
                                                      {"pipeline", stages ? static_cast<int64_t>(groups) : 1}};
    if (config.order == RankOrder::TensorPipelineData)
      std::swap(all[3], all[5]);
    int64_t left = shape.perNode;
    for (const auto &[axis, degree] : all) {
      const int64_t within = std::gcd(left, degree);
      left /= within;
      if (within < degree && left > 1)
        return fmt::format("fills servers with whole axes; {} devices of a server are no part of the degree {} of '{}'",
                           shape.perNode, degree, axis);
      set(fmt::format("ici_{}_parallelism", axis), within);
      set(fmt::format("dcn_{}_parallelism", axis), degree / within);
    }
    if (shape.nodes > 1)
      set("num_slices", shape.nodes);
    const int64_t devices = shape.nodes * shape.perNode;
    const __int128 samples = static_cast<__int128>(config.samples()) * (stages ? placement.microbatches : 1);
    if (samples % devices == 0) {
      set("per_device_batch_size", static_cast<int64_t>(samples / devices));
      return {};
    }
    constexpr int64_t kDigits = 1000000000; // rounded up: MaxText multiplies by the devices and rounds down
    const __int128 scaled = (samples * kDigits + devices - 1) / devices;
    std::string digits =
        fmt::format("{}.{:09}", static_cast<int64_t>(scaled / kDigits), static_cast<int64_t>(scaled % kDigits));
    digits.erase(digits.find_last_not_of('0') + 1);
    set("per_device_batch_size", digits);
    return {};
  }

  /// "minimal_with_context" keeps what products give, and "minimal" all of it but what attention computes inside.
  void recompute() {
    const BlockRecompute blocks = blockRecompute(plan);
    const double maxMore = static_cast<double>(blocks.untilFull) * 1e-9;
    set("remat_policy", blocks.full > 0        ? "\"full\""
                        : blocks.selective > 0 ? "\"minimal\""
                                               : "\"minimal_with_context\"");
    if (blocks.full > 0 && blocks.none + blocks.selective > 0)
      out.remarks.push_back(
          fmt::format("slower than planned by {:.3g} ms a step at most: of {} blocks the plan recomputes "
                      "{} in full, MaxText all of them",
                      maxMore, blocks.blocks, blocks.full));
    else if (blocks.full == 0 && blocks.none > 0)
      out.remarks.push_back(
          fmt::format("slower than planned by {:.3g} ms a step at most: {} blocks keep all in the plan, "
                      "MaxText computes norms and activations again",
                      maxMore, blocks.none));
  }

  const PlacementPlan &plan;
  const Placement &placement;
  const ParallelConfig &config;
  size_t groups;
  std::string text;
  LaunchProgram out;
};

} // namespace

Result<LaunchProgram> maxTextProgram(const PlacementPlan &plan, const LaunchLayout &shape) {
  return MaxText(plan).run(shape);
}

} // namespace accord
