// Schedules of jobs as examples: each job in turn gets the run of its own that completes first.
#pragma once
#include "lib/jobs/problem/JobWords.h"
#include "lib/jobs/schedule/JobPlacer.h"
#include "lib/jobs/schedule/WaitReasons.h"
#include "lib/support/SplitMix.h"
#include <algorithm>
#include <cmath>

namespace accord::jobs {

/// Two types of devices, watts, and the devices of a tenant; slots of half an hour.
inline JobAnswer emptyAnswer(int64_t slots = 48) {
  JobAnswer answer;
  answer.name = "night";
  answer.clusterName = "lab";
  answer.cluster.types = {"h100", "a100"};
  answer.cluster.servers = {{0, 8}, {0, 8}, {0, 8}, {1, 4}, {1, 4}, {1, 4}, {1, 4}};
  JobScheduleProblem &problem = answer.problem;
  problem.slot = 1800;
  problem.slots = slots;
  auto steady = [&](int64_t amount) { return std::vector<int64_t>(static_cast<size_t>(slots), amount); };
  problem.resources = {
      {"h100", steady(24)}, {"a100", steady(16)}, {kPowerResource, steady(18000)}, {"vision", steady(20)}};
  for (int64_t slot = slots / 2; slot < std::min(slots, slots / 2 + 8); ++slot)
    problem.resources[0].capacity[slot] = 16; // a server is out of service
  for (int64_t slot = slots / 4; slot < slots / 3; ++slot)
    problem.resources[2].capacity[slot] = 12000;
  problem.groups = {{"vision", 1}, {"language", 2}};
  problem.objectives = {JobMeasure::Completion, JobMeasure::Price};
  return answer;
}

/// A job in configurations of so many h100 (700 W, 1 work a second each, a twentieth less for each doubling) or a100
/// (400 W, half as fast).
inline void addJob(JobAnswer &answer, std::string name, unsigned group, int64_t arrival, int64_t work,
                   std::vector<std::pair<unsigned, int64_t>> configurations) {
  ScheduledJob job;
  job.name = std::move(name);
  job.arrival = arrival;
  job.work = work;
  job.elasticity = Elasticity::Moldable;
  job.restart = 60;
  job.groups = {group};
  JobWords words{answer.problem.groups[group].name, job.name + "_training", {}};
  for (auto [type, devices] : configurations) {
    JobConfiguration configuration;
    const double speed = (type == 0 ? 100.0 : 50.0) * std::pow(static_cast<double>(devices), 0.93);
    configuration.name = std::to_string(devices) + " " + answer.cluster.types[type];
    configuration.speed = static_cast<int64_t>(speed);
    configuration.watts = devices * (type == 0 ? 700 : 400);
    configuration.price = devices * (type == 0 ? 900 : 350);
    configuration.uses = {{type, devices}, {2, configuration.watts}};
    if (group == 0)
      configuration.uses.push_back({3, devices});
    job.configurations.push_back(std::move(configuration));
    words.configurations.push_back({"data " + std::to_string(devices), type, devices, int64_t(40) << 30, 64 / speed});
  }
  answer.problem.jobs.push_back(std::move(job));
  answer.jobs.push_back(std::move(words));
}

/// The first slot from `from` on in which the configuration has room for `slots`; -1: none.
inline int64_t firstRoom(const JobScheduleProblem &problem, const std::vector<std::vector<int64_t>> &used,
                         const JobConfiguration &configuration, int64_t from, int64_t slots) {
  for (int64_t begin = from; begin + slots <= problem.slots; ++begin) {
    bool fits = true;
    for (int64_t slot = begin; slot < begin + slots; ++slot)
      for (const ResourceUse &use : configuration.uses)
        fits &= used[use.resource][slot] + use.amount <= problem.resources[use.resource].capacity[slot];
    if (fits)
      return begin;
  }
  return -1;
}

/// Gives each job in turn the one run with the earliest completion; jobs without one are left out.
inline void scheduleInTurn(JobAnswer &answer) {
  const JobScheduleProblem &problem = answer.problem;
  answer.schedule = {};
  answer.schedule.status = AllocationStatus::Feasible;
  for (const ScheduledJob &job : problem.jobs) {
    JobTrajectory best;
    const auto used = usedAmounts(problem, answer.schedule);
    int64_t from = (job.arrival + problem.slot - 1) / problem.slot;
    for (unsigned earlier : job.after)
      from = answer.schedule.jobs[earlier].completion < 0
                 ? problem.slots
                 : std::max(from, (answer.schedule.jobs[earlier].completion + problem.slot - 1) / problem.slot);
    for (unsigned c = 0; c < job.configurations.size(); ++c) {
      const int64_t seconds = job.restart + (job.work + job.configurations[c].speed - 1) / job.configurations[c].speed;
      const int64_t slots = (seconds + problem.slot - 1) / problem.slot;
      const int64_t begin = firstRoom(problem, used, job.configurations[c], from, slots);
      if (begin >= 0 && (best.completion < 0 || begin * problem.slot + seconds < best.completion))
        best = {{{begin, begin + slots, c}}, begin * problem.slot + seconds};
    }
    answer.schedule.jobs.push_back(best);
  }
  int64_t completion = 0, price = 0;
  for (size_t j = 0; j < problem.jobs.size(); ++j) {
    const JobTrajectory &does = answer.schedule.jobs[j];
    if (does.completion >= 0)
      completion += problem.jobs[j].weight * (does.completion - problem.jobs[j].arrival);
    price += static_cast<int64_t>(runCosts(problem, problem.jobs[j], does.runs).price);
  }
  answer.schedule.values = {completion, price};
  answer.schedule.proofs.resize(2);
  answer.schedule.proofs[0].bound = completion - completion / 20;
  answer.schedule.proofs[1].bound = price;
  placeJobs(answer);
  answer.waits = waitReasons(answer);
}

/// Many jobs of two tenants that arrive over a third of the time.
inline JobAnswer manyJobs(unsigned jobs, uint64_t seed, int64_t slots = 96) {
  JobAnswer answer = emptyAnswer(slots);
  SplitMix random(seed);
  constexpr const char *kNames[] = {"resnet", "bert", "gpt", "vit", "dlrm", "whisper"};
  for (unsigned j = 0; j < jobs; ++j) {
    const int64_t size = int64_t(1) << random.below(4);
    const unsigned group = random.below(2);
    addJob(answer, std::string(kNames[random.below(6)]) + "_" + std::to_string(j), group,
           static_cast<int64_t>(random.below(static_cast<uint64_t>(slots / 3 * 1800))),
           static_cast<int64_t>(100 * size * (1800 + random.below(8 * 1800))), {{0, size}, {0, size * 2}, {1, size}});
    if (random.below(3) == 0)
      answer.problem.jobs.back().deadline = slots * 1800;
    if (j > 4 && random.below(6) == 0)
      answer.problem.jobs.back().after = {j - 3};
  }
  scheduleInTurn(answer);
  return answer;
}

} // namespace accord::jobs
