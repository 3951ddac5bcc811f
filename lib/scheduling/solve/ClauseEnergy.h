// Energetic reasoning that explains what follows, for a clause solver.
#pragma once
#include "lib/scheduling/solve/ClauseConstraints.h"
#include "lib/scheduling/solve/ClauseOracle.h"

namespace accord::solve {

/// What tasks need of a resource in an interval fits into it: by their certain parts and the whole work of tasks within
/// the interval (time-table edge finding; Vilím, CPAIOR 2011), explained by the part of each task in the interval and
/// the bounds that just give it (Schutt, Feydy, Stuckey, Explaining time-table-edge-finding propagation for the
/// cumulative resource constraint, CPAIOR 2013).
class EnergyConstraint : public ExplainedConstraint {
public:
  /// Starts are variables 0 to `tasks` - 1.
  EnergyConstraint(std::vector<ClauseResource> resources, size_t tasks);

  bool propagate(ClauseSolver &solver) override;
  void explain(const ClauseSolver &solver, int32_t place, Literal literal, int64_t detail,
               std::vector<Literal> &premises) override;
  void changed(const ClauseSolver &, uint32_t variable, bool, int32_t, int32_t) override {
    if (variable < of.size())
      for (uint32_t resource : of[variable])
        isDirty[resource] = 1;
  }
  int64_t statement() const override { return stated; }
  /// What a statement says; of -1 that unit propagation suffices.
  static LearntClauses::Overload overloadOf(int64_t statement);

private:
  struct Part {
    int64_t low, high, duration, amount; ///< bounds of its start
    uint32_t use;
    int64_t overlap = 0; ///< with an interval, at least
  };
  bool sweep(ClauseSolver &solver, uint32_t resource);
  void narrow(ClauseSolver &solver, uint32_t resource, int64_t from, int64_t to, int64_t rest);
  void sumCertain(const ClauseSolver &solver, const ClauseResource &shared, int64_t first, int64_t last);
  /// Bounds from which more than `room` follows in the interval, besides of one task.
  void cover(const ClauseSolver &solver, const ClauseResource &shared, int64_t from, int64_t to, int64_t room,
             uint32_t but, std::vector<Literal> &premises);

  std::vector<ClauseResource> resources;
  std::vector<std::vector<uint32_t>> of; ///< by task
  std::vector<char> isDirty;             ///< by resource
  std::vector<int64_t> certain;          ///< by time of a sweep: what certain parts need up to it
  std::vector<Part> open;                ///< of tasks that are not fixed
  std::vector<int64_t> ends;
  std::vector<Literal> kept; ///< explanations, one after the other, each after its size and its statement
  int64_t stated = 0;
};

} // namespace accord::solve
