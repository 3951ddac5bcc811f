// What a design is worth: the training step of one or several jobs on it.
#pragma once
#include "lib/mine/DesignSpace.h"
#include "lib/mine/Mine.h"
#include "lib/model/Schedule.h"
#include "lib/model/WorkGraph.h"

namespace accord {

/// What is made least.
enum class MiningMetric : uint8_t {
  StepTime, ///< seconds of a step; of several jobs their weighed sum
  TdpTime,  ///< step time * TDP: most throughput per watt
  Energy,   ///< joules of a step
  AreaTime  ///< step time * area
};
const char *name(MiningMetric); ///< "step_time", "tdp_time", "energy", "area_time"

/// One training job.
struct MiningJob {
  std::string name;
  WorkGraph graph; ///< a step of `batch` samples
  int64_t batch = 1;
  double weight = 1;
  double best =
      0; ///< value of its own best design: jobs are compared by value / best; 0: not known
};

/// How values of several jobs become one.
enum class MiningBlend : uint8_t { Sum, WorstRatio };

struct StepValue {
  double step = 0, joules = 0; ///< seconds, joules
  double bytes = 0;            ///< of device memory
  bool fits = true;
};

/// A job's step on a machine is that of `estimate` and `scheduleStep`; its bound is the work of
/// each kind of core at its cycles (lib/array), the least traffic of each memory at its bandwidth,
/// and the critical path, whichever is longest.
class StepProblem : public MiningProblem {
public:
  StepProblem(const DesignSpace &space, std::vector<MiningJob> jobs, MiningMetric metric,
              MiningBlend blend = MiningBlend::Sum);
  ~StepProblem() override;
  const std::vector<DesignParameter> &parameters() const override;
  double bound(const DesignBox &box) override;
  double value(const Design &design) override;
  std::vector<double> waits(const Design &design) override;
  /// Of one job, for tables and reports.
  std::optional<StepValue> step(size_t job, const Design &design);

private:
  struct Data;
  std::unique_ptr<Data> data_;
};

} // namespace accord
