// A solver for bounds of whole numbers that learns a clause from each contradiction: lazy clause generation.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace accord::solve {

/// "Variable <= value", or its negation, "variable > value". Each variable has an interval of places, one for each
/// value of its first domain, so that a literal is the place of its value, doubled, plus 1 for the negation.
using Literal = int32_t;
/// What the first domain of a variable decides.
constexpr Literal kAlways = -2, kNever = -1;

constexpr Literal negate(Literal literal) { return literal ^ 1; }

class ClauseSolver;

/// A constraint that narrows domains and says afterwards why: the explanation of a bound is made only where a learnt
/// clause needs it.
class ExplainedConstraint {
public:
  virtual ~ExplainedConstraint() = default;
  /// Narrows what follows from the bounds of now; false at a contradiction, whose premises it gives to the solver.
  virtual bool propagate(ClauseSolver &solver) = 0;
  /// Appends true literals, all of them decided before `place` of the trail, from which `literal` follows. `detail` is
  /// what the constraint gave with the bound.
  virtual void explain(const ClauseSolver &solver, int32_t place, Literal literal, int64_t detail,
                       std::vector<Literal> &premises) = 0;
  /// Where unit propagation alone does not show what follows: what the last explanation or contradiction rests on, for
  /// whoever checks it; else -1.
  virtual int64_t statement() const { return -1; }
  /// A bound has changed from place `from` to place `to`; `undone` in the reverse order.
  virtual void changed(const ClauseSolver &solver, uint32_t variable, bool upper, int32_t from, int32_t to) {}
  virtual void undone(const ClauseSolver &solver, uint32_t variable, bool upper, int32_t from, int32_t to) {}
};

/// Conflict-driven search over bounds of integer variables. Order literals exist as numbers alone; a clause is watched
/// through the bounds that make its literals false (Ohrimenko, Stuckey, Codish, Propagation via lazy clause generation,
/// Constraints 14, 2009; Feydy, Stuckey, CP 2009). Clauses are learnt at the first unique implication point (Marques-
/// Silva, Sakallah 1999; Zhang et al., ICCAD 2001), decisions follow the literals of late contradictions (Moskewicz et
/// al., DAC 2001). Effort is counted in watches looked at and explanations made: the same input, the same answer.
class ClauseSolver {
public:
  enum class Answer : uint8_t { Yes, No, Unknown };

  /// A variable of values in [low, high], at most 2^24 of them in all.
  uint32_t addVariable(int64_t low, int64_t high);
  /// Needs all variables; before the first question. Constraints are propagated in the order in which they were added,
  /// the later ones only where the earlier ones have nothing left to say.
  void addConstraint(std::unique_ptr<ExplainedConstraint> constraint);
  /// A clause that every solution keeps; between questions.
  void addClause(std::vector<Literal> literals);
  /// Narrows a domain for good; between questions.
  void require(Literal literal) { addClause({literal}); }

  /// Whether all can be kept; Unknown when `limit` units of work are spent, or where `*stop`.
  Answer solve(uint64_t limit, const std::atomic<bool> *stop = nullptr);
  uint64_t work() const { return spent; }
  uint64_t conflicts() const { return failures; }
  /// Of the last answer Yes.
  int64_t solution(uint32_t variable) const { return answer[variable]; }
  /// Values near which to look: a literal is tried as it is in the best solution (solution-guided search; Beck, JAIR
  /// 29, 2007), without one as "greater".
  void suggest(uint32_t variable, int64_t value);
  /// Order in which variables are decided where no contradiction says anything: least first. Others never are, and must
  /// follow.
  void rank(uint32_t variable, int64_t rank);

  /// After an answer No: what was learnt on the way to the contradiction, each by unit propagation from constraints and
  /// those before it; empty where more was learnt than is kept.
  struct Lemmas {
    std::vector<Literal> literals; ///< of one lemma after the other
    std::vector<uint32_t> ends;    ///< by lemma: of its literals
    std::vector<uint32_t> lastUse; ///< by lemma: the last one that follows from it; `ends.size()` of the contradiction
    std::vector<int64_t> reasons;  ///< by lemma: what a constraint says for it (`statement`), or -1: unit propagation
  };
  Lemmas refutation() const;
  /// Before the first question: no refutation will be asked for.
  void keepNoLog() { logged = false; }
  /// False where more was learnt than is kept.
  bool isLogged() const { return logged; }

  // ---- For constraints.

  int32_t placeOf(uint32_t variable, int64_t value) const { return static_cast<int32_t>(value + base[variable]); }
  int64_t low(uint32_t variable) const { return lows[variable] - base[variable]; }
  int64_t high(uint32_t variable) const { return highs[variable] - base[variable]; }
  bool isFixed(uint32_t variable) const { return lows[variable] == highs[variable]; }
  int32_t lowPlace(uint32_t variable) const { return lows[variable]; }
  int32_t highPlace(uint32_t variable) const { return highs[variable]; }
  Literal atMost(uint32_t variable, int64_t value) const {
    int64_t place = value + base[variable];
    return place >= ends[variable] ? kAlways : place < begins[variable] ? kNever : static_cast<Literal>(2 * place);
  }
  Literal atLeast(uint32_t variable, int64_t value) const {
    int64_t place = value - 1 + base[variable];
    return place < begins[variable] ? kAlways : place >= ends[variable] ? kNever : static_cast<Literal>(2 * place + 1);
  }
  int64_t valueAt(uint32_t variable, int32_t place) const { return place - base[variable]; }
  uint32_t variableOf(Literal literal) const { return owners[literal >> 1]; }
  /// 1 true, -1 false, 0 open.
  int valueOf(Literal literal) const {
    return literal < 0 ? (literal == kAlways ? 1 : -1) : literal & 1 ? -values[literal >> 1] : values[literal >> 1];
  }
  /// Where in the trail an open literal was decided; before everything what the first domains say.
  int32_t decidedAt(Literal literal) const { return literal < 0 ? -1 : places[literal >> 1]; }
  /// Whether the literal is true, and was so before `place` of the trail.
  bool heldBefore(Literal literal, int32_t place) const { return valueOf(literal) > 0 && decidedAt(literal) < place; }
  bool holdsAlways(Literal literal) const { return literal < 0 || levels[places[literal >> 1]] == 0; }
  bool isAtRoot() const { return limits.empty(); }
  int32_t now() const { return static_cast<int32_t>(trail.size()); }
  /// Makes an open literal true; `detail` comes back when an explanation is needed.
  void derive(Literal literal, const ExplainedConstraint &why, int64_t detail);
  /// Counts work that a constraint has done.
  void charge(uint64_t work) { spent += work; }
  /// The true literals of a contradiction, to be filled before `propagate` returns false.
  std::vector<Literal> contradiction;

private:
  using Clause = uint32_t; ///< where it lies in `store`: size, glue, activity, number, then literals
  static constexpr uint32_t kHead = 4;
  static constexpr uint32_t kDecision = ~0u, kOfClause = ~0u - 1; ///< reasons that are no constraint
  struct Step {
    int32_t from, to; ///< places of the bound
    uint32_t variable;
    bool upper;
    uint32_t reason;
    int64_t detail; ///< a clause, or of a constraint
  };
  struct Watch {
    Clause clause;
    Literal other;
  };

  void assign(Literal literal, uint32_t reason, int64_t detail);
  bool propagate();
  bool propagateClauses();
  bool visit(Literal fallen);
  void backtrack(uint32_t level);
  uint32_t level() const { return static_cast<uint32_t>(limits.size()); }
  uint32_t levelOf(Literal literal) const { return levels[places[literal >> 1]]; }
  Literal stateOf(const Step &step) const { return step.upper ? 2 * step.to : 2 * (step.to - 1) + 1; }
  bool decide();
  Literal nextActive();
  Clause attach(const std::vector<Literal> &literals, uint32_t glue, uint32_t number);
  void forget();
  void read();

  // Learning, in ClauseLearning.cpp.
  void learn();
  void explain(int32_t place, Literal literal, std::vector<Literal> &premises);
  void mark(Literal premise);
  bool isRedundant(Literal literal, unsigned depth);
  void shorten();
  void bump(int32_t place);
  void bumpClause(Clause clause);
  void use(Clause clause);
  uint32_t record();
  uint32_t record(const std::vector<Literal> &lemma, int64_t reason);
  void state(int64_t reason, const std::vector<Literal> &premises, Literal literal);
  uint32_t glueOf(const std::vector<Literal> &literals);

  // The heap of literals by activity.
  void push(int32_t place);
  int32_t pop();
  void siftUp(size_t at);
  void siftDown(size_t at);

  std::vector<int64_t> base;               ///< by variable: place - value
  std::vector<int32_t> begins, ends;       ///< by variable: first place, last place
  std::vector<int32_t> lows, highs;        ///< by variable: places of its bounds
  std::vector<uint32_t> owners;            ///< by place
  std::vector<int8_t> values;              ///< by place, of "at most": 1, -1, 0 open
  std::vector<int32_t> places;             ///< by place: step of the trail that decided it
  std::vector<double> activities;          ///< by place
  std::vector<int32_t> heap, heapAt;       ///< places; by place: where in the heap, -1
  std::vector<std::vector<Watch>> watches; ///< by literal that becomes false
  std::vector<int32_t> store;
  std::vector<Clause> given, learnt;
  std::vector<Step> trail;
  std::vector<uint32_t> levels; ///< by step
  std::vector<int32_t> limits;  ///< by level: first step
  std::vector<int64_t> answer, ranks, hints;
  std::vector<uint32_t> ranked;
  std::vector<std::unique_ptr<ExplainedConstraint>> constraints;

  // Of one contradiction.
  std::vector<Literal> strongest;            ///< by step: the literal that is needed of it, or kNever
  std::vector<int32_t> marked;               ///< steps with a literal
  std::vector<int8_t> redundancy;            ///< by step: 1 redundant, -1 not, of the literal in `tested`
  std::vector<std::vector<Literal>> reasons; ///< by depth
  std::vector<Literal> kept;                 ///< by variable and direction: the strongest
  std::vector<Literal> tested;
  std::vector<int32_t> touched;
  std::vector<Literal> clause;
  int32_t open = 0; ///< marked steps of the last level
  std::vector<uint32_t> stamps;
  uint32_t stamp = 0;

  // Of each lemma, by its number from 1: where its literals and the lemmas that it follows from end.
  std::vector<uint32_t> lemmaEnds = {0}, sourceEnds = {0};
  std::vector<Literal> lemmas;
  std::vector<uint32_t> sources;
  std::vector<int64_t> statements; ///< by number from 1, from place 0 on
  std::vector<uint32_t> lasting;   ///< lemmas from which bounds follow for good
  std::vector<uint32_t> usedNow;   ///< lemmas of this contradiction
  bool logged = true;

  size_t head = 0;
  bool refuted = false;
  double increment = 1, clauseIncrement = 1;
  uint64_t spent = 0, failures = 0, limitOfClauses = 0;
};

} // namespace accord::solve
