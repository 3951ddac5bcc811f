// A cost model: large matrix products come near the peak, small ones do not, and nothing is faster
// than its launch.
#include "Plugin.h"
#include "lib/latency/forms/SymbolicCosts.h"
#include "lib/machine/cost/CostModel.h"
#include <fmt/format.h>

using namespace accord;

namespace {

/// Illustrative numbers; fit your own to measured times of your machine.
constexpr double kMax = 0.79;      // share of the peak that the largest products reach
constexpr double kHalfway = 14e9;  // FLOP of a product that reaches half of that
constexpr Seconds kLaunch(4.5e-6); // of one kernel

/// efficiency = most * x / (x + halfway) with x the FLOP of one matrix product; 1 for other work,
/// which memory bounds. time = max(launch, roofline of that).
class LaunchFloor : public CostModel {
public:
  Result<ComputeTime> compute(const CostQuery &query, Assumptions &) const override {
    const Operation &op = query.operation;
    const Core &core = query.machine.cores[query.core];
    auto peak = core.peak.find(query.type);
    if (peak == core.peak.end())
      return Error{Code::MissingRate,
                   fmt::format("cost model 'launch-floor' needs the peak of core '{}' for {}", core.name, query.type),
                   query.machine.location,
                   {}};
    double flops = static_cast<double>(op.flops);
    if (flops == 0)
      return ComputeTime{Seconds(0), "0"};
    double efficiency = op.contraction ? kMax * flops / (flops + kHalfway) : 1;
    double rate = static_cast<double>(core.count) * peak->second.value * core.efficiency;
    return ComputeTime{
        Seconds(flops / (rate * efficiency)),
        fmt::format("flops / (count * peak * efficiency) = {:.6g} / ({:.6g} * {:.4f})", flops, rate, efficiency)};
  }

  Result<OperationCost> cost(const CostQuery &query, Assumptions &assumptions) const override {
    auto priced = CostModel::cost(query, assumptions);
    if (auto *cost = priced.get(); cost && cost->time < kLaunch) {
      cost->time = kLaunch;
      cost->cycles = query.machine.clock * cost->time;
      cost->bound = "launch";
      cost->formula += fmt::format("; launch = {:.6g} s", kLaunch.value);
    }
    assumptions.insert(fmt::format("no operation takes less than {:.6g} s", kLaunch.value));
    return priced;
  }
};

/// The same as expressions, for the latency model: without them it would hold the plan's own sizes
/// and machine. Accord compares both at every sample.
std::vector<NodeId> arithmetic(const SymbolicOperation &op, Expressions &e) {
  if (op.rate == kNoNode)
    return {};
  NodeId flops = e.toReal(op.flops);
  const Core &core = op.machine->cores[op.core];
  NodeId rate = e.multiply(e.multiply(op.rate, e.real(core.efficiency)), op.clock);
  NodeId efficiency = e.divide(e.multiply(e.real(kMax), flops), e.add(flops, e.real(kHalfway)));
  return {e.divide(flops, e.multiply(rate, efficiency))};
}

std::vector<NodeId> total(NodeId roofline, Expressions &e) { return {e.maximum({roofline, e.real(kLaunch.value)})}; }

} // namespace

void custom::registerLaunchFloor() {
  registerCostModel("launch-floor", [] { return std::make_unique<LaunchFloor>(); });
  registerSymbolicCost("launch-floor", arithmetic, total);
}
