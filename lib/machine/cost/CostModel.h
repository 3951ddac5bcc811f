// What one operation costs on one core: the interface that built-in models and plugins implement.
#pragma once
#include "lib/machine/model/Costs.h"
#include "lib/machine/model/Machine.h"
#include "lib/machine/model/WorkGraph.h"
#include "lib/support/Result.h"
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace accord {
class MappingCache;

/// Time of the arithmetic alone, and how it was computed.
struct ComputeTime {
  Seconds time;
  std::string formula; ///< "flops / (count * peak * efficiency) = 2.1e9 / (1 * 3.12e14 * 1)"
};

/// One question to a model: this operation, on all `count` instances of this core, in this
/// arithmetic.
struct CostQuery {
  const Operation &operation;
  const Machine &machine;
  int core;         ///< index into Machine::cores
  std::string type; ///< arithmetic after fallback; the core states a peak for it, or is described
                    ///< by its array or lanes
  /// Of a fused operation: what its parts compute, each of which the model was asked for.
  const ComputeTime *parts = nullptr;
  MappingCache *mappings = nullptr; ///< of this machine and model, if mappings are kept
  std::string optimizer = {};       ///< of the step, which says what its updates compute
};

/// Time of the arithmetic of one tile; the extents are of groups of loops (`CostModel::tileTime`).
using TileTime = std::function<Seconds(std::span<const int64_t> extents)>;

/// Words for the report, each once, in sorted order.
using Assumptions = std::set<std::string>;

/// Implementations are stateless: they are called from several threads and must give the same
/// answer each time.
class CostModel {
public:
  virtual ~CostModel() = default;
  /// Time of the arithmetic alone; an Error when the core lacks a number that the model needs.
  virtual Result<ComputeTime> compute(const CostQuery &, Assumptions &) const = 0;
  /// The arithmetic of a tile, by the extents of `groups`: each is a list of loops of the domain
  /// that are cut as one. The time of an operation is the sum over its tiles. Default: as much of
  /// `whole` as the tile has of the domain.
  virtual TileTime tileTime(const CostQuery &query, const ComputeTime &whole,
                            const std::vector<std::vector<unsigned>> &groups) const;
  /// What no tiles take less of, if each has at most these extents; ends searches sooner. Default:
  /// nothing is known.
  virtual TileTime tileFloor(const CostQuery &, const ComputeTime &, const std::vector<std::vector<unsigned>> &) const {
    return nullptr;
  }
  /// Bytes between the nearest memory and the core. Default: compulsory.
  virtual Bytes feed(const CostQuery &query) const;
  /// The whole cost. Default: `roofline` of `compute(query)`, or of `query.parts` where it is
  /// given, with the traffic of the best tiles where there are memories to tile for (`mapped`).
  /// Override it to model memory differently.
  virtual Result<OperationCost> cost(const CostQuery &, Assumptions &) const;
};

/// What passes each memory, where a mapping says so.
struct Traffic {
  std::vector<Bytes> bytes; ///< by memory of the machine
  std::vector<Tile> tiles;
  double gap = 0;   ///< as OperationCost::gap
  std::string text; ///< "vmem 256x512x128, m n k"
};

/// From the core outwards: work = max(compute, nearest memory); then for each memory whose
/// contents are filled from the one behind it: max(work, behind) if it is double buffered (or a
/// cache), else work + behind. A memory takes latency + bytes / (bandwidth * efficiency), and all
/// together at least the machine's kernel floor (Williams, Waterman, Patterson: Roofline, CACM
/// 52(4), 2009, one roof per level). Without `traffic` the bytes are compulsory at each level,
/// every operand and result once, and of lookups whole sectors of a level that states them.
/// energy = flops * energyPerFlop(type) + sum over levels of bytes * energy.
Result<OperationCost> roofline(const CostQuery &, const ComputeTime &, Assumptions &, const Traffic *traffic = nullptr);

using CostModelFactory = std::function<std::unique_ptr<CostModel>()>;
/// Adds a model under a name that `.accel` (`cost_model = "name"`) and `--cost-model` may use.
/// False if the name is taken. Built in: "peak", "array", "vector", "instructions", "mapping_search". Plugins call it
/// when they are loaded.
bool registerCostModel(const std::string &name, CostModelFactory factory);
std::vector<std::string> costModelNames();                         ///< sorted
std::unique_ptr<CostModel> makeCostModel(const std::string &name); ///< null if unknown

} // namespace accord
