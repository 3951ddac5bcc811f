// A scheduler over an engine in virtual time: jobs, nodes, deaths.
#include "lib/support/SplitMix.h"
#include "test/lib/service/SchedulerLife.h"
#include <gmock/gmock.h>

namespace accord::testing {
namespace {

TEST(SchedulerProcess, RunsOneJobAndSaysSo) {
  Life life("one");
  life.begin();
  const int64_t id = life.submit("lm", 400, both(4, 8));
  const int steps = life.run(100);
  EXPECT_EQ(life.job(id).phase, JobPhase::Complete) << life.job(id).reason;
  EXPECT_LE(steps, 14); // 400 samples at 40 a second, a start and the steps in which it is seen
  auto view = life.process->job(life.local, id);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->share, 1);
  auto lines = life.process->explain(life.local, id);
  ASSERT_TRUE(lines);
  EXPECT_THAT(*lines, ::testing::Contains(::testing::HasSubstr("complete")));
  EXPECT_TRUE(life.process->check()->empty());
  EXPECT_THAT(life.process->metrics(), ::testing::HasSubstr("accord_jobs{phase=\"complete\"} 1"));
}

TEST(SchedulerProcess, RunsThirtyJobsOfThreeTenantsAsPlanned) {
  Life life("thirty");
  life.operation.tenants = {{"red", 1, {}, {}}, {"green", 2, {}, {}}, {"blue", 1, {}, {}}};
  life.begin();
  SplitMix random(7);
  for (int i = 0; i < 30; ++i) {
    Submission one;
    one.name = fmt::format("job{}", i), one.command = {"train"}, one.restart = 0;
    one.tenant = std::vector{"red", "green", "blue"}[i % 3];
    one.samples = 100 + static_cast<double>(random.below(400));
    one.measured = i % 4 == 0   ? both(4, 4)
                   : i % 4 == 1 ? both(8, 8)
                                : both(1 + static_cast<int64_t>(random.below(2)), 2);
    ASSERT_TRUE(life.process->submit(life.local, one));
  }
  const int steps = life.run(600);
  for (auto &[id, job] : life.tables->jobs)
    EXPECT_EQ(job.phase, JobPhase::Complete) << id << ": " << job.reason;
  EXPECT_LT(steps, 200);
  EXPECT_TRUE(life.cluster.conflicts.empty()) << life.cluster.conflicts.front();
  for (auto &[name, count] : life.cluster.starts)
    EXPECT_EQ(count, 1) << name;
  EXPECT_TRUE(life.process->check()->empty());
}

TEST(SchedulerProcess, GoesOnAfterANodeIsLost) {
  Life life("lost");
  life.begin();
  const int64_t id = life.submit("lm", 1000, {{"a100", 4, 40}});
  for (int i = 0; i < 10; ++i)
    life.step();
  ASSERT_EQ(life.job(id).phase, JobPhase::Running);
  const std::string node = life.tables->runs.begin()->second.nodes.front();
  life.cluster.setNode(node, EngineNode::State::Down);
  life.run(200);
  EXPECT_EQ(life.job(id).phase, JobPhase::Complete);
  ASSERT_EQ(life.tables->runs.size(), 2u);
  const JobRunRecord &second = life.tables->runs.rbegin()->second;
  EXPECT_NE(second.nodes.front(), node);
  EXPECT_GT(second.samplesAtStart, 100); // it goes on from what it saved
}

TEST(SchedulerProcess, ShrinksAndGrowsAMalleableJob) {
  Life life("malleable");
  life.begin();
  const int64_t large = life.submit("large", 4000, {{"a100", 8, 80}, {"a100", 4, 40}}, jobs::Elasticity::Malleable);
  for (int i = 0; i < 8; ++i)
    life.step();
  EXPECT_EQ(life.tables->runs.begin()->second.devices, 8);
  Submission urgent;
  urgent.name = "urgent", urgent.command = {"train"}, urgent.samples = 400, urgent.priority = 100, urgent.restart = 0;
  urgent.measured = {{"a100", 4, 40}};
  auto id = life.process->submit(life.local, urgent);
  ASSERT_TRUE(id);
  life.run(300);
  EXPECT_EQ(life.job(large).phase, JobPhase::Complete);
  EXPECT_EQ(life.job(id->first).phase, JobPhase::Complete);
  std::vector<int64_t> devices;
  double done = 0;
  for (auto &[key, run] : life.tables->runs)
    if (run.job == large) {
      devices.push_back(run.devices);
      EXPECT_GE(run.samplesAtStart, done); // nothing that was saved is done again
      done = run.samplesAtEnd;
    }
  EXPECT_THAT(devices, ::testing::ElementsAre(8, 4, 8));
}

TEST(SchedulerProcess, LearnsHowFastAJobIsThatNobodyDescribed) {
  Life life("learned");
  life.begin();
  Submission one;
  one.name = "script", one.command = {"train.py"}, one.samples = 4000, one.restart = 0, one.notice = 1;
  one.elasticity = jobs::Elasticity::Malleable;
  auto id = life.process->submit(life.local, one);
  ASSERT_TRUE(id);
  const int steps = life.run(400);
  EXPECT_EQ(life.job(id->first).phase, JobPhase::Complete);
  EXPECT_LT(steps, 150); // 400 s on the device with which it began
  int64_t max = 0;
  for (auto &[key, run] : life.tables->runs)
    max = std::max(max, run.devices);
  EXPECT_EQ(max, 8);
}

TEST(SchedulerProcess, KeepsWhatItSawOfASpeedAcrossRuns) {
  Life life("pace");
  life.begin();
  // It says 40 samples a second, and does 20; its node goes, so that there is a second run.
  life.cluster.rate = [](const TaskRequest &) { return 20; };
  const int64_t id = life.submit("slow", 10000, {{"a100", 4, 40}});
  for (int i = 0; i < 120; ++i)
    life.step();
  auto view = life.process->job(life.local, id);
  ASSERT_TRUE(view);
  EXPECT_NEAR(view->deviation, -0.5, 0.05); // from the plan that started it, though it is planned anew
  EXPECT_NEAR(view->timeLeft, (10000 - view->job.progress.samples) / 20, 30);
  life.cluster.setNode(view->nodes.front(), EngineNode::State::Down);
  for (int i = 0; i < 120; ++i)
    life.step();
  view = life.process->job(life.local, id);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->restarts, 1);
  EXPECT_EQ(view->deviation, 0); // the plan knew
  ASSERT_GT(view->history.size(), 10u);
  EXPECT_TRUE(std::ranges::is_sorted(view->history, {}, &ProgressPoint::time));
  EXPECT_TRUE(view->job.progress.history.empty());
  // A new life compares it with what it said again.
  life.process.reset();
  life.begin();
  for (int i = 0; i < 10; ++i)
    life.step();
  view = life.process->job(life.local, id);
  ASSERT_TRUE(view);
  EXPECT_NEAR(view->deviation, -0.5, 0.05);
  EXPECT_LT(life.run(600), 600);
  view = life.process->job(life.local, id);
  ASSERT_TRUE(view);
  EXPECT_GT(view->history.size(), 20u);
  EXPECT_LE(view->history.size(), 120u);
  EXPECT_EQ(view->history.back().samples, 10000);
}

TEST(SchedulerProcess, TakesReportsByTokensOfTasksThatRun) {
  Life life("tokens");
  life.begin();
  life.process->setUrl("http://localhost:1");
  const int64_t id = life.submit("one", 1000, {{"a100", 4, 40}}), other = life.submit("two", 1000, {{"a100", 4, 40}});
  for (int i = 0; i < 3; ++i)
    life.step();
  std::string token;
  for (const auto &[name, task] : life.cluster.tasks)
    if (task.asked.job == id)
      for (const auto &[key, value] : task.asked.environment)
        if (key == "ACCORD_TASK_TOKEN")
          token = value;
  ASSERT_FALSE(token.empty());
  ProgressReport report;
  report.samples = 900;
  EXPECT_TRUE(life.process->report(token, report));
  EXPECT_EQ(life.process->job(life.local, id)->job.progress.samples, 900);
  EXPECT_LT(life.process->job(life.local, other)->job.progress.samples, 900);
  report.samples = 1e300;
  EXPECT_EQ(life.process->report(token, report).error().code, Code::WrongProgress);
  report.samples = 950;
  for (const std::string &wrong : std::vector<std::string>{
           "", "task", "task.", "task..", "task.accord-lab-1-1.", token + "0", "task.accord-lab-9-1.0",
           "task.accord-lab-99999999999999999999-1.0", token.substr(0, token.size() - 1)}) {
    auto done = life.process->report(wrong, report);
    ASSERT_FALSE(done) << wrong;
    EXPECT_EQ(done.error().code, Code::NotAllowed) << wrong;
  }
}

TEST(SchedulerProcess, SaysOnceAndTwice) {
  for (auto [failures, word] : {std::pair(1, "it failed once,"), {2, "it failed twice,"}, {3, "it failed 3 times,"}}) {
    Life life("times");
    life.begin();
    life.cluster.fails = [](const TaskRequest &) { return true; };
    Submission one;
    one.name = "bad", one.command = {"x"}, one.samples = 100, one.restart = 0, one.maxFailures = failures;
    one.measured = {{"a100", 4, 40}};
    auto id = life.process->submit(life.local, one);
    ASSERT_TRUE(id);
    life.run(100);
    EXPECT_THAT(life.job(id->first).reason, ::testing::StartsWith(word));
  }
}

TEST(SchedulerProcess, SaysNoTimeOfAJobOfWhichNothingIsKnown) {
  Life life("unknown");
  life.begin();
  Submission one;
  one.name = "script", one.command = {"train.py"}, one.samples = 4000, one.restart = 0;
  auto id = life.process->submit(life.local, one);
  ASSERT_TRUE(id);
  life.process->step();
  auto view = life.process->job(life.local, id->first);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->timeLeft, -1);
  EXPECT_EQ(view->deviation, 0);
}

TEST(SchedulerProcess, DrainedNodesTakeNoTasksAndFailuresEnd) {
  Life life("drain");
  life.begin();
  life.step();
  ASSERT_TRUE(life.process->drain(life.local, "a1", true, "service"));
  EXPECT_FALSE(life.process->drain(life.local, "a9", true, "service"));
  for (int i = 0; i < 4; ++i)
    life.submit(fmt::format("j{}", i), 200, {{"a100", 4, 40}});
  life.run(200);
  for (auto &[key, run] : life.tables->runs)
    EXPECT_THAT(run.nodes, ::testing::ElementsAre("a2"));
  life.cluster.fails = [](const TaskRequest &) { return true; };
  const int64_t bad = life.submit("bad", 200, {{"a100", 4, 40}});
  life.run(200);
  EXPECT_EQ(life.job(bad).phase, JobPhase::Failed);
  EXPECT_EQ(life.job(bad).failures, 3);
  Submission later;
  later.name = "later", later.command = {"x"}, later.samples = 1, later.after = {bad};
  auto id = life.process->submit(life.local, later);
  ASSERT_TRUE(id);
  life.run(10);
  EXPECT_EQ(life.job(id->first).phase, JobPhase::Cancelled);
}

TEST(SchedulerProcess, DrainsANodeWhoseGuardRefuses) {
  Life life("guard");
  life.begin();
  life.cluster.fails = [](const TaskRequest &task) { return std::ranges::count(task.nodes, "a2") > 0; };
  life.cluster.failCode = 1; // the mark of the guard counts, whatever the status
  life.cluster.refusals = [](const TaskRequest &) {
    return std::map<std::string, std::string>{{"a2", "node a2 has 4 'Tesla K80'"}};
  };
  for (int i = 0; i < 3; ++i)
    life.submit(fmt::format("j{}", i), 200, {{"a100", 4, 40}});
  EXPECT_LT(life.run(100), 100);
  int64_t refused = 0;
  for (auto &[key, run] : life.tables->runs)
    refused += run.exitCode == 1;
  EXPECT_EQ(refused, 1); // none starts there again, not even in the same cycle
  EXPECT_EQ(life.tables->runs.size(), 4u);
  ASSERT_EQ(life.tables->drained.count("a2"), 1u);
  EXPECT_EQ(life.tables->drained.at("a2").reason,
            "the guard found other devices than planned: node a2 has 4 'Tesla K80'");
  for (int64_t id = 1; id <= 3; ++id) {
    EXPECT_EQ(life.job(id).phase, JobPhase::Complete);
    EXPECT_EQ(life.job(id).failures, 0);
  }
}

TEST(SchedulerProcess, DrainsOnlyTheNodeThatIsNotAsPlanned) {
  Life life("guard-of-two");
  life.begin();
  life.cluster.fails = [](const TaskRequest &task) { return task.nodes.size() == 2; };
  life.cluster.refusals = [](const TaskRequest &) { return std::map<std::string, std::string>{{"a1", "K80s"}}; };
  const int64_t id = life.submit("two", 200, {{"a100", 8, 80}});
  for (int i = 0; i < 30 && life.tables->drained.empty(); ++i)
    life.step();
  ASSERT_EQ(life.tables->drained.size(), 1u);
  EXPECT_EQ(life.tables->drained.begin()->first, "a1");
  EXPECT_EQ(life.job(id).failures, 0);
  EXPECT_EQ(life.job(id).phase, JobPhase::Queued);
}

TEST(SchedulerProcess, AProgramThatEndsAsTheGuardDoesIsNoRefusal) {
  Life life("status-78");
  life.begin();
  life.cluster.fails = [](const TaskRequest &) { return true; };
  life.cluster.failCode = 78;
  const int64_t id = life.submit("config", 200, {{"a100", 4, 40}});
  life.run(200);
  EXPECT_TRUE(life.tables->drained.empty());
  EXPECT_EQ(life.job(id).phase, JobPhase::Failed);
  EXPECT_EQ(life.job(id).failures, 3);
}

TEST(SchedulerProcess, TakesBackWhatWaitsForANodeThatWent) {
  for (EngineNode::State state : {EngineNode::State::Drained, EngineNode::State::Down}) {
    Life life("stranded");
    life.begin();
    life.step();
    const int64_t id = life.submit("waits", 100, {{"a100", 4, 40}});
    for (int i = 0; i < 10 && life.cluster.tasks.empty(); ++i)
      life.process->step();
    ASSERT_EQ(life.cluster.tasks.size(), 1u);
    const std::string node = life.cluster.tasks.begin()->second.asked.nodes[0];
    life.cluster.setNode(node, state);
    EXPECT_LT(life.run(60), 60);
    EXPECT_EQ(life.job(id).phase, JobPhase::Complete);
    EXPECT_EQ(life.job(id).failures, 0);
    EXPECT_EQ(life.cluster.starts.size(), 1u);
    EXPECT_NE(life.cluster.tasks.rbegin()->second.asked.nodes[0], node);
  }
}

TEST(SchedulerProcess, KnowsJobsThatAreOverFromTheDisk) {
  Life life("over");
  life.begin();
  const int64_t good = life.submit("good", 100, {{"a100", 4, 40}});
  life.run(50);
  ASSERT_EQ(life.job(good).phase, JobPhase::Complete);
  auto cancelAs = [&](const std::string &tenant, int64_t id) {
    auto done = life.process->cancel({"one", tenant, Role::Submitter}, id, "");
    return done ? "" : done.error().message;
  };
  EXPECT_EQ(cancelAs("", good), fmt::format("job {} is over", good));
  EXPECT_EQ(cancelAs("others", good), fmt::format("there is no job {}", good));
  EXPECT_EQ(cancelAs("", good + 1), fmt::format("there is no job {}", good + 1));
  Submission later;
  later.name = "later", later.command = {"x"}, later.samples = 100, later.restart = 0;
  later.measured = {{"a100", 4, 40}}, later.after = {good};
  auto first = life.process->submit(life.local, later);
  life.process.reset();
  life.begin(); // what it comes after was over before this life
  auto second = life.process->submit(life.local, later);
  ASSERT_TRUE(first && second);
  life.run(50);
  EXPECT_EQ(life.job(first->first).phase, JobPhase::Complete);
  EXPECT_EQ(life.job(second->first).phase, JobPhase::Complete);
}

TEST(SchedulerProcess, TakesManyJobsAtOnceAndANewNodeMeanwhile) {
  Life life("many");
  life.begin();
  constexpr int kJobs = 1200; // more than two transactions have
  for (int i = 0; i < kJobs; ++i)
    life.submit(fmt::format("job{}", i), 1e6, {{"a100", 4, 40}});
  life.step();
  int64_t waiting = 0;
  for (auto &[id, job] : life.tables->jobs)
    waiting += job.phase == JobPhase::Queued || job.phase == JobPhase::Running;
  EXPECT_EQ(waiting, kJobs);
  life.cluster.nodes.push_back({EngineNode::State::Up, "a3", "a100", 4, ""});
  for (int i = 0; i < 5; ++i)
    life.step();
  std::set<std::string> used;
  for (auto &[key, run] : life.tables->runs)
    used.insert(run.nodes.begin(), run.nodes.end());
  EXPECT_THAT(used, ::testing::ElementsAre("a1", "a2", "a3"));
  EXPECT_TRUE(life.process->check()->empty());
}

TEST(SchedulerProcess, PlansManyJobsBehindOneGate) {
  Life life("gate");
  life.begin();
  const int64_t gate = life.submit("gate", 40, {{"k80", 1, 2}});
  for (int i = 0; i < 20; ++i) {
    Submission one;
    one.name = fmt::format("behind{}", i), one.command = {"train"}, one.samples = 100, one.restart = 0;
    one.measured = both(2, 4), one.after = {gate};
    ASSERT_TRUE(life.process->submit(life.local, one));
  }
  life.step();
  EXPECT_THAT(life.process->job(life.local, gate + 20)->wait, ::testing::HasSubstr("it comes after 'gate#1'"));
  EXPECT_LT(life.run(200), 200);
  for (auto &[key, run] : life.tables->runs)
    if (run.job != gate) {
      EXPECT_GE(run.started, life.job(gate).ended);
    }
}

TEST(SchedulerProcess, NoRunBeginsBeforeItWasHandedIn) {
  Life life("early");
  life.cluster.behind = 2.5; // more than passes between handing in and the start
  life.begin();
  const int64_t id = life.submit("one", 2000, {{"a100", 4, 40}, {"a100", 8, 80}}, jobs::Elasticity::Malleable);
  life.run(4);
  ASSERT_TRUE(life.process->drain(life.local, "a1", true, "fans"));
  EXPECT_LT(life.run(200), 200);
  ASSERT_GT(life.tables->runs.size(), 1u);
  double before = 0;
  for (auto &[key, run] : life.tables->runs) { // in the order of their numbers
    EXPECT_EQ(run.job, id);
    EXPECT_GE(run.intended, before);
    EXPECT_GE(run.started, run.intended);
    EXPECT_GE(run.ended, run.started);
    before = run.ended;
  }
}

TEST(SchedulerProcess, WaitsWhereNoNodeTakesTasks) {
  Life life("nodes");
  life.begin();
  life.step();
  for (const char *node : {"a1", "a2"})
    ASSERT_TRUE(life.process->drain(life.local, node, true, "service"));
  const int64_t waits = life.submit("waits", 100, {{"a100", 4, 40}}), runs = life.submit("runs", 100, {{"k80", 8, 16}});
  for (int i = 0; i < 20; ++i)
    life.step();
  EXPECT_EQ(life.job(waits).phase, JobPhase::Queued);
  EXPECT_EQ(life.process->job(life.local, waits)->wait, "the nodes that could hold it take no tasks");
  EXPECT_EQ(life.job(runs).phase, JobPhase::Complete);
  ASSERT_TRUE(life.process->drain(life.local, "a1", false, ""));
  life.run(20);
  EXPECT_EQ(life.job(waits).phase, JobPhase::Complete);
}

TEST(SchedulerProcess, KeepsWhatItPromisedWhenTheDiskIsFullOrTheEngineIsAway) {
  Life life("full");
  life.begin();
  const int64_t id = life.submit("lm", 400, {{"a100", 4, 40}});
  life.tables->isFull = true;
  for (int i = 0; i < 5; ++i)
    life.step();
  EXPECT_TRUE(life.cluster.tasks.empty()); // no intent could be written, so nothing was asked
  EXPECT_FALSE(life.process->cluster(life.local).isHealthy);
  life.tables->isFull = false;
  for (int i = 0; i < 4; ++i)
    life.step();
  EXPECT_EQ(life.job(id).phase, JobPhase::Running);
  life.handle->isDown = true;
  for (int i = 0; i < 20; ++i)
    life.step();
  EXPECT_EQ(life.job(id).phase, JobPhase::Running); // nothing is known
  life.handle->isDown = false;
  life.run(10);
  EXPECT_EQ(life.job(id).phase, JobPhase::Complete);
}

TEST(SchedulerProcess, AllocatesTheMomentWhereHundredsRun) {
  Life life("moment");
  life.cluster.nodes.clear();
  for (int i = 0; i < 60; ++i)
    life.cluster.nodes.push_back({EngineNode::State::Up, fmt::format("n{:02}", i), i % 3 ? "a100" : "k80", 4, ""});
  life.operation.tenants = {{"red", 1, {{"a100", 40}}, {}}, {"blue", 1, {}, {}}};
  life.begin();
  SplitMix random(3);
  for (int i = 0; i < 240; ++i) {
    Submission one;
    one.name = fmt::format("job{}", i), one.command = {"train"}, one.restart = 0, one.notice = 1;
    one.tenant = i % 2 ? "red" : "blue";
    one.samples = 100 + static_cast<double>(random.below(200));
    one.measured = i % 5 == 0 ? both(8, 8) : both(1 + static_cast<int64_t>(random.below(2)), 2);
    if (i % 7 == 0)
      one.elasticity = jobs::Elasticity::Malleable;
    ASSERT_TRUE(life.process->submit(life.local, one));
  }
  int64_t max = 0;
  for (int steps = 0; steps < 600 && !life.isOver(); ++steps) {
    life.step();
    int64_t red = 0;
    for (auto &[name, task] : life.cluster.tasks)
      if (task.is.state == EngineTask::State::Running && task.asked.tenant == "red" && task.asked.deviceType == "a100")
        red += task.asked.devicesPerNode * static_cast<int64_t>(task.asked.nodes.size());
    max = std::max(max, red);
  }
  for (auto &[id, job] : life.tables->jobs)
    EXPECT_EQ(job.phase, JobPhase::Complete) << id << ": " << job.reason;
  EXPECT_LE(max, 40);
  EXPECT_GE(max, 30);
  EXPECT_TRUE(life.cluster.conflicts.empty());
}

// As a batch job of Slurm that is held until its number is written down, and whose release fails.
TEST(SchedulerProcess, HandsInAgainWhatWasHandedInByHalf) {
  for (bool dies : {false, true}) {
    Life life("half");
    life.begin();
    const int64_t id = life.submit("lm", 400, both(4, 8));
    life.handle->holdsAfter = 0;
    life.step();
    ASSERT_EQ(life.cluster.tasks.size(), 1);
    if (dies)
      life.process.reset(), life.begin();
    EXPECT_LT(life.run(100), 30);
    EXPECT_EQ(life.job(id).phase, JobPhase::Complete);
    EXPECT_EQ(life.job(id).runs, 1);
  }
}

TEST(SchedulerProcess, SaysWhyTheEngineLetsATaskWait) {
  Life life("waits");
  life.begin();
  const int64_t id = life.submit("one", 400, both(4, 8));
  life.process->step(); // no time passes, so that it waits
  ASSERT_EQ(life.cluster.tasks.size(), 1u);
  life.cluster.tasks.begin()->second.is.reason = "QOSMaxGRESPerUser";
  life.process->step();
  auto said = life.process->explain(life.local, id);
  ASSERT_TRUE(said);
  EXPECT_THAT(*said, ::testing::Contains("simulated lets it wait: QOSMaxGRESPerUser"));
  EXPECT_THAT(*said, ::testing::Contains(::testing::StartsWith("it is to run on")));
  life.step();
  life.step();
  auto view = life.process->job(life.local, id);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->wait, "");
}

// An engine may have a limit of time: who gets further from run to run goes on, and who does not is given up.
TEST(SchedulerProcess, GoesOnWhereTheEngineStopsItAndItGotFurther) {
  Life life("limit");
  life.begin();
  const int64_t saves = life.submit("saves", 4000, {{"a100", 4, 40}}),
                forgets = life.submit("forgets", 4000, {{"k80", 8, 16}});
  for (int i = 0; i < 400 && !life.isOver(); ++i) {
    life.step();
    for (auto &[name, task] : life.cluster.tasks) {
      task.saves = task.asked.job == saves;
      if (!isOver(task.is.state) && task.is.started > 0 && life.cluster.time > task.is.started + 10)
        life.cluster.end(task, EngineTask::State::Stopped, 0);
    }
  }
  EXPECT_EQ(life.job(saves).phase, JobPhase::Complete);
  EXPECT_GT(life.job(saves).runs, 5);
  EXPECT_EQ(life.job(saves).failures, 0);
  EXPECT_EQ(life.job(forgets).phase, JobPhase::Failed);
  EXPECT_LE(life.job(forgets).runs, 5);
}

// A copy of the state is put back: what it does not know is ended, and no name of a task is used again, though jobs and
// runs get the numbers of those that came after the copy.
TEST(SchedulerProcess, GoesOnFromACopyOfItsState) {
  Life life("copy");
  life.begin();
  const int64_t before = life.submit("before", 400, both(4, 8), jobs::Elasticity::Malleable);
  life.run(3);
  const auto copy = std::make_shared<MemoryStore::Tables>();
  copy->jobs = life.tables->jobs, copy->runs = life.tables->runs, copy->events = life.tables->events;
  copy->tokens = life.tables->tokens, copy->settings = life.tables->settings;
  ASSERT_EQ(life.job(before).phase, JobPhase::Running);
  const int64_t after = life.submit("after", 4000, {{"k80", 8, 16}});
  life.run(3);
  ASSERT_EQ(life.job(after).phase, JobPhase::Running);
  const std::string lost = life.cluster.tasks.rbegin()->first;
  ASSERT_EQ(life.cluster.tasks.at(lost).asked.job, after);
  life.process.reset();
  life.tables = copy;
  life.begin();
  life.run(5);
  EXPECT_EQ(life.cluster.tasks.at(lost).is.state, EngineTask::State::Stopped);
  const int64_t fresh = life.submit("fresh", 160, {{"k80", 8, 16}});
  EXPECT_EQ(fresh, after);
  life.run(200);
  EXPECT_EQ(life.job(before).phase, JobPhase::Complete);
  EXPECT_EQ(life.job(fresh).phase, JobPhase::Complete);
  int64_t ran = 0;
  for (const auto &[name, task] : life.cluster.tasks)
    if (task.asked.job == fresh && name != lost) {
      ++ran;
      EXPECT_EQ(task.work, 160) << name;
    }
  EXPECT_EQ(ran, 1);
  for (const auto &[key, run] : life.tables->runs)
    EXPECT_EQ(run.outcome, JobRunRecord::Outcome::Succeeded) << run.task;
}

TEST(SchedulerProcess, DiesAtEachCallAndNoJobIsLostOrDoubled) {
  int64_t calls = 0;
  for (int64_t last = 0;; ++last) {
    Life life("death");
    life.fate.last = last / 2 + 1, life.fate.before = last % 2 == 0;
    std::vector<int64_t> ids;
    int deaths = 0, steps = 0;
    auto live = [&] {
      if (!life.process)
        life.begin();
      while (ids.size() < 4)
        ids.push_back(life.submit(fmt::format("j{}", ids.size()), 150 + 50 * static_cast<double>(ids.size()),
                                  ids.size() % 2 ? both(4, 8) : both(8, 4),
                                  ids.size() == 2 ? jobs::Elasticity::Malleable : jobs::Elasticity::Moldable));
      for (; steps < 300 && (!life.isOver() || life.cluster.forgotten.size() < life.cluster.tasks.size()); ++steps) {
        if (steps == 5)
          (void)life.process->cancel(life.local, ids[3], "");
        life.step();
      }
    };
    for (bool isAlive = false; !isAlive;) {
      try {
        live();
        isAlive = true;
      } catch (const Death &) {
        life.process.reset();
        life.fate.last = -1; // once
        ++deaths;
      }
    }
    ASSERT_LT(steps, 300) << "died at call " << last;
    for (auto &[id, job] : life.tables->jobs)
      EXPECT_TRUE(job.phase == JobPhase::Complete || (id == ids[3] && job.phase == JobPhase::Cancelled))
          << "died at call " << last << ": job " << id << " " << static_cast<int>(job.phase) << " " << job.reason;
    for (auto &[name, count] : life.cluster.starts)
      EXPECT_EQ(count, 1) << name;
    EXPECT_TRUE(life.cluster.conflicts.empty()) << "died at call " << last << ": " << life.cluster.conflicts.front();
    calls = life.fate.calls;
    if (deaths == 0)
      break;
  }
  EXPECT_GT(calls, 20);
}

} // namespace
} // namespace accord::testing
