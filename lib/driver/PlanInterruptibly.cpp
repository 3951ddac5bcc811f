#include "lib/driver/PlanInterruptibly.h"
#include "lib/driver/SolverMonitor.h"

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
    session.search = {{gap, watch.stop(), [&](const SolveProgress &p) { watch.reportProgress(p); }},
                      [&] { return watch.reason(); }};
    plan = session.plan();
    session.search = {};
    if (!plan || plan->schedule.stopped.empty())
      return plan;
  }
  session.search.brief = true;
  return plan;
}

} // namespace accord
