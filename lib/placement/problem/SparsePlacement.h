// A placement whose layers may have zeros: which zeros there are to choose from, what they cost, and what proves that
// no choice of zeros and plan together is better. Input and answer of placement/solve/SparsePlacementSearch.h;
// placement/verify/SparsePlacementVerifier.h evaluates the same data again.
//
//   SparsePlacementProblem problem;
//   problem.dense = twoLayers();                               // a placement problem; class 1 has its products
//   SparsityUnit unit{{1}, {{"mlp", {{"dense"}, {"nm(2, 4)", 30, 1}}}}, {}};
//   unit.alternatives = {{{0}, {costsOf(1, dense)}}, {{1}, {costsOf(1, twoOfFour)}}};
//   problem.units = {unit};
//   problem.budgets = {{"loss of accuracy", 50}};
//   SparsePlacementResult result = placeWithSparsity(problem);   // zeros by unit, and the plan of these
#pragma once
#include "lib/placement/problem/Placement.h"
#include "lib/sparsity/problem/AccuracyReport.h"

namespace accord {

/// What one layer of the network, or several that are decided together, may have.
struct SparsityDecision {
  struct Option {
    std::string label;            ///< "dense", "weights nm(2, 4)"
    std::vector<int64_t> takes{}; ///< of each budget; none: nothing of any
  };
  std::vector<std::string> layers; ///< names of products of the model, at least one
  std::vector<Option> options;     ///< the first one is dense and takes nothing
};

/// One option of each decision of a unit, and what its classes cost then.
struct SparsityAlternative {
  std::vector<uint32_t> options; ///< by decision
  /// By class of the unit, by parallel configuration; nothing where the class cannot run so.
  std::vector<std::vector<std::optional<PlacementProblem::Cost>>> costs;
};

/// Classes of layers that are decided together, since a decision touches all of them; no class is in two units.
struct SparsityUnit {
  std::vector<PlacementProblem::Id> classes; ///< ascending
  std::vector<SparsityDecision> decisions;
  std::vector<SparsityAlternative> alternatives; ///< at least one; where all is dense it is the first one
};

/// What all decisions together may take.
struct SparsityBudget {
  static constexpr int64_t kUnlimited = int64_t{1} << 60; ///< what is taken is counted, and not limited
  std::string what;                                       ///< "loss of accuracy in 10^-12", "layers with zeros"
  int64_t max = 0;                                        ///< not negative
};

struct SparsePlacementProblem {
  PlacementProblem dense; ///< costs of classes of no unit hold; those of others are of no zeros
  std::vector<SparsityUnit> units;
  std::vector<SparsityBudget> budgets;

  /// What an alternative takes of a budget: the sum over its decisions.
  int64_t takesOf(size_t unit, size_t alternative, size_t budget) const;
  /// Whether one alternative of each unit keeps all budgets.
  bool keepsBudgets(const std::vector<uint32_t> &choice) const;
  /// The placement problem with these alternatives, by unit.
  PlacementProblem with(const std::vector<uint32_t> &choice) const;
};

/// A part of the search, in preorder: it is split into two, or nothing in it is better than what it states.
///
/// In a part each unit has some of its alternatives, all of them at the root. Those are left out, again and again, of
/// which a budget is passed even if every other unit takes the least of it. The *relaxed* problem of what is left has
/// the least of each number over a unit's alternatives (of each class and parallel configuration), and all of their
/// recomputation choices: it is a lower bound, since no number that grows makes a plan better where passes have a fixed
/// order. There are two exceptions, unless one alternative of each unit is left and there are no prices:
/// - A step that takes longer needs less power. There is no limit of watts.
/// - A backward pass that takes longer hides more of the exchange of gradients. In a group with one stage it ends later
///   by as much at least; a group with several stages may wait in its last pass for another group, and ends earlier. So
///   plans of several stages in a group have no exchange of gradients where any of it may be hidden.
///
/// A *price* of a budget says what an alternative counts for what it takes: P = sum of price * takes. What it counts is
/// added before the least is taken, and the bound of that problem, less price * max of each budget, is one of the part
/// (Lagrangian relaxation; Fisher, Management Science 27(1), 1981). With m micro-batches, of which a path through the
/// passes of a step meets each stage's m times in either direction:
/// - step time: a layer of class c counts P f(c) / n(c) more in a step, n(c) layers, as m times a part of each pass and
///   once a part of the update. The parts are as what the alternative saves there, beside the largest number of the
///   alternatives that are left; f(c), whose sum is 1, as what the n(c) layers save together, summed over all parallel
///   configurations. Rounded down, of sums that are right to a part in 10^13.
/// - objectives that count joules: P f(c) / n(c) / costPerJoule joules more, f(c) as the joules that they save.
/// Limits of a price, of joules and of the step would then be too tight: the first two are left out, the step's is
/// raised by price * max. There are no prices for other objectives, where a joule costs nothing, or where a schedule
/// has no fixed order.
struct SparsityProofNode {
  /// The first half has these alternatives of the unit, the second one the others that its parent has. Empty: no split.
  std::vector<uint32_t> alternatives;
  uint32_t unit = 0;
  /// Of no split. By budget, in units of the objective; empty: nothing of any.
  std::vector<double> prices;
  /// Of no split: no plan of the part has a value below; infinite: none fits, or none keeps the budgets. Not below the
  /// bound of the answer.
  double bound = 0;
  std::vector<PathBound> paths; ///< of this bound

  bool splits() const { return !alternatives.empty(); }
};

struct SparsePlacementResult {
  std::vector<uint32_t> choice; ///< by unit; empty: no plan was found
  PlacementResult placement;    ///< of the problem with this choice; its bound is of all choices
  std::vector<SparsityProofNode> proof;
  /// With no zeros: what the same search finds. Nothing: no dense plan fits, a unit has no dense alternative, or it was
  /// stopped before.
  std::optional<double> denseValue;
  uint64_t parts = 0; ///< of the search
};

/// What a plan with zeros has beside its problem and result.
struct PlacementSparsity {
  std::vector<SparsityUnit> units;
  std::vector<SparsityBudget> budgets;
  std::vector<uint32_t> choice; ///< by unit; empty: no plan was found
  std::vector<SparsityProofNode> proof;
  std::optional<double> denseValue;
  uint64_t parts = 0;
  std::optional<AccuracyReport> accuracy; ///< nothing: nothing is claimed

  /// The option of each decision that the plan has, by unit; the first ones where there is no plan.
  const SparsityDecision::Option &chosen(size_t unit, size_t decision) const;
};
/// The joint problem of a plan with zeros, whose own problem has the costs of the chosen ones.
SparsePlacementProblem problemOf(const PlacementProblem &chosen, const PlacementSparsity &zeros);
SparsePlacementResult resultOf(const PlacementResult &result, const PlacementSparsity &zeros);

/// What is wrong with a problem: that of `check` of the dense one; units without classes or alternatives, of classes
/// that there are none of or that another unit has; alternatives of which an option is not there, or without costs of
/// each class and parallel configuration; more or fewer numbers than budgets; negative ones, or sums that pass 2^60; a
/// first option that takes something, or a dense alternative behind others; times or bytes that some choice could sum
/// up to 2^61. Code A0940. Empty: nothing.
Errors check(const SparsePlacementProblem &problem);

} // namespace accord
