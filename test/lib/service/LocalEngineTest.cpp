// The engine of the local machine: its contract, and what happens when it, its supervisors or the disk fail. Programs
// of tests append a line to a file at each start, so that what ran twice is seen.
#include "lib/service/engines/local/LocalEngine.h"
#include "lib/service/engines/local/ProcessTree.h"
#include "lib/service/engines/local/TaskCommand.h"
#include "lib/service/engines/local/TaskSupervisor.h"
#include "lib/support/SplitMix.h"
#include "test/lib/service/EngineContract.h"
#include <csignal>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/wait.h>

namespace accord::service {
namespace {

namespace fs = std::filesystem;

class LocalCluster : public EngineCluster {
public:
  std::unique_ptr<Engine> open() override {
    auto engine = localEngine({.nodes = {{"a1", "a100", 2, 0, {}}, {"a2", "a100", 2, 2, {}}},
                               .folder = folderOf("state"),
                               .prefix = "contract-",
                               .shares = 2});
    EXPECT_TRUE(engine) << (engine ? "" : engine.error().message);
    return engine ? std::move(*engine) : nullptr;
  }
  std::vector<std::string> nodes() override { return {"a1", "a2"}; }
  std::string deviceType() override { return "a100"; }
  int64_t devicesPerNode() override { return 2; }
  int64_t sharesPerDevice() override { return 2; }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Local, EngineContract, LocalCluster);

class LocalEngineTest : public ::testing::Test {
protected:
  LocalEngineTest() {
    std::string pattern = fs::temp_directory_path() / "accord-local-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    options_ = {
        .nodes = {{"n1", "a100", 4, 0, {}}, {"n2", "a100", 4, 4, {}}}, .folder = folder_ + "/state", .prefix = "t-"};
  }
  ~LocalEngineTest() override {
    auto engine = localEngine(options_);
    auto tasks = engine ? (*engine)->tasks() : Result<std::vector<EngineTask>>();
    if (engine && tasks)
      for (const EngineTask &task : *tasks)
        if (!isOver(task.state))
          (void)(*engine)->stop(task, 0);
    for (int i = 0; i < 1000 && engine && tasks && running(**engine) > 0; ++i)
      usleep(10'000);
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  static size_t running(Engine &engine) {
    auto tasks = engine.tasks();
    return !tasks ? 0
                  : size_t(std::count_if(tasks->begin(), tasks->end(), [](auto &one) { return !isOver(one.state); }));
  }
  std::unique_ptr<Engine> open() {
    auto engine = localEngine(options_);
    EXPECT_TRUE(engine) << (engine ? "" : engine.error().message);
    return engine ? std::move(*engine) : nullptr;
  }
  /// Runs shell text on nodes; a line in `starts` for each start of a rank.
  TaskRequest request(const std::string &name, const std::string &shell, std::vector<std::string> nodes = {"n1"},
                      int64_t devices = 1) {
    TaskRequest task;
    task.name = "t-" + name;
    task.nodes = std::move(nodes);
    task.devicesPerNode = devices;
    task.folder = folder_ + "/" + task.name;
    fs::create_directories(task.folder);
    task.command = {"sh", "-c", "echo \"$NODE_RANK $ACCORD_DEVICES\" >> '" + task.folder + "/starts'\n" + shell};
    return task;
  }
  static EngineTask taskOf(Engine &engine, const std::string &name) {
    auto tasks = engine.tasks();
    EXPECT_TRUE(tasks) << (tasks ? "" : tasks.error().message);
    for (const EngineTask &task : tasks ? *tasks : std::vector<EngineTask>())
      if (task.name == name)
        return task;
    return {};
  }
  /// At most 30 s.
  template <class Test> static EngineTask waitFor(Engine &engine, const std::string &name, Test test) {
    EngineTask task;
    for (int i = 0; i < 1500; ++i, usleep(20'000))
      if (task = taskOf(engine, name); test(task))
        return task;
    ADD_FAILURE() << name << " is " << task.state << " " << task.reason;
    return task;
  }
  static EngineTask waitForEnd(Engine &engine, const std::string &name) {
    return waitFor(engine, name, [](const EngineTask &task) { return isOver(task.state); });
  }
  static std::vector<std::string> linesOf(const std::string &path) {
    std::ifstream in(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);)
      lines.push_back(line);
    return lines;
  }
  void waitForFile(const std::string &path) {
    for (int i = 0; i < 1500 && !fs::exists(path); ++i)
      usleep(20'000);
    EXPECT_TRUE(fs::exists(path)) << path;
  }
  /// Supervisors that have nothing more to do end by themselves; what tasks leave behind here would not.
  static void expectNoProcesses(const std::string &taskFolder) {
    std::vector<pid_t> left;
    for (int i = 0; i < 1000; ++i, usleep(20'000))
      if (left = processesWith(std::string(kTaskVariable) + "=" + taskFolder); left.empty())
        return;
    ADD_FAILURE() << taskFolder << ": " << left.front();
  }
  /// The supervisor of a task.
  static pid_t supervisorOf(const std::string &taskFolder) {
    for (pid_t one : processesWith(std::string(kTaskVariable) + "=" + taskFolder)) {
      std::ifstream in("/proc/" + std::to_string(one) + "/cmdline");
      std::string text((std::istreambuf_iterator<char>(in)), {});
      if (text.find("supervises") != std::string::npos)
        return one;
    }
    return -1;
  }

  std::string folder_;
  LocalOptions options_;
};

TEST_F(LocalEngineTest, GivesRanksTheirNumbersAndTheirDevices) {
  auto engine = open();
  ASSERT_TRUE(engine);
  TaskRequest task = request("gang",
                             "echo $NODE_RANK $NNODES $WORLD_SIZE $MASTER_ADDR $CUDA_VISIBLE_DEVICES "
                             "$ROCR_VISIBLE_DEVICES $ACCORD_NODE >> all; echo $MASTER_PORT >> ports",
                             {"n2", "n1"}, 2);
  ASSERT_TRUE(engine->submit(task));
  EXPECT_EQ(waitForEnd(*engine, task.name).state, EngineTask::State::Succeeded);
  std::vector<std::string> all = linesOf(task.folder + "/all"), ports = linesOf(task.folder + "/ports");
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, (std::vector<std::string>{"0 2 4 127.0.0.1 4,5 4,5 n2", "1 2 4 127.0.0.1 0,1 0,1 n1"}));
  ASSERT_EQ(ports.size(), 2u);
  EXPECT_EQ(ports[0], ports[1]);
  EXPECT_EQ(linesOf(task.folder + "/exit"), std::vector<std::string>{"0"});
}

TEST_F(LocalEngineTest, StartsTorchrunWithTheNumbersOfTheNode) {
  auto engine = open();
  ASSERT_TRUE(engine);
  fs::create_directories(folder_ + "/bin");
  std::ofstream(folder_ + "/bin/torchrun") << "#!/bin/sh\nprintf '%s ' \"$@\" >> said-$NODE_RANK\n";
  fs::permissions(folder_ + "/bin/torchrun", fs::perms::owner_all);
  TaskRequest task = request("torch", "", {"n1", "n2"}, 4);
  task.start = Start::Megatron;
  task.command = {"pretrain.py", "--name=@job", "@megatron"};
  task.environment = {{"PATH", folder_ + "/bin:/usr/bin:/bin"}, {"ACCORD_JOB", "17"}};
  auto megatron = std::make_shared<MegatronArguments>();
  megatron->arguments = {"--num-layers 8", "--sequence-parallel"};
  task.batch.megatron = megatron;
  ASSERT_TRUE(engine->submit(task));
  EXPECT_EQ(waitForEnd(*engine, task.name).state, EngineTask::State::Succeeded);
  std::string said = linesOf(task.folder + "/said-1").at(0);
  EXPECT_EQ(said.substr(0, said.find("--master-port")), "--nnodes=2 --nproc-per-node=4 --node-rank=1 "
                                                        "--master-addr=127.0.0.1 ");
  EXPECT_EQ(said.substr(said.find("pretrain")), "pretrain.py --name=17 --num-layers 8 --sequence-parallel ");
  task.name = "t-without";
  task.batch = {};
  task.batch.withoutMegatron = "its stages are unequal";
  auto refused = engine->submit(task);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("its stages are unequal"), std::string::npos);
}

TEST_F(LocalEngineTest, DoesNotPassOnWhatTheSchedulerKnows) {
  setenv("PGPASSWORD", "secret", 1);
  auto engine = open();
  ASSERT_TRUE(engine);
  TaskRequest task = request("secret", "env > seen");
  ASSERT_TRUE(engine->submit(task));
  waitForEnd(*engine, task.name);
  unsetenv("PGPASSWORD");
  std::vector<std::string> seen = linesOf(task.folder + "/seen");
  EXPECT_FALSE(seen.empty());
  for (const std::string &one : seen)
    EXPECT_EQ(one.find("secret="), std::string::npos) << one;
  EXPECT_TRUE(std::none_of(seen.begin(), seen.end(), [](auto &one) { return one.starts_with("PGPASSWORD"); }));
}

TEST_F(LocalEngineTest, RunsAHundredTasksOnEightDevicesInTheirOrder) {
  auto engine = open();
  ASSERT_TRUE(engine);
  const std::string log = folder_ + "/log";
  for (int i = 0; i < 100; ++i) {
    std::string name = std::to_string(i), node = i % 2 ? "n1" : "n2";
    ASSERT_TRUE(engine->submit(request(name,
                                       "echo begin " + name + " $ACCORD_DEVICES >> " + log + "; sleep 0.02; echo end " +
                                           name + " $ACCORD_DEVICES >> " + log,
                                       {node}, 1 + i % 3)));
  }
  for (int i = 0; i < 100; ++i) {
    EngineTask task = waitForEnd(*engine, "t-" + std::to_string(i));
    EXPECT_EQ(task.state, EngineTask::State::Succeeded) << i << task.reason;
    EXPECT_EQ(linesOf(folder_ + "/" + task.name + "/starts").size(), 1u);
  }
  // No device is in two tasks at once, and on each node tasks begin in their order.
  std::map<std::string, std::string> users;
  int last[2] = {-1, -1};
  for (const std::string &line : linesOf(log)) {
    std::istringstream in(line);
    std::string what, name, devices;
    in >> what >> name >> devices;
    std::replace(devices.begin(), devices.end(), ',', ' ');
    std::istringstream each(devices);
    size_t count = 0;
    for (std::string device; each >> device; ++count) {
      if (what == "begin")
        EXPECT_TRUE(users.emplace(device, name).second) << line << " while " << users[device];
      else
        users.erase(device);
    }
    EXPECT_EQ(count, size_t(1 + std::stoi(name) % 3));
    last[std::stoi(name) % 2] = std::max(last[std::stoi(name) % 2], std::stoi(name));
  }
  EXPECT_EQ(last[0], 98);
  EXPECT_EQ(last[1], 99);
}

TEST_F(LocalEngineTest, RefusesWhatIsNoTask) {
  auto engine = open();
  ASSERT_TRUE(engine);
  auto refuses = [&](const std::function<void(TaskRequest &)> &change) {
    TaskRequest task = request("x", "");
    change(task);
    auto id = engine->submit(task);
    EXPECT_FALSE(id) << task.name;
    if (!id)
      EXPECT_EQ(id.error().code, Code::EngineFailed);
  };
  for (const char *name : {"", "../t-x", "t-/x", "T-x", "t-x\n", ".", "t- x", "t-x;rm", "1t", "other-x",
                           "t-123456789012345678901234567890123456789012345678901234567890"})
    refuses([&](TaskRequest &task) { task.name = name; });
  refuses([](TaskRequest &task) { task.name = std::string("t-x\0y", 5); });
  refuses([](TaskRequest &task) { task.command = {}; });
  refuses([](TaskRequest &task) { task.command = {""}; });
  refuses([](TaskRequest &task) { task.command.push_back(std::string("a\0b", 3)); });
  refuses([](TaskRequest &task) { task.nodes = {}; });
  refuses([](TaskRequest &task) { task.nodes = {"n1", "n1"}; });
  refuses([](TaskRequest &task) { task.devicesPerNode = -1; });
  refuses([](TaskRequest &task) { task.directory = "relative"; });
  refuses([](TaskRequest &task) { task.environment = {{"A=B", "c"}}; });
  refuses([](TaskRequest &task) { task.environment = {{"", "c"}}; });
  refuses([](TaskRequest &task) { task.environment = {{"A", std::string("\0", 1)}}; });
  EXPECT_EQ(running(*engine), 0u);
  // These are right, and wait for ever.
  TaskRequest unknown = request("unknown", "", {"n9"}), large = request("large", "", {"n1"}, 5);
  ASSERT_TRUE(engine->submit(unknown));
  ASSERT_TRUE(engine->submit(large));
  TaskRequest small = request("small", "", {"n1"}, 4); // and hold up nobody
  ASSERT_TRUE(engine->submit(small));
  EXPECT_EQ(waitForEnd(*engine, small.name).state, EngineTask::State::Succeeded);
  EXPECT_EQ(taskOf(*engine, unknown.name).reason, "node 'n9' is not there");
  EXPECT_EQ(taskOf(*engine, large.name).state, EngineTask::State::Waiting);
}

TEST_F(LocalEngineTest, TellsWhyAProgramCannotBeStarted) {
  auto engine = open();
  ASSERT_TRUE(engine);
  TaskRequest missing = request("missing", ""), folder = request("folder", ""), words = request("words", "");
  missing.command = {"/no/such/program"};
  folder.directory = "/no/such/folder";
  words.command = {folder_}; // a folder is no program
  for (const TaskRequest &task : {missing, folder, words})
    ASSERT_TRUE(engine->submit(task));
  EngineTask ended = waitForEnd(*engine, missing.name);
  EXPECT_EQ(ended.state, EngineTask::State::Failed);
  EXPECT_EQ(ended.exitCode, 127);
  EXPECT_EQ(waitForEnd(*engine, folder.name).exitCode, 127);
  EXPECT_EQ(waitForEnd(*engine, words.name).exitCode, 126);
  EXPECT_NE(linesOf(folder.folder + "/output").at(0).find("/no/such/folder"), std::string::npos);
}

TEST_F(LocalEngineTest, EndsWhoIgnoresAllSignalsAndWhatTasksLeaveBehind) {
  auto engine = open();
  ASSERT_TRUE(engine);
  // The shell of the second leaves its session and its environment, and what it starts is nobody's child.
  TaskRequest deaf = request("deaf", "trap '' USR1 TERM HUP INT; touch began; while :; do sleep 1; done");
  TaskRequest parent = request("parent", "(setsid env -i /bin/sh -c 'trap \"\" TERM; echo $$ > left; sleep 1000' &) ; "
                                         "(sleep 1000 &); while [ ! -s left ]; do sleep 0.01; done; exit 4");
  ASSERT_TRUE(engine->submit(deaf));
  ASSERT_TRUE(engine->submit(parent));
  waitForFile(deaf.folder + "/began");
  ASSERT_TRUE(engine->stop(taskOf(*engine, deaf.name), 0));
  EngineTask ended = waitForEnd(*engine, parent.name);
  EXPECT_EQ(ended.state, EngineTask::State::Failed);
  EXPECT_EQ(ended.exitCode, 4);
  EXPECT_NE(kill(std::stoi(linesOf(parent.folder + "/left").at(0)), 0), 0);
  ended = waitForEnd(*engine, deaf.name);
  EXPECT_EQ(ended.state, EngineTask::State::Stopped);
  EXPECT_EQ(ended.exitCode, 128 + SIGKILL);
  expectNoProcesses(options_.folder + "/tasks/" + deaf.name);
}

TEST_F(LocalEngineTest, EndsTheOtherRanksOfOneThatFails) {
  auto engine = open();
  ASSERT_TRUE(engine);
  TaskRequest task = request("half", "[ $NODE_RANK = 1 ] && exit 9; sleep 1000", {"n1", "n2"}, 4);
  ASSERT_TRUE(engine->submit(task));
  EngineTask ended = waitForEnd(*engine, task.name);
  EXPECT_EQ(ended.state, EngineTask::State::Failed);
  EXPECT_EQ(ended.exitCode, 9);
  EXPECT_EQ(ended.reason, "rank 1 on 'n2' ended with 9");
}

TEST_F(LocalEngineTest, TellsOfKilledSupervisors) {
  auto engine = open();
  ASSERT_TRUE(engine);
  TaskRequest task = request("lost", "(setsid sleep 1000 &); echo $$ > shell; sleep 1000", {"n1", "n2"}, 4);
  ASSERT_TRUE(engine->submit(task));
  waitFor(*engine, task.name, [](const EngineTask &one) { return one.state == EngineTask::State::Running; });
  waitForFile(task.folder + "/shell");
  const std::string folder = options_.folder + "/tasks/" + task.name;
  pid_t supervisor = supervisorOf(folder);
  ASSERT_GT(supervisor, 1);
  kill(supervisor, SIGKILL);
  engine = open();
  ASSERT_TRUE(engine);
  EXPECT_EQ(waitForEnd(*engine, task.name).state, EngineTask::State::Lost);
  expectNoProcesses(folder);
  TaskRequest next = request("next", "", {"n1", "n2"}, 4); // its devices are free
  ASSERT_TRUE(engine->submit(next));
  EXPECT_EQ(waitForEnd(*engine, next.name).state, EngineTask::State::Succeeded);
}

TEST_F(LocalEngineTest, TellsOfRestartsOfTheMachine) {
  auto engine = open();
  ASSERT_TRUE(engine);
  TaskRequest task = request("boot", "touch began; exec sleep 1000");
  ASSERT_TRUE(engine->submit(task));
  waitForFile(task.folder + "/began");
  const std::string folder = options_.folder + "/tasks/" + task.name;
  kill(supervisorOf(folder), SIGKILL);
  ASSERT_TRUE(killProcessesWith(std::string(kTaskVariable) + "=" + folder, 10));
  ASSERT_TRUE(writeRecord(folder + "/began", {"began", "of another start", "1700000000"}));
  EngineTask ended = waitForEnd(*engine, task.name);
  EXPECT_EQ(ended.state, EngineTask::State::Lost);
  EXPECT_EQ(ended.reason, "the machine was started again");
  EXPECT_TRUE(engine->submit(task));
  EXPECT_EQ(linesOf(task.folder + "/starts").size(), 1u);
}

TEST_F(LocalEngineTest, WhatWasToldToEndDoesNotBeginAfterARestartOfTheMachine) {
  auto engine = open();
  ASSERT_TRUE(engine);
  TaskRequest first = request("first", "exec sleep 1000", {"n1"}, 4), second = request("second", "", {"n1"}, 4);
  ASSERT_TRUE(engine->submit(first));
  ASSERT_TRUE(engine->submit(second));
  // It gets its devices, and is told to save within a day; the machine is off before its supervisor has begun.
  const std::string folder = options_.folder + "/tasks/" + second.name;
  auto order = orderFrom(second, folder_);
  ASSERT_TRUE(order);
  TaskAssignment assignment{29500, second.folder, second.folder, 30, ranksOf(*order, {{0, 1, 2, 3}}, "127.0.0.1", 1)};
  ASSERT_TRUE(writeRecord(folder + "/assigned", recordOf(assignment)));
  ASSERT_TRUE(writeStop(folder, 86400));
  engine = open();
  ASSERT_TRUE(engine);
  EXPECT_EQ(waitForEnd(*engine, second.name).state, EngineTask::State::Stopped);
  EXPECT_TRUE(linesOf(second.folder + "/starts").empty());
}

/// In a name space of processes of its own. The child ends with 0 if all is right, 77 if it may not have one.
TEST_F(LocalEngineTest, AProcessWithTheNumberOfARankThatEndedIsNotThatRank) {
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWNS | CLONE_NEWPID) != 0)
      _exit(77);
    const pid_t first = fork(); // the first one there
    if (first != 0) {
      int status = 0;
      waitpid(first, &status, 0);
      _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("proc", "/proc", "proc", 0, nullptr) != 0 || access("/proc/sys/kernel/ns_last_pid", W_OK) != 0)
      _exit(77);
    auto engine = localEngine(options_);
    // What the second leaves behind gets the number of the first, and ends with 9.
    TaskRequest task = request("reused",
                               "if [ $NODE_RANK = 0 ]; then echo $$ > new; mv new first; exit 0; fi\n"
                               "while [ ! -e first ]; do sleep 0.02; done; read -r old < first\n"
                               "while kill -0 $old 2> /dev/null; do sleep 0.02; done\n"
                               "(echo $((old - 1)) > /proc/sys/kernel/ns_last_pid\n"
                               " sh -c 'echo $$ > other; sleep 0.1; exit 9' &)\n"
                               "while [ ! -e other ] || kill -0 $old 2> /dev/null; do sleep 0.02; done; sleep 1",
                               {"n1", "n2"}, 1);
    if (!engine || !(*engine)->submit(task))
      _exit(2);
    const EngineTask ended = waitForEnd(**engine, task.name);
    if (linesOf(task.folder + "/first") != linesOf(task.folder + "/other"))
      _exit(77); // the system gave another number
    _exit(ended.state == EngineTask::State::Succeeded && ended.exitCode == 0 ? 0 : 3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
    GTEST_SKIP() << "numbers of processes cannot be chosen here";
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(LocalEngineTest, ASignalToTheSupervisorEndsItsTask) {
  auto engine = open();
  ASSERT_TRUE(engine);
  TaskRequest task = request("service", "trap 'touch saved; exit 0' USR1; touch began; while :; do sleep 0.05; done");
  ASSERT_TRUE(engine->submit(task));
  waitForFile(task.folder + "/began");
  kill(supervisorOf(options_.folder + "/tasks/" + task.name), SIGTERM);
  EXPECT_EQ(waitForEnd(*engine, task.name).state, EngineTask::State::Stopped);
  EXPECT_TRUE(fs::exists(task.folder + "/saved"));
}

/// Hands in tasks, stops some and asks for all, until it is killed.
[[noreturn]] void useUntilKilled(const LocalOptions &options, const std::vector<TaskRequest> &tasks, uint64_t seed) {
  SplitMix random(seed);
  auto engine = localEngine(options);
  for (size_t i = 0; engine;) {
    (void)(*engine)->submit(tasks[i++ % tasks.size()]);
    if (random.below(4) == 0) {
      EngineTask other;
      other.name = tasks[random.below(tasks.size())].name;
      (void)(*engine)->stop(other, random.below(2) ? 0 : 0.05);
    }
    if (random.below(3) == 0)
      (void)(*engine)->tasks();
  }
  _exit(1);
}

TEST_F(LocalEngineTest, NothingRunsTwiceAndNothingIsLostWhereSchedulersAreKilled) {
  SplitMix random(11);
  std::vector<TaskRequest> tasks;
  size_t succeeded = 0, stopped = 0;
  const double begin = uptime();
  {
    auto engine = open();
    ASSERT_TRUE(engine);
    ASSERT_TRUE(engine->submit(request("first", ""))); // how long that lasts here and now
  }
  const uint64_t longest = uint64_t(std::clamp((uptime() - begin) * 4, 0.005, 0.1) * 1e6);
  for (int round = 0; round < 200; ++round) {
    if (round % 20 == 0)
      for (int i = 0; i < 5; ++i)
        tasks.push_back(request("k" + std::to_string(tasks.size()), "sleep 0.03",
                                random.below(2) ? std::vector<std::string>{"n1", "n2"} : std::vector<std::string>{"n2"},
                                int64_t(1 + random.below(3))));
    std::vector<TaskRequest> latest(tasks.end() - 5, tasks.end());
    uint64_t seed = random.next();
    pid_t child = fork();
    if (child == 0)
      useUntilKilled(options_, latest, seed);
    usleep(useconds_t(random.below(longest)));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  auto engine = open();
  ASSERT_TRUE(engine);
  auto before = engine->tasks();
  ASSERT_TRUE(before) << before.error().message;
  EXPECT_GT(before->size(), 1u); // those that were killed came so far
  for (const TaskRequest &task : tasks) {
    ASSERT_TRUE(engine->submit(task));
    EngineTask ended = waitForEnd(*engine, task.name);
    size_t starts = linesOf(task.folder + "/starts").size();
    EXPECT_LE(starts, task.nodes.size()) << task.name;
    if (ended.state == EngineTask::State::Succeeded)
      EXPECT_EQ(starts, task.nodes.size()) << task.name;
    else
      EXPECT_EQ(ended.state, EngineTask::State::Stopped) << task.name << " " << ended.reason;
    ++(ended.state == EngineTask::State::Succeeded ? succeeded : stopped);
  }
  EXPECT_EQ(succeeded + stopped, tasks.size());
}

TEST_F(LocalEngineTest, NothingRunsTwiceOrGoesOnWhereSupervisorsAreKilled) {
  SplitMix random(3);
  size_t lost = 0;
  for (int i = 0; i < 20; ++i) {
    auto engine = open();
    ASSERT_TRUE(engine);
    TaskRequest task = request("s" + std::to_string(i), "(sleep 1000 &); sleep 0.2", {"n1", "n2"}, 4);
    ASSERT_TRUE(engine->submit(task));
    if (i % 2 == 0)
      waitForFile(task.folder + "/starts");
    else
      usleep(useconds_t(random.below(80'000)));
    const std::string folder = options_.folder + "/tasks/" + task.name;
    if (pid_t supervisor = supervisorOf(folder); supervisor > 1)
      kill(supervisor, SIGKILL);
    engine = open(); // it starts the supervisor again where nothing had begun
    ASSERT_TRUE(engine);
    EngineTask ended = waitForEnd(*engine, task.name);
    size_t starts = linesOf(task.folder + "/starts").size();
    EXPECT_LE(starts, 2u);
    if (ended.state == EngineTask::State::Succeeded)
      EXPECT_EQ(starts, 2u);
    else
      EXPECT_EQ(ended.state, EngineTask::State::Lost) << ended.reason;
    lost += ended.state == EngineTask::State::Lost;
    expectNoProcesses(folder);
  }
  EXPECT_GT(lost, 0u);
}

TEST_F(LocalEngineTest, CountsTheDevicesOfTheMachine) {
  fs::create_directories(folder_ + "/bin");
  auto tool = [&](const std::string &text) {
    std::ofstream(folder_ + "/bin/nvidia-smi") << "#!/bin/sh\n" << text;
    fs::permissions(folder_ + "/bin/nvidia-smi", fs::perms::owner_all);
  };
  const std::string path = std::getenv("PATH");
  setenv("PATH", (folder_ + "/bin:/usr/bin:/bin").c_str(), 1);
  tool("echo NVIDIA A100-SXM4-80GB; echo NVIDIA A100-SXM4-80GB\n");
  auto nodes = nodesOfThisMachine(5);
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_FALSE(nodes[0].name.empty());
  EXPECT_EQ(nodes[0].devices, 2);
  EXPECT_EQ(nodes[0].deviceType, "nvidia-a100-sxm4-80gb");
  for (const char *bad :
       {"echo 'Unable to determine the device handle' >&2; exit 15\n", "exec sleep 100\n", "exit 0\n"}) {
    tool(bad);
    nodes = nodesOfThisMachine(0.2);
    ASSERT_EQ(nodes.size(), 1u) << bad;
    EXPECT_EQ(nodes[0].devices, 0) << bad;
    EXPECT_FALSE(nodes[0].reason.empty()) << bad;
  }
  fs::remove(folder_ + "/bin/nvidia-smi");
  setenv("PATH", (folder_ + "/bin").c_str(), 1);
  EXPECT_TRUE(nodesOfThisMachine(5).empty());
  setenv("PATH", path.c_str(), 1);
}

TEST_F(LocalEngineTest, SaysWhichFolderCannotBeUsed) {
  LocalOptions options = options_;
  options.folder = "relative";
  EXPECT_FALSE(localEngine(options));
  std::ofstream(folder_ + "/file") << "x";
  options.folder = folder_ + "/file/state";
  auto engine = localEngine(options);
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code, Code::EngineFailed);
  EXPECT_NE(engine.error().message.find("/file/state"), std::string::npos);
  options.folder = "/proc/state";
  EXPECT_FALSE(localEngine(options));
  options.folder = folder_ + "/state";
  options.prefix = "../";
  EXPECT_FALSE(localEngine(options));
}

TEST_F(LocalEngineTest, AnotherOneWhoHoldsTheLockIsAnErrorInTime) {
  options_.timeLimit = 0.1;
  auto engine = open();
  ASSERT_TRUE(engine);
  auto held = takeLock(options_.folder + "/lock", 0);
  ASSERT_TRUE(held && *held);
  EXPECT_FALSE(engine->tasks());
  EXPECT_FALSE(engine->submit(request("x", "")));
  *held = FileDescriptor();
  EXPECT_TRUE(engine->tasks());
}

TEST_F(LocalEngineTest, DamagedFilesAreErrors) {
  auto engine = open();
  ASSERT_TRUE(engine);
  ASSERT_TRUE(engine->submit(request("x", "exec sleep 1000")));
  const std::string file = options_.folder + "/tasks/t-x/request";
  std::string whole;
  {
    std::ifstream in(file, std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (size_t size = 0; size < whole.size(); ++size) {
    std::ofstream(file, std::ios::binary) << whole.substr(0, size);
    auto tasks = engine->tasks();
    EXPECT_FALSE(tasks) << size;
  }
  std::ofstream(file, std::ios::binary) << whole;
  EXPECT_TRUE(engine->tasks());
  // Of another version: nothing is concluded from what cannot be understood.
  const std::string folder = options_.folder + "/tasks/t-x";
  auto assigned = readRecord(folder + "/assigned");
  ASSERT_TRUE(assigned && *assigned);
  Record longer = **assigned;
  longer.push_back("more");
  ASSERT_TRUE(writeRecord(folder + "/assigned", longer));
  EXPECT_FALSE(engine->tasks());
  ASSERT_TRUE(writeRecord(folder + "/assigned", **assigned));
  ASSERT_TRUE(writeRecord(folder + "/end", {"end", "more"}));
  EXPECT_FALSE(engine->tasks());
  fs::remove(folder + "/end");
  EXPECT_TRUE(engine->tasks());
}

/// Fills a file system of 1 MiB in a child that has it for itself. The child ends with 0 if all is right, 77 if it may
/// not mount.
TEST_F(LocalEngineTest, AFullDiskLosesNoEnd) {
  pid_t child = fork();
  if (child == 0) {
    fs::create_directories(options_.folder);
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", options_.folder.c_str(), "tmpfs", 0, "size=1m,nr_inodes=200") != 0)
      _exit(77);
    auto engine = localEngine(options_);
    TaskRequest first = request("first", "touch began; while [ ! -e go ]; do sleep 0.02; done; exit 5"),
                second = request("second", "touch began; sleep 1000"), third = request("third", "");
    if (!engine || !(*engine)->submit(first) || !(*engine)->submit(second))
      _exit(2);
    waitForFile(first.folder + "/began");
    waitForFile(second.folder + "/began");
    std::ofstream fill(options_.folder + "/fill");
    for (std::string block(4096, 'x'); fill.flush();)
      fill << block;
    fill.close();
    if ((*engine)->submit(third) || (*engine)->tasks()->size() != 2)
      _exit(3);
    std::ofstream(first.folder + "/go") << "go";
    EngineTask task;
    task.name = second.name;
    if (!(*engine)->stop(task, 30) || !(*engine)->stop(task, 0))
      _exit(4);
    EngineTask ended = waitForEnd(**engine, first.name);
    if (ended.state != EngineTask::State::Failed || ended.exitCode != 5)
      _exit(5);
    if (waitForEnd(**engine, second.name).state != EngineTask::State::Stopped)
      _exit(6);
    fs::remove(options_.folder + "/fill");
    if (!(*engine)->submit(third) || waitForEnd(**engine, third.name).state != EngineTask::State::Succeeded)
      _exit(7);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
    GTEST_SKIP() << "no file system may be mounted here";
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(ProcessTree, NothingIsBelowNoProcess) {
  EXPECT_TRUE(descendantsOf(0).empty()); // as Podman numbers the process of a container that has none
  EXPECT_TRUE(descendantsOf(-1).empty());
}

TEST(NodeQueue, GivesLowestNumbersFirstAndKeepsTheOrder) {
  NodeQueue queue({{"a", "x", 4, 8, {}}, {"b", "x", 2, 0, {}}, {"down", "x", 2, 0, "no driver"}});
  using Devices = std::vector<std::vector<int64_t>>;
  std::string why;
  EXPECT_EQ(queue.next({"a"}, 1, why), (Devices{{8}}));
  EXPECT_EQ(queue.next({"b", "a"}, 2, why), (Devices{{0, 1}, {9, 10}}));
  EXPECT_FALSE(queue.next({"down"}, 1, why));
  EXPECT_EQ(why, "node 'down' is down");
  EXPECT_FALSE(queue.next({"a"}, 2, why)); // one is free, and is kept for it
  EXPECT_EQ(why, "devices of node 'a' are in use");
  EXPECT_FALSE(queue.next({"a"}, 1, why));
  EXPECT_EQ(queue.next({"b"}, 0, why), (Devices{{}}));
}

/// Tasks come and go, and the owner of the engine comes back with devices that are divided into other shares.
TEST(NodeQueue, SharesNeverExceedADevice) {
  struct Running {
    std::vector<int64_t> devices;
    int64_t shares, of; ///< 0 shares: whole devices
  };
  SplitMix random(7);
  int64_t shared = 0, refused = 0;
  for (int round = 0; round < 300; ++round) {
    const auto devices = 1 + static_cast<int64_t>(random.below(4));
    std::vector<Running> running;
    for (int step = 0; step < 30; ++step) {
      if (!running.empty() && random.below(3) == 0)
        running.erase(running.begin() + static_cast<ptrdiff_t>(random.below(running.size())));
      const auto of = 1 + static_cast<int64_t>(random.below(5));
      NodeQueue queue({{"n", "x", devices, 0, {}}}, of);
      for (const Running &one : running)
        queue.use("n", one.devices, one.shares, one.of);
      // By exact fractions: 60 divides by all numbers of shares.
      auto taken = [&](int64_t device) {
        int64_t sum = 0;
        for (const Running &one : running)
          if (std::ranges::find(one.devices, device) != one.devices.end())
            sum += one.shares == 0 ? 60 : one.shares * 60 / one.of;
        return sum;
      };
      /// The same in shares of today, each task rounded up.
      auto covered = [&](int64_t device) {
        int64_t sum = 0;
        for (const Running &one : running)
          if (std::ranges::find(one.devices, device) != one.devices.end())
            sum += one.shares == 0 ? of : (one.shares * of + one.of - 1) / one.of;
        return sum;
      };
      const int64_t shares = random.below(4) == 0 ? 0 : 1 + static_cast<int64_t>(random.below(uint64_t(of)));
      const int64_t wanted = shares > 0 ? 1 : 1 + static_cast<int64_t>(random.below(uint64_t(devices)));
      int64_t room = 0;
      for (int64_t device = 0; device < devices; ++device)
        room += shares > 0 ? covered(device) + shares <= of : taken(device) == 0;
      std::string why;
      auto given = queue.next({"n"}, wanted, why, shares);
      ASSERT_EQ(given.has_value(), room >= wanted) << why;
      refused += !given;
      if (!given)
        continue;
      ASSERT_EQ(int64_t((*given)[0].size()), wanted);
      shared += shares > 0 && taken((*given)[0][0]) > 0;
      for (int64_t device = 0; shares > 0 && device < devices; ++device) // no fuller one had room
        EXPECT_FALSE(covered(device) > covered((*given)[0][0]) && covered(device) + shares <= of);
      running.push_back({(*given)[0], shares, of});
      for (int64_t device = 0; device < devices; ++device)
        ASSERT_LE(taken(device), 60);
    }
  }
  EXPECT_GT(shared, 500);
  EXPECT_GT(refused, 500);
}

TEST_F(LocalEngineTest, SharesStayTakenWhereDevicesAreDividedAnew) {
  options_.shares = 4;
  auto engine = open();
  TaskRequest quarter = request("quarter", "echo \"$ACCORD_DEVICE_SHARE\" > share; sleep 20", {"n1"});
  quarter.shares = 1, quarter.directory = quarter.folder;
  ASSERT_TRUE(engine->submit(quarter));
  waitFor(*engine, quarter.name, [](const EngineTask &task) { return task.state == EngineTask::State::Running; });
  options_.shares = 1;
  engine = open();
  TaskRequest all = request("all", "exit 0", {"n1"}, 4), three = request("three", "exit 0", {"n1"}, 3);
  ASSERT_TRUE(engine->submit(three));
  EXPECT_EQ(waitForEnd(*engine, three.name).state, EngineTask::State::Succeeded);
  ASSERT_TRUE(engine->submit(all));
  EXPECT_EQ(taskOf(*engine, all.name).state, EngineTask::State::Waiting);
  std::ifstream in(quarter.folder + "/share");
  std::string share;
  EXPECT_TRUE(in >> share);
  EXPECT_EQ(share, "0.25");
  ASSERT_TRUE(engine->stop(taskOf(*engine, quarter.name), 0));
  EXPECT_EQ(waitForEnd(*engine, all.name).state, EngineTask::State::Succeeded);
}

TEST_F(LocalEngineTest, AGuardGoesBeforeTheProgram) {
  TaskRequest task;
  task.name = "t-guarded", task.nodes = {"n1"}, task.deviceType = "a100_80g", task.devicesPerNode = 2;
  task.command = {"/bin/echo", "it runs"};
  auto wordsWith = [&](GuardMode mode, const std::string &type) {
    TaskRequest guarded = task;
    addGuard(guarded, mode, type);
    auto order = orderFrom(guarded, folder_);
    EXPECT_TRUE(order) << (order ? "" : order.error().message);
    auto read = order ? orderOf(recordOf(*order)) : std::nullopt;
    return read ? ranksOf(*read, {{0, 1}}, "127.0.0.1", 1)[0].words : std::vector<std::string>();
  };
  EXPECT_EQ(wordsWith(GuardMode::Off, "a100_80g"), task.command);
  EXPECT_EQ(wordsWith(GuardMode::On, ""), task.command); // there is no name that could be compared
  for (GuardMode mode : {GuardMode::On, GuardMode::Virtual, GuardMode::Auto}) {
    const std::vector<std::string> words = wordsWith(mode, "a100_80g");
    ASSERT_EQ(words.size(), 6u);
    EXPECT_EQ(words[0], "/bin/sh");
    EXPECT_EQ(words[4], "/bin/echo");
    EXPECT_NE(words[2].find(mode == GuardMode::Virtual ? "virtual=1\n" : "virtual=0\n"), std::string::npos);
  }
}

TEST_F(LocalEngineTest, AGuardRefusesByItsMark) {
  options_.guard = GuardMode::On;
  options_.nodes = {{"n1", "a100_80g", 4, 0, {}}, {"n2", "a100_80g", 4, 4, {}}};
  const std::string tool = folder_ + "/bin/nvidia-smi";
  fs::create_directories(folder_ + "/bin");
  std::ofstream(tool) << "#!/bin/sh\n[ \"$ACCORD_NODE\" = n1 ] && name='NVIDIA A100-SXM4-80GB, 81920' || name='Tesla "
                         "K80, 11441'\nfor i in 1 2 3 4 5 6 7 8; do echo \"$name MiB\"; done\n";
  fs::permissions(tool, fs::perms::owner_all);
  auto engine = open();
  ASSERT_TRUE(engine);
  auto run = [&](const std::string &name, const std::string &shell, const std::vector<std::string> &nodes) {
    TaskRequest task = request(name, shell, nodes);
    task.deviceType = "a100_80g";
    task.environment = {{"PATH", folder_ + "/bin:/usr/bin:/bin"}};
    EXPECT_TRUE(engine->submit(task));
    return waitForEnd(*engine, task.name);
  };
  EXPECT_EQ(run("good", "exit 0", {"n1"}).state, EngineTask::State::Succeeded);
  const EngineTask other = run("config", "exit 78", {"n1"});
  EXPECT_EQ(other.exitCode, 78);
  EXPECT_TRUE(other.refusals.empty());
  const EngineTask refused = run("gang", "sleep 600", {"n1", "n2"});
  EXPECT_EQ(refused.state, EngineTask::State::Failed);
  ASSERT_EQ(refused.refusals.size(), 1u);
  EXPECT_EQ(refused.refusals.begin()->first, "n2");
  EXPECT_TRUE(refused.refusals.at("n2").starts_with("node n2 has 1 'Tesla K80' (11441 MiB), and the plan needs 1"))
      << refused.refusals.at("n2");
}

TEST(NodeQueue, ReadsNodes) {
  auto nodes = localNodesFrom("a1=a100:4, a2=a100:4@4,cpu=:0");
  ASSERT_TRUE(nodes) << nodes.error().message;
  ASSERT_EQ(nodes->size(), 3u);
  EXPECT_EQ((*nodes)[1].name, "a2");
  EXPECT_EQ((*nodes)[1].firstDevice, 4);
  EXPECT_EQ((*nodes)[2].devices, 0);
  EXPECT_TRUE(localNodesFrom("")->empty());
  for (const char *wrong : {"a1", "a1=", "a1=a100", "=a100:4", "a1=a100:-1", "a1=a100:x", "a1=a100:4@", "a1=a100:4097",
                            "a1=a100:99999999999999999999", "a1=a100:4,a1=a100:4", "a/1=a100:4", ",", "a1=a 1:4"}) {
    auto read = localNodesFrom(wrong);
    EXPECT_FALSE(read && std::string(wrong) != "a1=a100:4@") << wrong;
  }
}

} // namespace
} // namespace accord::service
