#include "lib/service/engines/MakeEngine.h"
#include "lib/service/engines/KubernetesEngine.h"
#include "lib/service/engines/LocalEngine.h"
#include "lib/service/engines/PodmanEngine.h"
#include "lib/service/engines/Subprocess.h"
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

Result<double> secondsOf(const EngineOptions &options, const std::string &name, double usual) {
  std::string text = valueOf(options, name);
  if (text.empty())
    return usual;
  Result<double> seconds = parseReal(text);
  if (!seconds || !(*seconds > 0) || *seconds > 3600)
    return Error{Code::EngineFailed,
                 fmt::format("option '{}' is '{}', and has to be a number of seconds above 0, at most 3600", name,
                             firstLineOf(text))};
  return seconds;
}

Result<LocalOptions> localOptionsFrom(const EngineOptions &options) {
  ACCORD_TRY(nodes, localNodesFrom(valueOf(options, "nodes")));
  ACCORD_TRY(timeLimit, secondsOf(options, "time-limit", 10));
  return LocalOptions{nodes, valueOf(options, "folder"), valueOf(options, "prefix"), timeLimit};
}

Result<std::unique_ptr<Engine>> makeLocal(const EngineOptions &options) {
  ACCORD_TRY(local, localOptionsFrom(options));
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
  podman.program = valueOf(options, "program", podman.program);
  const std::string more = valueOf(options, "options");
  llvm::SmallVector<llvm::StringRef> words;
  llvm::StringRef(more).split(words, ' ', -1, false);
  for (llvm::StringRef word : words)
    podman.options.push_back(word.str());
  return podmanEngine(std::move(podman));
}

Result<std::unique_ptr<Engine>> makeKubernetes(const EngineOptions &options) {
  KubernetesOptions made;
  made.kubeconfig = valueOf(options, "kubeconfig"), made.context = valueOf(options, "context");
  made.url = valueOf(options, "url"), made.nameSpace = valueOf(options, "namespace");
  const std::string kind = valueOf(options, "kind", "job");
  if (kind != "job" && kind != "jobset" && kind != "trainjob")
    return Error{Code::EngineFailed,
                 fmt::format("option 'kind' is '{}', and has to be job, jobset or trainjob", firstLineOf(kind))};
  made.kind = kind == "job"      ? KubernetesKind::Job
              : kind == "jobset" ? KubernetesKind::JobSet
                                 : KubernetesKind::TrainJob;
  made.image = valueOf(options, "image"), made.resource = valueOf(options, "resource", made.resource);
  made.nodeLabel = valueOf(options, "node-label", made.nodeLabel);
  made.queue = valueOf(options, "queue"), made.queueOfTenant = valueOf(options, "queue-of-tenant") == "yes";
  made.priorityClass = valueOf(options, "priority-class");
  made.runtime = valueOf(options, "runtime", made.runtime), made.prefix = valueOf(options, "prefix", made.prefix);
  made.claim = valueOf(options, "claim"), made.mount = valueOf(options, "mount");
  ACCORD_TRY(timeLimit, secondsOf(options, "time-limit", made.limits.call));
  made.limits.call = timeLimit;
  return kubernetesEngine(made);
}

} // namespace

const std::vector<EngineKind> &engineKinds() {
  static const std::vector<EngineKind> kinds{
      {"kubernetes",
       {"kubeconfig", "context", "url", "namespace", "kind", "image", "resource", "node-label", "queue",
        "queue-of-tenant", "priority-class", "runtime", "prefix", "claim", "mount", "time-limit"},
       makeKubernetes},
      {"local", {"nodes", "folder", "prefix", "time-limit"}, makeLocal},
      {"podman",
       {"nodes", "folder", "prefix", "time-limit", "image", "runtime", "network", "device", "program", "options"},
       makePodman},
  };
  return kinds;
}

Result<std::unique_ptr<Engine>> makeEngine(const std::string &kind, const EngineOptions &options) {
  std::vector<std::string> names;
  for (const EngineKind &one : engineKinds()) {
    names.push_back(one.name);
    if (one.name != kind)
      continue;
    for (const auto &[name, value] : options)
      if (std::find(one.options.begin(), one.options.end(), name) == one.options.end())
        return Error{Code::EngineFailed, fmt::format("engine '{}' has no option '{}': found instead of {}", kind,
                                                     firstLineOf(name), fmt::join(one.options, ", "))};
    return one.make(options);
  }
  return Error{Code::EngineFailed,
               fmt::format("there is no engine '{}': found instead of {}", firstLineOf(kind), fmt::join(names, ", "))};
}

} // namespace accord::service
