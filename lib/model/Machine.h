// One accelerator as plain data, in base units, each number with where it was written and its
// source.
#pragma once
#include "lib/model/WorkGraph.h"
#include "lib/support/Units.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

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
  double efficiency = 1; ///< share of the peak reached; 1 unless the file states one
  std::map<std::string, Origin> origins;
};

struct Machine {
  std::string name;
  Hertz clock;
  std::vector<Memory> memories; ///< from the farthest (device memory, index 0) to the nearest
  std::vector<Core> cores;
  Watts idle, tdp;
  JoulesPerFlop energyPerFlop;
  std::string costModel; ///< empty: chosen by what the cores state; else a registered name
  SourceLocation location;
  std::map<std::string, Origin> origins;
};

/// Peak of one instance of a core: stated for the type, or one multiply-accumulate per cell of its
/// array (one operation per lane) and cycle. 0 if the machine states none of these.
FlopsPerSecond peakOfOne(const Machine &machine, const Core &core, const std::string &type);
/// FLOP of one instance in a cycle, from its array or lanes; 0 if it states neither.
double flopsPerCycle(const Core &core);

} // namespace accord
