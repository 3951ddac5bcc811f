// What each launcher has words for, as one table: a new launcher, or something new in plans, is a row or a column
// there.
#pragma once
#include "lib/launch/LaunchProgram.h"
#include <vector>

namespace accord {

/// Shares that a program drops while it trains, by place, as `ModelArchitecture` has them.
struct DropoutRates {
  double hidden = 0, attention = 0, inner = 0;
  bool operator==(const DropoutRates &) const = default;
};

/// A row of the table. What else a launcher lacks depends on several properties at once, and is in its own file.
struct LauncherFeatures {
  enum class Offload : uint8_t {
    None,
    States,   ///< of the optimizer, weights never
    Together, ///< states and weights, or neither
    Apart     ///< either
  };
  /// Of models that it builds by itself; others are described to it (lib/launch/MegatronModel, TransformersModel).
  enum class Models : uint8_t { Described, Llama, LlamaAndGpt };

  const char *name = "";                     ///< begins messages
  const char *elsewhere = "";                ///< who else has a pipeline and tensor parallelism
  std::vector<PipelineSchedule> schedules{}; ///< empty: it has no pipeline
  bool tensor = true, experts = true;        ///< divides products, experts among devices
  std::vector<ContextExchange> exchanges{};  ///< of parts of a sequence; empty: it leaves them whole
  Offload offload = Offload::None;
  std::vector<const char *> precisions{}; ///< of products, fp8 beside bf16 alone; empty: another one is set by hand
  std::vector<const char *> optimizers{}; ///< empty: another one is set by hand
  Models models = Models::Described;
  bool rawExperts = true; ///< weighs experts of a token with their shares of all experts, too
};

/// The rows of launchers that follow a plan within their program: all but torchrun, Slurm and Kubernetes.
const LauncherFeatures &featuresOf(Launcher launcher);

/// What of a plan a launcher has no word for, without its name: "has no pipeline; the plan has 8 stages". Empty:
/// nothing. No launcher has several parallel configurations in one program, divided tables, or activations on the host.
std::string refusalOf(const LauncherFeatures &features, const PlacementPlan &plan);
/// The same of the model, where the launcher builds some kinds of its own.
std::string refusalOfModel(const LauncherFeatures &features, const ModelArchitecture &model, const std::string &name);

/// What keeps a model from being one of Llama's kind (RMS norms, SwiGLU, rotary positions, no biases), as "'gpt3' has
/// LayerNorm"; empty: it is one, with experts or without.
std::string unlikeLlama(const ModelArchitecture &model, const std::string &name);
/// The same of GPT's kind: LayerNorm, learned positions, biases.
std::string unlikeGpt(const ModelArchitecture &model, const std::string &name);

/// Where a program drops other shares than planned: which, and by how much its masks, of a byte for each element, take
/// other memory.
void remarkDropout(LaunchProgram &program, const PlacementPlan &plan, const char *launcher, const DropoutRates &built);

} // namespace accord
