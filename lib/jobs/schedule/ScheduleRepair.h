// Schedules of jobs job by job: each takes the cheapest trajectory in what the others leave.
#pragma once
#include "lib/jobs/schedule/TrajectoryPath.h"
#include "lib/search/SearchLimits.h"
#include "lib/support/SplitMix.h"
#include <array>

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
  void improve(std::vector<JobTrajectory> &schedule, unsigned maxPasses, const SearchLimits &limits);
  /// Places jobs anew in what the others of a schedule leave, in an order in which dependences allow it; false where
  /// one has no place.
  bool fill(std::vector<JobTrajectory> &schedule, const std::vector<size_t> &missing);
  /// Takes a few jobs out at a time, and places them in another order at other prices; keeps what is not worse (ruin
  /// and recreate; Schrimpf et al., Journal of Computational Physics 159, 2000). Of a max, the value itself becomes
  /// less. `prices` are those of the rows that are known, of a sum or of `Completion`; empty: none. Ends at a value of
  /// `bound`.
  void vary(std::vector<JobTrajectory> &schedule, const TrajectoryPrices &prices, unsigned rounds, int64_t bound,
            const SearchLimits &limits);
  /// Begins each job as early as it can with the same runs, as long as all limits of the stage are kept.
  void advance(std::vector<JobTrajectory> &schedule);
  /// Whether a schedule keeps capacities, dependences and all limits of the stage.
  bool keepsAll(const std::vector<JobTrajectory> &schedule) const;

  /// Takes a schedule that is known, where it keeps all and is better in the measure of the stage, whatever that is.
  void offer(std::vector<JobTrajectory> &schedule, const std::vector<JobTrajectory> &known) const;
  /// How many rounds of `vary` are about as much work for each problem.
  static unsigned roundsOf(const JobScheduleProblem &problem, const SearchLimits &limits);

private:
  using Value = std::array<int64_t, 2>;
  /// The measure, and among equal ones the sum of completions.
  Value valueOfAll(const std::vector<JobTrajectory> &schedule) const;
  std::vector<size_t> draw(const std::vector<JobTrajectory> &schedule);
  TrajectoryPrices variedPrices(const TrajectoryPrices &prices, const std::vector<JobTrajectory> &schedule);
  bool replace(std::vector<size_t> jobs, std::vector<JobTrajectory> &schedule, const TrajectoryPrices &prices);
  /// Keeps in mind what a schedule leaves of the capacities.
  void takeAll(const std::vector<JobTrajectory> &schedule);
  void use(size_t job, const JobTrajectory &trajectory, int64_t sign);
  bool hasRoom(size_t job, const JobTrajectory &trajectory) const;
  bool advance(size_t job, std::vector<JobTrajectory> &schedule);
  /// The cheapest trajectory of a job between its predecessors and successors in a schedule, in what is left; or
  /// quickly one that is near to it.
  std::optional<JobTrajectory> place(size_t job, const std::vector<JobTrajectory> &schedule,
                                     const TrajectoryPrices &prices, bool isQuick = true);

  const JobScheduleProblem &problem;
  const JobMeasure measure;   ///< that becomes less
  const ObjectiveStage stage; ///< of a sum
  JobScheduleProblem scratch; ///< with the times of one job as its dependences leave them
  const TrajectoryRows rows;
  std::vector<std::vector<unsigned>> later; ///< jobs that come after each one
  std::vector<int64_t> left;                ///< of the resources in each slot
  SplitMix random{1};
};

} // namespace accord::jobs
