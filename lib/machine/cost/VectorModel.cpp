#include "lib/machine/array/SaturatingArithmetic.h"
#include "lib/machine/array/VectorCycles.h"
#include "lib/machine/cost/PeakRateModel.h"
#include <fmt/format.h>

namespace accord {
namespace {

/// Values that each row is reduced to: normalizations need mean and variance, softmax maximum and
/// sum; every other reduction one.
int64_t reductionsOf(const std::string &kind) {
  for (const char *two : {"softmax", "layer_norm", "batch_norm", "group_norm", "cross_entropy"})
    if (kind == two || kind == std::string(two) + "_grad")
      return kind == "softmax_grad" ? 1 : 2;
  return 1;
}

class VectorModel : public PeakRateModel {
public:
  Result<ComputeTime> computeAt(const CostQuery &q, const Core &core, FlopsPerSecond peak,
                                Assumptions &assumptions) const override {
    const Operation &op = q.operation;
    if (core.lanes <= 0)
      return missingGeometryError(q, "vector", "the lanes");
    auto table = core.cyclesOf.find(op.kind);
    bool given = table != core.cyclesOf.end();
    if (op.domain.empty() || (op.flops == 0 && !given))
      return timeAtPeak(q, peak);

    RowWork work;
    for (const Loop &loop : op.domain) {
      int64_t &extent = loop.kind == IteratorKind::Reduction ? work.length : work.rows;
      extent = saturatingMultiply64(extent, std::max<int64_t>(loop.extent, 1));
    }
    bool reduces = work.length > 1;
    double points = 1.0 * work.rows * work.length;
    work.cyclesPerElement = given ? table->second : op.flops / points;
    work.reductions = reductionsOf(op.kind);
    std::string perElement = given ? fmt::format("{:.6g} stated for {}", work.cyclesPerElement, op.kind)
                                   : fmt::format("{:.6g} FLOP of an element", work.cyclesPerElement);
    VectorUnit unit{core.lanes, std::max<int64_t>(core.count, 1), !core.perInstanceMapping};
    double cores = unit.split ? unit.count : 1;
    if (!reduces) {
      auto cycles = elementCycles(work.rows, work.cyclesPerElement, unit);
      return finish(q, peak, cycles,
                    fmt::format("ceil(elements / lanes) * c = ceil({} / {:.0f}) * {:.6g}, c = {}", work.rows,
                                core.lanes * cores, work.cyclesPerElement, perElement),
                    assumptions);
    }
    auto fastest = rowCycles(work, unit);
    int64_t g = fastest ? fastest->lanesPerRow : 1;
    std::string how = fmt::format("ceil(rows / at once) * (ceil(length / g) * c{}) = ceil({} / {:.0f}) * (ceil({} / "
                                  "{}) * {:.6g}{}), g = {} lanes of a row, c = {}",
                                  g > 1 ? " + reductions * log2(g)" : "", work.rows,
                                  fastest ? double(fastest->rowsAtOnce) : 1, work.length, g, work.cyclesPerElement,
                                  g > 1 ? fmt::format(" + {} * log2({})", work.reductions, g) : "", g, perElement);
    return finish(q, peak, fastest ? std::optional(fastest->cycles) : std::nullopt, how, assumptions);
  }

private:
  static Result<ComputeTime> finish(const CostQuery &q, FlopsPerSecond peak, std::optional<double> cycles,
                                    const std::string &how, Assumptions &assumptions) {
    if (!cycles)
      return missingGeometryError(q, "vector", "the lanes and the cycles of an element");
    return timeOfCycles(q, peak, *cycles, how, assumptions);
  }
};

} // namespace

std::unique_ptr<CostModel> makeVectorModel() { return std::make_unique<VectorModel>(); }

} // namespace accord
