#include "lib/jobs/verify/PlacementCheck.h"
#include <fmt/format.h>
#include <map>
#include <set>

namespace accord::jobs {
namespace {

Error refused(std::string message) { return {Code::WrongJobSchedule, std::move(message)}; }

/// One run: its devices, their type, and each server once.
Result<void> checkRun(const JobAnswer &answer, size_t job, size_t run) {
  const std::string &name = answer.problem.jobs[job].name;
  const unsigned configuration = answer.schedule.jobs[job].runs[run].configuration;
  if (job >= answer.jobs.size() || configuration >= answer.jobs[job].configurations.size())
    return refused(fmt::format("run {} of job '{}' is in configuration {}, whose devices are not known", run, name,
                               configuration));
  const ConfigurationWords &words = answer.jobs[job].configurations[configuration];
  const JobPlacement &placement = answer.placements[job][run];
  std::set<unsigned> servers;
  int64_t devices = 0;
  for (const ServerShare &share : placement) {
    if (share.server >= answer.cluster.servers.size())
      return refused(fmt::format("run {} of job '{}' is on server {} of {}", run, name, share.server,
                                 answer.cluster.servers.size()));
    if (!servers.insert(share.server).second)
      return refused(fmt::format("run {} of job '{}' has server {} twice", run, name, share.server));
    if (share.devices == 0)
      return refused(fmt::format("run {} of job '{}' has 0 devices of server {}", run, name, share.server));
    if (answer.cluster.servers[share.server].type != words.type)
      return refused(fmt::format("run {} of job '{}' is on server {} of another device type", run, name, share.server));
    devices += share.devices;
  }
  if (devices != words.devices)
    return refused(fmt::format("run {} of job '{}' has {} of {} devices", run, name, devices, words.devices));
  return {};
}

/// No server has more devices in use than it has: by the changes at the begin and end of each run.
Result<void> checkServers(const JobAnswer &answer) {
  std::vector<std::map<int64_t, int64_t>> changes(answer.cluster.servers.size());
  for (size_t job = 0; job < answer.placements.size(); ++job)
    for (size_t run = 0; run < answer.placements[job].size(); ++run) {
      const JobRun &at = answer.schedule.jobs[job].runs[run];
      for (const ServerShare &share : answer.placements[job][run]) {
        changes[share.server][at.begin] += share.devices;
        changes[share.server][at.end] -= share.devices;
      }
    }
  for (const ServerAbsence &one : answer.absences)
    for (size_t job = 0; job < answer.placements.size(); ++job)
      for (size_t run = 0; run < answer.placements[job].size(); ++run)
        for (const ServerShare &share : answer.placements[job][run])
          if (const JobRun &at = answer.schedule.jobs[job].runs[run];
              share.server == one.server && at.begin < one.end && at.end > one.begin)
            return refused(fmt::format("run {} of job '{}' is on server {}, which is not there in slots {} to {}", run,
                                       answer.problem.jobs[job].name, one.server, one.begin, one.end - 1));
  for (size_t server = 0; server < changes.size(); ++server) {
    int64_t used = 0;
    for (auto [slot, change] : changes[server]) {
      used += change;
      if (used > answer.cluster.servers[server].devices)
        return refused(fmt::format("server {} has {} devices in use in slot {}, of {}", server, used, slot,
                                   answer.cluster.servers[server].devices));
    }
  }
  return {};
}

} // namespace

Result<void> checkPlacements(const JobAnswer &answer, bool partial) {
  const size_t jobs = answer.schedule.jobs.size();
  if (answer.placements.size() != jobs || jobs > answer.problem.jobs.size())
    return refused(fmt::format("placements of {} jobs, of {}", answer.placements.size(), jobs));
  for (size_t job = 0; job < jobs; ++job) {
    const std::vector<JobRun> &runs = answer.schedule.jobs[job].runs;
    const std::vector<JobPlacement> &placements = answer.placements[job];
    if (placements.size() != runs.size())
      return refused(fmt::format("job '{}' has placements of {} runs, of {}", answer.problem.jobs[job].name,
                                 placements.size(), runs.size()));
    for (size_t run = 0; run < runs.size(); ++run) {
      if (runs[run].begin < 0 || runs[run].begin >= runs[run].end)
        return refused(fmt::format("run {} of job '{}' ends in slot {}, where it begins in slot {}", run,
                                   answer.problem.jobs[job].name, runs[run].end, runs[run].begin));
      if (!(partial && placements[run].empty()))
        if (auto holds = checkRun(answer, job, run); !holds)
          return holds;
      if (run > 0 && runs[run - 1].end == runs[run].begin && runs[run - 1].configuration == runs[run].configuration &&
          !(placements[run - 1] == placements[run]))
        return refused(
            fmt::format("job '{}' moves in slot {} within a run", answer.problem.jobs[job].name, runs[run].begin));
    }
  }
  return checkServers(answer);
}

} // namespace accord::jobs
