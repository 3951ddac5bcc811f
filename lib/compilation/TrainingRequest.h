// One training job as an operation of the module, and back: `plan.request` holds all that the phases of the pipeline
// need besides machines and clusters.
#pragma once
#include "dialects/plan/PlanDialect.h"
#include "lib/compilation/TrainingGraphs.h"
#include "lib/language/program/Elaborate.h"
#include "lib/machine/model/Framework.h"

namespace accord {

struct TrainingRequest {
  TrainingJob job;   ///< without `declaration`, `model` and `arguments` once it was read from a module
  SourceRange at;    ///< the name of the `train` block
  std::string model; ///< its name in the file
  std::vector<std::pair<std::string, int64_t>> sizes; ///< integer parameters of the model, with their values
  std::optional<int64_t> sequence;                    ///< tokens of a sample, where the model says so
  std::string costModel;                              ///< empty: as the machine says
  int64_t effort = 4;
  std::optional<Framework> framework; ///< that trains on a cluster; nothing: none is stated
  TrainingOptions training;           ///< passes of the user, and whether to fuse
};

/// Writes the request into a module, around its model. Places in files become locations.
plan::RequestOp writeRequest(mlir::ModuleOp module, dnn::ModelOp model, const TrainingRequest &request,
                             const SourceManager &sources);

/// Reads a request. Places in files that `sources` does not have are looked up in the files themselves, if they are
/// there. Nothing after an error, which is emitted at the operation.
std::optional<TrainingRequest> readRequest(plan::RequestOp op, SourceManager &sources);

} // namespace accord
