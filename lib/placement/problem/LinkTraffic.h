// What the devices of a plan send over which links in one step, as plain data.
#pragma once
#include "lib/placement/problem/Placement.h"
#include <array>

namespace accord {

struct LinkTraffic {
  /// What it is sent for.
  /// - `Tensor`: devices that share operations; `Context`: those that share a sample along its sequence
  /// - `Expert`: tokens to the experts that other devices have, and back; `Tables`: rows of divided embedding tables
  /// - `Data`: gradients of replicas, and what ZeRO gathers; `Pipeline`: activations between stages, their gradients,
  ///   and gradients of parameters that two stages have in common; `Host`: what is in the host's memory
  enum class Kind : uint8_t { Tensor, Context, Expert, Tables, Data, Pipeline, Host };
  static constexpr size_t kKinds = 7;

  /// Equal links of one device type: a level of its fabric, what connects its servers with those of other types, or
  /// what connects a device with its host.
  struct Link {
    std::string name;
    PlacementProblem::Id deviceType = 0;
    int64_t devices = 1;  ///< that share one: 1, or those of a server
    double bandwidth = 0; ///< of one in one direction, bytes/s, as far as long messages reach it
  };
  /// Bytes that each device of a group sends over links in one step, the mean over its devices; of `Host` what comes
  /// from the host, which is not less than what goes there.
  struct Flow {
    uint32_t group = 0;
    Kind kind = Kind::Tensor;
    uint32_t link = 0;
    double bytes = 0;
  };
  std::vector<Link> links;
  std::vector<Flow> flows; ///< by group, kind, link; none of no bytes
};

/// "tensor", "context", "expert", "tables", "data", "pipeline", "host"
inline const char *name(LinkTraffic::Kind kind) {
  constexpr std::array names{"tensor", "context", "expert", "tables", "data", "pipeline", "host"};
  return names[static_cast<size_t>(kind)];
}

} // namespace accord
