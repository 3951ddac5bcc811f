#include "tools/accord/Planning.h"
#include "tools/accord/SolveWatch.h"
#include <fmt/format.h>

namespace accord {

std::optional<Plan> planWatched(Session &session, const PlanningLimits &limits) {
  auto asked = SolveWatch::asked(limits.gap, limits.timeLimit);
  if (auto *message = std::get_if<std::string>(&asked)) {
    session.diagnostics().error(Code::BadCommandLine, {}, *message);
    return std::nullopt;
  }
  auto [gap, seconds] = std::get<SolveWatch::Asked>(asked);
  std::optional<Plan> plan;
  {
    SolveWatch watch("planning", {true, seconds, true});
    session.search = {gap, watch.stop(), [&](const SolveProgress &p) { watch.tell(p); }};
    plan = session.plan();
    session.search = {};
    if (!plan || plan->schedule.stopped.empty())
      return plan;
    plan->schedule.stopped = watch.reason();
  }
  plan->assumptions.push_back(fmt::format(
      "planning was stopped ({}): another plan may be better; the gap says how much at most",
      plan->schedule.stopped));
  session.search.brief = true;
  return plan;
}

} // namespace accord
