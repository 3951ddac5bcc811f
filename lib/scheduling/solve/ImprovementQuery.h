// "Can anything beat this?": asked again and again about one problem.
#pragma once
#include "lib/scheduling/problem/SchedulingResult.h"
#include <atomic>
#include <memory>

namespace accord {

/// Of each question, so that answers do not depend on a clock.
struct ImprovementQueryOptions {
  int64_t listWork = 100'000;              ///< tasks placed while a schedule is looked for
  uint64_t solverWork = 100'000;           ///< Z3's units: some 0.03 s. 0: Z3 is not asked
  const std::atomic<bool> *stop = nullptr; ///< set from anywhere: the answer is Unknown
};

/// Answers for growing and falling makespans, each with what was learned before: the best schedule
/// and the best bound decide most at once; else windows of tasks, then a search for a schedule,
/// then Z3, whose encoding is built for all makespans below the best schedule and kept, each
/// question being an assumption. Deterministic: the same questions in the same order have the same
/// answers.
class ImprovementQuery {
public:
  enum class Answer : uint8_t { Yes, No, Unknown };

  /// Needs a problem that `check` passes; keeps a copy of it. Costs bounds and one list schedule.
  explicit ImprovementQuery(SchedulingProblem problem, const ImprovementQueryOptions &options = {});
  ~ImprovementQuery();

  /// Whether a schedule of at most `makespan` exists. After Yes `best` is one; after No `bound` is
  /// above it, with what proves it (as of `schedule`, see lib/scheduling/verify/Scheduling.h).
  Answer ask(int64_t makespan);
  /// The shortest known; no starts before one is known.
  const SchedulingSolution &best() const;
  const SchedulingBound &bound() const;

private:
  class State;
  std::unique_ptr<State> state;
};

} // namespace accord
