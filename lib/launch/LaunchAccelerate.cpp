// A plan in the words of Hugging Face Accelerate: PyTorch's FSDP around the blocks of a model of Transformers.
#include "lib/launch/Launch.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {
namespace {

using Id = PlacementProblem::Id;

/// A model of Transformers: its name, the class of its blocks, and what its configuration calls the sizes of a model
/// here.
struct KnownModel {
  const char *begins, *type, *block;
  std::vector<std::pair<const char *, const char *>> sizes;
};
const KnownModel kModels[] = {
    {"gpt2",
     "gpt2",
     "GPT2Block",
     {{"hidden", "n_embd"}, {"heads", "n_head"}, {"vocab", "vocab_size"}, {"seq", "n_positions"}}},
    {"llama",
     "llama",
     "LlamaDecoderLayer",
     {{"hidden", "hidden_size"},
      {"inner", "intermediate_size"},
      {"heads", "num_attention_heads"},
      {"kv_heads", "num_key_value_heads"},
      {"vocab", "vocab_size"},
      {"seq", "max_position_embeddings"}}},
};
const char *layersOf(const KnownModel &model) {
  return llvm::StringRef(model.type) == "gpt2" ? "n_layer" : "num_hidden_layers";
}

class Accelerate {
public:
  explicit Accelerate(const PlacementPlan &plan)
      : problem(plan.problem), plan(plan), placement(*plan.result.plan),
        parallelConfig(problem.parallelConfigs[placement.stages.front().parallelConfig]) {}

  Result<AccelerateArguments> run() {
    if (auto reason = refused())
      return Error{Code::LauncherCannot, "Accelerate " + std::move(*reason), plan.location, {}};
    if (auto reason = recompute())
      return Error{Code::LauncherCannot, "Accelerate " + std::move(*reason), plan.location, {}};
    const KnownModel *model = known();
    launch("--use_fsdp");
    launch(fmt::format("--fsdp_sharding_strategy {}", parallelConfig.zero == 3 ? "FULL_SHARD" : "SHARD_GRAD_OP"));
    launch("--fsdp_auto_wrap_policy TRANSFORMER_BASED_WRAP");
    launch("--fsdp_transformer_layer_cls_to_wrap " +
           (model ? std::string(model->block) : "\"${LAYER_CLASS:?class of a block of the model}\""));
    launch("--fsdp_backward_prefetch BACKWARD_PRE");
    launch(fmt::format("--fsdp_activation_checkpointing {}", recomputes ? "true" : "false"));
    if (plan.precision.find("bf16") != std::string::npos)
      launch("--mixed_precision bf16");
    else if (plan.precision.find("fp16") != std::string::npos)
      launch("--mixed_precision fp16");
    sizes(model);
    train(fmt::format("--per_device_train_batch_size {}", parallelConfig.microbatch));
    train(fmt::format("--gradient_accumulation_steps {}", placement.microbatches));
    if (plan.optimizer == "adam" || plan.optimizer == "adamw")
      train("--optim adamw_torch");
    else
      out.remarks.push_back("optimizer '" + plan.optimizer + "' has to be chosen by hand");
    if (plan.deviceMemory && plan.deviceMemory->framework != "fsdp")
      out.remarks.push_back(fmt::format("memory was planned with framework '{}'", plan.deviceMemory->framework));
    return std::move(out);
  }

private:
  void launch(std::string argument) { out.launch.push_back(std::move(argument)); }
  void train(std::string argument) { out.train.push_back(std::move(argument)); }

  /// What FSDP has no words for, and without which the step is another one.
  std::optional<std::string> refused() const {
    if (placement.groups() > 1)
      return fmt::format("has no pipeline; the plan has {} stages", placement.stages.size());
    if (parallelConfig.tensor > 1)
      return fmt::format("shards states and weights alone; the plan has a tensor parallel degree of {}",
                         parallelConfig.tensor);
    if (parallelConfig.context > 1)
      return fmt::format("leaves sequences whole; the plan divides each among {} devices", parallelConfig.context);
    if (parallelConfig.data > 1 && parallelConfig.zero < 2)
      return fmt::format("shards gradients (SHARD_GRAD_OP) or weights too (FULL_SHARD); the plan has ZeRO {}",
                         parallelConfig.zero);
    if (parallelConfig.expert > 1 || parallelConfig.tables != Tables::Whole)
      return "does not divide experts or embedding tables among replicas";
    if (parallelConfig.hostStates || parallelConfig.hostWeights)
      return "offloads weights with the optimizer or neither; let the plan keep both on the devices";
    return std::nullopt;
  }

  /// All blocks are computed again or none is.
  std::optional<std::string> recompute() {
    int64_t full = 0, none = 0;
    std::map<Id, int64_t> counts;
    for (const PlacementProblem::Layer &layer : problem.layers)
      ++counts[layer.of];
    Id blocks = std::ranges::max_element(counts, {}, &std::pair<const Id, int64_t>::second)->first;
    for (const PlacedStage &stage : placement.stages)
      for (size_t i = 0; i < stage.layers.size(); ++i) {
        const RecomputeChoice &choice = problem.choiceOf(stage, i);
        if (choice.hostActivations > 0)
          return "keeps activations on the devices; the plan has some on the host";
        if (problem.layers[stage.layers[i]].of != blocks)
          continue;
        ++layers;
        if (choice.policy != "none" && choice.policy != "full")
          return "checkpoints whole blocks; the plan recomputes some of them selectively";
        ++(choice.policy == "full" ? full : none);
      }
    recomputes = full > 0;
    if (full > 0 && none > 0)
      out.remarks.push_back(
          fmt::format("slower than planned: {} blocks keep all in the plan, Accelerate checkpoints every block", none));
    return std::nullopt;
  }

  const KnownModel *known() const {
    for (const KnownModel &model : kModels)
      if (llvm::StringRef(plan.model).starts_with(model.begins))
        return &model;
    return nullptr;
  }

  /// The model's type and sizes, as run_clm.py of Transformers takes them.
  void sizes(const KnownModel *model) {
    if (!model) {
      train("--model_type \"${MODEL_TYPE:?model of Transformers}\"");
      train("--config_overrides \"${CONFIG_OVERRIDES:?sizes of the model, as hidden_size=4096}\"");
      return;
    }
    std::string overrides = fmt::format("{}={}", layersOf(*model), layers);
    int64_t sequence = 0;
    for (const auto &[name, value] : plan.sizes)
      for (auto [ours, theirs] : model->sizes)
        if (name == ours && value > 0) {
          overrides += fmt::format(",{}={}", theirs, value);
          sequence = name == "seq" ? value : sequence;
        }
    train(fmt::format("--model_type {}", model->type));
    train("--config_overrides " + overrides);
    if (sequence > 0)
      train(fmt::format("--block_size {}", sequence));
  }

  const PlacementProblem &problem;
  const PlacementPlan &plan;
  const Placement &placement;
  const ParallelConfig &parallelConfig;
  int64_t layers = 0;
  bool recomputes = false;
  AccelerateArguments out;
};

} // namespace

Result<AccelerateArguments> accelerateArguments(const PlacementPlan &plan) {
  if (!plan.result.plan)
    return Error{Code::NotAPlacement, "there is no plan to launch: the job is infeasible", plan.location, {}};
  return Accelerate(plan).run();
}

} // namespace accord
