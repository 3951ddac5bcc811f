// What objects of Kubernetes say of a task: its state, and what is still to be done so that it gets there.
#pragma once
#include "lib/service/engines/TaskGuard.h"
#include "llvm/Support/JSON.h"
#include <set>

namespace accord::service {

/// Names in objects of tasks. Keys of labels are `accord/…`, as that of the device type of nodes.
struct KubernetesKeys {
  static constexpr const char *scheduler = "accord/scheduler"; ///< label: whose tasks they are
  static constexpr const char *object = "accord/object";       ///< label: one for each task
  static constexpr const char *rank = "accord/rank";           ///< label of pods whose nodes are in order
  static constexpr const char *task = "accord/task";           ///< annotation: the name of the task
  static constexpr const char *nodes = "accord/nodes";         ///< annotation: its nodes by rank, with commas
  static constexpr const char *objects = "accord/objects";     ///< annotation: how many Jobs it has
  static constexpr const char *whole = "accord/whole";     ///< annotation of the first of several Jobs: all were made
  static constexpr const char *stop = "accord/stop";       ///< annotation: end of its notice, seconds since 1970
  static constexpr const char *lost = "accord/lost";       ///< annotation: the node that failed
  static constexpr const char *drained = "accord/drained"; ///< annotation of a node: why
};

/// Seconds from SIGTERM to SIGKILL.
constexpr int64_t kKubernetesKill = 5;

/// Objects of one task as the API gives them; not owned.
struct KubernetesTask {
  std::vector<const llvm::json::Object *> objects; ///< Jobs by name, or one JobSet or TrainJob
  std::vector<const llvm::json::Object *> pods;    ///< all that there are
  const llvm::json::Object *workload = nullptr;    ///< of Kueue; null: none
};

/// A pod that has to be deleted, unless it is no longer what was seen: the exit code of one that has ended since then
/// is still to be read.
struct KubernetesPodEnd {
  std::string name, version; ///< `version`: metadata.resourceVersion
  int64_t grace = 0;         ///< s
};

struct KubernetesFindings {
  EngineTask task;
  std::vector<KubernetesPodEnd> endPods;
  std::vector<std::string> suspend; ///< objects without pods that must not start any
  bool stop = false; ///< somebody stopped it by deleting a part, which is to be written down before the rest is ended
  bool deactivate = false; ///< Kueue must not admit it any more
  std::string lostNode;    ///< to be written down; empty: none is lost, or it is written down
};

/// `lostNodes` are those that do not answer or are gone, as far as pods are on them that end. A task is over where its
/// objects say so and none of its pods runs any more; it is stopped where it was stopped before that, lost where a node
/// failed. What ended by itself has the exit code of the container that failed first.
KubernetesFindings kubernetesFindings(const KubernetesTask &task, const std::set<std::string> &lostNodes, double now);

/// Whether an object of the task ended of which not all pods are listed. They may have come and gone while the lists
/// were read; then a later list of pods holds their exit codes.
bool kubernetesMissesPods(const KubernetesTask &task);

/// Nodes on which unfinished pods end or were disrupted: whether they answer decides whether the task is lost.
std::set<std::string> kubernetesDoubtfulNodes(const KubernetesTask &task);

/// A node of `GET /api/v1/nodes`; devices by `resource`, their type by the label `nodeLabel`.
EngineNode kubernetesNode(const llvm::json::Object &node, const std::string &resource, const std::string &nodeLabel);
/// Whether the kubelet of a node answers.
bool isKubernetesNodeReady(const llvm::json::Object &node);

/// "2026-11-28T14:00:00Z" (RFC 3339, UTC) as seconds since 1970; 0 where it is none.
double kubernetesTime(llvm::StringRef text);
/// A quantity ("8", "2k", "1Ki") in whole units, rounded down; 0 where it is none or negative.
int64_t kubernetesQuantity(const llvm::json::Value *value);

/// An annotation or label of an object; empty: it has none.
std::string kubernetesAnnotation(const llvm::json::Object &object, llvm::StringRef key);
std::string kubernetesLabel(const llvm::json::Object &object, llvm::StringRef key);
std::string kubernetesName(const llvm::json::Object &object);

} // namespace accord::service
