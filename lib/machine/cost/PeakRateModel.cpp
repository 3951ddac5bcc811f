#include "lib/machine/cost/PeakRateModel.h"
#include <cmath>
#include <fmt/format.h>

namespace accord {

Bytes compulsoryBytes(const Operation &operation) { return Bytes(operation.bytesRead) + Bytes(operation.bytesWritten); }

std::pair<SourceLocation, std::string> describedHere(const Machine &machine) {
  return {machine.location, fmt::format("'{}' is described here", machine.name)};
}

namespace {

/// Peak of one instance: stated, or of its array or lanes.
Result<FlopsPerSecond> peakFor(const CostQuery &q, Assumptions &assumptions) {
  const Core &core = q.machine.cores[q.core];
  FlopsPerSecond peak = peakOfOne(q.machine, core, q.type);
  if (peak.value <= 0)
    return Error{
        Code::MissingRate,
        fmt::format(
            "'{}' needs the {} peak of core '{}' of '{}', which states neither it nor an array or lanes with a clock",
            q.operation.name, q.type, core.name, q.machine.name),
        q.operation.location,
        {describedHere(q.machine)}};
  if (!core.peak.count(q.type))
    assumptions.insert(fmt::format("core '{}' does {:.0f} {} FLOP a cycle, from its {}", core.name, flopsPerCycle(core),
                                   q.type, core.rows > 0 ? "array" : "lanes"));
  return peak;
}

void assumeSpread(const CostQuery &q, Assumptions &assumptions) {
  const Core &core = q.machine.cores[q.core];
  if (core.count > 1)
    assumptions.insert(
        core.anyMapping ? fmt::format("an operation runs on one instance of core '{}' or is spread evenly over all {}, "
                                      "as the schedule is shorter",
                                      core.name, core.count)
        : core.perInstanceMapping
            ? fmt::format("an operation runs on one of the {} instances of core '{}'", core.count, core.name)
            : fmt::format("an operation is spread evenly over all {} instances of core '{}'", core.count, core.name));
  if (core.efficiency == 1 && !core.origins.count("efficiency"))
    assumptions.insert(fmt::format("core '{}' states no efficiency: it reaches its peak", core.name));
}

} // namespace

Result<ComputeTime> PeakRateModel::compute(const CostQuery &q, Assumptions &assumptions) const {
  ACCORD_TRY(peak, peakFor(q, assumptions));
  assumeSpread(q, assumptions);
  return computeAt(q, q.machine.cores[q.core], peak, assumptions);
}

ComputeTime timeAtPeak(const CostQuery &q, FlopsPerSecond peak) {
  const Core &core = q.machine.cores[q.core];
  int64_t count = instancesPerOperation(core);
  double flops = q.operation.flops;
  FlopsPerSecond rate = peak * count * core.efficiency;
  return {flops == 0 ? Seconds(0) : Flops(flops) / rate,
          fmt::format("flops / (count * peak * efficiency) = {:.0f} / ({} * {:.6g} * {:.6g})", flops, count, peak.value,
                      core.efficiency)};
}

ComputeTime timeOfCycles(const CostQuery &q, FlopsPerSecond peak, double cycles, const std::string &how,
                         Assumptions &assumptions) {
  const Core &core = q.machine.cores[q.core];
  double clock = q.machine.clock.value, implied = peak.value / flopsPerCycle(core);
  if (clock > 0 && !(std::abs(implied - clock) <= 0.01 * clock))
    assumptions.insert(
        fmt::format("core '{}' does {} at {:.4g} times the rate of its {}: its cycles are shorter by that", core.name,
                    q.type, implied / clock, core.rows > 0 ? "array" : "lanes"));
  if (!(std::abs(implied - clock) <= 1e-9 * clock))
    clock = implied;
  double flops = q.operation.flops, slower = flops > 0 ? (flops + core.halfPerformanceWork.value) / flops : 1;
  std::string formula =
      fmt::format("cycles / (clock * efficiency) = {:.15g} / ({:.6g} * {:.6g})", cycles, clock, core.efficiency);
  if (slower != 1)
    formula = fmt::format("(1 + half_performance_work / flops) * cycles / (clock * efficiency) = (1 + {:.6g} / {:.0f}) "
                          "* {:.15g} / ({:.6g} * {:.6g})",
                          core.halfPerformanceWork.value, flops, cycles, clock, core.efficiency);
  return {Seconds(slower * cycles / (clock * core.efficiency)), formula + ", cycles = " + how};
}

Error missingGeometryError(const CostQuery &q, const char *model, const char *what) {
  return {Code::MissingRate,
          fmt::format("cost model '{}' needs {} of core '{}' of '{}'", model, what, q.machine.cores[q.core].name,
                      q.machine.name),
          q.operation.location,
          {describedHere(q.machine)}};
}

namespace {

class PeakModel : public PeakRateModel {
public:
  Result<ComputeTime> computeAt(const CostQuery &q, const Core &core, FlopsPerSecond peak,
                                Assumptions &) const override {
    if (core.halfPerformanceWork.value <= 0 || q.operation.flops == 0)
      return timeAtPeak(q, peak);
    int64_t count = instancesPerOperation(core);
    Flops flops(q.operation.flops);
    FlopsPerSecond rate = peak * count * core.efficiency;
    return ComputeTime{(flops + core.halfPerformanceWork) / rate,
                       fmt::format("(flops + half_performance_work) / (count * peak * efficiency) = ({:.0f} + {:.6g}) "
                                   "/ ({} * {:.6g} * {:.6g})",
                                   flops.value, core.halfPerformanceWork.value, count, peak.value, core.efficiency)};
  }
};

} // namespace

std::unique_ptr<CostModel> makePeakModel() { return std::make_unique<PeakModel>(); }

} // namespace accord
