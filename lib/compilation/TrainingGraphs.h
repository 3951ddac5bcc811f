// The training graphs of one job: each is built once, by the phases train, simplify and shard of the pipeline. And how
// any pipeline is run, with what its passes say kept.
#pragma once
#include "dialects/dnn/Dnn.h"
#include "lib/machine/model/ModelArchitecture.h"
#include "lib/support/Result.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <functional>
#include <map>
#include <optional>

namespace mlir {
class PassManager;
}

namespace accord {

/// Attribute of models and training graphs: the recomputation policy they are built with.
inline constexpr const char *kRecomputePolicy = "dnn.recompute_policy";

/// Everything that a training graph of a model depends on, besides the model.
struct TrainingOptions {
  std::string recompute = "none"; ///< none, selective or full
  bool keepGathered = false;    ///< what sequence parallelism gathers in the forward pass is kept for the backward pass
  int64_t tensor = 1, data = 1; ///< devices among which the step is shared
  bool sequence = false;        ///< the devices of `tensor` divide what lies between the layers along the sequence
  int64_t context = 1;          ///< devices that divide each sample along its sequence
  std::string exchange;         ///< and how keys and values reach them: "ring", "all_gather" or "all_to_all"
  bool experts = false;         ///< the devices of `data` divide the experts
  std::string tables;           ///< and embedding tables: "rows" or "columns"; empty: each has all
  int64_t vocabularyMultiple = 1; ///< rows of the token table, and logits, are padded to a multiple of it
  bool fuse = false;              ///< element-wise work runs where its tensor is made
  std::string modelPasses;        ///< pipeline that runs on the model first
  std::string passes;             ///< pipeline that runs on the finished graph, before `fuse`
  friend auto operator<=>(const TrainingOptions &, const TrainingOptions &) = default;

  /// As options of `accord-pipeline`: "recompute=full tensor=8"; those with their default are left out.
  std::string text() const;
};

class TrainingGraphs {
public:
  struct Built {
    mlir::OwningOpRef<mlir::ModuleOp> module;
    dnn::TrainingGraphOp graph;       ///< null after an error
    std::vector<std::string> remarks; ///< of the passes that share the step: what stays whole
    Errors errors;                    ///< empty where there was no model: whoever makes it has reported why
  };
  /// Makes the model, perhaps for another length of its sequences; null after an error.
  using Model = std::function<dnn::ModelOp(std::optional<int64_t> sequence)>;

  explicit TrainingGraphs(Model model) : model(std::move(model)) {}

  /// The graph for these options, which is built at the first call. The reference stays valid.
  Built &get(const TrainingOptions &options, std::optional<int64_t> sequence = {});
  /// What frameworks call the model, after its own passes. Nothing where there is none or a pass fails.
  std::optional<ModelArchitecture> architecture(const TrainingOptions &options);
  /// A graph that was built before; several threads may ask at once.
  const Built &at(const TrainingOptions &options, std::optional<int64_t> sequence = {}) const {
    return graphs.at({options, sequence});
  }

private:
  /// A module with nothing but the model, its vocabulary padded; null after an error.
  mlir::OwningOpRef<mlir::ModuleOp> moduleOf(std::optional<int64_t> sequence, int64_t vocabularyMultiple);

  Model model;
  std::map<std::pair<TrainingOptions, std::optional<int64_t>>, Built> graphs;
};

/// What the passes of one run said.
struct PassRun {
  /// Errors in their order; one whose pass states no code (`withCode`) is internal. A run that failed has at least one.
  Errors errors;
  std::vector<std::string> remarks;
};

/// Runs a pipeline, as text, on a module. Dialects must be loaded and passes registered.
PassRun runPipeline(mlir::ModuleOp module, const std::string &pipeline);
/// The same for passes that are already in a manager.
PassRun runPasses(mlir::ModuleOp module, mlir::PassManager &passes);

/// Why a text is not a pipeline; empty if it is one.
std::string pipelineError(mlir::MLIRContext &context, const std::string &pipeline);

} // namespace accord
