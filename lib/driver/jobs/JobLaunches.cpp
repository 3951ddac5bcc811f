#include "lib/driver/jobs/JobLaunches.h"
#include "lib/jobs/output/TenantQueues.h"
#include <set>

namespace accord {

using namespace jobs;

std::vector<JobLaunch> launchesOf(const JobsPlan &plan) {
  const std::vector<TenantNames> names = tenantNames(plan.request);
  std::vector<JobLaunch> all;
  double samples = 0;
  for (size_t j = 0; j < plan.built.parts.size(); ++j) {
    const ScheduledPart &part = plan.built.parts[j];
    samples = part.phase == 0 ? part.samples : samples + part.samples;
    const TenantNames &tenant = names[part.job];
    JobLaunch launch{plan.request.jobs[part.job].name,
                     samples,
                     tenant.account,
                     tenant.service,
                     tenant.queue,
                     tenant.priorityClass,
                     {}};
    std::set<unsigned> used;
    if (j < plan.schedule.jobs.size())
      for (const JobRun &run : plan.schedule.jobs[j].runs)
        used.insert(run.configuration);
    for (unsigned configuration : used)
      if (const auto &one = plan.tables[part.job].rows[part.rows[configuration]].launch)
        launch.configurations.push_back({configuration, *one});
    all.push_back(std::move(launch));
  }
  return all;
}

} // namespace accord
