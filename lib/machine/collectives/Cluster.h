// Equal servers with equal devices, and the networks between them, as plain data.
#pragma once
#include "lib/machine/collectives/Network.h"
#include <map>
#include <optional>

namespace accord {

/// The processor side of a server; 0 where nothing is stated.
struct Host {
  Bytes memory;
  BytesPerSecond memoryBandwidth, storage;
  int64_t cpuCores = 0;
  Watts power;
};

struct Cluster {
  std::string name;
  Machine machine; ///< one device
  int64_t devicesPerNode = 1, servers = 1;
  /// Innermost level first: the devices of a server, then the servers. Levels of one endpoint are
  /// left out.
  Fabric fabric;
  Host host;
  double pricePerHour = 0;              ///< of one device, in dollars; 0 where no rent is stated
  std::map<std::string, double> keys;   ///< what the cluster says of itself, by key, in base units
  std::vector<std::string> assumptions; ///< every default that changes a number, in words
  SourceLocation location;
};

/// A cluster of one or several kinds of devices: a group each, with what its own devices exchange
/// data over, and what connects servers of different groups.
struct ClusterGroups {
  std::string name;
  std::vector<Cluster> groups;
  std::optional<Network> between; ///< nothing where there is one group
  SourceLocation location;
};

} // namespace accord
