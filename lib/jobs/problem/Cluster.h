// Servers that several jobs share, and where the devices of a job are: plain data.
#pragma once
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace accord::jobs {

/// A server holds devices of one type.
struct Server {
  unsigned type = 0;    ///< index into `Cluster::types`
  unsigned devices = 0; ///< that it has
};

struct Cluster {
  std::vector<std::string> types; ///< names of the device types, for example "v100"
  std::vector<Server> servers;

  /// Devices of the largest server of a type; 0 where there is none.
  unsigned largestServer(unsigned type) const {
    unsigned largest = 0;
    for (const Server &server : servers)
      if (server.type == type && server.devices > largest)
        largest = server.devices;
    return largest;
  }
  int64_t devices() const {
    int64_t total = 0;
    for (const Server &server : servers)
      total += server.devices;
    return total;
  }
  /// Devices of each type.
  std::vector<int64_t> capacity() const {
    std::vector<int64_t> total(types.size(), 0);
    for (const Server &server : servers)
      total[server.type] += server.devices;
    return total;
  }
};

/// A server that is not there in the slots from `begin` up to `end`, which do not include that.
struct ServerAbsence {
  unsigned server = 0; ///< index into `Cluster::servers`
  int64_t begin = 0, end = 0;
  auto operator<=>(const ServerAbsence &) const = default;
};

/// Devices of one server that a job uses.
struct ServerShare {
  unsigned server = 0;  ///< index into `Cluster::servers`
  unsigned devices = 0; ///< of it, at least 1
  bool operator==(const ServerShare &) const = default;
};

/// The devices of one job, in the order of its ranks. Each server stands there once; empty: the job does not run.
using JobPlacement = std::vector<ServerShare>;

/// Devices of a placement.
inline unsigned devicesOf(const JobPlacement &placement) {
  unsigned total = 0;
  for (const ServerShare &share : placement)
    total += share.devices;
  return total;
}

} // namespace accord::jobs
