#include "lib/service/engines/local/TaskCommand.h"
#include "lib/service/engines/Subprocess.h"
#include "lib/service/engines/TaskGuard.h"
#include "lib/service/engines/TaskShares.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace accord::service {
namespace {

bool isVariableName(llvm::StringRef name) {
  return !name.empty() && !llvm::isDigit(name[0]) &&
         std::all_of(name.begin(), name.end(), [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

bool hasZero(const std::string &text) { return text.find('\0') != std::string::npos; }

Error refused(const std::string &name, const std::string &why) {
  return Error{Code::EngineFailed, fmt::format("task '{}' cannot be started: {}", firstLineOf(name), why)};
}

std::string replaced(std::string text, llvm::StringRef what, const std::string &by) {
  for (size_t at = 0; (at = text.find(what.str(), at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

/// Words of one argument of Megatron-LM, "--option value". Quotes are those of a shell, and a value "${NAME:?WHAT}",
/// which the plan does not say, is a variable of the task.
Result<std::vector<std::string>> megatronWords(const TaskRequest &request, llvm::StringRef argument) {
  const auto [option, rest] = argument.split(' ');
  std::vector<std::string> words{option.str()};
  llvm::StringRef value = rest.trim();
  const bool isQuoted = value.size() > 1 && (value[0] == '"' || value[0] == '\'') && value.back() == value[0];
  if (isQuoted)
    value = value.drop_front().drop_back();
  if (llvm::StringRef asked = value; asked.consume_front("${")) {
    const auto [name, what] = asked.split(":?");
    for (const auto &[key, given] : request.environment)
      if (key == name) {
        words.push_back(given);
        return words;
      }
    return refused(request.name, fmt::format("it has no variable '{}': {}", name.str(), what.rtrim('}').str()));
  }
  llvm::SmallVector<llvm::StringRef> parts;
  if (isQuoted)
    parts.push_back(value);
  else
    value.split(parts, ' ', -1, false);
  for (llvm::StringRef part : parts)
    words.push_back(part.str());
  return words;
}

/// "@megatron" becomes the arguments of the plan, "@job" the name of the job, as in scripts of lib/launch.
Result<std::vector<std::string>> trainingWords(const TaskRequest &request) {
  constexpr const char *kMegatron = "@megatron";
  std::vector<std::string> given = request.command, words;
  if (request.start == Start::Megatron && std::find(given.begin(), given.end(), kMegatron) == given.end())
    given.emplace_back(kMegatron);
  std::string job = std::to_string(request.job);
  for (const auto &[name, value] : request.environment)
    if (name == "ACCORD_JOB")
      job = value;
  for (const std::string &word : given) {
    if (word != kMegatron) {
      words.push_back(replaced(word, "@job", job));
      continue;
    }
    if (!request.batch.megatron)
      return refused(request.name, request.batch.withoutMegatron.empty() ? "its plan has no arguments of Megatron-LM"
                                                                         : request.batch.withoutMegatron);
    for (const std::string &argument : request.batch.megatron->arguments) {
      ACCORD_TRY(some, megatronWords(request, argument));
      words.insert(words.end(), some.begin(), some.end());
    }
  }
  return words;
}

std::string listOf(const std::vector<int64_t> &numbers) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

} // namespace

bool isTaskName(const std::string &name) {
  return !name.empty() && name.size() <= 60 && name[0] >= 'a' && name[0] <= 'z' &&
         std::all_of(name.begin(), name.end(), [](char c) { return llvm::isLower(c) || llvm::isDigit(c) || c == '-'; });
}

Result<TaskOrder> orderFrom(const TaskRequest &request, const std::string &directory, int64_t sharesPerDevice) {
  const std::string &name = request.name;
  if (!isTaskName(name))
    return refused(name, "its name has to be at most 60 lower case letters, digits and '-', a letter first");
  if (request.nodes.empty())
    return refused(name, "it names no node");
  if (std::set<std::string>(request.nodes.begin(), request.nodes.end()).size() != request.nodes.size())
    return refused(name, "it names a node twice");
  if (request.devicesPerNode < 0)
    return refused(name, fmt::format("it wants {} devices of a node", request.devicesPerNode));
  if (std::string error = sharesError(request, sharesPerDevice, "option 'shares=2' divides each into two");
      !error.empty())
    return refused(name, error);
  if (request.command.empty() || request.command[0].empty())
    return refused(name, "it has no command");
  TaskOrder order;
  order.name = name;
  order.nodes = request.nodes;
  order.devicesPerNode = request.devicesPerNode;
  order.shares = request.shares;
  order.words = request.command;
  order.isTorchrun = request.start != Start::Plain;
  if (order.isTorchrun) {
    ACCORD_TRY(words, trainingWords(request));
    order.words = std::move(words);
  }
  order.folder = request.folder.empty() ? directory : request.folder;
  order.directory = request.directory.empty() ? order.folder : request.directory;
  for (const std::string &path : {order.folder, order.directory})
    if (path.empty() || path[0] != '/')
      return refused(name, fmt::format("its folder '{}' is not absolute", path));
  if (!request.layout.pools.empty() && !request.layout.pools[0].products.empty())
    order.guard = guardText(guardOf(request.layout));
  order.notice = request.notice > 0 ? std::min(request.notice, 1e9) : 0;
  order.environment = request.layout.environment;
  if (request.start == Start::Megatron || request.batch.megatron)
    order.environment.emplace_back("CUDA_DEVICE_MAX_CONNECTIONS", "1");
  order.environment.insert(order.environment.end(), request.environment.begin(), request.environment.end());
  std::vector<std::string> texts = order.words;
  texts.insert(texts.end(), order.nodes.begin(), order.nodes.end());
  texts.insert(texts.end(), {order.folder, order.directory});
  for (const auto &[variable, value] : order.environment) {
    if (!isVariableName(variable))
      return refused(name, fmt::format("'{}' is no name of a variable", firstLineOf(variable)));
    texts.push_back(value);
  }
  if (std::any_of(texts.begin(), texts.end(), hasZero))
    return refused(name, "there is a zero byte in it");
  return order;
}

std::vector<TaskRank> ranksOf(const TaskOrder &order, const std::vector<std::vector<int64_t>> &devices,
                              const std::string &address, int64_t port, int64_t sharesPerDevice) {
  std::vector<TaskRank> ranks;
  const size_t nodes = order.nodes.size();
  for (size_t i = 0; i < nodes; ++i) {
    TaskRank rank{order.nodes[i], devices[i], order.words, order.environment};
    if (order.isTorchrun) {
      std::vector<std::string> torchrun{"torchrun",
                                        fmt::format("--nnodes={}", nodes),
                                        fmt::format("--nproc-per-node={}", std::max<int64_t>(order.devicesPerNode, 1)),
                                        fmt::format("--node-rank={}", i),
                                        "--master-addr=" + address,
                                        fmt::format("--master-port={}", port)};
      rank.words.insert(rank.words.begin(), torchrun.begin(), torchrun.end());
    }
    if (!order.guard.empty())
      rank.words.insert(rank.words.begin(),
                        {"/bin/sh", "-c", order.guard + "accord_guard || exit\nexec \"$@\"", order.name});
    const std::string list = listOf(devices[i]);
    const int64_t world = int64_t(nodes) * std::max<int64_t>(order.devicesPerNode, 1);
    rank.environment.insert(rank.environment.end(), {{"NODE_RANK", std::to_string(i)},
                                                     {"NNODES", std::to_string(nodes)},
                                                     {"MASTER_ADDR", address},
                                                     {"MASTER_PORT", std::to_string(port)},
                                                     {"WORLD_SIZE", std::to_string(world)},
                                                     {"CUDA_VISIBLE_DEVICES", list},
                                                     {"ROCR_VISIBLE_DEVICES", list},
                                                     {"ACCORD_DEVICES", list},
                                                     {"ACCORD_NODE", order.nodes[i]},
                                                     {kGuardMarkVariable, guardMarkOf(order.folder)}});
    if (order.shares > 0)
      rank.environment.push_back(shareVariable(order.shares, sharesPerDevice));
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

} // namespace accord::service
