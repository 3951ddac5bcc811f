// States of tasks from objects as API servers give them: written by hand from the API's reference (Job, Pod and Node
// status, JobSet v1alpha2, Workload v1beta2).
#include "lib/service/engines/kubernetes/KubernetesState.h"
#include "lib/service/engines/kubernetes/KubernetesEngine.h"
#include "lib/support/SplitMix.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "gtest/gtest.h"

using accord::KubernetesKind;
using namespace accord::service;
using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;
using State = EngineTask::State;

namespace {

constexpr double kNow = 1'000'000;
constexpr const char *kStart = "2026-11-28T14:00:00Z", *kEnd = "2026-11-28T14:05:00Z";
constexpr double kStartSeconds = 1795874400; // date -u -d 2026-11-28T14:00:00Z +%s

Object conditions(std::vector<std::array<std::string, 4>> all) {
  Array made;
  for (const auto &[type, status, reason, message] : all)
    made.push_back(Object{
        {"type", type}, {"status", status}, {"reason", reason}, {"message", message}, {"lastTransitionTime", kEnd}});
  return Object{{"conditions", std::move(made)}};
}

Object job(Object status = {}, std::map<std::string, std::string> annotations = {}, bool suspend = false) {
  Object notes{{"accord/task", "t-1"}, {"accord/nodes", "a1,a2"}, {"accord/objects", "1"}};
  for (const auto &[key, value] : annotations)
    notes[key] = value;
  return Object{{"metadata", Object{{"name", "t-1"}, {"uid", "u-1"}, {"annotations", std::move(notes)}}},
                {"spec", Object{{"suspend", suspend}}},
                {"status", std::move(status)}};
}

/// A pod of a rank; `state` of its container.
Object pod(int rank, const std::string &phase, Object state = {}, const std::string &node = "") {
  return Object{
      {"metadata",
       Object{{"name", "t-1-" + std::to_string(rank)}, {"labels", Object{{"accord/rank", std::to_string(rank)}}}}},
      {"spec", Object{{"nodeName", node.empty() ? "a" + std::to_string(rank + 1) : node}}},
      {"status",
       Object{{"phase", phase}, {"containerStatuses", Array{Object{{"name", "train"}, {"state", std::move(state)}}}}}}};
}
Object running() { return Object{{"running", Object{{"startedAt", kStart}}}}; }
Object over(int code, const std::string &reason = "Error", const std::string &end = kEnd) {
  return Object{
      {"terminated", Object{{"exitCode", code}, {"reason", reason}, {"startedAt", kStart}, {"finishedAt", end}}}};
}
Object ending(Object pod, const std::string &disruption = "") {
  (*pod.getObject("metadata"))["deletionTimestamp"] = kEnd;
  if (!disruption.empty())
    for (auto &[key, value] : conditions({{"DisruptionTarget", "True", disruption, ""}}))
      (*pod.getObject("status"))[key] = std::move(value);
  return pod;
}

KubernetesFindings look(const std::vector<Object> &jobs, const std::vector<Object> &pods,
                        const std::set<std::string> &lost = {}, const Object *workload = nullptr) {
  KubernetesTask task;
  for (const Object &one : jobs)
    task.objects.push_back(&one);
  for (const Object &one : pods)
    task.pods.push_back(&one);
  task.workload = workload;
  return kubernetesFindings(task, lost, kNow);
}

std::vector<std::string> names(const std::vector<KubernetesPodEnd> &all) {
  std::vector<std::string> made;
  for (const KubernetesPodEnd &one : all)
    made.push_back(one.name);
  return made;
}

} // namespace

TEST(KubernetesState, WaitsUntilAllPodsHaveStarted) {
  EXPECT_EQ(look({job()}, {}).task.state, State::Waiting);
  auto found = look({job()}, {pod(0, "Running", running()), pod(1, "Pending")});
  EXPECT_EQ(found.task.state, State::Waiting);
  EXPECT_EQ(found.task.started, 0);
  found = look({job()}, {pod(1, "Running", running()), pod(0, "Running", running())});
  EXPECT_EQ(found.task.state, State::Running);
  EXPECT_EQ(found.task.nodes, (std::vector<std::string>{"a1", "a2"})); // by rank, however they are listed
  EXPECT_EQ(found.task.started, kStartSeconds);
  EXPECT_EQ(found.task.ended, 0);
  EXPECT_EQ(found.task.id, "u-1");
  EXPECT_TRUE(found.endPods.empty() && found.suspend.empty() && !found.deactivate);
}

TEST(KubernetesState, SaysWhyItWaits) {
  Object unscheduled = pod(0, "Pending", {}, " ");
  (*unscheduled.getObject("spec")) = Object{};
  (*unscheduled.getObject("status")) =
      conditions({{"PodScheduled", "False", "Unschedulable", "0/2 nodes are available"}});
  EXPECT_EQ(look({job()}, {unscheduled}).task.reason, "Unschedulable: 0/2 nodes are available");
  Object pulls = pod(0, "Pending", Object{{"waiting", Object{{"reason", "ImagePullBackOff"}}}});
  EXPECT_EQ(look({job()}, {pulls}).task.reason, "ImagePullBackOff");
  Object workload = conditions({{"QuotaReserved", "False", "Pending", "insufficient quota"}});
  workload = Object{{"status", std::move(workload)}};
  EXPECT_EQ(look({job({}, {}, true)}, {}, {}, &workload).task.reason, "Pending: insufficient quota");
  EXPECT_EQ(look({job({}, {}, true)}, {}, {}, &workload).task.state, State::Waiting);
}

TEST(KubernetesState, TellsHowItEnded) {
  auto found = look({job(conditions({{"Complete", "True", "CompletionsReached", ""}}))},
                    {pod(0, "Succeeded", over(0, "Completed")), pod(1, "Succeeded", over(0, "Completed"))});
  EXPECT_EQ(found.task.state, State::Succeeded);
  EXPECT_EQ(found.task.exitCode, 0);
  EXPECT_EQ(found.task.ended, kStartSeconds + 300);
  // The first one that failed says why; the other was killed for it.
  const Object failed = conditions({{"Failed", "True", "BackoffLimitExceeded", "Job has reached it"}});
  found = look({job(failed)}, {pod(0, "Failed", over(137, "Error", "2026-11-28T14:04:59Z")),
                               pod(1, "Failed", over(7, "OOMKilled", "2026-11-28T14:03:00Z"))});
  EXPECT_EQ(found.task.state, State::Failed);
  EXPECT_EQ(found.task.exitCode, 7);
  EXPECT_EQ(found.task.reason, "OOMKilled");
  // Nobody knows its pods any more.
  found = look({job(failed)}, {});
  EXPECT_EQ(found.task.state, State::Failed);
  EXPECT_EQ(found.task.exitCode, -1);
  EXPECT_EQ(found.task.reason, "BackoffLimitExceeded: Job has reached it");
  EXPECT_EQ(found.task.nodes, (std::vector<std::string>{"a1", "a2"}));
  found = look({job(conditions({{"Failed", "True", "DeadlineExceeded", "late"}}))}, {pod(0, "Failed", over(143))});
  EXPECT_EQ(found.task.reason, "DeadlineExceeded: late");
}

TEST(KubernetesState, KnowsRefusalsByTheMarkOfTheGuard) {
  const Object failed = job(conditions({{"Failed", "True", "BackoffLimitExceeded", ""}}));
  auto ends = [&](int code, const std::string &message, const std::string &node) {
    Object state = over(code);
    (*state.getObject("terminated"))["message"] = message;
    return pod(1, "Failed", std::move(state), node);
  };
  const std::string mark = "accord-guard-refused\ta2\tnode a2 has 4 'Tesla K80'\n";
  const std::map<std::string, std::string> refused{{"a2", "node a2 has 4 'Tesla K80'"}};
  EXPECT_EQ(look({failed}, {ends(78, mark, "a2")}).task.refusals, refused);
  EXPECT_EQ(look({failed}, {ends(143, "said before\n" + mark, "a2")}).task.refusals, refused);
  for (const Object &none : {ends(78, "", "a2"), ends(78, "node a2 has 4 'Tesla K80'", "a2"), ends(78, mark, "a3")})
    EXPECT_TRUE(look({failed}, {none}).task.refusals.empty());
  const Object stopped = job(conditions({{"Failed", "True", "BackoffLimitExceeded", ""}}), {{"accord/stop", "1"}});
  EXPECT_TRUE(look({stopped}, {ends(78, mark, "a2")}).task.refusals.empty());
}

TEST(KubernetesState, TasksHaveTheGuardBeforeTheirProgram) {
  TaskRequest task;
  task.name = "t-1", task.nodes = {"a1", "a2"}, task.deviceType = "a100_80g", task.devicesPerNode = 4;
  task.command = {"train", "$(A)"}, task.folder = "/shared/t-1", task.batch.torchrun = false;
  KubernetesOptions options;
  options.image = "registry/train:1";
  for (KubernetesKind kind : {KubernetesKind::Job, KubernetesKind::JobSet, KubernetesKind::TrainJob})
    for (Start start : {Start::Plain, Start::Torchrun})
      for (GuardMode mode : {GuardMode::Off, GuardMode::On, GuardMode::Auto}) {
        options.kind = kind, options.guard = mode, task.start = start;
        auto objects = kubernetesTaskObjects(task, options, "lab");
        ASSERT_TRUE(objects) << objects.error().message;
        const std::string text = llvm::formatv("{0}", objects->front()).str();
        EXPECT_EQ(text.find("accord_guard || exit") != std::string::npos, mode != GuardMode::Off);
        EXPECT_NE(text.find("/dev/termination-log"), std::string::npos);
        EXPECT_EQ(text.find("\"ACCORD_GUARD\"") != std::string::npos, mode == GuardMode::Auto);
        const bool isFirst = start == Start::Plain && mode == GuardMode::Off; // it is the command, without a shell
        EXPECT_NE(text.find(isFirst ? "\"command\":[\"train\"]" : "\"train\",\"$$(A)\"]"), std::string::npos) << text;
      }
  options.kind = KubernetesKind::JobSet, options.guard = GuardMode::On; // etcd takes 1.5 MiB
  for (int i = 3; i <= 64; ++i)
    task.nodes.push_back("a" + std::to_string(i));
  auto large = kubernetesTaskObjects(task, options, "lab");
  ASSERT_TRUE(large);
  EXPECT_LT(llvm::formatv("{0}", large->front()).str().size(), size_t(1200) << 10);
}

TEST(KubernetesState, SaysWhatTheTrainerWasTold) {
  Object said{{"progressPercentage", 45}, {"estimatedRemainingSeconds", 795649}, {"lastUpdatedTime", kEnd}};
  EngineTask task = look({job(Object{{"trainerStatus", Object(said)}})}, {pod(0, "Running", running())}).task;
  EXPECT_EQ(task.share, 0.45);
  EXPECT_EQ(task.shareAt, kStartSeconds + 300);
  EXPECT_EQ(look({job()}, {pod(0, "Running", running())}).task.share, -1);
  for (Value wrong : {Value(101), Value(-1), Value("45"), Value(nullptr)}) {
    said["progressPercentage"] = wrong;
    EXPECT_EQ(look({job(Object{{"trainerStatus", Object(said)}})}, {pod(0, "Running", running())}).task.share, -1);
  }
}

TEST(KubernetesState, IsNotOverWhileAPodRuns) {
  auto found = look({job(conditions({{"Failed", "True", "BackoffLimitExceeded", ""}}))},
                    {pod(0, "Failed", over(1)), pod(1, "Running", running())});
  EXPECT_EQ(found.task.state, State::Ending);
  EXPECT_EQ(names(found.endPods), std::vector<std::string>{"t-1-1"});
}

TEST(KubernetesState, StopsWhatWasToldTo) {
  const std::map<std::string, std::string> stopped{{"accord/stop", "1000020"}};
  auto found = look({job({}, stopped)}, {pod(0, "Running", running()), ending(pod(1, "Running", running()))});
  EXPECT_EQ(found.task.state, State::Ending);
  ASSERT_EQ(found.endPods.size(), 1u); // what was begun before a crash goes on: 20 s are left, and 5 s to the end
  EXPECT_EQ(found.endPods[0].name, "t-1-0");
  EXPECT_EQ(found.endPods[0].grace, 25);
  found = look({job(conditions({{"Failed", "True", "BackoffLimitExceeded", ""}}), stopped)},
               {pod(0, "Succeeded", over(0)), pod(1, "Succeeded", over(0))});
  EXPECT_EQ(found.task.state, State::Stopped);
  // It saved, and ended with 0 before anybody counted it as failed.
  found = look({job(conditions({{"Complete", "True", "CompletionsReached", ""}}), stopped)}, {});
  EXPECT_EQ(found.task.state, State::Stopped);
  // It had no pods yet: it must not get any.
  found = look({job({}, stopped)}, {});
  EXPECT_EQ(found.task.state, State::Ending);
  EXPECT_EQ(found.suspend, std::vector<std::string>{"t-1"});
  EXPECT_EQ(look({job({}, stopped, true)}, {}).task.state, State::Stopped);
  const Object workload{{"metadata", Object{{"name", "w"}}}, {"spec", Object{{"active", true}}}};
  EXPECT_TRUE(look({job({}, stopped, true)}, {}, {}, &workload).deactivate);
  const Object inactive{{"metadata", Object{{"name", "w"}}}, {"spec", Object{{"active", false}}}};
  EXPECT_FALSE(look({job({}, stopped, true)}, {}, {}, &inactive).deactivate);
}

TEST(KubernetesState, LosesTasksWithTheirNodes) {
  const std::vector<Object> pods{pod(0, "Running", running()),
                                 ending(pod(1, "Running", running()), "DeletionByTaintManager")};
  KubernetesTask task;
  for (const Object &one : pods)
    task.pods.push_back(&one);
  EXPECT_EQ(kubernetesDoubtfulNodes(task), std::set<std::string>{"a2"});
  EXPECT_EQ(look({job()}, pods).task.state, State::Ending); // its node answers: the pod only ends
  auto found = look({job()}, pods, {"a2"});
  EXPECT_EQ(found.task.state, State::Ending);
  EXPECT_EQ(found.lostNode, "a2");
  EXPECT_EQ(names(found.endPods), std::vector<std::string>{"t-1-0"});
  found = look({job()}, {pod(0, "Failed", over(143)), pods[1]}, {"a2"});
  EXPECT_EQ(found.task.state, State::Lost);
  EXPECT_EQ(found.task.reason, "node 'a2' failed");
  // It was written down: the node came back, and its pod is gone.
  const Object failed = conditions({{"Failed", "True", "BackoffLimitExceeded", ""}});
  EXPECT_EQ(look({job(failed, {{"accord/lost", "a2"}})}, {pod(0, "Failed", over(143))}).task.state, State::Lost);
  // A node whose pods wait for nobody: a pod that runs on a node that does not answer yet is no loss.
  EXPECT_EQ(look({job()}, {pod(0, "Running", running()), pod(1, "Running", running())}, {"a2"}).task.state,
            State::Running);
  // The kubelet ended it because its node went down in order.
  Object shut = ending(pod(0, "Failed", over(143)), "TerminationByKubelet");
  EXPECT_EQ(look({job(failed)}, {shut}).task.state, State::Lost);
  Object evicted = ending(pod(0, "Failed", over(143)), "EvictionByEvictionAPI");
  EXPECT_EQ(look({job(failed)}, {evicted}).task.state, State::Stopped);
}

TEST(KubernetesState, SeveralJobsAreOneTask) {
  const std::map<std::string, std::string> two{{"accord/objects", "2"}};
  const Object complete = conditions({{"Complete", "True", "CompletionsReached", ""}});
  const std::vector<Object> pods{pod(0, "Succeeded", over(0)), pod(1, "Succeeded", over(0))};
  EXPECT_EQ(look({job(complete, two), job(complete, two)}, pods).task.state, State::Succeeded);
  EXPECT_EQ(look({job(complete, two), job({}, two)}, pods).task.state, State::Running);
  Object first = job({}, two); // the second one is not created yet
  Object &metadata = *first.getObject("metadata");
  metadata["name"] = "t-1-0", metadata["labels"] = Object{{"accord/object", "t-1"}};
  auto found = look({first}, {pod(0, "Running", running())});
  EXPECT_EQ(found.task.state, State::Waiting);
  EXPECT_EQ(found.task.reason, "not all of its Jobs are there");
}

TEST(KubernetesState, OfDeletedPartsTheRestIsEnded) {
  auto part = [](int number, std::map<std::string, std::string> annotations, Object status = {}) {
    annotations["accord/objects"] = "3";
    Object one = job(std::move(status), annotations);
    Object &metadata = *one.getObject("metadata");
    metadata["name"] = "t-1-" + std::to_string(number);
    metadata["labels"] = Object{{"accord/object", "t-1"}};
    return one;
  };
  const Object first = part(0, {}), whole = part(0, {{"accord/whole", "1"}}), second = part(1, {}), third = part(2, {});
  // While it is being made the first ones are there.
  EXPECT_EQ(look({first, second}, {pod(0, "Running", running())}).task.state, State::Waiting);
  EXPECT_EQ(look({whole, second, third}, {pod(0, "Running", running())}).task.state, State::Waiting);
  for (const std::vector<Object> &rest : {std::vector{whole, third}, std::vector{second, third}}) {
    const KubernetesFindings live = look(rest, {pod(2, "Running", running(), "a3")});
    EXPECT_EQ(live.task.state, State::Ending);
    EXPECT_TRUE(live.stop);
    EXPECT_EQ(names(live.endPods), std::vector<std::string>{"t-1-2"});
    const KubernetesFindings none = look(rest, {});
    EXPECT_EQ(none.task.state, State::Stopped);
    EXPECT_EQ(none.task.reason, "some of its Jobs were deleted");
    EXPECT_EQ(none.suspend.size(), 2u);
    std::vector<Object> stopped = rest; // the rest fails because its pods are deleted
    stopped[0] = part(rest.front() == whole ? 0 : 1, {{"accord/whole", "1"}, {"accord/stop", "1000000"}});
    stopped[1] = part(2, {}, conditions({{"Failed", "True", "BackoffLimitExceeded", ""}}));
    EXPECT_EQ(look(stopped, {pod(2, "Failed", over(143), "a3")}).task.state, State::Stopped);
    EXPECT_FALSE(look(stopped, {}).stop);
  }
}

TEST(KubernetesState, Nodes) {
  Object node{{"metadata", Object{{"name", "a1"}, {"labels", Object{{"accord/device", "a100"}}}}},
              {"spec", Object{}},
              {"status", conditions({{"Ready", "True", "KubeletReady", ""}})}};
  (*node.getObject("status"))["allocatable"] = Object{{"nvidia.com/gpu", "8"}};
  auto read = [&] { return kubernetesNode(node, "nvidia.com/gpu", "accord/device"); };
  EXPECT_EQ(read().devices, 8);
  EXPECT_EQ(read().deviceType, "a100");
  EXPECT_EQ(read().state, EngineNode::State::Up);
  (*node.getObject("spec"))["unschedulable"] = true;
  EXPECT_EQ(read().state, EngineNode::State::Drained);
  EXPECT_EQ(read().reason, "unschedulable");
  *node.getObject("status") = conditions({{"Ready", "Unknown", "NodeStatusUnknown", "stopped posting"}});
  EXPECT_EQ(read().state, EngineNode::State::Down);
  EXPECT_EQ(read().reason, "NodeStatusUnknown: stopped posting");
  EXPECT_EQ(read().devices, 0);
}

TEST(KubernetesState, Quantities) {
  auto of = [](Value value) { return kubernetesQuantity(&value); };
  EXPECT_EQ(of(8), 8);
  EXPECT_EQ(of("8"), 8);
  EXPECT_EQ(of("2k"), 2000);
  EXPECT_EQ(of("1Ki"), 1024);
  EXPECT_EQ(of("8000m"), 8);
  EXPECT_EQ(of("7999m"), 7);
  for (const char *wrong : {"", "x", "8x", "-8", "NaN", "1e", "Ki"})
    EXPECT_EQ(of(wrong), 0) << wrong;
  EXPECT_EQ(of(-3), 0);
  EXPECT_EQ(of("99999999999999999999999E"), int64_t(1) << 62);
  EXPECT_EQ(kubernetesQuantity(nullptr), 0);
}

TEST(KubernetesState, Times) {
  EXPECT_EQ(kubernetesTime(kStart), kStartSeconds);
  EXPECT_EQ(kubernetesTime("2026-11-28T14:00:00.500000Z"), kStartSeconds + 0.5);
  EXPECT_EQ(kubernetesTime("2024-02-29T00:00:00Z"), 1709164800);
  for (const char *wrong :
       {"", "now", "2026-11-28", "2026-11-28T14:00:00", "2026-11-28T14:00:00+01:00", "1960-01-01T00:00:00Z"})
    EXPECT_EQ(kubernetesTime(wrong), 0) << wrong;
}

// Whatever stands in the fields: an answer, without a crash.
TEST(KubernetesState, AnyObjects) {
  accord::SplitMix random(7);
  const std::vector<std::string> words{
      "metadata", "status",      "spec",        "conditions",   "type",        "True",  "Failed",  "name",
      "labels",   "annotations", "accord/stop", "accord/nodes", "accord/rank", "phase", "Running", "containerStatuses",
      "state",    "terminated",  "exitCode",    "-1",           "1e300",       ",,",    kStart};
  auto word = [&] { return words[random.next() % words.size()]; };
  std::function<Value(int)> any = [&](int depth) -> Value {
    switch (random.next() % (depth > 4 ? 4 : 7)) {
    case 0:
      return nullptr;
    case 1:
      return static_cast<int64_t>(random.next());
    case 2:
      return random.next() % 2 == 0;
    case 3:
      return word();
    case 4: {
      Array all;
      for (size_t i = 0; i < random.next() % 4; ++i)
        all.push_back(any(depth + 1));
      return all;
    }
    default: {
      Object object;
      for (size_t i = 0; i < 1 + random.next() % 5; ++i)
        object[word()] = any(depth + 1);
      return object;
    }
    }
  };
  for (int i = 0; i < 4000; ++i) {
    Object one{{"metadata", any(1)}, {"status", any(1)}, {"spec", any(1)}}, other = one;
    other["status"] = any(1);
    look({one, other}, {one, other}, {"", "a"}, &other);
    kubernetesNode(one, "x", "y");
  }
}
