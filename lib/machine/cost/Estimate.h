// Prices every operation of a work graph on a machine.
#pragma once
#include "lib/machine/collectives/Collective.h"
#include "lib/machine/cost/CostModel.h"
#include "lib/machine/model/FallbackTypes.h"

namespace accord {
class PriceCache;

struct EstimateOptions {
  /// Empty: the machine's own (`Machine::costModel`), else per core what it states: array if it has
  /// rows and columns, vector if it has lanes, peak otherwise. `array` and `vector` apply to the
  /// cores that have them.
  std::string costModel;
  unsigned threads = 1; ///< the result does not depend on it
  /// What connects the devices that share the step; without it, operations that exchange data are
  /// refused (A0409).
  const Fabric *fabric = nullptr;
  /// Axes of devices, innermost first: device r of the fabric stands at r % devices on the first
  /// one, and so on. What the graph's exchanges name and this does not is added outside of it:
  /// tensor, sequence, context, expert, data, then by name.
  std::vector<Axis> axes = {};
  /// Prices of other machines' operations, which this looks into and adds to; the result does not
  /// depend on it.
  PriceCache *prices = nullptr;
};

/// Costs by OperationId, or what is wrong: one issue per cause (at most 20), at the first operation
/// it concerns or the one that is farthest off, with the others in a note. Repeats and views get
/// zero time and no core. An exchange gets no core, the model "network NAME" with the network that
/// binds it, the algorithm as its type, one device's share of the energy, and at least the time
/// that its operands and results take in device memory. Codes: A0450 unknown cost model, A0409 no
/// core for an operation's kind and type, A0451 a number the model needs is missing, A0452 a time
/// that is not finite or too long for a schedule, A0454 and A0455 about networks and groups of
/// devices (see CollectiveModel).
Result<Costs, Errors> estimate(const WorkGraph &graph, const Machine &machine, const EstimateOptions &options = {});

/// A core that can run the operation, and in which arithmetic.
struct CoreChoice {
  int core = -1;
  std::string type;
};
/// The cores an operation may run on; it runs on the one on which it is fastest (the first among
/// equals). For the first type of `fallbackTypes` that any does: the cores of the kind that is
/// asked for; for a contraction, where there is none, the vector cores. Empty if no core has any of
/// the types.
std::vector<CoreChoice> chooseCores(const Operation &operation, const Machine &machine);

} // namespace accord
