// Z3 asked whether a schedule of at most some length exists, or whether a script can be satisfied.
#pragma once
#include "lib/scheduling/solve/ClauseOracle.h"
#include "lib/scheduling/solve/Propagator.h"
#include <atomic>
#include <memory>
#include <string>

namespace accord::solve {

/// What a clause solver does in the time of one of Z3's units.
constexpr uint64_t kStepsPerUnit = 12;

/// Where all tasks have one mode and there are no memories, a solver of our own (ClauseOracle.h); else Z3.
///
/// Time-indexed: a literal "task i has started by t" for each time of its window, one for each mode
/// and each live buffer, capacities as pseudo-Boolean constraints at the times at which something
/// can start. Times are whole multiples of a unit, durations and delays rounded down: with a unit
/// above 1 a schedule that is found is one of a relaxed problem, while an answer "no" holds for the
/// true one: were there a schedule, the starts divided by the unit and rounded down would be one
/// here.
class Oracle {
public:
  enum class Answer : uint8_t { Yes, No, Unknown };

  /// Of schedules of at most `horizon`, within `windows` that hold for it. Not `learning`: by Z3, whatever the problem.
  /// `energetic`: see ClauseOracle.
  Oracle(const Instance &instance, const Propagator &windows, int64_t horizon, int64_t unit = 1, bool learning = true,
         bool energetic = false);
  ~Oracle();

  /// Whether a schedule of at most `makespan` <= horizon exists; `found` if so, with starts in
  /// multiples of the unit. `limit`: of Z3's own units of work. Unknown when they are spent, or
  /// after `interrupt`.
  Answer ask(int64_t makespan, uint64_t limit, SchedulingSolution &found);
  /// From any thread.
  void interrupt();
  uint64_t work() const; ///< in Z3's units, so far
  /// A good schedule, near which others are looked for.
  void suggest(const SchedulingSolution &known);
  /// It learns clauses of its own, and does not ask Z3.
  bool learns() const { return clauses != nullptr; }

private:
  struct Z3Encoding;
  std::unique_ptr<Z3Encoding> encoding;
  std::unique_ptr<ClauseOracle> clauses;
  std::atomic<bool> stop = false;
};

/// How many literals an oracle would have about, before it is built.
int64_t estimateLiterals(const Instance &instance, const Propagator &windows, int64_t unit);

} // namespace accord::solve

namespace accord {

struct SatResult {
  std::string answer; ///< "unsat", "sat", "unknown" (beyond the work), or what Z3 says is wrong
  std::string solver; ///< "Z3" and its version
};

/// The assertions of a script without commands besides declarations, definitions and assertions
/// (`check-sat` is ignored). `work` is in Z3's own units, so the same script gives the same answer.
SatResult checkSat(const std::string &script, unsigned work = 50'000'000);

} // namespace accord
