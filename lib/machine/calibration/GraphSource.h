// Where the graphs, profiles and machines of rows come from: `GraphProfiler` of lib/driver builds them with the
// compiler.
#pragma once
#include "lib/machine/calibration/Profile.h"
#include "lib/machine/calibration/Workload.h"
#include "lib/machine/collectives/Cluster.h"

namespace accord::calibrate {

class GraphSource {
public:
  virtual ~GraphSource() = default;
  /// The profile of one micro-batch. Error A0466: the text does not compile, or a pass fails (with its words).
  virtual Result<Profile> profile(const Workload &workload, int64_t microbatch, const SourceLocation &row) = 0;
  /// The step of one device with several micro-batches of this size. The same errors.
  virtual Result<WorkGraph> graph(const Workload &workload, int64_t microbatch, int64_t microbatches,
                                  const SourceLocation &row) = 0;
  /// A cluster of one kind of devices, or an accelerator alone (one device without a fabric): by the name that it has
  /// in the catalogue, as FILE.accel[:NAME], or by what tables call its accelerator (catalog/accelerators.csv). Error
  /// A0466 with the words of the front end.
  virtual Result<Cluster> hardware(const std::string &target) = 0;
};

} // namespace accord::calibrate
