// From the same training at several sizes to polynomials and rates.
#include "lib/analysis/Liveness.h"
#include "lib/emit/LatencyModel.h"
#include "lib/emit/LatencyOrder.h"
#include "lib/emit/Summary.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <map>
#include <numeric>
#include <set>

using namespace llvm;
namespace accord {
namespace {

bool close(double a, double b) {
  return std::fabs(a - b) <= 1e-12 * std::max(std::fabs(a), std::fabs(b));
}

std::vector<PolynomialFit::Point> pointsOf(ArrayRef<LatencySample> samples) {
  std::vector<PolynomialFit::Point> points;
  for (const LatencySample &s : samples)
    points.push_back({s.microbatch, s.sequence});
  return points;
}

class Fit {
public:
  Fit(const Plan &plan, ArrayRef<LatencySample> samples)
      : plan(plan), samples(samples), exact(pointsOf(samples)) {}

  Error operation(OperationId id, LatencyOperation &out) {
    const Operation &op = plan.graph.operations[id];
    out.name = op.name, out.kind = op.kind, out.phase = op.phase, out.body = op.body;
    if (op.body != kNone) {
      out.count = plan.graph.regions[op.body].count;
      return Error::success();
    }
    if (Error e = polynomial(id, "FLOPs", out.flops, [&](const LatencySample &s) {
          return static_cast<double>(s.graph->operations[id].flops);
        }))
      return e;
    for (size_t l = 0; l < plan.machine.memories.size(); ++l) {
      LatencyOperation::Level level;
      level.memory = static_cast<int>(l);
      level.bandwidth = plan.machine.memories[l].bandwidth.value;
      level.latency = plan.machine.memories[l].latency.value;
      if (Error e = polynomial(id, "bytes of " + plan.machine.memories[l].name, level.bytes,
                               [&](const LatencySample &s) {
                                 const auto &bytes = s.costs->operations[id].bytes;
                                 return l < bytes.size() ? bytes[l].value : 0.0;
                               }))
        return e;
      bool charged = any_of(samples, [&](const LatencySample &s) {
        const auto &transfer = s.costs->operations[id].transfer;
        return l < transfer.size() && transfer[l].value > 0;
      });
      if (charged && !level.bytes.zero())
        out.traffic.push_back(level);
    }
    return rate(id, out);
  }

  /// Checks the whole formula against every sample.
  Error check(OperationId id, const LatencyOperation &op) {
    for (const LatencySample &s : samples) {
      double expected = s.costs->operations[id].time.value;
      double found = timeOf(op, static_cast<double>(s.microbatch), static_cast<double>(s.sequence));
      if (!close(expected, found))
        return createStringError("operation '%s': its time of %.9g s at micro-batch %lld and "
                                 "sequence %lld is not the largest of its "
                                 "arithmetic and its transfers, %.9g s (cost model '%s')",
                                 op.name.c_str(), expected, static_cast<long long>(s.microbatch),
                                 static_cast<long long>(s.sequence), found,
                                 s.costs->operations[id].model.c_str());
    }
    return Error::success();
  }

  template <typename Get>
  Error polynomial(OperationId id, const std::string &what, Polynomial &out, Get get) {
    SmallVector<int64_t> values;
    for (const LatencySample &s : samples) {
      double value = get(s);
      if (std::fabs(value) > 9e18 || value != std::floor(value))
        return createStringError("operation '%s': its %s are no whole number that fits in 64 bits",
                                 plan.graph.operations[id].name.c_str(), what.c_str());
      values.push_back(static_cast<int64_t>(value));
    }
    std::optional<Polynomial> p = exact.through(values);
    if (!p)
      return createStringError(
          "operation '%s': its %s are no polynomial of the micro-batch (degree 1) and the "
          "sequence (degree 2)",
          plan.graph.operations[id].name.c_str(), what.c_str());
    out = *p;
    return Error::success();
  }

  static double arithmetic(const LatencyOperation::Part &part, double B, double S,
                           double compute = 1) {
    if (part.rate <= 0)
      return 0;
    double extents = 1, padded = 1;
    for (const auto &tiling : part.tilings) {
      double extent = tiling.extent(B, S), tile = static_cast<double>(tiling.tile);
      extents = extents * extent;
      padded = padded * std::ceil(extent / tile) * tile;
    }
    double utilization = part.tilings.empty() ? 1 : extents / padded;
    return part.flops(B, S) / (part.rate * compute * utilization);
  }

  static double timeOf(const LatencyOperation &op, double B, double S, double compute = 1,
                       double bandwidth = 1) {
    double longest = arithmetic({op.flops, op.rate, op.tilings}, B, S, compute);
    for (const auto &core : op.cores) {
      double sum = 0;
      for (const LatencyOperation::Part &part : core)
        sum += arithmetic(part, B, S, compute);
      longest = std::max(longest, sum);
    }
    for (const auto &level : op.traffic)
      longest =
          std::max(longest, level.latency + level.bytes(B, S) / (level.bandwidth * bandwidth));
    return longest;
  }

private:
  using Tilings = std::vector<LatencyOperation::Tiling>;

  /// What is priced at one rate: an operation, or a part of a fused one.
  struct Piece {
    OperationId id;
    std::optional<size_t> part;

    double compute(const LatencySample &s) const {
      const OperationCost &cost = s.costs->operations[id];
      return (part ? cost.parts[*part].compute : cost.compute).value;
    }
    int64_t flops(const LatencySample &s) const {
      const Operation &op = s.graph->operations[id];
      return part ? op.parts[*part].flops : op.flops;
    }
    const std::vector<Loop> &domain(const LatencySample &s) const {
      const Operation &op = s.graph->operations[id];
      return part ? op.parts[*part].domain : op.domain;
    }
  };

  bool fits(const Piece &piece, const LatencyOperation::Part &priced) {
    return all_of(samples, [&](const LatencySample &s) {
      return close(
          arithmetic(priced, static_cast<double>(s.microbatch), static_cast<double>(s.sequence)),
          piece.compute(s));
    });
  }

  /// Extents (rows of the product, columns, depth, elements) as the array and vector models read
  /// them off the domain.
  std::vector<Tilings> tilings(const Piece &piece, const Core &core) {
    std::vector<Tilings> all = {{}};
    std::array<SmallVector<int64_t>, 4> values;
    for (const LatencySample &s : samples) {
      int64_t m = 1, n = 1, k = 1;
      for (const Loop &loop : piece.domain(s))
        if (loop.kind == IteratorKind::Reduction) {
          k *= std::max<int64_t>(loop.extent, 1);
        } else {
          m *= n;
          n = std::max<int64_t>(loop.extent, 1);
        }
      for (auto [i, value] : enumerate(std::array<int64_t, 4>{m, n, k, m * n}))
        values[i].push_back(value);
    }
    std::array<std::optional<Polynomial>, 4> p;
    for (size_t i = 0; i < 4; ++i)
      p[i] = exact.through(values[i]);
    if (core.rows > 0 && core.cols > 0)
      for (auto [onRows, onCols] :
           {std::pair(2, 1), {0, 1}, {2, 0}}) // weight, output, input stationary
        if (p[onRows] && p[onCols])
          all.push_back({{*p[onRows], core.rows}, {*p[onCols], core.cols}});
    if (core.lanes > 0 && p[3])
      all.push_back({{*p[3], core.lanes * core.count}});
    return all;
  }

  Error rate(OperationId id, LatencyOperation &out) {
    const Operation &op = plan.graph.operations[id];
    const OperationCost &cost = plan.costs.operations[id];
    if (op.parts.empty()) {
      LatencyOperation::Part whole{out.flops, 0, {}};
      if (Error e = rate({id, {}}, cost.core, cost.type.empty() ? op.type : cost.type, whole))
        return e;
      out.rate = whole.rate;
      out.tilings = std::move(whole.tilings);
      return check(id, out);
    }
    std::map<int, std::vector<LatencyOperation::Part>> cores;
    for (size_t i = 0; i < op.parts.size(); ++i) {
      LatencyOperation::Part part;
      Piece piece{id, i};
      if (Error e = polynomial(id, "FLOPs", part.flops, [&](const LatencySample &s) {
            return static_cast<double>(piece.flops(s));
          }))
        return e;
      if (Error e = rate(piece, cost.parts[i].core, cost.parts[i].type, part))
        return e;
      cores[cost.parts[i].core].push_back(std::move(part));
    }
    for (auto &[core, parts] : cores)
      out.cores.push_back(std::move(parts));
    return check(id, out);
  }

  /// Rate and tilings that give what the cost model says.
  Error rate(const Piece &piece, int coreIndex, const std::string &type,
             LatencyOperation::Part &out) {
    if (all_of(samples, [&](const LatencySample &s) { return piece.compute(s) == 0; }))
      return Error::success();
    if (coreIndex >= 0) {
      const Core &core = plan.machine.cores[coreIndex];
      double peak = peakOfOne(plan.machine, core, type).value;
      // In the order the cost models multiply, so that the bits agree.
      out.rate = peak * static_cast<double>(core.count) * core.efficiency;
      for (Tilings &candidate : tilings(piece, core)) {
        out.tilings = std::move(candidate);
        if (out.rate > 0 && fits(piece, out))
          return Error::success();
      }
    }
    // Another cost model: any constant rate will do.
    out.tilings.clear();
    const LatencySample &first = samples.front();
    out.rate = static_cast<double>(piece.flops(first)) / piece.compute(first);
    if (fits(piece, out))
      return Error::success();
    return createStringError(
        "operation '%s': cost model '%s' gives it a time that is no constant rate and no tiling "
        "of an array or of lanes",
        plan.graph.operations[piece.id].name.c_str(),
        plan.costs.operations[piece.id].model.c_str());
  }

  const Plan &plan;
  ArrayRef<LatencySample> samples;
  PolynomialFit exact;
};

Error sameStructure(const Plan &plan, const LatencySample &s) {
  const WorkGraph &a = plan.graph, &b = *s.graph;
  bool same = a.operations.size() == b.operations.size() && a.regions.size() == b.regions.size() &&
              s.costs->operations.size() == a.operations.size();
  for (size_t i = 0; same && i < a.operations.size(); ++i)
    same = a.operations[i].name == b.operations[i].name &&
           a.operations[i].region == b.operations[i].region &&
           a.operations[i].parts.size() == b.operations[i].parts.size();
  for (size_t i = 0; same && i < a.regions.size(); ++i)
    same = a.regions[i].count == b.regions[i].count;
  return same ? Error::success()
              : createStringError("the training step at micro-batch %lld and sequence %lld has "
                                  "other operations or "
                                  "repeats than the plan's",
                                  static_cast<long long>(s.microbatch),
                                  static_cast<long long>(s.sequence));
}

/// What runs at a time of the step, for comments.
std::string placeOf(const Plan &plan, Picoseconds time) {
  std::string text = formatSi(time.seconds().value, "s") + " into the step";
  int64_t micro = plan.schedule.regions[kMicrobatchRegion].length.value;
  bool update = micro <= 0 || time.value >= micro * plan.graph.microbatches;
  int64_t at = update ? time.value - micro * plan.graph.microbatches : time.value % micro;
  const Slot *found = nullptr;
  for (const Slot &slot : plan.schedule.regions[update ? kUpdateRegion : kMicrobatchRegion].slots)
    if (slot.start.value <= at && at < slot.start.value + slot.duration.value)
      found = &slot;
  return found ? text + ", during " + plan.graph.operations[found->operation].name : text;
}

Error fitMemory(const Plan &plan, ArrayRef<LatencySample> samples, MemoryOf memoryOf,
                std::vector<LiveSet> &out) {
  std::vector<MemoryUse> uses;
  for (const LatencySample &s : samples) {
    uses.push_back(memoryOf(*s.graph));
    if (uses.back().timeline.size() != uses.front().timeline.size())
      return createStringError(
          "device memory has another number of points at micro-batch %lld and sequence %lld",
          static_cast<long long>(s.microbatch), static_cast<long long>(s.sequence));
  }
  PolynomialFit exact(pointsOf(samples));
  std::set<std::vector<int64_t>> seen; // most points repeat another's bytes
  for (size_t i = 0; i < uses.front().timeline.size(); ++i) {
    std::vector<int64_t> totals;
    for (const MemoryUse &use : uses)
      totals.push_back(
          std::accumulate(use.timeline[i].bytes.begin(), use.timeline[i].bytes.end(), int64_t{0}));
    if (!seen.insert(totals).second)
      continue;
    std::optional<Polynomial> p = exact.through(totals);
    std::string where = placeOf(plan, uses.front().timeline[i].time);
    if (!p)
      return createStringError(
          "device memory %s is no polynomial of the micro-batch and the sequence", where.c_str());
    if (any_of(out, [&](const LiveSet &other) { return dominated(*p, other.bytes); }))
      continue;
    erase_if(out, [&](const LiveSet &other) { return dominated(other.bytes, *p); });
    out.push_back({where, *p});
  }
  for (size_t k = 0; k < samples.size(); ++k) {
    double most = 0;
    for (const LiveSet &set : out)
      most = std::max(most, set.bytes(static_cast<double>(samples[k].microbatch),
                                      static_cast<double>(samples[k].sequence)));
    if (!close(most, static_cast<double>(uses[k].peak)))
      return createStringError(
          "peak memory at micro-batch %lld and sequence %lld is %lld B, its points give %.0f B",
          static_cast<long long>(samples[k].microbatch),
          static_cast<long long>(samples[k].sequence), static_cast<long long>(uses[k].peak), most);
  }
  return Error::success();
}
} // namespace

double latencyOf(const LatencyOperation &op, double B, double S, double compute, double bandwidth) {
  return Fit::timeOf(op, B, S, compute, bandwidth);
}

Expected<LatencyModelInput> fitLatencyModel(const Plan &plan, int64_t sequence,
                                            ArrayRef<LatencySample> samples, MemoryOf memoryOf) {
  std::set<int64_t> batches, sequences;
  for (const LatencySample &s : samples) {
    if (Error e = sameStructure(plan, s))
      return e;
    batches.insert(s.microbatch);
    sequences.insert(s.sequence);
  }
  if (batches.size() < 3 || (sequences.size() != 1 && sequences.size() < 4))
    return createStringError(
        "too few samples: at least three micro-batches and one or four sequences are needed");
  LatencyModelInput input;
  input.name = cName(plan.graph.model);
  input.model = plan.graph.model, input.machine = plan.machine.name, input.version = plan.version;
  input.microbatch = plan.graph.microbatch, input.batch = plan.batch, input.sequence = sequence;
  for (const Memory &memory : plan.machine.memories)
    input.levels.push_back(memory.name);
  Fit fit(plan, samples);
  input.operations.resize(plan.graph.operations.size());
  for (OperationId id = 0; id < plan.graph.operations.size(); ++id) {
    if (Error e = fit.operation(id, input.operations[id]))
      return e;
    RegionId region = plan.graph.operations[id].region;
    for (; region > kUpdateRegion; region = plan.graph.regions[region].parent)
      input.operations[id].executions *= plan.graph.regions[region].count;
    input.operations[id].update = region == kUpdateRegion;
  }
  Dependences dependences = Dependences::of(plan.graph);
  bool exact = true;
  for (RegionId r = 0; r < plan.graph.regions.size(); ++r) {
    RegionOrder order = orderOf(plan, dependences, r);
    exact &= order.exact;
    for (auto [id, after] : zip(order.operations, order.after))
      input.operations[id].after = after;
    input.regions.push_back({plan.graph.regions[r].name, order.operations});
  }
  if (Error e = fitMemory(plan, samples, memoryOf, input.liveSets))
    return e;
  input.planStep = plan.schedule.step;
  double step = evaluateLatency(input, plan.batch, input.microbatch, sequence).step;
  input.exact = exact && close(step, plan.schedule.step.seconds().value);
  return input;
}

Expected<LatencyModelInput> fitLatencyModel(const Plan &plan, int64_t sequence,
                                            ArrayRef<LatencySample> samples) {
  return fitLatencyModel(plan, sequence, samples, [&](const WorkGraph &graph) {
    LivenessOptions all;
    all.points = ~0u;
    return liveness(graph, plan.schedule, all);
  });
}

} // namespace accord
