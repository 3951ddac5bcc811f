// When can an operation start at the earliest, and how much follows it at least, in whichever
// iteration it runs?
#pragma once
#include "lib/planning/analysis/CriticalPath.h"

namespace accord {

/// Lower bounds by OperationId that hold for each execution within one micro-batch (or the update),
/// on unlimited cores and with iterations overlapping as their values allow. They make bounds on
/// cores and memories sharp: what a resource does late cannot start before the chain that leads
/// there. Inside a repeat the arrivals of carried arguments are the greatest vector below the first
/// arrivals that the body maps above itself (if a <= x0 and a <= f(a), then a <= every iterate of
/// the monotone f).
struct TimeWindows {
  std::vector<int64_t> head; ///< picoseconds from the start of the top region to the operation's start
  std::vector<int64_t> tail; ///< picoseconds from the operation's end to the end of the top region

  static TimeWindows of(const WorkGraph &graph, const Dependences &dependences,
                        const std::vector<Picoseconds> &durations, const CriticalPath &path);
};

} // namespace accord
