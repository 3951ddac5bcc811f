// What a design is worth: the training step of one or several jobs on it.
#pragma once
#include "lib/exploration/solve/MiningProblem.h"
#include "lib/exploration/space/DesignSpace.h"
#include "lib/machine/model/Schedule.h"
#include "lib/machine/model/WorkGraph.h"

namespace accord {
class StepWork;

/// What is made least.
enum class MiningMetric : uint8_t {
  StepTime,  ///< seconds of a step; of several jobs their weighed sum
  TdpTime,   ///< step time * TDP: most throughput per watt
  Energy,    ///< joules of a step
  AreaTime,  ///< step time * area
  Expression ///< `DesignSpace::metricValue`
};
const char *name(MiningMetric); ///< "step_time", "tdp_time", "energy", "area_time", "expression"

/// A step as it may run: a micro-batch size, a recomputation.
struct MiningAlternative {
  std::string label; ///< "micro-batch 4, recompute full, nm(2, 4) in 16 layers"
  std::shared_ptr<const StepWork> work;
  std::optional<size_t> dense = std::nullopt; ///< with zeros: the one of the job that is the same without
};

/// One training job; its value on a design is that of the best of its ways.
struct MiningJob {
  std::string name;
  std::vector<MiningAlternative> alternatives; ///< steps of `batch` samples, at least one
  int64_t batch = 1;
  double weight = 1;
  double best = 0; ///< value of its own best design, for `MinimaxRegret`
};

/// How values of several jobs become one.
enum class ObjectiveAggregation : uint8_t { Sum, MinimaxRegret };

struct StepValue {
  double step = 0, joules = 0; ///< seconds, joules
  double lowerBound = 0;       ///< seconds that no schedule of it is below, as it is priced
  double bytes = 0;            ///< of device memory
  unsigned effort = 0;         ///< of the schedule (`ScheduleOptions`)
  bool fits = true;
  size_t alternative = 0; ///< of a job: the one that is best
  double value = 0;       ///< of the metric; infinite where the design may not be
};

/// A job's step on a machine is that of `estimate` and `scheduleStep`; its bound is the work of
/// each kind of core at its cycles (machine/array), the least traffic of each memory at its bandwidth,
/// and the critical path, whichever is longest. What is bounded is the step however it is
/// scheduled: a design's appraisal has the larger of this bound and the schedule's own.
/// With an effort, the schedules of designs that may be better than what is known are searched for,
/// and their bounds are those of schedules in which a repeat is a unit (`StepWork::closed`).
class StepProblem : public MiningProblem {
public:
  StepProblem(const DesignSpace &space, const std::vector<MiningJob> &jobs, MiningMetric metric,
              ObjectiveAggregation aggregation = ObjectiveAggregation::Sum, unsigned effort = 0);
  ~StepProblem() override;
  const std::vector<DesignParameter> &parameters() const override;
  double bound(const DesignBox &box) override;
  /// 2 with an effort: by what can run at once, and of iterations one after the other; else the first is a final one.
  unsigned numBoundLevels() const override;
  bool hasFinalBound() const override;
  double tightenBound(const Design &design, unsigned level) override;
  DesignEvaluation evaluate(const Design &design, double below) override;
  std::vector<double> bottleneckGains(const Design &design) override;
  std::vector<std::string> costNames() override; ///< those of the space
  std::vector<double> costs(const DesignBox &box) override;
  std::string digest() override; ///< version, metric, and sizes of the jobs' steps
  /// Of one job, for tables and reports.
  std::optional<StepValue> step(size_t job, const Design &design);

private:
  struct Data;
  std::unique_ptr<Data> data_;
};

} // namespace accord
