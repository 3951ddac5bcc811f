// What the devices of a sharded step send to each other.
#pragma once
#include "dialects/dnn/Dnn.h"
#include <map>
#include <string>

namespace accord::shard {

/// The collectives of one kind on one axis. Bytes are of one device and one execution, summed over executions
/// (iterations of repeats are counted).
struct CollectiveTraffic {
  int64_t count = 0;
  int64_t payload = 0; ///< the whole tensor: what is reduced, or what all parts together are
  /// Sent by each device with ring algorithms: all-reduce 2 (n-1)/n payload; all-gather, reduce-scatter and all-to-all
  /// (n-1)/n payload (Thakur et al., 2005; Patarasuk and Yuan, 2009).
  int64_t sent = 0;
};
struct CollectiveKey {
  std::string axis;    ///< "tensor"
  std::string kind;    ///< "all_reduce"
  std::string where;   ///< the label of the innermost repeat, "" outside
  bool update = false; ///< in the optimizer step: once per step, not per micro-batch
  auto operator<=>(const CollectiveKey &) const = default;
};
using Traffic = std::map<CollectiveKey, CollectiveTraffic>;

/// Of one micro-batch of `batch` samples per device, and of one optimizer step; nullopt past 2^63.
std::optional<Traffic> trafficOf(dnn::TrainingGraphOp graph, int64_t batch);

} // namespace accord::shard
