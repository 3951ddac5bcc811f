// Who does the work of a search: threads of this process, or several processes (lib/ranks).
#pragma once
#include "lib/exploration/solve/Mine.h"

namespace accord {

/// What a round asks a problem about each of its boxes. Of designs only `low` counts.
struct CrewTask {
  enum class Ask : uint8_t { Bound, Deepen, Value, Appraise };
  Ask ask = Ask::Bound;
  unsigned tier = 0; ///< of `Deepen`
  double below = 0;  ///< of `Appraise`
};
constexpr size_t kCrewAsks = 4;

/// The problem's answer, with what may not be said put right; a bound is in both numbers.
Appraisal answerOf(MiningProblem &problem, const CrewTask &task, const DesignBox &box);

/// Answers are those of the problem whoever gives them, so a search finds the same with any crew.
class Crew {
public:
  virtual ~Crew() = default;
  /// The search, with this crew; where another process leads, what it found there.
  virtual MiningResult search(MiningStrategy strategy, MiningProblem &problem,
                              const MiningOptions &options) = 0;
  /// Of each box, in the order of boxes. Outside of `search` by this process alone.
  virtual std::vector<Appraisal> answers(MiningProblem &problem, const CrewTask &task,
                                         const std::vector<DesignBox> &boxes) = 0;
};

/// Threads of this process.
std::unique_ptr<Crew> threadCrew(unsigned threads);

} // namespace accord
