// The contract of engines on an API server of Kubernetes at ACCORD_TEST_KUBERNETES, with nodes that run containers as
// processes (test/service/Inputs/fake_kubernetes.py), by each kind of object and with Kueue.
#include "lib/service/engines/KubernetesEngine.h"
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
  double patience() override { return kubeconfig() ? 120 : 20; }
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
INSTANTIATE_TYPED_TEST_SUITE_P(KubernetesJobSets, EngineContract, JobSets);
INSTANTIATE_TYPED_TEST_SUITE_P(KubernetesQueued, EngineContract, QueuedJobSets);

} // namespace
} // namespace accord::service
