// Schedules of jobs job by job: each takes the cheapest trajectory in what the others leave.
#pragma once
#include "lib/jobs/schedule/TrajectoryPath.h"

namespace accord::jobs {

/// `ObjectiveStage::max` of a max measure that is not limited yet.
constexpr int64_t kUnlimited = int64_t(1) << 60;

class ScheduleRepair {
public:
  ScheduleRepair(const JobScheduleProblem &problem, const ObjectiveStage &stage);

  /// Jobs one after the other in an order in which dependences allow it, by `keys` ascending, then number. Nothing
  /// where one has no place.
  std::optional<std::vector<JobTrajectory>> build(const std::vector<double> &keys, const TrajectoryPrices &prices);
  /// Takes one job after the other out and places it anew where that makes the measure of the stage less, until no
  /// single job does. Of a max, sums of completion stand for it.
  void improve(std::vector<JobTrajectory> &schedule, unsigned maxPasses);
  /// Places jobs anew in what the others of a schedule leave, in an order in which dependences allow it; false where
  /// one has no place.
  bool fill(std::vector<JobTrajectory> &schedule, const std::vector<size_t> &missing);
  /// Whether a schedule keeps capacities, dependences and all limits of the stage.
  bool keepsAll(const std::vector<JobTrajectory> &schedule) const;

  /// Takes a schedule that is known, where it keeps all and is better in the measure of the stage, whatever that is.
  void offer(std::vector<JobTrajectory> &schedule, const std::vector<JobTrajectory> &known) const;

private:
  void use(size_t job, const JobTrajectory &trajectory, int64_t sign);
  /// The cheapest trajectory of a job between its predecessors and successors in a schedule, in what is left.
  std::optional<JobTrajectory> place(size_t job, const std::vector<JobTrajectory> &schedule,
                                     const TrajectoryPrices &prices);

  const JobScheduleProblem &problem;
  const ObjectiveStage &stage;
  JobScheduleProblem scratch; ///< with the times of one job as its dependences leave them
  const TrajectoryRows rows;
  std::vector<std::vector<unsigned>> later; ///< jobs that come after each one
  std::vector<int64_t> left;                ///< of the resources in each slot
};

} // namespace accord::jobs
