#include "lib/solve/Oracle.h"
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <z3++.h>

namespace accord::solve {

struct Oracle::Encoding {
  const Instance &in;
  const std::vector<int64_t> &heads, &tails;
  int64_t horizon;
  z3::context context;
  z3::solver solver;
  std::vector<std::vector<z3::expr>> started; ///< by task: by t in [heads, latest)
  std::vector<std::vector<z3::expr>> chosen;  ///< by task with several modes: by mode
  size_t count = 0;
  uint64_t spent = 0;
  bool impossible = false;

  Encoding(const Instance &in, const std::vector<int64_t> &heads, const std::vector<int64_t> &tails,
           int64_t horizon, const std::vector<std::pair<Id, Id>> &disjoint)
      : in(in), heads(heads), tails(tails), horizon(horizon),
        solver(context, z3::solver::simple()) {
    for (Id t = 0; t < in.size(); ++t)
      impossible |= latest(t) < heads[t];
    if (impossible)
      return;
    variables();
    precedences();
    for (auto [a, b] : disjoint)
      either(a, b);
    for (Id r = 0; r < in.problem.resources.size(); ++r)
      resource(r);
  }

  /// Two tasks that cannot run at a time: one is before the other.
  void either(Id a, Id b) {
    z3::expr first = boolean(); // a before b
    order(a, b, !first), order(b, a, first);
  }
  void order(Id a, Id b, const z3::expr &other) {
    int64_t lag = in.mode(a, 0).duration;
    for (int64_t time = heads[b]; time <= latest(b); ++time) {
      Lit then = by(b, time), before = by(a, time - lag);
      if (before.constant == 1)
        break;
      z3::expr_vector clause(context);
      clause.push_back(other);
      if (then.constant == -1)
        clause.push_back(!expr(then));
      if (before.constant == -1)
        clause.push_back(expr(before));
      if (then.constant != 0)
        solver.add(z3::mk_or(clause));
    }
  }

  int64_t latest(Id t) const { return horizon - tails[t] - in.least[t]; }
  z3::expr boolean() {
    ++count;
    return context.bool_const(("b" + std::to_string(count)).c_str());
  }

  /// A literal or one of the constants, with a sign.
  struct Lit {
    int constant = -1; ///< 0, 1, or -1: see `task`, `time`
    Id task = 0;
    int64_t time = 0;
  };
  Lit by(Id t, int64_t time) const {
    if (time < heads[t])
      return {0, t, time};
    if (time >= latest(t))
      return {1, t, time};
    return {-1, t, time};
  }
  const z3::expr &expr(const Lit &lit) const {
    return started[lit.task][static_cast<size_t>(lit.time - heads[lit.task])];
  }

  void variables() {
    for (Id t = 0; t < in.size(); ++t) {
      auto &mine = started.emplace_back();
      for (int64_t time = heads[t]; time < latest(t); ++time) {
        mine.push_back(boolean());
        if (mine.size() > 1)
          solver.add(!mine[mine.size() - 2] || mine.back());
      }
      chosen.emplace_back();
    }
  }

  void precedences() {
    for (const auto &p : in.problem.precedences) {
      int64_t lag = in.mode(p.before, 0).duration + p.delay;
      for (int64_t time = heads[p.after]; time <= latest(p.after); ++time) {
        Lit then = by(p.after, time), first = by(p.before, time - lag);
        if (first.constant == 1)
          break; // and for all later times
        if (then.constant == 0)
          continue;
        if (then.constant == 1 && first.constant == 0)
          impossible = true;
        else if (then.constant == 1)
          solver.add(expr(first));
        else if (first.constant == 0)
          solver.add(!expr(then));
        else
          solver.add(!expr(then) || expr(first));
      }
    }
  }

  std::map<std::pair<Id, int64_t>, z3::expr> running;
  /// "task t runs at `time`", or a constant.
  std::pair<int, z3::expr> runs(Id t, int64_t time) {
    Lit begun = by(t, time), over = by(t, time - in.mode(t, 0).duration);
    if (begun.constant == 0 || over.constant == 1)
      return {0, context.bool_val(false)};
    if (begun.constant == 1 && over.constant == 0)
      return {1, context.bool_val(true)};
    if (begun.constant == 1)
      return {-1, !expr(over)};
    if (over.constant == 0)
      return {-1, expr(begun)};
    auto known = running.find({t, time});
    if (known == running.end()) {
      z3::expr fresh = boolean();
      solver.add(!expr(begun) || expr(over) || fresh);
      known = running.emplace(std::pair{t, time}, fresh).first;
    }
    return {-1, known->second};
  }

  void resource(Id r) {
    struct User {
      Id task;
      int64_t amount;
    };
    std::vector<User> users;
    std::vector<int64_t> times;
    for (Id t = 0; t < in.size(); ++t)
      for (const auto &use : in.mode(t, 0).usage)
        if (use.of == r && use.amount > 0 && in.mode(t, 0).duration > 0) {
          users.push_back({t, use.amount});
          for (int64_t time = heads[t]; time <= latest(t); ++time)
            times.push_back(time);
        }
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    for (int64_t time : times) {
      int64_t capacity = in.problem.resources[r].capacity, sum = 0;
      z3::expr_vector terms(context);
      std::vector<int> weights;
      for (const User &user : users) {
        auto [constant, term] = runs(user.task, time);
        if (constant == 1)
          capacity -= user.amount;
        if (constant >= 0)
          continue;
        terms.push_back(term);
        weights.push_back(static_cast<int>(user.amount));
        sum += user.amount;
      }
      if (capacity < 0)
        impossible = true;
      else if (sum > capacity)
        solver.add(z3::pble(terms, weights.data(), static_cast<int>(capacity)));
    }
  }

  Answer ask(int64_t makespan, uint64_t limit, SchedulingSolution &found) {
    if (impossible)
      return Answer::No;
    z3::expr_vector assumptions(context);
    for (Id t = 0; t < in.size(); ++t) {
      Lit end = by(t, makespan - tails[t] - in.least[t]);
      if (end.constant == 0)
        return Answer::No;
      if (end.constant < 0)
        assumptions.push_back(expr(end));
    }
    if (limit < std::numeric_limits<unsigned>::max()) {
      z3::params params(context);
      params.set("rlimit", static_cast<unsigned>(limit));
      solver.set(params);
    }
    z3::check_result answer = solver.check(assumptions);
    if (answer == z3::unsat)
      return Answer::No;
    if (answer != z3::sat)
      return Answer::Unknown;
    z3::model model = solver.get_model();
    found.start.assign(in.size(), 0);
    found.mode.assign(in.size(), 0);
    found.makespan = 0;
    for (Id t = 0; t < in.size(); ++t) {
      int64_t at = heads[t];
      for (const z3::expr &literal : started[t]) {
        if (model.eval(literal, true).is_true())
          break;
        ++at;
      }
      found.start[t] = at;
      found.makespan = std::max(found.makespan, at + in.mode(t, 0).duration);
    }
    return Answer::Yes;
  }
};

Oracle::Oracle(const Instance &instance, const std::vector<int64_t> &heads,
               const std::vector<int64_t> &tails, int64_t horizon,
               const std::vector<std::pair<Id, Id>> &disjoint)
    : encoding(std::make_unique<Encoding>(instance, heads, tails, horizon, disjoint)) {}
Oracle::~Oracle() = default;
Oracle::Answer Oracle::ask(int64_t makespan, uint64_t limit, SchedulingSolution &found) {
  return encoding->ask(makespan, limit, found);
}
uint64_t Oracle::work() const { return encoding->spent; }
size_t Oracle::literals() const { return encoding->count; }

} // namespace accord::solve
