// What a plan of a cluster says of each rank, as plain data: where its time goes in a step, and what it exchanges.
#pragma once
#include "lib/comparison/problem/Communication.h"
#include <array>
#include <map>
#include <string>
#include <vector>

namespace accord::comparison {

/// Where the time of a rank goes in a step. Of a plan and of a measured step they add up to the step. Passes are with
/// the exposed collectives inside of layers, as a plan has them.
enum class StepShare : uint8_t {
  Forward,
  Backward, ///< both gradients
  Recompute,
  Update,
  Computation,    ///< of a trace that does not say which: kernels of no known call
  StageMessages,  ///< exposed: activations and gradients between stages
  Replicas,       ///< exposed: gradients, and weights that replicas divide
  OtherExchanges, ///< exposed: what the plan does not have
  Host,           ///< the device waits for the host: launches, loading, copies
  StageWaits,     ///< the bubble: waiting for another stage
  RankWaits,      ///< waiting for a slower rank in a collective
  Unexplained
};
constexpr unsigned kStepShares = 12;
inline const char *nameOf(StepShare share) {
  constexpr const char *names[kStepShares] = {"forward",
                                              "backward",
                                              "recomputation",
                                              "update",
                                              "computation",
                                              "messages between stages",
                                              "exchange among replicas",
                                              "exchanges the plan lacks",
                                              "host",
                                              "waiting for stages (bubble)",
                                              "waiting for slower ranks",
                                              "not explained"};
  return names[static_cast<unsigned>(share)];
}
using ShareSeconds = std::array<double, kStepShares>;

/// What ranks exchange something for.
enum class Purpose : uint8_t { Tensor, Context, Experts, Stages, Replicas, Unplanned };
constexpr unsigned kPurposes = 6;
inline const char *nameOf(Purpose purpose) {
  constexpr const char *names[kPurposes] = {"tensor parallelism",      "context parallelism",   "experts",
                                            "messages between stages", "gradients and weights", "not in the plan"};
  return names[static_cast<unsigned>(purpose)];
}

/// What a rank exchanges for one purpose.
struct PlannedExchange {
  Purpose purpose = Purpose::Replicas;
  std::vector<int64_t> ranks; ///< that take part, ascending, with its own
  /// Bytes of a step by kind: of whole tensors, of messages in and out. 0: that kind is used, its size is not known.
  std::map<CommunicationKind, int64_t> bytes;
  double seconds = 0; ///< of a step, hidden or not; 0: it is in the time of the passes
  double exposed = 0; ///< of `seconds`, what nothing hides
};

struct PlannedRank {
  int64_t rank = 0;
  int64_t stage = 0; ///< device group, from 0
  int64_t replica = 0, tensor = 0;
  std::string device;              ///< name of its type
  std::vector<std::string> layers; ///< "gpt_logits.block[0..11]"
  ShareSeconds shares{};           ///< of a step; collectives inside of layers are in the passes
  std::vector<PlannedExchange> exchanges;
};

struct PlannedCluster {
  std::string job, model, cluster;
  double seconds = 0; ///< of the step
  int64_t stages = 1, replicas = 1, tensor = 1, microbatches = 1;
  int64_t devicesPerNode = 1;                 ///< of the first device type
  std::vector<PlannedRank> ranks;             ///< by number
  std::map<std::string, std::string> columns; ///< what a row of measured steps says of it
};

} // namespace accord::comparison
