// What a clause solver learns from a contradiction.
#include "lib/scheduling/solve/ClauseSolver.h"
#include <algorithm>
#include <cstring>

namespace accord::solve {
namespace {

constexpr double kDecay = 0.95, kClauseDecay = 0.999, kMaxActivity = 1e100;
constexpr float kMaxClauseActivity = 1e20f;
/// How far back a literal is followed to show that the others of a clause imply it.
constexpr unsigned kMaxDepth = 24;
/// Numbers of a log: half a gigabyte.
constexpr size_t kMaxLogged = size_t{1} << 27;

/// Whether one literal implies another one of the same variable and direction.
bool isAsStrong(Literal one, Literal other) { return (one & 1) ? one >= other : one <= other; }

} // namespace

void ClauseSolver::bump(int32_t place) {
  if ((activities[place] += increment) > kMaxActivity) {
    for (double &activity : activities)
      activity *= 1 / kMaxActivity;
    increment *= 1 / kMaxActivity;
  }
  if (heapAt[place] >= 0)
    siftUp(heapAt[place]);
}

void ClauseSolver::bumpClause(Clause clause) {
  if (store[clause + 1] == 0)
    return;
  float activity;
  std::memcpy(&activity, &store[clause + 2], sizeof activity);
  activity += static_cast<float>(clauseIncrement);
  std::memcpy(&store[clause + 2], &activity, sizeof activity);
  if (activity <= kMaxClauseActivity)
    return;
  for (Clause one : learnt) {
    std::memcpy(&activity, &store[one + 2], sizeof activity);
    activity /= kMaxClauseActivity;
    std::memcpy(&store[one + 2], &activity, sizeof activity);
  }
  clauseIncrement /= kMaxClauseActivity;
}

/// The contradiction of now, or what is learnt from it, follows from this clause, too.
void ClauseSolver::use(Clause clause) {
  if (store[clause + 3] != 0)
    usedNow.push_back(store[clause + 3]);
}

/// A lemma that a constraint states: premises imply the literal.
void ClauseSolver::state(int64_t reason, const std::vector<Literal> &premises, Literal literal) {
  if (!logged)
    return;
  std::vector<Literal> lemma;
  for (Literal premise : premises)
    if (premise >= 0)
      lemma.push_back(accord::solve::negate(premise));
  if (literal >= 0)
    lemma.push_back(literal);
  std::vector<uint32_t> used;
  used.swap(usedNow);
  uint32_t number = record(lemma, reason);
  usedNow.swap(used);
  if (number != 0)
    usedNow.push_back(number);
}

/// The number of the lemma that is learnt.
uint32_t ClauseSolver::record() { return record(clause, -1); }

uint32_t ClauseSolver::record(const std::vector<Literal> &lemma, int64_t reason) {
  if (!logged)
    return 0;
  if (lemmas.size() + sources.size() > kMaxLogged) {
    logged = false;
    lemmas = {}, sources = {}, lemmaEnds = {}, sourceEnds = {}, lasting = {}, statements = {};
    return 0;
  }
  std::sort(usedNow.begin(), usedNow.end());
  usedNow.erase(std::unique(usedNow.begin(), usedNow.end()), usedNow.end());
  lemmas.insert(lemmas.end(), lemma.begin(), lemma.end());
  statements.push_back(reason);
  sources.insert(sources.end(), usedNow.begin(), usedNow.end());
  lemmaEnds.push_back(static_cast<uint32_t>(lemmas.size()));
  sourceEnds.push_back(static_cast<uint32_t>(sources.size()));
  return static_cast<uint32_t>(lemmaEnds.size() - 1);
}

ClauseSolver::Lemmas ClauseSolver::refutation() const {
  Lemmas out;
  if (!logged)
    return out;
  uint32_t count = static_cast<uint32_t>(lemmaEnds.size() - 1), end = count + 1;
  std::vector<uint32_t> last(end, 0); // by number: of what follows from it, the last; 0 is needed for nothing
  for (const auto *list : {&lasting, &usedNow})
    for (uint32_t number : *list)
      last[number] = end;
  for (uint32_t number = count; number > 0; --number)
    for (uint32_t i = sourceEnds[number - 1]; last[number] != 0 && i < sourceEnds[number]; ++i)
      last[sources[i]] = std::max(last[sources[i]], number);
  std::vector<uint32_t> place(end + 1, 0);
  for (uint32_t number = 1; number <= count; ++number) {
    if (last[number] == 0)
      continue;
    place[number] = static_cast<uint32_t>(out.ends.size());
    out.literals.insert(out.literals.end(), lemmas.begin() + lemmaEnds[number - 1], lemmas.begin() + lemmaEnds[number]);
    out.ends.push_back(static_cast<uint32_t>(out.literals.size()));
    out.lastUse.push_back(last[number]);
    out.reasons.push_back(statements[number - 1]);
  }
  place[end] = static_cast<uint32_t>(out.ends.size());
  for (uint32_t &number : out.lastUse)
    number = place[number];
  return out;
}

void ClauseSolver::explain(int32_t place, Literal literal, std::vector<Literal> &premises) {
  const Step &step = trail[place];
  if (step.reason != kOfClause) {
    constraints[step.reason]->explain(*this, place, literal, step.detail, premises);
    spent += premises.size();
    if (int64_t reason = constraints[step.reason]->statement(); reason != -1)
      state(reason, premises, literal);
    return;
  }
  Clause clause = static_cast<Clause>(step.detail);
  use(clause);
  int32_t length = store[clause];
  const int32_t *literals = &store[clause + kHead];
  Literal derived = stateOf(step);
  for (int32_t l = 0; l < length; ++l)
    if (literals[l] != derived)
      premises.push_back(accord::solve::negate(literals[l]));
  spent += length;
}

/// Takes a true literal into the nogood.
void ClauseSolver::mark(Literal premise) {
  if (holdsAlways(premise))
    return;
  int32_t step = places[premise >> 1];
  bump(premise >> 1);
  if (strongest[step] == kNever) {
    strongest[step] = premise;
    marked.push_back(step);
    open += levels[step] == level();
  } else if (isAsStrong(premise, strongest[step])) {
    strongest[step] = premise;
  }
}

/// Whether a true literal follows from those that are marked.
bool ClauseSolver::isRedundant(Literal literal, unsigned depth) {
  int32_t step = places[literal >> 1];
  if (trail[step].reason == kDecision || depth >= kMaxDepth)
    return false;
  if (redundancy[step] > 0 && isAsStrong(tested[step], literal))
    return true;
  if (redundancy[step] < 0 && isAsStrong(literal, tested[step]))
    return false;
  if (reasons.size() <= depth)
    reasons.resize(depth + 1);
  std::vector<Literal> premises;
  premises.swap(reasons[depth]);
  premises.clear();
  explain(step, literal, premises);
  bool redundant = std::ranges::all_of(premises, [&](Literal premise) {
    if (holdsAlways(premise))
      return true;
    int32_t at = places[premise >> 1];
    if (strongest[at] != kNever && isAsStrong(strongest[at], premise))
      return true;
    return stamps[levels[at]] == stamp && isRedundant(premise, depth + 1);
  });
  premises.swap(reasons[depth]);
  if (redundancy[step] == 0)
    touched.push_back(step);
  redundancy[step] = redundant ? 1 : -1;
  tested[step] = literal;
  return redundant;
}

/// Leaves out what the other literals of the nogood imply; the first stays.
void ClauseSolver::shorten() {
  if (stamps.size() <= level())
    stamps.resize(level() + 1);
  ++stamp;
  for (Literal literal : clause)
    stamps[levelOf(literal)] = stamp;
  size_t size = 1;
  for (size_t i = 1; i < clause.size(); ++i)
    if (!isRedundant(clause[i], 0))
      clause[size++] = clause[i];
  clause.resize(size);
  for (int32_t step : touched)
    redundancy[step] = 0;
  touched.clear();
  // Of one bound the strongest implies the others.
  auto slot = [&](Literal literal) -> Literal & { return kept[2 * size_t(variableOf(literal)) + (literal & 1)]; };
  for (Literal literal : clause)
    if (slot(literal) == kNever || isAsStrong(literal, slot(literal)))
      slot(literal) = literal;
  std::erase_if(clause, [&](Literal literal) { return slot(literal) != literal; });
  for (Literal literal : clause)
    slot(literal) = kNever;
}

uint32_t ClauseSolver::glueOf(const std::vector<Literal> &literals) {
  ++stamp;
  uint32_t count = 0;
  for (Literal literal : literals)
    if (uint32_t at = levelOf(literal); stamps[at] != stamp)
      stamps[at] = stamp, ++count;
  return count;
}

void ClauseSolver::learn() {
  uint32_t last = 0;
  for (Literal premise : contradiction)
    if (!holdsAlways(premise))
      last = std::max(last, levelOf(premise));
  if (last == 0) {
    refuted = true;
    return;
  }
  backtrack(last);
  open = 0;
  for (Literal premise : contradiction)
    mark(premise);
  int32_t at = now() - 1;
  std::vector<Literal> premises;
  for (;; --at) {
    if (strongest[at] == kNever)
      continue;
    if (open == 1)
      break;
    --open;
    premises.clear();
    if (trail[at].reason == kOfClause)
      bumpClause(static_cast<Clause>(trail[at].detail));
    explain(at, strongest[at], premises);
    strongest[at] = kNever;
    for (Literal premise : premises)
      mark(premise);
  }
  clause.assign(1, strongest[at]);
  for (int32_t step : marked)
    if (step != at && strongest[step] != kNever)
      clause.push_back(strongest[step]);
  shorten();
  for (int32_t step : marked)
    strongest[step] = kNever;
  marked.clear();

  uint32_t glue = glueOf(clause), target = 0;
  for (size_t i = 1; i < clause.size(); ++i)
    if (levelOf(clause[i]) > target) {
      target = levelOf(clause[i]);
      std::swap(clause[1], clause[i]);
    }
  for (Literal &literal : clause)
    literal = accord::solve::negate(literal);
  uint32_t number = record();
  backtrack(target);
  if (clause.size() == 1) {
    assign(clause[0], kDecision, 0);
    if (number != 0)
      lasting.push_back(number);
  } else {
    Clause made = attach(clause, glue, number);
    learnt.push_back(made);
    bumpClause(made);
    assign(clause[0], kOfClause, made);
  }
  increment /= kDecay, clauseIncrement /= kClauseDecay;
}

} // namespace accord::solve
