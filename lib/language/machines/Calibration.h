// What the efficiency of a machine is: fitted to measured steps, assumed for its class, or none (its data sheet).
#pragma once
#include "dialects/accel/AccelDialect.h"
#include "lib/support/Diagnostics.h"

namespace accord {

/// Attributes of an accelerator: the file that `efficiency from "…"` names, and `efficiency = ideal`.
constexpr llvm::StringLiteral kCalibrationAttribute = "efficiency_from", kIdealAttribute = "efficiency_ideal";
/// `Machine::Fitted::source` of parameters that no measurement of the machine informs.
constexpr llvm::StringLiteral kClassPrior = "defaults of data-sheet machines";

/// Of engines of inference: "t.engine.calibration" beside "t.calibration" stands instead of it.
constexpr const char *kEngineFramework = "engine";

/// What a command says of the efficiency of machines.
struct EfficiencyOptions {
  bool ideal = false;
  std::string catalog;        ///< folder of the shipped descriptions
  std::string framework;      ///< that trains; empty: the machine's own
  std::string calibration;    ///< a file that stands instead of what its machine says of itself; empty: none
  std::string cluster = {};   ///< the same, that the target's cluster names; empty: none
  SourceRange clusterAt = {}; ///< where it does
  bool engine = false;        ///< of an engine that replays all kernels as one graph: the host launches none
  bool clusterOfOne = false;  ///< all devices of the cluster are of one machine: the file must be its
};

/// Writes the parameters of a machine (`Machine::fitted`) as its attributes:
/// - those of the file that `efficiency from "…"` (beside the file that says so, if the path is relative) or the
///   command names; a cluster's file stands instead of that of the machine that it was fitted for; what the machine
///   states itself (`efficiency` of a core or the device memory, `kernel_launch_overhead`, host overheads) stands
///   instead of the fitted number; A file "t.megatron.calibration" beside "t.calibration" stands instead of it where
///   megatron trains;
/// - where that file has fitted single operations, those by a cost model of their own (OperationsFile.h);
/// - else the defaults of its class (`calibrate::priorOf`), for a machine that is described by its data sheet alone:
///   peaks and a bandwidth, no array, lanes or microarchitecture, no cost model, no efficiency or overhead of its own;
/// - else, and where the command says `ideal` or the machine says `efficiency = ideal`, none.
/// False after errors: the file's (A0469 and those of reading), a machine of another name (A0469).
bool settleEfficiency(accel::AcceleratorOp machine, const EfficiencyOptions &options, SourceRange at,
                      Diagnostics &diags);

} // namespace accord
