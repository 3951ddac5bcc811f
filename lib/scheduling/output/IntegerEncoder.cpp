#include "lib/scheduling/output/QueryFacts.h"
#include "lib/scheduling/output/SmtQueryBuilder.h"
#include "llvm/ADT/STLExtras.h"

namespace accord::smtquery {
namespace {

using Problem = SchedulingProblem;

class IntegerEncoder {
public:
  explicit IntegerEncoder(const QueryFacts &facts)
      : facts(facts), p(facts.problem), names(symbolsOf(p)), text("QF_LIA") {}

  std::string write() {
    for (Id t = 0; t < p.tasks.size(); ++t)
      task(t);
    for (const auto &edge : p.precedences)
      precedence(edge);
    for (const auto &lag : p.lags)
      timeLag(lag);
    for (auto [before, after] : facts.ordered)
      text.require(text.lessOrEqual(end[before], start[after]));
    for (auto [a, b] : facts.unordered)
      text.require(text.any({text.lessOrEqual(end[a], start[b]), text.lessOrEqual(end[b], start[a])}));
    for (Id r = 0; r < p.resources.size(); ++r)
      for (Id t = 0; t < p.tasks.size(); ++t)
        resource(r, t);
    for (Id m = 0; m < p.memories.size(); ++m)
      memory(m);
    for (Id b = 0; b < p.budgets.size(); ++b)
      budget(b);
    for (const auto &pairing : p.pairings)
      for (Id a : facts.modes[pairing.a])
        for (Id b : facts.modes[pairing.b])
          if (!pairing.allows(a, b))
            text.require(text.no(text.all({in(pairing.a, a), in(pairing.b, b)})));
    return text.print();
  }

private:
  const QueryFacts &facts;
  const Problem &p;
  std::vector<std::string> names;
  SmtQueryBuilder text;
  std::vector<Term> start, end;                         ///< 0 where the task does not happen: it never runs
  std::vector<std::vector<std::pair<Id, Term>>> chosen; ///< by task: fitting mode, its Boolean
  std::vector<Term> happens;                            ///< null: always

  Term in(Id t, Id mode) {
    for (auto [m, term] : chosen[t])
      if (m == mode)
        return term ? term : text.truth(true);
    return text.truth(false);
  }
  Terms presence(Id a, Id b) {
    Terms terms;
    for (Id t : {a, b})
      if (happens[t])
        terms.push_back(happens[t]);
    return terms;
  }

  void precedence(const Problem::Precedence &edge) {
    Terms given = presence(edge.before, edge.after);
    auto follows = [&](const Terms &given, Term from, int64_t lag) {
      text.require(text.implies(given, text.lessOrEqual(text.sum({from, text.number(lag)}), start[edge.after])));
    };
    if (edge.delay % facts.unit == 0)
      return follows(given, end[edge.before], edge.delay / facts.unit);
    // Of what is rounded down, the sum may be more than its parts.
    for (auto [m, choice] : chosen[edge.before]) {
      const auto &mode = facts.mode(edge.before, m);
      Terms here = given;
      if (choice)
        here.push_back(choice);
      if (!mode.absent)
        follows(here, start[edge.before], facts.lag(mode, edge.delay));
    }
  }

  /// Constants stay positive: the sum is on the side on which they are.
  void timeLag(const Problem::TimeLag &edge) {
    int64_t lag = facts.lag(edge.lag);
    Term from = start[edge.before], to = start[edge.after];
    (lag < 0 ? to : from) = text.sum({lag < 0 ? to : from, text.number(lag < 0 ? -lag : lag)});
    text.require(text.implies(presence(edge.before, edge.after), text.lessOrEqual(from, to)));
  }

  void task(Id t) {
    start.push_back(text.integer(symbol("start", names[t])));
    end.push_back(text.integer(symbol("end", names[t])));
    auto &mine = chosen.emplace_back();
    happens.emplace_back();
    for (Id m : facts.modes[t]) {
      const auto &mode = facts.mode(t, m);
      Term choice;
      if (facts.modes[t].size() > 1)
        choice = text.boolean(symbol("mode_" + names[t], mode.name.empty() ? std::to_string(m) : mode.name));
      mine.push_back({m, choice});
      Terms given = choice ? Terms{choice} : Terms{};
      if (mode.absent) {
        happens[t] = choice ? text.no(choice) : text.truth(false);
        text.require(
            text.implies(given, text.all({text.equal(start[t], text.number(0)), text.equal(end[t], text.number(0))})));
        continue;
      }
      if (facts.last(t, mode) < facts.first(t)) {
        text.require(text.implies(given, text.truth(false)));
        continue;
      }
      text.require(
          text.implies(given, text.all({text.equal(end[t], text.sum({start[t], text.number(facts.length(mode))})),
                                        text.lessOrEqual(text.number(facts.first(t)), start[t]),
                                        text.lessOrEqual(start[t], text.number(facts.last(t, mode)))})));
    }
    if (mine.size() < 2)
      return;
    Terms one;
    for (size_t k = 0; k < mine.size(); ++k) {
      one.push_back(mine[k].second);
      for (size_t l = 0; l < k; ++l)
        text.require(text.no(text.all({mine[l].second, mine[k].second})));
    }
    text.require(text.any(one));
  }

  Term weighted(Term when, int64_t amount) { return text.choose(when, text.number(amount), text.number(0)); }

  /// What runs when `t` starts fits; so it does at all times, for sums grow at starts alone.
  void resource(Id r, Id t) {
    auto amount = [&](Id task, Id m) {
      return facts.length(facts.mode(task, m)) > 0 ? facts.mode(task, m).uses(r) : 0;
    };
    auto uses = [&](Id task) { return llvm::any_of(facts.modes[task], [&](Id m) { return amount(task, m) > 0; }); };
    if (!uses(t))
      return;
    Terms taken;
    __int128 max = 0;
    for (Id other = 0; other < p.tasks.size(); ++other) {
      if (other != t && (!uses(other) || facts.isDisjunctive(t, other)))
        continue;
      int64_t largest = 0;
      for (auto [m, choice] : chosen[other]) {
        int64_t needs = amount(other, m);
        if (needs == 0)
          continue;
        largest = std::max(largest, needs);
        Terms when;
        if (choice)
          when.push_back(choice);
        if (other != t) {
          when.push_back(text.lessOrEqual(start[other], start[t]));
          when.push_back(text.less(start[t], end[other]));
        }
        taken.push_back(when.empty() ? text.number(needs) : weighted(text.all(when), needs));
      }
      max += largest;
    }
    if (max <= p.resources[r].capacity)
      return;
    Terms given;
    if (happens[t])
      given.push_back(happens[t]);
    text.require(text.implies(given, text.lessOrEqual(text.sum(taken), text.number(p.resources[r].capacity))));
  }

  /// Live at the time `at`.
  Term live(const Problem::Buffer &b, Term at) {
    Terms all, held;
    bool made = b.producer != Problem::kNoTask;
    if (made) {
      all.push_back(text.lessOrEqual(start[b.producer], at));
      if (happens[b.producer])
        all.push_back(happens[b.producer]);
      held.push_back(text.less(at, end[b.producer]));
    }
    for (const auto &reader : b.readers) {
      Terms wants = {text.less(at, end[reader.task])};
      if (reader.unless != Problem::kNoTask)
        wants.push_back(happens[reader.unless] ? text.no(happens[reader.unless]) : text.truth(false));
      held.push_back(text.all(wants));
    }
    if (b.persistent)
      for (Term ending : end)
        held.push_back(text.less(at, ending));
    all.push_back(text.any(held));
    return text.all(all);
  }

  void memory(Id m) {
    auto fits = [&](Term at, Term given) {
      Terms taken;
      for (const auto &b : p.buffers)
        if (b.memory == m && b.bytes > 0)
          taken.push_back(weighted(live(b, at), b.bytes));
      Term holds = text.lessOrEqual(text.sum(taken), text.number(p.memories[m].capacity));
      text.require(given ? text.implies({given}, holds) : holds);
    };
    std::vector<char> seen(p.tasks.size());
    bool first = false;
    for (const auto &b : p.buffers) {
      if (b.memory != m || b.bytes == 0)
        continue;
      if (b.producer == Problem::kNoTask)
        first = true;
      else if (!seen[b.producer]) {
        seen[b.producer] = 1;
        fits(start[b.producer], happens[b.producer]);
      }
    }
    if (first)
      fits(text.number(0), Term());
  }

  void budget(Id budget) {
    Terms spent;
    for (Id t = 0; t < p.tasks.size(); ++t)
      for (auto [m, choice] : chosen[t])
        if (int64_t amount = facts.mode(t, m).consumes(budget); amount > 0)
          spent.push_back(choice ? weighted(choice, amount) : text.number(amount));
    if (!spent.empty())
      text.require(text.lessOrEqual(text.sum(spent), text.number(p.budgets[budget].capacity)));
  }
};

} // namespace

std::string encodeInIntegers(const QueryFacts &facts) { return IntegerEncoder(facts).write(); }

} // namespace accord::smtquery
