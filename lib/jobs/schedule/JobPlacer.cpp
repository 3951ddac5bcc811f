#include "lib/jobs/schedule/JobPlacer.h"
#include "lib/jobs/problem/JobAnswer.h"
#include "lib/jobs/schedule/RunSearch.h"
#include "lib/jobs/solve/ServerPacking.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>

namespace accord::jobs {
namespace {

/// The run of the same job before each request; -1: none.
std::vector<int64_t> runsBefore(const std::vector<RunRequest> &requests) {
  std::map<std::pair<unsigned, std::pair<int64_t, size_t>>, size_t> ordered;
  for (size_t i = 0; i < requests.size(); ++i)
    ordered[{requests[i].job, {requests[i].begin, i}}] = i;
  std::vector<int64_t> before(requests.size(), -1);
  int64_t last = -1;
  for (const auto &[key, run] : ordered) {
    if (last >= 0 && requests[last].job == key.first)
      before[run] = last;
    last = static_cast<int64_t>(run);
  }
  return before;
}

/// Places runs of one device type, those of `members`, into `placements`.
class TypePlacer {
public:
  TypePlacer(const Cluster &cluster, const std::vector<RunRequest> &requests, std::vector<size_t> members,
             const std::vector<int64_t> &before, const std::vector<JobPlacement> &current,
             const std::vector<ServerAbsence> &absences, std::vector<JobPlacement> &placements)
      : cluster(cluster), requests(requests), members(std::move(members)), before(before), current(current),
        absences(absences), placements(placements) {
    std::sort(this->members.begin(), this->members.end(),
              [&](size_t a, size_t b) { return std::pair(requests[a].begin, a) < std::pair(requests[b].begin, b); });
  }

  /// Slot by slot; false if a run would have to move, or has no place.
  bool sweep() {
    std::vector<size_t> active;
    for (size_t at = 0; at < members.size();) {
      const int64_t slot = requests[members[at]].begin;
      std::erase_if(active, [&](size_t run) { return requests[run].end <= slot; });
      std::vector<PackingRequest> packing;
      const size_t old = active.size();
      for (size_t run : active)
        packing.push_back({requests[run].type, requests[run].devices, placements[run]});
      for (; at < members.size() && requests[members[at]].begin == slot; ++at) {
        active.push_back(members[at]);
        packing.push_back({requests[members[at]].type, requests[members[at]].devices, previous(members[at])});
      }
      std::vector<JobPlacement> packed = packServers(clusterFor(slot, active), packing);
      for (size_t i = 0; i < active.size(); ++i) {
        if (packed[i].empty() || (i < old && packed[i] != placements[active[i]]) ||
            (isHeld(active[i]) && packed[i] != current[requests[active[i]].job]))
          return false;
        placements[active[i]] = std::move(packed[i]);
      }
    }
    return true;
  }

  /// Where the job of a run was before it; empty: nowhere.
  JobPlacement previous(size_t run) const {
    if (before[run] >= 0)
      return placements[before[run]];
    return requests[run].job < current.size() ? current[requests[run].job] : JobPlacement{};
  }

  /// All runs together; those that stay keep their servers, unless some run has no place then. Returns what is proved
  /// of those without a place.
  bool search() {
    bool through = searchAround(/*hold=*/true);
    const std::vector<JobPlacement> held = placements;
    const int64_t missing = unplaced();
    if (missing > 0 && std::any_of(members.begin(), members.end(), [&](size_t run) { return isHeld(run); })) {
      through = searchAround(/*hold=*/false);
      if (unplaced() >= missing)
        placements = held;
    }
    return through;
  }

private:
  /// Whether a run goes on where its job is, on servers that are there for as long as it lasts.
  bool isHeld(size_t run) const {
    const RunRequest &request = requests[run];
    if (!request.stays || before[run] >= 0 || request.job >= current.size() ||
        devicesOf(current[request.job]) != request.devices)
      return false;
    return std::all_of(current[request.job].begin(), current[request.job].end(), [&](const ServerShare &share) {
      return share.server < cluster.servers.size() && cluster.servers[share.server].type == request.type &&
             share.devices <= cluster.servers[share.server].devices &&
             !isAbsent(share.server, request.begin, request.end);
    });
  }
  bool isAbsent(unsigned server, int64_t begin, int64_t end) const {
    return std::any_of(absences.begin(), absences.end(), [&](const ServerAbsence &one) {
      return one.server == server && one.begin < end && one.end > begin;
    });
  }
  /// The cluster without the devices of servers that are not there as long as some run that begins in a slot lasts.
  Cluster clusterFor(int64_t slot, const std::vector<size_t> &active) const {
    Cluster there = cluster;
    int64_t end = slot;
    for (size_t run : active)
      if (requests[run].begin == slot)
        end = std::max(end, requests[run].end);
    for (const ServerAbsence &one : absences)
      if (one.server < there.servers.size() && one.begin < end && one.end > slot)
        there.servers[one.server].devices = 0;
    return there;
  }
  int64_t unplaced() const {
    return std::count_if(members.begin(), members.end(), [&](size_t run) { return placements[run].empty(); });
  }

  bool searchAround(bool hold) {
    std::vector<RunSearch::Blocked> blocked;
    for (const ServerAbsence &one : absences)
      if (one.server < cluster.servers.size())
        blocked.push_back({{one.server, cluster.servers[one.server].devices}, one.begin, one.end});
    std::vector<size_t> searched;
    for (size_t run : members) {
      placements[run].clear();
      if (!hold || !isHeld(run)) {
        searched.push_back(run);
        continue;
      }
      placements[run] = current[requests[run].job];
      for (const ServerShare &share : placements[run])
        blocked.push_back({share, requests[run].begin, requests[run].end});
    }
    if (searched.empty())
      return false;
    std::vector<JobPlacement> preferred;
    for (size_t run : searched)
      preferred.push_back(before[run] >= 0                     ? placements[before[run]]
                          : requests[run].job < current.size() ? current[requests[run].job]
                                                               : JobPlacement{});
    RunSearch search(cluster, requests, searched, blocked);
    RunSearch::Found found = search.find(preferred, before);
    for (size_t i = 0; i < searched.size(); ++i)
      placements[searched[i]] = std::move(found.placements[i]);
    return found.through;
  }

  const Cluster &cluster;
  const std::vector<RunRequest> &requests;
  std::vector<size_t> members; ///< by their begin
  const std::vector<int64_t> &before;
  const std::vector<JobPlacement> &current;
  const std::vector<ServerAbsence> &absences;
  std::vector<JobPlacement> &placements;
};

/// Whether of two placements one has all the servers of the other.
bool staysNear(const JobPlacement &a, const JobPlacement &b) {
  const JobPlacement &small = a.size() <= b.size() ? a : b, &large = a.size() <= b.size() ? b : a;
  return std::all_of(small.begin(), small.end(), [&](const ServerShare &share) {
    return std::any_of(large.begin(), large.end(), [&](const ServerShare &o) { return o.server == share.server; });
  });
}

} // namespace

RunPlacements placeRuns(const Cluster &cluster, const std::vector<RunRequest> &requests,
                        const std::vector<JobPlacement> &current, const std::vector<ServerAbsence> &absences) {
  RunPlacements result;
  result.runs.resize(requests.size());
  const std::vector<int64_t> before = runsBefore(requests);
  std::vector<std::vector<size_t>> ofType(cluster.types.size());
  const std::vector<int64_t> capacity = cluster.capacity();
  for (size_t i = 0; i < requests.size(); ++i) {
    const RunRequest &request = requests[i];
    if (request.devices == 0 || request.begin >= request.end)
      continue;
    if (request.type < ofType.size() && request.devices <= capacity[request.type])
      ofType[request.type].push_back(i);
    else
      result.provenUnplaced = true;
  }
  for (std::vector<size_t> &members : ofType) {
    TypePlacer placer(cluster, requests, std::move(members), before, current, absences, result.runs);
    if (!placer.sweep() && placer.search())
      result.provenUnplaced = true;
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    if (result.runs[i].empty()) {
      if (requests[i].devices > 0 && requests[i].begin < requests[i].end)
        result.unplaced.push_back(i);
      continue;
    }
    const JobPlacement *previous = before[i] >= 0                     ? &result.runs[before[i]]
                                   : requests[i].job < current.size() ? &current[requests[i].job]
                                                                      : nullptr;
    if (previous && !previous->empty() && !staysNear(*previous, result.runs[i]))
      ++result.moves;
  }
  return result;
}

std::vector<RunRequest> runRequests(const JobAnswer &answer) {
  std::vector<RunRequest> requests;
  for (size_t job = 0; job < answer.schedule.jobs.size(); ++job)
    for (const JobRun &run : answer.schedule.jobs[job].runs) {
      RunRequest request{static_cast<unsigned>(job), run.begin, run.end, 0, 0};
      request.stays = run.begin == 0 && job < answer.problem.jobs.size() &&
                      answer.problem.jobs[job].running == static_cast<int64_t>(run.configuration);
      if (job < answer.jobs.size() && run.configuration < answer.jobs[job].configurations.size()) {
        const ConfigurationWords &words = answer.jobs[job].configurations[run.configuration];
        request.type = words.type;
        request.devices = static_cast<unsigned>(std::clamp<int64_t>(words.devices, 0, UINT32_MAX));
      }
      requests.push_back(request);
    }
  return requests;
}

RunPlacements placeJobs(JobAnswer &answer, const std::vector<JobPlacement> &current) {
  const std::vector<RunRequest> requests = runRequests(answer);
  RunPlacements placed = placeRuns(answer.cluster, requests, current, answer.absences);
  answer.placements.assign(answer.schedule.jobs.size(), {});
  for (size_t i = 0; i < requests.size(); ++i)
    answer.placements[requests[i].job].push_back(placed.runs[i]);
  for (size_t i : placed.unplaced) {
    const RunRequest &run = requests[i];
    const std::string type = run.type < answer.cluster.types.size() ? answer.cluster.types[run.type] : "device";
    answer.assumptions.push_back(
        fmt::format("{} {} are free by number for '{}' in slots {} to {}, but {} without a move of another job",
                    run.devices, type, answer.problem.jobs[run.job].name, run.begin, run.end - 1,
                    placed.provenUnplaced ? "no servers hold all runs" : "no servers for all runs were found"));
  }
  return placed;
}

} // namespace accord::jobs
