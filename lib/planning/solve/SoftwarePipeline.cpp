#include "lib/planning/solve/SoftwarePipeline.h"
#include <algorithm>

namespace accord {
namespace {

using Id = SchedulingProblem::Id;

/// Places at which a period is cut, of all its starts.
constexpr size_t kMaxCuts = 24;
constexpr int kMaxRounds = 6;
/// Bodies of more tasks are not searched: a schedule is made for every cut.
constexpr size_t kMaxTasks = 1000;

class Rotation {
public:
  Rotation(const SchedulingProblem &body, const std::vector<IterationDependence> &dependences, int64_t count,
           const SolveOptions &options, int64_t maxStages)
      : body_(body), dependences_(dependences), count_(count), options_(options), maxStages_(maxStages) {
    body_.precedences.clear();
  }

  std::optional<PipelinedBody> run(const SchedulingSolution &inOrder) {
    SolveOptions quick = options_;
    quick.effort = 0;
    quick.bounds = quick.searches = false;
    quick.progress = nullptr;
    std::optional<PipelinedBody> best; // by quick schedules, and compared with such a one
    PipelinedBody sequential = scheduled(std::vector<int64_t>(body_.tasks.size()), quick);
    int64_t shortest = length(sequential);
    auto consider = [&](std::vector<int64_t> stage) {
      if (options_.stopped() || !isPossible(stage))
        return false;
      PipelinedBody made = scheduled(std::move(stage), quick);
      if (length(made) >= shortest)
        return false;
      shortest = length(made);
      best = std::move(made);
      return true;
    };
    consider(laterOffChain());
    for (int round = 0; round < kMaxRounds; ++round) {
      const PipelinedBody from = best ? *best : sequential;
      bool better = false;
      for (int64_t time : cuts(from))
        better |= consider(rotated(from, time));
      if (!better)
        break;
    }
    if (best && options_.effort > 0)
      if (PipelinedBody made = scheduled(best->stage, options_); length(made) < shortest)
        best = std::move(made);
    if (!best || length(*best) >= count_ * inOrder.makespan)
      return std::nullopt;
    return best;
  }

private:
  int64_t length(const PipelinedBody &made) const { return count_ * made.solution.makespan + made.overhang; }

  /// What no later iteration waits for, directly or not, one stage later than what one does wait for.
  std::vector<int64_t> laterOffChain() const {
    std::vector<char> waited(body_.tasks.size());
    std::vector<std::vector<Id>> before(body_.tasks.size());
    std::vector<Id> open;
    for (const IterationDependence &d : dependences_)
      if (d.distance == 0)
        before[d.after].push_back(d.before);
      else
        open.push_back(d.before);
    while (!open.empty()) {
      Id task = open.back();
      open.pop_back();
      if (!waited[task])
        open.insert(open.end(), before[task].begin(), before[task].end());
      waited[task] = 1;
    }
    std::vector<int64_t> stage(body_.tasks.size());
    for (Id t = 0; t < stage.size(); ++t)
      stage[t] = waited[t] ? 0 : 1;
    return stage;
  }

  std::vector<int64_t> cuts(const PipelinedBody &of) const {
    std::vector<int64_t> starts = of.solution.start;
    std::ranges::sort(starts);
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
    std::vector<int64_t> cuts;
    for (size_t k = 1, n = std::min(kMaxCuts, starts.size() - 1); k <= n; ++k)
      cuts.push_back(starts[k * (starts.size() - 1) / n]);
    return cuts;
  }

  /// What a period starts before `time` belongs to the period before from now on.
  static std::vector<int64_t> rotated(const PipelinedBody &from, int64_t time) {
    std::vector<int64_t> stage = from.stage;
    for (Id t = 0; t < stage.size(); ++t)
      stage[t] += from.solution.start[t] >= time;
    return stage;
  }

  /// Several stages, not too many, that no dependence contradicts.
  bool isPossible(const std::vector<int64_t> &stage) const {
    auto [first, last] = std::ranges::minmax(stage);
    return first < last && last - first < maxStages_ &&
           std::ranges::all_of(
               dependences_,
               [&](const IterationDependence &d) { return d.distance + stage[d.after] - stage[d.before] >= 0; });
  }

  PipelinedBody scheduled(std::vector<int64_t> stage, const SolveOptions &options) const {
    int64_t first = std::ranges::min(stage);
    for (int64_t &one : stage)
      one -= first;
    PipelinedBody made{body_, {}, std::move(stage), 0};
    for (const IterationDependence &d : dependences_)
      if (d.before != d.after && d.distance + made.stage[d.after] == made.stage[d.before])
        made.problem.addPrecedence(d.before, d.after);
    made.solution = schedule(made.problem, options).solution;
    int64_t end = 0;
    for (Id t = 0; t < made.stage.size(); ++t)
      end = std::max(end, made.start(t) + body_.tasks[t].modes[made.solution.mode[t]].duration);
    made.overhang = std::max<int64_t>(end - made.solution.makespan, 0);
    return made;
  }

  SchedulingProblem body_; ///< without precedences
  const std::vector<IterationDependence> &dependences_;
  int64_t count_;
  const SolveOptions &options_;
  int64_t maxStages_;
};

} // namespace

std::optional<PipelinedBody> overlapIterations(const SchedulingProblem &body,
                                               const std::vector<IterationDependence> &dependences, int64_t count,
                                               const SchedulingSolution &inOrder, const SolveOptions &options,
                                               int64_t maxStages) {
  if (count < 2 || body.tasks.size() < 2 || body.tasks.size() > kMaxTasks || inOrder.makespan == 0)
    return std::nullopt;
  return Rotation(body, dependences, count, options, maxStages).run(inOrder);
}

} // namespace accord
