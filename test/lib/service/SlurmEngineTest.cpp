// The adapter for Slurm on a real one (where ACCORD_TEST_SLURM is set: test/service/slurm-engine.test starts one).
#include "lib/service/engines/slurm/SlurmEngine.h"
#include "lib/service/engines/Subprocess.h"
#include "lib/support/SplitMix.h"
#include "test/lib/service/EngineContract.h"
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <sys/wait.h>

namespace accord::service {
namespace {

/// ACCORD_TEST_SLURM is "python3 slurm_cluster.py FOLDER": words of the fixture. It has a1 and a2 with a100s, two
/// shards each.
class SlurmCluster : public EngineCluster {
public:
  std::string unavailable() override {
    return std::getenv("ACCORD_TEST_SLURM") && std::getenv("SLURM_CONF") ? ""
                                                                         : "no Slurm: ACCORD_TEST_SLURM is not set";
  }
  std::unique_ptr<Engine> open() override {
    auto engine = slurmEngine({.prefix = prefix(), .folder = folderOf("adapter")});
    EXPECT_TRUE(engine) << engine.error().message;
    return engine ? std::move(*engine) : nullptr;
  }
  std::vector<std::string> nodes() override { return {"a1", "a2"}; }
  std::string deviceType() override { return "a100"; }
  int64_t devicesPerNode() override { return 4; }
  int64_t sharesPerDevice() override { return 2; }
  double patience() override { return 30; }
  bool loseNode(const std::string &node) override { return fixture("fail", node); }
  void restoreNode(const std::string &node) override { fixture("restart", node); }

private:
  bool fixture(const std::string &action, const std::string &node) {
    std::stringstream text(std::getenv("ACCORD_TEST_SLURM"));
    std::vector<std::string> words;
    for (std::string word; text >> word;)
      words.push_back(word);
    words.insert(words.end() - 1, action);
    words.push_back(node);
    auto said = outputOf({.words = words, .leavesProcesses = true});
    EXPECT_TRUE(said) << said.error().message;
    return bool(said);
  }
};

/// Callers that are killed at random moments of `submit`, and one that is not.
TEST(SlurmCrashes, LeaveOneRun) {
  SlurmCluster cluster;
  if (std::string reason = cluster.unavailable(); !reason.empty())
    GTEST_SKIP() << reason;
  auto engine = cluster.open();
  SplitMix random(1);
  std::vector<TaskRequest> tasks(8);
  for (size_t i = 0; i < tasks.size(); ++i) {
    TaskRequest &task = tasks[i];
    task.name = cluster.prefix() + "crash-" + std::to_string(getpid()) + "-" + std::to_string(i);
    task.nodes = {i % 2 == 0 ? "a1" : "a2"};
    task.deviceType = cluster.deviceType();
    task.folder = cluster.folderOf(task.name);
    std::filesystem::create_directories(task.folder);
    task.command = cluster.command({}, task.folder);
    task.environment = {{"ACCORD_GUARD", "off"}};
    task.batch.exclusive = false;
    for (int kills = 0; kills < 3; ++kills) {
      pid_t child = fork();
      if (child == 0) {
        (void)cluster.open()->submit(task);
        _exit(0);
      }
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(80000)));
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
    auto id = engine->submit(task);
    ASSERT_TRUE(id) << id.error().message;
  }
  auto over = [&] {
    auto found = engine->tasks();
    return found ? std::count_if(found->begin(), found->end(), [](auto &task) { return isOver(task.state); }) : 0;
  };
  for (int i = 0; i < 250 && over() < 8; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  std::this_thread::sleep_for(std::chrono::seconds(2)); // a second one would run now
  for (const TaskRequest &task : tasks) {
    std::ifstream in(task.folder + "/started");
    EXPECT_EQ(std::count(std::istreambuf_iterator<char>(in), {}, '\n'), 1) << task.name;
  }
}

INSTANTIATE_TYPED_TEST_SUITE_P(Slurm, EngineContract, SlurmCluster);

} // namespace
} // namespace accord::service
