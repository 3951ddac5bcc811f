// Problems of schedules of jobs drawn at random, and their optima by trying every slot of every job.
#pragma once
#include "lib/jobs/problem/JobSchedule.h"
#include "lib/support/SplitMix.h"
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

namespace accord::jobs::test {

/// What one job may do, slot by slot, found by walking through the seconds of each slot.
struct TriedTrajectory {
  std::vector<int> slots; ///< the configuration in each, -1: none
  int64_t completion = -1;
  bool continues = false;
  int64_t left = 0, starts = 0; ///< work after the last slot; runs but for one that goes on
};

/// Whether so much work is done after the last slot in every second up to the deadline, at the highest speed.
inline bool couldKeepDeadline(const JobScheduleProblem &problem, const ScheduledJob &job, int64_t left) {
  int64_t fastest = 0;
  for (const JobConfiguration &one : job.configurations)
    fastest = std::max(fastest, one.speed);
  for (int64_t second = std::max(problem.slots * problem.slot, job.arrival); second < job.deadline; ++second)
    left -= fastest;
  return job.deadline < 0 || left <= 0;
}

/// Walks through the seconds of the slots: what is left, when it completes, and how often it starts. False if it runs
/// before its arrival, or after its completion, or in configurations of several families.
inline bool walkSlots(const JobScheduleProblem &problem, const ScheduledJob &job, TriedTrajectory &now) {
  int64_t wait = 0;
  int before = -1, first = -1;
  now.left = job.work, now.starts = 0, now.completion = -1;
  for (int64_t slot = 0; slot < problem.slots; ++slot) {
    const int k = now.slots[slot];
    if (k >= 0 && (now.left == 0 || slot * problem.slot < job.arrival))
      return false;
    if (k >= 0 && first < 0)
      first = k;
    if (k >= 0 && job.configurations[k].family != job.configurations[first].family)
      return false;
    if (k >= 0 && k != before) {
      const bool goesOn = slot == 0 && k == job.running;
      now.starts += !goesOn;
      wait = goesOn ? 0 : job.restart;
    }
    for (int64_t second = 0; k >= 0 && second < problem.slot && now.left > 0; ++second) {
      if (wait > 0) {
        --wait;
        continue;
      }
      now.left = std::max<int64_t>(0, now.left - job.configurations[k].speed);
      if (now.left == 0)
        now.completion = slot * problem.slot + second + 1;
    }
    before = k;
  }
  return true;
}

inline void walk(const JobScheduleProblem &problem, const ScheduledJob &job, TriedTrajectory &now,
                 std::vector<TriedTrajectory> &all) {
  if (now.slots.size() < static_cast<size_t>(problem.slots)) {
    for (int k = -1; k < static_cast<int>(job.configurations.size()); ++k) {
      now.slots.push_back(k);
      walk(problem, job, now, all);
      now.slots.pop_back();
    }
    return;
  }
  if (!walkSlots(problem, job, now))
    return;
  if (job.maxRestarts >= 0 && now.starts > job.maxRestarts)
    return;
  int64_t runs = 0;
  for (size_t slot = 0; slot < now.slots.size(); ++slot)
    runs += now.slots[slot] >= 0 && (slot == 0 || now.slots[slot] != now.slots[slot - 1]);
  const bool isMoldable = job.elasticity == Elasticity::Moldable;
  if (isMoldable && (runs > 1 || (now.left > 0 && runs == 1 && now.slots.back() < 0)))
    return; // it pauses
  now.continues = now.left > 0;
  if (now.continues && job.mayContinue && couldKeepDeadline(problem, job, now.left)) {
    now.completion = std::max(problem.slots * problem.slot, job.arrival);
    all.push_back(now);
  }
  if (!now.continues && (job.deadline < 0 || now.completion <= job.deadline))
    all.push_back(now);
}

inline std::vector<TriedTrajectory> tried(const JobScheduleProblem &problem, const ScheduledJob &job) {
  std::vector<TriedTrajectory> all;
  TriedTrajectory now;
  if (job.work > 0)
    walk(problem, job, now, all);
  else if (job.deadline < 0 || job.arrival <= job.deadline)
    all.push_back({std::vector<int>(problem.slots, -1), job.arrival, false, 0, 0});
  if (job.mayBeRejected)
    all.push_back({std::vector<int>(problem.slots, -1), -1, false, job.work, 0});
  return all;
}

inline int64_t measured(const JobScheduleProblem &problem, JobMeasure measure,
                        const std::vector<TriedTrajectory> &chosen) {
  int64_t sum = 0, max = 0;
  std::vector<int64_t> times;
  std::vector<int64_t> ofGroup(problem.groups.size(), 0);
  for (size_t j = 0; j < chosen.size(); ++j) {
    const ScheduledJob &job = problem.jobs[j];
    const TriedTrajectory &one = chosen[j];
    if (measure == JobMeasure::Unfinished && job.work > 0)
      sum += job.weight * ((1'000'000 * one.left + job.work - 1) / job.work);
    if (measure == JobMeasure::Restarts)
      sum += one.starts;
    if (one.completion < 0) {
      sum += measure == JobMeasure::Rejected ? job.weight : 0;
      times.push_back(0);
      continue;
    }
    const int64_t time = one.completion - job.arrival + job.waited;
    times.push_back(time);
    for (unsigned group : job.groups)
      ofGroup[group] += job.weight * time;
    if (measure == JobMeasure::Completion)
      sum += job.weight * time;
    if (measure == JobMeasure::Lateness && job.due >= 0 && one.completion > job.due)
      sum += job.latePrice * (one.completion - job.due);
    for (int64_t slot = 0; slot < problem.slots; ++slot)
      if (const int k = one.slots[slot]; k >= 0) {
        if (measure == JobMeasure::Price)
          sum += job.configurations[k].price * problem.slot;
        if (measure == JobMeasure::Energy)
          sum += job.configurations[k].watts * problem.slot;
        if (measure == JobMeasure::Carbon && !problem.carbon.empty())
          sum += job.configurations[k].watts * problem.slot * problem.carbon[slot];
      }
    if (measure == JobMeasure::Nash && time > 0)
      sum += job.weight * std::llround(1e6 * std::log2(double(time) / double(job.isolated)));
    if (measure == JobMeasure::Makespan)
      max = std::max(max, one.completion);
    if (measure == JobMeasure::Slowdown)
      max = std::max(max, (1000 * time + job.isolated - 1) / job.isolated);
  }
  if (measure == JobMeasure::Tail) {
    std::sort(times.rbegin(), times.rend());
    return static_cast<size_t>(problem.tail) < times.size() ? times[problem.tail] : 0;
  }
  if (measure == JobMeasure::Group)
    for (size_t g = 0; g < ofGroup.size(); ++g)
      max = std::max(max, (ofGroup[g] + problem.groups[g].share - 1) / problem.groups[g].share);
  return isSum(measure) ? sum : max;
}

/// The values of the objectives of the lexicographically best schedule; nothing where there is none.
inline std::optional<std::vector<int64_t>> bestByTrying(const JobScheduleProblem &problem) {
  std::vector<std::vector<TriedTrajectory>> all;
  for (const ScheduledJob &job : problem.jobs)
    all.push_back(tried(problem, job));
  std::vector<std::vector<int64_t>> left;
  for (const SlotResource &resource : problem.resources)
    left.push_back(resource.capacity);
  std::vector<TriedTrajectory> chosen(problem.jobs.size());
  std::optional<std::vector<int64_t>> best;
  std::function<void(size_t)> choose = [&](size_t j) {
    if (j == problem.jobs.size()) {
      for (size_t a = 0; a < problem.jobs.size(); ++a)
        for (unsigned b : problem.jobs[a].after) {
          const auto first = std::find_if(chosen[a].slots.begin(), chosen[a].slots.end(), [](int k) { return k >= 0; });
          if (first != chosen[a].slots.end() &&
              (chosen[b].completion < 0 || chosen[b].completion > (first - chosen[a].slots.begin()) * problem.slot))
            return;
        }
      for (const JobLimit &limit : problem.limits)
        if (measured(problem, limit.measure, chosen) > limit.max)
          return;
      std::vector<int64_t> values;
      for (JobMeasure measure : problem.objectives)
        values.push_back(measured(problem, measure, chosen));
      if (!best || values < *best)
        best = values;
      return;
    }
    for (const TriedTrajectory &one : all[j]) {
      bool fits = true;
      auto use = [&](int64_t sign) {
        for (int64_t slot = 0; slot < problem.slots; ++slot)
          if (one.slots[slot] >= 0)
            for (const ResourceUse &used : problem.jobs[j].configurations[one.slots[slot]].uses)
              fits &= (left[used.resource][slot] -= sign * used.amount) >= 0;
      };
      use(1);
      if (fits) {
        chosen[j] = one;
        choose(j + 1);
      }
      use(-1);
    }
  };
  choose(0);
  return best;
}

/// A job with more work that may continue after the end, some with a deadline or an arrival behind it.
inline void letContinue(ScheduledJob &job, int64_t end, SplitMix &random) {
  job.mayContinue = true;
  job.work *= 1 + static_cast<int64_t>(random.below(3));
  if (random.below(4) == 0)
    job.deadline = end + static_cast<int64_t>(random.below(60));
  if (random.below(12) == 0)
    job.arrival = end - 3 + static_cast<int64_t>(random.below(13));
}

/// One or two objectives, and up to three limits.
inline void drawMeasures(JobScheduleProblem &problem, SplitMix &random) {
  auto between = [&](int64_t min, int64_t max) { return min + static_cast<int64_t>(random.below(max - min + 1)); };
  const auto jobs = static_cast<int64_t>(problem.jobs.size());
  const auto measure = [&] { return static_cast<JobMeasure>(random.below(kJobMeasures)); };
  problem.objectives.push_back(measure());
  if (const JobMeasure second = measure(); second != problem.objectives[0] && random.below(2))
    problem.objectives.push_back(second);
  if (random.below(4) == 0)
    problem.limits.push_back({measure(), between(0, 1000)});
  if (random.below(8) == 0)
    problem.limits.push_back({JobMeasure::Unfinished, between(0, 1'500'000 * jobs)});
  if (random.below(8) == 0)
    problem.limits.push_back({JobMeasure::Restarts, between(0, 2 * jobs)});
}

/// 2 to 4 jobs in 3 to 5 slots, with everything that a problem may have.
inline JobScheduleProblem randomSchedule(SplitMix &random) {
  auto between = [&](int64_t min, int64_t max) { return min + static_cast<int64_t>(random.below(max - min + 1)); };
  JobScheduleProblem problem;
  problem.slot = between(5, 30), problem.slots = between(3, 5);
  const unsigned types = between(1, 2);
  for (unsigned r = 0; r < types + (random.below(2) ? 1 : 0); ++r) { // the last is power
    SlotResource resource{r < types ? "type" : "power", {}};
    for (int64_t slot = 0; slot < problem.slots; ++slot)
      resource.capacity.push_back(r < types ? between(2, 7) : between(25, 70));
    problem.resources.push_back(resource);
  }
  problem.groups = {{"a", between(1, 3)}, {"b", between(1, 3)}};
  if (random.below(2))
    for (int64_t slot = 0; slot < problem.slots; ++slot)
      problem.carbon.push_back(between(0, 5));
  const int64_t jobs = between(2, problem.slots == 3 ? 4 : 3);
  problem.tail = between(0, 1);
  for (int64_t j = 0; j < jobs; ++j) {
    ScheduledJob job;
    job.name = "j" + std::to_string(j);
    job.arrival = random.below(3) ? 0 : between(0, problem.slot * 2);
    job.weight = between(1, 3);
    job.work = random.below(12) ? between(5, 4 * problem.slot) : 0;
    job.restart = random.below(3) ? between(0, problem.slot / 3) : between(0, problem.slot + 3);
    job.elasticity = random.below(2) ? Elasticity::Malleable : Elasticity::Moldable;
    job.mayBeRejected = random.below(4) == 0;
    job.isolated = between(1, 40);
    if (random.below(5) == 0)
      job.deadline = between(problem.slot, problem.slot * problem.slots);
    if (random.below(2))
      job.due = between(0, problem.slot * problem.slots), job.latePrice = between(1, 9);
    const int64_t configurations = between(1, 3);
    for (int64_t k = 0; k < configurations; ++k) {
      JobConfiguration one;
      one.speed = between(2, 8), one.watts = between(1, 20), one.price = between(0, 9);
      one.uses.push_back({static_cast<unsigned>(random.below(types)), between(1, 4)});
      if (problem.resources.size() > types)
        one.uses.push_back({types, between(5, 30)});
      job.configurations.push_back(one);
    }
    if (problem.slots < 5 && configurations < 3 && random.below(3) == 0) // of more, there are too many to be tried
      letContinue(job, problem.slots * problem.slot, random);
    if (random.below(5) == 0)
      job.maxRestarts = between(0, 2);
    if (job.arrival == 0 && random.below(4) == 0)
      job.running = static_cast<int64_t>(random.below(job.configurations.size()));
    if (j > 0 && random.below(4) == 0)
      job.after.push_back(static_cast<unsigned>(random.below(j)));
    if (random.below(2))
      job.groups.push_back(static_cast<unsigned>(random.below(2)));
    problem.jobs.push_back(job);
  }
  drawMeasures(problem, random);
  return problem;
}

/// Configurations of each job in up to two families.
inline JobScheduleProblem inFamilies(JobScheduleProblem problem, SplitMix &random) {
  for (ScheduledJob &job : problem.jobs)
    for (JobConfiguration &one : job.configurations)
      one.family = static_cast<unsigned>(random.below(2));
  return problem;
}

} // namespace accord::jobs::test
