// Bounds first, then schedules, then Z3 on what is left between them.
#include "lib/scheduling/solve/Solve.h"
#include "lib/scheduling/solve/Bounds.h"
#include "lib/scheduling/solve/BudgetChoices.h"
#include "lib/scheduling/solve/Improve.h"
#include "lib/scheduling/solve/ListScheduler.h"
#include "lib/scheduling/solve/Neighbourhoods.h"
#include "lib/scheduling/solve/Oracle.h"
#include "lib/scheduling/solve/SubsetBound.h"
#include "lib/scheduling/solve/TimeLags.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <thread>

namespace accord {
namespace solve {
namespace {

using Kind = SchedulingBound::Kind;
using Status = SchedulingResult::Status;

/// Problems above are scheduled by parallel lists, not by populations of serial ones.
constexpr size_t kMaxForPopulations = 1500;
/// Tasks placed: a few milliseconds, for problems so small that a share per task tries little.
constexpr double kMinListWork = 50'000;
/// Problems of so few tasks are always searched a little longer, and their windows looked at by all
/// intervals.
constexpr size_t kSmallProblemTasks = 128;
constexpr double kSmallProblemListWork = 2'000'000, kListWorkPerPair = 500;
/// One part in so many is near enough for a quick answer.
constexpr int64_t kNear = 4000;
/// Forward and backward rounds cost nothing beside the rest: eight at least.
constexpr size_t kMaxForRounds = 500;
constexpr size_t kMaxForWindows = 20'000;
/// Of more tasks that take time the program by sets of them takes seconds.
constexpr size_t kMaxForSubsets = 240;
constexpr int64_t kSubsetsPerTask = 500;
/// Larger ones are asked about window by window.
constexpr size_t kMaxForOracle = 150;
/// Of problems with time lags no parts are asked about.
constexpr size_t kMaxForTimeLags = 600;
/// Where Z3 sees parts of a problem alone it proves nothing, and what is left of so small a gap is not worth its time.
constexpr double kSmallGap = 0.001;
/// Literals of one encoding; above, times are counted in larger units.
constexpr int64_t kMaxLiterals = 64'000, kFirstLiterals = 4'000;
/// Where bounds alone are looked for, windows that do not close in so many rounds are left.
constexpr size_t kMaxProbeRounds = 20;
/// Of so many times a claim speaks one by one, whatever the windows: see lib/scheduling/output/SmtQuery.h.
constexpr int64_t kMaxExactTimes = 1024;

/// The solver's first try takes this part of its work; lists search so many times longer then.
constexpr uint64_t kEasyWorkFraction = 8;
constexpr int64_t kLongerLists = 32;
/// Lists before anything else: tasks placed.
constexpr int64_t kMaxFirstListWork = 2'000'000;
/// Clauses are learnt for this part of the work, in rounds of which each is twice as long; the rest is Z3's.
constexpr uint64_t kLearningShare = 4, kLearningParts = 5, kFirstLearning = 1'000'000;
/// Of a round: tasks that lists place for each unit of work, and the part that bounds from below take.
constexpr int64_t kListWorkPerUnit = 2;
constexpr uint64_t kBelowFraction = 4;

/// Interrupts Z3 when someone wants to stop.
class StopWatcher {
public:
  StopWatcher(Oracle &oracle, const std::atomic<bool> *stop) {
    if (stop)
      thread = std::thread([this, &oracle, stop] {
        while (!over) {
          if (*stop)
            oracle.interrupt();
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
      });
  }
  ~StopWatcher() {
    over = true;
    if (thread.joinable())
      thread.join();
  }

private:
  std::atomic<bool> over = false;
  std::thread thread;
};

/// Lengths do not matter: every time becomes as short as the order of events allows, one unit for
/// what takes any, so that a schedule of the one is one of the other in the same order.
SchedulingProblem orderOnly(SchedulingProblem problem) {
  for (auto &task : problem.tasks)
    for (auto &mode : task.modes)
      mode.duration = mode.duration > 0;
  for (auto &p : problem.precedences)
    p.delay = 0;
  for (auto &r : problem.resources) // one after the other nothing is short
    r.capacity = INT64_MAX / 4;
  return problem;
}

/// Sentences about constraints (memories with the buffers that matter, budgets, pairings) that
/// cannot hold together; without any one of them they can. `limit` of Z3's units of work for each
/// question; where it is spent the set need not be minimal, and the last sentence says so. Needs a
/// problem without a schedule.
class Conflict {
public:
  Conflict(const SchedulingProblem &whole, uint64_t limit) : whole(whole), p(orderOnly(whole)), limit(limit) {}

  std::vector<std::string> run() {
    for (auto &pairing : p.pairings)
      drop([&](bool without) {
        if (without) {
          for (Id a = 0; a < p.tasks[pairing.a].modes.size(); ++a)
            for (Id b = 0; b < p.tasks[pairing.b].modes.size(); ++b)
              pairing.allowed.push_back({a, b});
        } else {
          pairing = whole.pairings[&pairing - p.pairings.data()];
        }
      });
    for (size_t b = 0; b < p.budgets.size(); ++b)
      drop([&](bool without) { p.budgets[b].capacity = without ? INT64_MAX / 4 : whole.budgets[b].capacity; });
    for (size_t b = 0; b < p.buffers.size(); ++b)
      if (p.buffers[b].bytes > 0)
        drop([&](bool without) { p.buffers[b].bytes = without ? 0 : whole.buffers[b].bytes; });
    return sentences();
  }

private:
  /// Leaves something out if there is no schedule even then.
  template <typename Change> void drop(Change change) {
    change(true);
    auto suffice = budgetsSuffice(p);
    if (suffice == false)
      return;
    if (suffice == true && p.pairings.empty() && p.buffers.empty()) { // one task after the other
      change(false);
      return;
    }
    Instance in(p);
    int64_t horizon = serialLength(p);
    Propagator windows(in, horizon);
    SchedulingSolution found;
    Oracle::Answer answer = Oracle::Answer::No;
    if (windows.run()) {
      Oracle oracle(in, windows, horizon);
      answer = oracle.ask(horizon, limit, found);
    }
    minimal &= answer != Oracle::Answer::Unknown;
    if (answer != Oracle::Answer::No)
      change(false);
  }

  std::vector<std::string> sentences() const {
    std::vector<std::string> out;
    for (Id m = 0; m < p.memories.size(); ++m) {
      std::string list;
      int64_t sum = 0;
      for (const auto &b : p.buffers)
        if (b.memory == m && b.bytes > 0) {
          list += fmt::format("{}'{}' ({} B)", list.empty() ? "" : ", ", b.name, b.bytes);
          sum += b.bytes;
        }
      if (!list.empty())
        out.push_back(fmt::format("memory '{}' of {} B has no order in which there is room for {}, "
                                  "{} B together",
                                  p.memories[m].name, p.memories[m].capacity, list, sum));
    }
    for (const auto &b : p.budgets)
      if (b.capacity != INT64_MAX / 4) {
        out.push_back(fmt::format("budget '{}' allows {} in all", b.name, b.capacity));
      }
    for (const auto &pairing : p.pairings)
      if (pairing.allowed.size() < p.tasks[pairing.a].modes.size() * p.tasks[pairing.b].modes.size())
        out.push_back(
            fmt::format("modes of '{}' and '{}' have to go together", p.nameOf(pairing.a), p.nameOf(pairing.b)));
    if (!minimal)
      out.push_back("not all of this may be needed: the work limit ended the search for less");
    return out;
  }

  const SchedulingProblem &whole;
  SchedulingProblem p;
  uint64_t limit;
  bool minimal = true;
};

class Solver {
public:
  Solver(const SchedulingProblem &problem, const SolveOptions &options)
      : in(problem), modes(in), options(options),
        random(1) { // NOLINT(bugprone-random-generator-seed): the same search each time
    // Each step of effort doubles the work; lists look at every task a few times at least.
    double effort = std::min(options.effort, kMaxEffort); // so that the work fits 64 bits
    double passes = effort == 0 ? 0 : 8 * std::pow(4.0, effort - kQuickEffort);
    // Lists end after some seconds at most: more effort is for the solver.
    double max = std::ldexp(1.0, 21) * std::pow(2.0, std::min(effort, 14.0) - 10);
    double n = in.size();
    listWork = std::max({std::min(passes * n, max), 2 * n * effort, effort == 0 ? 0.0 : kMinListWork});
    solverWork = options.effort < kMinSolverEffort ? 0 : 3e8 * std::pow(2.0, effort - 10);
  }

  SchedulingResult run() {
    if (budgetsSuffice(in.problem) == false) {
      result.status = Status::Infeasible;
      raise({serialLength(in.problem) + 1, Kind::Budgets, {}, 0, {}, "budgets"}, "bounds");
      result.conflict = Conflict(in.problem, 1'000'000).run();
      return std::move(result);
    }
    if (!in.cycle().empty()) {
      result.status = Status::Infeasible;
      raise({serialLength(in.problem) + 1, Kind::Cycle, in.cycle(), 0, {}, "a cycle of time lags"}, "bounds");
      result.conflict = {describeCycle(in)};
      return std::move(result);
    }
    if (options.effort > 0)
      in.tightenPrecedences(in.size() <= 150 ? in.size() : in.size() <= 20'000 ? 64 : 16);
    if (options.bounds)
      raise(simpleBound(in), "bounds");
    if (!in.problem.lags.empty())
      return withTimeLags();
    start();
    if (!finished() && options.searches)
      lists(isLearnt() ? std::min(listWork, kMaxFirstListWork) : listWork);
    // Where bounds alone are looked for quickly, windows take most of the time and raise few of them.
    if (!finished() && (options.searches || options.effort > kQuickEffort))
      windows();
    if (!finished())
      subsets();
    if (!finished() && options.searches)
      moreLists();
    if (!finished() && options.searches)
      neighbourhoods();
    if (!finished() && options.searches)
      oracle();
    if (result.status == Status::Infeasible)
      result.conflict = Conflict(in.problem, std::max<uint64_t>(solverWork / 100, 1'000'000)).run();
    else if (!closed())
      result.stopped = options.stopped() ? "interrupted" : "work limit";
    return std::move(result);
  }

private:
  /// Lists keep only precedences, so problems with time lags have their own; what is left is asked as it stands.
  SchedulingResult withTimeLags() {
    listsWithTimeLags(listWork);
    if (!finished())
      windows();
    if (!finished() && options.searches)
      askWithTimeLags();
    if (result.status == Status::Infeasible)
      result.conflict = {fmt::format("time lags and resources leave no schedule of at most {}, and a longer one is "
                                     "never needed",
                                     serialLength(in.problem))};
    else if (!closed())
      result.stopped = options.stopped() ? "interrupted" : "work limit";
    return std::move(result);
  }

  void listsWithTimeLags(int64_t work) {
    if (!hasPlainTimeLags(in.problem))
      return;
    auto best = scheduleWithTimeLags(in, found() ? std::optional(result.solution) : std::nullopt, result.bound.value,
                                     std::max<int64_t>(work, in.size()), options.stop, random);
    if (best)
      acceptSolution(std::move(*best), "lists");
  }

  /// Whether no schedule ends by the horizon, which is all that is left below the best one.
  bool windowsClose(Propagator &propagator, int64_t horizon) {
    if (propagator.run())
      return false;
    raise({horizon + 1, Kind::Windows, {}, 0, std::move(propagator.steps), "time windows"}, "bounds");
    if (!found())
      result.status = Status::Infeasible;
    return true;
  }

  void askWithTimeLags() {
    int64_t horizon = found() ? makespan() - 1 : serialLength(in.problem);
    Propagator propagator(in, horizon);
    if (windowsClose(propagator, horizon))
      return;
    if (solverWork == 0 || in.size() > kMaxForTimeLags ||
        (!ClauseOracle::supports(in, propagator) && estimateLiterals(in, propagator, 1) > kMaxLiterals))
      return;
    {
      Oracle oracle(in, propagator, horizon);
      if (found())
        oracle.suggest(result.solution);
      StopWatcher watch(oracle, options.stop);
      exact(oracle, horizon);
    }
    if (!finished())
      fromBelow();
  }

  bool found() const { return result.status == Status::Feasible; }
  int64_t makespan() const { return result.solution.makespan; }
  bool closed() const { return found() && (makespan() <= result.bound.value || result.gap() <= options.gap); }
  bool finished() const { return closed() || result.status == Status::Infeasible || options.stopped(); }
  void reportProgress(const char *phase) {
    if (options.progress)
      options.progress({phase, found() ? double(makespan()) : 0, double(result.bound.value)});
  }
  void raise(SchedulingBound bound, const char *phase) {
    if (bound.value <= result.bound.value && result.bound.kind != Kind::Nothing)
      return;
    result.bound = std::move(bound);
    reportProgress(phase);
  }
  void acceptSolution(SchedulingSolution solution, const char *phase) {
    if (found() && solution.makespan >= makespan())
      return;
    result.status = Status::Feasible;
    for (Id t = 0; t < in.size(); ++t)
      if (in.mode(t, solution.mode[t]).absent)
        solution.start[t] = 0;
    result.solution = std::move(solution);
    reportProgress(phase);
  }

  /// A first schedule.
  void start() {
    auto chosen = modes.first();
    if (!chosen)
      return;
    std::vector<int64_t> key(in.size());
    for (Id t = 0; t < in.size(); ++t)
      key[t] = -(in.tails[t] + in.minDuration[t]);
    if (!in.problem.buffers.empty()) {
      if (auto first = findScheduleWithMemories(in, modes, *chosen, key, random))
        acceptSolution(std::move(*first), "lists");
      return;
    }
    improveByLists(*chosen);
    for (int64_t slack : modes.slacks(*chosen, options.effort == 0 ? 0 : 8))
      improveByLists(modes.relaxed(*chosen, slack));
  }

  /// A list schedule by longest tail, then backward in time what ends last goes first, and forward
  /// again (Tormos, Lova 2001).
  void improveByLists(const std::vector<Id> &chosen) {
    if (found() && finished())
      return;
    ListScheduler list(in, chosen);
    std::vector<int64_t> key(in.size());
    for (Id t = 0; t < in.size(); ++t)
      key[t] = -(in.tails[t] + in.minDuration[t]);
    std::vector<int64_t> current = list.run(key, false);
    acceptSolution({current, chosen, list.lengthOf(current)}, "lists");
    unsigned rounds = options.effort == 0          ? 0
                      : in.size() <= kMaxForRounds ? std::max(options.effort, 8u)
                                                   : options.effort;
    for (unsigned round = 0; round < rounds && !finished(); ++round) {
      for (Id t = 0; t < in.size(); ++t)
        key[t] = -(current[t] + in.mode(t, chosen[t]).duration);
      std::vector<int64_t> reversed = list.run(key, true);
      int64_t length = list.lengthOf(reversed);
      for (Id t = 0; t < in.size(); ++t)
        key[t] = length - (reversed[t] + in.mode(t, chosen[t]).duration);
      current = list.run(key, false);
      acceptSolution({current, chosen, list.lengthOf(current)}, "lists");
    }
  }

  void lists(int64_t work) {
    if (found() && in.size() <= kMaxForPopulations)
      lists(result.bound.value, work);
  }
  /// What windows left open, where few tasks have modes to choose: a tenth of a second, or until
  /// the gap is small.
  void moreLists() {
    if (!found() || modes.free() || in.size() > kSmallProblemTasks || options.effort == 0 ||
        !in.problem.buffers.empty())
      return;
    int64_t bound = result.bound.value;
    double n = in.size();
    lists(options.effort < kMinSolverEffort ? bound + bound / kNear : bound,
          std::min(kSmallProblemListWork, kListWorkPerPair * n * n));
  }
  void lists(int64_t goal, int64_t work) {
    if (makespan() <= goal)
      return;
    SchedulingSolution best = result.solution;
    ImproveLimits limits{goal, work, options.stop};
    if (in.problem.buffers.empty() ? improve(in, modes, best, limits, random)
                                   : improveWithMemories(in, modes, best, limits, random))
      acceptSolution(std::move(best), "lists");
  }

  size_t numBusy() const {
    return std::count_if(in.minDuration.begin(), in.minDuration.end(), [](int64_t time) { return time > 0; });
  }

  /// The longest makespan at which the windows of tasks close, by bisection.
  void windows() {
    if (in.size() > (options.effort < kMinSolverEffort ? 300 : kMaxForWindows) || options.effort == 0 ||
        !options.bounds)
      return;
    int64_t low = result.bound.value, high = found() ? makespan() : serialLength(in.problem);
    bool quick = options.effort < kMinSolverEffort;
    size_t energetic = quick ? (numBusy() <= kSmallProblemTasks / 2 ? in.size() : 48) : 150;
    while (high - low > (high >> (quick ? 14 : 20)) && !options.stopped()) { // to a millionth
      int64_t middle = low + (high - low) / 2;
      Propagator propagator(in, middle, energetic);
      if (propagator.run(options.searches ? SIZE_MAX : kMaxProbeRounds)) {
        high = middle;
        continue;
      }
      low = middle + 1;
      raise({low, Kind::Windows, {}, 0, std::move(propagator.steps), "time windows"}, "bounds");
    }
  }

  /// A bound by what can run at once.
  void subsets() {
    if (numBusy() > kMaxForSubsets || (options.effort == 0 && !options.subsets) || !options.bounds)
      return;
    SubsetLimits limits;
    limits.subsets = kSubsetsPerTask * static_cast<int64_t>(in.size());
    if (this->found())
      limits.goal = makespan();
    SubsetWeights found = subsetBound(concurrentWorkOf(in.problem), limits);
    raise(boundOf(found), "bounds");
  }

  /// Z3 on windows of tasks, where it cannot have all at once.
  void neighbourhoods() {
    if (!found() || in.size() <= kMaxForOracle || in.size() > kMaxForWindows || !in.problem.buffers.empty() ||
        solverWork == 0 || result.gap() <= kSmallGap)
      return;
    SchedulingSolution best = result.solution;
    int64_t goal = std::max<int64_t>(result.bound.value, result.bound.value * (1 + std::max(options.gap, kSmallGap)));
    uint64_t spent = improveByWindows(in, best, {goal, 32, solverWork / 2, options.stop});
    solverWork -= std::min(solverWork, spent);
    result.work += spent;
    acceptSolution(std::move(best), "windows");
  }

  /// Z3 on what is left: exactly where there are few times, else in units of time that become
  /// smaller as the windows do.
  void oracle() {
    if (in.size() > kMaxForOracle)
      return;
    bool tried = false;
    for (int64_t literals = kFirstLiterals; !finished() && solverWork > 0;) {
      int64_t horizon = found() ? makespan() - 1 : serialLength(in.problem);
      Propagator propagator(in, horizon);
      if (windowsClose(propagator, horizon))
        return;
      int64_t unit = 1;
      if (estimateLiterals(in, propagator, 1) > kMaxLiterals)
        while (estimateLiterals(in, propagator, unit) > literals)
          unit *= 2;
      if (unit == 1 && !tried && found() && in.problem.buffers.empty()) {
        tried = true;
        if (ClauseOracle::supports(in, propagator))
          learn(propagator, horizon);
        else
          easily(propagator, horizon);
        continue;
      }
      Oracle oracle(in, propagator, horizon, unit, /*learning=*/!tried); // what learning left open is Z3's
      if (found())
        oracle.suggest(result.solution);
      StopWatcher watch(oracle, options.stop);
      double gap = result.gap();
      if (unit == 1) {
        exact(oracle, horizon);
        return fromBelow();
      }
      coarse(oracle, horizon, unit);
      bool helped = found() && result.gap() < 0.8 * gap;
      if (!helped && literals >= kMaxLiterals)
        return;
      if (!helped)
        literals *= 4;
    }
  }

  /// Most questions are easy. Where this one is not, schedules are better sought by lists, and the
  /// solver, asked anew with narrower windows, has one answer to give instead of many.
  void easily(const Propagator &propagator, int64_t horizon) {
    uint64_t rest = solverWork - solverWork / kEasyWorkFraction;
    solverWork /= kEasyWorkFraction;
    {
      Oracle oracle(in, propagator, horizon);
      oracle.suggest(result.solution);
      StopWatcher watch(oracle, options.stop);
      exact(oracle, horizon);
    }
    solverWork += rest;
    if (!finished())
      lists(listWork * kLongerLists);
  }

  /// Whether its clauses will be learnt, should bounds and lists leave something open.
  bool isLearnt() const {
    return solverWork > 0 && in.size() <= kMaxForOracle && in.problem.buffers.empty() && in.problem.pairings.empty() &&
           std::ranges::all_of(in.mandatory, [](char certain) { return certain != 0; });
  }

  /// From above, each schedule found is one better, until there is none. Where this takes long, in between, schedules
  /// are sought by lists and near the best one, and bounds from below.
  void learn(const Propagator &propagator, int64_t horizon) {
    uint64_t rest = solverWork / kLearningParts * (kLearningParts - kLearningShare);
    solverWork -= rest;
    // Which of the two is quicker depends on the problem, by more than the factor that asking both costs.
    Oracle plain(in, propagator, horizon), energetic(in, propagator, horizon, 1, true, /*energetic=*/true);
    StopWatcher watch(plain, options.stop), watchOther(energetic, options.stop);
    plain.suggest(result.solution);
    NeighbourhoodSearch near(in, random);
    for (uint64_t slice = kFirstLearning, round = 0; !finished() && solverWork > 0;) {
      Oracle &oracle = round % 2 == 0 ? plain : energetic;
      SchedulingSolution answer;
      int64_t target = makespan() - 1;
      Oracle::Answer said = ask(oracle, target, slice, answer);
      if (said == Oracle::Answer::Yes) {
        acceptSolution(std::move(answer), "clauses");
        continue;
      }
      if (said == Oracle::Answer::No) {
        recordInfeasible(oracle, target, 1);
        break;
      }
      lists(static_cast<int64_t>(slice) * kListWorkPerUnit);
      solverWork -= std::min(solverWork, slice); // about as long
      result.work += slice;
      if (!finished() && in.single)
        nearby(near, slice);
      below(slice / kBelowFraction);
      if (++round % 2 == 0)
        slice *= 2;
      (round % 2 == 0 ? plain : energetic).suggest(result.solution);
    }
    solverWork += rest;
  }

  void nearby(NeighbourhoodSearch &near, uint64_t work) {
    SchedulingSolution best = result.solution;
    uint64_t steps = 0;
    near.improve(best, {result.bound.value, std::min(work, solverWork) * kStepsPerUnit, options.stop}, steps);
    uint64_t spent = steps / kStepsPerUnit;
    solverWork -= std::min(solverWork, spent);
    result.work += spent;
    acceptSolution(std::move(best), "neighbourhoods");
  }

  /// Bounds from what is easily refuted upwards, in longer steps where that succeeds.
  void below(uint64_t work) {
    uint64_t stop = solverWork - std::min(solverWork, work);
    for (int64_t step = 1; !finished() && solverWork > stop;) {
      int64_t target = std::min(result.bound.value + step - 1, makespan() - 2);
      if (target < result.bound.value)
        return;
      if (proveInfeasible(target, std::max<uint64_t>(work / 4, 1), false))
        step *= 2;
      else if (step == 1)
        return;
      else
        step = std::max<int64_t>(step / 4, 1);
    }
  }

  Oracle::Answer ask(Oracle &oracle, int64_t makespan, uint64_t limit, SchedulingSolution &answer) {
    uint64_t before = oracle.work();
    Oracle::Answer said = oracle.ask(makespan, std::min(limit, solverWork), answer);
    uint64_t after = oracle.work();
    if (after < before) // Z3 tells 32 bits of what it has counted
      after += uint64_t{1} << 32;
    uint64_t spent = std::max<uint64_t>(after - before, 1000);
    solverWork -= std::min(solverWork, spent);
    result.work += spent;
    return said;
  }

  /// Z3's answer for times in units. Where few times are left to tell apart, it is one about the
  /// problem as it stands; else about the windows that it was given, which then prove themselves.
  void recordInfeasible(const Oracle &oracle, int64_t makespan, int64_t unit) {
    SchedulingBound bound{makespan + 1, Kind::Solver, {}, 0, {}, oracle.learns() ? "learnt clauses" : "z3", unit};
    if (unit > 1 || makespan >= kMaxExactTimes || oracle.learns()) {
      Propagator propagator(in, makespan);
      if (!propagator.run()) // what is more, nobody needs to be believed
        bound = {makespan + 1, Kind::Windows, {}, 0, {}, "time windows"};
      bound.steps = std::move(propagator.steps);
    }
    raise(std::move(bound), "z3");
  }

  /// From above: each schedule found is one better, until there is none.
  void exact(Oracle &oracle, int64_t target) {
    while (!finished()) {
      SchedulingSolution answer;
      // Some is kept for a better bound, should the answer stay open.
      Oracle::Answer said = ask(oracle, target, solverWork - solverWork * 3 / 20, answer);
      if (said == Oracle::Answer::Unknown)
        return;
      if (said == Oracle::Answer::No) {
        if (found() || !in.problem.lags.empty())
          recordInfeasible(oracle, target, 1);
        if (!found())
          result.status = Status::Infeasible;
        return;
      }
      acceptSolution(std::move(answer), "z3");
      target = makespan() - 1;
    }
  }

  /// Far below the best schedule windows are narrow and answers quick: a better bound, by
  /// bisection among the makespans that could be refuted, then one by one from the bound on, in
  /// windows narrowed by probing.
  void fromBelow() {
    int64_t high = found() ? makespan() : 0;
    uint64_t kept = solverWork / 2;
    for (uint64_t slice = solverWork / 6; result.bound.value < high && solverWork > kept;) {
      int64_t middle = result.bound.value + (high - result.bound.value) / 2;
      if (!proveInfeasible(middle, slice, false))
        high = middle;
      if (finished())
        return;
    }
    while (!finished() && solverWork > 0 && proveInfeasible(result.bound.value, solverWork / 2, true)) {
    }
  }

  /// Whether that nothing is as short as `makespan` could be shown. With half of the work at most
  /// for probing, `slice` for the question.
  bool proveInfeasible(int64_t makespan, uint64_t slice, bool probing) {
    Propagator propagator(in, makespan);
    if (!propagator.run()) {
      raise({makespan + 1, Kind::Windows, {}, 0, std::move(propagator.steps), "time windows"}, "bounds");
      return true;
    }
    if (probing) {
      // A run of the windows in Z3's units, by the time that both take.
      uint64_t cost = in.size() * in.size() * in.size() / 7 + 1000;
      uint64_t spent = propagator.probe(slice / cost) * cost;
      solverWork -= std::min(solverWork, spent);
      result.work += spent;
    }
    Oracle oracle(in, propagator, makespan, 1, true, /*energetic=*/true);
    StopWatcher watch(oracle, options.stop);
    SchedulingSolution answer;
    Oracle::Answer said = ask(oracle, makespan, slice, answer);
    if (said == Oracle::Answer::Yes)
      acceptSolution(std::move(answer), "z3");
    else if (said == Oracle::Answer::No)
      recordInfeasible(oracle, makespan, 1);
    return said == Oracle::Answer::No;
  }

  /// With times in units, by bisection: what is impossible there is so in truth, and the order of
  /// what is possible may be a better schedule.
  void coarse(Oracle &oracle, int64_t horizon, int64_t unit) {
    int64_t low = result.bound.value, high = horizon + 1; // of the relaxed problem
    uint64_t slice = std::max<uint64_t>(solverWork / 8, 1);
    while (low < high && !finished() && solverWork > 0) {
      int64_t middle = low + (high - low) / 2;
      SchedulingSolution answer;
      Oracle::Answer said = ask(oracle, middle, slice, answer);
      if (said == Oracle::Answer::Unknown)
        return;
      if (said == Oracle::Answer::No) {
        low = middle + 1;
        if (!found() && middle == horizon)
          result.status = Status::Infeasible;
        recordInfeasible(oracle, middle, unit);
        continue;
      }
      high = middle;
      if (auto real = scheduleInOrder(in, answer))
        acceptSolution(std::move(*real), "z3");
    }
  }

  Instance in;
  Modes modes;
  const SolveOptions &options;
  std::mt19937_64 random;
  SchedulingResult result;
  int64_t listWork = 0;
  uint64_t solverWork = 0;
};

} // namespace
} // namespace solve

SchedulingResult schedule(const SchedulingProblem &problem, const SolveOptions &options) {
  return solve::Solver(problem, options).run();
}

SchedulingSolution leftJustified(const SchedulingProblem &problem, SchedulingSolution solution) {
  if (!problem.buffers.empty() || (!problem.lags.empty() && !solve::hasPlainTimeLags(problem)))
    return solution;
  solve::Instance instance(problem);
  if (!problem.lags.empty()) {
    if (problem.tasks.size() <= solve::kMaxForTimeLags)
      solve::justifyWithTimeLags(instance, solution);
    return solution;
  }
  solve::SerialScheduler scheduler(instance);
  std::vector<int64_t> start = scheduler.run(solution.start, solution.mode, /*backward=*/false);
  if (scheduler.length() <= solution.makespan) {
    solution.makespan = scheduler.length();
    solution.start = std::move(start);
  }
  return solution;
}

} // namespace accord
