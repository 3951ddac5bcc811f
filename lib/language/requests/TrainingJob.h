// One training to place: the settings of a `train` block with the names, units and choices resolved.
#pragma once
#include "dialects/dnn/DnnAttributes.h"
#include "dialects/dnn/ForwardOptions.h"
#include "lib/language/syntax/Ast.h"
#include "lib/machine/cost/DataLoader.h"
#include "lib/placement/problem/Placement.h"
#include "lib/planning/problem/Objective.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace accord {
struct Constant;

/// Among how many devices a step is shared, and how; all 1 for one device.
struct Degrees {
  int64_t tensor = 1, data = 1;
  bool sequence = false; ///< the devices of `tensor` divide what lies between the layers along the sequence
  bool expert = false;   ///< the devices of `data` divide the experts
  std::string tables;    ///< and embedding tables: "rows" or "columns" of them; empty: each has all
  int64_t context = 1;   ///< devices that divide each sample along its sequence
  std::string exchange;  ///< of keys and values among them: "ring", "all_gather" or "all_to_all"
};

/// What `search` offers for one degree.
struct DegreeChoice {
  std::string key; ///< "tensor_parallel"
  std::vector<int64_t> values;
  SourceRange at;
};

/// A `require` of a training on a cluster: at most `most`, in base units (bytes, seconds, watts,
/// joules, dollars, devices).
struct PlacementLimit {
  enum class Of : uint8_t { Memory, Step, Power, Devices, Energy, Price } of = Of::Step;
  double max = 0;
  std::string text; ///< as written, or its label
  SourceRange at;
};

/// Layers as a `require` names them: `block[0..47]`, `encoder.block`. All in whose name, cut at its
/// points, these parts follow each other: each with its name, and an index in its range if it has
/// one.
struct LayerPattern {
  struct Part {
    std::string name;
    std::optional<std::pair<int64_t, int64_t>> range;
  };
  std::vector<Part> parts;
  SourceRange at;
};

/// A `require` of a training that says where layers may be: `block[0..47].device == a100_80g` (or
/// `!=`), `embedding.stage == 0`, `block[3].stage == head.stage`.
struct LayerConstraint {
  enum class Of : uint8_t { OnDevice, NotOnDevice, Stage, SameStage } of = Of::OnDevice;
  std::vector<LayerPattern> layers; ///< two of `Together`, else one
  std::string device;               ///< an accelerator
  int64_t stage = 0;
  SourceRange otherAt; ///< of the device or the stage
  std::string text;    ///< as written, or its label
  SourceRange at;
};

/// What is maximized or minimized where that is none of `Objective`: the devices that are mined
/// know what it speaks of.
struct ObjectiveExpression {
  bool maximize = false;
  std::string text; ///< as written
  std::shared_ptr<const Constant> value;
  SourceRange at;
};

/// What a `train` block says of its checkpoints; 0 where it says nothing.
struct CheckpointRequest {
  double every = 0;      ///< seconds of training from one checkpoint to the next; 0 and no steps: the best is chosen
  double everySteps = 0; ///< the same in steps
  double bytes = 0;      ///< of one checkpoint; 0: weights and states of the optimizer
  bool asynchronous = false, asynchronousStated = false;
};

/// What an `infer` block says beside what a `train` block does: the model runs forward alone.
struct InferenceRequest {
  /// `Forward`: a whole sample; `Prefill`: all tokens of a prompt, of which the last one's answer is needed; `Decode`:
  /// one token more of each sample, behind a cache of the keys and values of those before it.
  enum class Phase : uint8_t { Forward, Prefill, Decode } phase = Phase::Forward;
  int64_t context = 0;    ///< Decode: tokens that attention sees, the new one among them
  int64_t weightBits = 0; ///< in which weights of products are stored, as integers; 0: like all other numbers
  int64_t groupSize = 0;  ///< weights that share a scale; 0: those of an output
  int64_t cacheBits = 0;  ///< in which keys and values are kept; 0: as `precision` says
  int64_t valueBits = 0;  ///< in which everything is stored and multiplied, as integers; 0: as `precision` says
  bool compiled = true;   ///< by an engine, not operation after operation by a framework
  SourceRange phaseAt, contextAt;

  dnn::ForwardOptions options() const {
    dnn::ForwardOptions made;
    made.lastPosition = phase == Phase::Prefill;
    made.context = phase == Phase::Decode ? context : 0;
    made.weightBits = weightBits, made.groupSize = groupSize, made.cacheBits = cacheBits, made.valueBits = valueBits;
    made.compiled = compiled;
    return made;
  }
};

/// One `train` or `infer` block, or what the command line says about a model without one.
struct TrainingJob {
  std::string name;                              ///< of the train block, else of the model
  const ast::Declaration *declaration = nullptr; ///< the block, null without one
  const ast::Declaration *model = nullptr;
  const std::vector<ast::Argument> *arguments = nullptr; ///< of the model call
  std::string target;                                    ///< accelerator or cluster; empty if nothing says one
  SourceRange targetAt;
  int64_t batch = 1;
  dnn::PrecisionAttr precision;
  dnn::OptimizerKindAttr optimizer;
  std::vector<int64_t> microbatches;
  SourceRange microbatchAt;                               ///< where the file offers them
  bool microbatchStated = false, recomputeStated = false; ///< else they are defaults
  std::vector<std::string> recomputes{"none"};            ///< candidates, in the file's order
  std::optional<DataLoader> dataLoader;                   ///< nothing: loading is not looked at
  SourceRange dataLoaderAt;
  std::vector<DegreeChoice> parallel; ///< as the file offers them
  std::vector<int64_t> zero;          ///< stages of ZeRO, ascending; empty: not stated
  SourceRange zeroAt;
  std::vector<PipelineSchedule> schedules; ///< in the file's order; empty: not stated
  std::vector<int64_t> virtualStages;      ///< of `interleaved`
  SourceRange scheduleAt;
  /// What a placement may choose besides; empty: not stated. In the file's order.
  std::vector<std::string> offloads;             ///< "none", "optimizer", "activations", "weights"
  std::vector<std::string> tensorOverlaps;       ///< "none", "ring"
  std::vector<std::string> contextExchanges;     ///< "ring", "all_gather", "all_to_all"
  std::vector<std::string> orders;               ///< "tensor_data_pipeline", "tensor_pipeline_data"
  std::vector<std::string> transfers;            ///< one of "blocking", "overlapped"
  std::vector<std::string> tables;               ///< "none", "rows", "columns"
  std::vector<std::string> recomputeGranularity; ///< one of "layer", "model"
  std::vector<std::string> regatherSequence;     ///< "true", "false"
  std::vector<std::string> stages;               ///< one of "any", "uniform"
  SourceRange offloadAt;
  std::vector<PlacementLimit> limits; ///< of a placement, when the target is known
  std::vector<LayerConstraint> placementConstraints;
  double samples = 0, tokens = 0; ///< to train on; 0: not stated
  SourceRange amountAt;
  CheckpointRequest checkpoint;
  std::optional<InferenceRequest> inference; ///< nothing: a training
  Degrees degrees;                           ///< settled when the target is known: see `Program::machineOf`
  Objective objective = Objective::Throughput;
  PlacementObjective placementObjective = PlacementObjective::StepTime; ///< the same, on a cluster
  SourceRange objectiveAt;                                              ///< where the file states it
  std::optional<ObjectiveExpression> expression;                        ///< of mining, instead of `objective`
  std::vector<Requirement> requirements;
  std::vector<std::shared_ptr<const Constant>> conditions; ///< of `requirements`, one each, as values
  std::vector<std::string> assumptions;                    ///< defaults that change a number
};

} // namespace accord
