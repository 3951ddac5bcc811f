// What an actor sees of a round, and the weights that it gives to jobs.
#pragma once
#include "lib/jobs/actor/ActorNetwork.h"
#include "lib/jobs/simulate/AllocationPolicy.h"

namespace accord::jobs {

/// A weight is between exp(-kMaxLogWeight) and exp(kMaxLogWeight).
constexpr double kMaxLogWeight = 1;

/// What an actor sees of a round. None of it is more than a policy sees that does not know the work of jobs, and none
/// depends on how many jobs, servers or device types there are, so one actor fits any cluster.
struct Observation {
  ActorTensor jobs;    ///< a row for each job, columns as `jobFeatureNames`
  ActorTensor cluster; ///< one row, columns as `clusterFeatureNames`
};

/// Names of the features, in their order, with units.
const std::vector<std::string> &jobFeatureNames();
const std::vector<std::string> &clusterFeatureNames();

Observation observe(const RoundView &round);

/// Weighs jobs by a network: exp of its answer, which is clamped to +-kMaxLogWeight.
class ActorWeigher : public JobWeigher {
public:
  /// The network takes the features of `observe`. Error A1101 if it takes others.
  static Result<std::shared_ptr<ActorWeigher>> make(ActorNetwork network);
  Result<std::vector<double>> weigh(const RoundView &round) override;

private:
  explicit ActorWeigher(ActorNetwork network) : network(std::move(network)) {}
  ActorNetwork network;
};

/// exp of each number, clamped to +-kMaxLogWeight.
std::vector<double> boundedWeights(std::vector<double> logarithms);

} // namespace accord::jobs
