// Planning that can be watched and stopped.
#pragma once
#include "lib/driver/Session.h"

namespace accord {

/// How long a search may go on, as written.
struct PlanSearchLimits {
  std::string gap = "0";          ///< a share: "2%", "0.02"
  std::string timeLimit = "none"; ///< or a time: "30 s"
};

/// The session's plan. Beside it a `SolveWatch` shows how far it is; on Ctrl-C or after the time it
/// is the best so far and says so (`Schedule::stopped`), and what is planned after it is only
/// sketched. Nothing after errors, which are reported.
std::optional<Plan> planInterruptibly(Session &session, const PlanSearchLimits &limits);

} // namespace accord
