// The cost models that Accord ships, and what they share: the rate of a core, and what is assumed when it is used.
#pragma once
#include "lib/machine/cost/CostModel.h"

namespace accord {

/// A cost model that needs the peak of one instance for the arithmetic of the query. A0451: the
/// core states neither it nor an array or lanes with a clock. Notes that work is spread over all
/// instances, and that a missing efficiency is 1.
class PeakRateModel : public CostModel {
public:
  Result<ComputeTime> compute(const CostQuery &, Assumptions &) const final;

private:
  virtual Result<ComputeTime> computeAt(const CostQuery &, const Core &, FlopsPerSecond peak, Assumptions &) const = 0;
};

/// Each operand and result once.
Bytes compulsoryBytes(const Operation &operation);
/// A note at the machine: where it is described.
std::pair<SourceLocation, std::string> describedHere(const Machine &machine);

/// flops / (instances * peak * efficiency).
ComputeTime timeAtPeak(const CostQuery &, FlopsPerSecond peak);

/// (1 + half_performance_work / flops) * cycles / (clock * efficiency) for cycles of an array or of lanes,
/// `how` being their formula. The clock is the machine's, or peak / FLOP per cycle where that
/// differs: the peak is of another arithmetic, or there is no clock.
ComputeTime timeOfCycles(const CostQuery &, FlopsPerSecond peak, double cycles, const std::string &how, Assumptions &);

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

/// Cores at the level of instructions: cycles / clock of the program that the operation is mapped to, timed exactly
/// (lib/microarchitecture). Errors: A1308 where it cannot be mapped, A1306 where its time cannot be known.
std::unique_ptr<CostModel> makeInstructionModel();
constexpr const char *kInstructionModel = "instructions";
/// The same with the schedule of each product that a bounded search finds, and how far from the best one it is at most.
std::unique_ptr<CostModel> makeMappingSearchModel();
constexpr const char *kMappingSearchModel = "mapping_search";
inline bool timesInstructions(const std::string &model) {
  return model == kInstructionModel || model == kMappingSearchModel;
}

/// A0451 for a core without the geometry that a cost model needs ("rows and columns").
Error missingGeometryError(const CostQuery &, const char *model, const char *what);

} // namespace accord
