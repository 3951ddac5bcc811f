// What one operation costs on one core: the interface that built-in models and plugins implement.
#pragma once
#include "lib/model/Check.h"
#include "lib/model/Costs.h"
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace accord {

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
};

/// Words for the report, each once, in sorted order.
using Assumptions = std::set<std::string>;

/// Implementations are stateless: they are called from several threads and must give the same
/// answer each time.
class CostModel {
public:
  virtual ~CostModel() = default;
  /// Time of the arithmetic alone; an Issue when the core lacks a number that the model needs.
  virtual std::variant<ComputeTime, Issue> compute(const CostQuery &, Assumptions &) const = 0;
  /// The whole cost. Default: `roofline(query, compute(query))`, with `query.parts` where it is
  /// given. Override it to model memory differently.
  virtual std::variant<OperationCost, Issue> cost(const CostQuery &, Assumptions &) const;
};

/// time = max(compute, over the levels from device memory to the one the core reads: latency +
/// bytes / bandwidth), with compulsory bytes at each level (Williams, Waterman, Patterson:
/// Roofline, CACM 52(4), 2009, one roof per level), and of lookups whole sectors of a
/// level that states them. energy = flops * energyPerFlop(type) + sum over
/// levels of bytes * energy.
std::variant<OperationCost, Issue> roofline(const CostQuery &, const ComputeTime &, Assumptions &);

using CostModelFactory = std::function<std::unique_ptr<CostModel>()>;
/// Adds a model under a name that `.accel` (`cost_model = "name"`) and `--cost-model` may use.
/// False if the name is taken. Built in: "peak", "array", "vector". Plugins call it when they are
/// loaded.
bool registerCostModel(const std::string &name, CostModelFactory factory);
std::vector<std::string> costModelNames();                         ///< sorted
std::unique_ptr<CostModel> makeCostModel(const std::string &name); ///< null if unknown

} // namespace accord
