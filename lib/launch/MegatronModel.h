// Which model Megatron-LM builds: its script and those of its arguments that say so.
#pragma once
#include "lib/launch/Launch.h"

namespace accord {

/// Says the architecture of a plan in arguments, of all that Megatron-LM (core 0.13) can build. Refuses (A0955) what it
/// would build otherwise, all of it at once. What only takes other time or memory than planned is a remark, in figures.
/// Sources: megatron/training/arguments.py, pretrain_gpt.py, pretrain_bert.py, pretrain_t5.py and
/// pretrain_vision_classify.py of NVIDIA/Megatron-LM, core_v0.13.0.
Result<MegatronArguments> megatronModel(const PlacementPlan &plan, const ModelArchitecture &model);

} // namespace accord
