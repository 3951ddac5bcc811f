#include "lib/service/engines/kubernetes/KubernetesState.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <cmath>
#include <ctime>
#include <fmt/format.h>
#include <limits>

namespace accord::service {
namespace {

using llvm::StringRef;
using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;
using State = EngineTask::State;
using Keys = KubernetesKeys;

constexpr int64_t kMaxRank = 1 << 20;
constexpr int64_t kMaxGrace = int64_t(1) << 30;

const Object *part(const Object *object, StringRef key) { return object ? object->getObject(key) : nullptr; }
std::string text(const Object *object, StringRef key) {
  return object ? object->getString(key).value_or("").str() : "";
}

/// The condition of a type, if it is True.
const Object *conditionOf(const Object &object, StringRef type, StringRef status = "True") {
  const Object *found = part(&object, "status");
  const Array *all = found ? found->getArray("conditions") : nullptr;
  for (size_t i = 0; all && i < all->size(); ++i)
    if (const Object *one = (*all)[i].getAsObject(); text(one, "type") == type && text(one, "status") == status)
      return one;
  return nullptr;
}

std::string metadataOf(const Object &object, StringRef map, StringRef key) {
  return text(part(part(&object, "metadata"), map), key);
}
bool isDeleted(const Object &object) { return !text(part(&object, "metadata"), "deletionTimestamp").empty(); }

/// What a task's conditions call it, whichever kind of object they are of.
const Object *completionOf(const Object &object) {
  for (const char *type : {"Complete", "Completed"}) // of Jobs and TrainJobs, of JobSets
    if (const Object *found = conditionOf(object, type))
      return found;
  return nullptr;
}
const Object *failureOf(const Object &object) { return conditionOf(object, "Failed"); }

std::string words(const Object *condition) {
  const std::string reason = text(condition, "reason"), message = text(condition, "message");
  return reason.empty() || message.empty() ? reason + message : reason + ": " + message;
}

/// One process of a task.
struct Pod {
  std::string name, version, node, phase, reason;
  int64_t rank = 0;
  double created = 0, started = 0, ended = 0;
  int64_t exitCode = -1;
  bool isEnding = false, isDisrupted = false;
  std::string disruption, waiting;
  std::string message; ///< with which its containers ended

  bool isFinished() const { return phase == "Succeeded" || phase == "Failed"; }
  bool hasStarted() const { return started > 0 || phase == "Running" || isFinished(); }
};

int64_t rankOf(const Object &object) {
  for (const std::string &one : {metadataOf(object, "labels", Keys::rank),
                                 metadataOf(object, "labels", "batch.kubernetes.io/job-completion-index"),
                                 metadataOf(object, "annotations", "batch.kubernetes.io/job-completion-index")}) {
    int64_t rank = 0;
    if (!one.empty() && !StringRef(one).getAsInteger(10, rank) && rank >= 0 && rank < kMaxRank)
      return rank;
  }
  return 0;
}

Pod podOf(const Object &object) {
  Pod pod;
  const Object *metadata = part(&object, "metadata"), *status = part(&object, "status");
  pod.name = text(metadata, "name"), pod.version = text(metadata, "resourceVersion");
  pod.node = text(part(&object, "spec"), "nodeName");
  pod.phase = text(status, "phase"), pod.reason = text(status, "reason"), pod.rank = rankOf(object);
  pod.created = kubernetesTime(text(metadata, "creationTimestamp")), pod.isEnding = isDeleted(object);
  if (const Object *disrupted = conditionOf(object, "DisruptionTarget"))
    pod.isDisrupted = true, pod.disruption = text(disrupted, "reason");
  if (const Object *unscheduled = conditionOf(object, "PodScheduled", "False"))
    pod.waiting = words(unscheduled);
  const Array *containers = status ? status->getArray("containerStatuses") : nullptr;
  for (size_t i = 0; containers && i < containers->size(); ++i) {
    const Object *state = part((*containers)[i].getAsObject(), "state");
    if (const Object *waiting = part(state, "waiting"))
      pod.waiting = words(waiting);
    if (const Object *running = part(state, "running"))
      pod.started = kubernetesTime(text(running, "startedAt"));
    if (const Object *over = part(state, "terminated")) {
      pod.started = kubernetesTime(text(over, "startedAt")), pod.ended = kubernetesTime(text(over, "finishedAt"));
      pod.message += text(over, "message") + "\n";
      const int64_t code = over->getInteger("exitCode").value_or(-1);
      if (pod.exitCode <= 0)
        pod.exitCode = code, pod.reason = text(over, "reason");
    }
  }
  return pod;
}

/// A node failed, in the words of Kubernetes (DisruptionTarget of a pod, its reason before version 1.26).
bool isOfNode(const Pod &pod) {
  return pod.disruption == "DeletionByTaintManager" || pod.disruption == "DeletionByPodGC" ||
         pod.disruption == "TerminationByKubelet" || pod.reason == "NodeLost" || pod.reason == "NodeShutdown";
}
/// Somebody else took its place or asked it to go.
bool isOfPeople(const Pod &pod) {
  return pod.disruption == "PreemptionByScheduler" || pod.disruption == "EvictionByEvictionAPI";
}

/// The nodes of a task by rank, as it was submitted.
std::vector<std::string> plannedNodes(const Object &first) {
  llvm::SmallVector<StringRef> nodes;
  const std::string listed = kubernetesAnnotation(first, Keys::nodes);
  StringRef(listed).split(nodes, ',', -1, false);
  return {nodes.begin(), nodes.end()};
}

class Findings {
public:
  Findings(const KubernetesTask &objects, const std::set<std::string> &lostNodes, double now)
      : objects(objects), lostNodes(lostNodes), now(now) {
    std::map<int64_t, Pod> latest;
    for (const Object *one : objects.pods) {
      Pod pod = podOf(*one);
      auto [at, isNew] = latest.try_emplace(pod.rank, pod);
      if (!isNew && std::tuple(!pod.isFinished(), pod.created, pod.name) >
                        std::tuple(!at->second.isFinished(), at->second.created, at->second.name))
        at->second = pod;
    }
    for (auto &[rank, pod] : latest)
      pods.push_back(std::move(pod));
  }

  KubernetesFindings made();

private:
  bool isLost(const Pod &pod) const {
    return !pod.isFinished() && (pod.isEnding || pod.isDisrupted) && lostNodes.count(pod.node) > 0;
  }
  bool isLive(const Pod &pod) const { return !pod.isFinished() && !isLost(pod); }
  bool isSuspended(const Object &object) const {
    const Object *spec = part(&object, "spec");
    return spec && spec->getBoolean("suspend").value_or(false);
  }
  void read();
  void addState();
  void addEnd();
  void addReason(const Pod *failed);
  void addTimes();
  void addProgress();
  void addDue();
  std::string whyItWaits() const;

  const KubernetesTask &objects;
  const std::set<std::string> &lostNodes;
  const double now;
  std::vector<Pod> pods; ///< one for each rank
  KubernetesFindings findings;
  size_t expectedPods = 1, expectedObjects = 1;
  bool isStopped = false, isLostTask = false, hasFailed = false, isComplete = false, isDeletedObject = false;
  bool isTorn = false; ///< somebody deleted some of its Jobs: the others would wait for them for ever
  bool isAllSuspended = true, hasLive = false;
  double stopAt = 0;
  std::vector<std::string> planned;
};

void Findings::read() {
  EngineTask &task = findings.task;
  const Object &first = *objects.objects.front();
  task.name = kubernetesAnnotation(first, Keys::task), task.id = text(part(&first, "metadata"), "uid");
  planned = plannedNodes(first);
  expectedPods = std::max<size_t>(planned.size(), 1);
  uint64_t count = 1;
  if (!StringRef(kubernetesAnnotation(first, Keys::objects)).getAsInteger(10, count))
    expectedObjects = count;
  size_t complete = 0;
  for (const Object *one : objects.objects) {
    double at = 0;
    if (const std::string stop = kubernetesAnnotation(*one, Keys::stop); !StringRef(stop).getAsDouble(at)) {
      stopAt = isStopped ? std::min(stopAt, at) : at;
      isStopped = true;
    }
    isLostTask |= !kubernetesAnnotation(*one, Keys::lost).empty();
    complete += completionOf(*one) != nullptr;
    hasFailed |= failureOf(*one) != nullptr;
    isDeletedObject |= isDeleted(*one);
    isAllSuspended &= isSuspended(*one) || completionOf(*one) || failureOf(*one);
  }
  const bool hasFirst = expectedObjects == 1 || kubernetesName(first) == kubernetesLabel(first, Keys::object) + "-0";
  isTorn = objects.objects.size() < expectedObjects &&
           (!hasFirst || !kubernetesAnnotation(first, Keys::whole).empty()); // they are made from the first one on
  isComplete = complete >= expectedObjects && complete == objects.objects.size();
  for (const Pod &pod : pods) {
    hasLive |= isLive(pod);
    if (!isLostTask && findings.lostNode.empty() && (isLost(pod) || (hasFailed && isOfNode(pod))))
      findings.lostNode = pod.node.empty() ? "unknown" : pod.node;
  }
  isLostTask |= !findings.lostNode.empty();
}

std::string Findings::whyItWaits() const {
  if (const Object *workload = objects.workload) {
    const Object *admitted = conditionOf(*workload, "Admitted");
    for (const char *type : {"Evicted", "QuotaReserved", "Admitted"})
      if (const Object *found = conditionOf(*workload, type, StringRef(type) == "Evicted" ? "True" : "False");
          found && !admitted)
        return words(found);
  }
  for (const Pod &pod : pods)
    if (!pod.hasStarted() && !pod.waiting.empty())
      return pod.waiting;
  if (objects.objects.size() < expectedObjects)
    return "not all of its Jobs are there";
  for (const Object *one : objects.objects)
    if (const Object *suspended = conditionOf(*one, "Suspended"))
      return words(suspended);
  return "";
}

void Findings::addState() {
  EngineTask &task = findings.task;
  const bool isAtEnd = isComplete || hasFailed || isLostTask || isTorn || (isStopped && isAllSuspended);
  if (isAtEnd && !hasLive)
    return addEnd();
  const size_t started = static_cast<size_t>(std::ranges::count_if(pods, &Pod::hasStarted));
  const bool isEnding = std::ranges::any_of(pods, &Pod::isEnding);
  if (isAtEnd || isStopped || isEnding || isDeletedObject)
    task.state = State::Ending;
  else if (started >= expectedPods)
    task.state = State::Running;
  else
    task.reason = whyItWaits();
}

void Findings::addEnd() {
  EngineTask &task = findings.task;
  const Pod *failed = nullptr;
  bool allEnded = !pods.empty(), byPeople = false;
  for (const Pod &pod : pods) {
    allEnded &= pod.exitCode >= 0;
    byPeople |= isOfPeople(pod);
    if (pod.exitCode > 0 && (!failed || pod.ended < failed->ended))
      failed = &pod;
  }
  task.state = isLostTask                                        ? State::Lost
               : isStopped || byPeople || (isTorn && !hasFailed) ? State::Stopped
               : isComplete                                      ? State::Succeeded
                                                                 : State::Failed;
  if (failed)
    task.exitCode = static_cast<int>(std::min<int64_t>(failed->exitCode, std::numeric_limits<int>::max()));
  else if (allEnded || isComplete)
    task.exitCode = 0;
  if (task.state == State::Succeeded)
    return;
  for (const Pod &pod : pods)
    if (task.state == State::Failed && !pod.node.empty() && pod.exitCode > 0)
      task.refusals.merge(refusalsOf(pod.message, {pod.node}));
  addReason(failed);
}

/// Why a task did not succeed; `failed` is the pod that failed first, or null.
void Findings::addReason(const Pod *failed) {
  EngineTask &task = findings.task;
  for (const Object *one : objects.objects)
    if (const Object *failure = failureOf(*one); failure && task.reason.empty())
      task.reason = words(failure);
  if (isLostTask)
    for (const Object *one : objects.objects) {
      const std::string node = findings.lostNode.empty() ? kubernetesAnnotation(*one, Keys::lost) : findings.lostNode;
      if (!node.empty())
        task.reason = fmt::format("node '{}' failed", node);
    }
  else if (failed && !failed->reason.empty() && !StringRef(task.reason).starts_with("DeadlineExceeded"))
    task.reason = failed->reason;
  if (isTorn && task.reason.empty())
    task.reason = "some of its Jobs were deleted";
  for (const Pod &pod : pods)
    if (isOfPeople(pod))
      task.reason = pod.disruption;
}

/// What the program told Kubeflow's trainer (KEP-2779): a percentage of all of its training.
void Findings::addProgress() {
  for (const Object *one : objects.objects) {
    const Object *said = part(part(one, "status"), "trainerStatus");
    const auto percent = said ? said->getNumber("progressPercentage") : std::nullopt;
    if (!percent || *percent < 0 || *percent > 100)
      continue;
    findings.task.share = *percent / 100;
    findings.task.shareAt = kubernetesTime(text(said, "lastUpdatedTime"));
  }
}

void Findings::addTimes() {
  EngineTask &task = findings.task;
  std::vector<std::string> nodes;
  for (const Pod &pod : pods) {
    if (!pod.node.empty())
      nodes.push_back(pod.node);
    task.started = std::max(task.started, pod.started);
    task.ended = std::max(task.ended, pod.ended);
  }
  const bool isWaiting = task.state == State::Waiting;
  if (pods.size() >= expectedPods && nodes.size() == pods.size())
    task.nodes = std::move(nodes);
  else if (!isWaiting)
    task.nodes = planned;
  if (isWaiting)
    task.started = 0;
  if (!isOver(task.state)) {
    task.ended = 0;
    return;
  }
  for (const Object *one : objects.objects) {
    const Object *end = completionOf(*one) ? completionOf(*one) : failureOf(*one);
    if (task.started == 0)
      task.started = kubernetesTime(text(part(one, "status"), "startTime"));
    if (task.ended == 0)
      task.ended = kubernetesTime(text(end, "lastTransitionTime"));
  }
  task.ended = std::max(task.ended, task.ended > 0 ? task.started : 0);
}

void Findings::addDue() {
  if (!isStopped && !hasFailed && !isLostTask && !isTorn)
    return;
  const double left =
      isStopped && !hasFailed && !isLostTask && !isTorn ? std::clamp(stopAt - now, 0.0, double(kMaxGrace)) : 0;
  for (const Pod &pod : pods)
    if (isLive(pod) && !pod.isEnding)
      findings.endPods.push_back({pod.name, pod.version, static_cast<int64_t>(std::ceil(left)) + kKubernetesKill});
  for (const Object *one : objects.objects)
    if (pods.empty() && !completionOf(*one) && !failureOf(*one) && !isSuspended(*one) && !isDeleted(*one))
      findings.suspend.push_back(kubernetesName(*one));
  findings.stop = isTorn && !isStopped && !hasFailed && !isLostTask;
  const Object *spec = part(objects.workload, "spec");
  findings.deactivate =
      isStopped && spec && spec->getBoolean("active").value_or(true) && !conditionOf(*objects.workload, "Finished");
}

KubernetesFindings Findings::made() {
  read();
  addState();
  addTimes();
  addProgress();
  addDue();
  return std::move(findings);
}

} // namespace

std::string kubernetesAnnotation(const Object &object, StringRef key) { return metadataOf(object, "annotations", key); }
std::string kubernetesLabel(const Object &object, StringRef key) { return metadataOf(object, "labels", key); }
std::string kubernetesName(const Object &object) { return text(part(&object, "metadata"), "name"); }

double kubernetesTime(StringRef text) {
  std::tm moment{};
  const std::string copy = text.str();
  const char *end = strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &moment);
  if (!end || end - copy.c_str() != 19)
    return 0;
  StringRef rest = StringRef(copy).drop_front(19);
  double fraction = 0;
  if (rest.starts_with("."))
    rest.take_while([](char c) { return llvm::isDigit(c) || c == '.'; }).getAsDouble(fraction);
  rest = rest.drop_while([](char c) { return llvm::isDigit(c) || c == '.'; });
  if (rest != "Z")
    return 0;
  const time_t seconds = timegm(&moment);
  return seconds <= 0 ? 0 : static_cast<double>(seconds) + fraction;
}

int64_t kubernetesQuantity(const Value *value) {
  if (!value)
    return 0;
  if (std::optional<int64_t> whole = value->getAsInteger())
    return std::max<int64_t>(*whole, 0);
  const StringRef text = value->getAsString().value_or("");
  const StringRef digits = text.take_while([](char c) { return llvm::isDigit(c) || c == '.' || c == '+'; });
  double number = 0;
  if (digits.empty() || digits.getAsDouble(number))
    return 0;
  const StringRef suffix = text.drop_front(digits.size());
  static constexpr std::pair<const char *, double> kSuffixes[] = {
      {"", 1},        {"n", 1e-9},    {"u", 1e-6},    {"m", 1e-3},   {"k", 1e3},     {"M", 1e6},
      {"G", 1e9},     {"T", 1e12},    {"P", 1e15},    {"E", 1e18},   {"Ki", 0x1p10}, {"Mi", 0x1p20},
      {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50}, {"Ei", 0x1p60}};
  for (const auto &[name, factor] : kSuffixes)
    if (suffix == name)
      return number * factor < 0x1p62 ? static_cast<int64_t>(number * factor) : int64_t(1) << 62;
  return 0;
}

bool isKubernetesNodeReady(const Object &node) { return conditionOf(node, "Ready") != nullptr; }

EngineNode kubernetesNode(const Object &node, const std::string &resource, const std::string &nodeLabel) {
  EngineNode made;
  made.name = kubernetesName(node);
  made.deviceType = kubernetesLabel(node, nodeLabel);
  const Object *allocatable = part(part(&node, "status"), "allocatable");
  made.devices = kubernetesQuantity(allocatable ? allocatable->get(resource) : nullptr);
  const Object *spec = part(&node, "spec");
  if (!isKubernetesNodeReady(node)) {
    made.state = EngineNode::State::Down;
    for (const char *status : {"Unknown", "False"})
      if (const Object *found = conditionOf(node, "Ready", status))
        made.reason = words(found);
    if (made.reason.empty())
      made.reason = "not ready";
  } else if (spec && spec->getBoolean("unschedulable").value_or(false)) {
    made.state = EngineNode::State::Drained;
    made.reason = kubernetesAnnotation(node, Keys::drained);
    if (made.reason.empty())
      made.reason = "unschedulable";
  }
  return made;
}

bool kubernetesMissesPods(const KubernetesTask &task) {
  const auto hasEnded = [](const Object *one) { return completionOf(*one) || failureOf(*one); };
  return std::ranges::any_of(task.objects, hasEnded) && task.pods.size() < plannedNodes(*task.objects.front()).size();
}

std::set<std::string> kubernetesDoubtfulNodes(const KubernetesTask &task) {
  std::set<std::string> nodes;
  for (const Object *one : task.pods)
    if (const Pod pod = podOf(*one); !pod.isFinished() && (pod.isEnding || pod.isDisrupted) && !pod.node.empty())
      nodes.insert(pod.node);
  return nodes;
}

KubernetesFindings kubernetesFindings(const KubernetesTask &task, const std::set<std::string> &lostNodes, double now) {
  return Findings(task, lostNodes, now).made();
}

} // namespace accord::service
