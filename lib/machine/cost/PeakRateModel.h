// What the built-in cost models share: the rate of a core, and what is assumed when it is used.
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

/// flops / (instances * peak * efficiency).
ComputeTime timeAtPeak(const CostQuery &, FlopsPerSecond peak);

/// (1 + half_performance_work / flops) * cycles / (clock * efficiency) for cycles of an array or of lanes,
/// `how` being their formula. The clock is the machine's, or peak / FLOP per cycle where that
/// differs: the peak is of another arithmetic, or there is no clock.
ComputeTime timeOfCycles(const CostQuery &, FlopsPerSecond peak, double cycles, const std::string &how, Assumptions &);

/// A0451 for a core without the geometry that a cost model needs ("rows and columns").
Error missingGeometryError(const CostQuery &, const char *model, const char *what);

} // namespace accord
