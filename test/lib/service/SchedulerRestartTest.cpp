// What a scheduler remembers and what it forgets: delays and losses over its restarts, jobs of long ago. And what goes
// on while its engine hangs.
#include "lib/service/control/SchedulerState.h"
#include "test/lib/service/SchedulerLife.h"
#include <future>
#include <gmock/gmock.h>

namespace accord::testing {
namespace {

constexpr std::chrono::seconds kPatience(150);

TEST(SchedulerRestart, WaitsBeforeItTriesAgainWhateverHappensMeanwhile) {
  Life life("retry");
  life.cluster.fails = [](const TaskRequest &) { return true; };
  life.begin();
  const int64_t id = life.submit("bad", 1000, {{"a100", 4, 40}});
  for (int i = 0; i < 60 && !life.isOver(); ++i) {
    life.step();
    life.process.reset(); // a new life after each step
    life.begin();
  }
  EXPECT_EQ(life.job(id).phase, JobPhase::Failed);
  std::vector<JobRunRecord> runs;
  for (const auto &[key, run] : life.tables->runs)
    runs.push_back(run);
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_GE(runs[1].intended, runs[0].ended + 2);
  EXPECT_GE(runs[2].intended, runs[1].ended + 4);
}

TEST(SchedulerRestart, TriesALostRunAgainAtOnce) {
  ServedJob job;
  job.failures = 2;
  JobRunRecord run;
  run.state = JobRunRecord::State::Ended, run.ended = 100;
  auto timeOf = [&](JobRunRecord::Outcome outcome, double stopping, int exitCode) {
    run.outcome = outcome, run.stopping = stopping, run.exitCode = exitCode;
    return retryTime(job, run, 10, 1000);
  };
  using Outcome = JobRunRecord::Outcome;
  EXPECT_EQ(timeOf(Outcome::Failed, 0, 1), 120);
  EXPECT_EQ(timeOf(Outcome::Stopped, 0, 143), 120); // by somebody
  EXPECT_EQ(timeOf(Outcome::Stopped, 90, 143), 0);  // by the scheduler
  EXPECT_EQ(timeOf(Outcome::Lost, 0, -1), 0);
  EXPECT_EQ(timeOf(Outcome::Refused, 0, 78), 0);  // by the guard of a node
  EXPECT_EQ(timeOf(Outcome::Failed, 0, 78), 120); // EX_CONFIG of a program
  run.ended = 1e9;                                // by a clock that is wrong
  EXPECT_EQ(timeOf(Outcome::Failed, 0, 1), 1020);
  job.failures = 1000;
  EXPECT_EQ(timeOf(Outcome::Failed, 0, 1), 1000 + 10240);
}

/// A malleable job on 8 devices, and an urgent one that would take 4 of them.
struct Pressed {
  Life life;
  int64_t large = 0, urgent = 0;
  Pressed(const std::string &name, bool reports, bool saves) : life(name) {
    life.cluster.report = reports, life.cluster.save = saves;
    life.begin();
    large = life.submit("large", 4000, {{"a100", 8, 80}, {"a100", 4, 40}}, jobs::Elasticity::Malleable);
    for (int i = 0; i < 8; ++i)
      life.step();
    press();
  }
  void press() {
    Submission one;
    one.name = "urgent", one.command = {"train"}, one.samples = 400, one.priority = 100, one.restart = 0;
    one.measured = {{"a100", 4, 40}};
    auto made = life.process->submit(life.local, one);
    ASSERT_TRUE(made);
    urgent = made->first;
  }
  std::vector<int64_t> devicesOfRuns() const {
    std::vector<int64_t> devices;
    for (const auto &[key, run] : life.tables->runs)
      if (run.job == large)
        devices.push_back(run.devices);
    return devices;
  }
  std::vector<std::string> explain() const {
    auto lines = life.process->explain(life.local, large);
    return lines ? *lines : std::vector<std::string>();
  }
};

TEST(SchedulerRestart, MovesNobodyWhoSaysNothing) {
  Pressed pressed("silent", false, false);
  for (int i = 0; i < 5; ++i)
    pressed.life.step();
  EXPECT_THAT(pressed.explain(), ::testing::Contains(::testing::HasSubstr("it is not moved: it has not said")));
  EXPECT_LT(pressed.life.run(300), 300);
  EXPECT_THAT(pressed.devicesOfRuns(), ::testing::ElementsAre(8));
  EXPECT_EQ(pressed.life.job(pressed.large).phase, JobPhase::Complete);
  EXPECT_EQ(pressed.life.job(pressed.urgent).phase, JobPhase::Complete);
}

TEST(SchedulerRestart, MovesOnceWhoSaysHowFarItIsAndSavesNothing) {
  Pressed pressed("careless", true, false);
  Life &life = pressed.life;
  for (int i = 0; i < 100 && life.job(pressed.urgent).phase != JobPhase::Complete; ++i)
    life.step();
  ASSERT_EQ(life.job(pressed.urgent).phase, JobPhase::Complete);
  const std::vector<int64_t> before = pressed.devicesOfRuns();
  ASSERT_GE(before.size(), 2u); // it was told to save, and all was lost
  life.process.reset();
  life.begin(); // and that is known in the next life
  for (int i = 0; i < 5; ++i)
    life.step();
  EXPECT_THAT(pressed.explain(), ::testing::Contains(::testing::HasSubstr("it is not moved any more")));
  pressed.press();
  EXPECT_LT(life.run(300), 300);
  EXPECT_EQ(pressed.devicesOfRuns(), before);
  EXPECT_EQ(life.job(pressed.large).phase, JobPhase::Complete);
}

TEST(SchedulerRestart, SeesThatARunOfAnEarlierLifeIsSlow) {
  Life life("slow");
  life.cluster.rate = [](const TaskRequest &) { return 20.0; }; // half of what was measured
  life.begin();
  const int64_t id = life.submit("slow", 20000, {{"a100", 4, 40}});
  for (int i = 0; i < 5; ++i)
    life.step();
  life.process.reset();
  life.begin();
  for (int i = 0; i < 100; ++i)
    life.step();
  auto view = life.process->job(life.local, id);
  ASSERT_TRUE(view);
  EXPECT_NEAR(view->timeLeft, (20000 - life.job(id).progress.samples - 20 * 100) / 20, 100);
  auto lines = life.process->explain(life.local, id);
  ASSERT_TRUE(lines);
  EXPECT_THAT(*lines, ::testing::Contains(::testing::HasSubstr("could run on 4 a100: 20 samples")));
}

TEST(SchedulerRestart, AnEngineThatHangsHoldsUpNobodyElse) {
  Life life("hangs");
  life.begin();
  life.step();
  const int64_t id = life.submit("other", 100, {{"a100", 4, 40}});
  std::promise<void> isAsked, goOn;
  auto mayGoOn = goOn.get_future().share();
  life.handle->onDrain = [&] { isAsked.set_value(), mayGoOn.wait(); };
  auto drain = std::async(std::launch::async, [&] { return bool(life.process->drain(life.local, "a1", true, "hot")); });
  ASSERT_EQ(isAsked.get_future().wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(life.tables->drained.count("a1"), 1u); // first what is intended
  auto others = std::async(std::launch::async, [&] {
    const bool isDone = bool(life.process->cancel(life.local, id, "")) && life.process->submit(life.local, [] {
      Submission one;
      one.name = "next", one.command = {"x"}, one.samples = 1, one.measured = {{"a100", 1, 1}};
      return one;
    }());
    life.process->step();
    return isDone;
  });
  EXPECT_EQ(others.wait_for(kPatience), std::future_status::ready);
  goOn.set_value();
  EXPECT_TRUE(drain.get());
  EXPECT_TRUE(others.get());
  EXPECT_EQ(life.job(id).phase, JobPhase::Cancelled);
}

TEST(SchedulerRestart, AsksAnEngineThatIsSlowForAFewThingsInEachCycle) {
  Life life("slowly");
  life.begin();
  for (int i = 0; i < 3; ++i)
    life.submit(fmt::format("j{}", i), 1e6, {{"a100", 2, 20}});
  for (int i = 0; i < 20 && life.cluster.starts.size() < 3; ++i)
    life.step();
  ASSERT_EQ(life.cluster.starts.size(), 3u);
  life.process.reset();
  life.interval = 1e-3;
  life.begin();
  for (int64_t id = 1; id <= 3; ++id)
    ASSERT_TRUE(life.process->cancel(life.local, id, ""));
  std::vector<std::string> asked;
  life.handle->onStop = [&](const std::string &task) {
    asked.push_back(task);
    life.handle->isDown = true; // it refuses
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  for (size_t i = 1; i <= 3; ++i) {
    life.handle->isDown = false;
    life.step();
    EXPECT_EQ(asked.size(), i);
  }
  // Each has its turn, though the first may be asked again meanwhile.
  EXPECT_THAT(asked, ::testing::ElementsAre("accord-lab-1-1", "accord-lab-2-1", "accord-lab-3-1"));
}

TEST(SchedulerRestart, DrainsAgainWhatTheEngineForgot) {
  Life life("again");
  life.begin();
  life.step();
  ASSERT_TRUE(life.process->drain(life.local, "a1", true, "hot"));
  life.cluster.setNode("a1", EngineNode::State::Up);
  life.step();
  EXPECT_EQ(life.cluster.nodes[0].state, EngineNode::State::Drained);
  ASSERT_TRUE(life.process->drain(life.local, "a1", false, ""));
  life.step();
  EXPECT_EQ(life.cluster.nodes[0].state, EngineNode::State::Up);
}

TEST(SchedulerRestart, LeavesTheTasksOfAClusterWithALongerName) {
  Life life("names");
  life.begin();
  for (const char *name : {"accord-lab-2-7-1", "accord-lab-x", "accord-lab-007-1", "accord-lab-7-1"}) {
    TaskRequest task;
    task.name = name, task.nodes = {"k1"}, task.folder = (life.folder / name).string();
    task.environment = {{"ACCORD_SAMPLES", "1000000"}};
    std::filesystem::create_directories(task.folder);
    ASSERT_TRUE(life.handle->submit(task));
  }
  for (int i = 0; i < 5; ++i)
    life.step();
  for (const auto &[name, task] : life.cluster.tasks)
    EXPECT_EQ(isOver(task.is.state), name == "accord-lab-7-1") << name;
}

TEST(SchedulerRestart, DoesNotTakeOverWhatAnEarlierTaskOfTheNameSaid) {
  Life life("backup"); // an older state was put in place, and counts to the same numbers again
  std::filesystem::create_directories(life.folder / "accord-lab-1-1");
  std::ofstream(life.folder / "accord-lab-1-1" / "progress") << "{\"samples\": 390, \"saved\": 390}\n";
  life.cluster.report = false;
  life.begin();
  const int64_t id = life.submit("lm", 400, {{"a100", 4, 40}});
  life.run(100);
  EXPECT_EQ(life.job(id).phase, JobPhase::Complete);
  ASSERT_EQ(life.tables->runs.size(), 1u);
  const JobRunRecord &run = life.tables->runs.begin()->second;
  EXPECT_EQ(run.task, "accord-lab-1-2");
  EXPECT_EQ(run.samplesAtStart, 0);
}

TEST(SchedulerRestart, ForgetsWhatEndedLongAgo) {
  Life life("forgets");
  life.keep = 1000;
  life.storeUrl = (life.folder / "state.db").string();
  life.begin();
  auto submit = [&](const std::string &name, double samples, std::vector<int64_t> after) {
    Submission one;
    one.name = name, one.command = {"train"}, one.samples = samples, one.restart = 0, one.after = std::move(after);
    one.measured = {{"a100", 4, 40}};
    auto made = life.process->submit(life.local, one);
    EXPECT_TRUE(made) << (made ? "" : made.error().front().message);
    return made ? made->first : 0;
  };
  auto phaseOf = [&](int64_t id) {
    auto view = life.process->job(life.local, id);
    return view ? std::optional(view->job.phase) : std::nullopt;
  };
  const int64_t old = submit("old", 40, {}), before = submit("before", 40, {});
  const int64_t later = submit("later", 1e6, {before});
  for (int i = 0; i < 100 && phaseOf(later) != JobPhase::Running; ++i)
    life.step();
  ASSERT_EQ(phaseOf(later), JobPhase::Running);
  ASSERT_EQ(phaseOf(old), JobPhase::Complete);
  auto folderOf = [&](int64_t id) { return life.folder / fmt::format("accord-lab-{}-1", id); };
  for (int64_t id : {old, before, later}) { // all of them began long ago
    ASSERT_TRUE(std::filesystem::exists(folderOf(id)));
    std::filesystem::last_write_time(folderOf(id),
                                     std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  }
  life.step();
  EXPECT_TRUE(std::filesystem::exists(folderOf(old))); // not yet
  auto events = life.process->events(life.local, 0, 1000, {});
  ASSERT_TRUE(events && !events->empty());
  const int64_t last = events->back().number;
  for (int i = 0; i < 2; ++i) { // the second time nothing is left to do
    life.cluster.advance(4000);
    for (int64_t id : {before, later})
      std::filesystem::last_write_time(folderOf(id),
                                       std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
    life.process->step();
  }
  EXPECT_FALSE(phaseOf(old));
  EXPECT_FALSE(std::filesystem::exists(folderOf(old)));
  EXPECT_EQ(phaseOf(before), JobPhase::Complete); // the open one refers to it
  EXPECT_EQ(phaseOf(later), JobPhase::Running);
  EXPECT_TRUE(std::filesystem::exists(folderOf(before)));
  EXPECT_TRUE(std::filesystem::exists(folderOf(later)));
  events = life.process->events(life.local, 0, 1000, {});
  ASSERT_TRUE(events);
  for (const ServiceEvent &event : *events)
    EXPECT_GT(event.number, last - 1);
  life.process.reset();
  life.begin();
  life.step();
  const int64_t fresh = submit("fresh", 40, {});
  EXPECT_EQ(fresh, later + 1);
  events = life.process->events(life.local, 0, 1000, {});
  ASSERT_TRUE(events && !events->empty());
  EXPECT_GT(events->back().number, last);
  for (size_t i = 1; i < events->size(); ++i)
    EXPECT_EQ((*events)[i].number, (*events)[i - 1].number + 1);
  EXPECT_THAT(*life.process->check(), ::testing::IsEmpty());
}

} // namespace
} // namespace accord::testing
