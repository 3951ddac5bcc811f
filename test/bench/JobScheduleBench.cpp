// A night of trainings on three types of devices under a power cap: when each runs in which configuration, with proved
// bounds, and the check of the proofs.
#include "lib/jobs/schedule/JobScheduler.h"
#include "lib/jobs/verify/JobScheduleVerifier.h"
#include "lib/support/SplitMix.h"
#include <algorithm>
#include <benchmark/benchmark.h>
#include <cmath>

using namespace accord;
using namespace accord::jobs;

/// Devices of each type, and the power of one.
struct NightType {
  const char *name;
  int64_t devices, watts, speed, price;
};
constexpr NightType kTypes[] = {{"h100", 32, 700, 3000, 300}, {"a100", 32, 400, 1600, 180}, {"v100", 64, 300, 700, 90}};
constexpr int64_t kDevices[] = {1, 2, 4, 8}; ///< of a configuration

static ScheduledJob nightJob(SplitMix &random, int64_t seconds, Elasticity elasticity) {
  ScheduledJob job;
  job.arrival = static_cast<int64_t>(random.below(static_cast<uint64_t>(seconds) / 3));
  job.weight = 1 + static_cast<int64_t>(random.below(3));
  job.restart = 120, job.elasticity = elasticity;
  const double hours = 0.3 + 8 * random.unit() * random.unit();
  job.isolated = static_cast<int64_t>(3600 * hours) + 1;
  job.work = static_cast<int64_t>(hours * 3600 * 6000);
  const double scaling = 0.75 + 0.2 * random.unit();
  for (unsigned type = 0; type < std::size(kTypes); ++type)
    for (int64_t devices : kDevices) {
      JobConfiguration one;
      one.speed = static_cast<int64_t>(static_cast<double>(kTypes[type].speed) *
                                       std::pow(static_cast<double>(devices), scaling));
      one.watts = devices * kTypes[type].watts, one.price = devices * kTypes[type].price;
      one.uses = {{type, devices}, {static_cast<unsigned>(std::size(kTypes)), one.watts}};
      job.configurations.push_back(one);
    }
  return job;
}

/// Jobs, slots, whether they are malleable, and whether the price is a second objective.
static JobScheduleProblem nightOf(const benchmark::State &state) {
  SplitMix random(3);
  JobScheduleProblem problem;
  problem.slots = state.range(1);
  for (const NightType &type : kTypes)
    problem.resources.push_back({type.name, std::vector<int64_t>(problem.slots, type.devices)});
  problem.resources.push_back({"power", std::vector<int64_t>(problem.slots, 36'000)});
  auto &power = problem.resources.back().capacity;
  std::fill(power.begin() + problem.slots / 2, power.end(), 24'000);
  for (int64_t job = 0; job < state.range(0); ++job) {
    problem.jobs.push_back(nightJob(random, problem.slots * problem.slot,
                                    state.range(2) != 0 ? Elasticity::Malleable : Elasticity::Moldable));
    problem.jobs.back().name = "job" + std::to_string(job);
  }
  problem.objectives = {JobMeasure::Completion};
  if (state.range(3) != 0)
    problem.objectives.push_back(JobMeasure::Price);
  return problem;
}

static SearchLimits quickLimits() {
  SearchLimits limits;
  limits.effort = kQuickEffort;
  return limits;
}

static void BM_ScheduleJobs(benchmark::State &state) {
  const JobScheduleProblem problem = nightOf(state);
  JobSchedule schedule;
  for (auto _ : state)
    benchmark::DoNotOptimize(schedule = solveJobSchedule(problem, quickLimits()));
  for (size_t i = 0; i < schedule.values.size(); ++i)
    state.counters["gap_percent_" + std::to_string(i)] =
        100 * static_cast<double>(schedule.values[i] - schedule.proofs[i].bound) /
        std::max(1.0, static_cast<double>(schedule.values[i]));
}

static void BM_VerifyJobSchedule(benchmark::State &state) {
  const JobScheduleProblem problem = nightOf(state);
  const JobSchedule schedule = solveJobSchedule(problem, quickLimits());
  for (auto _ : state)
    if (auto verified = verifyJobSchedule(problem, schedule); !verified)
      state.SkipWithError(verified.error().message.c_str());
}

static void sizes(benchmark::internal::Benchmark *bench) {
  bench->ArgNames({"jobs", "slots", "malleable", "then_price"})
      ->Args({8, 24, 1, 0})
      ->Args({12, 48, 1, 0})
      ->Args({40, 96, 0, 0})
      ->Args({40, 96, 0, 1})
      ->Args({40, 96, 1, 0})
      ->Unit(benchmark::kMillisecond);
}
BENCHMARK(BM_ScheduleJobs)->Apply(sizes);
BENCHMARK(BM_VerifyJobSchedule)->Apply(sizes);
