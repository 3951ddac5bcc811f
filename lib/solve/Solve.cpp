// Bounds first, then schedules, then Z3 on what is left between them.
#include "lib/solve/Solve.h"
#include "lib/solve/Bounds.h"
#include "lib/solve/ListScheduler.h"
#include "lib/solve/SerialScheduler.h"

namespace accord {
namespace solve {
namespace {

class Solver {
public:
  Solver(const SchedulingProblem &problem, const SolveOptions &options)
      : in(problem), options(options) {}

  SchedulingResult run() {
    result.bound = simpleBound(in);
    result.solution.start.assign(in.size(), 0), result.solution.mode.assign(in.size(), 0);
    lists();
    result.status = SchedulingResult::Status::Feasible;
    return std::move(result);
  }

private:
  /// Parallel list scheduling by longest tail, then forward-backward improvement (Tormos, Lova
  /// 2001).
  void lists() {
    std::vector<Id> modes(in.size(), 0);
    ListScheduler list(in, modes);
    std::vector<int64_t> key(in.size());
    for (Id t = 0; t < in.size(); ++t)
      key[t] = -(in.tails[t] + in.least[t]);
    std::vector<int64_t> current = list.run(key, false);
    keep(current, modes, list.lengthOf(current));
    for (unsigned round = 0; round < options.effort && !done(); ++round) {
      for (Id t = 0; t < in.size(); ++t)
        key[t] = -(current[t] + in.mode(t, modes[t]).duration);
      std::vector<int64_t> reversed = list.run(key, true);
      int64_t length = list.lengthOf(reversed);
      for (Id t = 0; t < in.size(); ++t)
        key[t] = length - (reversed[t] + in.mode(t, modes[t]).duration);
      keep(key, modes, length); // right-justified, it is a schedule too
      current = list.run(key, false);
      keep(current, modes, list.lengthOf(current));
    }
  }

  void keep(const std::vector<int64_t> &start, const std::vector<Id> &modes, int64_t makespan) {
    if (found && makespan >= result.solution.makespan)
      return;
    found = true;
    result.solution = {start, modes, makespan};
  }
  bool done() const { return found && result.solution.makespan <= result.bound.value; }

  Instance in;
  const SolveOptions &options;
  SchedulingResult result;
  bool found = false;
};

} // namespace
} // namespace solve

SchedulingResult schedule(const SchedulingProblem &problem, const SolveOptions &options) {
  return solve::Solver(problem, options).run();
}

} // namespace accord
