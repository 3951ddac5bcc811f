// A task as objects of Kubernetes.
#include "lib/service/engines/KubernetesEngine.h"
#include "lib/service/engines/KubernetesState.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord::service {
namespace {

using llvm::StringRef;
using Keys = KubernetesKeys;

constexpr size_t kMaxName = 60, kMaxObjectName = 40, kHash = 16;
constexpr double kMaxNotice = 86400;

Error failed(std::string message) { return Error{Code::EngineFailed, std::move(message)}; }

std::string variableOf(const TaskRequest &task, StringRef name) {
  for (const auto &[key, value] : task.environment)
    if (key == name)
      return value;
  return "";
}

/// Words of one argument of Megatron-LM, "--option value": quotes are those of a shell, and "${NAME:?…}" is a variable
/// of the task.
Result<std::vector<std::string>> megatronWords(const TaskRequest &task, const std::string &argument) {
  const auto [option, rest] = StringRef(argument).split(' ');
  std::vector<std::string> words{option.str()};
  StringRef value = rest.trim();
  if (value.empty())
    return words;
  if (value.size() > 1 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front())
    value = value.drop_front().drop_back();
  if (StringRef asked = value; asked.consume_front("${")) {
    const auto [name, what] = asked.split(":?");
    const std::string given = variableOf(task, name);
    if (given.empty())
      return failed(fmt::format("task '{}' has no variable '{}': {}", task.name, name.str(), what.rtrim('}').str()));
    words.push_back(given);
    return words;
  }
  words.push_back(value.str());
  return words;
}

Result<std::vector<std::string>> commandOf(const TaskRequest &task) {
  if (task.start == Start::Plain)
    return task.command;
  std::vector<std::string> words;
  for (const std::string &word : task.command) {
    if (word == "@megatron") {
      if (!task.batch.megatron)
        return failed(fmt::format("task '{}': @megatron: {}", task.name, task.batch.withoutMegatron));
      for (const std::string &argument : task.batch.megatron->arguments) {
        ACCORD_TRY(some, megatronWords(task, argument));
        words.insert(words.end(), some.begin(), some.end());
      }
      continue;
    }
    std::string made = word;
    const std::string job = variableOf(task, "ACCORD_JOB");
    for (size_t at = 0; (at = made.find("@job", at)) != std::string::npos; at += job.size())
      made.replace(at, 4, job);
    words.push_back(made);
  }
  return words;
}

/// The plan's variables and those of the task, each name once: the last one holds.
std::vector<std::pair<std::string, std::string>> environmentOf(const TaskRequest &task) {
  std::vector<std::pair<std::string, std::string>> all;
  auto set = [&](const std::string &name, const std::string &value) {
    for (auto &[key, held] : all)
      if (key == name) {
        held = value;
        return;
      }
    all.push_back({name, value});
  };
  for (const auto &[key, value] : task.layout.environment)
    set(key, value);
  if (task.start == Start::Megatron)
    set("CUDA_DEVICE_MAX_CONNECTIONS", "1");
  for (const auto &[key, value] : task.environment)
    set(key, value);
  return all;
}

Result<void> check(const TaskRequest &task) {
  const bool isName = !task.name.empty() && task.name.size() <= kMaxName && llvm::isLower(task.name[0]) &&
                      llvm::all_of(task.name, [](char c) { return llvm::isLower(c) || llvm::isDigit(c) || c == '-'; });
  if (!isName)
    return failed(fmt::format("'{}' is no name of a task", task.name));
  if (task.nodes.empty() || task.devicesPerNode < 1 || task.command.empty())
    return failed(fmt::format("task '{}' has no nodes, no devices or no command", task.name));
  for (const std::string &node : task.nodes)
    if (node.empty() || !llvm::all_of(node, [](char c) { return llvm::isAlnum(c) || c == '-' || c == '.'; }))
      return failed(fmt::format("'{}' is no name of a node", node));
  return {};
}

} // namespace

std::string kubernetesObjectName(const std::string &task) {
  if (task.size() <= kMaxObjectName && !StringRef(task).ends_with("-"))
    return task;
  const std::string start = StringRef(task).take_front(kMaxObjectName - kHash - 1).rtrim('-').str();
  return fmt::format("{}-{:016x}", start, llvm::xxh3_64bits(StringRef(task)));
}

Result<std::vector<llvm::json::Value>> kubernetesTaskObjects(const TaskRequest &task, const KubernetesOptions &options,
                                                             const std::string &nameSpace) {
  if (Result<void> checked = check(task); !checked)
    return checked.takeError();
  ACCORD_TRY(command, commandOf(task));
  LaunchLayout layout;
  layout.nodes = static_cast<int64_t>(task.nodes.size()), layout.perNode = task.devicesPerNode;
  layout.pools = {{task.deviceType, layout.nodes, layout.perNode}};
  layout.job = kubernetesObjectName(task.name), layout.title = task.name;
  layout.environment = environmentOf(task);
  LaunchOptions launch;
  launch.image = options.image, launch.resource = options.resource, launch.kind = options.kind;
  launch.runtime = options.runtime, launch.nodeLabel = options.nodeLabel;
  BatchOptions &batch = launch.batch.emplace(task.batch);
  batch.torchrun = task.start != Start::Plain, batch.requeue = false;
  batch.notice = static_cast<int64_t>(std::ceil(task.notice > 0 ? std::min(task.notice, kMaxNotice) : 0));
  if (options.queue.empty() || !options.queueOfTenant || batch.queue.empty())
    batch.queue = options.queue;
  if (!options.priorityClass.empty())
    batch.priorityClass = options.priorityClass;
  KubernetesRun &run = launch.run.emplace();
  run.name = layout.job, run.nameSpace = nameSpace, run.nodes = task.nodes, run.command = std::move(command);
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
  return made;
}

} // namespace accord::service
