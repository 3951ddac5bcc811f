#include "lib/scheduling/solve/Oracle.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <z3++.h>

namespace accord::solve {
namespace {

using Mode = SchedulingProblem::Mode;

/// A literal, or a constant where the window decides it.
struct Truth {
  int constant = -1; ///< 0, 1, or -1: `literal`
  z3::expr literal;
  bool is(int value) const { return constant == value; }
};

} // namespace

struct Oracle::Z3Encoding {
  const Instance &in;
  int64_t horizon, unit;
  z3::context context;
  z3::solver solver;
  std::vector<int64_t> earliest, latest;      ///< starts, in units
  std::vector<std::vector<z3::expr>> started; ///< by task: by t in [earliest, latest)
  std::vector<std::vector<Id>> usable;        ///< by task: modes that fit
  std::vector<std::vector<z3::expr>> chosen;  ///< by task, if several are usable: by usable mode
  struct Running {
    Id task, mode;
    int64_t time;
    auto operator<=>(const Running &) const = default;
  };
  std::map<Running, z3::expr> running;
  std::map<std::pair<size_t, int64_t>, z3::expr> lives;
  std::map<int64_t, z3::expr> goes;
  z3::expr none; ///< for constants
  size_t count = 0;
  bool impossible = false;
  bool broken = false; ///< Z3 gave up in a way of its own

  Z3Encoding(const Instance &in, const Propagator &windows, int64_t horizon, int64_t unit)
      : in(in), horizon(horizon), unit(unit), solver(context, z3::solver::simple()), none(context.bool_val(false)) {
    for (Id t = 0; t < in.size(); ++t) {
      earliest.push_back(windows.earliest[t] / unit);
      latest.push_back(windows.latest[t] < 0 ? -1 : windows.latest[t] / unit);
      if (windows.latest[t] < windows.earliest[t]) {
        impossible |= in.mandatory[t];
        latest[t] = earliest[t]; // does not happen: see `tasks`
      }
    }
    if (impossible)
      return;
    tasks(windows);
    for (const auto &p : in.problem.precedences)
      order(p.before, p.after, p.delay, nullptr);
    for (const auto &lag : in.problem.lags)
      timeLag(lag);
    for (auto [before, after] : windows.ordered)
      order(before, after, 0, nullptr);
    disjunctions(windows);
    for (Id r = 0; r < in.problem.resources.size(); ++r)
      resource(r);
    for (Id m = 0; m < in.problem.memories.size(); ++m)
      memory(m);
    choices();
  }

  z3::expr boolean() {
    ++count;
    return context.bool_const(("b" + std::to_string(count)).c_str());
  }
  int64_t units(int64_t time) const { return time / unit; } // of what is not negative

  // ---- Literals.

  Truth by(Id t, int64_t time) const {
    if (time < earliest[t])
      return {0, none};
    if (time >= latest[t])
      return {1, none};
    return {-1, started[t][time - earliest[t]]};
  }
  Truth runsIn(Id t, Id mode) const {
    if (chosen[t].empty())
      return {usable[t][0] == mode, none};
    for (size_t k = 0; k < usable[t].size(); ++k)
      if (usable[t][k] == mode)
        return {-1, chosen[t][k]};
    return {0, none};
  }
  Truth absent(Id t) const {
    for (Id m : usable[t])
      if (in.mode(t, m).absent)
        return runsIn(t, m);
    return {0, none};
  }
  static Truth negate(const Truth &truth) {
    if (truth.constant >= 0)
      return {1 - truth.constant, truth.literal};
    return {-1, !truth.literal};
  }
  void clause(std::initializer_list<Truth> of) {
    z3::expr_vector literals(context);
    for (const Truth &truth : of) {
      if (truth.is(1))
        return;
      if (truth.constant < 0)
        literals.push_back(truth.literal);
    }
    if (literals.empty())
      impossible = true;
    else
      solver.add(z3::mk_or(literals));
  }

  // ---- Constraints.

  void tasks(const Propagator &windows) {
    for (Id t = 0; t < in.size(); ++t) {
      auto &mine = started.emplace_back();
      for (int64_t time = earliest[t]; time < latest[t]; ++time) {
        mine.push_back(boolean());
        if (mine.size() > 1)
          solver.add(!mine[mine.size() - 2] || mine.back());
      }
      auto &modes = usable.emplace_back();
      for (Id m = 0; m < in.problem.tasks[t].modes.size(); ++m)
        if (in.problem.fits(in.mode(t, m)) && (in.mode(t, m).absent || windows.latest[t] >= windows.earliest[t]))
          modes.push_back(m);
      auto &literals = chosen.emplace_back();
      if (modes.empty())
        impossible = true;
      if (modes.size() < 2)
        continue;
      z3::expr_vector one(context);
      for (size_t k = 0; k < modes.size(); ++k) {
        literals.push_back(boolean());
        one.push_back(literals.back());
        for (size_t l = 0; l < k; ++l)
          solver.add(!literals[l] || !literals[k]);
      }
      solver.add(z3::mk_or(one));
    }
  }

  /// `after` starts only when `before` has ended and `delay` has passed, or `unless`.
  void order(Id before, Id after, int64_t delay, const z3::expr *unless) {
    if (impossible)
      return;
    Truth gone = absent(after), other = unless ? Truth{-1, *unless} : Truth{0, none};
    for (Id m : usable[before]) {
      const Mode &mode = in.mode(before, m);
      if (mode.absent)
        continue;
      int64_t lag = units(mode.duration + delay);
      for (int64_t time = earliest[after]; time <= latest[after]; ++time) {
        Truth first = by(before, time - lag);
        if (first.is(1))
          break; // and for all later times
        clause({negate(by(after, time)), first, negate(runsIn(before, m)), gone, other});
      }
    }
  }

  /// `after` has started by a time only if `before` has by the lag earlier; rounded down in units.
  void timeLag(const SchedulingProblem::TimeLag &edge) {
    if (impossible)
      return;
    int64_t lag = llvm::divideFloorSigned(edge.lag, unit);
    for (int64_t time = earliest[edge.after]; time <= latest[edge.after]; ++time) {
      Truth first = by(edge.before, time - lag);
      if (first.is(1))
        break;
      clause({negate(by(edge.after, time)), first, absent(edge.before), absent(edge.after)});
    }
  }

  /// Of two that cannot run at once one is first, and what is before what is transitive: through
  /// times alone the solver would see a circle only after going around it many times.
  void disjunctions(const Propagator &windows) {
    size_t n = in.size();
    constexpr int kEither = 2; // no order is known
    std::vector<std::vector<Truth>> first(n, std::vector<Truth>(n, Truth{kEither, none}));
    auto settle = [&](Id a, Id b) { first[a][b].constant = 1, first[b][a].constant = 0; };
    // Only chains of what certainly happens.
    for (size_t i = n; i-- > 0;) {
      Id a = in.order[i];
      for (const Edge &e : in.after(a))
        if (in.mandatory[a] && in.mandatory[e.task]) {
          settle(a, e.task);
          for (Id c = 0; c < n; ++c)
            if (first[e.task][c].is(1))
              settle(a, c);
        }
    }
    for (auto [before, after] : windows.ordered)
      settle(before, after);
    for (auto [a, b] : windows.disjoint()) {
      z3::expr one = boolean(), other = !one;
      order(a, b, 0, &other);
      order(b, a, 0, &one);
      first[a][b] = {-1, one}, first[b][a] = {-1, other};
    }
    for (Id a = 0; a < n; ++a)
      for (Id b = 0; b < n; ++b)
        for (Id c = 0; c < n && !first[a][b].is(kEither); ++c) {
          const Truth &ab = first[a][b], &bc = first[b][c], &ac = first[a][c];
          if (bc.is(kEither) || ac.is(kEither))
            continue;
          int open = ab.is(-1) + bc.is(-1) + ac.is(-1);
          // A circle of three is the same from wherever it starts.
          if (open == 2 || (open == 3 && a < b && a < c))
            clause({negate(ab), negate(bc), ac});
        }
  }

  /// Implied by: in mode m, task t runs at `time`.
  Truth runs(Id t, Id m, int64_t time) {
    Truth begun = by(t, time), over = by(t, time - units(in.mode(t, m).duration)), mode = runsIn(t, m);
    if (begun.is(0) || over.is(1) || mode.is(0))
      return {0, none};
    int open = (begun.constant < 0) + (over.constant < 0) + (mode.constant < 0);
    if (open == 0)
      return {1, none};
    if (open == 1)
      return begun.constant < 0 ? begun : mode.constant < 0 ? mode : negate(over);
    auto known = running.find({t, m, time});
    if (known == running.end()) {
      z3::expr fresh = boolean();
      clause({negate(begun), over, negate(mode), {-1, fresh}});
      known = running.emplace(Running{t, m, time}, fresh).first;
    }
    return {-1, known->second};
  }

  /// Sum of amount * literal <= capacity.
  void atMost(const std::vector<std::pair<int64_t, Truth>> &terms, int64_t capacity) {
    z3::expr_vector literals(context);
    std::vector<int64_t> amounts;
    __int128 sum = 0;
    for (const auto &[amount, truth] : terms) {
      if (truth.is(1))
        capacity -= amount;
      if (truth.constant >= 0 || amount == 0)
        continue;
      literals.push_back(truth.literal);
      amounts.push_back(amount);
      sum += amount;
    }
    if (capacity < 0)
      impossible = true;
    if (capacity < 0 || sum <= capacity)
      return;
    // Z3 takes 32 bits: rounded down on both sides, every true solution remains one.
    int shift = 0;
    while (capacity >> shift >= int64_t{1} << 30)
      ++shift;
    std::vector<int> weights;
    for (int64_t amount : amounts)
      weights.push_back(std::min<int64_t>(amount >> shift, (capacity >> shift) + 1));
    solver.add(z3::pble(literals, weights.data(), capacity >> shift));
  }

  void resource(Id r) {
    struct User {
      Id task, mode;
      int64_t amount;
    };
    std::vector<User> users;
    std::vector<int64_t> times;
    for (Id t = 0; t < in.size(); ++t)
      for (Id m : usable[t])
        if (int64_t amount = in.mode(t, m).uses(r); amount > 0 && units(in.mode(t, m).duration) > 0) {
          users.push_back({t, m, amount});
          for (int64_t time = earliest[t]; time <= latest[t]; ++time)
            times.push_back(time);
        }
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    for (int64_t time : times) {
      std::vector<std::pair<int64_t, Truth>> terms;
      for (const User &user : users)
        if (Truth runs = this->runs(user.task, user.mode, time); !runs.is(0))
          terms.push_back({user.amount, runs});
      atMost(terms, in.problem.resources[r].capacity);
      if (impossible)
        return;
    }
  }

  /// Implied by: some task is not over at `time`.
  Truth ongoing(int64_t time) {
    auto known = goes.find(time);
    if (known != goes.end())
      return {-1, known->second};
    z3::expr fresh = boolean();
    for (Id t = 0; t < in.size(); ++t)
      for (Id m : usable[t])
        if (!in.mode(t, m).absent)
          clause({negate(runsIn(t, m)), by(t, time - units(in.mode(t, m).duration)), {-1, fresh}});
    goes.emplace(time, fresh);
    return {-1, fresh};
  }

  /// Implied by: the buffer is live at `time`.
  Truth live(size_t index, int64_t time) {
    const auto &b = in.problem.buffers[index];
    bool made = b.producer != SchedulingProblem::kNoTask;
    Truth begun = made ? by(b.producer, time) : Truth{1, none};
    Truth gone = made ? absent(b.producer) : Truth{0, none};
    if (begun.is(0) || gone.is(1))
      return {0, none};
    auto known = lives.find({index, time});
    if (known != lives.end())
      return {-1, known->second};
    z3::expr fresh = boolean();
    Truth alive{-1, fresh};
    if (b.persistent)
      clause({negate(begun), gone, negate(ongoing(time)), alive});
    auto until = [&](Id task, const Truth &other) { // live while the task is not over
      for (Id m : usable[task])
        if (!in.mode(task, m).absent)
          clause({negate(begun), gone, negate(runsIn(task, m)), by(task, time - units(in.mode(task, m).duration)),
                  other, alive});
    };
    if (made)
      until(b.producer, {0, none});
    for (const auto &reader : b.readers)
      until(reader.task, reader.unless == SchedulingProblem::kNoTask ? Truth{0, none} : negate(absent(reader.unless)));
    lives.emplace(std::pair{index, time}, fresh);
    return alive;
  }

  void memory(Id m) {
    std::vector<size_t> mine;
    std::vector<int64_t> times = {0};
    for (size_t i = 0; i < in.problem.buffers.size(); ++i) {
      const auto &b = in.problem.buffers[i];
      if (b.memory != m || b.bytes == 0)
        continue;
      mine.push_back(i);
      if (b.producer != SchedulingProblem::kNoTask)
        for (int64_t time = earliest[b.producer]; time <= latest[b.producer]; ++time)
          times.push_back(time);
    }
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    for (int64_t time : times) {
      std::vector<std::pair<int64_t, Truth>> terms;
      for (size_t index : mine)
        if (Truth alive = live(index, time); !alive.is(0))
          terms.push_back({in.problem.buffers[index].bytes, alive});
      atMost(terms, in.problem.memories[m].capacity);
      if (impossible)
        return;
    }
  }

  void choices() {
    for (const auto &pairing : in.problem.pairings)
      for (Id a : usable[pairing.a])
        for (Id b : usable[pairing.b])
          if (!pairing.allows(a, b))
            clause({negate(runsIn(pairing.a, a)), negate(runsIn(pairing.b, b))});
    for (Id budget = 0; budget < in.problem.budgets.size(); ++budget) {
      std::vector<std::pair<int64_t, Truth>> terms;
      for (Id t = 0; t < in.size(); ++t)
        for (Id m : usable[t])
          terms.push_back({in.mode(t, m).consumes(budget), runsIn(t, m)});
      atMost(terms, in.problem.budgets[budget].capacity);
    }
  }

  // ---- Questions.

  Answer ask(int64_t makespan, uint64_t limit, SchedulingSolution &found) {
    if (impossible || broken || limit == 0) // Z3 takes 0 for no limit
      return impossible ? Answer::No : Answer::Unknown;
    z3::expr asked = boolean();
    Truth otherwise{-1, !asked};
    for (Id t = 0; t < in.size() && !impossible; ++t)
      for (Id m : usable[t]) {
        int64_t last = makespan - in.tails[t] - in.mode(t, m).duration;
        if (in.mode(t, m).absent || (last >= 0 && units(last) >= latest[t]))
          continue;
        clause({last < 0 ? Truth{0, none} : by(t, units(last)), negate(runsIn(t, m)), otherwise});
      }
    z3::params params(context);
    params.set("rlimit", static_cast<unsigned>(std::min<uint64_t>(limit, std::numeric_limits<unsigned>::max())));
    // All clauses matter here; tracking which do costs half the time.
    params.set("relevancy", 0u);
    params.set("phase_selection", 0u);
    params.set("restart_strategy", 2u); // Luby, Sinclair, Zuckerman 1993
    solver.set(params);
    z3::expr_vector assumptions(context);
    assumptions.push_back(asked);
    z3::check_result answer = solver.check(assumptions);
    if (answer == z3::unsat)
      return Answer::No;
    if (answer != z3::sat)
      return Answer::Unknown;
    read(solver.get_model(), found);
    return Answer::Yes;
  }

  void read(const z3::model &model, SchedulingSolution &found) {
    auto holds = [&](const z3::expr &literal) { return model.eval(literal, true).is_true(); };
    found.start.assign(in.size(), 0), found.mode.assign(in.size(), 0);
    found.makespan = 0;
    for (Id t = 0; t < in.size(); ++t) {
      found.mode[t] = usable[t][0];
      for (size_t k = 0; k < chosen[t].size(); ++k)
        if (holds(chosen[t][k]))
          found.mode[t] = usable[t][k];
      if (in.mode(t, found.mode[t]).absent)
        continue;
      int64_t at = earliest[t];
      for (const z3::expr &literal : started[t]) {
        if (holds(literal))
          break;
        ++at;
      }
      found.start[t] = at * unit;
      found.makespan = std::max(found.makespan, found.start[t] + in.mode(t, found.mode[t]).duration);
    }
  }
};

Oracle::Oracle(const Instance &instance, const Propagator &windows, int64_t horizon, int64_t unit, bool learning,
               bool energetic) {
  if (learning && unit == 1 && ClauseOracle::supports(instance, windows)) {
    clauses = std::make_unique<ClauseOracle>(instance, windows, energetic);
    clauses->keepNoLog();
  } else {
    encoding = std::make_unique<Z3Encoding>(instance, windows, horizon, unit);
  }
}
Oracle::~Oracle() = default;

Oracle::Answer Oracle::ask(int64_t makespan, uint64_t limit, SchedulingSolution &found) {
  if (clauses) {
    switch (clauses->ask(makespan, limit * kStepsPerUnit, found, &stop)) {
    case ClauseSolver::Answer::Yes:
      return Answer::Yes;
    case ClauseSolver::Answer::No:
      return Answer::No;
    case ClauseSolver::Answer::Unknown:
      return Answer::Unknown;
    }
  }
  try {
    return encoding->ask(makespan, limit, found);
  } catch (const z3::exception &) { // interrupted, or out of memory
    encoding->broken = true;
    return Answer::Unknown;
  }
}

void Oracle::interrupt() {
  if (clauses)
    stop = true;
  else
    encoding->context.interrupt();
}

void Oracle::suggest(const SchedulingSolution &known) {
  if (clauses)
    clauses->suggest(known);
}

uint64_t Oracle::work() const {
  if (clauses)
    return clauses->work() / kStepsPerUnit;
  try {
    z3::stats stats = encoding->solver.statistics();
    for (unsigned i = 0; i < stats.size(); ++i)
      if (stats.key(i) == "rlimit count")
        return stats.is_uint(i) ? stats.uint_value(i) : stats.double_value(i);
  } catch (const z3::exception &) { // it counts nothing
  }
  return 0;
}

int64_t estimateLiterals(const Instance &in, const Propagator &windows, int64_t unit) {
  double sum = 0; // of starts and of running in each mode
  for (Id t = 0; t < in.size(); ++t)
    sum += double((windows.latest[t] - windows.earliest[t]) / unit) * (1 + in.problem.tasks[t].modes.size());
  return std::min(sum, 9e18);
}

} // namespace accord::solve

namespace accord {

SatResult checkSat(const std::string &script, unsigned work) {
  unsigned major = 0, minor = 0, build = 0, revision = 0;
  Z3_get_version(&major, &minor, &build, &revision);
  SatResult said{"unknown", fmt::format("Z3 {}.{}.{}", major, minor, build)};
  try {
    z3::context context;
    z3::solver solver(context);
    z3::params limits(context);
    limits.set("rlimit", work);
    solver.set(limits);
    solver.add(context.parse_string(script.c_str()));
    z3::check_result answer = solver.check();
    said.answer = answer == z3::unsat ? "unsat" : answer == z3::sat ? "sat" : "unknown";
  } catch (const z3::exception &problem) {
    said.answer = problem.msg();
  }
  return said;
}

} // namespace accord
