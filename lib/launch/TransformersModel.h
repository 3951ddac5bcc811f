// Which model of Hugging Face Transformers a plan is for, found by its architecture.
#pragma once
#include "lib/launch/LauncherFeatures.h"

namespace accord {

/// A model that Transformers builds of a configuration, and the example that trains it. Examples are given a folder
/// with the configuration, because --config_overrides cannot change what is no number in the usual one, or is in a
/// group.
struct TransformersModel {
  std::string type;          ///< of configurations: "llama"
  std::string blocks;        ///< classes of its blocks, with commas: "LlamaDecoderLayer"
  std::string script;        ///< quoted for bash: an example of "$TRANSFORMERS", or a variable
  std::string configuration; ///< JSON, as AutoConfig reads it of a folder's config.json; empty: it is not known
  std::string overrides;     ///< "hidden_size=4096,…", where there is no configuration
  std::string sequence;      ///< argument for the tokens of a sample; empty: it has none, or they are not known
  int64_t parameters = 0;    ///< that are trained in it; 0: not known
  DropoutRates dropout;      ///< of the configuration
};

/// The model of a plan's architecture: gpt2, llama, mixtral, opt, bert, t5 or vit. What the plan does not say is asked
/// for in variables of the program. A0955 where Transformers has none of the architecture; `launcher` begins the
/// message. Configurations as of Transformers 4.51 to 5: class NAMEConfig in models/NAME/configuration_NAME.py.
Result<TransformersModel> transformersModel(LaunchProgram &program, const PlacementPlan &plan,
                                            const std::string &launcher);

/// Arguments of the examples that any launcher gives them: model, sizes, samples, accumulation, optimizer, and
/// checkpoints of blocks where `checkpoints`.
void addTransformersArguments(LaunchProgram &program, const PlacementPlan &plan, const TransformersModel &model,
                              bool checkpoints);

/// Whether blocks are checkpointed, as all or none can be; remarks say what that takes where the plan has some of both.
bool checkpointsBlocks(LaunchProgram &program, const PlacementPlan &plan, const char *launcher);

} // namespace accord
