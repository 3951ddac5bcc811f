// One accelerator as plain data, in base units, each number with where it was written and its
// source.
#pragma once
#include "lib/machine/model/Sparsity.h"
#include "lib/machine/model/WorkGraph.h"
#include "lib/support/Units.h"
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace accord::microarchitecture {
struct Microarchitecture;
}

namespace accord {

/// Where a number comes from, for `accord explain`.
struct Origin {
  std::string text;   ///< as written: "312 TFLOP/s"
  std::string source; ///< "NVIDIA A100 data sheet", empty if none was given
  SourceLocation location;
};

struct Memory {
  std::string name;
  std::string kind; ///< "dram", "scratchpad", "cache", "register_file"
  Bytes capacity;
  BytesPerSecond bandwidth; ///< of the level as a whole
  Seconds latency;
  JoulesPerByte energy;
  bool doubleBuffered = false;
  /// Ports together move ports * width * clock at most; 0 when not stated. Ports and banks of one memory work at once.
  int64_t ports = 0, banks = 0;
  double portBytesPerCycle = 0;
  double efficiency = 1;                 ///< share of `bandwidth` that long transfers reach
  Bytes sector;                          ///< smallest piece it reads or writes; 0 when not stated
  std::map<std::string, Origin> origins; ///< by key: "capacity", "bandwidth", …
};

struct Core {
  std::string name;
  CoreKind kind = CoreKind::Tensor;
  int64_t count = 1;
  /// Peak of ONE core by arithmetic type; from the data sheet (divided by `count`) or
  /// rows*cols*2*clock, lanes*clock.
  std::map<std::string, FlopsPerSecond> peak;
  int64_t rows = 0, cols = 0, lanes = 0; ///< 0 when only the peak is known
  std::string dataflow;
  int reads = -1;        ///< index into Machine::memories of the level it reads
  double efficiency = 1; ///< share of the peak that large work reaches; 1 unless the file states one
  /// Work of one operation at which half of `efficiency` is reached: share = efficiency * flops / (flops + halfWork).
  Flops halfPerformanceWork;
  bool overlapFill = false;  ///< an array fills for the next fold while this one computes
  bool overlapDrain = false; ///< … and drains the last one
  /// Whether each operation runs on one instance (others on the others) instead of being spread over all.
  bool perInstanceMapping = false;
  /// The scheduler decides for each operation whether it runs on one instance or is spread over all. Costs of both
  /// forms are those with `oneEach` true and false.
  bool anyMapping = false;
  /// Cycles of one element in a lane, by kind of operation ("exp", "layer_norm"): replaces FLOP per lane and cycle.
  std::map<std::string, double> cyclesOf;
  std::map<std::string, Origin> origins;
  std::optional<SparseCore> sparse = {}; ///< what it makes of zeros
  /// The core at the level of instructions, where it is described so; it then holds every memory that the time of its
  /// programs depends on.
  std::shared_ptr<const microarchitecture::Microarchitecture> microarchitecture = {};
};

/// A chip area; not a Unit, because no cost formula multiplies it with anything but counts.
struct SquareMetres {
  double value = 0;
  double squareMillimetres() const { return value * 1e6; }
};

struct Machine {
  std::string name;
  Hertz clock;
  std::vector<Memory> memories; ///< from the farthest (device memory, index 0) to the nearest
  std::vector<Core> cores;
  /// What the host and the runtime add: to each operation that runs on a core, to each micro-batch, to each step.
  struct HostOverhead {
    Seconds kernel, microbatch, step;
  } host;
  Watts idle, tdp;
  JoulesPerFlop energyPerFlop;
  /// By arithmetic type, where it is known by type; other types use `energyPerFlop`.
  std::map<std::string, JoulesPerFlop> energyPerFlopOf;
  BytesPerSecond hostBandwidth; ///< from the host's memory to the device's; 0 when not stated
  SquareMetres area;            ///< of the chip: stated, or of its parts; 0 when neither is known
  std::string costModel;        ///< empty: chosen by what the cores state; else a registered name
  /// What a calibration fitted to measured steps, by name (lib/machine/calibration/Parameters.h); no values: there is
  /// none.
  struct Fitted {
    std::string source; ///< its file
    std::vector<std::pair<std::string, double>> values;
  } fitted;
  SourceLocation location;
  std::map<std::string, Origin> origins;
  std::optional<DataflowFabric> fabric = {}; ///< layers run side by side on parts of it
};

/// Peak of one instance of a core: stated for the type, or one multiply-accumulate per cell of its
/// array (one operation per lane) and cycle. 0 if the machine states none of these.
FlopsPerSecond peakOfOne(const Machine &machine, const Core &core, const std::string &type);
/// How many instances of a core one operation runs on: all, or one where each has its own. Where either may be,
/// `OperationCost::instances` tells.
inline int64_t instancesPerOperation(const Core &core) { return core.perInstanceMapping ? 1 : core.count; }
/// How many operations a core runs at a time at most: one if each is spread over all instances.
inline int64_t operationsAtOnce(const Core &core) {
  return core.perInstanceMapping || core.anyMapping ? core.count : 1;
}
/// Energy of one FLOP of a type: by type if the machine knows it, else `energyPerFlop`.
JoulesPerFlop energyPerFlop(const Machine &machine, const std::string &type);
/// FLOP of one instance in a cycle, from its array, lanes or microarchitecture; 0 if it states none.
double flopsPerCycle(const Core &core);
/// Whether a memory is filled while what it holds is used: it is double buffered, or a cache. Any other is filled
/// before.
bool overlapsTransfers(const Memory &memory);
/// How many memories the operands of a core pass: `memories` 0 up to the one it reads; all where it states none.
size_t levelsOf(const Machine &machine, const Core &core);

} // namespace accord
