// One job's placements on a cluster of any devices: the best there is, and in less than a
// millisecond what none of them is below.
#pragma once
#include "lib/exploration/problem/MiningCertificate.h"
#include "lib/exploration/steps/StepWork.h"
#include "lib/placement/builder/StepVariants.h"
#include <atomic>
#include <memory>

namespace accord {

/// Steps of one job on one device, and what their operations are priced at, which clusters share that differ in what
/// connects their devices. Not for several threads while works are made of it.
struct SharedSteps;

struct PlacedJob {
  std::string name;
  PlacementProblemRequest request; ///< one group of devices, whose machine is replaced
  /// Where layers may be, put into the problem; called by one thread at a time. Empty: anywhere.
  std::function<bool(PlacementProblem &)> pin;
  /// Bytes of a device's memory that a placement may use, no less on a machine with more; as `pin`.
  /// Empty: as the request says.
  std::function<double(const Machine &)> memory;
  /// Ends `best` and `tightenBound` with what is known then.
  const std::atomic<bool> *stop = nullptr;
  /// Steps of other clusters, if the requests instantiate the same; gets what it has not. Null: none.
  std::shared_ptr<SharedSteps> steps = nullptr;
};

/// The best placement on one machine.
struct PlacedBest {
  double value = 0; ///< of the request's objective, as `place` has it; infinite: none
  double bound = 0; ///< no placement is worth less
  std::optional<Placement> plan;
  PlanMetrics metrics;
  PlacementProblem::ParallelConfig parallelConfig;  ///< of the plan's stages
  std::map<std::string, int64_t> recomputePolicies; ///< layers by policy
};

/// Layers by what of them is computed again.
std::map<std::string, int64_t> recomputedLayers(const PlacementProblem &problem, const Placement &plan);
/// Words and numbers of a placement, but for the job's own best value.
MinedStep minedStep(const std::string &job, int64_t batch, const PlacedBest &best);

/// Safe to share between threads. Steps are instantiated once; what is priced is kept by all of a
/// machine that it follows from, which is not the capacity of device memory.
class PlacedWork {
public:
  /// `most`: the machine with the most of everything. Issues: those of `offer` on it; A0705 for
  /// several kinds of devices and for times that are a calibration's.
  static Result<std::unique_ptr<PlacedWork>, Errors> of(PlacedJob job, const Machine &max);
  ~PlacedWork();
  const PlacedJob &job() const;
  const Fabric &fabric() const; ///< of its request
  static std::shared_ptr<SharedSteps> sharedSteps();

  // Those below that take a fabric are of a cluster with this one instead, of as many devices. Null: its own.

  /// What no placement is worth less than; not `options.exact`: on no machine with no more of
  /// anything. From the closed forms of operations (`StepWork::times`) and layers as fine as they
  /// may be on any machine; networks, traffic and residents are those of the placements.
  double bound(const Machine &machine, const StepBoundOptions &options, const Fabric *fabric = nullptr) const;
  /// The same of one machine, with operations as they are priced there, by `place`; any number of networks that are no
  /// better may be bounded together (`ClusterSpace::fabric`).
  double placedBound(const Machine &machine, const Fabric *fabric = nullptr) const;
  /// The same with steps priced and scheduled, as far as the least of them need it.
  double tightenBound(const Machine &machine, const Fabric *fabric = nullptr) const;
  /// By `place`; only what is below `below` is of use.
  PlacedBest best(const Machine &machine, double below, const Fabric *fabric = nullptr) const;
  /// Where placements may be, for a certificate: with room in device memory for each of the
  /// capacities. Energy has no limit.
  CertificateCluster claimed(const std::vector<double> &capacities, const Fabric *fabric = nullptr) const;
  /// The problems of `best` with only such forms, one for each share and micro-batch; energy has no
  /// limit there, and layers may be anywhere.
  std::vector<PlacementProblem> problems(const Machine &machine,
                                         const std::vector<PlacementProblem::ParallelConfig> &parallelConfigs) const;
  std::string digest() const; ///< sizes of the job and its steps

  /// The problem that `bound` bounds: no layer takes less time or memory, in layers as fine as they
  /// may be on any machine (`MinLayerUse`). Nothing: there is none. `alone`: only of one replica.
  std::optional<PlacementProblem> minimal(const Machine &machine, const StepBoundOptions &options,
                                          bool alone = false) const;
  /// The problem that `best` solves, of one share of operations and one micro-batch size.
  std::optional<PlacementProblem> priced(const Machine &machine, const PlacementSpace::TensorSharding &sharding,
                                         int64_t microbatch) const;

private:
  struct Data;
  explicit PlacedWork(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

} // namespace accord
