// Parallel plans and allocation chosen together, on tables of Accord's own latency models.
#include "lib/driver/jobs/TrainingPlans.h"
#include "lib/jobs/schedule/JobScheduler.h"
#include "lib/jobs/schedule/ScheduleBuilder.h"
#include "lib/jobs/verify/JobScheduleVerifier.h"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::jobs;

namespace {

/// Rows of a model of the catalogue on one to sixteen H100 of two servers.
JobTable tableOf(const std::string &model, const std::string &file, int64_t batch, double samples) {
  const std::filesystem::path path = std::filesystem::path(::testing::TempDir()) / ("accord-joint-" + model + ".dnn");
  std::ofstream(path) << "import \"catalog/" << file << "\"\ntrain t = " << model << "() { batch = " << batch << " }\n";
  Options options;
  options.file = path.string();
  TrainingPlans plans(options);
  JobTable table{samples, {}, ""};
  if (!plans.prepare())
    return table;
  auto rows = plans.on({"dgx_superpod_h100", "", 0, 2}, {1, 2, 4, 8, 16});
  if (!rows)
    return table;
  for (const DeviceCountPlan &one : *rows)
    if (one.fits)
      table.rows.push_back(
          {0, one.devices, double(batch) / one.step, 0, one.watts, 0, -1, one.step, one.memory, one.plan});
  return table;
}

JobsRequest requestOf(size_t jobs) {
  JobsRequest request;
  request.name = "joint", request.cluster = "pool", request.slot = 600, request.horizon = 12 * 600;
  for (size_t j = 0; j < jobs; ++j) {
    JobsRequest::Job job;
    job.name = "job" + std::to_string(j), job.restart = 60, job.elasticity = Elasticity::Moldable;
    request.jobs.push_back(job);
  }
  return request;
}

/// The best sum of completions, by trying each configuration and begin of each job.
int64_t bestByTrying(const JobScheduleProblem &problem, size_t job, std::vector<int64_t> &left) {
  if (job == problem.jobs.size())
    return 0;
  int64_t best = -1;
  const ScheduledJob &one = problem.jobs[job];
  for (const JobConfiguration &in : one.configurations)
    for (int64_t begin = 0; begin < problem.slots; ++begin) {
      const int64_t completion = begin * problem.slot + one.restart + (one.work + in.speed - 1) / in.speed;
      const int64_t end = (completion + problem.slot - 1) / problem.slot;
      if (end > problem.slots)
        continue;
      bool fits = true;
      for (int64_t slot = begin; slot < end; ++slot)
        fits &= (left[slot] -= in.uses[0].amount) >= 0;
      if (fits)
        if (const int64_t rest = bestByTrying(problem, job + 1, left); rest >= 0)
          best = best < 0 ? completion + rest : std::min(best, completion + rest);
      for (int64_t slot = begin; slot < end; ++slot)
        left[slot] += in.uses[0].amount;
    }
  return best;
}

} // namespace

TEST(JointChoice, IsBetterThanPlansFirstAndEqualsTryingAllPlans) {
  Cluster cluster{{"h100"}, {{0, 8}, {0, 8}}};
  const std::vector<JobTable> tables{tableOf("gpt2_medium", "gpt2.dnn", 64, 1.2e6),
                                     tableOf("bert_large", "bert.dnn", 64, 1.5e6),
                                     tableOf("gpt2_small", "gpt2.dnn", 64, 1.5e6)};
  for (const JobTable &table : tables)
    ASSERT_GE(table.rows.size(), 4u);
  const JobsRequest request = requestOf(tables.size());
  auto built = buildJobSchedule(request, cluster, tables);
  ASSERT_TRUE(built) << built.error().front().message;
  const JobSchedule joint = solveJobSchedule(built->problem, {});
  ASSERT_EQ(joint.status, AllocationStatus::Optimal);
  EXPECT_TRUE(verifyJobSchedule(built->problem, joint));
  std::vector<int64_t> left = built->problem.resources[0].capacity;
  EXPECT_EQ(joint.values[0], bestByTrying(built->problem, 0, left));

  // Each training first has its fastest plan, then devices are allocated.
  JobScheduleProblem fixed = built->problem;
  for (ScheduledJob &job : fixed.jobs)
    job.configurations = {*std::max_element(job.configurations.begin(), job.configurations.end(),
                                            [](const auto &a, const auto &b) { return a.speed < b.speed; })};
  const JobSchedule plansFirst = solveJobSchedule(fixed, {});
  ASSERT_EQ(plansFirst.status, AllocationStatus::Optimal);
  EXPECT_LT(joint.values[0], plansFirst.values[0] * 95 / 100);

  // The devices first, in equal parts, then the best plan on them.
  JobScheduleProblem parts = built->problem;
  for (ScheduledJob &job : parts.jobs)
    std::erase_if(job.configurations, [](const auto &one) { return one.uses[0].amount > 4; });
  const JobSchedule devicesFirst = solveJobSchedule(parts, {});
  ASSERT_EQ(devicesFirst.status, AllocationStatus::Optimal);
  EXPECT_LE(joint.values[0], devicesFirst.values[0]);
}
