// From requests and tables to whole numbers: what must be rounded safely, and what a block means.
#include "lib/jobs/schedule/ScheduleBuilder.h"
#include "lib/support/SplitMix.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::jobs;

namespace {

Cluster laboratory() {
  Cluster cluster;
  cluster.types = {"h100", "a100"};
  for (int i = 0; i < 2; ++i)
    cluster.servers.push_back({0, 8});
  for (int i = 0; i < 3; ++i)
    cluster.servers.push_back({1, 4});
  return cluster;
}

TableRow row(unsigned type, int64_t devices, double rate) {
  TableRow made;
  made.type = type, made.devices = devices, made.rate = rate;
  made.watts = 500.5 * static_cast<double>(devices), made.price = 0.001 * static_cast<double>(devices);
  return made;
}

JobsRequest oneJob() {
  JobsRequest request;
  request.cluster = "lab", request.slot = 600, request.horizon = 6000;
  JobsRequest::Job job;
  job.name = "a", job.restart = 60;
  request.jobs.push_back(job);
  return request;
}

const std::vector<JobTable> kOneTable{{100'000, {row(0, 8, 80), row(0, 4, 50), row(1, 4, 20)}, ""}};

BuiltSchedule built(const JobsRequest &request, const std::vector<JobTable> &tables) {
  auto made = buildJobSchedule(request, laboratory(), tables);
  EXPECT_TRUE(made) << (made ? "" : made.error().front().message);
  return made ? *made : BuiltSchedule();
}

std::string firstError(const JobsRequest &request, const std::vector<JobTable> &tables) {
  auto made = buildJobSchedule(request, laboratory(), tables);
  return made ? "" : made.error().front().message;
}

} // namespace

TEST(ScheduleBuilder, CountsOfDevicesAreOfAServerOrWholeServers) {
  EXPECT_EQ(deviceCounts(laboratory(), 0, 1, 0), (std::vector<int64_t>{1, 2, 4, 8, 16}));
  EXPECT_EQ(deviceCounts(laboratory(), 1, 1, 0), (std::vector<int64_t>{1, 2, 4, 8, 12}));
  EXPECT_EQ(deviceCounts(laboratory(), 1, 3, 8), (std::vector<int64_t>{4, 8}));
  EXPECT_EQ(deviceCounts(laboratory(), 0, 6, 6), (std::vector<int64_t>{6}));
  EXPECT_TRUE(deviceCounts(laboratory(), 0, 17, 0).empty());
}

TEST(ScheduleBuilder, SpeedsAreRoundedDownAndWorkUpByAlmostNothing) {
  SplitMix random(7);
  int checked = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<JobTable> tables{{std::exp(25 * random.unit()), {}, ""}};
    for (int64_t devices : {1, 2, 4, 8})
      tables[0].rows.push_back(row(0, devices, std::exp(12 * random.unit() - 3)));
    const double slowest =
        std::min_element(tables[0].rows.begin(), tables[0].rows.end(), [](const auto &a, const auto &b) {
          return a.rate < b.rate;
        })->rate;
    if (tables[0].samples / slowest > 3e7)
      continue; // a year on the slowest devices: the slowest has less digits
    JobsRequest request = oneJob();
    request.horizon = 0, request.slot = 0;
    auto made = buildJobSchedule(request, laboratory(), tables);
    if (!made)
      continue; // longer than can be planned
    const ScheduledJob &job = made->problem.jobs[0];
    for (size_t k = 0; k < job.configurations.size(); ++k) {
      const double exact = tables[0].samples / tables[0].rows[made->parts[0].rows[k]].rate,
                   rounded = static_cast<double>(job.work) / static_cast<double>(job.configurations[k].speed);
      EXPECT_GE(rounded, exact * (1 - 1e-12));
      EXPECT_LE(rounded, exact * (1 + 2e-4) + 1e-3);
      ++checked;
    }
  }
  EXPECT_GT(checked, 100);
}

TEST(ScheduleBuilder, DominatedConfigurationsAreLeftOut) {
  std::vector<JobTable> tables = kOneTable;
  tables[0].rows.push_back(row(0, 16, 79)); // slower than 8
  tables[0].rows.push_back(row(0, 4, 50));  // twice
  const BuiltSchedule made = built(oneJob(), tables);
  ASSERT_EQ(made.problem.jobs[0].configurations.size(), 3u);
  EXPECT_EQ(made.problem.jobs[0].configurations[0].name, "4 h100");
  EXPECT_EQ(made.problem.jobs[0].configurations[1].name, "8 h100");
  EXPECT_EQ(made.problem.jobs[0].configurations[2].name, "4 a100");
  EXPECT_EQ(made.problem.jobs[0].configurations[0].watts, 2002);
  EXPECT_EQ(made.problem.jobs[0].configurations[0].price, 4000);
}

TEST(ScheduleBuilder, LevelsAreConfigurationsUnlessTheyOnlyCost) {
  std::vector<JobTable> tables = kOneTable;
  TableRow eco = tables[0].rows[0], idle = eco;
  eco.level = "eco", eco.rate *= 0.9, eco.watts *= 0.6;
  idle.level = "slow", idle.rate *= 0.8, idle.watts *= 0.7; // slower than eco, with more power
  tables[0].rows.push_back(eco), tables[0].rows.push_back(idle);
  const std::vector<JobConfiguration> made = built(oneJob(), tables).problem.jobs[0].configurations;
  ASSERT_EQ(made.size(), 4u);
  EXPECT_EQ(made[1].name, "8 h100");
  EXPECT_EQ(made[2].name, "8 h100 at eco");
  EXPECT_LT(made[2].watts, made[1].watts);
  EXPECT_EQ(made[2].uses, made[1].uses); // devices are the same, power has no capacity
}

TEST(ScheduleBuilder, CapacityOfASlotIsTheSmallestInIt) {
  JobsRequest request = oneJob();
  request.capacities.push_back({"h100", {{0, 16}, {900, 8}, {3000, 12}}, {}});
  request.capacities.push_back({"power", {{0, 9000.7}}, {}});
  request.maintenances.push_back({"a100", 8, 1300, 1900, {}});
  const JobScheduleProblem problem = built(request, kOneTable).problem;
  ASSERT_EQ(problem.resources.size(), 3u);
  EXPECT_EQ(problem.resources[0].capacity, (std::vector<int64_t>{16, 8, 8, 8, 8, 12, 12, 12, 12, 12}));
  EXPECT_EQ(problem.resources[1].capacity, (std::vector<int64_t>{12, 12, 4, 4, 12, 12, 12, 12, 12, 12}));
  EXPECT_EQ(problem.resources[2].capacity, std::vector<int64_t>(10, 9000));
  EXPECT_EQ(problem.jobs[0].configurations[0].uses, (std::vector<ResourceUse>{{0, 4}, {2, 2002}}));
}

TEST(ScheduleBuilder, QuotasAreRowsOfTheTenantsJobsAlone) {
  JobsRequest request = oneJob();
  request.jobs.push_back(request.jobs[0]);
  request.jobs[1].name = "b", request.jobs[1].tenant = "nlp";
  request.tenants.push_back({"nlp", 2, {{"h100", 4}}, {}});
  const BuiltSchedule made = built(request, {kOneTable[0], kOneTable[0]});
  EXPECT_EQ(made.problem.resources[2].name, "h100 of tenant 'nlp'");
  EXPECT_EQ(made.problem.jobs[0].configurations[0].uses, (std::vector<ResourceUse>{{0, 4}}));
  EXPECT_EQ(made.problem.jobs[1].configurations[0].uses, (std::vector<ResourceUse>{{0, 4}, {2, 4}}));
  EXPECT_EQ(made.problem.jobs[1].configurations[2].uses, (std::vector<ResourceUse>{{1, 4}}));
  EXPECT_EQ(made.problem.jobs[1].groups, std::vector<unsigned>{0});
}

TEST(ScheduleBuilder, PhasesBecomeJobsAfterEachOther) {
  JobsRequest request = oneJob();
  request.jobs[0].phases = {{0, 1}, {0.25, 2}};
  request.jobs[0].deadline = 5000;
  request.jobs.push_back(oneJob().jobs[0]);
  request.jobs[1].name = "b", request.jobs[1].after = {"a"};
  const BuiltSchedule made = built(request, {kOneTable[0], kOneTable[0]});
  ASSERT_EQ(made.problem.jobs.size(), 3u);
  EXPECT_EQ(made.problem.jobs[0].weight, 0);
  EXPECT_EQ(made.problem.jobs[0].deadline, -1);
  EXPECT_EQ(made.problem.jobs[1].after, std::vector<unsigned>{0});
  EXPECT_EQ(made.problem.jobs[1].deadline, 5000);
  EXPECT_EQ(made.problem.jobs[2].after, std::vector<unsigned>{1});
  EXPECT_DOUBLE_EQ(made.parts[0].samples, 25'000);
  EXPECT_DOUBLE_EQ(made.parts[1].samples, 75'000);
}

TEST(ScheduleBuilder, OptionalJobsAreLeftOutLast) {
  JobsRequest request = oneJob();
  request.jobs[0].optional = true;
  request.objectives.push_back({JobMeasure::Price, {}});
  EXPECT_EQ(built(request, kOneTable).problem.objectives,
            (std::vector<JobMeasure>{JobMeasure::Rejected, JobMeasure::Price}));
}

TEST(ScheduleBuilder, AsMuchAsPossibleIsDoneOfWhatContinues) {
  JobsRequest request = oneJob();
  request.jobs[0].continues = true, request.jobs[0].priority = 3;
  request.objectives.push_back({JobMeasure::Price, {}});
  request.limits = {{JobMeasure::Unfinished, 1 - 0.9, "goodput >= 0.9", {}}, {JobMeasure::Restarts, 5, "", {}}};
  const BuiltSchedule made = built(request, kOneTable);
  EXPECT_TRUE(made.problem.jobs[0].mayContinue);
  EXPECT_EQ(made.problem.objectives, (std::vector<JobMeasure>{JobMeasure::Unfinished, JobMeasure::Price}));
  EXPECT_EQ(made.problem.limits[0].max, 300'000);
  EXPECT_EQ(made.problem.limits[1].max, 5);
  request.objectives.push_back({JobMeasure::Unfinished, {}}); // where it is stated, it has its place
  EXPECT_EQ(built(request, kOneTable).problem.objectives,
            (std::vector<JobMeasure>{JobMeasure::Price, JobMeasure::Unfinished}));
}

TEST(ScheduleBuilder, WithoutTimesAllJobsFitOneAfterTheOther) {
  JobsRequest request = oneJob();
  request.slot = request.horizon = 0;
  const BuiltSchedule made = built(request, kOneTable);
  EXPECT_GE(made.problem.slot * made.problem.slots, 60 + 1250);
  EXPECT_LE(made.problem.slots, 100);
  EXPECT_EQ(made.assumptions.size(), 3u); // period, horizon, objective
}

TEST(ScheduleBuilder, RefusesWhatCannotBe) {
  JobsRequest request = oneJob();
  request.jobs[0].deviceTypes = {"v100"};
  EXPECT_EQ(firstError(request, kOneTable), "cluster 'lab' has no devices 'v100', it has 'h100', 'a100'");
  request = oneJob();
  request.capacities.push_back({"h100", {{0, 32}}, {}});
  EXPECT_EQ(firstError(request, kOneTable), "capacity of 'h100' is up to 32, cluster 'lab' has 16");
  request = oneJob();
  request.slot = 1, request.horizon = 1e7;
  EXPECT_EQ(firstError(request, kOneTable),
            "a horizon of 2777.8 h has 10000000 periods of 0.0 min, at most 4096 are planned");
  request = oneJob();
  request.jobs[0].minDevices = 64;
  EXPECT_EQ(firstError(request, kOneTable),
            "job 'a' has no configuration: none is within its devices, types and quality");
  EXPECT_EQ(firstError(oneJob(), {{5, {}, "needs 20 GiB more memory"}}),
            "job 'a' has no configuration: needs 20 GiB more memory");
}

TEST(ScheduleBuilder, AJobWithoutWorkNeverRuns) {
  const BuiltSchedule made = built(oneJob(), {{0, kOneTable[0].rows, ""}});
  EXPECT_EQ(made.problem.jobs[0].work, 0);
  EXPECT_TRUE(made.parts[0].rows.empty());
  EXPECT_TRUE(made.problem.jobs[0].configurations.empty());
}

/// 500 kW for a week at 400 g of each kWh are 34 t of CO2.
TEST(ScheduleBuilder, CarbonOfALargeTrainingIsANumber) {
  JobsRequest request = oneJob();
  request.slot = 6 * 3600, request.horizon = 7 * 86400;
  request.capacities.push_back({"carbon", {{0, 400 / 3.6e6}}, {}});
  request.objectives.push_back({JobMeasure::Carbon, {}});
  TableRow large = row(0, 8, 1);
  large.watts = 500e3;
  const BuiltSchedule made = built(request, {{500'000, {large}, ""}});
  ASSERT_EQ(made.problem.jobs.size(), 1u);
  const double grams = 500e3 * 7 * 86400 * 400 / 3.6e6, limit = 1e-6 * static_cast<double>(kMaxAllocationNumber);
  EXPECT_GT(grams, 30e6);
  EXPECT_LT(grams, limit);
  EXPECT_NEAR(static_cast<double>(made.problem.carbon.front()) * 3.6, 400, 4);
}

TEST(ScheduleBuilder, NamedServersAreAwayOnceHoweverOftenTheyAreMaintained) {
  JobsRequest request = oneJob();
  request.capacities.push_back({"a100", {{0, 9}}, {}}); // of 12
  request.maintenances = {
      {"a100", 0, 600, 1300, {}, {3}}, {"a100", 0, 1200, 1800, {}, {3, 4}}, {"a100", 1, 0, 600, {}}};
  const BuiltSchedule made = built(request, kOneTable);
  const std::vector<int64_t> &capacity = made.problem.resources[1].capacity;
  EXPECT_EQ(std::vector<int64_t>(capacity.begin(), capacity.begin() + 4), (std::vector<int64_t>{8, 8, 4, 9}))
      << "9 less 1; 2 of 3 servers; 1 of 3 servers; what is stated";
  EXPECT_EQ(made.absences, (std::vector<ServerAbsence>{{3, 1, 3}, {4, 2, 3}}));
  request.maintenances = {{"a100", 0, 0, 600, {}, {5}}};
  EXPECT_EQ(firstError(request, kOneTable), "cluster 'lab' has no server 5, its 5 servers are numbered from 0");
  request.maintenances = {{"a100", 0, 0, 600, {}, {1}}};
  EXPECT_EQ(firstError(request, kOneTable), "server 1 of cluster 'lab' has devices 'h100', not 'a100'");
}
