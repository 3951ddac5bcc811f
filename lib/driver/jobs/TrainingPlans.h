// Plans of one training on different numbers of devices of different types: rows of configuration tables.
#pragma once
#include "lib/driver/Options.h"
#include "lib/machine/energy/PowerLevel.h"
#include "lib/support/Result.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace accord {
class FabricCaches;
namespace jobs {
struct LaunchPlan;
struct NoisyTraining;
} // namespace jobs

/// Equal servers with devices of one type, whose networks are those of a cluster of the catalogue or of a file.
struct DevicePool {
  std::string cluster;          ///< that describes servers and networks: a name, FILE, or FILE:NAME
  std::string deviceType;       ///< its group; empty: it has one
  int64_t devicesPerServer = 0; ///< 0: as the cluster says
  int64_t servers = 0;          ///< 0: as the cluster says
  PowerLevel level = {};        ///< of its devices; without a name: as they are described
};

/// The best plan of a training on a number of devices of a pool.
struct DeviceCountPlan {
  int64_t devices = 1, servers = 1;
  bool fits = false;
  std::string reason;                         ///< why there is no plan
  double step = 0, stepLow = 0, stepHigh = 0; ///< seconds, with the 90 % interval
  double gap = 0;                             ///< of the search, a share
  double memory = 0;                          ///< bytes of the fullest device
  double watts = 0;                           ///< of all devices and hosts, on average
  double checkpoint = 0;                      ///< bytes
  std::string plan;                           ///< its parallelism, in words
  int64_t accumulation = 0;                   ///< micro-batches of a step
  /// The same for launchers.
  std::shared_ptr<const jobs::LaunchPlan> launch;
};

class TrainingPlans {
public:
  /// A `train` block (or a model) of a file, which `options` name. `networks`: shared with those of other trainings.
  explicit TrainingPlans(const Options &options, std::shared_ptr<FabricCaches> networks = {});
  ~TrainingPlans();

  /// Reads the file. False after errors, which are reported.
  bool prepare();
  /// Samples of a step, and of the whole training (0: not stated).
  int64_t batch() const;
  double samples() const;
  /// "adam".
  std::string optimizer() const;
  /// Tokens of a sample, where the model says so.
  std::optional<int64_t> sequence() const;
  /// What of the training says something about its gradient noise, where a pass over its data has so many samples. A
  /// model whose samples have tokens is of language, one with convolutions of vision, another one with tables of
  /// embeddings a recommender.
  jobs::NoisyTraining describe(double samples);
  /// The best plan for each number of devices, as many as `counts`, of a step of `batch` samples (0: as the training
  /// says). Nothing after errors, which are reported. At a power level, a number that was planned without one has the
  /// best plan of the degrees, micro-batches and stages of ZeRO of that plan and of the few others with the lowest
  /// bounds: what fits in memory is the same, and nothing else is priced again. A level with a cap has the highest
  /// clock at which the average power of a device over the step keeps it (`highestClockUnder`), another one for each
  /// number.
  std::optional<std::vector<DeviceCountPlan>> on(const DevicePool &pool, const std::vector<int64_t> &counts,
                                                 int64_t batch = 0);
  /// What was assumed, each once.
  const std::vector<std::string> &assumptions() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace accord
