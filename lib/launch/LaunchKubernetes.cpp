// Manifests of Kubernetes: a Job, a JobSet or a TrainJob of Kubeflow.
#include "lib/launch/Launch.h"
#include <fmt/format.h>
#include <set>

namespace accord {
namespace {

/// A YAML string in double quotes; `text` is harmless but for quotes and backslashes.
std::string quoted(const std::string &text) {
  std::string out = "\"";
  for (char c : text)
    if (c == '"' || c == '\\')
      out += std::string("\\") + c;
    else
      out += static_cast<unsigned char>(c) < 32 || c == 127 ? '_' : c;
  return out + "\"";
}

std::string indented(const std::string &text, size_t by) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    out += std::string(by, ' ') + text.substr(at, end + 1 - at);
    at = end + 1;
  }
  return out;
}

std::string imageOf(const LaunchOptions &options) {
  return options.image.empty() ? "\"\" # FILL IN: an image with torchrun and the training script"
                               : quoted(options.image);
}
std::string scriptOf(const LaunchOptions &options) {
  return options.script.empty() ? "\"train.py\" # FILL IN: the training script and its arguments"
                                : quoted(options.script);
}
std::string environmentOf(const LaunchLayout &shape) {
  std::string text;
  for (const auto &[key, value] : shape.environment)
    text += fmt::format("- name: {}\n  value: {}\n", key, quoted(value));
  return text;
}

/// Comments with the arguments of Megatron-LM, as elements of `args`; what the plan does not say is asked for behind.
std::string megatronOf(const BatchOptions &batch) {
  if (!batch.megatron)
    return batch.withoutMegatron.empty() ? "" : fmt::format("  # {}\n", sanitized(batch.withoutMegatron));
  std::string text = "  # Megatron-LM follows the plan with these, and CUDA_DEVICE_MAX_CONNECTIONS=1:\n";
  for (const std::string &argument : batch.megatron->arguments) {
    const size_t blank = argument.find(' ');
    std::string option = argument.substr(0, blank), value, asked;
    if (blank != std::string::npos)
      value = argument.substr(blank + 1);
    if (const size_t question = value.find(":?"); question != std::string::npos) {
      asked = " # " + sanitized(value.substr(question + 2, value.rfind('}') - question - 2));
      value.clear();
    }
    std::erase(value, '\'');
    text += fmt::format("  # - {}{}\n", quoted(option + (blank == std::string::npos ? "" : "=" + value)), asked);
  }
  return text;
}

/// The specification of an indexed Job: a pod for each server of the pool, the first of which has the rank `first`.
std::string jobSpec(const LaunchLayout &shape, const LaunchOptions &options, const LaunchLayout::Pool &pool,
                    int64_t first, const std::string &master, const std::string &subdomain,
                    const std::string &selector) {
  const BatchOptions *batch = options.batch ? &*options.batch : nullptr;
  std::string rank = "$(NODE_RANK)", command = "command: [\"torchrun\"]\nargs:\n", begin, ended;
  if (batch && batch->limit > 0)
    ended = fmt::format("activeDeadlineSeconds: {}\n", batch->limit);
  const std::string grace =
      batch && batch->notice > 0 ? fmt::format("    terminationGracePeriodSeconds: {}\n", batch->notice) : "";
  if (first > 0) { // a shell adds it up; the second $ keeps Kubernetes from it
    command = "command: [\"sh\", \"-c\", \"exec torchrun --node-rank=$$((NODE_RANK + " + std::to_string(first) +
              ")) \\\"$@\\\"\", \"torchrun\"]\nargs:\n";
  } else {
    begin = fmt::format("  - \"--node-rank={}\"\n", rank);
  }
  std::string started =
      batch && !batch->torchrun
          ? "command: [\"true\"] # FILL IN: the command that the job runs, with its arguments\n"
          : fmt::format("{}  - \"--nnodes={}\"\n  - \"--nproc-per-node={}\"\n{}"
                        "  - \"--master-addr={}\"\n  - \"--master-port={}\"\n  - {}\n",
                        command, shape.nodes, pool.perNode, begin, master, kRendezvousPort, scriptOf(options)) +
                (batch ? megatronOf(*batch) : "");
  std::string container = fmt::format(
      "image: {image}\n{started}"
      "env:\n  - name: NODE_RANK\n    valueFrom:\n      fieldRef:\n"
      "        fieldPath: metadata.annotations['batch.kubernetes.io/job-completion-index']\n"
      "{environment}resources:\n  limits:\n    {resource}: {perNode}\n"
      "volumeMounts:\n  - name: shared-memory\n    mountPath: /dev/shm\n",
      fmt::arg("image", imageOf(options)), fmt::arg("started", started), fmt::arg("perNode", pool.perNode),
      fmt::arg("environment", indented(environmentOf(shape), 2)), fmt::arg("resource", quoted(options.resource)));
  return fmt::format("completionMode: Indexed\ncompletions: {0}\nparallelism: {0}\n"
                     "backoffLimit: 0\n{5}template:\n{1}  spec:\n{2}{3}{6}    restartPolicy: Never\n"
                     "    containers:\n      - name: train\n{4}"
                     "    volumes:\n      - name: shared-memory\n        emptyDir:\n"
                     "          medium: Memory\n",
                     pool.nodes,
                     subdomain.empty() ? ""
                                       : fmt::format("  metadata:\n    labels:\n"
                                                     "      app.kubernetes.io/instance: {}\n",
                                                     subdomain),
                     subdomain.empty() ? "" : fmt::format("    subdomain: {}\n", subdomain),
                     selector.empty() ? "" : fmt::format("    nodeSelector:\n      {}\n", selector),
                     indented(container, 8), ended, grace);
}

/// Labels by which Kueue admits a job, with the namespace of its queue.
std::string queueOf(const BatchOptions &batch) {
  if (batch.queue.empty())
    return "";
  return fmt::format("  namespace: {0}\n  labels:\n    kueue.x-k8s.io/queue-name: {0}\n"
                     "    kueue.x-k8s.io/priority-class: {1}\n",
                     quoted(batch.queue), quoted(batch.priorityClass));
}

std::string jobText(const LaunchLayout &shape, const LaunchOptions &options) {
  return fmt::format("apiVersion: v1\nkind: Service\nmetadata:\n  name: {job}\nspec:\n"
                     "  clusterIP: None\n  publishNotReadyAddresses: true\n  selector:\n"
                     "    app.kubernetes.io/instance: {job}\n  ports:\n    - name: rendezvous\n"
                     "      port: {port}\n---\n"
                     "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {job}\nspec:\n{spec}",
                     fmt::arg("job", shape.job), fmt::arg("port", kRendezvousPort),
                     fmt::arg("spec", indented(jobSpec(shape, options, shape.pools.front(), 0,
                                                       shape.job + "-0." + shape.job, shape.job, ""),
                                               2)));
}

/// Pods are reached at JOBSET-REPLICATEDJOB-0-INDEX.SUBDOMAIN; a name has at most 63 characters, and a pod's has its
/// index and six more behind.
std::string jobSetText(const LaunchLayout &shape, const LaunchOptions &options) {
  std::string job = labelOf(shape.job, "d-", 30), replicated, master;
  std::set<std::string> taken;
  int64_t first = 0;
  for (const LaunchLayout::Pool &pool : shape.pools) {
    bool several = shape.pools.size() > 1;
    std::string name = several ? labelOf(pool.name, "d-", 15) : "server", selector;
    if (!taken.insert(name).second)
      taken.insert(name = labelOf(name, "d-", 11) + "-" + std::to_string(taken.size()));
    if (master.empty())
      master = fmt::format("{0}-{1}-0-0.{0}", job, name);
    if (options.batch)
      selector = fmt::format("{}: {}", quoted(options.nodeLabel), quoted(options.batch->deviceType));
    else if (several)
      selector = fmt::format("{}: {}", quoted(options.nodeLabel), quoted(labelOf(pool.name, "d-", 63)));
    replicated += fmt::format("- name: {}\n  replicas: 1\n  template:\n    spec:\n{}", quoted(name),
                              indented(jobSpec(shape, options, pool, first, master, "", selector), 6));
    first += pool.nodes;
  }
  std::string labels;
  if (shape.pools.size() > 1)
    for (const LaunchLayout::Pool &pool : shape.pools)
      labels += fmt::format("# kubectl label node SERVER {}={}\n", sanitized(options.nodeLabel),
                            labelOf(pool.name, "d-", 63));
  const BatchOptions *batch = options.batch ? &*options.batch : nullptr;
  const std::string queue = batch ? queueOf(*batch) : "";
  // Who is ended by its deadline is not started again, whatever else ends it is.
  const std::string again = batch && batch->requeue ? "    maxRestarts: 3\n    rules:\n      - action: FailJobSet\n"
                                                      "        onJobFailureReasons: [\"DeadlineExceeded\"]\n"
                                                    : "    maxRestarts: 0\n";
  return fmt::format("{}apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata:\n"
                     "  name: {}\n{}spec:\n{}  network:\n    enableDNSHostnames: true\n"
                     "    subdomain: {}\n    publishNotReadyAddresses: true\n"
                     "  failurePolicy:\n{}"
                     "  successPolicy:\n    operator: All\n  replicatedJobs:\n{}",
                     labels, job, queue, queue.empty() ? "" : "  suspend: true\n", job, again, indented(replicated, 4));
}

std::string trainJobText(const LaunchLayout &shape, const LaunchOptions &options) {
  return fmt::format("# The runtime '{comment}' numbers servers, says where they meet and gives "
                     "containers their /dev/shm.\n"
                     "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata:\n"
                     "  name: {job}\nspec:\n  runtimeRef:\n    name: {runtime}\n"
                     "    kind: ClusterTrainingRuntime\n    apiGroup: trainer.kubeflow.org\n"
                     "  trainer:\n    image: {image}\n    command: [\"torchrun\"]\n    args:\n"
                     "      - {script}\n    numNodes: {nodes}\n    numProcPerNode: {perNode}\n"
                     "    env:\n{environment}    resourcesPerNode:\n      limits:\n"
                     "        {resource}: {perNode}\n",
                     fmt::arg("comment", sanitized(options.runtime)), fmt::arg("job", labelOf(shape.job, "d-", 30)),
                     fmt::arg("runtime", quoted(options.runtime)), fmt::arg("image", imageOf(options)),
                     fmt::arg("script", scriptOf(options)), fmt::arg("nodes", shape.nodes),
                     fmt::arg("perNode", shape.perNode), fmt::arg("environment", indented(environmentOf(shape), 6)),
                     fmt::arg("resource", quoted(options.resource)));
}

} // namespace

std::string kubernetesText(const LaunchLayout &shape, const LaunchOptions &options) {
  std::string text = options.kind == KubernetesKind::JobSet     ? jobSetText(shape, options)
                     : options.kind == KubernetesKind::TrainJob ? trainJobText(shape, options)
                                                                : jobText(shape, options);
  std::string remarks;
  if (options.batch)
    for (const std::string &remark : options.batch->remarks)
      remarks += "# " + sanitized(remark) + "\n";
  return fmt::format("# {}\n{}# kubectl apply -f FILE\n{}", shape.title, remarks, text);
}

} // namespace accord
