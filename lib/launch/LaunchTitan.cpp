// A plan in the words of torchtitan 0.2: its TOML (torchtitan/config/job_config.py), and a module that adds the model
// to those that torchtitan knows. Newer versions read configurations of Python alone.
#include "lib/launch/LauncherFeatures.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace accord {
namespace {

class Titan {
public:
  explicit Titan(const PlacementPlan &plan)
      : plan(plan), placement(*plan.result.plan),
        config(plan.problem.parallelConfigs[placement.stages.front().parallelConfig]), groups(placement.groups()),
        replicas(config.data / config.context) {}

  Result<LaunchProgram> run(const LaunchLayout &shape) {
    const LauncherFeatures &features = featuresOf(Launcher::Titan);
    std::string reason = refusalOf(features, plan);
    if (reason.empty() && plan.architecture)
      reason = refusalOfModel(features, *plan.architecture, plan.model);
    for (auto part : {&Titan::degrees, &Titan::schedule, &Titan::model})
      if (reason.empty())
        reason = (this->*part)();
    if (!reason.empty())
      return Error{Code::LauncherCannot, fmt::format("{} {}", features.name, reason), plan.location, {}};
    training();
    recompute();
    out.exports.push_back("export PYTHONPATH=\"$folder${PYTHONPATH:+:$PYTHONPATH}\"");
    out.exports.push_back("export PYTORCH_ALLOC_CONF=\"expandable_segments:True\"");
    std::string text;
    for (const char *name :
         {"model", "training", "parallelism", "activation_checkpoint", "optimizer", "compile", "experimental"})
      if (const auto section = sections.find(name); section != sections.end())
        text += fmt::format("{}[{}]\n{}\n", text.empty() ? "" : "\n", name, fmt::join(section->second, "\n"));
    out.files.insert(out.files.begin(), {"titan.toml", text});
    out.start.push_back(torchrunText(shape));
    out.start.push_back("-m torchtitan.train --job.config_file \"$folder/titan.toml\"");
    remarkFramework(out, plan, "fsdp");
    return std::move(out);
  }

private:
  void set(const char *section, const char *key, int64_t value) {
    sections[section].push_back(fmt::format("{} = {}", key, value));
  }
  void set(const char *section, const char *key, const std::string &value) {
    sections[section].push_back(fmt::format("{} = \"{}\"", key, value));
  }
  void set(const char *section, const char *key, bool value) {
    sections[section].push_back(fmt::format("{} = {}", key, value ? "true" : "false"));
  }

  /// Degrees and what is divided. FSDP2 divides weights, gradients and states; DDP runs beside no other degree.
  std::string degrees() {
    const bool replicates =
        config.zero == 0 && config.data > 1 && config.tensor == 1 && config.context == 1 && groups == 1;
    const bool shards = config.data > 1 && !replicates;
    if (config.hostStates && !shards)
      return "offloads what it shards; the plan has one replica, or replicas that are whole";
    set("parallelism", "data_parallel_replicate_degree", replicates ? replicas : 1);
    set("parallelism", "data_parallel_shard_degree", replicates ? 1 : replicas);
    if (shards)
      set("parallelism", "fsdp_reshard_after_forward", std::string(config.zero == 3 ? "always" : "never"));
    if (shards && config.zero < 2)
      out.remarks.push_back(fmt::format("less memory than planned: weights, gradients and states are divided among {} "
                                        "devices, the plan has ZeRO {}; gradients are scattered and weights gathered "
                                        "where it adds gradients up, of the same bytes in all",
                                        config.data, config.zero));
    set("parallelism", "tensor_parallel_degree", config.tensor);
    if (config.tensor > 1 && !config.sequence)
      out.remarks.push_back("less memory than planned: norms are divided along the sequence, too");
    set("parallelism", "enable_async_tensor_parallel", config.ringOverlap);
    if (config.ringOverlap)
      set("compile", "enable", true);
    set("parallelism", "context_parallel_degree", config.context);
    if (config.context > 1)
      set("parallelism", "context_parallel_rotate_method",
          std::string(config.contextExchange == ContextExchange::Ring ? "alltoall" : "allgather"));
    if (config.expert > 1) {
      set("parallelism", "expert_parallel_degree", config.expertDegree());
      set("parallelism", "expert_tensor_parallel_degree", config.expertTensor);
    }
    if (config.order == RankOrder::TensorPipelineData && groups > 1)
      out.remarks.push_back("other ranks than planned: replicas are neighbours, stages apart, so that their transfers "
                            "may be on other links");
    if (groups == 1 && config.data > 1)
      remarkExchanges(out, plan);
    return {};
  }

  std::string schedule() {
    set("parallelism", "pipeline_parallel_degree", static_cast<int64_t>(groups));
    if (groups == 1)
      return {};
    static const std::map<PipelineSchedule, const char *> names{{PipelineSchedule::GPipe, "GPipe"},
                                                                {PipelineSchedule::OneFOneB, "1F1B"},
                                                                {PipelineSchedule::Interleaved, "Interleaved1F1B"},
                                                                {PipelineSchedule::ZeroBubbleV, "ZBVZeroBubble"}};
    const StageBlocks cut = stageBlocks(plan);
    if (!cut.refusal.empty())
      return cut.refusal;
    set("parallelism", "pipeline_parallel_schedule", std::string(names.at(placement.schedule)));
    set("parallelism", "pipeline_parallel_microbatch_size", config.microbatch);
    std::vector<std::string> parts;
    for (size_t s = 0; s < cut.stages.size(); ++s) {
      std::vector<std::string> modules;
      if (s == 0)
        modules.push_back("\"tok_embeddings\"");
      for (PlacementProblem::Id block = cut.stages[s].first; block < cut.stages[s].end; ++block)
        modules.push_back(fmt::format("\"layers.{}\"", block));
      if (s + 1 == cut.stages.size())
        modules.insert(modules.end(), {"\"norm\"", "\"output\""});
      parts.push_back(fmt::format("  [{}],\n", fmt::join(modules, ", ")));
    }
    sections["parallelism"].push_back(fmt::format("module_fqns_per_model_part = [\n{}]", fmt::join(parts, "")));
    return {};
  }

  /// Llama of any sizes: torchtitan's llama3 has an own head and heads that fill the hidden size; its qwen3 without
  /// norms of queries and keys has any, and experts, but no pipeline.
  std::string model() {
    if (!plan.architecture) {
      set("model", "name", out.ask(plan, "TITAN_MODEL", "name in torchtitan"));
      set("model", "flavor", out.ask(plan, "TITAN_FLAVOR", "flavor in torchtitan"));
      return {};
    }
    const ModelArchitecture &of = *plan.architecture;
    const bool experts = of.experts > 1;
    const bool plain = !experts && !of.tiedEmbeddings && static_cast<__int128>(of.heads) * of.headSize == of.hidden;
    if (!plain && groups > 1)
      return fmt::format("has no pipeline for models {}; the plan has {} stages",
                         experts             ? "with experts"
                         : of.tiedEmbeddings ? "whose head is the token table"
                                             : "whose heads do not fill the hidden size",
                         placement.stages.size());
    if (config.expert > 1 && !experts)
      return "divides experts alone among replicas, and the model has none";
    set("model", "name", std::string(plain ? "llama3" : "qwen3"));
    set("model", "flavor", std::string("accord"));
    set("experimental", "custom_import", std::string("accord_model"));
    out.files.push_back({"accord_model.py", plain ? llama(of) : qwen(of)});
    remarkCapacity(out, of, "torchtitan");
    remarkDropout(out, plan, "torchtitan", {});
    remarkPredictions(out, plan);
    return {};
  }

  std::string sizesOf(const ModelArchitecture &of) const {
    return fmt::format("    dim={},\n    n_layers={},\n    n_heads={},\n    n_kv_heads={},\n    vocab_size={},\n{}{}",
                       of.hidden, of.layers, of.heads, of.keyValueHeads, of.vocabulary,
                       of.normEpsilon > 0 ? fmt::format("    norm_eps={:g},\n", of.normEpsilon) : "",
                       of.rotaryBase > 0 ? fmt::format("    rope_theta={:.17g},\n", of.rotaryBase) : "");
  }
  /// The inner size is 2 / 3 of 4 dim, times the multiplier, rounded up to a multiple: of itself, here.
  std::string llama(const ModelArchitecture &of) const {
    const __int128 usual = static_cast<__int128>(of.hidden) * 8 / 3;
    return fmt::format("from torchtitan.models.llama3 import TransformerModelArgs, llama3_args\n\n"
                       "llama3_args[\"accord\"] = TransformerModelArgs(\n{}    multiple_of={},\n{}"
                       ")\n"
                       "# Llama 3.1 stretches rotary positions; the plan does not.\n"
                       "if hasattr(llama3_args[\"accord\"], \"rope_scaling_args\"):\n"
                       "    llama3_args[\"accord\"].rope_scaling_args.scaling_factor = 1.0\n",
                       sizesOf(of), of.inner,
                       usual > of.inner ? fmt::format("    ffn_dim_multiplier={} / {},\n", of.inner, 2 * usual) : "");
  }
  std::string qwen(const ModelArchitecture &of) const {
    std::string experts;
    if (of.experts > 1)
      experts = fmt::format("    moe_enabled=True,\n    moe_inter_dim={},\n    moe_args=MoEArgs(\n"
                            "        num_experts={},\n        num_shared_experts=0,\n        top_k={},\n"
                            "        score_func=\"softmax\",\n        route_norm={},\n"
                            "        score_before_experts=False,\n        load_balance_coeff=None,\n    ),\n",
                            of.inner, of.experts, std::max<int64_t>(1, of.expertsPerToken),
                            of.expertsNormalized ? "True" : "False");
    return fmt::format("from torchtitan.models.moe import MoEArgs\n"
                       "from torchtitan.models.qwen3 import Qwen3ModelArgs, qwen3_args\n\n"
                       "qwen3_args[\"accord\"] = Qwen3ModelArgs(\n{}    head_dim={},\n    hidden_dim={},\n"
                       "    qk_norm=False,\n    enable_weight_tying={},\n{})\n",
                       sizesOf(of), of.headSize, of.inner, of.tiedEmbeddings ? "True" : "False", experts);
  }

  /// Samples, types and the optimizer.
  void training() {
    set("training", "local_batch_size", groups > 1 ? config.microbatch * placement.microbatches : config.microbatch);
    set("training", "global_batch_size", plan.problem.batch);
    if (const int64_t sequence = sequenceOf(plan); sequence > 0)
      set("training", "seq_len", sequence);
    else
      sections["training"].push_back("seq_len = " + out.ask(plan, "SEQUENCE_LENGTH", "tokens of a sample"));
    set("training", "enable_cpu_offload", config.hostStates);
    const PlannedPrecision precision = precisionOf(plan);
    const bool whole = precision.type == "fp32" || precision.type == "tf32";
    set("training", "dtype", std::string(precision.isMixed || whole ? "float32" : "bfloat16"));
    set("training", "mixed_precision_param", std::string(whole ? "float32" : "bfloat16"));
    set("training", "mixed_precision_reduce", std::string("float32"));
    if (precision.type == "fp8")
      sections["model"].push_back("converters = [\"quantize.linear.float8\"]");
    if (precision.type == "tf32")
      out.remarks.push_back("products in tf32 need torch.set_float32_matmul_precision(\"high\")");
    set("optimizer", "name", std::string(plan.optimizer == "adam" ? "Adam" : "AdamW"));
  }

  /// The largest N with which recomputing every Nth block of each stage, counted from its first one, recomputes as many
  /// as planned; 1 where virtual stages have different numbers of micro-batches in flight, or layers are no blocks.
  int64_t everyBlock(const BlockRecompute &blocks) const {
    if (placement.virtualStages > 1 || !plan.architecture || plan.architecture->layers != blocks.blocks)
      return 1;
    int64_t every = blocks.blocks;
    for (const BlockRecompute::Stage &stage : blocks.stages)
      if (stage.recomputed > 0)
        every = std::min(every, stage.blocks / stage.recomputed);
    return every;
  }

  void recompute() {
    const BlockRecompute blocks = blockRecompute(plan);
    const int64_t every = everyBlock(blocks);
    if (blocks.full > 0 && every > 1) {
      int64_t all = 0;
      for (const BlockRecompute::Stage &stage : blocks.stages)
        all += stage.blocks / every;
      set("activation_checkpoint", "mode", std::string("selective"));
      set("activation_checkpoint", "selective_ac_option", std::to_string(every));
      if (blocks.selective > 0 || all > blocks.full)
        out.remarks.push_back(fmt::format("slower than planned by {:.3g} ms a step at most: of {} blocks the plan "
                                          "recomputes {} in full and {} selectively, torchtitan {} in full",
                                          static_cast<double>(blocks.untilFull) * 1e-9, blocks.blocks, blocks.full,
                                          blocks.selective, all));
      return;
    }
    const bool full = blocks.full > 0, some = blocks.selective > 0;
    set("activation_checkpoint", "mode", std::string(full ? "full" : some ? "selective" : "none"));
    const double maxMore = static_cast<double>(blocks.untilFull) * 1e-9;
    if (full && blocks.none + blocks.selective > 0)
      out.remarks.push_back(
          fmt::format("slower than planned by {:.3g} ms a step at most: of {} blocks the plan recomputes "
                      "{} in full, torchtitan all of them",
                      maxMore, blocks.blocks, blocks.full));
    if (full || !some)
      return;
    set("activation_checkpoint", "selective_ac_option", std::string("op"));
    out.remarks.push_back(fmt::format("slower than planned by {:.3g} ms a step at most: {} blocks recompute attention "
                                      "alone in the plan, torchtitan every second product besides and in every block",
                                      maxMore, blocks.selective));
  }

  const PlacementPlan &plan;
  const Placement &placement;
  const ParallelConfig &config;
  size_t groups;
  int64_t replicas;
  std::map<std::string, std::vector<std::string>> sections;
  LaunchProgram out;
};

} // namespace

Result<LaunchProgram> titanProgram(const PlacementPlan &plan, const LaunchLayout &shape) {
  return Titan(plan).run(shape);
}

} // namespace accord
