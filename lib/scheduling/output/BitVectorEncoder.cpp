#include "lib/scheduling/output/QueryFacts.h"
#include "lib/scheduling/output/SmtCapacity.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace accord::smtquery {
namespace {

using Problem = SchedulingProblem;

class BitVectorEncoder {
public:
  explicit BitVectorEncoder(const QueryFacts &facts)
      : facts(facts), p(facts.problem), names(symbolsOf(p)), width(facts.horizon / facts.unit + 1), text("QF_BV") {}

  std::string write() {
    for (Id t = 0; t < p.tasks.size(); ++t)
      task(t);
    for (const auto &edge : p.precedences)
      if (!facts.mandatory[edge.before] || !facts.mandatory[edge.after] ||
          facts.end(edge.before) > facts.earliest[edge.after] - edge.delay)
        text.require(text.any(unless(edge.before, edge.after, follows(edge.after, edge.before, edge.delay))));
    for (const auto &lag : p.lags)
      text.require(text.any(unless(lag.before, lag.after, lagHolds(lag))));
    for (auto [before, after] : facts.ordered)
      text.require(follows(after, before, 0));
    for (auto [a, b] : facts.unordered) {
      Term first = text.boolean(symbol("order", names[a]) + "_before_" + names[b]);
      text.require(text.implies({first}, follows(b, a, 0)));
      text.require(text.implies({text.no(first)}, follows(a, b, 0)));
    }
    for (Id r = 0; r < p.resources.size(); ++r)
      resource(r);
    for (Id m = 0; m < p.memories.size(); ++m)
      memory(m);
    for (Id b = 0; b < p.budgets.size(); ++b)
      budget(b);
    for (const auto &pairing : p.pairings)
      for (size_t a = 0; a < facts.modes[pairing.a].size(); ++a)
        for (size_t b = 0; b < facts.modes[pairing.b].size(); ++b)
          if (!pairing.allows(facts.modes[pairing.a][a], facts.modes[pairing.b][b]))
            text.require(text.no(both(in(pairing.a, a), in(pairing.b, b))));
    return text.print();
  }

private:
  const QueryFacts &facts;
  const Problem &p;
  std::vector<std::string> names;
  unsigned width; ///< a bit for each time from 0 to the horizon
  SmtQueryBuilder text;
  std::vector<Term> started, ended; ///< by task: bit t set if by t; `ended` all set where absent
  std::vector<Terms> chosen;        ///< by task and fitting mode; null: it is the only one
  std::vector<Terms> runs;          ///< by task and fitting mode: when it runs; null: never
  std::vector<Term> happens;        ///< by task; null: always

  // ---- Constants, and terms that may be null.

  Term zeros() { return text.bitsOf(llvm::APInt(width, 0)); }
  Term ones() { return text.bitsOf(llvm::APInt::getAllOnes(width)); }
  Term shifted(Term term, int64_t by) {
    if (by == 0)
      return term;
    if (by >= width)
      return zeros();
    unsigned low = by;
    return text.concatenated(text.extract(term, 0, width - low), text.bitsOf(llvm::APInt(low, 0)));
  }
  Term in(Id t, size_t k) { return chosen[t][k]; }
  Term both(Term a, Term b) { // Booleans; null: true
    return !a && !b ? text.truth(true) : !a ? b : !b ? a : text.all({a, b});
  }
  Terms unless(Id a, Id b, Term holds) {
    Terms ways = {holds};
    for (Id t : {a, b})
      if (happens[t])
        ways.push_back(text.no(happens[t]));
    return ways;
  }

  // ---- Tasks.

  void task(Id t) {
    int64_t first = facts.first(t), last = facts.last(t);
    bool closed = facts.latest[t] < facts.earliest[t]; // then it does not happen
    if (closed)
      first = last = 0;
    Term start = text.bitsOf(llvm::APInt::getHighBitsSet(width, width - last));
    if (last > first) {
      unsigned unordered = last - first;
      Term window = text.bits(symbol("window", names[t]), unordered);
      if (unordered > 1) // once started, started ever after
        text.require(text.equal(text.either({window, text.concatenated(text.extract(window, 0, unordered - 1),
                                                                       text.bitsOf(llvm::APInt(1, 0)))}),
                                window));
      start = text.concatenated(text.bitsOf(llvm::APInt::getAllOnes(width - last)), window);
      if (first > 0)
        start = text.concatenated(start, text.bitsOf(llvm::APInt(first, 0)));
    }
    started.push_back(text.define(symbol("started", names[t]), start));
    modes(t);
    if (closed)
      text.require(happens[t] ? text.no(happens[t]) : text.truth(false));
    endings(t);
  }

  void modes(Id t) {
    const auto &fitting = facts.modes[t];
    auto &mine = chosen.emplace_back(fitting.size());
    happens.emplace_back();
    for (size_t k = 0; k < fitting.size(); ++k) {
      const auto &mode = facts.mode(t, fitting[k]);
      if (fitting.size() > 1)
        mine[k] = text.boolean(symbol("mode_" + names[t], mode.name.empty() ? std::to_string(fitting[k]) : mode.name));
      if (mode.absent) {
        happens[t] = mine[k] ? text.no(mine[k]) : text.truth(false);
        continue;
      }
      int64_t deadline = facts.last(t, mode);
      if (deadline < facts.first(t))
        text.require(mine[k] ? text.no(mine[k]) : text.truth(false));
      else if (deadline < facts.last(t))
        text.require(
            text.implies({mine[k]}, text.equal(text.extract(started[t], deadline, 1), text.bitsOf(llvm::APInt(1, 1)))));
    }
    if (fitting.size() < 2)
      return;
    text.require(text.any(mine));
    for (size_t k = 0; k < mine.size(); ++k)
      for (size_t l = 0; l < k; ++l)
        text.require(text.no(text.all({mine[l], mine[k]})));
  }

  /// When it has ended and `delay` has passed; all set where the task is absent.
  Term endedBy(Id t, int64_t delay) {
    const auto &fitting = facts.modes[t];
    auto endIn = [&](size_t k) {
      const auto &mode = facts.mode(t, fitting[k]);
      return mode.absent ? ones() : shifted(started[t], facts.lag(mode, delay));
    };
    Term end = endIn(fitting.size() - 1);
    for (size_t k = fitting.size() - 1; k-- > 0;)
      end = text.choose(in(t, k), endIn(k), end);
    return end;
  }

  void endings(Id t) {
    const auto &fitting = facts.modes[t];
    ended.push_back(text.define(symbol("ended", names[t]), endedBy(t, 0)));
    auto &mine = runs.emplace_back(fitting.size());
    for (size_t k = 0; k < fitting.size(); ++k) {
      const auto &mode = facts.mode(t, fitting[k]);
      if (mode.absent || facts.length(mode) == 0 || mode.usage.empty())
        continue;
      Term when = text.both(started[t], text.complement(ended[t]));
      if (Term choice = in(t, k))
        when = text.choose(choice, when, zeros());
      mine[k] = text.define(fitting.size() == 1 ? symbol("runs", names[t])
                                                : symbol("runs", names[t]) + "_" + std::to_string(fitting[k]),
                            when);
    }
  }

  /// `after` starts only `delay` after the end of `before`.
  Term follows(Id after, Id before, int64_t delay) {
    // Of what is rounded down, the sum may be more than its parts.
    Term over = delay % facts.unit == 0 ? shifted(ended[before], delay / facts.unit) : endedBy(before, delay);
    return text.equal(text.both(started[after], over), started[after]);
  }

  /// `after` has started by a time only if `before` has by the lag earlier. A maximum: if `after` has started, `before`
  /// has, when the time has passed.
  Term lagHolds(const Problem::TimeLag &edge) {
    int64_t lag = facts.lag(edge.lag);
    Term later = lag < 0 ? shifted(started[edge.after], -lag) : started[edge.after];
    Term earlier = lag < 0 ? started[edge.before] : shifted(started[edge.before], lag);
    return text.equal(text.both(later, earlier), later);
  }

  // ---- What is shared.

  /// Tasks that never run together, largest groups first.
  std::vector<std::vector<Id>> groups(std::vector<Id> users) {
    std::vector<std::vector<Id>> result;
    size_t seeds = users.size() > 200 ? 1 : users.size(); // of many tasks the first clique will do
    while (!users.empty()) {
      std::vector<Id> best;
      for (size_t s = 0; s < std::min(seeds, users.size()); ++s) {
        std::vector<Id> group = {users[s]};
        for (Id user : users)
          if (user != users[s] && llvm::all_of(group, [&](Id other) { return facts.isDisjunctive(user, other); }))
            group.push_back(user);
        if (group.size() > best.size())
          best = std::move(group);
      }
      llvm::erase_if(users, [&](Id user) { return llvm::is_contained(best, user); });
      result.push_back(std::move(best));
    }
    return result;
  }

  void resource(Id r) {
    std::vector<Id> users;
    for (Id t = 0; t < p.tasks.size(); ++t)
      if (llvm::any_of(facts.modes[t], [&](Id m) { return facts.mode(t, m).uses(r) > 0; }))
        users.push_back(t);
    std::vector<DemandGroup> demands;
    for (const auto &group : groups(users)) {
      auto &demand = demands.emplace_back();
      for (Id t : group)
        for (size_t k = 0; k < facts.modes[t].size(); ++k)
          if (runs[t][k])
            demand.push_back({facts.mode(t, facts.modes[t][k]).uses(r), runs[t][k]});
    }
    requireAtMost(text, symbol("sum", p.resources[r].name), demands, p.resources[r].capacity);
  }

  Term over; ///< all tasks have ended
  Term allEnded() {
    if (over)
      return over;
    Term result = ones();
    for (Term end : ended)
      result = text.both(result, end);
    return over = text.define("all_ended", result);
  }

  void memory(Id m) {
    std::vector<DemandGroup> demands;
    for (const auto &b : p.buffers) {
      if (b.memory != m || b.bytes == 0)
        continue;
      bool made = b.producer != Problem::kNoTask;
      Term begun = made ? started[b.producer] : ones();
      Terms held; // by whoever has not ended; one that does not happen has always ended
      if (b.persistent)
        held.push_back(text.complement(allEnded()));
      if (made)
        held.push_back(text.complement(ended[b.producer]));
      for (const auto &reader : b.readers) {
        Term wants = text.complement(ended[reader.task]);
        if (reader.unless != Problem::kNoTask)
          wants = happens[reader.unless] ? text.choose(happens[reader.unless], zeros(), wants) : zeros();
        held.push_back(wants);
      }
      if (held.empty())
        continue;
      Term live = text.both(begun, text.either(held));
      if (made && happens[b.producer])
        live = text.choose(happens[b.producer], live, zeros());
      demands.push_back({{b.bytes, text.define(symbol("live", b.name), live)}});
    }
    requireAtMost(text, symbol("bytes", p.memories[m].name), demands, p.memories[m].capacity);
  }

  void budget(Id budget) {
    std::vector<std::pair<int64_t, Term>> spent;
    int64_t left = p.budgets[budget].capacity;
    __int128 max = left;
    for (Id t = 0; t < p.tasks.size(); ++t)
      for (size_t k = 0; k < facts.modes[t].size(); ++k)
        if (int64_t amount = facts.mode(t, facts.modes[t][k]).consumes(budget); amount > 0) {
          spent.push_back({amount, in(t, k)});
          max += amount;
        }
    if (spent.empty())
      return;
    unsigned digits = 1;
    while (max >> digits)
      ++digits;
    auto number = [&](int64_t value) { return text.bitsOf(llvm::APInt(digits, value)); };
    Term sum = number(0);
    for (auto [amount, when] : spent)
      sum = text.add(sum, when ? text.choose(when, number(amount), number(0)) : number(amount));
    text.require(text.atMost(sum, number(left)));
  }
};

} // namespace

std::string encodeInBitVectors(const QueryFacts &facts) { return BitVectorEncoder(facts).write(); }

} // namespace accord::smtquery
