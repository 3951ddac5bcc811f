// accord compile on a cluster.
#pragma once
#include "tools/accord/PlanInterruptibly.h"

namespace accord {

class Session;
struct Options;

/// Places the session's job, proves the plan, writes its folder, prints a summary; returns the exit
/// status.
int compilePlacement(Session &session, const Options &options, const PlanSearchLimits &limits);

} // namespace accord
