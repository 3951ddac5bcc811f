#include "lib/jobs/schedule/JobOrder.h"
#include <algorithm>
#include <numeric>
#include <utility>

namespace accord::jobs {
namespace {

/// All numbers of a job but those of other jobs.
std::vector<int64_t> numbersOf(const ScheduledJob &job) {
  std::vector<int64_t> numbers{job.arrival,
                               job.work,
                               job.weight,
                               job.deadline,
                               job.due,
                               job.latePrice,
                               job.waited,
                               static_cast<int64_t>(job.elasticity),
                               job.restart,
                               job.running,
                               job.mayBeRejected,
                               job.mayContinue,
                               job.isolated,
                               job.maxRestarts,
                               int64_t(job.after.size())};
  numbers.insert(numbers.end(), job.groups.begin(), job.groups.end());
  for (const JobConfiguration &one : job.configurations) {
    numbers.insert(numbers.end(), {one.speed, one.watts, one.price, int64_t(one.family)});
    for (const ResourceUse &use : one.uses)
      numbers.insert(numbers.end(), {int64_t(use.resource), use.amount});
  }
  return numbers;
}

} // namespace

JobOrder::JobOrder(const JobScheduleProblem &given)
    : given(given), ordered(given), jobAt(given.jobs.size()), placeOf(given.jobs.size()) {
  std::vector<std::pair<std::vector<int64_t>, std::string>> keys;
  for (const ScheduledJob &job : given.jobs)
    keys.emplace_back(numbersOf(job), job.name);
  std::iota(jobAt.begin(), jobAt.end(), 0);
  std::sort(jobAt.begin(), jobAt.end(),
            [&](unsigned a, unsigned b) { return keys[a] != keys[b] ? keys[a] < keys[b] : a < b; });
  for (unsigned place = 0; place < jobAt.size(); ++place)
    placeOf[jobAt[place]] = place;
  for (unsigned place = 0; place < jobAt.size(); ++place) {
    ordered.jobs[place] = given.jobs[jobAt[place]];
    for (unsigned &before : ordered.jobs[place].after)
      before = placeOf[before];
    std::sort(ordered.jobs[place].after.begin(), ordered.jobs[place].after.end());
  }
}

std::vector<JobTrajectory> JobOrder::toOrder(const std::vector<JobTrajectory> &jobs) const {
  std::vector<JobTrajectory> made;
  for (size_t place = 0; place < jobs.size(); ++place)
    made.push_back(jobs[jobAt[place]]);
  return made;
}

std::vector<size_t> JobOrder::dependenceRows() const {
  const auto slots = static_cast<size_t>(given.slots);
  std::vector<size_t> firstOf; // of each place
  size_t row = given.resources.size() * slots;
  for (const ScheduledJob &job : ordered.jobs) {
    firstOf.push_back(row);
    row += job.after.size() * slots;
  }
  std::vector<size_t> rows;
  for (size_t job = 0; job < given.jobs.size(); ++job)
    for (unsigned before : given.jobs[job].after) {
      const std::vector<unsigned> &after = ordered.jobs[placeOf[job]].after;
      const auto number = std::lower_bound(after.begin(), after.end(), placeOf[before]) - after.begin();
      rows.push_back(firstOf[placeOf[job]] + static_cast<size_t>(number) * slots);
    }
  return rows;
}

JobSchedule JobOrder::fromOrder(JobSchedule schedule) const {
  const std::vector<JobTrajectory> jobs = std::move(schedule.jobs);
  schedule.jobs.clear();
  for (size_t job = 0; job < jobs.size(); ++job)
    schedule.jobs.push_back(jobs[placeOf[job]]);
  const auto slots = static_cast<size_t>(given.slots);
  const std::vector<size_t> rows = dependenceRows();
  for (JobScheduleProof &proof : schedule.proofs) {
    if (proof.prices.empty())
      continue;
    const Prices found = proof.prices;
    auto to = proof.prices.begin() + static_cast<std::ptrdiff_t>(given.resources.size() * slots);
    for (size_t row : rows)
      to = std::copy_n(found.begin() + static_cast<std::ptrdiff_t>(row), slots, to);
  }
  return schedule;
}

} // namespace accord::jobs
