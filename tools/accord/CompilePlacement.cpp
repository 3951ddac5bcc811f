#include "tools/accord/CompilePlacement.h"
#include "tools/accord/Session.h"
#include "tools/accord/SolveWatch.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {
namespace {

double gibibytes(int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

/// "9 full, 3 none"
std::string keepsOf(const PlacementProblem &problem, const PlacedStage &stage) {
  std::map<std::string, int> count;
  for (size_t i = 0; i < stage.layers.size(); ++i)
    ++count[problem.cost(stage.layers[i], stage.form)->keeps[stage.keeps[i]].policy];
  if (count.size() == 1)
    return count.begin()->first;
  std::string text;
  for (auto &[policy, layers] : count)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", layers, policy);
  return text;
}

std::string degreesOf(const PlacementProblem &problem, const Placement &plan) {
  const PlacementProblem::Form &form = problem.forms[plan.stages.front().form];
  return fmt::format("tensor {}{} x pipeline {} x data {}{}", form.tensor,
                     form.sequence ? " (sequence parallel)" : "",
                     static_cast<int64_t>(plan.stages.size()) / plan.chunks, form.data,
                     form.zero > 0 ? fmt::format(", ZeRO {}", form.zero) : "");
}

} // namespace

std::string placementText(const PlacementPlan &plan) {
  const PlacementProblem &problem = plan.problem;
  std::string text = fmt::format("{} on {}\n", plan.job, plan.cluster);
  if (!plan.result.plan) {
    text += "  no placement fits\n";
    for (const Conflict &conflict : plan.conflicts)
      text += fmt::format("  {}: {}\n", conflict.constraint, conflict.detail);
    for (const std::string &relaxation : plan.relaxations)
      text += fmt::format("  it would fit with {}\n", relaxation);
  } else {
    const Placement &placed = *plan.result.plan;
    const PlacementWorth &worth = plan.result.worth;
    const PlacementProblem::Form &form = problem.forms[placed.stages.front().form];
    double seconds = static_cast<double>(worth.step) * 1e-12;
    size_t groups = placed.stages.size() / static_cast<size_t>(placed.chunks);
    text +=
        fmt::format("  degrees       {}: {} devices\n", degreesOf(problem, placed), worth.devices);
    text += fmt::format("  schedule      {}{}, {} micro-batches of {}\n", name(placed.schedule),
                        placed.chunks > 1 ? fmt::format(" with {} chunks", placed.chunks) : "",
                        placed.microbatches, form.microbatch);
    text += fmt::format("  step          {:.4g} s, {:.4g} samples/s, {:.4g} TFLOP/s per device\n",
                        seconds, static_cast<double>(problem.batch) / seconds,
                        plan.modelFlops / seconds / static_cast<double>(worth.devices) * 1e-12);
    text += fmt::format("  bound         {:.4g} s, gap {:.2f} % ({})\n",
                        plan.result.bound *
                            (problem.objective == PlacementObjective::StepTime ? 1e-12 : 1),
                        100 * plan.result.gap(), plan.result.proof);
    text += fmt::format("  {:<13} {:<34} {:>9} {:>9}  {}\n", "stage", "layers", "memory", "in use",
                        "recompute");
    for (size_t s = 0; s < placed.stages.size(); ++s) {
      const PlacedStage &stage = placed.stages[s];
      const std::string &from = problem.layers[stage.layers.front()].name,
                        &to = problem.layers[stage.layers.back()].name;
      std::string memory, used;
      if (s < groups) {
        memory = fmt::format("{:.2f} GiB", gibibytes(worth.memory[s]));
        used = fmt::format("{:.0f} %", 100 * static_cast<double>(worth.memory[s]) /
                                           static_cast<double>(problem.kinds[form.kind].memory));
      }
      text += fmt::format("  {:<13} {:<34} {:>9} {:>9}  {}\n", s,
                          from == to ? from : from + " .. " + to, memory, used,
                          keepsOf(problem, stage));
    }
    for (const RunnerUp &other : plan.runnersUp)
      text += fmt::format("  runner-up     {}, {}: {:.4g} s\n", degreesOf(problem, other.plan),
                          name(other.plan.schedule), static_cast<double>(other.worth.step) * 1e-12);
  }
  for (const std::string &assumption : plan.assumptions)
    text += fmt::format("  assumed       {}\n", assumption);
  return text;
}

int compilePlacement(Session &session, const Options &options, const PlanningLimits &limits) {
  auto wrong = [&](const std::string &message) {
    session.diagnostics().error(Code::BadCommandLine, {}, message);
    return session.finish(kWrongInput, "compile");
  };
  auto gap = SolveWatch::gapFrom(limits.gap);
  if (!gap)
    return wrong("--gap: expected a share below 1, as in 2% or 0.02, found '" + limits.gap + "'");
  std::optional<double> seconds;
  if (limits.timeLimit != "none" && !(seconds = SolveWatch::timeFrom(limits.timeLimit)))
    return wrong("--time-limit: expected none or a time, as in '30 s', found '" + limits.timeLimit +
                 "'");
  std::optional<PlacementPlan> plan;
  {
    SolveWatch watch("placing", {true, seconds, true});
    session.search = {*gap, watch.stop(), [&](const SolveProgress &p) { watch.tell(p); }};
    plan = session.placement();
    session.search = {};
  }
  if (!plan)
    return session.finish(kWrongInput, "compile");
  llvm::outs() << placementText(*plan);
  return session.finish(plan->result.plan ? kDone : kInfeasible, "compile");
}

} // namespace accord
