#include "lib/jobs/verify/ReplanCheck.h"
#include <fmt/format.h>

namespace accord::jobs {
namespace {

Error refused(std::string message) { return {Code::WrongJobSchedule, std::move(message)}; }

/// The state of a job of the problem, whose phases have the name of their job and more.
const JobState *stateOf(const RunningState &state, const std::string &name) {
  for (const JobState &job : state.jobs)
    if (name == job.name || name.starts_with(job.name + " (phase "))
      return &job;
  return nullptr;
}

Result<void> checkJob(const JobAnswer &answer, size_t j) {
  const ScheduledJob &job = answer.problem.jobs[j];
  const JobState *now = stateOf(answer.replan->state, job.name);
  if (now && now->completion >= 0 && job.work > 0)
    return refused(fmt::format("job '{}' is complete since {}, but has work {}", job.name, now->completion, job.work));
  if (job.running < 0)
    return {};
  if (!now || !now->running)
    return refused(fmt::format("job '{}' goes on, but does not run", job.name));
  const auto running = static_cast<size_t>(job.running);
  if (j >= answer.jobs.size() || running >= answer.jobs[j].configurations.size())
    return refused(fmt::format("job '{}' goes on in a configuration whose devices are not known", job.name));
  const ConfigurationWords &in = answer.jobs[j].configurations[running];
  const std::string type = in.type < answer.cluster.types.size() ? answer.cluster.types[in.type] : "";
  if (in.devices != now->devices || type != now->deviceType)
    return refused(fmt::format("job '{}' goes on with {} '{}', but runs with {} '{}'", job.name, in.devices, type,
                               now->devices, now->deviceType));
  return {};
}

/// Every slot that has a part of an outage has an absence.
Result<void> checkOutage(const JobAnswer &answer, const ServerAway &outage) {
  const JobScheduleProblem &problem = answer.problem;
  for (int64_t slot = 0; slot < problem.slots; ++slot) {
    const int64_t begin = answer.replan->state.at + slot * problem.slot;
    if (begin >= outage.until || begin + problem.slot <= outage.from)
      continue;
    bool isAbsent = false;
    for (const ServerAbsence &one : answer.absences)
      isAbsent |= one.server == outage.server && one.begin <= slot && slot < one.end;
    if (!isAbsent)
      return refused(fmt::format("server {} is out of service in slot {}, but may be used", outage.server, slot));
  }
  return {};
}

} // namespace

Result<void> checkReplan(const JobAnswer &answer) {
  if (!answer.replan)
    return {};
  for (size_t j = 0; j < answer.problem.jobs.size(); ++j)
    if (auto holds = checkJob(answer, j); !holds)
      return holds;
  for (const ServerAway &outage : answer.replan->state.outages)
    if (auto holds = checkOutage(answer, outage); !holds)
      return holds;
  const std::vector<int64_t> &kept = answer.replan->keptValues, &values = answer.schedule.values;
  for (size_t o = 0; o < kept.size() && o < values.size() && values[o] >= kept[o]; ++o)
    if (values[o] > kept[o])
      return refused(fmt::format("{} is {}, and {} with the plan before", nameOf(answer.problem.objectives[o]),
                                 values[o], kept[o]));
  return {};
}

} // namespace accord::jobs
