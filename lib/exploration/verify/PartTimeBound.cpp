#include "lib/exploration/verify/PartTimeBound.h"
#include "lib/exploration/verify/MachineDifferences.h"
#include <algorithm>
#include <cmath>

namespace accord {
namespace {

double pieces(double extent, double at) { return std::ceil(extent / at); }
double number(int64_t n) { return n; }

/// By loop: whether the tensor moves with it.
std::vector<bool> movesWith(const LoopTensor &tensor, size_t loops) {
  std::vector<bool> moves(loops);
  for (const auto &position : tensor.dimensions)
    for (const LoopTensor::Term &term : position)
      if (term.loop < loops && term.stride != 0)
        moves[term.loop] = true;
  return moves;
}

/// How folds of an R x C array follow from a product.
struct FoldsOf {
  double folds = 0, stream = 0, load = 0;
};
FoldsOf foldsOf(const ProductExtents &p, const std::string &flow, double rows, double cols) {
  if (flow == "output_stationary")
    return {p.batch * pieces(p.m, rows) * pieces(p.n, cols), p.k, 0};
  if (flow == "input_stationary")
    return {p.batch * pieces(p.k, rows) * pieces(p.m, cols), p.n, rows};
  return {p.batch * pieces(p.k, rows) * pieces(p.n, cols), p.m, rows};
}

/// Until the last of `count` arrays is done, with streams in `cuts` pieces at most.
double cyclesOf(const FoldsOf &of, const Core &core, bool output, double count, double cuts) {
  double steps = pieces(of.stream, cuts), folds = of.folds * pieces(of.stream, steps);
  double skew = number(core.rows) + number(core.cols) - 2, whole = of.load + steps + skew, interval = whole;
  if (core.overlapDrain) {
    interval = core.overlapFill ? std::max(of.load, steps) : of.load + steps;
    interval = std::max(interval, output ? number(core.rows) : 0);
  } else if (core.overlapFill) {
    interval = std::max(of.load, steps + skew);
  }
  return whole + (pieces(folds, count) - 1) * interval;
}

double arrayCycles(const FoldsOf &of, const Core &core, bool output, bool all) {
  double count = all ? number(core.count) : 1, min = cyclesOf(of, core, output, count, 1);
  for (double power = 2; all && power <= count; power *= 2) // 2, 3, 4, 6, 8, 12, …
    for (double cuts : {power, power * 1.5})
      if (cuts <= count && cuts <= of.stream)
        min = std::min(min, cyclesOf(of, core, output, count, cuts));
  return min;
}

/// Bytes between the arrays and what they read, if no stream is cut.
double feedOf(const ProductExtents &p, const std::string &flow, double rows, double cols) {
  double lhs = 1, rhs = 1, result = 1; // how often each element passes
  if (flow == "output_stationary")
    lhs = pieces(p.n, cols), rhs = pieces(p.m, rows);
  else if (flow == "input_stationary")
    rhs = pieces(p.m, cols), result = 2 * pieces(p.k, rows) - 1;
  else
    lhs = pieces(p.n, cols), result = 2 * pieces(p.k, rows) - 1;
  return p.batch * (p.m * p.k * lhs * p.widths[0] + p.k * p.n * rhs * p.widths[1] + p.m * p.n * result * p.widths[2]);
}

/// Values that a row is reduced to.
double reductionsOf(const std::string &kind) {
  for (const char *two : {"softmax", "layer_norm", "layer_norm_grad", "batch_norm", "batch_norm_grad", "group_norm",
                          "group_norm_grad", "cross_entropy", "cross_entropy_grad"})
    if (kind == two)
      return 2;
  return 1;
}

double laneCycles(const BoundedPart &part, const Core &core, double each, bool all) {
  double lanes = number(core.lanes), cores = all ? number(core.count) : 1;
  double min = INFINITY, combine = reductionsOf(part.kind);
  for (double group = 1, steps = 0;; group *= 2, ++steps) {
    double atOnce = group <= lanes ? std::floor(lanes / group) * cores : 0;
    if (group > lanes || std::floor(lanes / group) < 1) // lanes of several cores
      break;
    min = std::min(min, pieces(part.rows, atOnce) * (pieces(part.length, group) * each + combine * steps));
    if (group >= part.length)
      return min;
  }
  // Beyond one core's lanes no row is done sooner than with all lanes of all of them.
  if (cores > 1)
    min = std::min(
        min, std::max(part.rows * part.length * each / (lanes * cores), each + combine * std::floor(std::log2(lanes))));
  return min;
}

std::string modelOf(const Machine &machine, const Core &core) {
  const std::string &asked = machine.costModel;
  if (!asked.empty() && !(asked == "array" && core.rows <= 0) && !(asked == "vector" && core.lanes <= 0) &&
      !(asked == "instructions" && !core.microarchitecture))
    return asked;
  if (core.microarchitecture)
    return "instructions";
  return core.rows > 0 && core.cols > 0 ? "array" : core.lanes > 0 ? "vector" : "peak";
}

void put(std::string &key, std::initializer_list<double> numbers) {
  for (double number : numbers)
    key.append(reinterpret_cast<const char *>(&number), sizeof number);
}

} // namespace

std::string timesKey(const Machine &machine, const Core &core) {
  std::string key = core.dataflow + ";" + machine.costModel + name(core.kind);
  put(key, {number(core.rows), number(core.cols), number(core.lanes), number(core.count), machine.clock.value,
            core.efficiency, core.halfPerformanceWork.value});
  key += core.overlapFill ? core.overlapDrain ? '3' : '1' : core.overlapDrain ? '2' : '0';
  for (const auto &[type, peak] : core.peak)
    key += ";" + type, put(key, {peak.value});
  for (const auto &[kind, cycles] : core.cyclesOf)
    key += ":" + kind, put(key, {cycles});
  if (core.microarchitecture)
    key += "|" + numbersOf(core);
  return key;
}

std::string timesKey(const Machine &machine) {
  std::string key;
  put(key, {machine.host.kernel.value, machine.host.microbatch.value, machine.host.step.value});
  for (const Core &core : machine.cores) {
    key += timesKey(machine, core);
    put(key, {number(core.reads), number(core.perInstanceMapping), number(core.anyMapping)});
  }
  for (const Memory &memory : machine.memories)
    put(key, {memory.bandwidth.value, memory.latency.value, memory.efficiency, number(memory.doubleBuffered),
              number(overlapsTransfers(memory)), number(memory.capacity.value > 0)});
  return key;
}

std::optional<ProductExtents> extentsOf(const std::vector<Loop> &domain, const std::vector<LoopTensor> &tensors) {
  ProductExtents p;
  auto extent = [&](size_t l) { return std::max(number(domain[l].extent), 1.0); };
  auto reduces = [&](size_t l) { return domain[l].kind == IteratorKind::Reduction; };
  std::vector<size_t> operands;
  std::vector<bool> result(domain.size());
  double resultWidth = 0;
  for (size_t t = 0; t < tensors.size(); ++t) {
    if (!tensors[t].written) {
      operands.push_back(t);
      continue;
    }
    std::vector<bool> moves = movesWith(tensors[t], domain.size());
    for (size_t l = 0; l < domain.size(); ++l)
      result[l] = result[l] || moves[l];
    if (resultWidth == 0)
      resultWidth = number(tensors[t].elementBits) / 8;
  }
  if (resultWidth == 0 || operands.size() < 2) {
    for (size_t l = 0; l < domain.size(); ++l) {
      if (reduces(l))
        p.k *= extent(l);
      else
        p.m *= p.n, p.n = extent(l);
    }
    return p;
  }
  if (operands.size() > 2)
    return std::nullopt;
  const LoopTensor &left = tensors[operands[0]], &right = tensors[operands[1]];
  std::vector<bool> lhs = movesWith(left, domain.size()), rhs = movesWith(right, domain.size());
  bool twice = false;
  for (size_t l = 0; l < domain.size(); ++l)
    twice |= lhs[l] && rhs[l] && result[l] && reduces(l) && domain[l].extent > 1;
  for (size_t l = 0; l < domain.size(); ++l) {
    double &of = lhs[l] && rhs[l] ? (result[l] && !reduces(l) ? p.batch : p.k)
                 : lhs[l]         ? (result[l] || twice ? p.m : p.k)
                 : rhs[l]         ? (result[l] || twice ? p.n : p.k)
                 : result[l]      ? p.m
                 : reduces(l)     ? p.k
                                  : p.batch;
    of *= extent(l);
  }
  p.widths = {number(left.elementBits) / 8, number(right.elementBits) / 8, resultWidth};
  return p;
}

PartTimeBound partTimeBound(const BoundedPart &part, const Machine &machine, const Core &core,
                            const std::string &type) {
  std::string model = modelOf(machine, core);
  double peak = peakOfOne(machine, core, type).value, rate = peak * core.efficiency,
         count = number(std::max<int64_t>(core.count, 1)), half = core.halfPerformanceWork.value;
  if (model == "instructions") { // each multiply-accumulate of a product is executed
    const double flops = flopsPerCycle(core) * machine.clock.value;
    const double single = part.contraction && flops > 0 ? 2 * part.rows * part.length / flops : 0;
    return {single / count, single, 0};
  }
  if (!(rate > 0) || (model != "array" && model != "vector" && model != "peak"))
    return {};
  auto plain = [&](double flops) { return PartTimeBound{flops / rate / count, flops / rate, 0}; };
  if (model == "peak")
    return plain(part.flops > 0 ? part.flops + half : 0);
  double clock = machine.clock.value, implied = peak / flopsPerCycle(core);
  if (!(std::abs(implied - clock) <= 1e-9 * clock))
    clock = implied;
  double second = (part.flops > 0 ? 1 + half / part.flops : 1) / (clock * core.efficiency);
  if (model == "array") {
    if (!part.contraction || part.empty || !(part.flops > 0) || !part.product || core.dataflow == "row_stationary")
      return plain(part.flops);
    const ProductExtents &p = *part.product;
    bool output = core.dataflow == "output_stationary";
    double rows = number(core.rows), cols = number(core.cols);
    FoldsOf of = foldsOf(p, core.dataflow, rows, cols);
    double scale = second * part.flops / (2 * p.batch * p.m * p.n * p.k);
    return {scale * arrayCycles(of, core, output, true), scale * arrayCycles(of, core, output, false),
            p.widths[2] > 0 ? feedOf(p, core.dataflow, rows, cols) : 0};
  }
  auto stated = core.cyclesOf.find(part.kind);
  bool given = stated != core.cyclesOf.end();
  if (part.empty || (part.flops == 0 && !given))
    return plain(part.flops);
  double each = given ? stated->second : part.flops / (part.rows * part.length);
  return {second * laneCycles(part, core, each, true), second * laneCycles(part, core, each, false), 0};
}

bool timesPrograms(const Machine &machine, const Core &core) {
  return core.microarchitecture && modelOf(machine, core) == "instructions";
}

EligibleCores eligibleCores(const BoundedPart &part, const Machine &machine) {
  EligibleCores found;
  std::vector<CoreKind> kinds{part.core};
  if (part.core == CoreKind::Tensor)
    kinds.push_back(CoreKind::Vector);
  for (CoreKind kind : kinds) {
    for (size_t i = 0; i < machine.cores.size(); ++i) {
      const Core &core = machine.cores[i];
      if (core.kind == kind && (core.peak.empty() || core.peak.count(part.type)) &&
          peakOfOne(machine, core, part.type).value * core.efficiency > 0)
        found.cores.push_back(i);
    }
    if (!found.cores.empty()) {
      found.type = part.type;
      return found;
    }
  }
  for (size_t i = 0; i < machine.cores.size(); ++i)
    if (std::find(kinds.begin(), kinds.end(), machine.cores[i].kind) != kinds.end())
      found.cores.push_back(i);
  return found;
}

} // namespace accord
