// A scheduler in virtual time under what nobody should do and everybody does: absurd jobs, nodes that change, limits
// that fall below what runs, files that are no files, clocks that jump.
#include "lib/support/SplitMix.h"
#include "test/lib/service/SchedulerLife.h"
#include "test/support/Random.h"
#include <gmock/gmock.h>
#include <sys/stat.h>

namespace accord::testing {
namespace {

using ::testing::HasSubstr;
using State = JobRunRecord::State;

Submission plain(const std::string &name, double samples, std::vector<MeasuredConfiguration> measured) {
  Submission one;
  one.name = name, one.command = {"train"}, one.samples = samples, one.measured = std::move(measured);
  one.restart = 0, one.notice = 2;
  return one;
}

int64_t take(Life &life, const Submission &one) {
  auto made = life.process->submit(life.local, one);
  EXPECT_TRUE(made) << (made ? "" : made.error().front().message);
  return made ? made->first : 0;
}

void steps(Life &life, int count) {
  for (int i = 0; i < count; ++i)
    life.step();
}

/// A job beside an absurd one is complete as if that were not there.
struct Absurd {
  const char *name;
  void (*make)(Submission &);
};

class AbsurdJob : public ::testing::TestWithParam<Absurd> {};

TEST_P(AbsurdJob, StopsNoOther) {
  Life life(fmt::format("absurd-{}", GetParam().name));
  life.operation.tenants = {{"red", 1, {{"a100", 4}}, {}}, {"none", 1, {{"", 0}}, {}}};
  life.begin();
  Submission odd = plain("odd", 100, both(4, 8));
  odd.tenant = "red";
  GetParam().make(odd);
  take(life, odd);
  steps(life, 3);
  Submission other = plain("other", 200, both(4, 8));
  other.tenant = "red";
  const int64_t id = take(life, other);
  steps(life, 40);
  EXPECT_EQ(life.job(id).phase, JobPhase::Complete) << life.process->job(life.local, id)->wait;
  EXPECT_TRUE(life.process->check()->empty());
}

INSTANTIATE_TEST_SUITE_P(
    Each, AbsurdJob,
    ::testing::Values(
        Absurd{"samples", [](Submission &one) { one.samples = 1e18, one.measured = {{"k80", 8, 1e-6}}; }},
        Absurd{"rate", [](Submission &one) { one.measured = {{"k80", 8, 1e-300}}; }},
        Absurd{"fast", [](Submission &one) { one.samples = 1e-300, one.measured = {{"k80", 8, 1e18}}; }},
        Absurd{"restart", [](Submission &one) { one.restart = 1e9, one.measured = {{"k80", 8, 16}}; }},
        Absurd{"priority", [](Submission &one) { one.priority = 1e-12; }},
        Absurd{"late", [](Submission &one) { one.deadline = one.due = 1, one.latePrice = 1e9; }},
        Absurd{"later", [](Submission &one) { one.deadline = one.due = 1.7e9 + 1e9, one.latePrice = 1e9; }},
        Absurd{"due", [](Submission &one) { one.due = 1e12; }},
        Absurd{"soon", [](Submission &one) { one.deadline = 1.7e9 + 4; }},
        Absurd{"types", [](Submission &one) { one.deviceTypes = {"k80", "h100"}; }},
        Absurd{"nowhere", [](Submission &one) { one.deviceTypes = {"h100"}; }},
        Absurd{"quota", [](Submission &one) { one.measured = {{"a100", 8, 80}}; }},
        Absurd{"nothing", [](Submission &one) { one.tenant = "none"; }},
        Absurd{"large", [](Submission &one) { one.measured.clear(), one.minDevices = 1'000'000; }},
        Absurd{"notice", [](Submission &one) { one.notice = 3600, one.elasticity = jobs::Elasticity::Malleable; }}),
    [](const auto &info) { return info.param.name; });

TEST(SchedulerChaos, RefusesAJobAfterOneThatIsNotThere) {
  Life life("self");
  life.begin();
  Submission one = plain("one", 10, both(4, 8));
  one.after = {1};
  EXPECT_FALSE(life.process->submit(life.local, one));
}

TEST(SchedulerChaos, TakesTenantsThatTheDescriptionHasNotAnyMore) {
  Life life("tenants");
  life.operation.tenants = {{"red", 1, {}, {}}, {"blue", 1, {}, {}}};
  life.begin();
  Submission one = plain("one", 400, both(4, 8));
  one.tenant = "blue";
  const int64_t first = take(life, one), second = take(life, one);
  steps(life, 3);
  life.process.reset();
  life.operation.tenants = {{"red", 1, {}, {}}};
  life.begin();
  life.run(100);
  EXPECT_EQ(life.job(first).phase, JobPhase::Complete);
  EXPECT_EQ(life.job(second).phase, JobPhase::Complete);
}

TEST(SchedulerChaos, GoesOnWhereLimitsFallBelowWhatRuns) {
  Life life("limits");
  life.operation.tenants = {{"red", 1, {{"a100", 8}}, {}}, {"blue", 1, {}, {}}};
  life.begin();
  Submission one = plain("one", 800, {{"a100", 8, 80}});
  one.tenant = "red";
  const int64_t red = take(life, one);
  steps(life, 4);
  ASSERT_EQ(life.job(red).phase, JobPhase::Running);
  life.process.reset();
  life.operation.tenants[0].quota["a100"] = 0;
  life.operation.capacities = {{"a100", {{0, 64}}, {}}}; // more than there are
  life.begin();
  Submission two = plain("two", 32, {{"k80", 8, 16}});
  two.tenant = "blue";
  const int64_t blue = take(life, two);
  steps(life, 6);
  EXPECT_EQ(life.job(blue).phase, JobPhase::Complete) << life.process->job(life.local, blue)->wait;
  life.run(60);
  EXPECT_EQ(life.job(red).phase, JobPhase::Complete);
}

TEST(SchedulerChaos, PlansShortJobsInLongPeriods) {
  Life life("periods");
  life.operation.slot = 900;
  life.begin();
  for (int i = 0; i < 12; ++i)
    life.submit(fmt::format("j{}", i), 120, {{"a100", 4, 40}});
  EXPECT_LT(life.run(200), 60); // 12 times 3 s on 2 nodes, and what starts and ends take
}

TEST(SchedulerChaos, KnowsNodesThatChange) {
  Life life("change");
  life.begin();
  const int64_t runs = life.submit("runs", 800, {{"a100", 4, 40}});
  steps(life, 4);
  ASSERT_EQ(life.job(runs).phase, JobPhase::Running);
  const std::string node = life.tables->runs.begin()->second.nodes.front();
  auto at = std::ranges::find(life.cluster.nodes, node, &EngineNode::name);
  at->devices = 2; // fewer than it runs on
  const int64_t other = life.submit("other", 80, {{"a100", 4, 40}}), old = life.submit("old", 32, {{"k80", 8, 16}});
  steps(life, 10);
  EXPECT_EQ(life.job(other).phase, JobPhase::Complete) << life.process->job(life.local, other)->wait;
  EXPECT_EQ(life.job(old).phase, JobPhase::Complete);
  at->deviceType = "h100"; // another type
  const int64_t third = life.submit("third", 80, {{"a100", 4, 40}});
  steps(life, 10);
  EXPECT_EQ(life.job(third).phase, JobPhase::Complete) << life.process->job(life.local, third)->wait;
  life.cluster.nodes.erase(at); // away, while the task goes on
  const int64_t fourth = life.submit("fourth", 80, {{"a100", 4, 40}});
  steps(life, 15);
  EXPECT_EQ(life.job(fourth).phase, JobPhase::Complete) << life.process->job(life.local, fourth)->wait;
  life.run(60);
  EXPECT_EQ(life.job(runs).phase, JobPhase::Complete);
  EXPECT_TRUE(life.process->check()->empty());
}

TEST(SchedulerChaos, TakesBackARunWhoseNodeWentBeforeItBegan) {
  Life life("gone");
  life.begin();
  life.step();
  const int64_t id = life.submit("lm", 80, {{"a100", 4, 40}});
  life.process->step(); // the engine has it, and it waits
  ASSERT_EQ(life.tables->runs.size(), 1u);
  const std::string node = life.tables->runs.begin()->second.nodes.front();
  life.cluster.setNode(node, EngineNode::State::Down);
  EXPECT_LT(life.run(30), 30);
  EXPECT_EQ(life.job(id).phase, JobPhase::Complete);
  EXPECT_EQ(life.job(id).failures, 0);
}

TEST(SchedulerChaos, MatchesTypesByLabelOnEachNode) {
  Life life("labels");
  life.types = {"a100_80g"};
  life.cluster.nodes = {{EngineNode::State::Up, "n1", "A100_80G", 4, ""},
                        {EngineNode::State::Up, "n2", "A100_80G", 4, ""},
                        {EngineNode::State::Up, "n3", "", 4, ""},
                        {EngineNode::State::Up, "n4", "", 4, ""}};
  life.begin();
  life.step();
  const ClusterView view = life.process->cluster(life.local);
  ASSERT_EQ(view.types.size(), 2u);
  EXPECT_EQ(view.types[0].devices, 8);
  EXPECT_EQ(view.types[1].devices, 8);
}

TEST(SchedulerChaos, PassesOverProgressThatIsNone) {
  Life life("progress");
  life.begin();
  const int64_t deep = life.submit("deep", 600, {{"a100", 4, 40}}), pipe = life.submit("pipe", 600, {{"a100", 4, 40}}),
                huge = life.submit("huge", 600, {{"k80", 8, 40}});
  steps(life, 3);
  for (auto &[name, task] : life.cluster.tasks)
    task.reports = false;
  auto file = [&](int64_t id) {
    for (auto &[key, run] : life.tables->runs)
      if (run.job == id && run.state != State::Ended)
        return life.folder / run.task / "progress";
    return std::filesystem::path();
  };
  std::ofstream(file(deep), std::ios::app) << std::string(500'000, '[') << "\n"
                                           << R"({"samples": 1e300, "saved": 1e300, "noise": 1e305})" << "\n"
                                           << R"({"samples": 0, "time_s": 1e-300})" << "\n"
                                           << R"({"samples": 1e18, "time_s": 2e-300})" << "\n";
  std::filesystem::remove(file(pipe));
  ASSERT_EQ(mkfifo(file(pipe).c_str(), 0600), 0);
  {
    std::ofstream lines(file(huge), std::ios::app);
    const std::string line(1023, ' ');
    for (int i = 0; i < 64'000; ++i)
      lines << line << "\n";
    lines << R"({"samples": 123})" << "\n";
  }
  steps(life, 2);
  EXPECT_EQ(life.process->job(life.local, huge)->job.progress.samples, 123);
  std::ofstream(file(huge), std::ios::trunc) << R"({"samples": 140})" << "\n";
  steps(life, 1);
  EXPECT_EQ(life.process->job(life.local, huge)->job.progress.samples, 140);
  std::filesystem::remove_all(file(huge).parent_path());
  life.run(60);
  for (int64_t id : {deep, pipe, huge})
    EXPECT_EQ(life.job(id).phase, JobPhase::Complete);
}

TEST(SchedulerChaos, LearnsFromProgressThatIsReported) {
  Life life("reports");
  life.begin();
  life.process->setUrl("http://localhost");
  Submission one = plain("script", 4000, {});
  one.elasticity = jobs::Elasticity::Malleable;
  const int64_t id = take(life, one);
  for (int i = 0; i < 400 && !life.isOver(); ++i) {
    for (auto &[name, task] : life.cluster.tasks) {
      task.reports = false;
      for (const auto &[key, value] : task.asked.environment)
        if (key == "ACCORD_TASK_TOKEN" && task.is.state == EngineTask::State::Running)
          (void)life.process->report(value, {task.done, task.done, 0, 0, 0, 0});
    }
    life.step();
  }
  EXPECT_EQ(life.job(id).phase, JobPhase::Complete);
  int64_t max = 0;
  for (auto &[key, run] : life.tables->runs)
    max = std::max(max, run.devices);
  EXPECT_EQ(max, 8);
}

TEST(SchedulerChaos, FollowsAClockThatGoesBack) {
  Life life("clock");
  life.begin();
  const int64_t first = life.submit("first", 400, {{"a100", 4, 40}});
  steps(life, 4);
  int left = 2;
  life.cluster.fails = [&](const TaskRequest &task) { return task.job == 2 && left-- > 0; };
  const int64_t second = life.submit("second", 80, {{"k80", 8, 16}});
  steps(life, 3);
  life.cluster.time -= 1e7;
  for (auto &[name, task] : life.cluster.tasks)
    task.is.started = std::min(task.is.started, life.cluster.time);
  EXPECT_LT(life.run(80), 80);
  EXPECT_EQ(life.job(first).phase, JobPhase::Complete);
  EXPECT_EQ(life.job(second).phase, JobPhase::Complete);
}

/// Prices a job by its file, and counts that it was asked with it.
class FileModeller : public JobModeller {
public:
  Result<ModelledJob, Errors> model(const ServedJob &job, const jobs::Cluster &cluster) override {
    if (job.submission.files.size() != 1)
      return Errors{{Code::WrongServiceRequest, "its files are not there"}};
    ModelledJob made;
    made.table.samples = job.samples > 0 ? job.samples : 400;
    auto launch = std::make_shared<jobs::LaunchPlan>();
    launch->title = "by file";
    for (unsigned type = 0; type < cluster.types.size(); ++type)
      if (cluster.types[type] == "a100" && cluster.largestServer(type) >= 4) {
        jobs::TableRow row;
        row.type = type, row.devices = 4, row.rate = 40, row.plan = "dp4", row.launch = launch;
        made.table.rows.push_back(row);
      }
    if (made.table.rows.empty())
      return Errors{{Code::WrongServiceRequest, "it fits nowhere"}};
    return std::move(made);
  }
};

TEST(SchedulerChaos, StartsADescribedJobByItsPlanAfterARestart) {
  Life life("described");
  life.modeller = std::make_shared<FileModeller>();
  life.begin();
  Submission one = plain("lm", 0, {});
  one.files = {{"main.dnn", "text"}}, one.main = "main.dnn";
  const int64_t first = take(life, one), second = take(life, one), third = take(life, one);
  steps(life, 2);
  life.process.reset();
  life.begin();
  life.run(60);
  for (int64_t id : {first, second, third})
    EXPECT_EQ(life.job(id).phase, JobPhase::Complete) << life.job(id).reason;
  for (auto &[name, task] : life.cluster.tasks)
    EXPECT_EQ(task.asked.layout.title, "by file") << name;
}

TEST(SchedulerChaos, PricesAJobAgainWhenItsNodesComeBack) {
  Life life("again");
  life.modeller = std::make_shared<FileModeller>();
  life.begin();
  Submission one = plain("lm", 0, {});
  one.files = {{"main.dnn", "text"}}, one.main = "main.dnn";
  take(life, one), take(life, one);
  const int64_t third = take(life, one);
  steps(life, 2);
  const auto nodes = life.cluster.nodes;
  std::erase_if(life.cluster.nodes, [](const EngineNode &node) { return node.deviceType == "a100"; });
  steps(life, 15);
  EXPECT_EQ(life.job(third).phase, JobPhase::Queued) << life.job(third).reason;
  EXPECT_THAT(life.process->job(life.local, third)->wait, HasSubstr("it fits nowhere"));
  life.cluster.nodes = nodes;
  life.run(60);
  EXPECT_EQ(life.job(third).phase, JobPhase::Complete);
}

/// What must hold in each step, whatever happens.
void holds(Life &life, uint64_t seed) {
  std::map<std::string, int64_t> used;
  std::map<std::string, int64_t> held;
  std::map<int64_t, int> openRuns;
  for (auto &[key, run] : life.tables->runs)
    if (run.state != State::Ended) {
      for (const std::string &node : run.nodes)
        used[node] += run.devicesPerNode;
      held[life.tables->jobs[run.job].submission.tenant] += run.devices;
      EXPECT_EQ(++openRuns[run.job], 1) << "seed " << seed << ": job " << run.job;
    }
  for (const EngineNode &node : life.cluster.nodes)
    EXPECT_LE(used[node.name], node.devices) << "seed " << seed << ": " << node.name;
  EXPECT_LE(held["red"], 8) << "seed " << seed;
  for (auto &[id, job] : life.tables->jobs) {
    const bool runs = job.phase == JobPhase::Running || job.phase == JobPhase::Stopping;
    EXPECT_EQ(openRuns.contains(id), runs) << "seed " << seed << ": job " << id;
  }
  const auto wrong = life.process->check();
  EXPECT_TRUE(wrong && wrong->empty()) << "seed " << seed << ": " << (wrong ? wrong->front() : "");
  EXPECT_TRUE(life.cluster.conflicts.empty()) << "seed " << seed << ": " << life.cluster.conflicts.front();
}

Submission randomJob(SplitMix &random, int number) {
  const int64_t devices = int64_t(1) << random.below(4);
  Submission one = plain(fmt::format("j{}", number), 20 + static_cast<double>(random.below(400)),
                         random.below(2) ? both(devices, devices) : both(std::min<int64_t>(devices, 4), 8));
  one.tenant = random.below(2) ? "red" : "blue";
  one.restart = static_cast<double>(random.below(3));
  one.maxFailures = 50;
  if (random.below(3) == 0)
    one.elasticity = jobs::Elasticity::Malleable;
  if (random.below(5) == 0)
    one.measured.clear();
  if (random.below(4) == 0)
    one.deadline = 1.7e9 + static_cast<double>(random.below(100));
  if (number > 1 && random.below(4) == 0)
    one.after = {static_cast<int64_t>(random.below(number)) + 1};
  return one;
}

void disturb(Life &life, SplitMix &random) {
  const std::string &node = life.cluster.nodes[random.below(life.cluster.nodes.size())].name;
  switch (random.below(12)) {
  case 0:
    life.cluster.setNode(node, EngineNode::State::Down);
    break;
  case 1:
  case 2:
    life.cluster.setNode(node, EngineNode::State::Up);
    break;
  case 3:
    (void)life.process->drain(life.local, node, true, "test");
    break;
  case 4:
    (void)life.process->drain(life.local, node, false, "");
    break;
  case 5:
    life.tables->isFull = !life.tables->isFull;
    break;
  case 6:
    life.handle->isDown = !life.handle->isDown;
    break;
  case 7:
    life.fate.last = life.fate.calls + 1 + static_cast<int64_t>(random.below(4)), life.fate.before = random.below(2);
    break;
  case 8:
    life.handle->breaksAfter = 0;
    break;
  case 9:
    if (random.below(3) == 0)
      (void)life.process->cancel(life.local, 1 + static_cast<int64_t>(random.below(8)), "");
    break;
  default:
    break;
  }
}

void live(uint64_t seed) {
  SplitMix random(seed);
  Life life(fmt::format("chaos{}", seed));
  life.operation.tenants = {{"red", 1, {{"", 8}}, {}}, {"blue", 2, {}, {}}};
  if (seed > 0)
    life.planner.maxScheduled = 0; // plans of the moment, which take no time
  life.cluster.rate = [&](const TaskRequest &task) {
    const double devices = static_cast<double>(task.devicesPerNode) * static_cast<double>(task.nodes.size());
    return (task.deviceType == "a100" ? 10 : 2) * devices * (0.5 + static_cast<double>(random.below(1000)) / 1000);
  };
  life.cluster.fails = [&](const TaskRequest &) { return random.below(60) == 0; };
  int jobs = 0;
  for (int step = 0; step < 700; ++step) {
    const bool isCalm = step > 60;
    try {
      if (!life.process)
        life.begin();
      if (step < 40 && random.below(4) == 0)
        jobs += life.process->submit(life.local, randomJob(random, jobs)) ? 1 : 0;
      if (!isCalm && random.below(3) == 0)
        disturb(life, random);
      if (step == 60) {
        life.tables->isFull = life.handle->isDown = false, life.fate.last = -1;
        for (const EngineNode &node : std::vector(life.cluster.nodes))
          life.cluster.setNode(node.name, EngineNode::State::Up),
              (void)life.process->drain(life.local, node.name, false, "");
      }
      life.step();
    } catch (const Death &) {
      life.process.reset();
      life.fate.last = -1;
      continue;
    }
    holds(life, seed);
    if (::testing::Test::HasFailure() || (isCalm && life.isOver()))
      break;
  }
  for (auto &[id, job] : life.tables->jobs)
    EXPECT_TRUE(isOver(job.phase)) << "seed " << seed << ": job " << id << " " << static_cast<int>(job.phase) << ": "
                                   << life.process->job(life.local, id)->wait;
}

TEST(SchedulerChaos, KeepsItsPromisesInRandomLives) {
  for (int64_t seed = 0, count = cases(50); seed < count && !HasFailure(); ++seed)
    live(static_cast<uint64_t>(seed));
}

/// An engine that several threads ask, in real time.
class SharedEngine : public Engine {
public:
  explicit SharedEngine(SimulatedCluster &cluster) : cluster(cluster), engine(cluster, nullptr) {}
  std::string kind() const override { return "simulated"; }
  Result<std::vector<EngineNode>> nodes() override {
    std::scoped_lock lock(mutex);
    return engine.nodes();
  }
  Result<std::vector<EngineTask>> tasks() override {
    std::scoped_lock lock(mutex);
    const double time = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    cluster.advance(std::max(0.0, time - cluster.time));
    return engine.tasks();
  }
  Result<std::string> submit(const TaskRequest &task) override {
    std::scoped_lock lock(mutex);
    return engine.submit(task);
  }
  Result<void> stop(const EngineTask &task, double notice) override {
    std::scoped_lock lock(mutex);
    return engine.stop(task, notice);
  }
  Result<void> setDrained(const std::string &node, bool drained, const std::string &reason) override {
    std::scoped_lock lock(mutex);
    return engine.setDrained(node, drained, reason);
  }
  Result<void> forget(const EngineTask &) override { return {}; }

private:
  SimulatedCluster &cluster;
  SimulatedEngine engine;
  std::mutex mutex;
};

TEST(SchedulerChaos, ServesManyClientsWhileItRuns) {
  Life life("clients");
  life.cluster.time = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  life.cluster.rate = [](const TaskRequest &) { return 1000.0; };
  SchedulerOptions options;
  options.cluster = "lab", options.folder = life.folder.string(), options.isOpen = true, options.types = life.types;
  options.interval = 0.01, options.planner.maxScheduled = 0, options.planner.limits.effort = 1;
  auto made = SchedulerProcess::open(options, std::make_unique<MemoryStore>(life.tables, nullptr),
                                     std::make_unique<SharedEngine>(life.cluster), nullptr);
  ASSERT_TRUE(made);
  SchedulerProcess &process = **made;
  process.setUrl("http://localhost");
  std::atomic<bool> stop = false, ends = false;
  std::thread runs([&] { process.run(ends); });
  std::vector<std::thread> clients;
  auto client = [&](auto act) {
    clients.emplace_back([&stop, act] {
      for (uint64_t i = 1; !stop; ++i) {
        act(i);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    });
  };
  const Caller local{"local", "", Role::Operator};
  client([&](uint64_t i) {
    Submission one = plain(fmt::format("j{}", i), 100 + static_cast<double>(i % 7) * 30, both(1 << (i % 3), 4));
    if (i % 5 == 0)
      one.measured.clear(), one.elasticity = jobs::Elasticity::Malleable;
    if (i % 6 == 0)
      one.after = {static_cast<int64_t>(i) - 1};
    if (i < 80)
      (void)process.submit(local, one);
  });
  client([&](uint64_t i) { (void)process.cancel(local, static_cast<int64_t>(i * 3), ""); });
  client([&](uint64_t i) { (void)process.drain(local, i % 2 ? "a1" : "a2", i % 4 < 2, "test"); });
  client([&](uint64_t i) {
    (void)process.jobs(local, {});
    (void)process.cluster(local);
    (void)process.explain(local, static_cast<int64_t>(i % 40) + 1);
    (void)process.runs(local, {});
    (void)process.metrics();
  });
  client([&](uint64_t i) { (void)process.events(local, static_cast<int64_t>(i), 100, std::chrono::milliseconds(20)); });
  client([&](uint64_t i) {
    process.audit("refused", "nobody", "a request");
    (void)process.report("task.x.y", {static_cast<double>(i), -1, 0, 0, 0, 0});
    if (auto token = process.makeToken(local, {fmt::format("t{}", i), "", Role::Viewer}, 0))
      (void)process.callerOf(*token);
    (void)process.revokeToken(local, fmt::format("t{}", i));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  stop = true;
  for (std::thread &one : clients)
    one.join();
  ends = true;
  runs.join();
  EXPECT_TRUE(process.check()->empty());
  EXPECT_TRUE(life.cluster.conflicts.empty());
}

} // namespace
} // namespace accord::testing
