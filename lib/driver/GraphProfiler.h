// From a workload to its profile, by way of Accord's own training graph.
#pragma once
#include "lib/machine/calibration/GraphSource.h"
#include <memory>

namespace mlir {
class MLIRContext;
}
namespace accord::calibrate {

/// Builds each different graph once and each different profile once. Dialects must be registered in the context, and
/// passes in the registry (`registerAllPasses`).
class GraphProfiler : public GraphSource {
public:
  GraphProfiler(mlir::MLIRContext &context, std::string catalog);
  ~GraphProfiler() override;

  Result<Profile> profile(const Workload &workload, int64_t microbatch, const SourceLocation &row) override;
  Result<WorkGraph> graph(const Workload &workload, int64_t microbatch, int64_t microbatches,
                          const SourceLocation &row) override;
  Result<Cluster> hardware(const std::string &target) override;

private:
  struct Data;
  std::unique_ptr<Data> data;
};

} // namespace accord::calibrate
