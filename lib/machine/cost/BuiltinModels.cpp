#include "lib/machine/cost/BuiltinModels.h"
#include "lib/machine/cost/PeakRateModel.h"
#include <fmt/format.h>

namespace accord {
namespace {

class PeakModel : public PeakRateModel {
public:
  Result<ComputeTime> computeAt(const CostQuery &q, const Core &core, FlopsPerSecond peak,
                                Assumptions &) const override {
    if (core.halfPerformanceWork.value <= 0 || q.operation.flops == 0)
      return timeAtPeak(q, peak);
    int64_t count = instancesPerOperation(core);
    Flops flops(q.operation.flops);
    FlopsPerSecond rate = peak * static_cast<double>(count) * core.efficiency;
    return ComputeTime{
        (flops + core.halfPerformanceWork) / rate,
        fmt::format("(flops + half_performance_work) / (count * peak * efficiency) = ({:.0f} + {:.6g}) / ({} * "
                    "{:.6g} * {:.6g})",
                    flops.value, core.halfPerformanceWork.value, count, peak.value, core.efficiency)};
  }
};

} // namespace

std::unique_ptr<CostModel> makePeakModel() { return std::make_unique<PeakModel>(); }

} // namespace accord
