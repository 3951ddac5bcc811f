// Who does the work of a search: threads of this process, or several processes (distributed/).
#pragma once
#include "lib/exploration/solve/MiningProblem.h"

namespace accord {

/// What a round asks a problem about each of its boxes. Of designs (`TightenBound`, `Evaluate`) only `low` counts.
struct EvaluationTask {
  enum class Query : uint8_t { Bound, TightenBox, TightenBound, Evaluate };
  Query query = Query::Bound;
  unsigned level = 0; ///< of `TightenBound`
  double below = 0;   ///< of `Evaluate`
};
constexpr size_t kNumEvaluationQueries = 4;

/// The problem's answer, with what may not be said put right; a bound is in both numbers.
DesignEvaluation runEvaluationTask(MiningProblem &problem, const EvaluationTask &task, const DesignBox &box);

/// Answers are those of the problem whoever gives them, so a search finds the same with any executor.
class Executor {
public:
  virtual ~Executor() = default;
  /// The search, with this executor; where another process leads, what it found there.
  virtual MiningResult search(MiningStrategy strategy, MiningProblem &problem, const MiningOptions &options) = 0;
  /// Of each box, in the order of boxes. Outside of `search` by this process alone.
  virtual std::vector<DesignEvaluation> results(MiningProblem &problem, const EvaluationTask &task,
                                                const std::vector<DesignBox> &boxes) = 0;
};

/// Threads of this process. Once `stop` is set they look at no further box: nothing is known of it then, its value is
/// infinite and its bound 0.
std::unique_ptr<Executor> makeThreadExecutor(unsigned threads, const std::atomic<bool> *stop = nullptr);

} // namespace accord
