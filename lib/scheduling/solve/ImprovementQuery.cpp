#include "lib/scheduling/solve/ImprovementQuery.h"
#include "lib/scheduling/solve/Bounds.h"
#include "lib/scheduling/solve/Improve.h"
#include "lib/scheduling/solve/Oracle.h"
#include "lib/scheduling/solve/Solve.h"

namespace accord {

namespace {
/// Literals of the encoding; times are counted in larger units above.
constexpr int64_t kLiterals = 2'000;
/// Problems up to here are looked at by all intervals.
constexpr size_t kMaxEnergetic = 128;
constexpr size_t kMaxForWindows = 20'000, kMaxForOracle = 150, kMaxForLists = 1500;
} // namespace

class ImprovementQuery::State {
public:
  State(SchedulingProblem problem, const ImprovementQueryOptions &options)
      : problem(std::move(problem)), options(options), in(this->problem), modes(in), random(1) {
    in.tightenPrecedences(in.size() <= 150 ? in.size() : 16);
    bound = solve::simpleBound(in);
    SolveOptions quick;
    quick.effort = 0;
    SchedulingResult first = schedule(this->problem, quick);
    if (first.status == SchedulingResult::Status::Feasible)
      best = std::move(first.solution), found = true;
    else if (first.status == SchedulingResult::Status::Infeasible)
      infeasible = true;
  }

  Answer ask(int64_t makespan) {
    if (known(makespan) != Answer::Unknown)
      return known(makespan);
    if (isInfeasibleByWindows(makespan))
      return Answer::No;
    if (found && in.size() <= kMaxForLists) {
      solve::ImproveLimits limits{makespan, options.listWork, options.stop};
      if (problem.buffers.empty())
        solve::improve(in, modes, best, limits, random);
      else
        solve::improveWithMemories(in, modes, best, limits, random);
    }
    if (known(makespan) == Answer::Unknown && options.solverWork > 0 && !stopped() && in.size() <= kMaxForOracle)
      querySolver(makespan);
    return known(makespan);
  }

  SchedulingProblem problem;
  SchedulingSolution best;
  SchedulingBound bound;

private:
  bool stopped() const { return options.stop && *options.stop; }
  Answer known(int64_t makespan) const {
    if (infeasible || makespan < bound.value)
      return Answer::No;
    return found && makespan >= best.makespan ? Answer::Yes : Answer::Unknown;
  }

  bool isInfeasibleByWindows(int64_t makespan) {
    if (in.size() > kMaxForWindows)
      return false;
    solve::Propagator windows(in, makespan, kMaxEnergetic);
    if (windows.run())
      return false;
    bound = {makespan + 1, SchedulingBound::Kind::Windows, {}, 0, std::move(windows.steps), "time windows"};
    return true;
  }

  /// One encoding for all makespans up to `horizon`: a new one only where more is asked, which
  /// happens where no schedule is known.
  void querySolver(int64_t makespan) {
    if (!oracle || makespan > horizon) {
      horizon = found ? best.makespan - 1 : makespan;
      solve::Propagator windows(in, horizon, kMaxEnergetic);
      if (!windows.run()) { // no schedule of as much
        bound = {horizon + 1, SchedulingBound::Kind::Windows, {}, 0, std::move(windows.steps), "time windows"};
        return;
      }
      for (unit = 1; solve::estimateLiterals(in, windows, unit) > kLiterals;)
        unit *= 2;
      oracle = std::make_unique<solve::Oracle>(in, windows, horizon, unit);
    }
    SchedulingSolution answer;
    switch (oracle->ask(makespan, options.solverWork, answer)) {
    case solve::Oracle::Answer::No:
      bound = {makespan + 1, SchedulingBound::Kind::Solver, {}, 0, {}, "z3"};
      return;
    case solve::Oracle::Answer::Yes:
      if (auto real = unit == 1 ? std::optional(std::move(answer)) : solve::scheduleInOrder(in, answer))
        if (!found || real->makespan < best.makespan)
          best = std::move(*real), found = true;
      return;
    case solve::Oracle::Answer::Unknown:
      return;
    }
  }

  ImprovementQueryOptions options;
  solve::Instance in;
  solve::Modes modes;
  std::mt19937_64 random;
  bool found = false, infeasible = false;
  std::unique_ptr<solve::Oracle> oracle;
  int64_t horizon = 0, unit = 1; ///< of the oracle
};

ImprovementQuery::ImprovementQuery(SchedulingProblem problem, const ImprovementQueryOptions &options)
    : state(std::make_unique<State>(std::move(problem), options)) {}
ImprovementQuery::~ImprovementQuery() = default;
ImprovementQuery::Answer ImprovementQuery::ask(int64_t makespan) { return state->ask(makespan); }
const SchedulingSolution &ImprovementQuery::best() const { return state->best; }
const SchedulingBound &ImprovementQuery::bound() const { return state->bound; }

} // namespace accord
