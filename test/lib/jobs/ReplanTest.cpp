// Plans of running clusters: without events nothing is lost, with them the rest is solved as trying everything solves
// it.
#include "lib/jobs/schedule/TrajectoryGenerator.h"
#include "lib/jobs/schedule/TrajectoryList.h"
#include "lib/jobs/verify/JobScheduleVerifier.h"
#include "lib/jobs/verify/PlacementCheck.h"
#include "test/lib/jobs/ReplanCases.h"
#include <gtest/gtest.h>
#include <set>

using namespace accord;
using namespace accord::jobs;
using namespace accord::jobs::test;

namespace {

RemainingSchedule leftOf(const Block &block, const RunningState &state) {
  auto left = remainingSchedule(block.request, block.cluster, block.tables, state);
  EXPECT_TRUE(left) << (left ? "" : left.error().front().message);
  return left ? std::move(*left) : RemainingSchedule();
}

RunningState stateOf(const JobAnswer &plan, int64_t at) {
  auto state = stateAt(plan, at);
  EXPECT_TRUE(state) << (state ? "" : state.error().message);
  return state ? std::move(*state) : RunningState();
}

TEST(Replan, WithoutEventsNothingIsWorseThanTheRestOfThePlan) {
  SplitMix random(3);
  int plans = 0;
  for (int round = 0; round < 400; ++round) {
    const Block block = randomBlock(random, false, false);
    const auto plan = planned(block);
    if (!plan)
      continue;
    ++plans;
    for (int64_t from = 0; from < plan->problem.slots; ++from) {
      const RunningState state = stateOf(*plan, from * plan->problem.slot);
      const RemainingSchedule left = leftOf(block, state);
      const KeptPlan kept = keepPlan(left, *plan, state);
      EXPECT_EQ(kept.why, "") << round << " at " << from;
      const JobSchedule found = solveJobSchedule(left.built.problem, {}, kept.known);
      std::vector<int64_t> rest;
      for (JobMeasure measure : left.built.problem.objectives)
        rest.push_back(remainderOf(*plan, measure, from));
      EXPECT_LE(found.values, rest) << round << " at " << from << " " << nameOf(left.built.problem.objectives.back());
      auto verified = verifyJobSchedule(left.built.problem, found);
      EXPECT_TRUE(verified) << round << ": " << verified.error().message;
    }
  }
  EXPECT_GT(plans, 200);
}

TEST(Replan, TheRestOfABestPlanOfMalleableJobsIsBest) {
  SplitMix random(17);
  for (int round = 0; round < 250; ++round) {
    Block block = randomBlock(random, true, true);
    for (JobsRequest::Job &job : block.request.jobs)
      job.optional = true; // else none of the rest may be left out that the plan leaves out
    const auto plan = planned(block);
    if (!plan || plan->schedule.status != AllocationStatus::Optimal)
      continue;
    for (int64_t from = 1; from < plan->problem.slots; ++from) {
      const RunningState state = stateOf(*plan, from * plan->problem.slot);
      const RemainingSchedule left = leftOf(block, state);
      const JobSchedule found = solveJobSchedule(left.built.problem, {});
      ASSERT_EQ(found.values.size(), 2u) << round;
      EXPECT_EQ(found.values[0], remainderOf(*plan, JobMeasure::Rejected, from)) << round << " at " << from;
      EXPECT_EQ(found.values[1], remainderOf(*plan, left.built.problem.objectives[1], from))
          << round << " at " << from << " " << nameOf(left.built.problem.objectives[1]);
    }
  }
}

TEST(Replan, AStoppedSearchKeepsThePlan) {
  SplitMix random(61);
  const std::atomic<bool> stop = true;
  SearchLimits limits;
  limits.stop = &stop;
  int plans = 0;
  for (int round = 0; round < 120; ++round) {
    const Block block = randomBlock(random, false, false);
    const auto plan = planned(block);
    if (!plan)
      continue;
    ++plans;
    const RunningState state = stateOf(*plan, plan->problem.slot);
    const RemainingSchedule left = leftOf(block, state);
    const KeptPlan kept = keepPlan(left, *plan, state);
    for (const JobSchedule &found : {solveJobSchedule(left.built.problem, limits, kept.known),
                                     generateJobSchedule(left.built.problem, limits, kept.known)}) {
      auto verified = verifyJobSchedule(left.built.problem, found);
      EXPECT_TRUE(verified) << round << ": " << verified.error().message;
      std::vector<int64_t> values;
      for (JobMeasure measure : left.built.problem.objectives)
        values.push_back(valueOf(left.built.problem, measure, kept.known));
      if (!left.built.problem.jobs.empty())
        EXPECT_LE(found.values, values) << round;
    }
  }
  EXPECT_GT(plans, 60);
}

/// An event that may happen to a state.
JobEvent randomEvent(SplitMix &random, const RunningState &state) {
  JobEvent event;
  event.of = static_cast<JobEvent::Of>(random.below(8));
  event.job = state.jobs[random.below(state.jobs.size())].name;
  event.share = static_cast<double>(random.below(10)) / 10;
  event.factor = 0.5 + static_cast<double>(random.below(10)) / 10;
  event.restarts = static_cast<int64_t>(random.below(3));
  event.server = static_cast<unsigned>(random.below(3));
  if (random.below(2))
    event.until = state.at + static_cast<int64_t>(random.below(100)) + 1;
  if (event.of == JobEvent::Of::ServerOut && random.below(3) == 0)
    event.from = state.at + static_cast<int64_t>(random.below(30)), event.until = -1;
  return event;
}

TEST(Replan, AfterEventsItIsAsGoodAsTryingEverything) {
  SplitMix random(29);
  int compared = 0, infeasible = 0, kept = 0;
  for (int round = 0; round < 700; ++round) {
    const Block block = randomBlock(random, false, false);
    const auto plan = planned(block);
    if (!plan)
      continue;
    const int64_t end = plan->problem.slots * plan->problem.slot;
    RunningState state = stateOf(*plan, static_cast<int64_t>(random.below(end))); // also within a period
    for (int i = 0; i < 2; ++i) {
      const JobEvent event = randomEvent(random, state);
      auto applied = applyEvent(state, event, block.cluster);
      EXPECT_TRUE(applied || event.of == JobEvent::Of::ServerBack) << applied.error().message;
    }
    const RemainingSchedule left = leftOf(block, state);
    const KeptPlan known = keepPlan(left, *plan, state);
    kept += known.why.empty();
    const auto best = bestByTrying(left.built.problem);
    const JobSchedule found = solveJobSchedule(left.built.problem, {}, known.known);
    auto verified = verifyJobSchedule(left.built.problem, found);
    EXPECT_TRUE(verified) << round << ": " << verified.error().message;
    const JobSchedule generated = generateJobSchedule(left.built.problem, {}, known.known);
    verified = verifyJobSchedule(left.built.problem, generated);
    EXPECT_TRUE(verified) << round << ": " << verified.error().message;
    if (!known.known.empty()) {
      std::vector<int64_t> values;
      for (JobMeasure measure : left.built.problem.objectives)
        values.push_back(valueOf(left.built.problem, measure, known.known));
      EXPECT_LE(generated.values, values) << round;
      EXPECT_LE(found.values, generated.values) << round;
    }
    EXPECT_EQ(found.status, best ? AllocationStatus::Optimal : AllocationStatus::Infeasible) << round;
    if (best)
      EXPECT_EQ(found.values, *best) << round;
    EXPECT_TRUE(best || known.known.empty()) << round;
    ++compared, infeasible += !best;
  }
  EXPECT_GT(compared, 300);
  EXPECT_GT(infeasible, 5);
  EXPECT_GT(kept, 50);
}

TEST(Replan, ServersOutOfServiceAreNeverUsed) {
  SplitMix random(41);
  int runs = 0;
  for (int round = 0; round < 300; ++round) {
    const Block block = randomBlock(random, true, true);
    const auto plan = planned(block);
    if (!plan)
      continue;
    RunningState state = stateOf(*plan, plan->problem.slot);
    JobEvent event;
    event.of = JobEvent::Of::ServerOut, event.server = static_cast<unsigned>(random.below(3));
    event.until = random.below(2) ? -1 : 3 * plan->problem.slot + 1;
    ASSERT_TRUE(applyEvent(state, event, block.cluster));
    const RemainingSchedule left = leftOf(block, state);
    JobSchedule found = solveJobSchedule(left.built.problem, {});
    if (found.jobs.empty())
      continue;
    const JobAnswer answer = answerOf(left.request, block.cluster, left.tables, left.built, found, left.current);
    auto holds = checkPlacements(answer, true);
    EXPECT_TRUE(holds) << holds.error().message;
    const int64_t away = event.until < 0 ? left.built.problem.slots : 3; // the third period has a second of it
    for (size_t j = 0; j < answer.placements.size(); ++j)
      for (size_t r = 0; r < answer.placements[j].size(); ++r)
        for (const ServerShare &share : answer.placements[j][r])
          runs += share.server != event.server || found.jobs[j].runs[r].begin >= away ? 1 : -1'000'000;
  }
  EXPECT_GT(runs, 100);
}

/// One job of 1000 samples at 10 a second on 2 of 4 devices, periods of 20 s, restarts of 10 s.
Block oneJob() {
  Block block;
  block.cluster.types = {"new"};
  block.cluster.servers = {{0, 2}, {0, 2}};
  block.request.name = "one", block.request.slot = 20, block.request.horizon = 400;
  JobsRequest::Job job;
  job.name = "training", job.samples = 1000, job.restart = 10;
  block.request.jobs = {job};
  TableRow row;
  row.devices = 2, row.rate = 10;
  block.tables = {{1000, {row}, ""}};
  return block;
}

TEST(Replan, StatesFollowThePlanToTheSecond) {
  const Block block = oneJob();
  const JobAnswer plan = *planned(block);
  ASSERT_EQ(plan.schedule.jobs[0].completion, 110);
  RunningState state = stateOf(plan, 5); // within the restart
  EXPECT_TRUE(state.jobs[0].running);
  EXPECT_EQ(state.jobs[0].restarting, 5);
  EXPECT_EQ(state.jobs[0].done, 0);
  JobSchedule found = solveJobSchedule(leftOf(block, state).built.problem, {});
  EXPECT_EQ(found.jobs[0].completion, 105);
  EXPECT_EQ(found.values[0], 110) << "elapsed since the arrival";
  state = stateOf(plan, 35);
  EXPECT_NEAR(state.jobs[0].done, 250, 1e-6);
  EXPECT_EQ(state.jobs[0].begun, 10);
  EXPECT_EQ(state.jobs[0].restarting, 0);
  EXPECT_EQ(solveJobSchedule(leftOf(block, state).built.problem, {}).jobs[0].completion, 75);
  state = stateOf(plan, 110);
  EXPECT_EQ(state.jobs[0].completion, 110);
  EXPECT_TRUE(leftOf(block, state).built.problem.jobs.empty());
  EXPECT_FALSE(stateAt(plan, 400));
  EXPECT_FALSE(stateAt(plan, -1));
}

TEST(Replan, EventsChangeWhatIsLeft) {
  const Block block = oneJob();
  const JobAnswer plan = *planned(block);
  auto completionAfter = [&](std::vector<JobEvent> events, int64_t at = 40) {
    RunningState state = stateOf(plan, at);
    for (const JobEvent &event : events)
      EXPECT_TRUE(applyEvent(state, event, block.cluster));
    const JobSchedule found = solveJobSchedule(leftOf(block, state).built.problem, {});
    return found.jobs.empty() || found.jobs[0].runs.empty() ? -1 : found.jobs[0].completion;
  };
  JobEvent event;
  event.job = "training";
  EXPECT_EQ(completionAfter({}), 70);
  event.share = 0.1;
  EXPECT_EQ(completionAfter({event}), 90) << "900 samples are left, and it goes on";
  event.of = JobEvent::Of::Failed;
  EXPECT_EQ(completionAfter({event}), 100) << "and a restart";
  event.share = -1, event.checkpoint = 20;
  EXPECT_EQ(completionAfter({event}), 90) << "30 s of progress, of which the last 10 s are lost";
  event = {};
  event.job = "training", event.of = JobEvent::Of::Speed, event.factor = 0.5;
  EXPECT_EQ(completionAfter({event}), 140);
  event = {};
  event.of = JobEvent::Of::ServerOut, event.server = plan.placements[0][0][0].server;
  EXPECT_EQ(completionAfter({event}), 80) << "on the other server, after a restart";
  event.server = 1 - event.server;
  EXPECT_EQ(completionAfter({event}), 70);
  event = {};
  event.job = "training", event.of = JobEvent::Of::Complete;
  EXPECT_EQ(completionAfter({event}), -1);
  event = {};
  event.job = "training", event.samples = 999;
  EXPECT_EQ(completionAfter({event}, 120), 1) << "it was complete by plan, but is not";
}

TEST(Replan, RefusesEventsThatCannotBe) {
  const Block block = oneJob();
  const JobAnswer plan = *planned(block);
  auto refusal = [&](const JobEvent &event) {
    RunningState state = stateOf(plan, 40);
    auto applied = applyEvent(state, event, block.cluster);
    return applied ? Error{Code::InternalError, "", {}} : applied.error();
  };
  JobEvent event;
  event.job = "trainin", event.share = 0.5;
  EXPECT_EQ(refusal(event).message, "the plan that runs has no job 'trainin'");
  EXPECT_EQ(refusal(event).suggestion, "training");
  event.job = "training", event.share = 1.5;
  EXPECT_EQ(refusal(event).message, "a share of 1.5 of job 'training' is done, 0 to 1 is allowed");
  event.share = -1, event.samples = 2000;
  EXPECT_EQ(refusal(event).message, "2000 samples of job 'training' are done, 0 to 1000 is allowed");
  event.samples = -1;
  EXPECT_EQ(refusal(event).message, "nothing says how much of job 'training' is done");
  event.of = JobEvent::Of::ServerOut, event.server = 2;
  EXPECT_EQ(refusal(event).message, "there is no server 2, the 2 servers are numbered from 0");
  event.of = JobEvent::Of::ServerBack, event.server = 1;
  EXPECT_EQ(refusal(event).message, "server 1 is in service at 40 s");
}

TEST(Replan, AJobWithoutRestartsLeftGoesOn) {
  Block block = oneJob();
  TableRow faster;
  faster.devices = 4, faster.rate = 40, faster.plan = "more";
  block.tables[0].rows.push_back(faster);
  block.request.jobs[0].arrival = 0;
  block.request.capacities.push_back({"new", {{0, 2}, {40, 4}}, {}});
  const JobAnswer plan = *planned(block);
  RunningState state = stateOf(plan, 20);
  EXPECT_EQ(state.jobs[0].devices, 2);
  auto configurations = [&] {
    const RemainingSchedule left = leftOf(block, state);
    std::set<int64_t> devices;
    const JobSchedule found = solveJobSchedule(left.built.problem, {});
    for (const JobRun &run : found.jobs[0].runs)
      devices.insert(left.built.problem.jobs[0].configurations[run.configuration].uses[0].amount);
    return devices;
  };
  EXPECT_EQ(configurations(), (std::set<int64_t>{2, 4}));
  JobEvent event;
  event.of = JobEvent::Of::RestartBudget, event.job = "training", event.restarts = 0;
  ASSERT_TRUE(applyEvent(state, event, block.cluster));
  EXPECT_EQ(configurations(), (std::set<int64_t>{2}));
}

TEST(Replan, AJobLongerThanTheHorizonIsKeptAndGoesOn) {
  Block block = oneJob();
  block.request.horizon = 60; // 500 of 1000 samples
  block.request.jobs[0].continues = true;
  const JobAnswer plan = *planned(block);
  ASSERT_TRUE(plan.schedule.jobs[0].continues);
  const RunningState state = stateOf(plan, 20);
  EXPECT_NEAR(state.jobs[0].done, 100, 1e-6);
  const RemainingSchedule left = leftOf(block, state);
  const KeptPlan kept = keepPlan(left, plan, state);
  EXPECT_EQ(kept.why, "");
  ASSERT_EQ(kept.known.size(), 1u);
  EXPECT_TRUE(kept.known[0].continues);
  const JobSchedule found = solveJobSchedule(left.built.problem, {}, kept.known);
  EXPECT_EQ(found.jobs, kept.known);
  ASSERT_EQ(left.built.problem.objectives[0], JobMeasure::Unfinished);
  EXPECT_NEAR(static_cast<double>(found.values[0]), 1e6 * 500 / 900, 1) << "of what was left";
}

TEST(Replan, AStartedJobKeepsWhatItTrains) {
  Block block = oneJob();
  TableRow other; // as fast on as many devices, of another training
  other.devices = 2, other.rate = 10, other.choice = "small", other.family = 1, other.price = 1;
  block.tables[0].rows[0].price = 2;
  block.tables[0].rows.push_back(other);
  block.request.objectives = {{JobMeasure::Price, {}}, {JobMeasure::Completion, {}}};
  JobAnswer plan = *planned(block);
  ASSERT_EQ(plan.problem.jobs[0].configurations[plan.schedule.jobs[0].runs[0].configuration].family, 1u);
  for (JobWords &words : plan.jobs)
    for (size_t k = 0; k < words.configurations.size(); ++k)
      words.configurations[k].choice = plan.problem.jobs[0].configurations[k].family == 1 ? "small" : "";
  block.tables[0].rows[1].price = 3; // dearer now
  const RemainingSchedule begun = leftOf(block, stateOf(plan, 40)), before = leftOf(block, stateOf(plan, 0));
  ASSERT_EQ(begun.tables[0].rows.size(), 1u);
  EXPECT_EQ(begun.tables[0].rows[0].choice, "small");
  EXPECT_EQ(begun.built.problem.jobs[0].running, 0);
  EXPECT_EQ(before.tables[0].rows.size(), 2u) << "nothing is done yet";
}

TEST(Replan, NoiseAndRestartsAreThoseOfWhatIsLeft) {
  Block block = oneJob();
  JobsRequest::Job &job = block.request.jobs[0];
  job.batches.noise = {{0, 100}, {0.5, 900}}, job.maxRestarts = 3;
  const JobAnswer plan = *planned(block);
  const RunningState state = stateOf(plan, 35); // 250 samples
  EXPECT_EQ(state.jobs[0].starts, 1);
  const RemainingSchedule left = leftOf(block, state);
  ASSERT_EQ(left.request.jobs[0].batches.noise.size(), 2u);
  EXPECT_NEAR(left.request.jobs[0].batches.noise[1].first, 1.0 / 3, 1e-9);
  EXPECT_EQ(left.request.jobs[0].batches.noise[1].second, 900);
  block.request.jobs[0].batches.noise.clear();
  EXPECT_EQ(leftOf(block, stateOf(*planned(block), 35)).built.problem.jobs[0].maxRestarts, 2);
}

TEST(Replan, GoesOnFromAPlanThatGoesOn) {
  SplitMix random(53);
  for (int round = 0; round < 150; ++round) {
    const Block block = randomBlock(random, true, true);
    const auto plan = planned(block);
    if (!plan)
      continue;
    const int64_t slot = plan->problem.slot;
    RunningState state = stateOf(*plan, slot);
    const RemainingSchedule left = leftOf(block, state);
    const KeptPlan kept = keepPlan(left, *plan, state);
    JobAnswer second = answerOf(left.request, block.cluster, left.tables, left.built,
                                solveJobSchedule(left.built.problem, {}, kept.known), left.current);
    second.replan = Replan{state, {}, {}, "", {}, 0};
    if (second.schedule.jobs.empty())
      continue;
    for (int64_t at : {slot, 2 * slot, 3 * slot}) {
      const RunningState now = stateOf(second, at);
      const RemainingSchedule rest = leftOf(block, now);
      EXPECT_EQ(keepPlan(rest, second, now).why, "") << round << " at " << at;
      EXPECT_GE(now.price, state.price);
      for (const JobState &job : now.jobs)
        EXPECT_LE(job.done, job.samples * (1 + 1e-9)) << job.name;
    }
  }
}

} // namespace
