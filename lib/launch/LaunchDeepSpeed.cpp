// A plan in the words of DeepSpeed: its JSON, and a model of Transformers whose trainer reads it (--deepspeed). Keys
// and their meaning: deepspeed.ai/docs/config-json; values "auto" are filled in by the trainer from its own arguments.
#include "lib/launch/TransformersModel.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord {
namespace {

std::string refusal(const PlacementPlan &plan, const ParallelConfig &config) {
  if (std::string reason = refusalOf(featuresOf(Launcher::DeepSpeed), plan); !reason.empty())
    return reason;
  if (config.hostWeights && config.zero < 3)
    return fmt::format("offloads weights where they are divided (ZeRO 3) alone; the plan has them on the host with "
                       "ZeRO {}",
                       config.zero);
  if (config.hostStates && config.zero == 0)
    return "offloads states of the optimizer from ZeRO 1 on; the plan has them on the host with ZeRO 0";
  return {};
}

/// "zero_optimization": states from stage 1 on are divided, gradients from 2 on, weights in 3.
std::string zeroText(const ParallelConfig &config) {
  std::vector<std::string> all{fmt::format("\"stage\": {}", config.zero)};
  if (config.zero >= 1) {
    all.push_back("\"overlap_comm\": true"); // the plan hides the exchange behind the backward pass
    all.push_back("\"contiguous_gradients\": true");
    all.push_back("\"reduce_scatter\": true");
  }
  if (config.zero == 3)
    all.push_back("\"stage3_gather_16bit_weights_on_model_save\": true");
  const char *host = "{\"device\": \"cpu\", \"pin_memory\": true}";
  if (config.hostStates)
    all.push_back(fmt::format("\"offload_optimizer\": {}", host));
  if (config.hostWeights)
    all.push_back(fmt::format("\"offload_param\": {}", host));
  return fmt::format("{{\n    {}\n  }}", fmt::join(all, ",\n    "));
}

std::string optimizerText(LaunchProgram &program, const PlacementPlan &plan) {
  if (plan.optimizer == "adam" || plan.optimizer == "adamw")
    return "{\n    \"type\": \"AdamW\",\n    \"params\": {\"lr\": \"auto\", \"betas\": \"auto\", \"eps\": \"auto\", "
           "\"weight_decay\": \"auto\"}\n  }";
  if (plan.optimizer != "sgd")
    program.remarks.push_back("optimizer '" + plan.optimizer + "' has to be chosen by hand");
  return {};
}

std::string configurationText(LaunchProgram &program, const PlacementPlan &plan, const ParallelConfig &config) {
  const PlannedPrecision precision = precisionOf(plan);
  std::vector<std::string> all{
      fmt::format("\"train_batch_size\": {}", plan.problem.batch),
      fmt::format("\"train_micro_batch_size_per_gpu\": {}", config.microbatch),
      fmt::format("\"gradient_accumulation_steps\": {}", plan.result.plan->microbatches),
      "\"gradient_clipping\": \"auto\"",
      "\"zero_optimization\": " + zeroText(config),
  };
  if (precision.type == "bf16" || precision.type == "fp16")
    all.push_back(fmt::format("\"{}\": {{\"enabled\": true}}", precision.type));
  else if (precision.type != "fp32")
    program.remarks.push_back("precision '" + plan.precision + "' has to be chosen by hand");
  if (precision.type == "bf16" && !precision.isMixed)
    program.remarks.push_back(
        fmt::format("DeepSpeed keeps fp32 weights beside those in bf16, the plan does not: {} bytes "
                    "more of all devices together",
                    static_cast<int64_t>(std::min<__int128>(INT64_MAX, static_cast<__int128>(4) * plan.parameters))));
  if (plan.deviceMemory && precision.type == "bf16" && precision.isMixed)
    all.push_back(fmt::format("\"data_types\": {{\"grad_accum_dtype\": \"{}\"}}",
                              plan.deviceMemory->fp32Gradients ? "fp32" : "bf16"));
  if (std::string optimizer = optimizerText(program, plan); !optimizer.empty()) {
    all.push_back("\"optimizer\": " + optimizer);
  } else { // of the trainer, which DeepSpeed has to be told to divide
    all.push_back("\"zero_allow_untested_optimizer\": true");
    if (config.hostStates)
      all.push_back("\"zero_force_ds_cpu_optimizer\": false");
  }
  return fmt::format("{{\n  {}\n}}\n", fmt::join(all, ",\n  "));
}

} // namespace

Result<LaunchProgram> deepSpeedProgram(const PlacementPlan &plan, const LaunchLayout &shape) {
  const Placement &placement = *plan.result.plan;
  const ParallelConfig &config = plan.problem.parallelConfigs[placement.stages.front().parallelConfig];
  if (std::string reason = refusal(plan, config); !reason.empty())
    return Error{Code::LauncherCannot, "DeepSpeed " + reason, plan.location, {}};
  LaunchProgram program;
  program.usage = "TRANSFORMERS=/path ";
  program.needed.push_back({"TRANSFORMERS", "folder of Hugging Face Transformers"});
  ACCORD_TRY(model, transformersModel(program, plan, "DeepSpeed"));
  const bool checkpoints = checkpointsBlocks(program, plan, "Transformers");
  program.files.push_back({"ds_config.json", configurationText(program, plan, config)});
  program.start.push_back(torchrunText(shape));
  program.start.push_back(model.script);
  program.arguments.push_back("--deepspeed \"$folder/ds_config.json\"");
  addTransformersArguments(program, plan, model, checkpoints);
  const PlannedPrecision precision = precisionOf(plan);
  if (precision.type == "bf16" || precision.type == "fp16") // the trainer refuses other types than those of the JSON
    program.arguments.push_back(fmt::format("--{} true", precision.type));
  if (config.zero >= 2)
    remarkExchanges(program, plan);
  remarkFramework(program, plan, "deepspeed");
  return program;
}

} // namespace accord
