// "A schedule of at most so long exists", for any SMT solver to refute.
#pragma once
#include "lib/scheduling/verify/Scheduling.h"
#include <string>
#include <vector>

namespace accord {

enum class SmtEncoding : uint8_t {
  Automatic,        ///< Bits where time has few points; Integers for a few tasks of long times; else Rounded
  BitVector,        ///< QF_BV: one bit for each point in time; exact
  RoundedBitVector, ///< Bits with times in larger units, durations and delays rounded down
  LinearInteger,    ///< QF_LIA: starts as integers, as in disjunctive mixed-integer models; exact
};

/// SMT-LIB 2.6 text, the same bytes for the same problem: satisfiable exactly if the problem has a
/// schedule of at most `makespan`; `Rounded` may be satisfiable where it has none, never the other
/// way round. Its head says in words what is claimed and how to check it. Written independently of
/// lib/solve. Needs a problem that `check` passes; sizes: Bits about a line for each task, order
/// and partial sum of each resource, whatever the makespan.
///
/// A claim about a `unit` above 1 speaks of times in whole units as `Rounded` does, but of that
/// unit or of larger ones only if `form` is `Rounded`; with `windows`, of starts within them,
/// rounded down, which makes it the claim that a solver refuted of a bound with a unit
/// (`SchedulingBound`).
///
/// Bits: `started` of a task has bit t set where it has started by t (order encoding: Crawford,
/// Baker, AAAI 1994; Ansotegui, Manya, SAT 2004), so `started` and not `started` shifted by its
/// duration is when it runs, an order is one inclusion, and a capacity is a decision diagram of
/// partial sums (Eén, Sörensson, JSAT 2, 2006) over bits of all times at once. Tasks that can
/// never run together (by order, window or capacity) add as one.
/// Integers: at the start of each task, what runs then fits (task-based decomposition: Schutt et
/// al., CP 2009).
std::string smtQuery(const SchedulingProblem &problem, int64_t makespan, SmtEncoding encoding = SmtEncoding::Automatic,
                     int64_t unit = 1, const StartWindows *windows = nullptr);

/// What decides `claim` fastest with a solver's program, given by name or path: "z3",
/// "cvc5 --bitblast=eager"; the file follows.
std::vector<std::string> solverCommand(const std::string &program, const std::string &smtQuery);

} // namespace accord
