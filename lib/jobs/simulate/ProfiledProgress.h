// Jobs that progress as their application was profiled: times of steps, gradient noise and epochs.
//
// The model is that of Pollux's simulator (Qiao et al., OSDI 2021, section 5.3 and the published artefact). A training
// is a sequence of epochs, and each ends when the progress of its steps, weighted by their statistical efficiency,
// reaches that of the profile. Time is counted in whole seconds where an epoch ends, half rounded to even. A profile is
// of one type of devices; an application has one for each type of a cluster.
#pragma once
#include "lib/jobs/problem/Goodput.h"
#include "lib/jobs/problem/TrainingProfile.h"
#include "lib/jobs/simulate/DelaunayInterpolation.h"
#include "lib/jobs/simulate/Simulator.h"
#include <array>
#include <map>
#include <mutex>

namespace accord::jobs {

/// Divides `batch` evenly over devices, rounded up, with accumulation where a device cannot hold its share. All of it
/// is at most the maximum batch. One device accumulates at least once if `accumulateAlone` (its gradient noise is
/// estimated from two gradients).
BatchSplit splitBatch(const TrainingProfile &profile, int64_t batch, unsigned devices, bool accumulateAlone);

/// A profiled application and the times of its steps that were asked for so far. Jobs share it, also on several
/// threads.
class ProfiledApplication {
public:
  /// With an assumed gradient noise scale (samples, at least 0), batches are chosen and rates are expected by it, and
  /// jobs progress by the measured one. Error A1101 if the profile is not well formed, or if its times cannot be
  /// interpolated.
  static Result<std::shared_ptr<const ProfiledApplication>> make(TrainingProfile profile,
                                                                 std::optional<double> assumedNoise = std::nullopt);

  const TrainingProfile &profile() const { return data; }

  /// Time of a step of `localBatch` samples on servers with so many devices each, in the order of ranks. Rotations of a
  /// placement are alike: the lexicographically smallest is looked up. Placements of the profile are interpolated
  /// linearly over the local batch; others are interpolated over servers (at most 16), devices and local batch, where
  /// the measurements are the means of placements with the same numbers, and the scalability table. Nothing if the
  /// profile does not reach as far.
  std::optional<StepTime> stepTime(std::vector<unsigned> placement, int64_t localBatch) const;

  /// Time of an update with `batch` samples, accumulation included, on `devices` that fill servers of
  /// `devicesOfServer` (at least 1) each, and one server with the rest.
  std::optional<double> updateSeconds(int64_t batch, unsigned devices, unsigned devicesOfServer) const;
  /// The split with the most expected progress a second in an epoch (from 0), among 50 batches in geometric progression
  /// from the initial one to the maximum, the first of equals. Devices accumulate only where they cannot hold their
  /// share. Nothing where no time or no curve is known.
  std::optional<BatchSplit> bestSplit(std::vector<unsigned> placement, size_t epoch) const;
  /// Expected progress a second with the best split on devices that fill servers of `serverDevices`, in an epoch (from
  /// 0).
  double bestRate(unsigned devices, unsigned serverDevices, size_t epoch) const;
  /// Progress a second with a split, in an epoch (from 0); 0 where no time or no curve is known.
  double progressRate(const std::vector<unsigned> &placement, BatchSplit split, size_t epoch) const;
  /// The same by the assumed noise, where there is one.
  double expectedRate(const std::vector<unsigned> &placement, BatchSplit split, size_t epoch) const;
  /// Batches of which the times of steps on a placement are known: from the smallest to the largest local batch of the
  /// profile that has one. Nothing if none has.
  std::optional<BatchLimits> batchLimits(std::vector<unsigned> placement) const;
  /// Samples a second of the largest local batch that was measured on one device; 0 if none was.
  double aloneSpeed() const;

private:
  ProfiledApplication(TrainingProfile profile, DelaunayInterpolation scattered, std::optional<double> assumedNoise)
      : data(std::move(profile)), scattered(std::move(scattered)), assumedNoise(assumedNoise) {}
  double rateOf(const std::vector<unsigned> &placement, BatchSplit split, size_t epoch,
                std::optional<double> noise) const;
  std::optional<StepTime> measure(const std::vector<unsigned> &placement, int64_t localBatch) const;

  TrainingProfile data;
  DelaunayInterpolation scattered;
  std::optional<double> assumedNoise;
  mutable std::mutex mutex; ///< of `known`
  mutable std::map<std::pair<std::vector<unsigned>, int64_t>, std::optional<StepTime>> known;
  mutable std::mutex bestMutex;                              ///< of `best`, `bestRates` and `limits`
  mutable std::map<std::array<size_t, 3>, double> bestRates; ///< by devices, devices of a server, epoch
  mutable std::map<std::pair<std::vector<unsigned>, size_t>, std::optional<BatchSplit>> best;
  mutable std::map<std::vector<unsigned>, std::optional<BatchLimits>> limits;
};

/// An application on each device type of a cluster; null where it cannot run, and not null everywhere. One alone
/// stands for all types. Curves, epochs and batches of all devices are the same on all.
using ApplicationTypes = std::vector<std::shared_ptr<const ProfiledApplication>>;

class FittedSpeeds;

/// One job of an application, with a batch of the user's choice or, without one, the best for its devices, again in
/// each epoch. It runs on devices of one type at a time.
class ProfiledProgress : public JobProgress {
public:
  /// The curves of the profile have to hold the batches that are run: `hasCurves` of `batch`, and of what splitting it
  /// makes of it. Otherwise, and where no time of a step is known, the job stays where it is.
  ProfiledProgress(ApplicationTypes types, std::optional<int64_t> batch);
  ProfiledProgress(std::shared_ptr<const ProfiledApplication> application, std::optional<int64_t> batch)
      : ProfiledProgress(ApplicationTypes{std::move(application)}, batch) {}
  /// A job that chooses its batch and knows its speeds only from the steps that it ran so far (`FittedSpeeds`): it has
  /// the initial batch at first, then the best by its estimates, again in each run and each epoch. It progresses as it
  /// was measured. Where the estimate takes a batch of which no time is known, the measured best is run.
  ProfiledProgress(ApplicationTypes types, std::shared_ptr<FittedSpeeds> fitted);

  void place(const Cluster &cluster, const JobPlacement &placement) override;
  std::optional<double> run(double seconds) override;
  double workDone() const override { return progressDone; }
  double workLeft() const override;
  double rate(const Cluster &cluster, unsigned type, unsigned devices) const override;
  bool knowsSpeed() const override;
  /// What was seen of its speeds is not lost with the work.
  std::unique_ptr<JobProgress> copy() const override { return std::make_unique<ProfiledProgress>(*this); }

  /// On the type of the last placement; before, on the first that it can run on.
  const ProfiledApplication &application() const { return *app; }
  /// Of the user's choice; the initial batch where the job chooses.
  int64_t targetBatch() const { return target.value_or(app->profile().initialBatch); }
  size_t epoch() const { return epochsDone; }      ///< that are complete
  double progress() const { return progressDone; } ///< steps of the initial batch
  BatchSplit split() const { return batchSplit; }  ///< on the last placement
  /// Updates until the end of the last epoch, as the curves say; 1 in the last epoch.
  double remainingIterations() const;

private:
  const ProfiledApplication *on(unsigned type) const; ///< null: it cannot run there
  size_t currentEpoch() const;
  std::optional<BatchSplit> splitOn(const ProfiledApplication &there, const std::vector<unsigned> &placement) const;
  std::optional<BatchSplit> estimatedSplit() const;
  void configure();
  void updateRate();
  void observe();

  ApplicationTypes types;
  std::shared_ptr<const ProfiledApplication> app; ///< on the type where it is
  std::optional<int64_t> target;
  std::shared_ptr<FittedSpeeds> fitted; ///< null: speeds are the measured ones
  unsigned currentType = 0;
  int64_t batch = 0;             ///< that is run, at least `target` by rounding
  std::vector<unsigned> current; ///< devices of each server
  size_t epochsDone = 0;
  double progressDone = 0;
  BatchSplit batchSplit;
  std::optional<StepTime> time;
  double currentRate = 0, nextProgress = 0; ///< steps of the initial batch: a second; at the end of the epoch
};

/// How well a job's speeds are known to policies, and to the job itself.
enum class KnownSpeeds {
  Measured, ///< all that were measured
  Fitted    ///< estimates from the steps that it ran so far
};

/// A job of an application that chooses its batch itself, on up to as many devices as its maximum batch and the
/// application allow.
SimulatedJob adaptiveJob(const std::string &name, double arrival, const ApplicationTypes &types, double restartSeconds,
                         KnownSpeeds speeds = KnownSpeeds::Measured);

/// A rigid or malleable job of an application. `maxDevices` is what the target batch and the application allow.
SimulatedJob profiledJob(const std::string &name, double arrival, unsigned devices, const ApplicationTypes &types,
                         int64_t targetBatch, double restartSeconds);

} // namespace accord::jobs
