#include "lib/array/Systolic.h"
#include "lib/cost/BuiltinModels.h"
#include "lib/cost/CoreRate.h"
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

double asDouble(Count count) { return static_cast<double>(count); }

/// "1 x 8 x 8", in the words of the dataflow.
std::string shapeOf(const Gemm &g) {
  std::string shape = fmt::format("M={} N={} K={}", g.m, g.n, g.k);
  return g.batch > 1 ? fmt::format("{} of {}", g.batch, shape) : shape;
}
std::string shapeOf(const Convolution &c) {
  return fmt::format(
      "{} groups, {} images, {} filters, {} channels, window {} x {}, result {} x {}", c.groups,
      c.images, c.filters, c.channels, c.filterRows, c.filterCols, c.outRows, c.outCols);
}
const char *foldsOf(Dataflow flow) {
  switch (flow) {
  case Dataflow::OutputStationary:
    return "ceil(M/rows) * ceil(N/columns)";
  case Dataflow::WeightStationary:
    return "ceil(K/rows) * ceil(N/columns)";
  case Dataflow::InputStationary:
    return "ceil(K/rows) * ceil(M/columns)";
  case Dataflow::RowStationary:
    break;
  }
  return "sets of window rows x result rows";
}

class ArrayModel : public CostModel {
public:
  std::variant<ComputeTime, Issue> compute(const CostQuery &q,
                                           Assumptions &assumptions) const override {
    auto stated = peakFor(q, assumptions);
    if (auto *issue = std::get_if<Issue>(&stated))
      return std::move(*issue);
    FlopsPerSecond peak = std::get<FlopsPerSecond>(stated);
    assumeSpread(q, assumptions);
    const Core &core = q.machine.cores[q.core];
    const Operation &op = q.operation;
    if (core.rows <= 0 || core.cols <= 0)
      return needsGeometry(q, "array", "rows and columns");
    if (!op.contraction || op.domain.empty() || op.flops == 0)
      return timeAtPeak(q, peak);

    std::optional<Dataflow> stays = dataflowNamed(core.dataflow);
    if (!stays)
      assumptions.insert(fmt::format("core '{}' states no dataflow: weight_stationary", core.name));
    Dataflow flow = stays.value_or(Dataflow::WeightStationary);
    Gemm gemm = gemmOf(op.domain, op.tensors).value_or(gemmOf(op.domain));
    SystolicArray array;
    array.rows = core.rows, array.cols = core.cols, array.count = std::max<int64_t>(core.count, 1);
    array.overlapFill = core.overlapFill, array.overlapDrain = core.overlapDrain;
    array.split = array.cutStream = !core.oneEach;
    std::string shape = shapeOf(gemm);
    SystolicCost cost;
    if (auto conv =
            flow == Dataflow::RowStationary ? convolutionOf(op.domain, op.tensors) : std::nullopt) {
      cost = *rowStationaryCost(*conv, array);
      shape = shapeOf(*conv);
    } else {
      cost = *systolicCost(gemm, flow, array);
    }
    // An operation may compute several products of these extents (attention), or skip a part.
    double points = static_cast<double>(gemm.batch) * static_cast<double>(gemm.m) *
                    static_cast<double>(gemm.n) * static_cast<double>(gemm.k);
    double products = static_cast<double>(op.flops) / (2 * points);
    std::string how = fmt::format(
        "load + stream + skew + (folds - 1) * interval = {:.0f} + {:.0f} + {:.0f} + ({:.0f} - 1) * "
        "{:.0f}",
        asDouble(cost.load), asDouble(cost.stream), asDouble(cost.skew), asDouble(cost.foldsOfOne),
        asDouble(cost.interval));
    if (products != 1)
      how = fmt::format("{:.6g} * ({})", products, how);
    how += fmt::format(" for {}, {} on {} x {}, {:.0f} folds = {}{}", shape, name(flow), core.rows,
                       core.cols, asDouble(cost.folds), foldsOf(flow),
                       gemm.batch > 1 && flow != Dataflow::RowStationary ? " * batch" : "");
    if (cost.pieces > 1)
      how += fmt::format(" * {} pieces of the stream", cost.pieces);
    if (array.split && array.count > 1)
      how += fmt::format(", {:.0f} on the fullest of {} arrays", asDouble(cost.foldsOfOne),
                         array.count);
    how += flow == Dataflow::RowStationary ? " (Eyeriss, ISCA 2016)"
                                           : " (SCALE-Sim v3, arXiv 2504.15377)";
    return timeOfCycles(q, peak, products * asDouble(cost.cycles), how, assumptions);
  }
};

} // namespace

std::unique_ptr<CostModel> makeArrayModel() { return std::make_unique<ArrayModel>(); }

} // namespace accord
