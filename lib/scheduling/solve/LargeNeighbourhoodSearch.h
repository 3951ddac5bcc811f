// Large problems improved window by window.
#pragma once
#include "lib/scheduling/solve/Improve.h"
#include "lib/scheduling/solve/Oracle.h"

namespace accord::solve {

struct WindowLimits {
  int64_t bound = 0; ///< stop at this makespan
  size_t tasks = 32; ///< of one window
  uint64_t work = 0; ///< Z3's units, for all windows together
  const std::atomic<bool> *stop = nullptr;
};

/// Large-neighbourhood search (Shaw 1998; for projects Palpant, Artigues, Michelon, LSSPER, Annals
/// of OR 131, 2004): the tasks that start in an interval are scheduled anew by Z3, with all others
/// in their places and everything after the interval earlier, if that is possible; the order that
/// it finds is then scheduled in true time. Sweeps from start to end until no window helps. For
/// problems without memories. Returns the units of work spent; `best` is replaced where it becomes
/// better.
uint64_t improveByWindows(const Instance &instance, SchedulingSolution &best, const WindowLimits &limits);

} // namespace accord::solve
