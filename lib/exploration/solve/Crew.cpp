#include "lib/exploration/solve/Crew.h"
#include "lib/exploration/solve/Run.h"
#include "lib/support/Workers.h"
#include <algorithm>

namespace accord {
namespace {

class ThreadCrew : public Crew {
public:
  explicit ThreadCrew(unsigned threads) : workers_(threads) {}

  MiningResult search(MiningStrategy strategy, MiningProblem &problem,
                      const MiningOptions &options) override {
    return strategy(problem, options);
  }

  std::vector<Appraisal> answers(MiningProblem &problem, const CrewTask &task,
                                 const std::vector<DesignBox> &boxes) override {
    std::vector<Appraisal> found(boxes.size());
    // Threads are woken for microseconds of work, so they take some bounds at a time.
    size_t stretch = task.ask == CrewTask::Ask::Bound ? 16 : 1;
    workers_.each((boxes.size() + stretch - 1) / stretch, [&](size_t number) {
      for (size_t i = number * stretch; i < std::min(boxes.size(), (number + 1) * stretch); ++i)
        found[i] = answerOf(problem, task, boxes[i]);
    });
    return found;
  }

private:
  Workers workers_;
};

} // namespace

Appraisal answerOf(MiningProblem &problem, const CrewTask &task, const DesignBox &box) {
  switch (task.ask) {
  case CrewTask::Ask::Bound: {
    double bound = boundOf(problem, box);
    return {bound, bound};
  }
  case CrewTask::Ask::Deepen: {
    double bound = deepened(problem, box.low, task.tier);
    return {bound, bound};
  }
  case CrewTask::Ask::Value: {
    double value = valueOf(problem, box.low);
    return {value, value};
  }
  case CrewTask::Ask::Appraise:
    break;
  }
  return appraisalOf(problem, box.low, task.below);
}

std::unique_ptr<Crew> threadCrew(unsigned threads) { return std::make_unique<ThreadCrew>(threads); }

} // namespace accord
