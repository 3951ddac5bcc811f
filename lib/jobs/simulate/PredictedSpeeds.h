// Speeds of steady jobs as those see them who know only where a job ran so far, and how other models ran everywhere.
#pragma once
#include "lib/jobs/simulate/SteadyProgress.h"
#include "lib/jobs/solve/RatePredictor.h"
#include <map>
#include <memory>

namespace accord::jobs {

/// What the rates of other families say of each application of a table: no rate of its own family is used, whatever
/// ran before. Fitted once for each family that is asked for.
class PredictedSpeeds {
public:
  /// `types` of the cluster are types of the table.
  PredictedSpeeds(const ThroughputTable &table, std::vector<std::string> types)
      : measured(measuredRates(table)), types(std::move(types)) {}

  /// Logarithms of the rates of an application with a gang, by type of the cluster.
  std::shared_ptr<const prediction::Normal> logRates(const std::string &application, unsigned gang);

private:
  std::vector<MeasuredRate> measured;
  std::vector<std::string> types;
  std::map<std::string, RatePredictor> byFamily; ///< without the family's own rates
  std::map<std::pair<std::string, unsigned>, std::shared_ptr<const prediction::Normal>> known;
};

/// A steady job that progresses as it was measured. To policies, a type has its measured rate from its first run there
/// on, and before it the median of its predicted one, given those that were measured. Types on which it does not fit
/// are known: memory is computed, not measured. Before its first run, ratios of rates alone are predicted.
class PredictedProgress final : public SteadyProgress {
public:
  PredictedProgress(const SteadyJob &job, std::shared_ptr<const prediction::Normal> logRates, bool wholeSteps);

  void place(const Cluster &cluster, const JobPlacement &placement) override;
  double rate(const Cluster &cluster, unsigned type, unsigned devices) const override;
  bool knowsSpeed() const override { return !seen->types.empty(); }
  /// What was seen of its rates is not lost with the work.
  std::unique_ptr<JobProgress> copy() const override { return std::make_unique<PredictedProgress>(*this); }

private:
  struct Seen {
    std::vector<size_t> types;
    std::vector<double> logRates;
    std::vector<double> rates; ///< by type: measured or predicted
  };
  std::shared_ptr<const prediction::Normal> prior;
  std::shared_ptr<Seen> seen; ///< shared with its checkpoints
};

/// The jobs as the simulator takes them. Each progress is a `PredictedProgress`.
std::vector<SimulatedJob> predictedJobs(const std::vector<SteadyJob> &jobs, PredictedSpeeds &speeds,
                                        bool wholeSteps = false);

} // namespace accord::jobs
