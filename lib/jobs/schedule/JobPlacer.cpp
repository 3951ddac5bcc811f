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
             std::vector<JobPlacement> &placements)
      : cluster(cluster), requests(requests), members(std::move(members)), before(before), current(current),
        placements(placements) {
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
      std::vector<JobPlacement> packed = packServers(cluster, packing);
      for (size_t i = 0; i < active.size(); ++i) {
        if (packed[i].empty() || (i < old && packed[i] != placements[active[i]]))
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

  /// All runs together. Returns what is proved of those without a place.
  bool search() {
    RunSearch search(cluster, requests, members);
    std::vector<JobPlacement> preferred;
    for (size_t run : members) {
      placements[run].clear();
      preferred.push_back(before[run] < 0 && requests[run].job < current.size() ? current[requests[run].job]
                                                                                : JobPlacement{});
    }
    RunSearch::Found found = search.find(preferred, before);
    for (size_t i = 0; i < members.size(); ++i)
      placements[members[i]] = std::move(found.placements[i]);
    return found.through;
  }

private:
  const Cluster &cluster;
  const std::vector<RunRequest> &requests;
  std::vector<size_t> members; ///< by their begin
  const std::vector<int64_t> &before;
  const std::vector<JobPlacement> &current;
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
                        const std::vector<JobPlacement> &current) {
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
    TypePlacer placer(cluster, requests, std::move(members), before, current, result.runs);
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
  RunPlacements placed = placeRuns(answer.cluster, requests, current);
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
