// A check of the arguments of Megatron-LM where it is installed: the model that they build, without its memory.
#include "lib/launch/Launch.h"
#include "lib/launch/MegatronModel.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {
namespace {

// No argument of the plan's degrees is there: one rank has the whole model. `local` modules have the same parameters as
// those of Transformer Engine and need no device; relative positions are of the latter alone. Models with norms behind
// their blocks read numbers while they are built, which the meta device has not.
constexpr const char *kSmoke = R"py(#!/usr/bin/env python3
"""{title}

Builds the model of the plan with Megatron-LM on the {device} device, by the arguments of the launch script but those of its
degrees, and compares its parameters with the plan's.

usage: MEGATRON=/path {name}
"""
import importlib
import os
import sys

SCRIPT = "{script}"
ARGUMENTS = [
{arguments}]
ROWS = {rows}  # of the table of tokens, which is not padded here
PLANNED = {planned}  # parameters


def build():
    """The model of one rank."""
    import torch
    from megatron.core import parallel_state
    from megatron.core.enums import ModelType
    from megatron.training.arguments import parse_args, validate_args
    from megatron.training.global_vars import set_args

    sys.argv = [SCRIPT + ".py", *ARGUMENTS]
    args = parse_args()
    validate_args(args)
    args.padded_vocab_size = ROWS
    args.model_type = ModelType.{type}
    set_args(args)
    torch.distributed.init_process_group("gloo", rank=0, world_size=1)
    parallel_state.initialize_model_parallel(1, 1)
    with torch.device("{device}"):
        return importlib.import_module(SCRIPT).model_provider()


def main():
    folder = os.environ.get("MEGATRON")
    if not folder:
        sys.exit("MEGATRON: folder of Megatron-LM")
    sys.path.insert(0, folder)
    for variable, value in (("RANK", "0"), ("LOCAL_RANK", "0"), ("WORLD_SIZE", "1"), ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "{port}")):
        os.environ[variable] = value
    found = sum(parameter.numel() for parameter in build().parameters())
    if found != PLANNED:
        sys.exit(f"{{found}} parameters, planned are {{PLANNED}}")
    print(f"{{found}} parameters, as planned")


if __name__ == "__main__":
    main()
)py";

} // namespace

Result<std::string> megatronSmokeText(const PlacementPlan &plan) {
  ACCORD_TRY(layout, launchLayout(plan));
  if (auto whole = megatronArguments(plan); !whole)
    return whole.error();
  if (!plan.architecture)
    return Error{Code::LauncherCannot,
                 "the plan does not say which model it is of, so nothing can be compared",
                 plan.location,
                 {}};
  const ModelArchitecture &architecture = *plan.architecture;
  ACCORD_TRY(model, megatronModel(plan, architecture));
  std::string arguments;
  auto add = [&](std::string_view words) {
    while (!words.empty()) {
      size_t end = std::min(words.find(' '), words.size());
      arguments += fmt::format("    \"{}\",\n", words.substr(0, end));
      words.remove_prefix(std::min(end + 1, words.size()));
    }
  };
  // What has no parameters and asks for a device, or for modules of Transformer Engine.
  constexpr std::string_view kLeftOut[] = {"--make-vocab-size-divisible-by", "--attention-backend",
                                           "--moe-token-dispatcher-type",    "--moe-expert-capacity-factor",
                                           "--moe-pad-expert-input",         "--moe-token-drop-policy"};
  bool isLegacy = false;
  for (const std::string &argument : model.arguments) {
    isLegacy |= argument == "--use-legacy-models";
    if (std::ranges::none_of(kLeftOut, [&](std::string_view one) { return argument.starts_with(one); }))
      add(argument);
  }
  bool isCoder = architecture.family == ModelArchitecture::Family::EncoderDecoder;
  bool isRelative = architecture.positions == ModelArchitecture::Positions::Relative;
  for (const char *argument :
       {"--make-vocab-size-divisible-by 1", "--micro-batch-size 1", "--global-batch-size 1", "--use-cpu-initialization",
        "--no-initialization", "--no-gradient-accumulation-fusion", "--no-persist-layer-norm", "--no-rope-fusion"})
    add(argument);
  add(isRelative ? "--transformer-impl transformer_engine" : "--transformer-impl local");
  std::string script = model.script.substr(0, model.script.rfind('.'));
  return fmt::format(
      fmt::runtime(kSmoke), fmt::arg("title", layout.title), fmt::arg("name", "megatron_smoke.py"),
      fmt::arg("script", script), fmt::arg("arguments", arguments), fmt::arg("rows", architecture.vocabulary),
      fmt::arg("planned", plan.parameters), fmt::arg("device", isLegacy ? "cpu" : "meta"),
      fmt::arg("type", isCoder ? "encoder_and_decoder" : "encoder_or_decoder"), fmt::arg("port", kRendezvousPort));
}

} // namespace accord
