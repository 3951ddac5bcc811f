// The contract of Engine.h as tests that every engine passes:
//
//   class LocalCluster : public EngineCluster { … };
//   INSTANTIATE_TYPED_TEST_SUITE_P(Local, EngineContract, LocalCluster);
//
// A cluster is made for each test. What runs on it are small shell programs; an engine whose tasks cannot run them
// gives others of the same behaviour (`command`), and says what tests cannot see of them.
#pragma once
#include "lib/service/engines/Engine.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <sstream>
#include <thread>
#include <unistd.h>

namespace accord::service {

inline std::ostream &operator<<(std::ostream &out, EngineTask::State state) {
  constexpr const char *kNames[] = {"Waiting", "Running", "Ending", "Succeeded", "Failed", "Stopped", "Lost"};
  return out << kNames[int(state)];
}
inline std::ostream &operator<<(std::ostream &out, EngineNode::State state) {
  constexpr const char *kNames[] = {"Up", "Drained", "Down"};
  return out << kNames[int(state)];
}

/// How a program behaves.
struct ContractProgram {
  double seconds = 0.1; ///< until it ends by itself
  int exitCode = 0;
  bool savesAtSignal = false; ///< at SIGUSR1 it saves and ends with 0; else it goes on
  bool ignoresTerm = false;   ///< it goes on at SIGTERM, too
  std::string shell = {};     ///< what it does first
};

/// A cluster with an engine, on which nothing else runs.
class EngineCluster {
public:
  EngineCluster() {
    std::string pattern = std::filesystem::temp_directory_path() / "accord-contract-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  virtual ~EngineCluster() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  /// Why there is none here; empty: there is.
  virtual std::string unavailable() { return {}; }
  /// An engine for it; again: as after a crash of the scheduler.
  virtual std::unique_ptr<Engine> open() = 0;
  /// At least two nodes of one device type with at least two devices each.
  virtual std::vector<std::string> nodes() = 0;
  virtual std::string deviceType() = 0;
  virtual int64_t devicesPerNode() = 0;
  /// Into so many shares its devices are divided; 1: the engine cannot, and refuses tasks that want a share.
  virtual int64_t sharesPerDevice() { return 1; }
  /// The prefix of names of tasks.
  virtual std::string prefix() { return "contract-"; }
  /// Why the engine keeps another contract than a test of this one has; empty: it keeps this one.
  virtual std::string differs(const std::string &test) { return {}; }
  /// Seconds until what was asked for has happened, at most.
  virtual double patience() { return 20; }
  /// Whether programs of tasks write into folders of tasks.
  virtual bool sharesFiles() { return true; }
  /// A node fails with what runs there, and comes back. False: that cannot be done here.
  virtual bool loseNode(const std::string &node) { return false; }
  virtual void restoreNode(const std::string &node) {}
  /// Shell words for the number of a process among those of its task, and for its node.
  virtual std::string rankInShell() { return "${NODE_RANK:-$SLURM_PROCID}"; }
  virtual std::string nodeInShell() { return "${ACCORD_NODE:-$SLURMD_NODENAME}"; }
  /// Writes a line "RANK NODE" to the file `started` of the task's folder, "saved" to `saved` if it saves.
  virtual std::vector<std::string> command(const ContractProgram &program, const std::string &folder) {
    std::string text = "cd '" + folder + "' || exit 99\n";
    text += program.savesAtSignal ? "trap 'echo saved >> saved; exit 0' USR1\n" : "trap '' USR1\n";
    text += program.ignoresTerm ? "trap '' TERM\n" : "";
    text += "echo \"" + rankInShell() + " " + nodeInShell() + "\" >> started\n" + program.shell + "\n";
    text +=
        "i=0; while [ $i -lt " + std::to_string(int(program.seconds * 20)) + " ]; do sleep 0.05; i=$((i+1)); done\n";
    text += "echo ended >> ended\nexit " + std::to_string(program.exitCode) + "\n";
    return {"env", "--default-signal=USR1", "sh", "-c", text};
  }

  std::string folderOf(const std::string &task) const { return folder_ + "/" + task; }

private:
  std::string folder_;
};

template <class Cluster> class EngineContract : public ::testing::Test {
protected:
  void SetUp() override {
    if (std::string reason = cluster_.unavailable(); !reason.empty())
      GTEST_SKIP() << reason;
    if (std::string reason = cluster_.differs(::testing::UnitTest::GetInstance()->current_test_info()->name());
        !reason.empty())
      GTEST_SKIP() << reason;
    engine_ = cluster_.open();
    ASSERT_TRUE(engine_);
    ASSERT_GE(cluster_.nodes().size(), 2u);
  }
  void TearDown() override { // nothing is left for the next test to wait for
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(cluster_.patience());
    for (bool isLeft = engine_ != nullptr; isLeft && std::chrono::steady_clock::now() < until;) {
      isLeft = false;
      for (const auto &[name, task] : all())
        if (!isOver(task.state)) {
          isLeft = true;
          (void)engine_->stop(task, 0);
        }
      if (isLeft)
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

  /// A task on the first nodes, with all of their devices.
  TaskRequest request(const std::string &what, size_t nodes, const ContractProgram &program) {
    static std::atomic<int> number = 0;
    TaskRequest task;
    task.name = cluster_.prefix() + what + "-" + std::to_string(getpid()) + "-" + std::to_string(++number);
    task.job = number;
    task.run = 1;
    task.tenant = "lab";
    task.nodes = cluster_.nodes();
    task.nodes.resize(nodes);
    task.deviceType = cluster_.deviceType();
    task.devicesPerNode = cluster_.devicesPerNode();
    task.folder = cluster_.folderOf(task.name);
    std::filesystem::create_directories(task.folder);
    task.command = cluster_.command(program, task.folder);
    task.layout = {.pools = {{task.deviceType, int64_t(nodes), task.devicesPerNode}},
                   .nodes = int64_t(nodes),
                   .perNode = task.devicesPerNode,
                   .job = task.name,
                   .title = what,
                   .environment = {}};
    task.environment = {{"ACCORD_GUARD", "off"}}; // its devices are no real ones
    task.batch.torchrun = false;
    task.batch.exclusive = false;
    return task;
  }

  /// A task on so many shares of one device of the first node, or on so many of its devices.
  TaskRequest requestOf(const std::string &what, int64_t devices, int64_t shares, double seconds) {
    TaskRequest task = request(what, 1, {.seconds = seconds, .shell = "echo \"$ACCORD_DEVICE_SHARE\" > share"});
    task.devicesPerNode = task.layout.perNode = task.layout.pools[0].perNode = devices;
    task.shares = shares;
    return task;
  }

  std::map<std::string, EngineTask> all() {
    std::map<std::string, EngineTask> found;
    auto tasks = engine_->tasks();
    EXPECT_TRUE(tasks) << (tasks ? "" : tasks.error().message);
    if (tasks)
      for (const EngineTask &task : *tasks)
        EXPECT_TRUE(found.emplace(task.name, task).second) << "twice: " << task.name;
    return found;
  }

  /// Waits until a test of a task holds, or nobody believes in it any more.
  EngineTask waitFor(const std::string &name, const std::function<bool(const EngineTask &)> &test) {
    EngineTask task;
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(cluster_.patience());
    do {
      auto found = all();
      if (auto one = found.find(name); one != found.end()) {
        task = one->second;
        if (test(task))
          return task;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    } while (std::chrono::steady_clock::now() < until);
    ADD_FAILURE() << name << " is " << task.state << " (" << task.reason << ") after " << cluster_.patience() << " s";
    return task;
  }
  EngineTask waitFor(const std::string &name, EngineTask::State state) {
    return waitFor(name, [&](const EngineTask &task) { return task.state == state || isOver(task.state); });
  }
  EngineTask waitForEnd(const std::string &name) {
    return waitFor(name, [](const EngineTask &task) { return isOver(task.state); });
  }
  /// Waits until its programs have begun, where tests see that.
  void waitForStart(const TaskRequest &task) {
    waitFor(task.name, [&](const EngineTask &one) {
      return isOver(one.state) || (one.state == EngineTask::State::Running &&
                                   (!cluster_.sharesFiles() || lines(task, "started").size() >= task.nodes.size()));
    });
  }

  EngineNode nodeOf(const std::string &name) {
    auto nodes = engine_->nodes();
    EXPECT_TRUE(nodes) << (nodes ? "" : nodes.error().message);
    if (nodes)
      for (const EngineNode &node : *nodes)
        if (node.name == name)
          return node;
    ADD_FAILURE() << "no node " << name;
    return {};
  }

  std::vector<std::string> lines(const TaskRequest &task, const std::string &file) {
    std::ifstream in(task.folder + "/" + file);
    std::vector<std::string> found;
    for (std::string line; std::getline(in, line);)
      found.push_back(line);
    std::sort(found.begin(), found.end());
    return found;
  }
  void expectStarts(const TaskRequest &task, size_t count) {
    if (cluster_.sharesFiles())
      EXPECT_EQ(lines(task, "started").size(), count) << task.name;
  }
  std::string submit(const TaskRequest &task) {
    auto id = engine_->submit(task);
    EXPECT_TRUE(id) << (id ? "" : id.error().message);
    return id ? *id : "";
  }
  void stop(const std::string &name, double notice) {
    EngineTask task;
    task.name = name;
    if (auto found = all(); found.count(name))
      task = found[name];
    auto stopped = engine_->stop(task, notice);
    EXPECT_TRUE(stopped) << (stopped ? "" : stopped.error().message);
  }

  Cluster cluster_;
  std::unique_ptr<Engine> engine_;
};

TYPED_TEST_SUITE_P(EngineContract);

TYPED_TEST_P(EngineContract, ListsItsNodes) {
  auto nodes = this->engine_->nodes();
  ASSERT_TRUE(nodes) << nodes.error().message;
  EXPECT_TRUE(std::is_sorted(nodes->begin(), nodes->end(), [](auto &a, auto &b) { return a.name < b.name; }));
  for (const std::string &name : this->cluster_.nodes()) {
    EngineNode node = this->nodeOf(name);
    EXPECT_EQ(node.state, EngineNode::State::Up);
    EXPECT_EQ(node.devices, this->cluster_.devicesPerNode());
    EXPECT_EQ(node.sharesPerDevice, this->cluster_.sharesPerDevice());
  }
}

TYPED_TEST_P(EngineContract, RunsTasksAndTellsTheirEnd) {
  TaskRequest good = this->request("good", 2, {.seconds = 0.2});
  TaskRequest bad = this->request("bad", 1, {.exitCode = 3});
  std::string id = this->submit(good);
  EXPECT_FALSE(id.empty());
  this->submit(bad);
  EngineTask task = this->waitForEnd(good.name);
  EXPECT_EQ(task.state, EngineTask::State::Succeeded) << task.reason;
  EXPECT_EQ(task.exitCode, 0);
  EXPECT_EQ(task.id, id);
  EXPECT_EQ(task.nodes, good.nodes);
  EXPECT_GT(task.started, 1e9);
  EXPECT_GE(task.ended, task.started);
  task = this->waitForEnd(bad.name);
  EXPECT_EQ(task.state, EngineTask::State::Failed) << task.reason;
  EXPECT_EQ(task.exitCode, 3);
  this->expectStarts(good, 2);
  this->expectStarts(bad, 1);
}

TYPED_TEST_P(EngineContract, KnowsRefusalsByTheMarkOfTheGuard) {
  const std::string mark = "printf 'accord-guard-refused\\t%s\\t%s\\n' \"" + this->cluster_.nodeInShell() +
                           "\" 'it has others' >>\"$ACCORD_GUARD_MARK\"";
  // The other process waits: its end would end the one that is refused.
  const std::string shell = "if [ " + this->cluster_.rankInShell() + " != 1 ]; then sleep 30; else " + mark + "; fi";
  TaskRequest refused = this->request("refused", 2, {.exitCode = 78, .shell = shell});
  TaskRequest other = this->request("config", 1, {.exitCode = 78, .shell = "echo 'accord guard: it has others'"});
  this->submit(refused);
  this->submit(other);
  EngineTask task = this->waitForEnd(refused.name);
  EXPECT_EQ(task.state, EngineTask::State::Failed) << task.reason;
  EXPECT_EQ(task.refusals, (std::map<std::string, std::string>{{refused.nodes[1], "it has others"}}));
  task = this->waitForEnd(other.name);
  EXPECT_EQ(task.exitCode, 78);
  EXPECT_TRUE(task.refusals.empty()) << task.refusals.begin()->second;
}

TYPED_TEST_P(EngineContract, StartsANameOnce) {
  TaskRequest task = this->request("once", 1, {.seconds = 0.5});
  std::vector<std::string> ids(6);
  std::vector<std::thread> threads;
  std::atomic<int> errors = 0;
  for (size_t i = 0; i < ids.size(); ++i)
    threads.emplace_back([&, i] {
      auto other = i % 2 == 0 ? nullptr : this->cluster_.open();
      auto id = (other ? other.get() : this->engine_.get())->submit(task);
      errors += !id;
      ids[i] = id ? *id : "";
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(errors, 0);
  std::string id = this->submit(task);
  for (const std::string &one : ids)
    EXPECT_EQ(one, id);
  EXPECT_EQ(this->waitForEnd(task.name).state, EngineTask::State::Succeeded);
  EXPECT_EQ(this->submit(task), id); // it has ended, and is not started again
  this->engine_ = this->cluster_.open();
  EXPECT_EQ(this->submit(task), id);
  EXPECT_EQ(this->waitForEnd(task.name).state, EngineTask::State::Succeeded);
  this->expectStarts(task, 1);
}

TYPED_TEST_P(EngineContract, KeepsTheOrderOfNodes) {
  TaskRequest task = this->request("order", 2, {});
  std::reverse(task.nodes.begin(), task.nodes.end());
  this->submit(task);
  EngineTask ended = this->waitForEnd(task.name);
  EXPECT_EQ(ended.state, EngineTask::State::Succeeded) << ended.reason;
  if (this->cluster_.sharesFiles())
    EXPECT_EQ(this->lines(task, "started"), (std::vector<std::string>{"0 " + task.nodes[0], "1 " + task.nodes[1]}));
}

TYPED_TEST_P(EngineContract, WaitsForDevices) {
  TaskRequest first = this->request("first", 1, {.seconds = 1}), second = this->request("second", 1, {});
  this->submit(first);
  this->waitFor(first.name, EngineTask::State::Running);
  this->submit(second);
  auto now = this->all();
  EXPECT_EQ(now[first.name].state, EngineTask::State::Running);
  EXPECT_EQ(now[second.name].state, EngineTask::State::Waiting);
  EXPECT_EQ(this->waitForEnd(second.name).state, EngineTask::State::Succeeded);
  EXPECT_EQ(this->waitForEnd(first.name).state, EngineTask::State::Succeeded);
}

TYPED_TEST_P(EngineContract, SharesTheDevicesOfANode) {
  TaskRequest one = this->request("one", 1, {.seconds = 20}), other = this->request("other", 1, {.seconds = 20});
  one.devicesPerNode = other.devicesPerNode = one.layout.perNode = other.layout.perNode = 1;
  this->submit(one);
  this->submit(other);
  EXPECT_EQ(this->waitFor(one.name, EngineTask::State::Running).state, EngineTask::State::Running);
  EXPECT_EQ(this->waitFor(other.name, EngineTask::State::Running).state, EngineTask::State::Running);
}

TYPED_TEST_P(EngineContract, RefusesSharesThatThereAreNot) {
  const int64_t shares = this->cluster_.sharesPerDevice();
  std::vector<TaskRequest> wrong{this->requestOf("many", 1, shares + 1, 1), this->requestOf("wide", 2, 1, 1),
                                 this->requestOf("below", 1, -1, 1), this->request("nodes", 2, {})};
  wrong.back().devicesPerNode = wrong.back().shares = 1;
  if (shares == 1)
    wrong.push_back(this->requestOf("whole", 1, 1, 1));
  for (const TaskRequest &task : wrong) {
    auto id = this->engine_->submit(task);
    EXPECT_FALSE(id) << task.name;
    if (!id) {
      EXPECT_EQ(id.error().code, Code::EngineFailed);
      EXPECT_NE(id.error().message.find("share"), std::string::npos) << id.error().message;
    }
  }
  const auto known = this->all();
  for (const TaskRequest &task : wrong)
    EXPECT_FALSE(known.contains(task.name) && !isOver(known.at(task.name).state)) << task.name;
}

TYPED_TEST_P(EngineContract, SharesADevice) {
  const int64_t shares = this->cluster_.sharesPerDevice(), devices = this->cluster_.devicesPerNode();
  if (shares == 1) // it refuses them, as the test before says
    return;
  // All devices but one are somebody's own, so that shares are those of the last one.
  std::vector<TaskRequest> tasks{this->requestOf("own", devices - 1, 0, 20)};
  for (int64_t i = 0; i < shares; ++i)
    tasks.push_back(this->requestOf("share", 1, 1, 20));
  for (const TaskRequest &task : tasks) {
    this->submit(task);
    EXPECT_EQ(this->waitFor(task.name, EngineTask::State::Running).state, EngineTask::State::Running) << task.name;
    this->engine_ = this->cluster_.open(); // who comes back knows which shares are taken
  }
  TaskRequest more = this->requestOf("more", 1, 1, 0), whole = this->requestOf("whole", 1, 0, 0);
  this->submit(more), this->submit(whole);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  auto now = this->all();
  EXPECT_EQ(now[more.name].state, EngineTask::State::Waiting);
  EXPECT_EQ(now[whole.name].state, EngineTask::State::Waiting);
  for (const TaskRequest &task : tasks)
    EXPECT_EQ(now[task.name].state, EngineTask::State::Running) << task.name;
  this->stop(tasks[1].name, 0); // its share is free, its device is not
  EXPECT_EQ(this->waitForEnd(more.name).state, EngineTask::State::Succeeded);
  now = this->all();
  EXPECT_EQ(now[whole.name].state, EngineTask::State::Waiting);
  EXPECT_EQ(now[tasks[2].name].state, EngineTask::State::Running);
  for (size_t i = 2; i < tasks.size(); ++i)
    this->stop(tasks[i].name, 0);
  EXPECT_EQ(this->waitForEnd(whole.name).state, EngineTask::State::Succeeded);
  EXPECT_EQ(this->all()[tasks[0].name].state, EngineTask::State::Running);
  if (!this->cluster_.sharesFiles())
    return;
  ASSERT_EQ(this->lines(more, "share").size(), 1u);
  EXPECT_DOUBLE_EQ(std::stod(this->lines(more, "share")[0]), 1.0 / double(shares));
  EXPECT_EQ(this->lines(whole, "share"), std::vector<std::string>{""});
}

TYPED_TEST_P(EngineContract, AsksTasksToSaveBeforeTheirEnd) {
  TaskRequest task = this->request("save", 2, {.seconds = 60, .savesAtSignal = true});
  this->submit(task);
  this->waitForStart(task);
  this->stop(task.name, 50);
  EngineTask ended = this->waitForEnd(task.name);
  EXPECT_EQ(ended.state, EngineTask::State::Stopped) << ended.reason;
  if (this->cluster_.sharesFiles())
    EXPECT_EQ(this->lines(task, "saved").size(), 2u);
}

TYPED_TEST_P(EngineContract, EndsTasksAtTheEndOfTheirNotice) {
  TaskRequest task = this->request("ignore", 2, {.seconds = 60, .ignoresTerm = true});
  this->submit(task);
  this->waitForStart(task);
  const auto begin = std::chrono::steady_clock::now();
  this->stop(task.name, 1);
  this->stop(task.name, 100);            // does not replace the earlier end
  this->engine_ = this->cluster_.open(); // the scheduler crashes meanwhile
  EXPECT_EQ(this->waitForEnd(task.name).state, EngineTask::State::Stopped);
  // It hears neither signal, so it ends by SIGKILL, which comes 5 s after SIGTERM at the end of its notice.
  if (this->cluster_.sharesFiles())
    EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(5500));
  EXPECT_TRUE(this->lines(task, "ended").empty());
}

TYPED_TEST_P(EngineContract, EndsTasksAtOnce) {
  TaskRequest task = this->request("now", 1, {.seconds = 60});
  this->submit(task);
  this->waitForStart(task);
  this->stop(task.name, 0);
  EXPECT_EQ(this->waitForEnd(task.name).state, EngineTask::State::Stopped);
  this->stop(task.name, 0);
  EXPECT_EQ(this->waitForEnd(task.name).state, EngineTask::State::Stopped);
  EngineTask unknown;
  unknown.name = this->cluster_.prefix() + "nobody-knows";
  auto stopped = this->engine_->stop(unknown, 5);
  EXPECT_TRUE(stopped) << stopped.error().message;
}

TYPED_TEST_P(EngineContract, EndsTasksThatWait) {
  TaskRequest first = this->request("holds", 1, {.seconds = 60}), second = this->request("waits", 1, {});
  this->submit(first);
  this->waitFor(first.name, EngineTask::State::Running);
  this->submit(second);
  this->stop(second.name, 60);
  EXPECT_EQ(this->waitForEnd(second.name).state, EngineTask::State::Stopped);
  this->stop(first.name, 0);
  this->waitForEnd(first.name);
  this->expectStarts(second, 0);
}

TYPED_TEST_P(EngineContract, AStopAfterTheEndChangesNothing) {
  TaskRequest task = this->request("over", 1, {});
  this->submit(task);
  this->waitForEnd(task.name);
  this->stop(task.name, 0);
  EngineTask ended = this->waitForEnd(task.name);
  EXPECT_EQ(ended.state, EngineTask::State::Succeeded);
  EXPECT_EQ(ended.exitCode, 0);
}

TYPED_TEST_P(EngineContract, DrainsNodes) {
  const std::string node = this->cluster_.nodes()[0];
  TaskRequest before = this->request("before", 1, {.seconds = 1.5}), after = this->request("after", 1, {});
  this->submit(before);
  this->waitFor(before.name, EngineTask::State::Running);
  auto drained = this->engine_->setDrained(node, true, "new \"fans\"; it's due");
  ASSERT_TRUE(drained) << drained.error().message;
  EXPECT_TRUE(this->engine_->setDrained(node, true, "again"));
  EXPECT_EQ(this->nodeOf(node).state, EngineNode::State::Drained);
  EXPECT_FALSE(this->nodeOf(node).reason.empty());
  this->submit(after);
  EXPECT_EQ(this->waitForEnd(before.name).state, EngineTask::State::Succeeded);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(this->all()[after.name].state, EngineTask::State::Waiting);
  ASSERT_TRUE(this->engine_->setDrained(node, false, ""));
  EXPECT_TRUE(this->engine_->setDrained(node, false, ""));
  EXPECT_EQ(this->waitForEnd(after.name).state, EngineTask::State::Succeeded);
  EXPECT_EQ(this->nodeOf(node).state, EngineNode::State::Up);
  EXPECT_FALSE(this->engine_->setDrained("no-such-node", true, "x"));
}

TYPED_TEST_P(EngineContract, ForgetsTasks) {
  TaskRequest task = this->request("forget", 1, {});
  this->submit(task);
  EngineTask ended = this->waitForEnd(task.name);
  EXPECT_TRUE(this->engine_->forget(ended));
  EXPECT_EQ(this->all().count(task.name), 0u);
  EXPECT_TRUE(this->engine_->forget(ended));
}

TYPED_TEST_P(EngineContract, TellsOfLostNodes) {
  const std::string node = this->cluster_.nodes()[1];
  TaskRequest task = this->request("lost", 2, {.seconds = 60});
  this->submit(task);
  this->waitForStart(task);
  if (!this->cluster_.loseNode(node))
    GTEST_SKIP() << "nodes do not fail here";
  EXPECT_EQ(this->waitForEnd(task.name).state, EngineTask::State::Lost);
  EXPECT_EQ(this->nodeOf(node).state, EngineNode::State::Down);
  EXPECT_EQ(this->nodeOf(this->cluster_.nodes()[0]).state, EngineNode::State::Up);
  this->cluster_.restoreNode(node);
  TaskRequest next = this->request("next", 2, {});
  this->submit(next);
  EXPECT_EQ(this->waitForEnd(next.name).state, EngineTask::State::Succeeded);
}

TYPED_TEST_P(EngineContract, PassesWordsAndVariablesAsTheyAre) {
  if (!this->cluster_.sharesFiles())
    GTEST_SKIP() << "what programs see is not seen here";
  const std::string hostile = "a  b'\"\\$(touch no)`touch no`;#!%s*\n\tc\xc3\xa4 ";
  TaskRequest task =
      this->request("words", 1, {.shell = "printf '%s|' \"$HOSTILE\" \"$0\" \"$@\" > seen; pwd > where"});
  for (const std::string &word : {hostile, std::string(), std::string("-n")})
    task.command.push_back(word);
  task.environment.emplace_back("HOSTILE", hostile);
  this->submit(task);
  EngineTask ended = this->waitForEnd(task.name);
  EXPECT_EQ(ended.state, EngineTask::State::Succeeded) << ended.reason;
  std::ifstream in(task.folder + "/seen");
  std::stringstream seen;
  seen << in.rdbuf();
  EXPECT_EQ(seen.str(), hostile + "|" + hostile + "||-n|");
  EXPECT_FALSE(std::filesystem::exists(task.folder + "/no"));
}

TYPED_TEST_P(EngineContract, RunsManyTasks) {
  std::vector<TaskRequest> tasks;
  for (int i = 0; i < 8; ++i) {
    tasks.push_back(this->request("many", i % 2 + 1, {.seconds = 0.05, .exitCode = i % 3 == 0 ? 1 : 0}));
    this->submit(tasks.back());
  }
  for (size_t i = 0; i < tasks.size(); ++i) {
    EngineTask ended = this->waitForEnd(tasks[i].name);
    EXPECT_EQ(ended.state, i % 3 == 0 ? EngineTask::State::Failed : EngineTask::State::Succeeded) << ended.reason;
    this->expectStarts(tasks[i], tasks[i].nodes.size());
  }
}

REGISTER_TYPED_TEST_SUITE_P(EngineContract, ListsItsNodes, RunsTasksAndTellsTheirEnd, KnowsRefusalsByTheMarkOfTheGuard,
                            StartsANameOnce, KeepsTheOrderOfNodes, WaitsForDevices, SharesTheDevicesOfANode,
                            RefusesSharesThatThereAreNot, SharesADevice, AsksTasksToSaveBeforeTheirEnd,
                            EndsTasksAtTheEndOfTheirNotice, EndsTasksAtOnce, EndsTasksThatWait,
                            AStopAfterTheEndChangesNothing, DrainsNodes, ForgetsTasks, TellsOfLostNodes,
                            PassesWordsAndVariablesAsTheyAre, RunsManyTasks);

} // namespace accord::service
