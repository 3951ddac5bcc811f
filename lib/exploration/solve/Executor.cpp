#include "lib/exploration/solve/Executor.h"
#include "lib/exploration/solve/MiningRun.h"
#include "lib/support/ThreadPool.h"
#include <algorithm>

namespace accord {
namespace {

class ThreadExecutor : public Executor {
public:
  explicit ThreadExecutor(unsigned threads) : threadPool_(threads) {}

  MiningResult search(MiningStrategy strategy, MiningProblem &problem, const MiningOptions &options) override {
    return strategy(problem, options);
  }

  std::vector<DesignEvaluation> results(MiningProblem &problem, const EvaluationTask &task,
                                        const std::vector<DesignBox> &boxes) override {
    std::vector<DesignEvaluation> found(boxes.size());
    // Threads are woken for microseconds of work, so they take some bounds at a time.
    size_t stretch = task.query == EvaluationTask::Query::Bound ? 16 : 1;
    threadPool_.each((boxes.size() + stretch - 1) / stretch, [&](size_t number) {
      for (size_t i = number * stretch; i < std::min(boxes.size(), (number + 1) * stretch); ++i)
        found[i] = runEvaluationTask(problem, task, boxes[i]);
    });
    return found;
  }

private:
  ThreadPool threadPool_;
};

} // namespace

DesignEvaluation runEvaluationTask(MiningProblem &problem, const EvaluationTask &task, const DesignBox &box) {
  switch (task.query) {
  case EvaluationTask::Query::Bound: {
    double bound = boundOf(problem, box);
    return {bound, bound};
  }
  case EvaluationTask::Query::TightenBound: {
    double bound = tightenedBound(problem, box.low, task.level);
    return {bound, bound};
  }
  case EvaluationTask::Query::Value: {
    double value = valueOf(problem, box.low);
    return {value, value};
  }
  case EvaluationTask::Query::Evaluate:
    break;
  }
  return evaluationOf(problem, box.low, task.below);
}

std::unique_ptr<Executor> makeThreadExecutor(unsigned threads) { return std::make_unique<ThreadExecutor>(threads); }

} // namespace accord
