#include "lib/driver/jobs/PoolClusters.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

/// Prime factors, the largest first.
std::vector<int64_t> primesOf(int64_t n) {
  std::vector<int64_t> primes;
  for (int64_t p = 2; p <= n / p; ++p)
    for (; n % p == 0; n /= p)
      primes.push_back(p);
  if (n > 1)
    primes.push_back(n);
  std::sort(primes.rbegin(), primes.rend());
  return primes;
}

/// Extents whose product is `endpoints`: each prime factor goes to the smallest extent that has room for it.
std::vector<int64_t> shapeOf(const std::vector<int64_t> &described, int64_t endpoints) {
  std::vector<int64_t> shape(described.size(), 1);
  for (int64_t prime : primesOf(endpoints)) {
    auto order = [&](size_t d) { return std::pair(shape[d] > described[d] / prime, shape[d]); };
    size_t best = 0;
    for (size_t d = 1; d < shape.size(); ++d)
      if (order(d) < order(best))
        best = d;
    shape[best] *= prime;
  }
  return shape;
}

Network resized(Network network, int64_t endpoints) {
  if (endpoints != network.endpoints && !network.shape.empty())
    network.shape = shapeOf(network.shape, endpoints);
  network.endpoints = endpoints;
  return network;
}

Error wrong(const Cluster &cluster, std::string message) {
  return {Code::WrongJobsBlock, std::move(message), cluster.location};
}

} // namespace

Result<Cluster> resizedCluster(const Cluster &cluster, int64_t devicesPerServer, int64_t servers) {
  if (devicesPerServer < 1 || servers < 1)
    return wrong(cluster,
                 fmt::format("{} servers of {} devices are not at least 1 of at least 1", servers, devicesPerServer));
  const std::vector<Network> &levels = cluster.fabric.levels;
  const Network *within = cluster.devicesPerNode > 1 && !levels.empty() ? &levels.front() : nullptr;
  const Network *among = cluster.servers > 1 && !levels.empty() ? &levels.back() : nullptr;
  if (devicesPerServer > 1 && !within)
    return wrong(cluster, fmt::format("{} devices in a server of '{}' have no network: it describes servers of one",
                                      devicesPerServer, cluster.name));
  if (servers > 1 && !among)
    return wrong(cluster,
                 fmt::format("{} servers of '{}' have no network: it describes one server", servers, cluster.name));
  Cluster made = cluster;
  made.fabric.levels.clear();
  if (devicesPerServer > 1)
    made.fabric.levels.push_back(resized(*within, devicesPerServer));
  if (servers > 1)
    made.fabric.levels.push_back(resized(*among, servers));
  if (Errors errors = check(made.fabric); !errors.empty())
    return errors.front();
  double share = static_cast<double>(devicesPerServer) / static_cast<double>(cluster.devicesPerNode);
  if (devicesPerServer != cluster.devicesPerNode) {
    made.host.memory = Bytes(cluster.host.memory.value * share);
    made.host.memoryBandwidth = BytesPerSecond(cluster.host.memoryBandwidth.value * share);
    made.host.storage = BytesPerSecond(cluster.host.storage.value * share);
    made.host.power = Watts(cluster.host.power.value * share);
    made.host.cpuCores = std::llround(std::min(static_cast<double>(cluster.host.cpuCores) * share, 0x1p53));
  }
  made.devicesPerNode = devicesPerServer, made.servers = servers;
  return made;
}

} // namespace accord
