#include "lib/cost/BuiltinModels.h"
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

double ceilDiv(double a, double b) { return std::ceil(a / b); }

std::variant<FlopsPerSecond, Issue> peakFor(const CostQuery &q, Assumptions &assumptions) {
  const Core &core = q.machine.cores[q.core];
  FlopsPerSecond peak = accord::peakOfOne(q.machine, core, q.type);
  if (peak.value <= 0)
    return Issue{"A0451",
                 fmt::format("'{}' needs the {} peak of core '{}' of '{}', which states neither it "
                             "nor an array or lanes with a clock",
                             q.operation.name, q.type, core.name, q.machine.name),
                 q.operation.location,
                 {{q.machine.location, fmt::format("'{}' is described here", q.machine.name)}}};
  if (!core.peak.count(q.type))
    assumptions.insert(fmt::format("core '{}' does {:.0f} {} FLOP a cycle, from its {}", core.name,
                                   flopsPerCycle(core), q.type, core.rows > 0 ? "array" : "lanes"));
  return peak;
}

ComputeTime timeAt(const CostQuery &q, FlopsPerSecond peak, double utilization,
                   const std::string &how) {
  const Core &core = q.machine.cores[q.core];
  int64_t instances = instancesPerOperation(core);
  double flops = static_cast<double>(q.operation.flops), count = static_cast<double>(instances);
  FlopsPerSecond rate = peak * count * core.efficiency * utilization;
  std::string symbols = "flops / (count * peak * efficiency",
              numbers = fmt::format("{:.0f} / ({} * {:.6g} * {:.6g}", flops, instances, peak.value,
                                    core.efficiency);
  if (!how.empty()) {
    symbols += " * utilization";
    numbers += fmt::format(" * {:.6g}", utilization);
  }
  return {flops == 0 ? Seconds(0) : Flops(flops) / rate, symbols + ") = " + numbers + ")" + how};
}

void assumeSpread(const CostQuery &q, Assumptions &assumptions) {
  const Core &core = q.machine.cores[q.core];
  if (core.count > 1 && core.oneEach)
    assumptions.insert(fmt::format("each operation runs on one of the {} instances of core '{}'",
                                   core.count, core.name));
  else if (core.count > 1)
    assumptions.insert(fmt::format(
        "an operation is spread evenly over all {} instances of core '{}'", core.count, core.name));
  if (core.efficiency == 1 && !core.origins.count("efficiency"))
    assumptions.insert(
        fmt::format("core '{}' states no efficiency: it reaches its peak", core.name));
}

class PeakModel : public CostModel {
public:
  std::variant<ComputeTime, Issue> compute(const CostQuery &q,
                                           Assumptions &assumptions) const override {
    auto peak = peakFor(q, assumptions);
    if (auto *issue = std::get_if<Issue>(&peak))
      return std::move(*issue);
    assumeSpread(q, assumptions);
    const Core &core = q.machine.cores[q.core];
    if (core.halfWork.value <= 0 || q.operation.flops == 0)
      return timeAt(q, std::get<FlopsPerSecond>(peak), 1, "");
    Flops flops(static_cast<double>(q.operation.flops));
    int64_t instances = instancesPerOperation(core);
    FlopsPerSecond rate =
        std::get<FlopsPerSecond>(peak) * static_cast<double>(instances) * core.efficiency;
    return ComputeTime{
        (flops + core.halfWork) / rate,
        fmt::format("(flops + half_work) / (count * peak * efficiency) = ({:.0f} + {:.6g}) / ({} * "
                    "{:.6g} * {:.6g})",
                    flops.value, core.halfWork.value, instances,
                    std::get<FlopsPerSecond>(peak).value, core.efficiency)};
  }
};

class ArrayModel : public CostModel {
public:
  std::variant<ComputeTime, Issue> compute(const CostQuery &q,
                                           Assumptions &assumptions) const override {
    auto peak = peakFor(q, assumptions);
    if (auto *issue = std::get_if<Issue>(&peak))
      return std::move(*issue);
    assumeSpread(q, assumptions);
    const Core &core = q.machine.cores[q.core];
    if (core.rows <= 0 || core.cols <= 0)
      return Issue{"A0451",
                   fmt::format("cost model 'array' needs rows and columns of core '{}' of '{}'",
                               core.name, q.machine.name),
                   q.operation.location,
                   {{q.machine.location, fmt::format("'{}' is described here", q.machine.name)}}};
    if (!q.operation.contraction || q.operation.domain.empty())
      return timeAt(q, std::get<FlopsPerSecond>(peak), 1, "");
    double m = 1, n = 1, k = 1;
    for (const Loop &loop : q.operation.domain) {
      double extent = static_cast<double>(std::max<int64_t>(loop.extent, 1));
      if (loop.kind == IteratorKind::Reduction) {
        k *= extent;
      } else {
        m *= n;
        n = extent;
      }
    }
    std::string flow = core.dataflow;
    if (flow.empty()) {
      flow = "weight_stationary";
      assumptions.insert(fmt::format("core '{}' states no dataflow: weight_stationary", core.name));
    }
    double onRows = k, onCols = n;
    if (flow == "output_stationary" || flow == "os")
      onRows = m;
    else if (flow == "input_stationary" || flow == "is")
      onCols = m;
    else if (flow != "weight_stationary" && flow != "ws")
      assumptions.insert(
          fmt::format("dataflow {} of core '{}' is mapped as weight_stationary", flow, core.name));
    assumptions.insert(
        fmt::format("filling and draining the array of core '{}' is not counted", core.name));
    double rows = static_cast<double>(core.rows), cols = static_cast<double>(core.cols);
    double utilization =
        onRows * onCols / (ceilDiv(onRows, rows) * rows * ceilDiv(onCols, cols) * cols);
    return timeAt(q, std::get<FlopsPerSecond>(peak), utilization,
                  fmt::format(", utilization = {:.0f}*{:.0f} / (ceil({:.0f}/{})*{} * "
                              "ceil({:.0f}/{})*{}) for M={:.0f} N={:.0f} K={:.0f}",
                              onRows, onCols, onRows, core.rows, core.rows, onCols, core.cols,
                              core.cols, m, n, k));
  }
};

class VectorModel : public CostModel {
public:
  std::variant<ComputeTime, Issue> compute(const CostQuery &q,
                                           Assumptions &assumptions) const override {
    auto peak = peakFor(q, assumptions);
    if (auto *issue = std::get_if<Issue>(&peak))
      return std::move(*issue);
    assumeSpread(q, assumptions);
    const Core &core = q.machine.cores[q.core];
    if (core.lanes <= 0)
      return Issue{"A0451",
                   fmt::format("cost model 'vector' needs the lanes of core '{}' of '{}'",
                               core.name, q.machine.name),
                   q.operation.location,
                   {{q.machine.location, fmt::format("'{}' is described here", q.machine.name)}}};
    if (q.operation.domain.empty())
      return timeAt(q, std::get<FlopsPerSecond>(peak), 1, "");
    double elements = 1, lanes = static_cast<double>(core.lanes) *
                                 static_cast<double>(instancesPerOperation(core));
    // Reductions run across the lanes as well, each lane with a partial result.
    for (const Loop &loop : q.operation.domain)
      elements *= static_cast<double>(std::max<int64_t>(loop.extent, 1));
    return timeAt(q, std::get<FlopsPerSecond>(peak), elements / (ceilDiv(elements, lanes) * lanes),
                  fmt::format(", utilization = {:.0f} / (ceil({:.0f}/{:.0f})*{:.0f})", elements,
                              elements, lanes, lanes));
  }
};

} // namespace

std::unique_ptr<CostModel> makePeakModel() { return std::make_unique<PeakModel>(); }
std::unique_ptr<CostModel> makeArrayModel() { return std::make_unique<ArrayModel>(); }
std::unique_ptr<CostModel> makeVectorModel() { return std::make_unique<VectorModel>(); }

} // namespace accord
