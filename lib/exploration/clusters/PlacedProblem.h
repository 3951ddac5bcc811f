// What a design of the devices of a cluster is worth: the best placement of one or several jobs.
#pragma once
#include "lib/exploration/clusters/ClusterSpace.h"
#include "lib/exploration/clusters/PlacedWork.h"
#include "lib/exploration/steps/StepProblem.h"

namespace accord {

/// By point of the space's choices beside the machine (`ClusterPoints`), of which there is at least one; null: no
/// placement. The objective of their request is `objectiveOf` the metric.
using PlacedWorks = std::vector<std::shared_ptr<const PlacedWork>>;

struct PlacedMiningJob {
  PlacedWorks clusters;
  /// Instead, a job on one device of the same space, alone in its problem of the same metric.
  std::shared_ptr<StepProblem> alone;
  double weight = 1;
  double best = 0;   ///< value of its own best design, for `MinimaxRegret`
  int64_t batch = 1; ///< samples of a step
};

/// Nothing: the metric is none of a placement (energy).
std::optional<PlacementObjective> objectiveOf(MiningMetric metric);

/// A job's value on a design is that of its best placement among all that its request offers: `tdp_time` with the TDP
/// of all devices that it takes, `area_time` with the area of one; an expression of the step and of numbers of one
/// device, without energy. Bounds: `PlacedWork::bound` on the machine with the most of everything and, of a box of
/// clusters, at each of its points the ideal fabric (`ClusterSpace::fabric`); of a box of one machine with networks
/// relaxed also `PlacedWork::placedBound`; then one tier with steps priced on the design itself. What breaks a
/// requirement of the cluster has no value.
class PlacedProblem : public MiningProblem {
public:
  PlacedProblem(const DesignSpace &space, std::vector<PlacedMiningJob> jobs, MiningMetric metric,
                ObjectiveAggregation aggregation = ObjectiveAggregation::Sum, const ClusterSpace *clusters = nullptr);
  ~PlacedProblem() override;
  const std::vector<DesignParameter> &parameters() const override;
  double bound(const DesignBox &box) override;
  /// Where networks are relaxed a machine, then what makes a placement problem: the bounds of these are kept.
  std::vector<size_t> dividedFirst(const DesignBox &box) override;
  bool tightensBoxes() const override { return true; }
  double tightenBox(const DesignBox &box) override;
  unsigned numBoundLevels() const override { return 1; }
  bool hasCheapValues() const override { return true; }
  bool mayHold(const DesignBox &box) override;
  double boundsPerValue() const override;
  double tightenBound(const Design &design, unsigned level) override;
  DesignEvaluation evaluate(const Design &design, double below) override;
  /// Of the job that waits most: by what part its bound is shorter without what the parameter changes.
  std::vector<double> bottleneckGains(const Design &design) override;
  std::vector<std::string> costNames() override; ///< those of one device
  std::vector<double> costs(const DesignBox &box) override;
  std::string digest() override;
  /// Of one job, for tables and reports; value and bound by the metric. Of the best design that was
  /// evaluated it is what was found then. Nothing: no placement fits, or the design may not be.
  std::optional<PlacedBest> placed(size_t job, const Design &design);

private:
  struct Data;
  std::unique_ptr<Data> data_;
};

} // namespace accord
