#include "lib/scheduling/prove/CnfEncoder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <map>

namespace accord::prove {
namespace {

using Id = SchedulingProblem::Id;
using Mode = SchedulingProblem::Mode;

/// Different sums of a capacity, and tasks whose orders are looked at in pairs.
constexpr size_t kMaxSums = 16'384, kMaxTasks = 2000;

/// What takes `amount` where the literal holds.
struct Demand {
  int64_t amount = 0;
  int32_t literal = 0;
};
/// At most one of them at a time.
using DemandGroup = std::vector<Demand>;

/// The sums of the groups must stay within a capacity: a decision diagram whose node (g, k) says that the groups from g
/// on take k or more (Eén, Sörensson, JSAT 2, 2006, for one literal a group).
class CapacityDiagram {
public:
  using Clause = std::initializer_list<int32_t>;

  CapacityDiagram(const std::vector<DemandGroup> &groups, int64_t capacity) : groups(groups), capacity(capacity) {}

  /// False where there are too many sums.
  bool collect() {
    sums.assign(groups.size() + 1, {});
    sums.back() = {0};
    size_t count = 0;
    for (size_t g = groups.size(); g-- > 0;) {
      sums[g] = sums[g + 1];
      for (const Demand &demand : groups[g])
        for (int64_t sum : sums[g + 1])
          sums[g].push_back(std::min(sum + demand.amount, capacity + 1));
      llvm::sort(sums[g]);
      sums[g].erase(llvm::unique(sums[g]), sums[g].end());
      if ((count += sums[g].size()) > kMaxSums)
        return false;
    }
    for (const auto &list : sums)
      known.emplace_back(list.size(), 0);
    return true;
  }

  template <typename Fresh, typename Add> int32_t node(size_t group, int64_t k, Fresh fresh, Add add) {
    if (k <= 0)
      return kTrue;
    auto reached = llvm::lower_bound(sums[group], k);
    if (reached == sums[group].end())
      return kFalse;
    k = *reached; // the sums between make no difference
    int32_t &result = known[group][reached - sums[group].begin()];
    if (result != 0)
      return result;
    int32_t without = node(group + 1, k, fresh, add);
    std::vector<std::pair<int32_t, int32_t>> cases;
    for (const Demand &demand : groups[group])
      if (int32_t with = node(group + 1, k - demand.amount, fresh, add); with != kFalse && with != without)
        cases.push_back({demand.literal, with});
    if (cases.empty())
      return result = without;
    if (without == kFalse && cases.size() == 1 && cases[0].second == kTrue)
      return result = cases[0].first;
    result = fresh();
    add({-without, result});
    for (auto [literal, with] : cases)
      add({-literal, -with, result});
    return result;
  }

private:
  const std::vector<DemandGroup> &groups;
  int64_t capacity;
  std::vector<std::vector<int64_t>> sums; ///< by group: of those from here on, up to capacity + 1
  std::vector<std::vector<int32_t>> known;
};

class CnfEncoder {
public:
  CnfEncoder(const SchedulingProblem &problem, int64_t unit, const StartWindows &windows)
      : p(problem), windows(windows), unit(unit) {}

  std::optional<CnfFormula> encode() {
    size_t n = p.tasks.size();
    if (n > kMaxTasks)
      return std::nullopt;
    for (Id t = 0; t < n && fits(); ++t)
      task(t);
    close();
    for (const auto &edge : p.precedences)
      order(edge.before, edge.after, edge.delay, kFalse);
    for (const auto &edge : p.lags)
      timeLag(edge);
    for (auto [before, after] : windows.ordered)
      order(before, after, 0, kFalse);
    disjunctions();
    for (Id r = 0; r < p.resources.size() && fits(); ++r)
      resource(r);
    for (Id m = 0; m < p.memories.size() && fits(); ++m)
      memory(m);
    choices();
    return fits() ? std::optional(std::move(formula)) : std::nullopt;
  }

private:
  bool fits() const { return !tooLarge && formula.literals.size() <= kMaxFormulaLiterals; }
  int32_t fresh() { return ++formula.variables; }
  void clause(std::initializer_list<int32_t> of) {
    if (llvm::is_contained(of, kTrue))
      return;
    for (int32_t literal : of)
      if (literal != kFalse)
        formula.literals.push_back(literal);
    formula.literals.push_back(0);
    ++formula.clauses;
  }
  const Mode &mode(Id t, size_t k) const { return p.tasks[t].modes[usable[t][k]]; }
  int64_t length(Id t, size_t k) const { return mode(t, k).duration / unit; }

  // ---- Literals.

  /// The task has started by `time`.
  int32_t by(Id t, int64_t time) const { return formula.by(t, time); }
  /// The task runs in its k-th usable mode.
  int32_t in(Id t, size_t k) const { return usable[t].size() == 1 ? kTrue : chosen[t] + int32_t(k); }
  int32_t absent(Id t) const {
    for (size_t k = 0; k < usable[t].size(); ++k)
      if (mode(t, k).absent)
        return in(t, k);
    return kFalse;
  }
  bool mayHappen(Id t) const {
    return llvm::any_of(usable[t], [&](Id m) { return !p.tasks[t].modes[m].absent; });
  }

  /// Implied by: the task runs at `time` in its k-th usable mode.
  int32_t runs(Id t, size_t k, int64_t time) {
    int32_t begun = by(t, time), over = by(t, time - length(t, k)), mine = in(t, k);
    if (begun == kFalse || over == kTrue)
      return kFalse;
    int open = (begun != kTrue) + (over != kFalse) + (mine != kTrue);
    if (open == 0)
      return kTrue;
    if (open == 1)
      return begun != kTrue ? begun : over != kFalse ? -over : mine;
    auto [place, isNew] = running.try_emplace({t, k, time}, 0);
    if (isNew) {
      place->second = fresh();
      clause({-begun, over, -mine, place->second});
    }
    return place->second;
  }

  // ---- Constraints.

  void task(Id t) {
    int64_t minDuration = INT64_MAX, low = windows.earliest[t];
    bool mandatory = true;
    for (const Mode &mode : p.tasks[t].modes) {
      mandatory &= !mode.absent;
      if (p.fits(mode))
        minDuration = std::min(minDuration, mode.duration);
    }
    isMandatory.push_back(mandatory);
    auto &modes = usable.emplace_back();
    int64_t end = windows.latest[t] + minDuration; // the latest
    ends.push_back(end);
    first.push_back(low / unit), last.push_back(low / unit);
    std::vector<int64_t> limits;
    for (Id m = 0; m < p.tasks[t].modes.size(); ++m) {
      const Mode &mode = p.tasks[t].modes[m];
      if (!p.fits(mode) || (!mode.absent && end - mode.duration < low))
        continue;
      modes.push_back(m);
      limits.push_back(mode.absent ? INT64_MAX : (end - mode.duration) / unit);
      if (!mode.absent)
        last[t] = std::max(last[t], limits.back());
    }
    if (last[t] - first[t] > int64_t(kMaxFormulaLiterals)) {
      tooLarge = true;
      return;
    }
    started.push_back(formula.variables + 1);
    formula.variables += int32_t(last[t] - first[t]);
    for (int64_t time = first[t]; time < last[t]; ++time)
      clause({-by(t, time), by(t, time + 1)});
    chosen.push_back(formula.variables + 1);
    if (modes.size() > 1)
      formula.variables += int32_t(modes.size());
    if (modes.empty())
      clause({});
    if (modes.size() > 1) {
      for (size_t k = 0; k < modes.size(); ++k)
        formula.literals.push_back(in(t, k));
      formula.literals.push_back(0), ++formula.clauses;
    }
    for (size_t k = 0; k < modes.size(); ++k) {
      for (size_t l = 0; l < k; ++l)
        clause({-in(t, l), -in(t, k)});
      if (!mode(t, k).absent)
        clause({-in(t, k), by(t, limits[k])});
    }
  }

  /// Which tasks end before which start, by chains whose inner tasks must happen.
  void close() {
    size_t n = p.tasks.size();
    precedes.assign(n, std::vector<char>(n));
    std::vector<std::vector<Id>> after(n);
    for (const auto &edge : p.precedences)
      after[edge.before].push_back(edge.after);
    std::vector<Id> order = p.topologicalOrder();
    for (Id t : llvm::reverse(order))
      for (Id next : after[t]) {
        precedes[t][next] = 1;
        for (Id later = 0; isMandatory[next] && later < n; ++later)
          precedes[t][later] |= precedes[next][later];
      }
    for (auto [before, after] : windows.ordered)
      precedes[before][after] = 1;
  }
  bool isBefore(Id a, Id b) const { return precedes[a][b] || ends[a] <= windows.earliest[b]; }

  /// `after` starts only when `before` has ended and `delay` has passed, or `unless`.
  void order(Id before, Id after, int64_t delay, int32_t unless) {
    if (!mayHappen(after) || !fits())
      return;
    for (size_t k = 0; k < usable[before].size(); ++k) {
      const Mode &how = mode(before, k);
      int64_t lag = (how.duration + delay) / unit;
      for (int64_t time = first[after]; !how.absent && time <= last[after] && by(before, time - lag) != kTrue; ++time)
        clause({-by(after, time), by(before, time - lag), -in(before, k), absent(after), unless});
    }
  }

  /// `after` has started by a time only if `before` has by so much earlier. Of what is rounded down, too: the rounded
  /// start of `after` is not below the sum of the rounded start of `before` and the rounded lag.
  void timeLag(const SchedulingProblem::TimeLag &edge) {
    if (!mayHappen(edge.before) || !mayHappen(edge.after) || !fits())
      return;
    int64_t lag = llvm::divideFloorSigned(edge.lag, unit);
    for (int64_t time = first[edge.after]; time <= last[edge.after] && by(edge.before, time - lag) != kTrue; ++time)
      clause({-by(edge.after, time), by(edge.before, time - lag), absent(edge.before), absent(edge.after)});
  }

  bool collide(Id a, Id b) const {
    for (Id m : usable[a])
      for (Id k : usable[b]) {
        const Mode &one = p.tasks[a].modes[m], &other = p.tasks[b].modes[k];
        if (one.duration == 0 || other.duration == 0 || !p.clash(one, other))
          return false;
      }
    return !usable[a].empty() && !usable[b].empty();
  }

  /// Of two that cannot run at once one is first, and what is before what is transitive.
  void disjunctions() {
    size_t n = p.tasks.size();
    std::vector<std::vector<int32_t>> before(n, std::vector<int32_t>(n, 0)); // 0: they may run at once
    disjoint.assign(n, std::vector<char>(n));
    for (Id a = 0; a < n; ++a)
      for (Id b = a + 1; b < n && fits(); ++b) {
        disjoint[a][b] = disjoint[b][a] = isBefore(a, b) || isBefore(b, a);
        if (!isMandatory[a] || !isMandatory[b])
          continue;
        if (disjoint[a][b]) {
          before[a][b] = isBefore(a, b) ? kTrue : kFalse;
        } else if (collide(a, b)) {
          disjoint[a][b] = disjoint[b][a] = 1;
          before[a][b] = fresh();
          order(a, b, 0, -before[a][b]);
          order(b, a, 0, before[a][b]);
        }
        before[b][a] = -before[a][b];
        if (before[a][b] != 0)
          formula.orders[{a, b}] = before[a][b];
      }
    auto isOpen = [](int32_t literal) { return literal != kTrue && literal != kFalse; };
    for (Id a = 0; a < n; ++a)
      for (Id b = a + 1; b < n && fits(); ++b)
        for (Id c = a + 1; before[a][b] != 0 && c < n; ++c)
          if (before[b][c] != 0 && before[c][a] != 0 &&
              (isOpen(before[a][b]) || isOpen(before[b][c]) || isOpen(before[c][a])))
            clause({-before[a][b], -before[b][c], -before[c][a]});
  }

  void atMost(std::vector<DemandGroup> groups, int64_t capacity) {
    if (capacity < 0)
      return clause({});
    auto isWithin = [&] {
      __int128 sum = 0;
      for (const DemandGroup &group : groups)
        sum += std::ranges::max(group, {}, &Demand::amount).amount;
      return sum <= capacity;
    };
    if (isWithin())
      return;
    for (DemandGroup &group : groups)
      for (const Demand &demand : group)
        if (demand.amount > capacity)
          clause({-demand.literal});
    for (DemandGroup &group : groups)
      llvm::erase_if(group, [&](const Demand &demand) { return demand.amount > capacity; });
    llvm::erase_if(groups, [](const DemandGroup &group) { return group.empty(); });
    if (isWithin())
      return;
    CapacityDiagram diagram(groups, capacity);
    if (!diagram.collect()) {
      tooLarge = true;
      return;
    }
    auto add = [&](std::initializer_list<int32_t> literals) { clause(literals); };
    clause({-diagram.node(0, capacity + 1, [&] { return fresh(); }, add)});
  }

  /// The times at which one of the tasks can start.
  std::vector<int64_t> startsOf(const std::vector<Id> &tasks) const {
    std::vector<int64_t> times;
    for (Id t : tasks)
      for (int64_t time = first[t]; time <= last[t]; ++time)
        times.push_back(time);
    llvm::sort(times);
    times.erase(llvm::unique(times), times.end());
    return times;
  }

  struct User {
    Id task;
    size_t k;
    int64_t amount;
  };

  /// What never runs together, greedily: the largest first, with all that fit to it.
  std::vector<std::vector<User>> groupsOf(std::vector<User> users) const {
    llvm::sort(users, [](const User &a, const User &b) {
      return std::tuple(-a.amount, a.task, a.k) < std::tuple(-b.amount, b.task, b.k);
    });
    std::vector<std::vector<User>> groups;
    while (!users.empty()) {
      std::vector<User> group, rest;
      for (const User &user : users) {
        bool apart = llvm::all_of(
            group, [&](const User &other) { return user.task == other.task || disjoint[user.task][other.task]; });
        (apart ? group : rest).push_back(user);
      }
      groups.push_back(std::move(group));
      users = std::move(rest);
    }
    return groups;
  }

  void resource(Id r) {
    std::vector<User> users;
    std::vector<Id> tasks;
    for (Id t = 0; t < p.tasks.size(); ++t)
      for (size_t k = 0; k < usable[t].size(); ++k)
        if (int64_t amount = mode(t, k).uses(r); amount > 0 && length(t, k) > 0) {
          users.push_back({t, k, amount});
          tasks.push_back(t);
        }
    auto groups = groupsOf(users);
    for (int64_t time : startsOf(tasks)) {
      std::vector<DemandGroup> demands;
      int64_t capacity = p.resources[r].capacity;
      for (const auto &group : groups) {
        DemandGroup demand;
        for (const User &user : group) {
          int32_t literal = runs(user.task, user.k, time);
          if (literal == kTrue)
            capacity -= user.amount;
          else if (literal != kFalse)
            demand.push_back({user.amount, literal});
        }
        if (!demand.empty())
          demands.push_back(std::move(demand));
      }
      atMost(std::move(demands), capacity);
      if (!fits())
        return;
    }
  }

  /// Implied by: some task has not ended at `time`.
  int32_t ongoing(int64_t time) {
    auto [place, isNew] = unfinished.try_emplace(time, 0);
    if (isNew) {
      place->second = fresh();
      for (Id t = 0; t < p.tasks.size(); ++t)
        for (size_t k = 0; k < usable[t].size(); ++k)
          if (!mode(t, k).absent)
            clause({-in(t, k), by(t, time - length(t, k)), place->second});
    }
    return place->second;
  }

  /// Implied by: the buffer takes its bytes at `time`.
  int32_t live(const SchedulingProblem::Buffer &buffer, int64_t time) {
    bool made = buffer.producer != SchedulingProblem::kNoTask;
    int32_t begun = made ? by(buffer.producer, time) : kTrue, gone = made ? absent(buffer.producer) : kFalse;
    if (begun == kFalse || gone == kTrue)
      return kFalse;
    int32_t kept = buffer.persistent ? ongoing(time) : kFalse, alive = fresh();
    clause({-begun, gone, -kept, alive});
    auto until = [&](Id task, int32_t unless) {
      for (size_t k = 0; k < usable[task].size(); ++k)
        if (!mode(task, k).absent)
          clause({-begun, gone, -in(task, k), by(task, time - length(task, k)), unless, alive});
    };
    if (made)
      until(buffer.producer, kFalse);
    for (const auto &reader : buffer.readers)
      until(reader.task, reader.unless == SchedulingProblem::kNoTask ? kFalse : -absent(reader.unless));
    return alive;
  }

  void memory(Id m) {
    std::vector<const SchedulingProblem::Buffer *> buffers;
    std::vector<Id> producers;
    for (const auto &buffer : p.buffers)
      if (buffer.memory == m && buffer.bytes > 0) {
        buffers.push_back(&buffer);
        if (buffer.producer != SchedulingProblem::kNoTask)
          producers.push_back(buffer.producer);
      }
    // They lie one after the other in the problem: those of the same size keep that order.
    llvm::sort(buffers, [](const auto *a, const auto *b) { return std::pair(-a->bytes, a) < std::pair(-b->bytes, b); });
    std::vector<int64_t> times = startsOf(producers);
    if (times.empty() || times.front() > 0)
      times.insert(times.begin(), 0);
    for (int64_t time : times) {
      std::vector<DemandGroup> demands;
      for (const auto *buffer : buffers)
        if (int32_t alive = live(*buffer, time); alive != kFalse)
          demands.push_back({{buffer->bytes, alive}});
      atMost(std::move(demands), p.memories[m].capacity);
      if (!fits())
        return;
    }
  }

  void choices() {
    for (const auto &pairing : p.pairings)
      for (size_t k = 0; k < usable[pairing.a].size(); ++k)
        for (size_t l = 0; l < usable[pairing.b].size(); ++l)
          if (!pairing.allows(usable[pairing.a][k], usable[pairing.b][l]))
            clause({-in(pairing.a, k), -in(pairing.b, l)});
    for (Id b = 0; b < p.budgets.size() && fits(); ++b) {
      int64_t left = p.budgets[b].capacity;
      std::vector<DemandGroup> demands;
      for (Id t = 0; t < p.tasks.size(); ++t) {
        DemandGroup demand;
        for (size_t k = 0; k < usable[t].size(); ++k)
          if (int64_t amount = mode(t, k).consumes(b); amount > 0 && in(t, k) == kTrue)
            left -= amount;
          else if (amount > 0)
            demand.push_back({amount, in(t, k)});
        if (!demand.empty())
          demands.push_back(std::move(demand));
      }
      atMost(std::move(demands), left);
    }
  }

  const SchedulingProblem &p;
  const StartWindows &windows;
  int64_t unit;
  CnfFormula formula;
  std::vector<int64_t> &first = formula.first, &last = formula.last;
  std::vector<int32_t> &started = formula.started;
  bool tooLarge = false;
  std::vector<char> isMandatory;
  std::vector<int64_t> ends;           ///< by task, the latest
  std::vector<std::vector<Id>> usable; ///< by task: modes that fit, and whose window has room
  std::vector<int32_t> chosen;         ///< by task: the first of its variables of modes
  std::vector<std::vector<char>> precedes, disjoint;
  std::map<std::tuple<Id, size_t, int64_t>, int32_t> running;
  std::map<int64_t, int32_t> unfinished;
};

} // namespace

std::optional<CnfFormula> encodeInClauses(const SchedulingProblem &problem, int64_t unit, const StartWindows &windows) {
  return CnfEncoder(problem, unit, windows).encode();
}

} // namespace accord::prove
