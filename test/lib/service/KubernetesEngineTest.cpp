// The contract of engines on an API server of Kubernetes at ACCORD_TEST_KUBERNETES, with nodes that run containers as
// processes (test/service/Inputs/fake_kubernetes.py), by each kind of object and with Kueue.
#include "lib/service/engines/kubernetes/KubernetesEngine.h"
#include "test/lib/service/EngineContract.h"
#include <cstdlib>

namespace accord::service {
namespace {

const char *url() { return std::getenv("ACCORD_TEST_KUBERNETES"); }
const char *kubeconfig() { return std::getenv("ACCORD_TEST_KUBECONFIG"); }

KubernetesOptions testOptions() {
  KubernetesOptions options;
  options.url = url() ? url() : "";
  options.kubeconfig = kubeconfig() ? kubeconfig() : "";
  options.image = "registry/train:1";
  options.claim = "shared", options.mount = "/";
  return options;
}

Result<KubernetesAnswer> ask(const std::string &method, const std::string &path, const llvm::json::Value &body) {
  return KubernetesClient({.url = url(),
                           .authority = {},
                           .certificate = {},
                           .key = {},
                           .token = {},
                           .tokenFile = {},
                           .nameSpace = {}})
      .call(method, path, &body);
}

template <KubernetesKind kKind, bool kQueued = false> class KubernetesCluster : public EngineCluster {
public:
  std::string unavailable() override { return url() || kubeconfig() ? "" : "ACCORD_TEST_KUBERNETES is not set"; }
  std::unique_ptr<Engine> open() override {
    KubernetesOptions options = testOptions();
    options.kind = kKind, options.prefix = prefix();
    options.queue = kQueued ? "lab" : "";
    options.priorityClass = kQueued ? "accord-priority-100" : "";
    auto engine = kubernetesEngine(options);
    EXPECT_TRUE(engine) << (engine ? "" : engine.error().message);
    return engine ? std::move(*engine) : nullptr;
  }
  std::vector<std::string> nodes() override { return {"a1", "a2"}; }
  std::string deviceType() override { return "a100"; }
  int64_t devicesPerNode() override { return 4; }
  std::string prefix() override { return kQueued ? "queued-" : kKind == KubernetesKind::Job ? "jobs-" : "sets-"; }
  double patience() override { return kubeconfig() ? 120 : 60; }
  /// Pods of a task start when their own node has room, and end where one of them fails: that one waits for the others.
  std::vector<std::string> command(const ContractProgram &program, const std::string &folder) override {
    ContractProgram waits = program;
    if (program.exitCode != 0)
      waits.shell += "\nwhile [ \"$(wc -l < started)\" -lt \"$NNODES\" ]; do sleep 0.05; done";
    return EngineCluster::command(waits, folder);
  }
  bool loseNode(const std::string &node) override { return setNode(node, false); }
  void restoreNode(const std::string &node) override { setNode(node, true); }

private:
  bool setNode(const std::string &node, bool isUp) {
    if (const char *file = std::getenv("ACCORD_TEST_NODES_DOWN")) { // that kubelets of a real cluster's nodes read
      std::ofstream(file) << (isUp ? "" : node);
      return true;
    }
    return url() && ask("POST", "/fake/node", llvm::json::Object{{"name", node}, {"up", isUp}});
  }
};

using Jobs = KubernetesCluster<KubernetesKind::Job>;
using JobSets = KubernetesCluster<KubernetesKind::JobSet>;
using QueuedJobSets = KubernetesCluster<KubernetesKind::JobSet, true>;
INSTANTIATE_TYPED_TEST_SUITE_P(KubernetesJobs, EngineContract, Jobs);
INSTANTIATE_TYPED_TEST_SUITE_P(KubernetesSets, EngineContract, JobSets);
INSTANTIATE_TYPED_TEST_SUITE_P(KubernetesQueued, EngineContract, QueuedJobSets);

/// A task from its submission until it is forgotten, as a scheduler would lead it: whatever fails is asked again.
class LedTask {
public:
  LedTask(Engine &engine, EngineCluster &cluster, int number) : engine(engine) {
    task.name = cluster.prefix() + "led-" + std::to_string(getpid()) + "-" + std::to_string(number);
    task.nodes = cluster.nodes(), task.deviceType = cluster.deviceType(), task.devicesPerNode = 1;
    task.folder = cluster.folderOf(task.name);
    std::filesystem::create_directories(task.folder);
    task.command = cluster.command({.seconds = 60, .exitCode = 0, .savesAtSignal = false, .shell = {}}, task.folder);
  }

  void lead(bool isOrdered = true) {
    std::string id = until<std::string>([&] { return engine.submit(task); });
    EXPECT_EQ(until<std::string>([&] { return engine.submit(task); }), id);
    EngineTask seen = waitFor(EngineTask::State::Running);
    for (int i = 0; i < 400 && started().size() < 2; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    done([&] { return engine.stop(seen, 0); });
    seen = waitFor(EngineTask::State::Stopped);
    EXPECT_EQ(seen.id, id);
    done([&] { return engine.forget(seen); });
    const std::vector<std::string> lines = started();
    EXPECT_EQ(lines.size(), 2u); // each once
    if (isOrdered)
      EXPECT_EQ(lines, (std::vector<std::string>{"0 a1", "1 a2"}));
  }
  int errors = 0;

private:
  std::vector<std::string> started() const {
    std::ifstream in(task.folder + "/started");
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);)
      lines.push_back(line);
    std::ranges::sort(lines);
    return lines;
  }
  template <class T> T until(const std::function<Result<T>()> &what) {
    std::string said;
    for (int i = 0; i < 20; ++i) {
      auto found = what();
      if (found)
        return *found;
      EXPECT_EQ(found.error().code, Code::EngineFailed);
      said = found.error().message;
      ++errors;
    }
    ADD_FAILURE() << said;
    return {};
  }
  void done(const std::function<Result<void>()> &what) {
    until<bool>([&]() -> Result<bool> {
      Result<void> one = what();
      if (!one)
        return one.takeError();
      return true;
    });
  }
  EngineTask waitFor(EngineTask::State state) {
    for (int i = 0; i < 400; ++i) {
      for (const EngineTask &one : until<std::vector<EngineTask>>([&] { return engine.tasks(); }))
        if (one.name == task.name && (one.state == state || isOver(one.state))) {
          EXPECT_EQ(one.state, state) << one.reason;
          return one;
        }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ADD_FAILURE() << task.name << " never gets there";
    return {};
  }

  Engine &engine;
  TaskRequest task;
};

// A TrainJob's pods are on the nodes of the task, in an order that its runtime decides.
TEST(KubernetesTrainJobs, RunAndStop) {
  if (!url())
    GTEST_SKIP() << "ACCORD_TEST_KUBERNETES is not set";
  KubernetesCluster<KubernetesKind::TrainJob> cluster;
  auto engine = cluster.open();
  ASSERT_TRUE(engine);
  LedTask(*engine, cluster, 1).lead(false);
}

// Who deletes one of the Jobs of a task by hand stops all of it.
TEST(KubernetesTrainJobs, AndJobsThatAreDeletedByHalvesEnd) {
  if (!url())
    GTEST_SKIP() << "ACCORD_TEST_KUBERNETES is not set";
  Jobs cluster;
  for (int part : {0, 1}) {
    auto engine = cluster.open();
    ASSERT_TRUE(engine);
    TaskRequest task;
    task.name = cluster.prefix() + "half-" + std::to_string(part), task.nodes = cluster.nodes();
    task.devicesPerNode = 4, task.command = {"sleep", "600"}, task.folder = cluster.folderOf(task.name);
    std::filesystem::create_directories(task.folder);
    ASSERT_TRUE(engine->submit(task));
    auto waitFor = [&](EngineTask::State state) {
      EngineTask seen;
      for (int i = 0; i < 3000; ++i) {
        auto tasks = engine->tasks();
        for (const EngineTask &one : tasks ? *tasks : std::vector<EngineTask>())
          if (one.name == task.name)
            seen = one;
        if (seen.state == state || isOver(seen.state))
          break;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
      return seen;
    };
    EXPECT_EQ(waitFor(EngineTask::State::Running).state, EngineTask::State::Running);
    ASSERT_TRUE(ask("DELETE", "/apis/batch/v1/namespaces/default/jobs/" + task.name + "-" + std::to_string(part),
                    llvm::json::Object{{"propagationPolicy", "Background"}}));
    const EngineTask ended = waitFor(EngineTask::State::Stopped);
    EXPECT_EQ(ended.state, EngineTask::State::Stopped) << ended.reason;
    ASSERT_TRUE(engine->forget(ended));
  }
}

// The guard of a container looks at the devices of its node, and says which one has others.
TEST(KubernetesTrainJobs, AndJobsAreGuarded) {
  if (!url())
    GTEST_SKIP() << "ACCORD_TEST_KUBERNETES is not set";
  Jobs cluster;
  const std::string bin = cluster.folderOf("bin");
  std::filesystem::create_directories(bin);
  std::ofstream(bin + "/nvidia-smi") << "#!/bin/sh\ncase $ACCORD_NODE in a1) name='NVIDIA A100-SXM4-80GB, 81920' ;; *) "
                                        "name='Tesla K80, 11441' ;; esac\n"
                                        "for i in 1 2 3 4; do echo \"$name MiB\"; done\n";
  std::filesystem::permissions(bin + "/nvidia-smi", std::filesystem::perms::owner_all);
  for (KubernetesKind kind : {KubernetesKind::Job, KubernetesKind::JobSet, KubernetesKind::TrainJob})
    for (size_t nodes : {1, 2}) {
      KubernetesOptions options = testOptions();
      options.kind = kind, options.prefix = "guarded-", options.guard = GuardMode::On;
      auto engine = kubernetesEngine(options);
      ASSERT_TRUE(engine) << engine.error().message;
      TaskRequest task;
      task.name = "guarded-" + std::to_string(int(kind)) + "-" + std::to_string(nodes);
      task.nodes = {"a1", "a2"}, task.nodes.resize(nodes);
      task.deviceType = "a100_80g", task.devicesPerNode = 4;
      task.folder = cluster.folderOf(task.name);
      std::filesystem::create_directories(task.folder);
      const std::string says = "echo \"$0 $*\" >'" + task.folder + "/started'";
      task.command = {"sh", "-c", nodes == 1 ? says : "exec sleep 600", "two words", "$HOME"};
      task.environment = {{"PATH", bin + ":/usr/bin:/bin"}};
      ASSERT_TRUE((*engine)->submit(task));
      EngineTask seen;
      for (int i = 0; i < 3000 && !isOver(seen.state); ++i) {
        auto tasks = (*engine)->tasks();
        for (const EngineTask &one : tasks ? *tasks : std::vector<EngineTask>())
          if (one.name == task.name)
            seen = one;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
      EXPECT_EQ(seen.state, nodes == 1 ? EngineTask::State::Succeeded : EngineTask::State::Failed) << seen.reason;
      ASSERT_EQ(seen.refusals.size(), nodes - 1) << task.name;
      if (nodes == 2) {
        EXPECT_NE(seen.refusals.at("a2").find("node a2 has 4 'Tesla K80' (11441 MiB), and the plan needs 4 a100_80g"),
                  std::string::npos);
      } else {
        std::ifstream in(task.folder + "/started");
        std::string line;
        std::getline(in, line);
        EXPECT_EQ(line, "two words $HOME");
      }
      ASSERT_TRUE((*engine)->forget(seen));
    }
}

// A request fails, each in its turn and in each way: nothing starts twice, nothing is concluded, and it goes on.
TEST(KubernetesFaults, AtAnyRequest) {
  if (!url())
    GTEST_SKIP() << "ACCORD_TEST_KUBERNETES is not set";
  Jobs cluster;
  KubernetesOptions options = testOptions();
  options.prefix = cluster.prefix();
  options.limits = {.connect = 1, .read = 0.6, .call = 2, .bytes = 1 << 20, .attempts = 3};
  auto engine = kubernetesEngine(options);
  ASSERT_TRUE(engine) << engine.error().message;
  const std::vector<std::string> kinds{"500", "429", "garbage", "drop", "lost", "hang", "slow", "endless"};
  int errors = 0;
  for (int at = 0; at < 24; ++at) {
    const std::string &kind = kinds[at % kinds.size()];
    SCOPED_TRACE(kind + " at request " + std::to_string(at));
    LedTask task(**engine, cluster, at);
    ASSERT_TRUE(ask("POST", "/fake/fault", llvm::json::Object{{"at", at}, {"count", 1 + at % 4}, {"kind", kind}}));
    task.lead();
    errors += task.errors;
  }
  EXPECT_GT(errors, 0);
}

} // namespace
} // namespace accord::service
