#include "lib/service/control/MakeEngine.h"
#include "lib/service/engines/Subprocess.h"
#include "lib/service/engines/TaskShares.h"
#include "lib/service/engines/kubernetes/KubernetesEngine.h"
#include "lib/service/engines/local/LocalEngine.h"
#include "lib/service/engines/local/PodmanEngine.h"
#include "lib/service/engines/slurm/SlurmEngine.h"
#include "lib/support/Diagnostics.h"
#include "lib/support/Number.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord::service {
namespace {

std::string valueOf(const EngineOptions &options, const std::string &name, const std::string &usual = {}) {
  auto at = options.find(name);
  return at == options.end() || at->second.empty() ? usual : at->second;
}

Error wrongValue(const std::string &name, const std::string &value, const std::string &allowed) {
  return Error{Code::EngineFailed,
               fmt::format("option '{}' is '{}', and has to be {}", name, firstLineOf(value), allowed)};
}

Error unknown(const std::string &what, const std::string &found, const std::vector<std::string> &allowed) {
  return Error{Code::EngineFailed,
               fmt::format("{} '{}'; allowed are {}", what, firstLineOf(found), fmt::join(allowed, ", ")),
               {},
               {},
               nearest(found, allowed)};
}

Result<double> secondsOf(const EngineOptions &options, const std::string &name, double usual) {
  std::string text = valueOf(options, name);
  if (text.empty())
    return usual;
  Result<double> seconds = parseReal(text);
  if (!seconds || !(*seconds > 0) || *seconds > 3600)
    return wrongValue(name, text, "a number of seconds above 0, at most 3600");
  return seconds;
}

/// What stands between blanks.
std::vector<std::string> wordsOf(const EngineOptions &options, const std::string &name) {
  const std::string text = valueOf(options, name);
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(text).split(parts, ' ', -1, false);
  std::vector<std::string> words;
  for (llvm::StringRef part : parts)
    words.push_back(part.str());
  return words;
}

/// "a100_80g=a100, h100=h100".
Result<std::map<std::string, std::string>> pairsOf(const EngineOptions &options, const std::string &name) {
  const std::string text = valueOf(options, name);
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(text).split(parts, ',', -1, false);
  std::map<std::string, std::string> pairs;
  for (llvm::StringRef part : parts) {
    auto [key, value] = part.split('=');
    if (key.trim().empty() || value.trim().empty() || !pairs.emplace(key.trim().str(), value.trim().str()).second)
      return wrongValue(name, text, "pairs NAME=VALUE between commas, each name once");
  }
  return pairs;
}

Result<GuardMode> guardFrom(const EngineOptions &options, const std::string &usual) {
  const std::string word = valueOf(options, "guard", usual);
  auto mode = guardModeFrom(word);
  return mode ? Result<GuardMode>(*mode) : wrongValue("guard", word, "on, off, virtual or auto");
}

Result<LocalOptions> localOptionsFrom(const EngineOptions &options) {
  ACCORD_TRY(nodes, localNodesFrom(valueOf(options, "nodes")));
  ACCORD_TRY(timeLimit, secondsOf(options, "time-limit", 10));
  LocalOptions local{nodes, valueOf(options, "folder"), valueOf(options, "prefix"), timeLimit};
  if (std::string text = valueOf(options, "shares"); !text.empty()) {
    Result<int64_t> shares = parseWhole(text, {1, kMaxShares});
    if (!shares)
      return wrongValue("shares", text, fmt::format("a whole number from 1 to {}", kMaxShares));
    local.shares = *shares;
  }
  return local;
}

Result<std::unique_ptr<Engine>> makeLocal(const EngineOptions &options) {
  ACCORD_TRY(local, localOptionsFrom(options));
  // Nodes that are stated may be parts of this machine or invented.
  ACCORD_TRY(guard, guardFrom(options, local.nodes.empty() ? "on" : "off"));
  local.guard = guard;
  return localEngine(std::move(local));
}

Result<std::unique_ptr<Engine>> makePodman(const EngineOptions &options) {
  ACCORD_TRY(local, localOptionsFrom(options));
  PodmanOptions podman;
  podman.local = std::move(local);
  podman.image = valueOf(options, "image");
  podman.runtime = valueOf(options, "runtime");
  podman.network = valueOf(options, "network", podman.network);
  podman.device = valueOf(options, "device");
  // Without devices of their own, containers show none.
  ACCORD_TRY(guard, guardFrom(options, podman.device.empty() ? "off" : "auto"));
  podman.local.guard = guard;
  podman.program = valueOf(options, "program", podman.program);
  podman.options = wordsOf(options, "options");
  return podmanEngine(std::move(podman));
}

Result<std::unique_ptr<Engine>> makeSlurm(const EngineOptions &options) {
  SlurmOptions slurm{.prefix = valueOf(options, "prefix"), .folder = valueOf(options, "folder")};
  ACCORD_TRY(timeLimit, secondsOf(options, "time-limit", slurm.timeLimit));
  ACCORD_TRY(types, pairsOf(options, "types"));
  ACCORD_TRY(guard, guardFrom(options, "auto"));
  slurm.guard = guard;
  slurm.partition = valueOf(options, "partition");
  slurm.account = valueOf(options, "account");
  slurm.sbatch = wordsOf(options, "sbatch");
  slurm.gres = valueOf(options, "gres", slurm.gres);
  slurm.types = std::move(types);
  slurm.timeLimit = timeLimit;
  slurm.tools = valueOf(options, "tools");
  slurm.setup = valueOf(options, "setup");
  if (std::string file = valueOf(options, "conf"); !file.empty())
    slurm.environment.emplace_back("SLURM_CONF", file);
  return slurmEngine(slurm);
}

Result<std::unique_ptr<Engine>> makeKubernetes(const EngineOptions &options) {
  KubernetesOptions kubernetes;
  const std::pair<const char *, std::string *> texts[] = {{"kubeconfig", &kubernetes.kubeconfig},
                                                          {"context", &kubernetes.context},
                                                          {"url", &kubernetes.url},
                                                          {"namespace", &kubernetes.nameSpace},
                                                          {"image", &kubernetes.image},
                                                          {"resource", &kubernetes.resource},
                                                          {"node-label", &kubernetes.nodeLabel},
                                                          {"queue", &kubernetes.queue},
                                                          {"runtime", &kubernetes.runtime},
                                                          {"priority-class", &kubernetes.priorityClass},
                                                          {"prefix", &kubernetes.prefix},
                                                          {"claim", &kubernetes.claim},
                                                          {"mount", &kubernetes.mount}};
  for (const auto &[name, value] : texts)
    *value = valueOf(options, name, *value);
  const std::map<std::string, KubernetesKind> kinds{
      {"job", KubernetesKind::Job}, {"jobset", KubernetesKind::JobSet}, {"trainjob", KubernetesKind::TrainJob}};
  const std::string kind = valueOf(options, "kind", "job"), own = valueOf(options, "queue-of-tenant", "no");
  if (!kinds.contains(kind))
    return wrongValue("kind", kind, "job, jobset or trainjob");
  if (own != "yes" && own != "no")
    return wrongValue("queue-of-tenant", own, "yes or no");
  kubernetes.kind = kinds.at(kind);
  kubernetes.queueOfTenant = own == "yes";
  if (std::string keep = valueOf(options, "keep"); !keep.empty()) {
    Result<int64_t> seconds = parseWhole(keep, {0, 366 * int64_t(86400)});
    if (!seconds)
      return wrongValue("keep", keep, "a whole number of seconds, at most those of a year");
    kubernetes.keep = *seconds;
  }
  ACCORD_TRY(guard, guardFrom(options, "auto"));
  kubernetes.guard = guard;
  ACCORD_TRY(timeLimit, secondsOf(options, "time-limit", kubernetes.limits.call));
  kubernetes.limits.call = timeLimit;
  return kubernetesEngine(kubernetes);
}

} // namespace

const std::vector<EngineKind> &engineKinds() {
  static const std::vector<EngineKind> kinds{
      {"kubernetes",
       {"kubeconfig", "context", "url", "namespace", "kind", "image", "resource", "node-label", "queue",
        "queue-of-tenant", "priority-class", "runtime", "prefix", "claim", "mount", "keep", "time-limit", "guard"},
       makeKubernetes},
      {"local", {"nodes", "shares", "folder", "prefix", "time-limit", "guard"}, makeLocal},
      {"podman",
       {"nodes", "shares", "folder", "prefix", "time-limit", "image", "runtime", "network", "device", "program",
        "options", "guard"},
       makePodman},
      {"slurm",
       {"prefix", "folder", "partition", "account", "sbatch", "gres", "types", "time-limit", "tools", "conf", "guard",
        "setup"},
       makeSlurm},
  };
  return kinds;
}

Result<void> checkOptions(const std::string &kind, const EngineOptions &options,
                          const std::vector<std::string> &allowed) {
  for (const auto &[name, value] : options)
    if (std::find(allowed.begin(), allowed.end(), name) == allowed.end())
      return unknown(fmt::format("engine '{}' has no option", kind), name, allowed);
  return {};
}

Result<std::unique_ptr<Engine>> makeEngine(const std::string &kind, const EngineOptions &options) {
  std::vector<std::string> names;
  for (const EngineKind &one : engineKinds()) {
    names.push_back(one.name);
    if (one.name != kind)
      continue;
    if (auto checked = checkOptions(kind, options, one.options); !checked)
      return checked.takeError();
    return one.make(options);
  }
  return unknown("there is no engine", kind, names);
}

} // namespace accord::service
