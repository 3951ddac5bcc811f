#include "lib/exploration/steps/StepShapes.h"
#include "lib/machine/array/LoopRoles.h"
#include "lib/machine/array/Systolic.h"
#include "lib/machine/cost/PeakRateModel.h"
#include "lib/machine/cost/PriceCache.h"
#include "lib/machine/model/Lookups.h"
#include "lib/machine/tiling/Mapping.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

/// Bytes of a tensor, each element once.
double bytesOf(const Operation &op, size_t tensor) {
  const tile::Nest nest = tile::nestOf(op.domain, op.tensors);
  std::vector<int64_t> extents;
  for (const tile::NestLoop &loop : nest.loops)
    extents.push_back(loop.extent);
  return tile::elements(nest.tensors[tensor], extents) * static_cast<double>(op.tensors[tensor].elementBits) / 8;
}

class Collector {
public:
  StepShapes all;

  uint32_t classOf(const Operation &op, std::optional<double> exchange, const ZeroShares &zeros) {
    StepClass made;
    made.bytes = static_cast<double>(op.bytesRead) + op.bytesWritten;
    made.flops = op.flops;
    std::string key = PriceCache::keyOf(op);
    if (op.core == CoreKind::Network && exchange) {
      made.kind = StepClass::Kind::Communication;
      made.seconds = *exchange;
      made.flops = 0;
    } else if (op.body != kNone || op.core == CoreKind::None || op.core == CoreKind::Network) {
      made.kind = StepClass::Kind::Free;
      made.bytes = made.flops = 0;
    } else if (op.givenSeconds) {
      made.kind = StepClass::Kind::Given;
      made.seconds = *op.givenSeconds;
      made.bytes = made.flops = 0;
    } else if (!op.parts.empty()) {
      made.kind = StepClass::Kind::Fused;
      made.want = want(op.core, op.type);
      for (const FusedPart &part : op.parts)
        made.parts.push_back(partOf(part));
    } else {
      made.kind = StepClass::Kind::Whole;
      made.want = want(op.core, op.type);
      made.shape = shapeOf(op);
      made.mapped = op.contraction && !op.tensors.empty() &&
                    std::all_of(op.domain.begin(), op.domain.end(), [](const Loop &loop) { return loop.extent > 0; });
    }
    made.lookup = lookupRows(op).has_value();
    if (made.kind == StepClass::Kind::Whole && zeros != ZeroShares{}) {
      made.zeros = zeros;
      made.zeros.compute = std::min(1.0, zeros.compute); // some cores compute zeros all the same
      if (zeros.stored < 1)
        made.savedBytes = bytesOf(op, zeros.tensor) * (1 - zeros.stored);
      key += fmt::format(" zeros {:a} {:a} {:a} {} {:a}", zeros.compute, zeros.active, zeros.bytes, zeros.tensor,
                         zeros.stored);
    }
    if (made.kind == StepClass::Kind::Free)
      key = "free";
    if (made.kind == StepClass::Kind::Communication)
      key = fmt::format("exchange {} {:a} {:a}", exchangeOf(op), made.seconds, made.bytes);
    if (made.kind == StepClass::Kind::Given)
      key = fmt::format("given {:a}", made.seconds);
    auto [place, isNew] = classes_.try_emplace(key, static_cast<uint32_t>(all.classes.size()));
    if (isNew)
      all.classes.push_back(std::move(made));
    return place->second;
  }

private:
  /// All that its time on any network follows from.
  static std::string exchangeOf(const Operation &op) {
    const std::optional<Communication> &one = op.communication;
    return one ? fmt::format("{} {} {} {:a}", one->kind, one->axis, one->ring, static_cast<double>(one->payload)) : "";
  }
  uint32_t want(CoreKind core, const std::string &type) {
    StepShapes::Want wanted{core, type};
    auto found = std::find(all.wants.begin(), all.wants.end(), wanted);
    if (found == all.wants.end())
      found = all.wants.insert(found, wanted);
    return static_cast<uint32_t>(found - all.wants.begin());
  }
  uint32_t partOf(const FusedPart &part) {
    Operation alone; // as `estimate` prices it
    alone.name = part.name, alone.kind = part.kind, alone.core = part.core, alone.type = part.type;
    alone.flops = part.flops, alone.contraction = part.contraction;
    alone.domain = part.domain, alone.tensors = part.tensors;
    return shapeOf(alone, /*isPart=*/true);
  }
  uint32_t shapeOf(const Operation &op, bool isPart = false) {
    auto [place, isNew] =
        shapes_.try_emplace((isPart ? "part " : "") + PriceCache::keyOf(op), static_cast<uint32_t>(all.shapes.size()));
    if (!isNew)
      return place->second;
    StepShape shape;
    shape.operation = op;
    shape.isPart = isPart;
    shape.want = want(op.core, op.type);
    if (op.contraction && !op.domain.empty() && op.flops > 0) {
      const Gemm &gemm = shape.gemm.emplace(gemmOf(op.domain, op.tensors).value_or(gemmOf(op.domain)));
      shape.products = op.flops / (2.0 * gemm.batch * gemm.m * gemm.n * gemm.k);
      if (auto roles = loopRoles(op.domain, op.tensors)) {
        auto result =
            std::find_if(op.tensors.begin(), op.tensors.end(), [](const LoopTensor &tensor) { return tensor.written; });
        auto width = [](const LoopTensor &tensor) { return static_cast<double>(tensor.elementBits) / 8; };
        shape.widths = {width(op.tensors[roles->lhs]), width(op.tensors[roles->rhs]), width(*result)};
      }
    }
    all.shapes.push_back(std::move(shape));
    return place->second;
  }

  std::map<std::string, uint32_t> shapes_, classes_;
};

/// Cycles that arrays of at most these rows and columns need for the streams of full folds, and
/// bytes that pass between them and the nearest memory, in the dataflow that needs least.
ShapeTime streamsOf(const StepShape &shape, const Core &core) {
  SystolicArray array{core.rows, core.cols, 1};
  std::vector<Dataflow> flows;
  if (auto flow = parseDataflow(core.dataflow))
    flows = {*flow};
  else
    flows = {Dataflow::OutputStationary, Dataflow::WeightStationary, Dataflow::InputStationary,
             Dataflow::RowStationary};
  ShapeTime min{INFINITY, 0, INFINITY};
  double cells = static_cast<double>(core.rows) * core.cols;
  for (Dataflow flow : flows) {
    if (flow == Dataflow::RowStationary) {
      min.spread = std::min(min.spread, shape.operation.flops / (2 * shape.products * cells));
      min.feed = 0;
      continue;
    }
    auto cost = systolicCost(*shape.gemm, flow, array);
    if (!cost)
      return {};
    min.spread = std::min(min.spread, static_cast<double>(cost->folds) * cost->stream);
    double feed = 0;
    if (shape.widths)
      feed = cost->lhsReads * (*shape.widths)[0] + cost->rhsReads * (*shape.widths)[1] +
             (static_cast<double>(cost->resultWrites) + cost->resultReads) * (*shape.widths)[2];
    min.feed = std::min(min.feed, feed);
  }
  return min;
}

} // namespace

StepShapes StepShapes::of(const WorkGraph &graph, const std::vector<double> &communication,
                          const StepZeroShares &zeros) {
  Collector collector;
  std::vector<uint32_t> classOf;
  for (OperationId id = 0; id < graph.operations.size(); ++id)
    classOf.push_back(collector.classOf(graph.operations[id],
                                        communication.empty() ? std::nullopt : std::optional<double>(communication[id]),
                                        zeros.empty() ? ZeroShares{} : zeros[id]));
  collector.all.classOf = std::move(classOf);
  collector.all.optimizer = graph.optimizer;
  return std::move(collector.all);
}

std::string builtinModel(const Machine &machine, const Core &core) {
  const std::string &asked = machine.costModel;
  bool fits = !(asked == "array" && core.rows <= 0) && !(asked == "vector" && core.lanes <= 0) &&
              !(asked == kInstructionModel && !core.microarchitecture);
  if (!asked.empty() && fits)
    return asked == "array" || asked == "vector" || asked == "peak" || asked == kInstructionModel ? asked : "";
  if (core.microarchitecture)
    return kInstructionModel;
  return core.rows > 0 && core.cols > 0 ? "array" : core.lanes > 0 ? "vector" : "peak";
}

ShapeTime instructionTime(const StepShape &shape, const Machine &machine, int index) {
  const Core &core = machine.cores[index];
  const double rate = flopsPerCycle(core) * machine.clock.value;
  ShapeTime time;
  if (!shape.operation.contraction || !(rate > 0) || shape.isPart)
    return time;
  time.single = 2 / rate;
  for (const Loop &loop : shape.operation.domain)
    time.single *= std::max<int64_t>(loop.extent, 0);
  time.spread = time.single / core.count;
  return time;
}

ShapeTime shapeTime(const StepShape &shape, const Machine &machine, int index, const std::string &type,
                    bool sameArray) {
  Machine alone;
  alone.clock = machine.clock;
  alone.cores = {machine.cores[index]};
  Core &core = alone.cores[0];
  std::string name = builtinModel(machine, core);
  auto model = name.empty() ? nullptr : makeCostModel(name);
  if (!model)
    return {};
  double flops = shape.operation.flops, count = core.count;
  double peak = peakOfOne(alone, core, type).value * core.efficiency;
  bool stated = core.peak.count(type) > 0;
  double slower = flops > 0 ? 1 + core.halfPerformanceWork.value / flops : 1;
  if (!sameArray && name == "array" && shape.gemm) {
    ShapeTime time = streamsOf(shape, core);
    // A stated peak stays what it is with fewer rows: a cycle is longer then.
    time.single = stated ? slower * flops / peak
                         : slower * shape.products * time.spread / (machine.clock.value * core.efficiency);
    time.spread = time.single / count;
    return time;
  }
  if (!sameArray && name == "vector" && stated) {
    auto table = core.cyclesOf.find(shape.operation.kind);
    double work = flops;
    if (table != core.cyclesOf.end()) {
      work = table->second;
      for (const Loop &loop : shape.operation.domain)
        work *= std::max<int64_t>(loop.extent, 1);
    }
    double single = flops > 0 || table != core.cyclesOf.end() ? slower * work / peak : 0;
    return {single / count, single, 0};
  }
  ShapeTime time;
  Assumptions words;
  for (bool one : {false, true}) {
    core.perInstanceMapping = one;
    CostQuery query{shape.operation, alone, 0, type};
    auto computed = model->compute(query, words);
    auto *found = computed.get();
    (one ? time.single : time.spread) = found ? found->time.value : INFINITY;
    if (found && name == "array" && shape.gemm)
      time.feed = model->feed(query).value;
  }
  return time;
}

} // namespace accord
