#include "lib/scheduling/verify/InfeasibilityFormula.h"
#include "lib/scheduling/verify/SchedulingWindows.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>
#include <map>
#include <set>

namespace accord {

uint64_t InfeasibilityFormula::hash() const {
  return llvm::xxh3_64bits(
      {reinterpret_cast<const uint8_t *>(literals.data()), literals.size() * sizeof(literals.front())});
}

namespace {

using Id = SchedulingProblem::Id;
using Mode = SchedulingProblem::Mode;

/// Limits of what is written as clauses: sums of one capacity, tasks.
constexpr size_t kMaxSums = 16'384, kMaxTasks = 2000;

/// A variable with its sign, or a truth value that windows decide.
class Fact {
public:
  static Fact never() { return Fact(0, false); }
  static Fact always() { return Fact(0, true); }
  static Fact variable(int32_t number) { return Fact(number, true); }
  Fact operator!() const { return Fact(number, !positive); }
  bool operator==(const Fact &) const = default;
  bool isKnown() const { return number == 0; }
  bool isAlways() const { return isKnown() && positive; }
  bool isNever() const { return isKnown() && !positive; }
  int32_t literal() const { return positive ? number : -number; }

private:
  Fact(int32_t number, bool positive) : number(number), positive(positive) {}
  int32_t number;
  bool positive;
};

class FormulaWriter {
public:
  FormulaWriter(const SchedulingFacts &facts, const StartWindows &windows, int64_t unit)
      : facts(facts), p(facts.problem), windows(windows), unit(unit) {}

  std::optional<InfeasibilityFormula> write() {
    if (p.tasks.size() > kMaxTasks)
      return std::nullopt;
    for (Id t = 0; t < p.tasks.size() && !isFull(); ++t)
      writeTask(t);
    if (isFull())
      return std::nullopt;
    findOrders();
    for (const auto &precedence : p.precedences)
      writeOrder(precedence.before, precedence.after, precedence.delay, Fact::never());
    for (const auto &lag : p.lags)
      writeLag(lag);
    for (const auto &[before, after] : windows.ordered)
      writeOrder(before, after, 0, Fact::never());
    writeDisjunctions();
    for (Id r = 0; r < p.resources.size(); ++r)
      writeResource(r);
    for (Id m = 0; m < p.memories.size(); ++m)
      writeMemory(m);
    writePairings();
    for (Id b = 0; b < p.budgets.size(); ++b)
      writeBudget(b);
    return isFull() ? std::nullopt : std::optional(std::move(out));
  }

private:
  /// A mode that the window of its task has room for.
  struct Choice {
    Id number; ///< among the modes of the problem
    const Mode *mode;
    int64_t length; ///< in units
    Fact chosen;
  };
  struct Task {
    int64_t first = 0, last = 0; ///< starts, in units
    int64_t latestEnd = 0;       ///< of the problem's time
    int32_t variables = 0;       ///< the one before the first
    std::vector<Choice> choices;
    bool happens = false; ///< in some choice
    Fact absent = Fact::never();
  };
  struct Need {
    int64_t amount;
    Fact fact;
  };
  using Needs = std::vector<Need>; ///< at most one at a time

  bool isFull() const { return overflow || out.literals.size() > kMaxVerifiedLiterals; }
  Fact newFact() { return Fact::variable(++out.variables); }
  void clause(const std::vector<Fact> &facts) {
    for (const Fact &fact : facts)
      if (fact.isAlways())
        return;
    for (const Fact &fact : facts)
      if (!fact.isKnown())
        out.literals.push_back(fact.literal());
    out.literals.push_back(0);
    ++out.clauses;
  }

  Fact startedBy(const Task &task, int64_t time) const {
    if (time < task.first)
      return Fact::never();
    if (time >= task.last)
      return Fact::always();
    return Fact::variable(task.variables + 1 + int32_t(time - task.first));
  }

  // ---- Tasks.

  void writeTask(Id id) {
    Task task;
    int64_t earliest = windows.earliest[id];
    task.latestEnd = windows.latest[id] + facts.minDuration[id];
    task.first = task.last = earliest / unit;
    for (const Mode *mode : facts.modes[id]) {
      if (!mode->absent && earliest + mode->duration > task.latestEnd)
        continue;
      task.choices.push_back({Id(mode - p.tasks[id].modes.data()), mode, mode->duration / unit, Fact::always()});
      if (!mode->absent) {
        task.happens = true;
        task.last = std::max(task.last, (task.latestEnd - mode->duration) / unit);
      }
    }
    if (task.last - task.first > int64_t(kMaxVerifiedLiterals)) {
      overflow = true;
      return;
    }
    task.variables = out.variables;
    out.variables += int32_t(task.last - task.first);
    if (task.choices.size() > 1)
      for (Choice &choice : task.choices)
        choice.chosen = newFact();
    for (const Choice &choice : task.choices)
      if (choice.mode->absent)
        task.absent = choice.chosen;
    for (int64_t time = task.first; time < task.last; ++time)
      clause({!startedBy(task, time), startedBy(task, time + 1)});
    if (task.choices.size() != 1) { // one of them; of none the contradiction
      std::vector<Fact> any;
      for (const Choice &choice : task.choices)
        any.push_back(choice.chosen);
      clause(any);
    }
    for (size_t i = 0; i < task.choices.size(); ++i) {
      const Choice &choice = task.choices[i];
      for (size_t j = 0; j < i; ++j)
        clause({!task.choices[j].chosen, !choice.chosen});
      if (!choice.mode->absent)
        clause({!choice.chosen, startedBy(task, (task.latestEnd - choice.mode->duration) / unit)});
    }
    auto &starts = out.starts.emplace_back(task.first, task.last, task.variables + 1, std::nullopt);
    if (task.choices.size() == 1 && task.happens)
      starts.mode = task.choices[0].number;
    tasks.push_back(std::move(task));
  }

  // ---- Orders.

  /// Which tasks are before which: by precedences through tasks that always happen, by windows, by pairs.
  void findOrders() {
    size_t n = tasks.size();
    std::vector<std::vector<Id>> next(n);
    for (const auto &precedence : p.precedences)
      next[precedence.before].push_back(precedence.after);
    isFirst.assign(n, std::vector<bool>(n));
    for (Id t = 0; t < n; ++t) {
      std::vector<Id> open = {t};
      while (!open.empty()) {
        Id from = open.back();
        open.pop_back();
        for (Id to : next[from]) {
          if (!isFirst[t][to] && facts.mandatory[to])
            open.push_back(to);
          isFirst[t][to] = true;
        }
      }
    }
    for (const auto &[before, after] : windows.ordered)
      isFirst[before][after] = true;
    for (Id a = 0; a < n; ++a)
      for (Id b = 0; b < n; ++b)
        if (a != b && tasks[a].latestEnd <= windows.earliest[b])
          isFirst[a][b] = true;
  }

  void writeOrder(Id before, Id after, int64_t delay, Fact unless) {
    const Task &one = tasks[before], &other = tasks[after];
    if (!other.happens || isFull())
      return;
    for (const Choice &choice : one.choices) {
      if (choice.mode->absent)
        continue;
      int64_t lag = (choice.mode->duration + delay) / unit;
      for (int64_t time = other.first; time <= other.last; ++time)
        clause({!startedBy(other, time), startedBy(one, time - lag), !choice.chosen, other.absent, unless});
    }
  }

  /// Lags are rounded down to units, also negative ones.
  void writeLag(const SchedulingProblem::TimeLag &lag) {
    const Task &one = tasks[lag.before], &other = tasks[lag.after];
    if (!one.happens || !other.happens || isFull())
      return;
    int64_t rounded = lag.lag / unit - (lag.lag % unit < 0 ? 1 : 0);
    for (int64_t time = other.first; time <= other.last; ++time)
      clause({!startedBy(other, time), startedBy(one, time - rounded), one.absent, other.absent});
  }

  bool neverTogether(const Task &a, const Task &b) const {
    bool together = a.choices.empty() || b.choices.empty();
    for (const Choice &one : a.choices)
      for (const Choice &other : b.choices) {
        bool clash = false;
        if (one.mode->duration > 0 && other.mode->duration > 0)
          for (const auto &use : one.mode->usage)
            clash |= use.amount + other.mode->uses(use.of) > p.resources[use.of].capacity;
        together |= !clash;
      }
    return !together;
  }

  void writeDisjunctions() {
    size_t n = tasks.size();
    apart.assign(n, std::vector<bool>(n));
    std::map<std::pair<Id, Id>, Fact> order; // of tasks that are not at once: the first is before the second
    for (Id a = 0; a < n; ++a)
      for (Id b = a + 1; b < n && !isFull(); ++b) {
        bool known = isFirst[a][b] || isFirst[b][a], both = facts.mandatory[a] && facts.mandatory[b];
        bool open = !known && both && neverTogether(tasks[a], tasks[b]);
        apart[a][b] = apart[b][a] = known || open;
        if (!both || !apart[a][b])
          continue;
        Fact first = open ? newFact() : isFirst[a][b] ? Fact::always() : Fact::never();
        order.insert({{a, b}, first});
        order.insert({{b, a}, !first});
        if (open) {
          writeOrder(a, b, 0, !first);
          writeOrder(b, a, 0, first);
        }
      }
    std::vector<std::vector<Id>> near(n);
    for (const auto &[pair, fact] : order)
      near[pair.first].push_back(pair.second);
    for (Id a = 0; a < n; ++a)
      for (Id b : near[a])
        for (Id c : near[b]) {
          auto back = a < b && a < c && !isFull() ? order.find({c, a}) : order.end();
          if (back == order.end())
            continue;
          Fact ab = order.at({a, b}), bc = order.at({b, c}), ca = back->second;
          if (!ab.isKnown() || !bc.isKnown() || !ca.isKnown())
            clause({!ab, !bc, !ca}); // no circle
        }
  }

  // ---- Capacities.

  /// The groups of needs stay within the capacity.
  void writeCapacity(std::vector<Needs> groups, int64_t capacity) {
    if (capacity < 0)
      return clause({});
    if (suffices(groups, capacity))
      return;
    for (Needs &needs : groups) {
      Needs possible;
      for (const Need &need : needs)
        if (need.amount > capacity)
          clause({!need.fact});
        else
          possible.push_back(need);
      needs = std::move(possible);
    }
    std::erase_if(groups, [](const Needs &needs) { return needs.empty(); });
    if (suffices(groups, capacity))
      return;
    // From which group on which sums are possible.
    std::vector<std::set<int64_t>> sums(groups.size() + 1, std::set<int64_t>{0});
    size_t count = 0;
    for (size_t g = groups.size(); g > 0; --g) {
      sums[g - 1] = sums[g];
      for (const Need &need : groups[g - 1])
        for (int64_t sum : sums[g])
          sums[g - 1].insert(std::min(capacity + 1, sum + need.amount));
      count += sums[g - 1].size();
      if (count > kMaxSums) {
        overflow = true;
        return;
      }
    }
    std::map<std::pair<size_t, int64_t>, Fact> reached;
    auto atLeast = [&](auto &&self, size_t g, int64_t amount) -> Fact {
      if (amount <= 0)
        return Fact::always();
      auto sum = sums[g].lower_bound(amount);
      if (sum == sums[g].end())
        return Fact::never();
      if (auto known = reached.find({g, *sum}); known != reached.end())
        return known->second;
      Fact rest = self(self, g + 1, *sum);
      std::vector<std::pair<Fact, Fact>> ways;
      for (const Need &need : groups[g]) {
        Fact more = self(self, g + 1, *sum - need.amount);
        if (!more.isNever() && more != rest)
          ways.push_back({need.fact, more});
      }
      Fact result = rest;
      if (rest.isNever() && ways.size() == 1 && ways[0].second.isAlways()) {
        result = ways[0].first;
      } else if (!ways.empty()) {
        result = newFact();
        clause({!rest, result});
        for (const auto &[fact, more] : ways)
          clause({!fact, !more, result});
      }
      reached.insert({{g, *sum}, result});
      return result;
    };
    clause({!atLeast(atLeast, 0, capacity + 1)});
  }

  static bool suffices(const std::vector<Needs> &groups, int64_t capacity) {
    __int128 max = 0;
    for (const Needs &needs : groups) {
      int64_t largest = 0;
      for (const Need &need : needs)
        largest = std::max(largest, need.amount);
      max += largest;
    }
    return max <= capacity;
  }

  void addStarts(std::set<int64_t> &times, const Task &task) const {
    for (int64_t time = task.first; time <= task.last; ++time)
      times.insert(time);
  }

  Fact runsAt(Id t, size_t c, int64_t time) {
    const Choice &choice = tasks[t].choices[c];
    Fact begun = startedBy(tasks[t], time), over = startedBy(tasks[t], time - choice.length);
    if (begun.isNever() || over.isAlways())
      return Fact::never();
    std::vector<Fact> open;
    for (Fact fact : {begun, !over, choice.chosen})
      if (!fact.isKnown())
        open.push_back(fact);
    if (open.size() < 2)
      return open.empty() ? Fact::always() : open[0];
    auto known = running.find({t, c, time});
    if (known != running.end())
      return known->second;
    Fact runs = newFact();
    clause({!begun, over, !choice.chosen, runs});
    running.insert({{t, c, time}, runs});
    return runs;
  }

  void writeResource(Id resource) {
    struct User {
      Id task;
      size_t choice;
      int64_t amount;
    };
    std::map<int64_t, std::vector<User>, std::greater<>> byAmount;
    std::set<int64_t> times;
    for (Id t = 0; t < tasks.size(); ++t)
      for (size_t c = 0; c < tasks[t].choices.size(); ++c) {
        const Choice &choice = tasks[t].choices[c];
        int64_t amount = choice.mode->uses(resource);
        if (amount == 0 || choice.length == 0)
          continue;
        byAmount[amount].push_back({t, c, amount});
        addStarts(times, tasks[t]);
      }
    // Each joins the first group of which it is apart: the same groups as taking the largest ones one by one.
    std::vector<std::vector<User>> groups;
    for (const auto &[amount, users] : byAmount)
      for (const User &user : users) {
        auto joins = [&](const std::vector<User> &group) {
          return std::all_of(group.begin(), group.end(), [&](const User &other) {
            return user.task == other.task || apart[user.task][other.task];
          });
        };
        auto group = std::find_if(groups.begin(), groups.end(), joins);
        if (group == groups.end())
          groups.push_back({user});
        else
          group->push_back(user);
      }
    for (int64_t time : times) {
      if (isFull())
        return;
      int64_t capacity = p.resources[resource].capacity;
      std::vector<Needs> needs;
      for (const auto &group : groups) {
        Needs open;
        for (const User &user : group) {
          Fact runs = runsAt(user.task, user.choice, time);
          capacity -= runs.isAlways() ? user.amount : 0;
          if (!runs.isKnown())
            open.push_back({user.amount, runs});
        }
        if (!open.empty())
          needs.push_back(std::move(open));
      }
      writeCapacity(std::move(needs), capacity);
    }
  }

  Fact someoneRunsAt(int64_t time) {
    if (auto known = unfinished.find(time); known != unfinished.end())
      return known->second;
    Fact unended = newFact();
    unfinished.insert({time, unended});
    for (const Task &task : tasks)
      for (const Choice &choice : task.choices)
        if (!choice.mode->absent)
          clause({!choice.chosen, startedBy(task, time - choice.length), unended});
    return unended;
  }

  Fact isLive(const SchedulingProblem::Buffer &buffer, int64_t time) {
    const Task *producer = buffer.producer == SchedulingProblem::kNoTask ? nullptr : &tasks[buffer.producer];
    Fact begun = producer ? startedBy(*producer, time) : Fact::always();
    Fact absent = producer ? producer->absent : Fact::never();
    if (begun.isNever() || absent.isAlways())
      return Fact::never();
    Fact needed = buffer.persistent ? someoneRunsAt(time) : Fact::never();
    Fact live = newFact();
    clause({!begun, absent, !needed, live});
    auto whileRunning = [&](const Task &task, Fact unless) {
      for (const Choice &choice : task.choices)
        if (!choice.mode->absent)
          clause({!begun, absent, !choice.chosen, startedBy(task, time - choice.length), unless, live});
    };
    if (producer)
      whileRunning(*producer, Fact::never());
    for (const auto &reader : buffer.readers)
      whileRunning(tasks[reader.task],
                   reader.unless == SchedulingProblem::kNoTask ? Fact::never() : !tasks[reader.unless].absent);
    return live;
  }

  void writeMemory(Id memory) {
    std::map<int64_t, std::vector<const SchedulingProblem::Buffer *>, std::greater<>> bySize;
    std::set<int64_t> times = {0};
    for (const auto &buffer : p.buffers) {
      if (buffer.memory != memory || buffer.bytes == 0)
        continue;
      bySize[buffer.bytes].push_back(&buffer);
      if (buffer.producer != SchedulingProblem::kNoTask)
        addStarts(times, tasks[buffer.producer]);
    }
    for (int64_t time : times) {
      if (isFull())
        return;
      std::vector<Needs> needs;
      for (const auto &[bytes, buffers] : bySize)
        for (const auto *buffer : buffers)
          if (Fact live = isLive(*buffer, time); !live.isNever())
            needs.push_back({{bytes, live}});
      writeCapacity(std::move(needs), p.memories[memory].capacity);
    }
  }

  // ---- Modes.

  void writePairings() {
    for (const auto &pairing : p.pairings)
      for (const Choice &a : tasks[pairing.a].choices)
        for (const Choice &b : tasks[pairing.b].choices)
          if (!pairing.allows(a.number, b.number))
            clause({!a.chosen, !b.chosen});
  }

  void writeBudget(Id budget) {
    int64_t left = p.budgets[budget].capacity;
    std::vector<Needs> needs;
    for (const Task &task : tasks) {
      Needs open;
      for (const Choice &choice : task.choices) {
        int64_t amount = choice.mode->consumes(budget);
        if (amount > 0 && choice.chosen.isKnown())
          left -= amount;
        else if (amount > 0)
          open.push_back({amount, choice.chosen});
      }
      if (!open.empty())
        needs.push_back(std::move(open));
    }
    writeCapacity(std::move(needs), left);
  }

  const SchedulingFacts &facts;
  const SchedulingProblem &p;
  const StartWindows &windows;
  int64_t unit;
  InfeasibilityFormula out;
  bool overflow = false; ///< too many sums, or times
  std::vector<Task> tasks;
  std::vector<std::vector<bool>> isFirst; ///< always before
  std::vector<std::vector<bool>> apart;   ///< never at once
  std::map<std::tuple<Id, size_t, int64_t>, Fact> running;
  std::map<int64_t, Fact> unfinished;
};

} // namespace

std::optional<InfeasibilityFormula> infeasibilityFormula(const SchedulingProblem &problem,
                                                         const SchedulingBound &bound) {
  auto windows = solverWindows(problem, bound);
  if (!windows)
    return std::nullopt;
  return FormulaWriter(SchedulingFacts(problem), *windows, bound.unit).write();
}

} // namespace accord
