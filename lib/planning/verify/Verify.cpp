#include "lib/planning/verify/Verify.h"
#include "lib/machine/model/Check.h"
#include "lib/planning/verify/Proof.h"
#include <cmath>

namespace accord {
namespace {

bool close(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

void verifyVerdict(Proof &p) {
  const Plan &plan = p.plan;
  if (plan.feasible && !plan.conflicts.empty())
    p.find(Code::WrongVerdict, {}, "the plan is feasible and names {} conflicts, the first '{}'", plan.conflicts.size(),
           plan.conflicts[0].constraint);
  if (!plan.feasible && plan.conflicts.empty())
    p.find(Code::WrongVerdict, {}, "the plan is infeasible and names no conflict");
  Count samples = static_cast<Count>(plan.graph.microbatch) * plan.graph.microbatches;
  if (samples != plan.batch)
    p.find(Code::WrongBatch, {}, "the batch is {}, micro-batch {} times {} is {}", plan.batch, plan.graph.microbatch,
           plan.graph.microbatches, static_cast<double>(samples));

  double step = plan.schedule.step.seconds().value, bound = plan.schedule.bound.seconds().value, batch = plan.batch;
  auto is = [&](const char *what, double value) {
    if (!close(plan.objectiveValue, value))
      p.find(Code::WrongObjective, {}, "the objective {} is {:.9g}, {} gives {:.9g}", plan.objective,
             plan.objectiveValue, what, value);
  };
  if (plan.objective == "throughput") {
    if (step > 0)
      is("batch / step time", batch / step);
    if (bound > 0 && plan.objectiveBound < batch / bound * (1 - 1e-9))
      p.find(Code::WrongObjective, {},
             "the bound states that no plan is faster than {:.9g} samples/s, the bound of {:.9g} s on the "
             "step allows {:.9g}",
             plan.objectiveBound, bound, batch / bound);
  } else if (plan.objective == "step_time") {
    is("the step", step);
    if (plan.objectiveBound > bound * (1 + 1e-9))
      p.find(Code::WrongObjective, {},
             "the bound states that no plan takes less than {:.9g} s, the bound on the step is {:.9g} s",
             plan.objectiveBound, bound);
  } else if (plan.objective == "memory") {
    is("peak memory", plan.memory.peak);
  } else {
    p.trusted("the value of objective '{}' is assumed", plan.objective);
    return;
  }
  p.checked("objective {} = {:.6g} follows from the step", plan.objective, plan.objectiveValue);
}

void verifyTotals(Proof &p) {
  double flops = 0;
  for (OperationId id = 0; id < p.plan.graph.operations.size(); ++id) {
    double times = p.operation(id).region == kUpdateRegion ? 1 : static_cast<double>(p.plan.graph.microbatches);
    for (RegionId r = p.operation(id).region; r != kNone; r = p.plan.graph.regions[r].parent)
      times *= p.plan.graph.regions[r].count;
    flops += times * p.operation(id).flops;
  }
  double max = 0;
  for (const Core &core : p.plan.machine.cores) {
    double fastest = core.rows > 0 ? 2.0 * (core.rows * core.cols) * p.plan.machine.clock.value
                                   : core.lanes * p.plan.machine.clock.value;
    for (const auto &[type, peak] : core.peak)
      fastest = std::max(fastest, peak.value);
    max += fastest * core.count;
  }
  double step = p.plan.schedule.step.seconds().value;
  if (p.out.trusted.empty() && flops > max * step * (1 + 1e-9))
    p.find(Code::WrongLength, {}, "{:.6g} FLOP in {:.6g} s are more than the {:.6g} FLOP/s of '{}'", flops, step, max,
           p.plan.machine.name);
  p.checked("{:.6g} FLOP in {:.6g} s are within the peak of '{}'", flops, step, p.plan.machine.name);
}

} // namespace

Verification verify(const Plan &plan) {
  Proof p{plan, {}, {}};
  for (auto &errors : {check(plan.graph), check(plan.machine)})
    p.out.findings.insert(p.out.findings.end(), errors.begin(), errors.end());
  if (!p.out.findings.empty())
    return p.out;
  p.checked("{} operations in {} regions are in order, ids and repeats agree", plan.graph.operations.size(),
            plan.graph.regions.size());
  if (!verifyCosts(p) || !verifySlots(p))
    return p.out;
  verifyReplay(p);
  verifyBound(p);
  verifyVerdict(p);
  verifyTotals(p);
  p.trusted("the FLOPs and bytes of each operation are those of the work graph in the plan");
  p.trusted("the machine's numbers are those written in the plan");
  return p.out;
}

} // namespace accord
