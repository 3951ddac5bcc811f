// From a workload to its profile, by way of Accord's own training graph. The one file of this room
// that knows MLIR.
#pragma once
#include "lib/machine/calibration/Profile.h"
#include "lib/machine/calibration/Workload.h"
#include "lib/machine/model/Machine.h"
#include <memory>

namespace mlir {
class MLIRContext;
}
namespace accord::calibrate {

/// Builds each different graph once and each different profile once. Dialects must be registered in
/// the context, and passes in the registry (`registerAllPasses`).
class GraphProfiler {
public:
  GraphProfiler(mlir::MLIRContext &context, std::string catalog);
  ~GraphProfiler();

  /// The profile of one micro-batch. Error A0466: the text does not compile, or a pass fails (with
  /// its words).
  Result<Profile> profile(const Workload &workload, int64_t microbatch, const SourceLocation &row);
  /// The step of one device with several micro-batches of this size. The same issues.
  Result<WorkGraph> graph(const Workload &workload, int64_t microbatch, int64_t microbatches,
                          const SourceLocation &row);
  /// A machine by the name it has in the catalogue, or FILE.accel[:NAME]. Error A0466 with the
  /// words of the front end.
  Result<Machine> machine(const std::string &target);

private:
  struct Data;
  std::unique_ptr<Data> data;
};

} // namespace accord::calibrate
