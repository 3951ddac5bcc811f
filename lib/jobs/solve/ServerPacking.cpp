#include "lib/jobs/solve/ServerPacking.h"
#include <algorithm>
#include <optional>

namespace accord::jobs {
namespace {

class ServerPacker {
public:
  ServerPacker(const Cluster &cluster, const std::vector<PackingRequest> &requests)
      : cluster(cluster), requests(requests), placements(requests.size()) {
    for (const Server &server : cluster.servers)
      free.push_back(server.devices);
    holders.resize(free.size());
  }

  std::vector<JobPlacement> pack() {
    std::vector<size_t> waiting;
    for (size_t i = 0; i < requests.size(); ++i)
      if (stays(i))
        assign(i, requests[i].previous);
      else if (requests[i].devices > 0 && requests[i].type < cluster.types.size())
        waiting.push_back(i);
    // Larger jobs first; what they move is smaller and comes later.
    auto comesLater = [&](size_t a, size_t b) {
      return std::pair(requests[a].devices, b) < std::pair(requests[b].devices, a);
    };
    std::make_heap(waiting.begin(), waiting.end(), comesLater);
    while (!waiting.empty()) {
      std::pop_heap(waiting.begin(), waiting.end(), comesLater);
      const size_t job = waiting.back();
      waiting.pop_back();
      for (size_t moved : place(job)) {
        waiting.push_back(moved);
        std::push_heap(waiting.begin(), waiting.end(), comesLater);
      }
    }
    return std::move(placements);
  }

private:
  bool stays(size_t job) const {
    const PackingRequest &request = requests[job];
    return request.devices > 0 && devicesOf(request.previous) == request.devices &&
           std::all_of(request.previous.begin(), request.previous.end(), [&](const ServerShare &share) {
             return share.server < free.size() && cluster.servers[share.server].type == request.type &&
                    share.devices <= free[share.server];
           });
  }

  void assign(size_t job, JobPlacement placement) {
    for (const ServerShare &share : placement) {
      free[share.server] -= share.devices;
      holders[share.server].push_back(job);
    }
    placements[job] = std::move(placement);
  }

  void release(size_t job) {
    for (const ServerShare &share : placements[job]) {
      free[share.server] += share.devices;
      std::erase(holders[share.server], job);
    }
    placements[job].clear();
  }

  /// Jobs of fewer than `devices` devices on a server, and how many devices they hold there.
  unsigned heldBySmaller(unsigned server, unsigned devices) const {
    unsigned held = 0;
    for (size_t i : holders[server])
      if (requests[i].devices < devices)
        for (const ServerShare &share : placements[i])
          held += share.server == server ? share.devices : 0;
    return held;
  }

  /// Servers of the job's type with room for `devices` of it, if smaller jobs of the server move away: first those from
  /// which the fewest devices move, then those on which the least remains free, then by number.
  std::vector<unsigned> serversFor(size_t job, unsigned devices) const {
    struct Option {
      unsigned moved, left, server;
      auto operator<=>(const Option &) const = default;
    };
    std::vector<Option> options;
    for (unsigned server = 0; server < free.size(); ++server) {
      if (cluster.servers[server].type != requests[job].type || cluster.servers[server].devices < devices)
        continue;
      if (free[server] >= devices)
        options.push_back({0, free[server] - devices, server});
      else if (unsigned held = heldBySmaller(server, requests[job].devices); free[server] + held >= devices)
        options.push_back({devices - free[server], free[server] + held - devices, server});
    }
    std::sort(options.begin(), options.end());
    std::vector<unsigned> servers;
    for (const Option &option : options)
      servers.push_back(option.server);
    return servers;
  }

  /// Moves smaller jobs away from a server until `devices` are free there, larger ones of them first.
  void makeRoom(size_t job, unsigned server, unsigned devices, std::vector<size_t> &moved) {
    std::vector<size_t> smaller;
    for (size_t i : holders[server])
      if (requests[i].devices < requests[job].devices)
        smaller.push_back(i);
    std::sort(smaller.begin(), smaller.end(), [&](size_t a, size_t b) {
      return std::pair(requests[a].devices, a) < std::pair(requests[b].devices, b);
    });
    while (free[server] < devices && !smaller.empty()) {
      // The smallest job that is enough; if none is, the largest.
      const unsigned missing = devices - free[server];
      auto enough =
          std::find_if(smaller.begin(), smaller.end(), [&](size_t i) { return requests[i].devices >= missing; });
      auto chosen = enough != smaller.end() ? enough : std::prev(smaller.end());
      release(*chosen);
      moved.push_back(*chosen);
      smaller.erase(chosen);
    }
  }

  /// Returns the jobs that have to be placed again.
  std::vector<size_t> place(size_t job) {
    std::vector<size_t> moved;
    JobPlacement placement;
    auto take = [&](unsigned server, unsigned devices) {
      makeRoom(job, server, devices, moved);
      placement.push_back({server, devices});
    };
    unsigned left = requests[job].devices;
    if (auto servers = serversFor(job, left); !servers.empty()) {
      take(servers.front(), left);
      left = 0;
    }
    // Whole servers: the largest that are needed whole, then the rest on one more.
    while (left > 0) {
      unsigned largest = 0;
      std::optional<unsigned> chosen;
      for (unsigned size : sizesUpTo(requests[job].type, left))
        if (!chosen)
          for (unsigned server : serversFor(job, size))
            if (std::none_of(placement.begin(), placement.end(), [&](auto &share) { return share.server == server; })) {
              chosen = server, largest = size;
              break;
            }
      if (!chosen)
        return moved; // what was moved for nothing is placed again, where it was or elsewhere
      take(*chosen, largest);
      left -= largest;
      if (left > 0)
        if (auto rest = restServer(job, left, placement)) {
          take(*rest, left);
          left = 0;
        }
    }
    assign(job, std::move(placement));
    return moved;
  }

  /// A server beside those of `placement` that can hold the rest of a job.
  std::optional<unsigned> restServer(size_t job, unsigned devices, const JobPlacement &placement) const {
    for (unsigned server : serversFor(job, devices))
      if (std::none_of(placement.begin(), placement.end(), [&](auto &share) { return share.server == server; }))
        return server;
    return std::nullopt;
  }

  /// Sizes of the type's servers, descending, each once, at most `devices`.
  std::vector<unsigned> sizesUpTo(unsigned type, unsigned devices) const {
    std::vector<unsigned> sizes;
    for (const Server &server : cluster.servers)
      if (server.type == type && server.devices > 0 && server.devices <= devices)
        sizes.push_back(server.devices);
    std::sort(sizes.rbegin(), sizes.rend());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return sizes;
  }

  const Cluster &cluster;
  const std::vector<PackingRequest> &requests;
  std::vector<JobPlacement> placements;
  std::vector<unsigned> free;               ///< devices of each server
  std::vector<std::vector<size_t>> holders; ///< of each server, jobs with devices on it
};

} // namespace

std::vector<JobPlacement> packServers(const Cluster &cluster, const std::vector<PackingRequest> &requests) {
  return ServerPacker(cluster, requests).pack();
}

} // namespace accord::jobs
