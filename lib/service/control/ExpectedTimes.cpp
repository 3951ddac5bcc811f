// When the runs of a plan will begin and end: a schedule has whole periods, and the process starts a run as soon as its
// servers are free.
#include "lib/service/control/ClusterPlanner.h"
#include <algorithm>

namespace accord::service {
namespace {

class Timeline {
public:
  Timeline(const PlannerInput &input, const ClusterPlan &plan) : input(input), plan(plan) {
    for (const PlannedRun &run : plan.runs)
      ++runs[run.job];
    for (const PlannerJob &job : input.jobs)
      jobs[job.id] = &job;
    taken.resize(input.cluster.servers.size());
  }

  void place(PlannedRun &run) {
    run.expectedBegin = run.begin, run.expectedEnd = run.end;
    if (mayMove(run)) {
      run.expectedBegin = firstRoom(run);
      run.expectedEnd = run.expectedBegin + (run.end - run.begin);
    }
    for (const jobs::ServerShare &share : run.servers)
      taken[share.server].push_back({run.expectedBegin, run.expectedEnd, share.devices});
    double &end = ends.try_emplace(run.job, run.expectedEnd).first->second;
    end = std::max(end, run.expectedEnd);
  }

private:
  struct Taken {
    double begin, end;
    int64_t devices;
  };

  /// Whether nothing but devices of servers that stay is between a run and an earlier begin. A job of several runs
  /// changes as the plan says.
  bool mayMove(const PlannedRun &run) const {
    if (run.goesOn || run.servers.empty() || runs.at(run.job) > 1 || !plan.answer)
      return false;
    const jobs::JobAnswer &answer = *plan.answer;
    const auto &of = answer.problem.jobs[run.part];
    const auto &uses = of.configurations[answer.schedule.jobs[run.part].runs[run.index].configuration].uses;
    const std::vector<int64_t> devices = input.cluster.capacity();
    const bool needsMore = std::ranges::any_of(uses, [&](const jobs::ResourceUse &use) {
      return use.resource >= devices.size() ||
             std::ranges::min(answer.problem.resources[use.resource].capacity) < devices[use.resource];
    });
    return !needsMore && std::ranges::none_of(run.servers, [&](const jobs::ServerShare &share) {
      return std::ranges::count(answer.absences, share.server, &jobs::ServerAbsence::server) > 0;
    });
  }

  double firstRoom(const PlannedRun &run) const {
    const PlannerJob &job = *jobs.at(run.job);
    double earliest = std::max(static_cast<double>(input.at), job.notBefore);
    for (int64_t before : job.after)
      if (const auto end = ends.find(before); end != ends.end())
        earliest = std::max(earliest, end->second);
    std::vector<double> candidates{earliest};
    for (const jobs::ServerShare &share : run.servers)
      for (const Taken &one : taken[share.server])
        if (one.end > earliest && one.end < run.begin)
          candidates.push_back(one.end);
    std::ranges::sort(candidates);
    for (const double begin : candidates)
      if (begin < run.begin && hasRoom(run, begin, begin + (run.end - run.begin)))
        return begin;
    return run.begin;
  }

  bool hasRoom(const PlannedRun &run, double begin, double end) const {
    return std::ranges::all_of(run.servers, [&](const jobs::ServerShare &share) {
      // The most that is taken at once begins where something begins.
      auto takenAt = [&](double time) {
        int64_t sum = 0;
        for (const Taken &one : taken[share.server])
          sum += one.begin <= time && time < one.end ? one.devices : 0;
        return sum;
      };
      const int64_t free = input.cluster.servers[share.server].devices - share.devices;
      return takenAt(begin) <= free && std::ranges::all_of(taken[share.server], [&](const Taken &one) {
               return one.begin <= begin || one.begin >= end || takenAt(one.begin) <= free;
             });
    });
  }

  const PlannerInput &input;
  const ClusterPlan &plan;
  std::map<int64_t, size_t> runs; ///< of each job
  std::map<int64_t, const PlannerJob *> jobs;
  std::map<int64_t, double> ends;
  std::vector<std::vector<Taken>> taken; ///< by server
};

} // namespace

void expectTimes(const PlannerInput &input, ClusterPlan &plan) {
  Timeline timeline(input, plan);
  for (PlannedRun &run : plan.runs)
    timeline.place(run);
}

} // namespace accord::service
