// Lets the iterations of a repeat overlap: the next one starts before the last one is over.
#pragma once
#include "lib/scheduling/solve/Solve.h"
#include <optional>
#include <vector>

namespace accord {

/// A dependence between iterations: a task waits for what another made `distance` iterations ago (0: in its own).
struct IterationDependence {
  SchedulingProblem::Id before = 0, after = 0;
  int64_t distance = 0;
};

/// Iterations start `solution.makespan` apart, and each period runs every task once: those of stage k for the iteration
/// that started k periods ago. Tasks of different stages wait for one another only where a dependence says so, hence
/// the gain: a weight gradient fills what the next layer's data gradient leaves free.
struct PipelinedBody {
  SchedulingProblem problem;   ///< of one period: the body's tasks, with the precedences that are left in a period
  SchedulingSolution solution; ///< of `problem`
  std::vector<int64_t> stage;  ///< by task; the first is 0
  int64_t overhang = 0;        ///< how long an iteration goes on after the next has started

  int64_t start(SchedulingProblem::Id task) const { return stage[task] * solution.makespan + solution.start[task]; }
};

/// Looks for stages whose `count` iterations are over earlier than one after the other, each as in `inOrder`, a
/// schedule of `body`; nothing where none was found. `dependences`: all of the body, those of distance 0 as well;
/// `body` may hold more precedences, which are not looked at. Stages are found by rotation (Chao, LaPaugh, Sha,
/// Rotation scheduling: a loop pipelining algorithm, IEEE TCAD 16, 1997): what a period starts with is moved into the
/// period before, which is a retiming (Leiserson, Saxe 1991), and the rest closes up. The best is then scheduled with
/// `options`. Deterministic unless stopped. At most `maxStages` stages, since each one more keeps values of one more
/// iteration.
std::optional<PipelinedBody> overlapIterations(const SchedulingProblem &body,
                                               const std::vector<IterationDependence> &dependences, int64_t count,
                                               const SchedulingSolution &inOrder, const SolveOptions &options,
                                               int64_t maxStages = 3);

} // namespace accord
