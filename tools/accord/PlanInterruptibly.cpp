#include "tools/accord/PlanInterruptibly.h"
#include "tools/accord/SolverMonitor.h"
#include <fmt/format.h>

namespace accord {

std::optional<Plan> planInterruptibly(Session &session, const PlanSearchLimits &limits) {
  auto parsedLimits = SolverMonitor::parsedLimits(limits.gap, limits.timeLimit);
  if (auto *message = std::get_if<std::string>(&parsedLimits)) {
    session.diagnostics().error(Code::BadCommandLine, {}, *message);
    return std::nullopt;
  }
  auto [gap, seconds] = std::get<SolverMonitor::ParsedLimits>(parsedLimits);
  std::optional<Plan> plan;
  {
    SolverMonitor watch("planning", {true, seconds, true});
    session.search = {gap, watch.stop(), [&](const SolveProgress &p) { watch.reportProgress(p); }};
    plan = session.plan();
    session.search = {};
    if (!plan || plan->schedule.stopped.empty())
      return plan;
    plan->schedule.stopped = watch.reason();
  }
  plan->assumptions.push_back(fmt::format(
      "planning was stopped ({}): a better plan may exist; the gap bounds the improvement", plan->schedule.stopped));
  session.search.brief = true;
  return plan;
}

} // namespace accord
