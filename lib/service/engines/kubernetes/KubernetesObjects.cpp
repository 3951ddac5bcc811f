// A task as objects of Kubernetes.
#include "lib/service/engines/kubernetes/KubernetesEngine.h"
#include "lib/service/engines/kubernetes/KubernetesState.h"
#include "lib/service/engines/local/TaskCommand.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord::service {
namespace {

using llvm::StringRef;
using Keys = KubernetesKeys;

constexpr size_t kMaxObjectName = 40, kHash = 16;
constexpr double kMaxNotice = 86400;

Error failed(std::string message) { return Error{Code::EngineFailed, std::move(message)}; }

/// Each name once: the last one holds.
std::vector<std::pair<std::string, std::string>>
environmentOf(const std::vector<std::pair<std::string, std::string>> &given) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto &[key, value] : given) {
    auto held = llvm::find_if(all, [&](const auto &one) { return one.first == key; });
    if (held == all.end())
      all.push_back({key, value});
    else
      held->second = value;
  }
  return all;
}

Result<void> check(const TaskRequest &task) {
  if (task.devicesPerNode < 1)
    return failed(fmt::format("task '{}' wants {} devices of a node", task.name, task.devicesPerNode));
  for (const std::string &node : task.nodes)
    if (node.empty() || !llvm::all_of(node, [](char c) { return llvm::isAlnum(c) || c == '-' || c == '.'; }))
      return failed(fmt::format("'{}' is no name of a node", llvm::json::fixUTF8(node)));
  return {};
}

} // namespace

std::string kubernetesObjectName(const std::string &task) {
  if (task.size() <= kMaxObjectName && !StringRef(task).ends_with("-"))
    return task;
  const std::string start = StringRef(task).take_front(kMaxObjectName - kHash - 1).rtrim('-').str();
  return fmt::format("{}-{:016x}", start, llvm::xxh3_64bits(StringRef(task)));
}

Result<std::vector<llvm::json::Value>> kubernetesTaskObjects(const TaskRequest &asked, const KubernetesOptions &options,
                                                             const std::string &nameSpace) {
  TaskRequest task = asked;
  addGuard(task, options.guard, options.nodeLabel.empty() ? "" : task.deviceType);
  ACCORD_TRY(order, orderFrom(task, "/"));
  if (Result<void> checked = check(task); !checked)
    return checked.takeError();
  LaunchLayout layout;
  layout.nodes = static_cast<int64_t>(task.nodes.size()), layout.perNode = task.devicesPerNode;
  layout.pools = {{task.deviceType, layout.nodes, layout.perNode}};
  if (!order.guard.empty())
    layout.pools = task.layout.pools, layout.isVirtual = task.layout.isVirtual;
  layout.job = kubernetesObjectName(task.name), layout.title = task.name;
  layout.environment = environmentOf(order.environment);
  LaunchOptions launch;
  launch.image = options.image, launch.resource = options.resource, launch.kind = options.kind;
  launch.runtime = options.runtime, launch.nodeLabel = options.nodeLabel;
  BatchOptions &batch = launch.batch.emplace(task.batch);
  batch.torchrun = order.isTorchrun, batch.requeue = false;
  batch.notice = static_cast<int64_t>(std::ceil(std::min(order.notice, kMaxNotice)));
  if (options.queue.empty() || !options.queueOfTenant || batch.queue.empty())
    batch.queue = options.queue;
  if (!options.priorityClass.empty())
    batch.priorityClass = options.priorityClass;
  KubernetesRun &run = launch.run.emplace();
  run.name = layout.job, run.nameSpace = nameSpace, run.nodes = task.nodes, run.command = std::move(order.words);
  run.directory = !task.directory.empty() ? task.directory : options.claim.empty() ? "" : task.folder;
  run.claim = options.claim, run.mount = options.mount, run.keep = options.keep;
  run.labels = {{Keys::scheduler, labelOf(options.prefix, "s-", 63)}, {Keys::object, run.name}};
  if (task.job > 0)
    run.labels["accord/job"] = std::to_string(task.job);
  const bool areSeveral =
      options.kind == KubernetesKind::Job && keepsOrderOfNodes(run, options.kind, !batch.queue.empty());
  run.annotations = {{Keys::task, task.name},
                     {Keys::nodes, fmt::format("{}", fmt::join(task.nodes, ","))},
                     {Keys::objects, std::to_string(areSeveral ? task.nodes.size() : 1)}};
  std::vector<llvm::json::Value> made;
  for (Manifest &one : kubernetesObjects(layout, launch))
    made.push_back(std::move(one.object));
  for (size_t i = 1; i < made.size(); ++i) // the first one says it for all: thousands of nodes are a long list
    if (llvm::json::Object *annotations = made[i].getAsObject()->getObject("metadata")->getObject("annotations"))
      annotations->erase(Keys::nodes);
  return made;
}

} // namespace accord::service
