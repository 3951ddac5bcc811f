#include "tools/accord/Planning.h"
#include "tools/accord/SolveWatch.h"
#include <fmt/format.h>

namespace accord {

std::optional<Plan> planWatched(Session &session, const PlanningLimits &limits) {
  auto wrong = [&](const std::string &message) {
    session.diagnostics().error(Code::BadCommandLine, {}, message);
    return std::nullopt;
  };
  auto gap = SolveWatch::gapFrom(limits.gap);
  if (!gap)
    return wrong("--gap: expected a share below 1, as in 2% or 0.02, found '" + limits.gap + "'");
  std::optional<double> seconds;
  if (limits.timeLimit != "none" && !(seconds = SolveWatch::timeFrom(limits.timeLimit)))
    return wrong("--time-limit: expected none or a time, as in '30 s', found '" + limits.timeLimit +
                 "'");
  std::optional<Plan> plan;
  {
    SolveWatch watch("planning", {true, seconds, true});
    session.search = {*gap, watch.stop(), [&](const SolveProgress &p) { watch.tell(p); }};
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
