// Servers for all runs of one device type together, with their ends in view: depth first, then by ejections.
#pragma once
#include "lib/jobs/schedule/JobPlacer.h"
#include <optional>

namespace accord::jobs {

class RunSearch {
public:
  struct Found {
    std::vector<JobPlacement> placements; ///< of each member; empty where it has no place
    bool through = false;                 ///< it is proved that not all have a place
  };

  /// Devices of a server that nobody may use in the slots from `begin` up to `end`.
  struct Blocked {
    ServerShare share;
    int64_t begin = 0, end = 0;
  };

  /// `members`: requests of one device type that the cluster has, each of at least 1 device and 1 slot.
  RunSearch(const Cluster &cluster, const std::vector<RunRequest> &requests, const std::vector<size_t> &members,
            const std::vector<Blocked> &blocked);

  /// `preferred`: where the job of each member was before its first run. `before`: the request before each request of
  /// the same job, or -1.
  Found find(const std::vector<JobPlacement> &preferred, const std::vector<int64_t> &before);

private:
  /// A decision: which server gives the next devices of a member.
  struct Level {
    size_t at = 0;     ///< in `order`
    unsigned left = 0; ///< devices that the member still needs
    std::vector<ServerShare> options;
    size_t next = 0;
  };
  enum class Outcome { Complete, Through, Stopped };

  /// Runs that leave a server so that another one has room there, and how dear that is.
  struct Ejection {
    int64_t cost = 0;
    std::vector<size_t> members;
    unsigned server = 0;
    bool operator<(const Ejection &other) const;
  };

  Outcome descend();
  void fill();
  bool fit(size_t member);
  void eject(int64_t budget);
  bool placeByEjection(size_t member, std::vector<size_t> &waiting);
  std::optional<Ejection> ejectionFrom(size_t server, size_t member, unsigned devices);
  int64_t missing() const;
  std::vector<ServerShare> optionsFor(size_t member, unsigned left);
  void use(size_t member, ServerShare share);
  void release(size_t member);
  unsigned freeOn(size_t server, size_t member);
  bool alike(size_t a, size_t b, size_t fromCell) const;
  const JobPlacement &near(size_t member) const;
  bool isOverfull() const;
  void clear();

  const Cluster &cluster;
  const std::vector<RunRequest> &requests;
  const std::vector<size_t> &members;
  const std::vector<Blocked> &blocked;
  std::vector<int64_t> times;                      ///< at which cells begin, and the last ends
  std::vector<unsigned> servers;                   ///< of the type
  std::vector<std::pair<size_t, size_t>> span;     ///< cells of each member
  size_t cells = 0;                                ///< between all begins and ends
  std::vector<std::vector<unsigned>> free;         ///< by server and cell
  std::vector<JobPlacement> placements, preferred; ///< of each member
  std::vector<int64_t> memberBefore;               ///< of each member, or -1
  std::vector<size_t> order;                       ///< in which members are placed
  bool byBegin = true;                             ///< whether `order` is by begin
  std::vector<std::vector<size_t>> holders;        ///< members with devices of each server; for ejections
  std::vector<int64_t> failures;                   ///< how often each member had no room
  int64_t steps = 0;                               ///< cells that may still be looked at
};

} // namespace accord::jobs
