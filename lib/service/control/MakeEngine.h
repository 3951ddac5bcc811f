// An engine from its kind and options, as `accord serve` has them.
//
// Options of all: time-limit (seconds), prefix; but of Kubernetes, folder.
// - local: nodes ("a1=a100:4, a2=a100:4@4": name, type, devices, number of the first; empty: the GPUs of the machine),
//   shares (into how many each device is divided for tasks that want a part of one).
// - podman: the same, and image, runtime, network, device ("nvidia.com/gpu"), options (of podman run), program.
// - slurm: partition, account, sbatch (its options), gres, types ("a100_80g=a100"), tools (a folder), conf (a file).
// - kubernetes: kubeconfig, context, url, namespace, kind ("job", "jobset", "trainjob"), image, resource, node-label,
//   queue, queue-of-tenant ("yes", "no"), priority-class, runtime, claim, mount, keep (seconds).
#pragma once
#include "lib/service/engines/Engine.h"
#include <map>

namespace accord::service {

using EngineOptions = std::map<std::string, std::string>;

/// A kind of engine: its options, and how one is made of them.
struct EngineKind {
  std::string name; ///< "local"
  std::vector<std::string> options;
  Result<std::unique_ptr<Engine>> (*make)(const EngineOptions &options) = nullptr;
};
/// All, by name.
const std::vector<EngineKind> &engineKinds();

/// Error A1203 for an option that is not among `allowed`, with those that there are.
Result<void> checkOptions(const std::string &kind, const EngineOptions &options,
                          const std::vector<std::string> &allowed);
/// Errors: A1203 for a kind or an option that there is not, with those that there are, for a value that is none, and
/// for what the engine refuses. An empty value is no value.
Result<std::unique_ptr<Engine>> makeEngine(const std::string &kind, const EngineOptions &options);

} // namespace accord::service
