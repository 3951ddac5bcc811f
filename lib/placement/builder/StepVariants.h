// The steps that a placement problem is made of: instantiated, priced on one device, or known from elsewhere.
#pragma once
#include "lib/placement/builder/PlacementProblemBuilder.h"
#include <memory>
#include <mutex>

namespace accord {
class PriceCache;

/// The step of one device that a parallel configuration's costs come from.
struct StepVariant {
  PlacementSpace::TensorSharding sharding;
  int64_t microbatch = 1;
  std::string recompute = "none";
  int64_t data = 1; ///< replicas, where they divide something
  PlacementSpace::ReplicaSharding replicaSharding;

  auto key() const {
    return std::tie(sharding, microbatch, recompute, data, replicaSharding.experts, replicaSharding.tables);
  }
  friend bool operator<(const StepVariant &a, const StepVariant &b) { return a.key() < b.key(); }
};
/// The axes along which its devices exchange data, innermost first.
std::vector<Axis> axesOf(const StepVariant &step);
Result<WorkGraph> instantiated(const PlacementProblemRequest &request, const StepVariant &step);

struct PricedVariant {
  Costs costs;
  Schedule schedule;
};
/// On a device of the group, scheduled without search and without bounds. `prices`: as `EstimateOptions::prices`.
Result<PricedVariant, Errors> priceStep(const WorkGraph &graph, const PlacementProblemRequest &request,
                                        const Cluster &group, const StepVariant &step, PriceCache *prices = nullptr);

/// What replicas of a stage exchange.
struct ReplicaCommunication {
  std::vector<AlphaBetaModel> allReduce, scatter, gather; ///< the latter two if `divided`
};

/// Traffic among devices, found once for many problems on the same clusters; safe to share between threads.
class CommunicationCache {
public:
  /// `between`: stages whose devices are between one replica and the next.
  Result<const ReplicaCommunication *> find(const Cluster &group, PlacementProblem::Id deviceType, int64_t tensor,
                                            int64_t data, bool divided, int64_t between);

private:
  std::mutex mutex_;
  std::map<std::array<int64_t, 5>, std::unique_ptr<const ReplicaCommunication>> known_;
};

/// One cache for each fabric, of problems of several jobs on equal ones: names and places in files make no difference.
/// Safe to share between threads; references stay valid.
class FabricCaches {
public:
  CommunicationCache &of(const Fabric &fabric);

private:
  std::mutex mutex_;
  std::vector<std::pair<Fabric, std::unique_ptr<CommunicationCache>>> known_;
};

/// Work graphs by step, and whether it adds up gradients of several micro-batches, which are the same on all devices
/// that a job may run on with one framework. Not for several threads.
class StepGraphs {
public:
  Result<std::shared_ptr<const WorkGraph>> of(const PlacementProblemRequest &request, const StepVariant &step);

private:
  std::map<std::pair<StepVariant, bool>, std::shared_ptr<const WorkGraph>> known_;
};

/// What layers take by step, kept between problems of one job whose devices differ in nothing but their number, and
/// whose batches do only where no gradient has rows of its own: these are as many as a batch looks up. Each step is
/// instantiated and priced once. What is assumed for a price is told by the first problem. Not for several threads.
class StepUses {
public:
  struct Structure {
    std::shared_ptr<const WorkGraph> work; ///< of one device, one sample at a time, nothing computed again
    Layering layering;
  };
  std::optional<Structure> structure;
  const std::shared_ptr<PriceCache> prices; ///< of operations on the device, which many steps have
  StepGraphs &graphs;

  explicit StepUses(StepGraphs &graphs);
  /// By class of the layering; null where they are not known on a device of this group.
  const std::vector<LayerUse> *find(const PlacementProblemRequest &request, const Cluster &group,
                                    const StepVariant &step) const;
  void keep(const PlacementProblemRequest &request, const Cluster &group, const StepVariant &step,
            std::vector<LayerUse> uses);

private:
  /// The step, whether it has several micro-batches, and what of the group it depends on: nothing where one device runs
  /// it alone, or devices on a switch; the devices of a server where they share it, else those of all servers.
  using Key = std::tuple<StepVariant, bool, std::pair<int64_t, int64_t>>;
  static Key keyOf(const PlacementProblemRequest &request, const Cluster &group, const StepVariant &step);
  std::map<Key, std::vector<LayerUse>> known_;
};

/// What a placement problem takes from elsewhere instead of instantiating and pricing steps: for many problems of one
/// job on one group of devices that differ.
struct PlacementProblemCache {
  const WorkGraph *work = nullptr; ///< of one device, one sample at a time, nothing computed again
  const Layering *layering = nullptr;
  /// By class of the layering; null: the step is left out.
  std::function<const std::vector<LayerUse> *(const StepVariant &)> uses;
  CommunicationCache *networks = nullptr;
};

/// As `buildPlacementProblem`, with what is known.
Result<BuiltPlacementProblem, Errors> buildPlacementProblem(const PlacementProblemRequest &request,
                                                            const PlacementProblemCache &known);

} // namespace accord
