// The cost models that Accord ships.
#pragma once
#include "lib/machine/cost/CostModel.h"

namespace accord {

/// Data sheet: (flops + half_performance_work) / (count * peak * efficiency), which is the share efficiency *
/// flops / (flops + half_performance_work) of the peak: small operations reach less of it. `half_performance_work` is 0
/// unless the machine states one (or a calibration fitted it).
std::unique_ptr<CostModel> makePeakModel();

/// Systolic array: cycles / (clock * efficiency), the cycles being those of the product that the
/// operation's tensors state (`gemmOf`, `convolutionOf`; of its domain alone where it has none) in
/// the core's dataflow (weight stationary where it states none), with its overlaps: `systolicCost`.
/// All instances share the folds, or one does them all where each operation runs on one. An
/// operation whose FLOPs are not two per point of that product counts as flops / (2 * points) of
/// them. What is no contraction runs at the peak.
std::unique_ptr<CostModel> makeArrayModel();

/// Lanes: cycles / (clock * efficiency), the cycles being those of `elementCycles`, or of
/// `rowCycles` where the domain reduces. A lane takes for an element what the core states for the
/// kind of operation, else a cycle for each FLOP.
std::unique_ptr<CostModel> makeVectorModel();

} // namespace accord
