// Schedules and bounds that hold and that do not, against trying every slot of every job.
#include "lib/jobs/verify/JobScheduleVerifier.h"
#include "lib/jobs/schedule/JobScheduler.h"
#include "lib/jobs/schedule/TrajectoryGenerator.h"
#include "lib/jobs/verify/PricedTrajectories.h"
#include "lib/jobs/verify/Trajectories.h"
#include "test/lib/jobs/JobScheduleCases.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::jobs;
using namespace accord::jobs::test;

namespace {

using Wide = __int128;

/// The runs of what was tried; nothing if a run does no work, so that no list has it.
std::optional<JobTrajectory> runsOf(const JobScheduleProblem &problem, const ScheduledJob &job,
                                    const TriedTrajectory &tried) {
  JobTrajectory made;
  made.completion = tried.completion, made.continues = tried.continues;
  for (int64_t slot = 0; slot < problem.slots; ++slot) {
    const int k = tried.slots[slot];
    if (k < 0)
      continue;
    if (made.runs.empty() || made.runs.back().end != slot || made.runs.back().configuration != unsigned(k))
      made.runs.push_back({slot, slot, unsigned(k)});
    ++made.runs.back().end;
  }
  for (const JobRun &run : made.runs)
    if ((run.end - run.begin) * problem.slot <= job.restart &&
        !(run.begin == 0 && int64_t(run.configuration) == job.running))
      return std::nullopt;
  return made;
}

struct Tried {
  std::vector<TriedTrajectory> slots;
  std::vector<JobTrajectory> runs; ///< ascending, the rejection last
};

std::vector<Tried> allTried(const JobScheduleProblem &problem) {
  std::vector<Tried> all;
  for (const ScheduledJob &job : problem.jobs) {
    std::vector<std::pair<JobTrajectory, TriedTrajectory>> both;
    for (const TriedTrajectory &one : tried(problem, job))
      if (auto runs = runsOf(problem, job, one))
        both.push_back({*runs, one});
    std::sort(both.begin(), both.end(), [](const auto &a, const auto &b) {
      const bool x = a.first.completion < 0, y = b.first.completion < 0;
      return x != y ? y : a.first < b.first;
    });
    all.emplace_back();
    for (auto &[runs, slots] : both)
      all.back().runs.push_back(runs), all.back().slots.push_back(slots);
  }
  return all;
}

/// Whether trajectories that are right by themselves keep capacities, dependences and limits.
bool keepsAll(const JobScheduleProblem &problem, const std::vector<TriedTrajectory> &chosen) {
  for (size_t r = 0; r < problem.resources.size(); ++r)
    for (int64_t slot = 0; slot < problem.slots; ++slot) {
      int64_t left = problem.resources[r].capacity[slot];
      for (size_t j = 0; j < chosen.size(); ++j)
        if (chosen[j].slots[slot] >= 0)
          for (const ResourceUse &use : problem.jobs[j].configurations[chosen[j].slots[slot]].uses)
            left -= use.resource == r ? use.amount : 0;
      if (left < 0)
        return false;
    }
  for (size_t j = 0; j < chosen.size(); ++j)
    for (int64_t slot = 0; slot < problem.slots; ++slot)
      if (chosen[j].slots[slot] >= 0)
        for (unsigned before : problem.jobs[j].after)
          if (chosen[before].completion < 0 || chosen[before].completion > slot * problem.slot)
            return false;
  return std::all_of(problem.limits.begin(), problem.limits.end(),
                     [&](const JobLimit &limit) { return measured(problem, limit.measure, chosen) <= limit.max; });
}

std::vector<int64_t> valuesOf(const JobScheduleProblem &problem, const std::vector<TriedTrajectory> &chosen) {
  std::vector<int64_t> values;
  for (JobMeasure measure : problem.objectives)
    values.push_back(measured(problem, measure, chosen));
  return values;
}

/// Whether a schedule is right but for its proofs.
bool isRight(const JobScheduleProblem &problem, const JobSchedule &schedule) {
  const std::vector<Tried> all = allTried(problem);
  std::vector<TriedTrajectory> chosen;
  for (size_t j = 0; j < all.size(); ++j) {
    const auto found = std::find(all[j].runs.begin(), all[j].runs.end(), schedule.jobs[j]);
    if (found == all[j].runs.end())
      return false;
    chosen.push_back(all[j].slots[size_t(found - all[j].runs.begin())]);
  }
  return keepsAll(problem, chosen) && valuesOf(problem, chosen) == schedule.values;
}

/// A schedule drawn at random; without proofs.
std::optional<JobSchedule> drawn(const JobScheduleProblem &problem, SplitMix &random) {
  const std::vector<Tried> all = allTried(problem);
  for (int attempt = 0; attempt < 40; ++attempt) {
    std::vector<TriedTrajectory> chosen;
    JobSchedule schedule;
    for (const Tried &one : all) {
      if (one.runs.empty())
        return std::nullopt;
      const size_t at = random.below(one.runs.size());
      chosen.push_back(one.slots[at]), schedule.jobs.push_back(one.runs[at]);
    }
    if (!keepsAll(problem, chosen))
      continue;
    schedule.values = valuesOf(problem, chosen);
    return schedule;
  }
  return std::nullopt;
}

/// A tree that fixes job after job in all of its ways, with leaves of no prices.
AllocationProof fullTree(const std::vector<size_t> &ways, size_t rows) {
  AllocationProof proof;
  proof.nodes.emplace_back();
  std::vector<std::pair<unsigned, size_t>> open{{0, 0}};
  for (size_t i = 0; i < open.size(); ++i) {
    const auto [node, job] = open[i];
    if (job == ways.size()) {
      proof.nodes[node].prices.assign(rows, 0);
      continue;
    }
    proof.nodes[node].job = int64_t(job);
    for (size_t k = 0; k < ways[job]; ++k) {
      proof.nodes[node].next.push_back(unsigned(proof.nodes.size()));
      open.push_back({unsigned(proof.nodes.size()), job + 1});
      proof.nodes.emplace_back();
    }
  }
  return proof;
}

/// The measures that are sums.
JobMeasure drawnSum(SplitMix &random) {
  const auto one = static_cast<JobMeasure>(random.below(9));
  return one < JobMeasure::Makespan ? one : one == JobMeasure::Makespan ? JobMeasure::Unfinished : JobMeasure::Restarts;
}

int64_t lastOf(const JobScheduleProblem &problem) { return problem.slots * problem.slot; }

/// One job of 100 units of work on a device, in 4 slots of 10 seconds; 1 device of 2 speeds.
JobScheduleProblem oneJob() {
  JobScheduleProblem problem;
  problem.slot = 10, problem.slots = 4;
  problem.resources = {{"device", {1, 1, 1, 1}}};
  ScheduledJob job;
  job.name = "a", job.work = 100, job.restart = 3;
  job.configurations = {{"slow", 4, {{0, 1}}, 5, 2}, {"fast", 9, {{0, 1}}, 20, 7}};
  problem.jobs = {job};
  problem.objectives = {JobMeasure::Completion};
  return problem;
}

JobSchedule fastSchedule() { // 3 seconds of restart, ceil(100 / 9) = 12 of work
  JobSchedule schedule;
  schedule.status = AllocationStatus::Optimal;
  schedule.jobs = {{{{0, 2, 1}}, 15}};
  schedule.values = {15};
  schedule.proofs = {{15, {}, {0, 0, 0, 0}, 1}};
  return schedule;
}

std::string refusalOf(const JobScheduleProblem &problem, const JobSchedule &schedule) {
  auto verified = verifyJobSchedule(problem, schedule);
  return verified ? "" : verified.error().message;
}

} // namespace

TEST(JobScheduleVerifier, ProvesAScheduleByHand) {
  const JobScheduleProblem problem = oneJob();
  const JobSchedule schedule = fastSchedule();
  EXPECT_EQ(refusalOf(problem, schedule), "");
  auto refused = [&](auto change, const std::string &message) {
    JobSchedule wrong = schedule;
    change(wrong);
    EXPECT_EQ(refusalOf(problem, wrong), message);
  };
  refused([](JobSchedule &s) { s.jobs[0].completion = 14; }, "job 'a': it completes at 15, but 14 is said");
  refused([](JobSchedule &s) { s.jobs[0].runs[0].end = 3; },
          "job 'a': it is complete at 15, before the last slot of run 0");
  refused([](JobSchedule &s) { s.jobs[0].runs[0].end = 1; }, "job 'a': 37 of its work 100 is left");
  refused([](JobSchedule &s) { s.jobs[0].runs[0].configuration = 2; }, "job 'a': run 0 has configuration 2 of 2");
  refused([](JobSchedule &s) { s.jobs[0].runs[0].begin = -1; },
          "job 'a': run 0 is in slots -1 to 2, which are none of 0 to 4");
  refused([](JobSchedule &s) { s.jobs[0] = {{{0, 1, 1}, {1, 2, 1}}, 16}; },
          "job 'a': run 1 goes on in the configuration of run 0: they are one run");
  refused([](JobSchedule &s) { s.jobs[0] = {}; }, "job 'a': it is left out, but may not be rejected");
  refused([](JobSchedule &s) { s.jobs.clear(); }, "the schedule has 0 jobs of 1");
  refused([](JobSchedule &s) { s.values[0] = 16; }, "'mean_completion' is 15, but 16 is said");
  refused([](JobSchedule &s) { s.proofs[0].bound = 16; }, "'mean_completion' is 15, below its bound 16");
  refused([](JobSchedule &s) { s.proofs[0].bound = 14; }, "an objective is above its bound, but the status is optimal");
  refused([](JobSchedule &s) { s.proofs[0].prices[2] = 1; },
          "bound of 'mean_completion': the prices do not prove a bound of 15");
  refused([](JobSchedule &s) { s.proofs[0].prices[2] = -1; },
          "bound of 'mean_completion': the price of row 2 is -1, which is below 0");
  refused([](JobSchedule &s) { s.proofs[0].prices.pop_back(); },
          "bound of 'mean_completion': the proof has 3 prices for 4 rows");
  refused([](JobSchedule &s) { s.proofs[0].denominator = 0; },
          "bound of 'mean_completion': the denominator of prices is 0, which is below 1");
  refused([](JobSchedule &s) { s.proofs.clear(); }, "the schedule has 1 values and 0 proofs of 1 objectives");
  refused([](JobSchedule &s) { s.status = AllocationStatus::Feasible; },
          "all objectives are at their bounds, but the status is not optimal");
  refused([](JobSchedule &s) { s.status = AllocationStatus::Unknown; },
          "there is no schedule, but it has 1 jobs, 1 values and 1 proofs");
}

TEST(JobScheduleVerifier, TimesAndLimitsAreKeptToTheSecond) {
  auto refusal = [](auto change) {
    JobScheduleProblem problem = oneJob();
    change(problem);
    return refusalOf(problem, fastSchedule());
  };
  auto limited = [&](JobMeasure measure, int64_t max) {
    return refusal([&](JobScheduleProblem &p) {
      p.limits = {{measure, max}};
      p.objectives = {JobMeasure::Completion};
    });
  };
  EXPECT_EQ(refusal([](JobScheduleProblem &p) { p.jobs[0].arrival = 1; }),
            "job 'a': run 0 begins at 0, before the arrival at 1");
  EXPECT_EQ(refusal([](JobScheduleProblem &p) { p.jobs[0].deadline = 15; }), "");
  EXPECT_EQ(refusal([](JobScheduleProblem &p) { p.jobs[0].deadline = 14; }),
            "job 'a': it completes at 15, after its deadline 14");
  EXPECT_EQ(limited(JobMeasure::Makespan, 15), "");
  EXPECT_EQ(limited(JobMeasure::Makespan, 14), "'makespan' is 15, above its limit 14");
  EXPECT_EQ(limited(JobMeasure::Price, 139), "'cost' is 140, above its limit 139"); // 20 seconds are paid for
  EXPECT_EQ(limited(JobMeasure::Energy, 399), "'energy' is 400, above its limit 399");
  EXPECT_EQ(limited(JobMeasure::Slowdown, 14'999), "'finish_time_fairness' is 15000, above its limit 14999");
}

TEST(JobScheduleVerifier, LaterJobsBeginWhenEarlierOnesAreComplete) {
  JobScheduleProblem problem = oneJob();
  problem.slots = 6, problem.resources[0].capacity.assign(6, 2);
  problem.jobs.push_back(problem.jobs[0]);
  problem.jobs[1].name = "b", problem.jobs[1].after = {0};
  problem.jobs[0].work = 9 * 17; // it completes at 20
  JobSchedule schedule;
  schedule.status = AllocationStatus::Feasible;
  schedule.jobs = {{{{0, 2, 1}}, 20}, {{{2, 4, 1}}, 35}};
  schedule.values = {55};
  schedule.proofs = {{35, {}, std::vector<int64_t>(12, 0), 1}};
  EXPECT_EQ(refusalOf(problem, schedule), "");
  schedule.proofs[0].prices.assign(12, 0);
  for (size_t row : {6, 7})
    schedule.proofs[0].prices[row] = 10; // of being open and begun in slots 0 and 1
  schedule.status = AllocationStatus::Optimal, schedule.proofs[0].bound = 55;
  EXPECT_EQ(refusalOf(problem, schedule), "");
  problem.jobs[0].work = 9 * 18, schedule.jobs[0] = {{{0, 3, 1}}, 21}, schedule.values = {56};
  schedule.status = AllocationStatus::Feasible;
  EXPECT_EQ(refusalOf(problem, schedule), "job 'b' begins at 20, but job 'a' before it completes at 21");
}

TEST(JobScheduleVerifier, NumbersOfProofsDoNotOverflow) {
  const JobScheduleProblem problem = oneJob();
  JobSchedule schedule = fastSchedule();
  schedule.proofs[0].prices.assign(4, INT64_MAX);
  EXPECT_EQ(refusalOf(problem, schedule),
            "bound of 'mean_completion': the prices and their denominator sum to more than 4611686018427387904");
  schedule = fastSchedule();
  schedule.proofs[0].denominator = INT64_MAX;
  EXPECT_NE(refusalOf(problem, schedule), "");
  for (int64_t bound : {INT64_MIN, -(int64_t(1) << 62) - 1}) {
    schedule = fastSchedule();
    schedule.status = AllocationStatus::Feasible, schedule.proofs[0].bound = bound;
    EXPECT_EQ(refusalOf(problem, schedule).substr(0, 38), "bound of 'mean_completion': the bound ");
  }
  schedule = fastSchedule();
  schedule.jobs[0].runs[0] = {INT64_MIN, INT64_MAX, 1};
  EXPECT_NE(refusalOf(problem, schedule), "");
  schedule.jobs[0] = {{{0, 2, 1}}, INT64_MIN};
  EXPECT_NE(refusalOf(problem, schedule), "");
}

TEST(JobScheduleVerifier, ARestartIsLongerThanASlotAndRunningJobsHaveNone) {
  JobScheduleProblem problem = oneJob();
  problem.jobs[0].restart = 25;
  JobSchedule schedule = fastSchedule();
  schedule.jobs[0] = {{{0, 4, 1}}, 37}, schedule.values = {37}, schedule.proofs[0].bound = 37;
  EXPECT_EQ(refusalOf(problem, schedule), "");
  problem.jobs[0].running = 0; // in the slow configuration, 25 seconds
  EXPECT_EQ(refusalOf(problem, schedule), "bound of 'mean_completion': the prices do not prove a bound of 37");
  schedule.jobs[0] = {{{0, 3, 0}}, 25}, schedule.values = {25}, schedule.proofs[0].bound = 25;
  EXPECT_EQ(refusalOf(problem, schedule), "");
  schedule.jobs[0] = {{{1, 4, 0}}, 35}; // a later begin has a restart
  EXPECT_EQ(refusalOf(problem, schedule), "job 'a': 80 of its work 100 is left");
}

TEST(JobScheduleVerifier, ProvesThatThereIsNoSchedule) {
  JobScheduleProblem problem = oneJob();
  JobSchedule none;
  none.status = AllocationStatus::Infeasible;
  none.proofs.emplace_back();
  EXPECT_NE(refusalOf(problem, none), "");
  problem.jobs[0].deadline = 14;
  EXPECT_EQ(refusalOf(problem, none), ""); // the job has no trajectory
  none.proofs[0].allocation.nodes.emplace_back();
  EXPECT_EQ(refusalOf(problem, none), "");
  problem.jobs[0].deadline = 20;
  problem.jobs.push_back(problem.jobs[0]); // two jobs in two slots of one device
  EXPECT_NE(refusalOf(problem, none), "");
  none.proofs[0].allocation = {};
  none.proofs[0].prices = {1, 1, 0, 0}; // 2 * 2 > 2
  EXPECT_EQ(refusalOf(problem, none), "");
  problem.jobs[1].mayBeRejected = true;
  EXPECT_NE(refusalOf(problem, none), "");
}

TEST(JobScheduleVerifier, ProblemsWithoutJobsOrWorkHold) {
  JobScheduleProblem problem;
  problem.objectives = {JobMeasure::Makespan, JobMeasure::Completion};
  JobSchedule schedule;
  schedule.status = AllocationStatus::Optimal;
  schedule.values = {0, 0}, schedule.proofs.resize(2);
  EXPECT_EQ(refusalOf(problem, schedule), "");
  ScheduledJob job;
  job.work = 0, job.arrival = lastOf(problem) + 5; // behind the horizon
  problem.jobs = {job};
  schedule.jobs = {{{}, job.arrival}}, schedule.values = {job.arrival, 0};
  schedule.proofs[0].bound = job.arrival;
  EXPECT_EQ(refusalOf(problem, schedule), "");
  ++schedule.proofs[0].bound;
  EXPECT_NE(refusalOf(problem, schedule), "");
}

/// What one job's trajectory costs at prices, and what the rows have, by walking through all rows in their order.
struct PricedRows {
  const JobScheduleProblem &problem;
  const std::vector<int64_t> &prices;

  size_t dependences() const {
    size_t count = 0;
    for (const ScheduledJob &job : problem.jobs)
      count += job.after.size();
    return count;
  }
  size_t limits() const {
    size_t count = 0;
    for (const JobLimit &limit : problem.limits)
      count += limit.measure == JobMeasure::Group                                               ? problem.groups.size()
               : limit.measure == JobMeasure::Makespan || limit.measure == JobMeasure::Slowdown ? 0
                                                                                                : 1;
    return count;
  }
  size_t size() const { return (problem.resources.size() + dependences()) * problem.slots + limits(); }

  /// The measure of one job alone: others count nothing, though they are rejected.
  int64_t alone(size_t job, const TriedTrajectory &one, JobMeasure measure) const {
    JobScheduleProblem single = problem;
    single.jobs = {problem.jobs[job]};
    single.tail = 0;
    return measured(single, measure, {one});
  }
  /// Whether a limit of a max leaves the trajectory on the list.
  bool isListed(size_t job, const TriedTrajectory &one) const {
    return std::all_of(problem.limits.begin(), problem.limits.end(), [&](const JobLimit &limit) {
      return (limit.measure != JobMeasure::Makespan && limit.measure != JobMeasure::Slowdown) || one.completion < 0 ||
             alone(job, one, limit.measure) <= limit.max;
    });
  }
  /// Whether the job alone stays within the capacities.
  bool fits(size_t job, const TriedTrajectory &one) const {
    for (int64_t slot = 0; slot < problem.slots; ++slot)
      if (one.slots[slot] >= 0)
        for (const ResourceUse &use : problem.jobs[job].configurations[one.slots[slot]].uses)
          if (use.amount > problem.resources[use.resource].capacity[slot])
            return false;
    return true;
  }
  Wide costOf(size_t job, const TriedTrajectory &one) const {
    Wide cost = 0;
    size_t row = 0;
    for (unsigned r = 0; r < problem.resources.size(); ++r)
      for (int64_t slot = 0; slot < problem.slots; ++slot, ++row)
        if (one.slots[slot] >= 0)
          for (const ResourceUse &use : problem.jobs[job].configurations[one.slots[slot]].uses)
            cost += use.resource == r ? prices[row] * use.amount : 0;
    for (size_t later = 0; later < problem.jobs.size(); ++later)
      for (unsigned earlier : problem.jobs[later].after) {
        bool begun = false;
        for (int64_t slot = 0; slot < problem.slots; ++slot, ++row) {
          begun |= one.slots[slot] >= 0;
          const bool open = one.completion < 0 || one.completion > slot * problem.slot;
          cost += (later == job && begun) || (earlier == job && open) ? prices[row] : 0;
        }
      }
    for (const JobLimit &limit : problem.limits)
      cost += limitCost(job, one, limit, row);
    return cost;
  }
  Wide limitCost(size_t job, const TriedTrajectory &one, const JobLimit &limit, size_t &row) const {
    const int64_t time = one.completion < 0 ? 0 : one.completion - problem.jobs[job].arrival;
    Wide cost = 0;
    if (isSum(limit.measure))
      cost = prices[row++] * alone(job, one, limit.measure);
    else if (limit.measure == JobMeasure::Tail)
      cost = prices[row++] * (one.completion >= 0 && time > limit.max);
    else if (limit.measure == JobMeasure::Group)
      for (unsigned g = 0; g < problem.groups.size(); ++g, ++row)
        for (unsigned of : problem.jobs[job].groups)
          cost += of == g ? prices[row] * problem.jobs[job].weight * time : 0;
    return cost;
  }
  Wide capacity() const {
    Wide sum = 0;
    size_t row = 0;
    for (const SlotResource &resource : problem.resources)
      for (int64_t one : resource.capacity)
        sum += prices[row++] * one;
    for (size_t i = 0; i < dependences() * problem.slots; ++i)
      sum += prices[row++];
    for (const JobLimit &limit : problem.limits)
      if (limit.measure == JobMeasure::Group)
        for (const JobGroup &group : problem.groups)
          sum += prices[row++] * limit.max * group.share;
      else if (isSum(limit.measure) || limit.measure == JobMeasure::Tail)
        sum += prices[row++] * (limit.measure == JobMeasure::Tail ? problem.tail : limit.max);
    return sum;
  }
};

/// Bounds that prices prove, against all trajectories that were tried.
TEST(JobScheduleVerifier, PricesProveTheLargestBoundAndNoMore) {
  SplitMix random(11);
  size_t proved = 0;
  for (int round = 0; round < 1500; ++round) {
    JobScheduleProblem problem = randomSchedule(random);
    problem.objectives = {drawnSum(random)};
    auto schedule = drawn(problem, random);
    if (!schedule)
      continue;
    JobScheduleProof proof;
    proof.denominator = int64_t(1 + random.below(5));
    const PricedRows rows{problem, proof.prices};
    for (size_t row = 0, max = size_t(1) << random.below(12); row < rows.size(); ++row)
      proof.prices.push_back(random.below(2) ? int64_t(random.below(max)) : 0);
    Wide sum = -rows.capacity();
    const std::vector<Tried> all = allTried(problem);
    for (size_t j = 0; j < problem.jobs.size(); ++j) {
      std::optional<Wide> best;
      for (const TriedTrajectory &one : all[j].slots)
        if (rows.isListed(j, one) && rows.fits(j, one)) {
          const Wide cost = proof.denominator * Wide(rows.alone(j, one, problem.objectives[0])) + rows.costOf(j, one);
          best = best ? std::min(*best, cost) : cost;
        }
      ASSERT_TRUE(best);
      sum += *best;
    }
    const Wide quotient = sum / proof.denominator;
    proof.bound = int64_t(quotient + (quotient * proof.denominator < sum)); // rounded up
    ASSERT_LE(proof.bound, schedule->values[0]) << round;
    auto refusal = [&](int64_t bound) {
      proof.bound = bound, schedule->proofs = {proof};
      schedule->status = bound == schedule->values[0] ? AllocationStatus::Optimal : AllocationStatus::Feasible;
      return refusalOf(problem, *schedule);
    };
    ASSERT_EQ(refusal(proof.bound), "") << round << " " << nameOf(problem.objectives[0]);
    if (proof.bound == schedule->values[0])
      continue;
    ASSERT_NE(refusal(proof.bound + 1), "") << round << " " << nameOf(problem.objectives[0]);
    ++proved;
  }
  EXPECT_GT(proved, 300u);
}

/// Of more slots than can be tried: the path through the slots against the list, which is compared with trying below.
TEST(JobScheduleVerifier, ThePathCostsAsMuchAsTheCheapestOfTheList) {
  SplitMix random(77);
  auto between = [&](int64_t min, int64_t max) { return min + static_cast<int64_t>(random.below(max - min + 1)); };
  size_t listed = 0;
  for (int round = 0; round < 3000; ++round) {
    JobScheduleProblem problem = randomSchedule(random);
    problem.slots = between(5, 9), problem.limits.clear(), problem.carbon.clear();
    for (SlotResource &resource : problem.resources)
      resource.capacity.assign(problem.slots, 5);
    for (int64_t slot = 0; slot < problem.slots && round % 2; ++slot)
      problem.carbon.push_back(between(0, 9));
    problem.jobs.resize(1);
    problem.jobs[0].work *= between(1, 4);
    if (round % 3 == 0)
      problem = inFamilies(problem, random);
    for (JobMeasure measure :
         {JobMeasure::Completion, JobMeasure::Price, JobMeasure::Carbon, JobMeasure::Lateness, JobMeasure::Nash,
          JobMeasure::Tail, JobMeasure::Group, JobMeasure::Unfinished, JobMeasure::Restarts})
      if (random.below(3) == 0)
        problem.limits.push_back({measure, between(0, 300)});
    const ScheduleRows rows(problem, problem.limits);
    std::vector<int64_t> prices;
    for (size_t row = 0; row < rows.size(); ++row)
      prices.push_back(random.below(3) ? between(0, random.below(2) ? 20 : 400) : 0);
    const ScheduledJob &job = problem.jobs[0];
    const int64_t latest = latestCompletion(problem, job, problem.limits), denominator = between(1, 5);
    const JobMeasure objective = drawnSum(random);
    const auto list = listTrajectories(problem, job, latest, kMaxTrajectories);
    if (!list)
      continue;
    std::optional<Wide> best;
    for (const JobTrajectory &one : *list) {
      TriedTrajectory slots{std::vector<int>(problem.slots, -1), one.completion, one.continues};
      for (const JobRun &run : one.runs)
        std::fill(slots.slots.begin() + run.begin, slots.slots.begin() + run.end, run.configuration);
      ASSERT_TRUE(walkSlots(problem, job, slots));
      slots.completion = one.completion;
      const PricedRows priced{problem, prices};
      if (!priced.fits(0, slots))
        continue;
      const Wide cost = denominator * Wide(priced.alone(0, slots, objective)) + priced.costOf(0, slots);
      best = best ? std::min(*best, cost) : cost;
    }
    listed += list->size();
    size_t labels = 1'000'000;
    const auto cheapest = cheapestTrajectory(rows, 0, {objective, prices, denominator}, latest, labels);
    ASSERT_TRUE(cheapest);
    EXPECT_TRUE(*cheapest == best) << round;
    labels = 0;
    if (job.elasticity == Elasticity::Malleable && job.work > 0 && best && !job.mayBeRejected && !job.mayContinue)
      EXPECT_FALSE(cheapestTrajectory(rows, 0, {objective, prices, denominator}, latest, labels)) << round;
  }
  EXPECT_GT(listed, 100'000u);
}

static size_t rowsOf(JobScheduleProblem problem, const std::vector<JobLimit> &limits) {
  problem.limits = limits;
  return PricedRows{problem, {}}.size();
}

/// A tree over all trajectories proves the optimum, and no proof proves more.
/// How many trajectories of each job are listed for a bound.
static std::vector<size_t> waysOf(const JobScheduleProblem &problem, const std::vector<JobLimit> &limits) {
  JobScheduleProblem limited = problem;
  limited.limits = limits;
  const PricedRows rows{limited, {}};
  const std::vector<Tried> all = allTried(problem);
  std::vector<size_t> ways(all.size(), 0);
  for (size_t j = 0; j < all.size(); ++j)
    for (const TriedTrajectory &one : all[j].slots)
      ways[j] += rows.isListed(j, one);
  return ways;
}

TEST(JobScheduleVerifier, AFullTreeProvesTheOptimumAndNothingProvesMore) {
  SplitMix random(12);
  size_t proved = 0, refused = 0;
  for (int round = 0; round < 1500; ++round) {
    JobScheduleProblem problem = randomSchedule(random);
    problem.objectives.resize(1);
    const JobMeasure measure = problem.objectives[0];
    auto schedule = drawn(problem, random);
    const auto best = bestByTrying(problem);
    size_t product = 1;
    for (size_t ways : waysOf(problem, problem.limits))
      product *= ways + 1;
    if (!schedule || !best || product > 20'000)
      continue;
    auto refusal = [&](int64_t bound) {
      std::vector<JobLimit> limits = problem.limits;
      if (!isSum(measure))
        limits.push_back({measure, bound - 1});
      schedule->proofs = {{bound, fullTree(waysOf(problem, limits), rowsOf(problem, limits)), {}, 1}};
      schedule->status = bound == schedule->values[0] ? AllocationStatus::Optimal : AllocationStatus::Feasible;
      return refusalOf(problem, *schedule);
    };
    EXPECT_EQ(refusal((*best)[0]), "") << round << " " << nameOf(measure);
    ++proved;
    for (int64_t above = (*best)[0] + 1; above <= std::min(schedule->values[0], (*best)[0] + 2); ++above, ++refused)
      EXPECT_NE(refusal(above), "") << round << " " << nameOf(measure);
  }
  EXPECT_GT(proved, 200u);
  EXPECT_GT(refused, 100u);
}

TEST(JobScheduleVerifier, TamperedSchedulesAreRefused) {
  SplitMix random(13);
  size_t refused = 0, same = 0;
  for (int round = 0; round < 600; ++round) {
    const JobScheduleProblem problem = randomSchedule(random);
    const JobSchedule schedule = round % 2 ? generateJobSchedule(problem, {}) : solveJobSchedule(problem, {});
    ASSERT_EQ(refusalOf(problem, schedule), "") << round;
    if (schedule.values.empty())
      continue;
    auto expect = [&](auto change, bool mayHold) {
      JobSchedule changed = schedule;
      change(changed);
      const bool holds = mayHold && isRight(problem, changed);
      EXPECT_EQ(refusalOf(problem, changed).empty(), holds) << round;
      ++(holds ? same : refused);
    };
    for (size_t j = 0; j < problem.jobs.size(); ++j) {
      for (int64_t by : {-1, 1})
        expect([&](JobSchedule &s) { s.jobs[j].completion += by; }, true); // a rejected job without work completes at 0
      expect([&](JobSchedule &s) { s.jobs[j].continues = !s.jobs[j].continues; }, false);
      if (problem.jobs[j].mayContinue)
        expect([&](JobSchedule &s) { s.jobs[j] = {{}, endOf(problem, problem.jobs[j]), true}; }, true);
      for (size_t i = 0; i < schedule.jobs[j].runs.size(); ++i) {
        for (int64_t by : {-1, 1}) {
          expect([&](JobSchedule &s) { s.jobs[j].runs[i].begin += by; }, true);
          expect([&](JobSchedule &s) { s.jobs[j].runs[i].end += by; }, true);
        }
        for (unsigned k = 0; k <= problem.jobs[j].configurations.size(); ++k)
          if (k != schedule.jobs[j].runs[i].configuration)
            expect([&](JobSchedule &s) { s.jobs[j].runs[i].configuration = k; }, true);
        expect([&](JobSchedule &s) { s.jobs[j].runs.erase(s.jobs[j].runs.begin() + i); }, true);
      }
    }
    for (size_t i = 0; i < schedule.values.size(); ++i)
      for (int64_t by : {-1, 1}) {
        expect([&](JobSchedule &s) { s.values[i] += by; }, false);
        if (schedule.status == AllocationStatus::Optimal)
          expect([&](JobSchedule &s) { s.proofs[i].bound += by; }, false);
      }
  }
  EXPECT_GT(refused, 5000u);
}

/// Whatever is done to a proof: a bound that holds is none above the optimum.
TEST(JobScheduleVerifier, NoProofProvesMoreThanTheOptimum) {
  SplitMix random(14);
  size_t tries = 0;
  for (int round = 0; round < 700; ++round) {
    JobScheduleProblem problem = randomSchedule(random);
    problem.objectives.resize(1);
    const auto best = bestByTrying(problem);
    auto schedule = drawn(problem, random);
    if (!best || !schedule || schedule->values == *best)
      continue;
    const JobSchedule found = round % 2 ? generateJobSchedule(problem, {}) : solveJobSchedule(problem, {});
    for (int change = 0; change < 12 && !found.proofs.empty(); ++change, ++tries) {
      JobScheduleProof proof = found.proofs[0];
      proof.bound = (*best)[0] + 1;
      if (!proof.prices.empty() && change > 0)
        proof.prices[random.below(proof.prices.size())] = int64_t(random.below(1000));
      if (!proof.allocation.nodes.empty() && change > 0) {
        AllocationProof::Node &node = proof.allocation.nodes[random.below(proof.allocation.nodes.size())];
        if (!node.prices.empty())
          node.prices[random.below(node.prices.size())] = int64_t(random.below(1000));
        else if (!node.next.empty() && change % 2)
          node.next[random.below(node.next.size())] = unsigned(random.below(proof.allocation.nodes.size() + 1));
        else
          node.job = int64_t(random.below(problem.jobs.size() + 2)) - 2;
        if (change == 11)
          proof.denominator = proof.allocation.denominator = int64_t(random.below(3));
      }
      schedule->proofs = {proof};
      schedule->status = proof.bound == schedule->values[0] ? AllocationStatus::Optimal : AllocationStatus::Feasible;
      EXPECT_NE(refusalOf(problem, *schedule), "") << round;
      JobSchedule none;
      none.status = AllocationStatus::Infeasible, none.proofs = {proof};
      EXPECT_NE(refusalOf(problem, none), "") << round;
    }
  }
  EXPECT_GT(tries, 1000u);
}
