// Plans of a cluster from plain data: which jobs are planned, what stays where it is, what is limited.
#include "lib/service/control/ClusterPlanner.h"
#include "lib/support/SplitMix.h"
#include "test/support/Random.h"
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace accord::testing {
namespace {
using namespace service;
using jobs::Elasticity;

class Input : public PlannerInput {
public:
  Input() {
    cluster.types = {"a100", "k80"};
    cluster.servers = {{0, 4}, {0, 4}, {0, 4}, {0, 4}, {1, 8}, {1, 8}};
  }
  /// A job that runs on each type with 1 to 8 devices, nearly in proportion.
  PlannerJob &add(double seconds, Elasticity elasticity = Elasticity::Moldable, std::vector<int64_t> after = {}) {
    auto model = std::make_shared<ModelledJob>();
    const auto id = static_cast<int64_t>(jobs.size()) + 1;
    model->request.name = fmt::format("job{}#{}", id, id);
    model->request.elasticity = elasticity;
    model->request.restart = 1;
    model->table.samples = model->request.samples = 10 * seconds;
    for (unsigned type : {0, 1})
      for (int64_t devices : {1, 2, 4, 8}) {
        jobs::TableRow row;
        row.type = type, row.devices = devices, row.plan = "as measured";
        row.rate = (type == 0 ? 10 : 4) * std::pow(static_cast<double>(devices), 0.9);
        model->table.rows.push_back(row);
      }
    PlannerJob &job = jobs.emplace_back();
    job.id = id, job.work = model->table.samples, job.after = std::move(after), job.model = model;
    return job;
  }
  /// The request of a job, to be changed.
  static jobs::JobsRequest::Job &request(PlannerJob &job) {
    auto changed = std::make_shared<ModelledJob>(*job.model);
    jobs::JobsRequest::Job &of = changed->request;
    job.model = std::move(changed);
    return of;
  }
};

PlannerOptions quick() {
  PlannerOptions options;
  options.limits.effort = 1;
  return options;
}

ClusterPlan planOf(const Input &input, const PlannerOptions &options = quick(), const ClusterPlan *before = nullptr) {
  auto made = planCluster(input, options, before);
  EXPECT_TRUE(made) << (made ? "" : made.error().front().message);
  return made ? std::move(*made) : ClusterPlan();
}

/// Each planned job ends before those that come after it begin.
void expectOrder(const Input &input, const ClusterPlan &plan) {
  std::map<int64_t, double> begins, ends;
  for (const PlannedRun &run : plan.runs) {
    const auto [at, isNew] = begins.emplace(run.job, run.begin);
    at->second = std::min(at->second, run.begin);
    ends[run.job] = std::max(ends[run.job], run.end);
  }
  for (const PlannerJob &job : input.jobs)
    for (int64_t before : job.after)
      if (begins.contains(job.id)) {
        ASSERT_TRUE(ends.contains(before)) << job.id << " without " << before;
        EXPECT_GE(begins[job.id] + 1e-6, plan.ends.at(before)) << job.id << " after " << before;
      }
}

TEST(ClusterPlanner, PlansManyJobsThatComeAfterOthers) {
  for (int kind = 0; kind < 3; ++kind) {
    SplitMix random(kind);
    Input input;
    for (int64_t i = 0; i < 30; ++i) {
      std::vector<int64_t> after;
      for (int64_t before = 1; before <= i; ++before)
        if (kind == 0 ? before == 1 : kind == 1 ? before == i : random.below(static_cast<uint64_t>(i) + 1) < 2)
          after.push_back(before);
      input.add(60 + static_cast<double>(random.below(600)), Elasticity::Moldable, std::move(after));
    }
    const ClusterPlan plan = planOf(input);
    ASSERT_TRUE(plan.answer) << kind;
    EXPECT_EQ(plan.answer->schedule.jobs.size(), 30u) << kind;
    EXPECT_TRUE(plan.dropped.empty()) << plan.dropped.front();
    expectOrder(input, plan);
  }
}

TEST(ClusterPlanner, PlansAnUrgentJobTogetherWithWhatItComesAfter) {
  Input input;
  for (int i = 0; i < 9; ++i)
    input.add(100);
  PlannerJob &urgent = input.add(100, Elasticity::Moldable, {9});
  Input::request(urgent).priority = 50;
  const std::vector<const PlannerJob *> picked = jobsByTurn(input, 3);
  ASSERT_EQ(picked.size(), 3u);
  EXPECT_EQ(picked[0]->id, 1);
  EXPECT_EQ(picked[1]->id, 9);
  EXPECT_EQ(picked[2]->id, 10);
  EXPECT_EQ(jobsByTurn(input, 1).front()->id, 1); // no room for both
}

TEST(ClusterPlanner, LeavesRunningJobsWhereTheyAre) {
  Input input;
  SplitMix random(3);
  for (int i = 0; i < 24; ++i)
    input.add(300 + static_cast<double>(random.below(3000)), i % 2 ? Elasticity::Malleable : Elasticity::Moldable);
  ClusterPlan plan = planOf(input);
  size_t running = 0;
  for (const PlannedRun &run : plan.runs)
    if (run.begin == 0 && !run.servers.empty()) {
      PlannerJob &job = input.jobs[run.job - 1];
      job.state.running = true, job.state.deviceType = run.deviceType, job.state.devices = run.devices;
      job.state.configuration = run.configuration, job.state.plan = run.plan, job.state.servers = run.servers;
      job.state.starts = 1;
      ++running;
    }
  ASSERT_GT(running, 3u);
  for (int round = 1; round <= 3; ++round) { // nothing but time passes
    input.at = round * plan.slot;
    for (const PlannedRun &run : plan.runs)
      if (input.jobs[run.job - 1].state.running && run.begin <= static_cast<double>(input.at - plan.slot))
        input.jobs[run.job - 1].state.done =
            std::min(input.jobs[run.job - 1].work * 0.99,
                     input.jobs[run.job - 1].state.done + run.rate * static_cast<double>(plan.slot));
    ClusterPlan next = planOf(input, quick(), &plan);
    for (const PlannerJob &job : input.jobs)
      if (job.state.running && job.model->request.elasticity == Elasticity::Moldable) {
        const auto run = std::ranges::find(next.runs, job.id, &PlannedRun::job);
        ASSERT_NE(run, next.runs.end()) << job.id;
        EXPECT_TRUE(run->goesOn) << round << ": job " << job.id << " is at " << run->configuration << " from "
                                 << run->begin;
        EXPECT_EQ(run->servers, job.state.servers) << round << ": job " << job.id;
      }
    plan = std::move(next);
  }
}

// Three jobs of 11 s, one after the other, in periods of 4 s.
TEST(ClusterPlanner, ExpectsTimesThatAreNoWholePeriods) {
  Input input;
  input.cluster.servers = {{0, 4}};
  for (int i = 0; i < 3; ++i) {
    auto model = std::make_shared<ModelledJob>(*input.add(10).model);
    std::erase_if(model->table.rows, [](const jobs::TableRow &row) { return row.type != 0 || row.devices != 4; });
    model->table.rows.front().rate = 10;
    input.jobs.back().model = std::move(model);
  }
  input.operation.slot = 4;
  const ClusterPlan plan = planOf(input);
  ASSERT_EQ(plan.runs.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(plan.runs[i].begin, 12.0 * static_cast<double>(i));
    EXPECT_EQ(plan.runs[i].expectedBegin, 11.0 * static_cast<double>(i));
    EXPECT_EQ(plan.runs[i].expectedEnd, 11.0 * static_cast<double>(i + 1));
  }
}

// On no server more devices are expected to be used at once than it has, and nothing is expected later than planned.
TEST(ClusterPlanner, ExpectsNoMoreThanThereIs) {
  for (uint64_t seed = 0; seed < static_cast<uint64_t>(cases(4)); ++seed) {
    Input input;
    SplitMix random(seed);
    for (int i = 0; i < 16; ++i)
      input.add(5 + static_cast<double>(random.below(60)),
                random.below(3) ? Elasticity::Moldable : Elasticity::Malleable,
                i > 4 && random.below(4) == 0 ? std::vector<int64_t>{static_cast<int64_t>(1 + random.below(4))}
                                              : std::vector<int64_t>());
    const ClusterPlan plan = planOf(input);
    std::map<int64_t, double> ends;
    for (const PlannedRun &run : plan.runs) {
      EXPECT_LE(run.expectedBegin, run.begin) << seed;
      EXPECT_LE(run.expectedEnd, run.end) << seed;
      EXPECT_DOUBLE_EQ(run.expectedEnd - run.expectedBegin, run.end - run.begin) << seed;
      ends[run.job] = std::max(ends[run.job], run.expectedEnd);
      for (const jobs::ServerShare &share : run.servers) {
        int64_t used = 0;
        for (const PlannedRun &other : plan.runs)
          for (const jobs::ServerShare &its : other.servers)
            if (its.server == share.server && other.expectedBegin <= run.expectedBegin &&
                run.expectedBegin < other.expectedEnd)
              used += its.devices;
        EXPECT_LE(used, input.cluster.servers[share.server].devices) << seed << ": job " << run.job;
      }
    }
    for (const PlannedRun &run : plan.runs)
      for (int64_t before : input.jobs[run.job - 1].after)
        EXPECT_GE(run.expectedBegin, ends[before]) << seed;
  }
}

TEST(ClusterPlanner, KeepsCapacitiesAndMaintenanceOfTheMoment) {
  Input input;
  for (int i = 0; i < 12; ++i)
    input.add(100);
  input.operation.capacities = {{"k80", {{0, 6}, {50, 16}}, {}}};
  input.operation.maintenances = {{"a100", 0, 0, 50, {}, {0, 1}}, {"a100", 2, 10, 50, {}, {}}};
  PlannerOptions moment = quick();
  moment.maxScheduled = 1;
  const auto usedAt = [&](int64_t at) {
    input.at = at;
    std::vector<int64_t> used(3, 0); // of each type, and on the servers that are serviced
    for (const PlannedRun &run : planOf(input, moment).runs) {
      used[run.deviceType == "a100" ? 0 : 1] += run.devices;
      for (const jobs::ServerShare &share : run.servers)
        used[2] += share.server < 2 ? share.devices : 0;
    }
    return used;
  };
  EXPECT_EQ(usedAt(0), (std::vector<int64_t>{8, 6, 0}));
  EXPECT_EQ(usedAt(20), (std::vector<int64_t>{6, 6, 0}));
  EXPECT_EQ(usedAt(60), (std::vector<int64_t>{16, 16, 8}));
}

} // namespace
} // namespace accord::testing
