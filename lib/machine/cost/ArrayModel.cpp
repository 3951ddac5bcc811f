#include "lib/machine/array/LoopRoles.h"
#include "lib/machine/array/SaturatingArithmetic.h"
#include "lib/machine/array/Systolic.h"
#include "lib/machine/cost/PeakRateModel.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

double asDouble(Count count) { return count; }

/// "1 x 8 x 8", in the words of the dataflow.
std::string shapeOf(const Gemm &g) {
  std::string shape = fmt::format("M={} N={} K={}", g.m, g.n, g.k);
  return g.batch > 1 ? fmt::format("{} of {}", g.batch, shape) : shape;
}
std::string shapeOf(const Convolution &c) {
  return fmt::format("{} groups, {} images, {} filters, {} channels, window {} x {}, result {} x {}", c.groups,
                     c.images, c.filters, c.channels, c.filterRows, c.filterCols, c.outRows, c.outCols);
}
const char *foldsOf(Dataflow flow) {
  return flow == Dataflow::OutputStationary   ? "ceil(M/rows) * ceil(N/columns)"
         : flow == Dataflow::WeightStationary ? "ceil(K/rows) * ceil(N/columns)"
         : flow == Dataflow::InputStationary  ? "ceil(K/rows) * ceil(M/columns)"
                                              : "sets of window rows x result rows";
}

SystolicArray arrayOf(const Core &core) {
  SystolicArray array;
  array.rows = core.rows, array.cols = core.cols, array.count = std::max<int64_t>(core.count, 1);
  array.overlapFill = core.overlapFill, array.overlapDrain = core.overlapDrain;
  array.split = array.cutStream = !core.perInstanceMapping;
  return array;
}
SystolicArray uncut(const Core &core) {
  SystolicArray array = arrayOf(core);
  array.cutStream = false;
  return array;
}
Dataflow dataflowOf(const Core &core) { return parseDataflow(core.dataflow).value_or(Dataflow::WeightStationary); }

/// Of the whole, or of a tile of it, as `domain` says.
SystolicCost costOf(const Core &core, const SystolicArray &array, const std::vector<Loop> &domain,
                    const std::vector<LoopTensor> &tensors) {
  if (dataflowOf(core) == Dataflow::RowStationary)
    if (auto conv = convolutionOf(domain, tensors))
      return *rowStationaryCost(*conv, array);
  Gemm gemm = gemmOf(domain, tensors).value_or(gemmOf(domain));
  return *systolicCost(gemm, dataflowOf(core), array);
}

/// Seconds for a cycle of folds whose streams are not cut: less than a cycle of the array where the
/// whole operation cuts them for arrays that would idle. More arrays have as few idle in relation
/// as half of them, if they go in pairs: the least over the count, half of it and so on. So the
/// pace never falls when the count doubles, whatever the folds are.
Seconds paceOf(const CostQuery &q, const ComputeTime &whole) {
  const Core &core = q.machine.cores[q.core];
  const Operation &op = q.operation;
  SystolicArray cut = arrayOf(core), array = uncut(core);
  auto cycles = [&](const SystolicArray &of) { return asDouble(costOf(core, of, op.domain, op.tensors).cycles); };
  Seconds cycle = whole.time / cycles(cut);
  double min = 1;
  for (int64_t count = array.count; count >= 1; count = array.split ? count / 2 : 0) {
    cut.count = array.count = count;
    min = std::min(min, cycles(cut) / cycles(array));
  }
  return cycle * min;
}

std::vector<LoopRole> rolesOf(const LoopRoles &roles, const std::vector<std::vector<unsigned>> &groups) {
  std::vector<LoopRole> of;
  for (const std::vector<unsigned> &group : groups) // loops of a group index the same tensors
    of.push_back(roles.roles[group.front()]);
  return of;
}

Gemm gemmOfTile(const std::vector<LoopRole> &roles, std::span<const int64_t> extents) {
  Gemm gemm;
  for (size_t g = 0; g < roles.size(); ++g) {
    int64_t &extent = extentOf(gemm, roles[g]);
    extent = saturatingMultiply64(extent, extents[g]);
  }
  return gemm;
}

class ArrayModel : public PeakRateModel {
public:
  /// Cycles of the tile's own folds, none of whose streams is cut for idle arrays, at the pace of
  /// the whole, and at least its share of the whole: then no tiles take less than the whole in sum,
  /// and none take longer if the arrays are twice as many. Row stationary folds strips of rows of
  /// its own, whatever the tiles: there a tile has its share.
  TileTime tileTime(const CostQuery &q, const ComputeTime &whole,
                    const std::vector<std::vector<unsigned>> &groups) const override {
    const Core &core = q.machine.cores[q.core];
    auto roles = loopRoles(q.operation.domain, q.operation.tensors);
    TileTime share = CostModel::tileTime(q, whole, groups);
    if (!roles || dataflowOf(core) == Dataflow::RowStationary)
      return share;
    return [of = rolesOf(*roles, groups), cycle = paceOf(q, whole), array = uncut(core), flow = dataflowOf(core),
            share](std::span<const int64_t> extents) {
      Gemm tile = gemmOfTile(of, extents);
      return std::max(share(extents), cycle * asDouble(systolicCost(tile, flow, array)->cycles));
    };
  }

  /// Tiles of at most these extents: their folds use no more of the array, and the stream comes in
  /// no fewer pieces. A tile takes at least an interval for each of its folds, which grows less
  /// than the stream, so that equal pieces take least.
  TileTime tileFloor(const CostQuery &q, const ComputeTime &whole,
                     const std::vector<std::vector<unsigned>> &groups) const override {
    const Core &core = q.machine.cores[q.core];
    const Operation &op = q.operation;
    auto roles = loopRoles(op.domain, op.tensors);
    auto gemm = gemmOf(op.domain, op.tensors);
    Dataflow flow = dataflowOf(core);
    if (!roles || !gemm || flow == Dataflow::RowStationary)
      return nullptr;
    SystolicArray array = uncut(core);
    Seconds cycle = paceOf(q, whole);
    double spread = array.split ? array.count : 1;
    array.count = 1;
    return [of = rolesOf(*roles, groups), cycle, array, flow, spread, all = *gemm](std::span<const int64_t> extents) {
      auto axes = [flow](const Gemm &g) -> std::array<int64_t, 3> { // rows, columns, stream
        if (flow == Dataflow::OutputStationary)
          return {g.m, g.n, g.k};
        return flow == Dataflow::WeightStationary ? std::array{g.k, g.n, g.m} : std::array{g.k, g.m, g.n};
      };
      auto [rows, columns, stream] = axes(all);
      auto [maxRows, maxColumns, maxStream] = axes(gemmOfTile(of, extents));
      auto pieces = [](int64_t extent, int64_t max) { return (extent - 1) / max + 1; };
      double folds = 1.0 * all.batch * pieces(rows, std::min(array.rows, maxRows)) *
                     pieces(columns, std::min(array.cols, maxColumns));
      int64_t cuts = pieces(stream, std::min(stream, maxStream)), each = stream / cuts;
      Gemm one;
      (flow == Dataflow::OutputStationary ? one.k : flow == Dataflow::WeightStationary ? one.m : one.n) = each;
      double interval = asDouble(systolicCost(one, flow, array)->interval);
      return cycle * (folds * cuts * interval / spread);
    };
  }

  /// What the arrays take from and give to the memory beside them, fold by fold.
  Bytes feed(const CostQuery &q) const override {
    const Operation &op = q.operation;
    auto roles = loopRoles(op.domain, op.tensors);
    if (!roles)
      return CostModel::feed(q);
    // Arrays that share a stream hold the same operand, which reaches all of them at once.
    const Core &core = q.machine.cores[q.core];
    SystolicCost cost = costOf(core, uncut(core), op.domain, op.tensors);
    auto width = [&](size_t tensor) { return op.tensors[tensor].elementBits / 8.0; };
    size_t result = 0;
    while (!op.tensors[result].written)
      ++result;
    double bytes = asDouble(cost.lhsReads) * width(roles->lhs) + asDouble(cost.rhsReads) * width(roles->rhs) +
                   (asDouble(cost.resultWrites) + asDouble(cost.resultReads)) * width(result);
    return std::max(Bytes(bytes), CostModel::feed(q));
  }

  Result<ComputeTime> computeAt(const CostQuery &q, const Core &core, FlopsPerSecond peak,
                                Assumptions &assumptions) const override {
    const Operation &op = q.operation;
    if (core.rows <= 0 || core.cols <= 0)
      return missingGeometryError(q, "array", "rows and columns");
    if (!op.contraction || op.domain.empty() || op.flops == 0)
      return timeAtPeak(q, peak);

    if (!parseDataflow(core.dataflow))
      assumptions.insert(fmt::format("core '{}' states no dataflow: weight_stationary", core.name));
    Dataflow flow = dataflowOf(core);
    Gemm gemm = gemmOf(op.domain, op.tensors).value_or(gemmOf(op.domain));
    SystolicArray array = arrayOf(core);
    std::string shape = shapeOf(gemm);
    SystolicCost cost;
    if (auto conv = flow == Dataflow::RowStationary ? convolutionOf(op.domain, op.tensors) : std::nullopt) {
      cost = *rowStationaryCost(*conv, array);
      shape = shapeOf(*conv);
    } else {
      cost = *systolicCost(gemm, flow, array);
    }
    // An operation may compute several products of these extents (attention), or skip a part.
    double points = 1.0 * gemm.batch * gemm.m * gemm.n * gemm.k;
    double products = op.flops / (2 * points);
    std::string how =
        fmt::format("load + stream + skew + (folds - 1) * interval = {:.0f} + {:.0f} + {:.0f} + ({:.0f} - 1) * {:.0f}",
                    asDouble(cost.load), asDouble(cost.stream), asDouble(cost.skew), asDouble(cost.foldsPerArray),
                    asDouble(cost.interval));
    if (products != 1)
      how = fmt::format("{:.6g} * ({})", products, how);
    how += fmt::format(" for {}, {} on {} x {}, {:.0f} folds = {}{}", shape, name(flow), core.rows, core.cols,
                       asDouble(cost.folds), foldsOf(flow),
                       gemm.batch > 1 && flow != Dataflow::RowStationary ? " * batch" : "");
    if (cost.pieces > 1)
      how += fmt::format(" * {} pieces of the stream", cost.pieces);
    if (array.split && array.count > 1)
      how += fmt::format(", {:.0f} on the bottleneck array of {} arrays", asDouble(cost.foldsPerArray), array.count);
    how += flow == Dataflow::RowStationary ? " (Eyeriss, ISCA 2016)" : " (SCALE-Sim v3, arXiv 2504.15377)";
    return timeOfCycles(q, peak, products * asDouble(cost.cycles), how, assumptions);
  }
};

} // namespace

std::unique_ptr<CostModel> makeArrayModel() { return std::make_unique<ArrayModel>(); }

} // namespace accord
