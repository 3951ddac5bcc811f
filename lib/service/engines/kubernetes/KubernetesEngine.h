// Kubernetes as an engine: a task is a JobSet, a TrainJob of Kubeflow or plain Jobs, on nodes by name.
//
// A task is told to save by SIGUSR1 from a preStop hook of its container, which needs `sh`, `kill` and `sleep` there;
// a TrainJob's container has none, and gets SIGTERM alone. Ranks are in the order of nodes but in a TrainJob and in
// what Kueue admits as one set of pods (`keepsOrderOfNodes`).
#pragma once
#include "lib/service/engines/TaskGuard.h"
#include "lib/service/engines/kubernetes/KubernetesClient.h"

namespace accord::service {

struct KubernetesOptions {
  std::string kubeconfig, context; ///< where the cluster is; both empty: `url`, or this process is a pod of it
  std::string url;                 ///< of an API server that asks for nothing: `kubectl proxy`
  std::string nameSpace;           ///< of tasks; empty: that of the context, or "default"
  KubernetesKind kind = KubernetesKind::Job;
  std::string image;                         ///< of containers
  std::string resource = "nvidia.com/gpu";   ///< what Kubernetes calls a device
  std::string nodeLabel = "accord/device";   ///< of nodes, with the name of their devices
  std::string queue;                         ///< LocalQueue of Kueue in the namespace; empty: Kueue is not asked
  bool queueOfTenant = false;                ///< with `queue`: that of the task, where it names one
  std::string priorityClass;                 ///< of Kueue; empty: that of the task
  std::string runtime = "torch-distributed"; ///< of TrainJobs: a ClusterTrainingRuntime
  std::string prefix = "accord-";            ///< of names of tasks; tasks of other schedulers have others
  std::string claim, mount; ///< a PersistentVolumeClaim and where it is mounted, as on the scheduler; empty: none
  int64_t keep = 86400;     ///< seconds for which objects of ended tasks can be read
  GuardMode guard = GuardMode::Off; ///< in each container, by its `sh`, before the program
  KubernetesLimits limits;
};

/// Errors (A1203) say what is missing: a server, an image.
Result<std::unique_ptr<Engine>> kubernetesEngine(const KubernetesOptions &options);

/// The objects of a task, in the order in which they are created, for an API and for tests. Errors (A1203): a task that
/// cannot be said, arguments of Megatron-LM that the plan does not know.
Result<std::vector<llvm::json::Value>> kubernetesTaskObjects(const TaskRequest &task, const KubernetesOptions &options,
                                                             const std::string &nameSpace);
/// The name of a task's objects: its own, or its start and a hash where it is too long for the names of pods.
std::string kubernetesObjectName(const std::string &task);

} // namespace accord::service
