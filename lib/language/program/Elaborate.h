// Syntax trees -> dialects and training jobs: names resolved, units and keys checked, parameters
// substituted.
#pragma once
#include "dialects/dnn/DnnAttributes.h"
#include "lib/ensembles/problem/EnsembleRequest.h"
#include "lib/language/syntax/Ast.h"
#include "lib/machine/cost/DataLoader.h"
#include "lib/placement/problem/Placement.h"
#include "lib/planning/solve/SingleDevice.h"
#include "lib/sparsity/problem/SparsityRequest.h"
#include "lib/support/Diagnostics.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace accord {
struct Constant;
// Declared only: the dialects' own headers cost seconds to compile.
namespace accel {
class AcceleratorOp;
class ClusterOp;
} // namespace accel
namespace dnn {
class ModelOp;
} // namespace dnn

/// Among how many devices a step is shared, and how; all 1 for one device.
struct Degrees {
  int64_t tensor = 1, data = 1;
  bool sequence = false; ///< the devices of `tensor` divide what lies between the layers along the sequence
  bool expert = false;   ///< the devices of `data` divide the experts
  std::string tables;    ///< and embedding tables: "rows" or "columns" of them; empty: each has all
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

/// One `train` block, or what the command line says about a model without one.
struct TrainingJob {
  std::string name;                              ///< of the train block, else of the model
  const ast::Declaration *declaration = nullptr; ///< the train block, null without one
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
  Degrees degrees; ///< settled when the target is known: see `Program::machineOf`
  Objective objective = Objective::Throughput;
  PlacementObjective placementObjective = PlacementObjective::StepTime; ///< the same, on a cluster
  SourceRange objectiveAt;                                              ///< where the file states it
  std::optional<ObjectiveExpression> expression;                        ///< of mining, instead of `objective`
  std::vector<Requirement> requirements;
  std::vector<std::shared_ptr<const Constant>> conditions; ///< of `requirements`, one each, as values
  std::vector<std::string> assumptions;                    ///< defaults that change a number
};

/// What the command line adds to or overrides in the files.
struct ElaborateOptions {
  std::string catalog;   ///< folder of the shipped descriptions
  std::string target;    ///< --target
  std::string train;     ///< --train: which block or model
  bool clusters = false; ///< whether the target may be a cluster
  bool mines = false;    ///< the target is a space of machines, whose design power differs
  /// Degrees on a cluster may be choices, pipelines included, and requirements become
  /// `TrainingJob::limits`.
  bool placement = false;
  std::string batch, microbatch, recompute, precision,
      optimizer;        ///< as written on the command line; empty: not given
  std::string metric;   ///< of mining: an expression, as written there
  bool prunes = false;  ///< what `sparsity for` says of the job is looked at; else it is assumed dense
  std::string ensemble; ///< --ensemble: which one, where a file has several
  std::string member;   ///< the job is the training of this kind of its members
};

/// One program: a main file and what it imports. All errors of all its parts go to the diagnostics.
class Program {
public:
  /// Reads and checks the main file. Look at `diags.hasErrors()` before asking for more.
  Program(Diagnostics &diags, mlir::MLIRContext &context, const std::string &path, const ElaborateOptions &options);
  ~Program();

  const ast::File *main() const;
  /// The job that the file and the options name; nothing after an error (none, several and none
  /// chosen, wrong settings).
  std::optional<TrainingJob> job();
  /// What `sparsity for` says of the job's training; nothing where the main file has no such block,
  /// or after errors.
  std::optional<SparsityRequest> sparsity(const TrainingJob &job);
  /// The ensemble that the options name, or the only one of the main file; nothing after an error.
  /// The job of one of its members on a machine is `job()` of a program with
  /// `ElaborateOptions::member` and `target`: the settings of its training, with the member's
  /// model.
  std::optional<EnsembleRequest> ensemble();
  /// The accelerator that a name means after `on` or --target: of the file, else of its imports,
  /// else of the catalogue. --target also takes a file, or FILE:NAME. Null after an error.
  accel::AcceleratorOp machine(const std::string &name, SourceRange from);
  /// The machine that the job or the options say, or the only one of the main file; of a cluster,
  /// one of its devices. Settles the job's parallel degrees: one device has 1 of each, a cluster
  /// what the file fixes.
  accel::AcceleratorOp machineOf(TrainingJob &job);
  /// The cluster that `machineOf` found; null if it is a machine alone.
  accel::ClusterOp cluster();
  /// Of a job on that cluster: what its requirements limit where its devices are this machine.
  /// Those that say no such thing are reported.
  std::vector<PlacementLimit> limitsOn(const TrainingJob &job, const Machine &machine);
  /// That cluster as it is written, with the constants that it names; empty without one. `chosen`:
  /// what stands instead of its choices, by name ("board.count", "ici.bandwidth", "price").
  std::string clusterText(const std::map<std::string, std::string> &chosen = {});
  /// Of each kind of devices of that cluster: one, unless `ElaborateOptions::placement`.
  std::vector<accel::AcceleratorOp> machines();
  /// The job's model as a `dnn.model` named like the job; `overrides` replace parameters (sweeps
  /// over `seq`). Null after errors.
  dnn::ModelOp model(const TrainingJob &job, const std::map<std::string, int64_t> &overrides = {});
  /// The value of an integer parameter of the job's model, if it has one of that name.
  std::optional<int64_t> parameter(const TrainingJob &job, llvm::StringRef name);
  /// Everything of the main file that no job asks for is checked too: every machine and every model
  /// with defaults.
  void checkAll();
  /// Inputs, names and imports that nothing uses (A0013, A0117, A0515), once all else is right.
  void reportUnused();
  mlir::ModuleOp module();

private:
  struct Data;
  std::unique_ptr<Data> data;
};

} // namespace accord
