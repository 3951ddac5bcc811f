#include "lib/scheduling/solve/ClauseSolver.h"
#include <algorithm>
#include <cstring>

namespace accord::solve {
namespace {

/// Contradictions until the first restart, then times the numbers of Luby, Sinclair, Zuckerman 1993.
constexpr uint64_t kRestart = 100;
/// Learnt clauses that are kept at first, and how many more after each time that some are forgotten.
constexpr uint64_t kFirstLearnt = 4000, kMoreLearnt = 500;
/// Of so few levels a clause is always kept (Audemard, Simon, IJCAI 2009).
constexpr int32_t kKeptGlue = 3;

/// 1, 1, 2, 1, 1, 2, 4, ...: the number at `index` from 0.
uint64_t luby(uint64_t index) {
  uint64_t size = 1, level = 0;
  for (; size < index + 1; size = 2 * size + 1)
    ++level;
  while (size - 1 != index) {
    size = (size - 1) / 2;
    --level;
    index %= size;
  }
  return uint64_t{1} << level;
}

float toFloat(int32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

} // namespace

uint32_t ClauseSolver::addVariable(int64_t low, int64_t high) {
  uint32_t variable = static_cast<uint32_t>(base.size());
  int32_t begin = static_cast<int32_t>(owners.size()), end = begin + static_cast<int32_t>(high - low);
  base.push_back(begin - low);
  begins.push_back(begin), ends.push_back(end), lows.push_back(begin), highs.push_back(end);
  size_t size = size_t(end) + 1;
  owners.resize(size, variable), values.resize(size), places.resize(size, -1);
  activities.resize(size), heapAt.resize(size, -1);
  watches.resize(2 * size);
  answer.push_back(low), ranks.push_back(-1), hints.push_back(end);
  kept.resize(2 * base.size(), kNever);
  return variable;
}

void ClauseSolver::addConstraint(std::unique_ptr<ExplainedConstraint> constraint) {
  constraints.push_back(std::move(constraint));
}

void ClauseSolver::rank(uint32_t variable, int64_t rank) {
  ranks[variable] = rank;
  ranked.push_back(variable);
}

void ClauseSolver::suggest(uint32_t variable, int64_t value) {
  hints[variable] = std::clamp<int64_t>(value + base[variable], begins[variable], ends[variable]);
}

void ClauseSolver::addClause(std::vector<Literal> literals) {
  backtrack(0);
  std::sort(literals.begin(), literals.end());
  literals.erase(std::unique(literals.begin(), literals.end()), literals.end());
  std::erase_if(literals, [&](Literal literal) { return valueOf(literal) < 0; });
  if (std::ranges::any_of(literals, [&](Literal literal) { return valueOf(literal) > 0; }))
    return;
  if (literals.empty())
    refuted = true;
  else if (literals.size() == 1)
    assign(literals[0], kDecision, 0);
  else
    given.push_back(attach(literals, 0, 0));
}

ClauseSolver::Clause ClauseSolver::attach(const std::vector<Literal> &literals, uint32_t glue, uint32_t number) {
  Clause clause = static_cast<Clause>(store.size());
  store.push_back(static_cast<int32_t>(literals.size()));
  store.push_back(static_cast<int32_t>(glue));
  store.push_back(0);
  store.push_back(static_cast<int32_t>(number));
  store.insert(store.end(), literals.begin(), literals.end());
  watches[literals[0]].push_back({clause, literals[1]});
  watches[literals[1]].push_back({clause, literals[0]});
  return clause;
}

void ClauseSolver::assign(Literal literal, uint32_t reason, int64_t detail) {
  int32_t place = literal >> 1, step = now();
  uint32_t variable = owners[place];
  bool upper = (literal & 1) == 0;
  int32_t &bound = upper ? highs[variable] : lows[variable];
  int32_t from = bound, to = upper ? place : place + 1;
  int8_t value = upper ? 1 : -1;
  for (int32_t at = std::min(from, to); at < std::max(from, to); ++at)
    values[at] = value, places[at] = step;
  bound = to;
  trail.push_back({from, to, variable, upper, reason, detail});
  levels.push_back(level());
  if (strongest.size() < trail.size()) {
    strongest.push_back(kNever);
    redundancy.push_back(0);
    tested.push_back(kNever);
  }
  for (auto &constraint : constraints)
    constraint->changed(*this, variable, upper, from, to);
}

void ClauseSolver::derive(Literal literal, const ExplainedConstraint &why, int64_t detail) {
  uint32_t number = 0;
  while (constraints[number].get() != &why)
    ++number;
  assign(literal, number, detail);
  // What holds for good is explained at once: nothing asks for it later.
  if (logged && limits.empty() && why.statement() != -1) {
    std::vector<Literal> premises;
    constraints[number]->explain(*this, now() - 1, literal, detail, premises);
    state(why.statement(), premises, literal);
    if (logged)
      lasting.push_back(usedNow.back());
  }
}

void ClauseSolver::backtrack(uint32_t target) {
  if (level() <= target)
    return;
  size_t keep = limits[target];
  while (trail.size() > keep) {
    const Step step = trail.back();
    trail.pop_back(), levels.pop_back();
    (step.upper ? highs : lows)[step.variable] = step.from;
    for (int32_t at = std::min(step.from, step.to); at < std::max(step.from, step.to); ++at) {
      values[at] = 0;
      if (heapAt[at] < 0 && activities[at] > 0)
        push(at);
    }
    for (auto &constraint : constraints)
      constraint->undone(*this, step.variable, step.upper, step.from, step.to);
  }
  limits.resize(target);
  head = std::min(head, trail.size());
}

bool ClauseSolver::visit(Literal fallen) {
  std::vector<Watch> &list = watches[fallen];
  size_t kept = 0, size = list.size();
  spent += size;
  for (size_t i = 0; i < size; ++i) {
    Watch watch = list[i];
    if (valueOf(watch.other) > 0) {
      list[kept++] = watch;
      continue;
    }
    int32_t *literals = &store[watch.clause + kHead];
    int32_t length = store[watch.clause];
    if (literals[0] == fallen)
      std::swap(literals[0], literals[1]);
    Literal first = literals[0];
    if (first != watch.other && valueOf(first) > 0) {
      list[kept++] = {watch.clause, first};
      continue;
    }
    int32_t next = 2;
    while (next < length && valueOf(literals[next]) < 0)
      ++next;
    if (next < length) {
      std::swap(literals[1], literals[next]);
      watches[literals[1]].push_back({watch.clause, first});
      continue;
    }
    list[kept++] = {watch.clause, first};
    if (valueOf(first) == 0) {
      assign(first, kOfClause, watch.clause);
      if (level() == 0 && store[watch.clause + 3] != 0)
        lasting.push_back(store[watch.clause + 3]);
      continue;
    }
    while (++i < size)
      list[kept++] = list[i];
    list.resize(kept);
    contradiction.clear();
    for (int32_t l = 0; l < length; ++l)
      contradiction.push_back(negate(literals[l]));
    bumpClause(watch.clause);
    use(watch.clause);
    return false;
  }
  list.resize(kept);
  return true;
}

bool ClauseSolver::propagateClauses() {
  while (head < trail.size()) {
    const Step step = trail[head++];
    for (int32_t at = std::min(step.from, step.to); at < std::max(step.from, step.to); ++at)
      if (Literal fallen = 2 * at + (step.upper ? 1 : 0); !watches[fallen].empty() && !visit(fallen))
        return false;
  }
  return true;
}

bool ClauseSolver::propagate() {
  usedNow.clear();
  for (;;) {
    if (!propagateClauses())
      return false;
    size_t before = trail.size();
    for (size_t i = 0; i < constraints.size() && trail.size() == before; ++i)
      if (!constraints[i]->propagate(*this)) {
        if (constraints[i]->statement() != -1)
          state(constraints[i]->statement(), contradiction, kNever);
        return false;
      }
    if (trail.size() == before)
      return true;
  }
}

Literal ClauseSolver::nextActive() {
  while (!heap.empty()) {
    int32_t place = pop();
    if (values[place] == 0)
      return 2 * place + (hints[owners[place]] <= place ? 0 : 1);
  }
  return kNever;
}

/// False where every variable has a value.
bool ClauseSolver::decide() {
  Literal literal = nextActive();
  if (literal == kNever) {
    uint32_t best = ~0u;
    for (uint32_t variable : ranked)
      if (!isFixed(variable) &&
          (best == ~0u || std::pair(low(variable), ranks[variable]) < std::pair(low(best), ranks[best])))
        best = variable;
    if (best == ~0u)
      return false;
    literal = 2 * lows[best];
  }
  limits.push_back(now());
  assign(literal, kDecision, 0);
  return true;
}

void ClauseSolver::read() {
  for (uint32_t variable = 0; variable < base.size(); ++variable)
    answer[variable] = low(variable);
}

/// At level 0: half of the clauses that contradictions have not used of late, and all that hold for good.
void ClauseSolver::forget() {
  std::sort(learnt.begin(), learnt.end(), [&](Clause a, Clause b) {
    bool aKept = store[a + 1] <= kKeptGlue, bKept = store[b + 1] <= kKeptGlue;
    float aActivity = toFloat(store[a + 2]), bActivity = toFloat(store[b + 2]);
    return aKept != bKept ? aKept : aActivity != bActivity ? aActivity > bActivity : a < b;
  });
  size_t kept = learnt.size() / 2;
  while (kept < learnt.size() && store[learnt[kept] + 1] <= kKeptGlue)
    ++kept;
  learnt.resize(kept);
  std::vector<int32_t> old;
  old.swap(store);
  for (auto &list : watches)
    list.clear();
  std::vector<Literal> literals;
  for (auto *group : {&given, &learnt}) {
    std::sort(group->begin(), group->end());
    size_t kept = 0;
    for (Clause from : *group) {
      literals.assign(old.begin() + from + kHead, old.begin() + from + kHead + old[from]);
      if (std::ranges::any_of(literals, [&](Literal literal) { return valueOf(literal) > 0; }))
        continue;
      std::erase_if(literals, [&](Literal literal) { return valueOf(literal) < 0; });
      Clause to = attach(literals, old[from + 1], old[from + 3]);
      store[to + 2] = old[from + 2];
      (*group)[kept++] = to;
    }
    group->resize(kept);
  }
}

ClauseSolver::Answer ClauseSolver::solve(uint64_t limit, const std::atomic<bool> *stop) {
  backtrack(0);
  uint64_t end = spent + limit;
  if (limitOfClauses == 0)
    limitOfClauses = kFirstLearnt;
  for (uint64_t restarts = 0; !refuted; ++restarts) {
    if (!propagate()) {
      refuted = true;
      break;
    }
    if (learnt.size() > limitOfClauses) {
      forget();
      limitOfClauses += kMoreLearnt;
    }
    for (uint64_t left = kRestart * luby(restarts); left > 0 && !refuted;) {
      if (!propagate()) {
        ++failures, --left;
        if (level() == 0)
          refuted = true;
        else
          learn();
      } else if (spent > end || (stop && *stop)) {
        return Answer::Unknown;
      } else if (!decide()) {
        read();
        return Answer::Yes;
      }
    }
    backtrack(0);
  }
  return Answer::No;
}

// ---- A heap by activity, then place.

void ClauseSolver::siftUp(size_t at) {
  int32_t place = heap[at];
  for (; at > 0; at = (at - 1) / 2) {
    int32_t above = heap[(at - 1) / 2];
    if (activities[above] >= activities[place])
      break;
    heap[at] = above, heapAt[above] = static_cast<int32_t>(at);
  }
  heap[at] = place, heapAt[place] = static_cast<int32_t>(at);
}

void ClauseSolver::siftDown(size_t at) {
  int32_t place = heap[at];
  for (size_t below; (below = 2 * at + 1) < heap.size(); at = below) {
    if (below + 1 < heap.size() && activities[heap[below + 1]] > activities[heap[below]])
      ++below;
    if (activities[heap[below]] <= activities[place])
      break;
    heap[at] = heap[below], heapAt[heap[at]] = static_cast<int32_t>(at);
  }
  heap[at] = place, heapAt[place] = static_cast<int32_t>(at);
}

void ClauseSolver::push(int32_t place) {
  heap.push_back(place);
  siftUp(heap.size() - 1);
}

int32_t ClauseSolver::pop() {
  int32_t first = heap[0], last = heap.back();
  heap.pop_back();
  heapAt[first] = -1;
  if (!heap.empty()) {
    heap[0] = last;
    siftDown(0);
  }
  return first;
}

} // namespace accord::solve
