#include "lib/service/engines/kubernetes/KubernetesEngine.h"
#include "lib/service/engines/TaskShares.h"
#include "lib/service/engines/kubernetes/KubernetesState.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>

namespace accord::service {
namespace {

/// `nvidia.com/gpu.shared` counts replicas of all devices of a node: who asks for two may get them of one device or of
/// two, and for a whole device nobody can ask.
constexpr const char *kNoShares = "time-slicing of Kubernetes gives neither whole devices nor several shares of one";

using llvm::StringRef;
using llvm::json::Object;
using llvm::json::Value;
using Keys = KubernetesKeys;

Error failed(std::string message) { return Error{Code::EngineFailed, std::move(message)}; }

std::string uidOf(const Object *object) {
  const Object *metadata = object ? object->getObject("metadata") : nullptr;
  return metadata ? metadata->getString("uid").value_or("").str() : "";
}

double secondsNow() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

class KubernetesEngine : public Engine {
public:
  KubernetesEngine(KubernetesOptions given, KubernetesServer server)
      : options(std::move(given)), client(std::move(server), options.limits) {}

  std::string kind() const override { return "kubernetes"; }
  Result<std::vector<EngineNode>> nodes() override;
  Result<std::vector<EngineTask>> tasks() override;
  Result<std::string> submit(const TaskRequest &task) override;
  Result<void> stop(const EngineTask &task, double notice) override;
  Result<void> setDrained(const std::string &node, bool drained, const std::string &reason) override;
  Result<void> forget(const EngineTask &task) override;

private:
  /// Objects of tasks, in memory of their own.
  struct Listing {
    std::vector<Value> objects, pods, workloads;
    std::map<std::string, KubernetesTask> tasks; ///< by the name of the task
  };

  std::string pathOf(StringRef group, StringRef resource, const std::string &name = "") const {
    return fmt::format("/{}/namespaces/{}/{}{}", group.str(), encodePercent(options.nameSpace), resource.str(),
                       name.empty() ? "" : "/" + encodePercent(name));
  }
  std::string objectPath(const std::string &name = "") const {
    switch (options.kind) {
    case KubernetesKind::JobSet:
      return pathOf("apis/jobset.x-k8s.io/v1alpha2", "jobsets", name);
    case KubernetesKind::TrainJob:
      return pathOf("apis/trainer.kubeflow.org/v1alpha1", "trainjobs", name);
    case KubernetesKind::Job:
      break;
    }
    return pathOf("apis/batch/v1", "jobs", name);
  }
  std::string podPath(const std::string &name = "") const { return pathOf("api/v1", "pods", name); }
  std::string workloadPath(const std::string &name = "") const {
    return pathOf("apis/kueue.x-k8s.io/v1beta2", "workloads", name);
  }

  Result<Listing> listing(const std::string &task);
  void group(Listing &all) const;
  Result<void> addWorkloads(Listing &all);
  Result<std::set<std::string>> lostNodes(const Listing &all);
  Result<void> change(const std::string &method, const std::string &path, const Value &body);
  Result<void> endPod(const KubernetesPodEnd &pod);
  Result<void> annotate(const std::string &object, const std::string &key, const std::string &value);
  Result<void> finish(const KubernetesTask &task, const KubernetesFindings &findings);
  Result<std::string> createdId(const TaskRequest &task, const KubernetesAnswer &answer, const Value &object,
                                bool &isStopped);

  const KubernetesOptions options;
  KubernetesClient client;
};

/// What is gone needs no change.
Result<void> KubernetesEngine::change(const std::string &method, const std::string &path, const Value &body) {
  ACCORD_TRY(answer, client.call(method, path, &body));
  if (!answer.isDone() && answer.status != 404)
    return failed(fmt::format("{} {}: answer {}: '{}'", method, path, answer.status, answer.message()));
  return {};
}

Result<std::vector<EngineNode>> KubernetesEngine::nodes() {
  ACCORD_TRY(items, client.list("/api/v1/nodes"));
  std::vector<EngineNode> all;
  for (const Value &item : items)
    if (const Object *object = item.getAsObject())
      if (EngineNode node = kubernetesNode(*object, options.resource, options.nodeLabel); node.devices > 0)
        all.push_back(std::move(node));
  std::ranges::sort(all, {}, &EngineNode::name);
  return all;
}

/// Gives the listed objects and pods to their tasks.
void KubernetesEngine::group(Listing &all) const {
  all.tasks.clear();
  std::map<std::string, std::string> taskOf; // of labels
  for (const Value &item : all.objects)
    if (const Object *object = item.getAsObject())
      if (std::string name = kubernetesAnnotation(*object, Keys::task); StringRef(name).starts_with(options.prefix)) {
        taskOf[kubernetesLabel(*object, Keys::object)] = name;
        all.tasks[name].objects.push_back(object);
      }
  for (auto &[name, one] : all.tasks) // by number: "-10" follows "-9"
    std::ranges::sort(one.objects, {}, [](const Object *object) {
      const std::string text = kubernetesName(*object);
      return std::pair(text.size(), text);
    });
  for (const Value &item : all.pods)
    if (const Object *pod = item.getAsObject())
      if (auto found = taskOf.find(kubernetesLabel(*pod, Keys::object)); found != taskOf.end())
        all.tasks[found->second].pods.push_back(pod);
}

/// All tasks, or one.
Result<KubernetesEngine::Listing> KubernetesEngine::listing(const std::string &task) {
  const std::string label = labelOf(options.prefix, "s-", 63);
  std::string selector = fmt::format("{}={}", Keys::scheduler, label);
  if (!task.empty())
    selector += fmt::format(",{}={}", Keys::object, kubernetesObjectName(task));
  const std::string query = "labelSelector=" + encodePercent(selector);
  Listing all;
  ACCORD_TRY(pods, client.list(podPath(), query));
  ACCORD_TRY(objects, client.list(objectPath(), query)); // behind: a pod that is not listed has an object that ended
  all.pods = std::move(pods), all.objects = std::move(objects);
  group(all);
  if (std::ranges::any_of(all.tasks, [](const auto &one) { return kubernetesMissesPods(one.second); })) {
    ACCORD_TRY(later, client.list(podPath(), query)); // those that came and ended between the two
    std::set<std::string> known;
    for (const Value &pod : later)
      known.insert(uidOf(pod.getAsObject()));
    for (Value &pod : all.pods)
      if (!known.contains(uidOf(pod.getAsObject())))
        later.push_back(std::move(pod));
    all.pods = std::move(later);
    group(all);
  }
  if (!options.queue.empty())
    if (Result<void> added = addWorkloads(all); !added)
      return added.takeError();
  return all;
}

/// Kueue makes a Workload for each object, which it owns.
Result<void> KubernetesEngine::addWorkloads(Listing &all) {
  ACCORD_TRY(workloads, client.list(workloadPath()));
  all.workloads = std::move(workloads);
  std::map<std::string, const Object *> byOwner;
  for (const Value &item : all.workloads)
    if (const Object *workload = item.getAsObject())
      if (const Object *metadata = workload->getObject("metadata"))
        if (const llvm::json::Array *owners = metadata->getArray("ownerReferences"))
          for (const Value &owner : *owners)
            if (const Object *one = owner.getAsObject())
              byOwner[one->getString("uid").value_or("").str()] = workload;
  for (auto &[name, task] : all.tasks)
    if (auto found = byOwner.find(uidOf(task.objects.front())); found != byOwner.end())
      task.workload = found->second;
  return {};
}

/// Of the nodes whose answer decides about a task, those that do not answer or are gone.
Result<std::set<std::string>> KubernetesEngine::lostNodes(const Listing &all) {
  std::set<std::string> doubtful, lost;
  for (const auto &[name, task] : all.tasks)
    doubtful.merge(kubernetesDoubtfulNodes(task));
  for (const std::string &node : doubtful) {
    ACCORD_TRY(answer, client.call("GET", "/api/v1/nodes/" + encodePercent(node)));
    const Object *object = answer.body.getAsObject();
    if (answer.status == 404 || (answer.isDone() && object && !isKubernetesNodeReady(*object)))
      lost.insert(node);
  }
  return lost;
}

/// A conflict is no error: the next look sees what became of the pod.
Result<void> KubernetesEngine::endPod(const KubernetesPodEnd &pod) {
  Object asked{{"gracePeriodSeconds", pod.grace}};
  if (!pod.version.empty())
    asked["preconditions"] = Object{{"resourceVersion", pod.version}};
  const std::string path = podPath(pod.name);
  const Value body = std::move(asked);
  ACCORD_TRY(answer, client.call("DELETE", path, &body));
  if (!answer.isDone() && answer.status != 404 && answer.status != 409)
    return failed(fmt::format("DELETE {}: answer {}: '{}'", path, answer.status, answer.message()));
  return {};
}

Result<void> KubernetesEngine::annotate(const std::string &object, const std::string &key, const std::string &value) {
  return change("PATCH", objectPath(object), Object{{"metadata", Object{{"annotations", Object{{key, value}}}}}});
}

/// Does what is due, each of which may be done again.
Result<void> KubernetesEngine::finish(const KubernetesTask &task, const KubernetesFindings &findings) {
  if (!findings.lostNode.empty())
    if (Result<void> done = annotate(kubernetesName(*task.objects.front()), Keys::lost, findings.lostNode); !done)
      return done;
  if (findings.stop)
    if (Result<void> done =
            annotate(kubernetesName(*task.objects.front()), Keys::stop, fmt::format("{:.3f}", secondsNow()));
        !done)
      return done;
  for (const KubernetesPodEnd &pod : findings.endPods)
    if (Result<void> done = endPod(pod); !done)
      return done;
  for (const std::string &object : findings.suspend)
    if (Result<void> done = change("PATCH", objectPath(object), Object{{"spec", Object{{"suspend", true}}}}); !done)
      return done;
  if (findings.deactivate)
    return change("PATCH", workloadPath(kubernetesName(*task.workload)), Object{{"spec", Object{{"active", false}}}});
  return {};
}

Result<std::vector<EngineTask>> KubernetesEngine::tasks() {
  ACCORD_TRY(all, listing(""));
  ACCORD_TRY(lost, lostNodes(all));
  std::vector<EngineTask> made;
  for (const auto &[name, task] : all.tasks) {
    KubernetesFindings findings = kubernetesFindings(task, lost, secondsNow());
    if (Result<void> done = finish(task, findings); !done)
      return done.takeError();
    made.push_back(std::move(findings.task));
  }
  return made;
}

/// The id of what was created, or was there: by another call, or before a crash.
Result<std::string> KubernetesEngine::createdId(const TaskRequest &task, const KubernetesAnswer &answer,
                                                const Value &object, bool &isStopped) {
  const std::string name = kubernetesName(*object.getAsObject());
  const KubernetesAnswer *held = &answer;
  KubernetesAnswer existing;
  if (answer.status == 409) {
    ACCORD_TRY(got, client.call("GET", objectPath(name)));
    existing = std::move(got), held = &existing;
  }
  const Object *body = held->body.getAsObject();
  std::string id = uidOf(body);
  if (!held->isDone() || id.empty())
    return failed(fmt::format("'{}' is not created: answer {}: '{}'", name, answer.status, answer.message()));
  if (kubernetesAnnotation(*body, Keys::task) != task.name)
    return failed(fmt::format("'{}' is not created: another object has its name", name));
  isStopped = !kubernetesAnnotation(*body, Keys::stop).empty();
  return id;
}

Result<std::string> KubernetesEngine::submit(const TaskRequest &task) {
  if (!StringRef(task.name).starts_with(options.prefix))
    return failed(fmt::format("the name of task '{}' does not begin with '{}'", task.name, options.prefix));
  if (const std::string error = sharesError(task, 1, kNoShares); !error.empty())
    return failed(fmt::format("task '{}' for Kubernetes: {}", task.name, error));
  ACCORD_TRY(objects, kubernetesTaskObjects(task, options, options.nameSpace));
  std::string first;
  size_t jobs = 0;
  for (Value &object : objects) {
    const bool isService = object.getAsObject()->getString("kind") == StringRef("Service");
    if (isService)
      (*object.getAsObject()->getObject("metadata"))["ownerReferences"] =
          llvm::json::Array{Object{{"apiVersion", "batch/v1"},
                                   {"kind", "Job"},
                                   {"uid", first},
                                   {"name", kubernetesName(*objects.front().getAsObject())}}};
    ACCORD_TRY(answer, client.call("POST", isService ? pathOf("api/v1", "services") : objectPath(), &object));
    if (isService) {
      if (!answer.isDone() && answer.status != 409)
        return failed(fmt::format("service of '{}' is not created: '{}'", task.name, answer.message()));
      continue;
    }
    ++jobs;
    bool isStopped = false;
    ACCORD_TRY(id, createdId(task, answer, object, isStopped));
    if (first.empty())
      first = id;
    if (isStopped) // while it was being created
      return first;
  }
  if (jobs > 1)
    if (Result<void> done = annotate(kubernetesName(*objects.front().getAsObject()), Keys::whole, "1"); !done)
      return done.takeError();
  return first;
}

Result<void> KubernetesEngine::stop(const EngineTask &task, double notice) {
  ACCORD_TRY(all, listing(task.name));
  auto found = all.tasks.find(task.name);
  if (found == all.tasks.end())
    return {};
  const KubernetesTask &held = found->second;
  ACCORD_TRY(lost, lostNodes(all));
  const double now = secondsNow();
  if (isOver(kubernetesFindings(held, lost, now).task.state))
    return {};
  double end = now + (notice > 0 ? std::min(notice, 1e9) : 0);
  for (const Object *object : held.objects) {
    double earlier = end;
    const std::string text = kubernetesAnnotation(*object, Keys::stop);
    if (!text.empty() && !StringRef(text).getAsDouble(earlier))
      end = std::min(end, earlier);
  }
  for (const Object *object : held.objects)
    if (Result<void> done = annotate(kubernetesName(*object), Keys::stop, fmt::format("{:.3f}", end)); !done)
      return done;
  const int64_t grace = static_cast<int64_t>(std::ceil(std::max(end - now, 0.0))) + kKubernetesKill;
  for (const Object *pod : held.pods) {
    const Object *status = pod->getObject("status");
    const StringRef phase = status ? status->getString("phase").value_or("") : "";
    if (phase == "Succeeded" || phase == "Failed") // its exit code can still be read
      continue;
    const Object *metadata = pod->getObject("metadata");
    const std::string version = metadata ? metadata->getString("resourceVersion").value_or("").str() : "";
    if (Result<void> done = endPod({.name = kubernetesName(*pod), .version = version, .grace = grace}); !done)
      return done;
  }
  ACCORD_TRY(after, listing(task.name));
  if (auto again = after.tasks.find(task.name); again != after.tasks.end())
    return finish(again->second, kubernetesFindings(again->second, lost, now));
  return {};
}

Result<void> KubernetesEngine::setDrained(const std::string &node, bool drained, const std::string &reason) {
  const std::string path = "/api/v1/nodes/" + encodePercent(node);
  const Value why = drained ? Value(llvm::json::fixUTF8(reason)) : Value(nullptr);
  const Value body = Object{{"metadata", Object{{"annotations", Object{{Keys::drained, why}}}}},
                            {"spec", Object{{"unschedulable", drained}}}};
  ACCORD_TRY(answer, client.call("PATCH", path, &body));
  if (!answer.isDone())
    return failed(fmt::format("node '{}': answer {}: '{}'", node, answer.status, answer.message()));
  return {};
}

Result<void> KubernetesEngine::forget(const EngineTask &task) {
  ACCORD_TRY(all, listing(task.name));
  auto found = all.tasks.find(task.name);
  if (found == all.tasks.end())
    return {};
  std::vector<const Object *> objects = found->second.objects; // the first one last: its annotations say what is whole
  std::ranges::reverse(objects);
  for (const Object *object : objects)
    if (Result<void> done =
            change("DELETE", objectPath(kubernetesName(*object)), Object{{"propagationPolicy", "Background"}});
        !done)
      return done;
  return {};
}

} // namespace

Result<std::unique_ptr<Engine>> kubernetesEngine(const KubernetesOptions &options) {
  KubernetesOptions made = options;
  KubernetesServer server;
  if (!options.kubeconfig.empty()) {
    ACCORD_TRY(configured, kubernetesServerOf(options.kubeconfig, options.context));
    server = std::move(configured);
  } else if (!options.url.empty()) {
    server.url = options.url;
  } else {
    ACCORD_TRY(around, kubernetesServerInCluster());
    server = std::move(around);
  }
  if (made.nameSpace.empty())
    made.nameSpace = server.nameSpace.empty() ? "default" : server.nameSpace;
  if (made.image.empty())
    return failed("Kubernetes is not told which image tasks run in");
  if (made.prefix.empty())
    return failed("tasks on Kubernetes need a prefix, by which they are found again");
  if (made.claim.empty() != made.mount.empty())
    return failed("a claim and the folder where it is mounted come together");
  return std::unique_ptr<Engine>(std::make_unique<KubernetesEngine>(std::move(made), std::move(server)));
}

} // namespace accord::service
