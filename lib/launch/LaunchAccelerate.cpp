// A plan in the words of Hugging Face Accelerate: PyTorch's DDP or FSDP2 around a model of Transformers.
#include "lib/launch/TransformersModel.h"
#include <fmt/format.h>

namespace accord {
namespace {

/// What neither DDP nor FSDP2 has words for, and without which the step is another one or does not fit.
std::string refusal(const PlacementPlan &plan, const ParallelConfig &config) {
  if (std::string reason = refusalOf(featuresOf(Launcher::Accelerate), plan); !reason.empty())
    return reason;
  if (config.data > 1 && config.zero == 1)
    return "shards nothing (DDP) or gradients and weights, too (FSDP2); the plan has ZeRO 1, which DeepSpeed has";
  if (config.context > 1 && config.zero < 2)
    return fmt::format("divides sequences beside FSDP2 alone; the plan does so with ZeRO {}", config.zero);
  if (config.context > 1 && plan.architecture && !plan.architecture->causal)
    return fmt::format("divides sequences of causal attention alone; '{}' has another one", plan.model);
  if (config.hostStates && (config.data == 1 || config.zero < 2))
    return "offloads what FSDP2 shards; the plan has one replica, or replicas that are whole";
  return {};
}

/// Words of FSDP2, with what of it Accelerate calls "reshard after forward": ZeRO 3; else weights stay gathered from
/// the forward to the backward pass.
void addFsdp(LaunchProgram &program, const ParallelConfig &config, const TransformersModel &model, bool checkpoints) {
  auto add = [&](std::string word) { program.start.push_back(std::move(word)); };
  add("--use_fsdp --fsdp_version 2");
  add(fmt::format("--fsdp_reshard_after_forward {}", config.zero == 3 ? "true" : "false"));
  add("--fsdp_auto_wrap_policy TRANSFORMER_BASED_WRAP");
  add("--fsdp_transformer_layer_cls_to_wrap " + model.blocks);
  if (config.context > 1) {
    add(fmt::format("--use_parallelism_config --parallelism_config_dp_shard_size {}", config.data / config.context));
    add(fmt::format("--parallelism_config_cp_size {}", config.context));
    add(fmt::format("--parallelism_config_cp_comm_strategy {}",
                    config.contextExchange == ContextExchange::Ring ? "alltoall" : "allgather"));
  }
  add("--fsdp_state_dict_type SHARDED_STATE_DICT");
  add(fmt::format("--fsdp_offload_params {}", config.hostStates ? "true" : "false"));
  add(fmt::format("--fsdp_activation_checkpointing {}", checkpoints ? "true" : "false"));
}

} // namespace

Result<LaunchProgram> accelerateProgram(const PlacementPlan &plan, const LaunchLayout &shape) {
  const Placement &placement = *plan.result.plan;
  const ParallelConfig &config = plan.problem.parallelConfigs[placement.stages.front().parallelConfig];
  if (std::string reason = refusal(plan, config); !reason.empty())
    return Error{Code::LauncherCannot, "Accelerate " + reason, plan.location, {}};
  LaunchProgram program;
  program.usage = "TRANSFORMERS=/path ";
  program.needed.push_back({"TRANSFORMERS", "folder of Hugging Face Transformers"});
  ACCORD_TRY(model, transformersModel(program, plan, "Accelerate"));
  const bool checkpoints = checkpointsBlocks(program, plan, "Accelerate");
  const bool shards = config.data > 1 && config.zero >= 2;
  program.start.push_back(
      fmt::format("accelerate launch --num_machines {} --num_processes {}", shape.nodes, shape.nodes * shape.perNode));
  program.start.push_back("--machine_rank \"$NODE_RANK\" --main_process_ip \"$MASTER_ADDR\"");
  program.start.push_back("--main_process_port \"$MASTER_PORT\"");
  if (shards)
    addFsdp(program, config, model, checkpoints);
  else if (config.data > 1)
    program.start.push_back("--multi_gpu");
  const PlannedPrecision precision = precisionOf(plan);
  if (precision.isMixed)
    program.start.push_back("--mixed_precision " + precision.type);
  else if (precision.type != "fp32")
    program.remarks.push_back("precision '" + plan.precision + "' has to be chosen by hand");
  program.start.push_back(model.script);
  addTransformersArguments(program, plan, model, checkpoints && !shards);
  if (shards && placement.microbatches > 1) { // else all gradients are kept until the last micro-batch
    program.arguments.push_back(
        "--accelerator_config '{\"gradient_accumulation_kwargs\": {\"sync_each_batch\": true}}'");
    remarkExchanges(program, plan);
  }
  if (shards)
    remarkFramework(program, plan, "fsdp");
  return program;
}

} // namespace accord
