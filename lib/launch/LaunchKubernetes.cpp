// Manifests of Kubernetes: a Job, a JobSet or a TrainJob of Kubeflow.
#include "lib/launch/Guard.h"
#include "lib/launch/Products.h"
#include <algorithm>
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

/// Text for `command` or `args`: Kubernetes puts variables in place of $(NAME), and takes $$ for $.
std::string unexpanded(const std::string &text) {
  std::string out;
  for (char c : text)
    out += c == '$' ? "$$" : std::string(1, c);
  return out;
}

/// A shell as `command`, which starts `program` with the arguments of the container where the guard lets it.
std::string guardedCommand(const LaunchLayout &shape, size_t pool, const std::string &program) {
  const std::string script = guardText(guardOf(shape, pool)) + "accord_guard || exit\nexec " + program + " \"$@\"\n";
  return "command:\n  - sh\n  - -c\n  - |\n" + indented(unexpanded(script), 4) + "  - train\n";
}

/// The label of GPU feature discovery (NVIDIA/k8s-device-plugin) has what nvidia-smi says with "-" for blanks, and
/// until driver 470 without the vendor.
std::vector<std::string> productLabels(const LaunchLayout::Pool &pool) {
  std::vector<std::string> labels;
  for (const Product &product : productsOf(pool.name)) {
    if (product.tool != "nvidia-smi" || std::ranges::find(pool.products, product.name) == pool.products.end())
      continue;
    std::string label = product.name;
    std::ranges::replace(label, ' ', '-');
    for (const char *before : {"NVIDIA-", "Tesla-", ""})
      labels.push_back(before + label);
  }
  return labels;
}

/// Terms of which a server has to fulfil one: the vendor's labels say a product of the plan with its memory, or, where
/// the label of the type decides anyway, there are none of the vendor.
std::string productTerms(const LaunchLayout::Pool &pool, const LaunchOptions &options) {
  std::string values;
  for (const std::string &label : productLabels(pool))
    values += (values.empty() ? "" : ", ") + quoted(label);
  if (values.empty())
    return "";
  std::string text = fmt::format("- matchExpressions:\n    - key: nvidia.com/gpu.product\n      operator: In\n"
                                 "      values: [{}]\n",
                                 values);
  if (pool.reported > 1048576)
    text += fmt::format("    - key: nvidia.com/gpu.memory\n      operator: Gt\n      values: [\"{}\"]\n",
                        pool.reported / 1048576 - 1);
  if (!options.nodeLabel.empty())
    text += "- matchExpressions:\n    - key: nvidia.com/gpu.product\n      operator: DoesNotExist\n";
  return text;
}

/// Which servers a pod may be on, in its specification: those with the label of the type, and where the vendor's labels
/// are there, too, those on which they say the same. `peers` is a label of the pods of the job, which with a topology
/// are on servers with the same value of it.
std::string serversOf(const LaunchLayout::Pool &pool, const LaunchOptions &options, const std::string &peers) {
  std::string text, affinity;
  if (!options.nodeLabel.empty())
    text += fmt::format("nodeSelector:\n  {}: {}\n", quoted(options.nodeLabel), quoted(pool.deviceName));
  if (const std::string terms = productTerms(pool, options); !terms.empty())
    affinity += "nodeAffinity:\n  requiredDuringSchedulingIgnoredDuringExecution:\n    nodeSelectorTerms:\n" +
                indented(terms, 6);
  if (!options.topology.empty() && !peers.empty())
    affinity += fmt::format("podAffinity:\n  requiredDuringSchedulingIgnoredDuringExecution:\n"
                            "    - labelSelector:\n        matchLabels:\n          {}\n      topologyKey: {}\n",
                            peers, quoted(options.topology));
  return affinity.empty() ? text : text + "affinity:\n" + indented(affinity, 2);
}

/// How servers get the labels that are asked for, as comments.
std::string labelling(const LaunchLayout &shape, const LaunchOptions &options) {
  std::string text;
  for (const LaunchLayout::Pool &pool : shape.pools)
    if (!options.nodeLabel.empty())
      text += fmt::format("# kubectl label node SERVER {}={}\n", sanitized(options.nodeLabel), pool.deviceName);
  return text;
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
std::string jobSpec(const LaunchLayout &shape, const LaunchOptions &options, size_t index, int64_t first,
                    const std::string &master, const std::string &subdomain) {
  const LaunchLayout::Pool &pool = shape.pools[index];
  const BatchOptions *batch = options.batch ? &*options.batch : nullptr;
  std::string program = "torchrun", begin, ended;
  if (batch && batch->limit > 0)
    ended = fmt::format("activeDeadlineSeconds: {}\n", batch->limit);
  const std::string grace =
      batch && batch->notice > 0 ? fmt::format("    terminationGracePeriodSeconds: {}\n", batch->notice) : "";
  if (first > 0) { // the shell adds it up
    program = fmt::format("torchrun --node-rank=$((NODE_RANK + {}))", first);
  } else {
    begin = "  - \"--node-rank=$(NODE_RANK)\"\n";
  }
  std::string started = batch && !batch->torchrun
                            ? guardedCommand(shape, index, "") +
                                  "args: [\"true\"] # FILL IN: the command that the job runs, with its arguments\n"
                            : fmt::format("{}args:\n  - \"--nnodes={}\"\n  - \"--nproc-per-node={}\"\n{}"
                                          "  - \"--master-addr={}\"\n  - \"--master-port={}\"\n  - {}\n",
                                          guardedCommand(shape, index, program), shape.nodes, pool.perNode, begin,
                                          master, kRendezvousPort, scriptOf(options)) +
                                  (batch ? megatronOf(*batch) : "");
  std::string container = fmt::format(
      "image: {image}\n{started}"
      "env:\n  - name: NODE_RANK\n    valueFrom:\n      fieldRef:\n"
      "        fieldPath: metadata.annotations['batch.kubernetes.io/job-completion-index']\n"
      "{environment}resources:\n  limits:\n    {resource}: {perNode}\n"
      "volumeMounts:\n  - name: shared-memory\n    mountPath: /dev/shm\n",
      fmt::arg("image", imageOf(options)), fmt::arg("started", started), fmt::arg("perNode", pool.perNode),
      fmt::arg("environment", indented(environmentOf(shape), 2)), fmt::arg("resource", quoted(options.resource)));
  return fmt::format(
      "completionMode: Indexed\ncompletions: {0}\nparallelism: {0}\n"
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
      indented(serversOf(pool, options, subdomain.empty() ? "" : "app.kubernetes.io/instance: " + subdomain), 4),
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
  return fmt::format(
      "{labels}apiVersion: v1\nkind: Service\nmetadata:\n  name: {job}\nspec:\n"
      "  clusterIP: None\n  publishNotReadyAddresses: true\n  selector:\n"
      "    app.kubernetes.io/instance: {job}\n  ports:\n    - name: rendezvous\n"
      "      port: {port}\n---\n"
      "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {job}\nspec:\n{spec}",
      fmt::arg("labels", labelling(shape, options)), fmt::arg("job", shape.job), fmt::arg("port", kRendezvousPort),
      fmt::arg("spec", indented(jobSpec(shape, options, 0, 0, shape.job + "-0." + shape.job, shape.job), 2)));
}

/// Pods are reached at JOBSET-REPLICATEDJOB-0-INDEX.SUBDOMAIN; a name has at most 63 characters, and a pod's has its
/// index and six more behind.
std::string jobSetText(const LaunchLayout &shape, const LaunchOptions &options) {
  std::string job = labelOf(shape.job, "d-", 30), replicated, master;
  std::set<std::string> taken;
  int64_t first = 0;
  for (size_t index = 0; index < shape.pools.size(); ++index) {
    const LaunchLayout::Pool &pool = shape.pools[index];
    std::string name = shape.pools.size() > 1 ? labelOf(pool.name, "d-", 15) : "server";
    if (!taken.insert(name).second)
      taken.insert(name = labelOf(name, "d-", 11) + "-" + std::to_string(taken.size()));
    if (master.empty())
      master = fmt::format("{0}-{1}-0-0.{0}", job, name);
    replicated += fmt::format("- name: {}\n  replicas: 1\n  template:\n    spec:\n{}", quoted(name),
                              indented(jobSpec(shape, options, index, first, master, ""), 6));
    first += pool.nodes;
  }
  const BatchOptions *batch = options.batch ? &*options.batch : nullptr;
  const std::string queue = batch ? queueOf(*batch) : "";
  const std::string together =
      options.topology.empty() ? ""
                               : fmt::format("  annotations:\n    alpha.jobset.sigs.k8s.io/exclusive-topology: {}\n",
                                             quoted(options.topology));
  // Who is ended by its deadline is not started again, whatever else ends it is.
  const std::string again = batch && batch->requeue ? "    maxRestarts: 3\n    rules:\n      - action: FailJobSet\n"
                                                      "        onJobFailureReasons: [\"DeadlineExceeded\"]\n"
                                                    : "    maxRestarts: 0\n";
  return fmt::format("{}apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata:\n"
                     "  name: {}\n{}{}spec:\n{}  network:\n    enableDNSHostnames: true\n"
                     "    subdomain: {}\n    publishNotReadyAddresses: true\n"
                     "  failurePolicy:\n{}"
                     "  successPolicy:\n    operator: All\n  replicatedJobs:\n{}",
                     options.batch ? "" : labelling(shape, options), job, queue, together,
                     queue.empty() ? "" : "  suspend: true\n", job, again, indented(replicated, 4));
}

/// Where the pods of a TrainJob run is a patch of its runtime, whose servers are its job `node`.
std::string patchOf(const LaunchLayout &shape, const LaunchOptions &options, const std::string &job) {
  const std::string servers = serversOf(shape.pools.front(), options, "jobset.sigs.k8s.io/jobset-name: " + job);
  if (servers.empty())
    return "";
  return "  runtimePatches:\n    - manager: accord/emit\n      trainingRuntimeSpec:\n        template:\n"
         "          spec:\n            replicatedJobs:\n              - name: node\n                template:\n"
         "                  spec:\n                    template:\n                      spec:\n" +
         indented(servers, 24);
}

std::string trainJobText(const LaunchLayout &shape, const LaunchOptions &options) {
  const std::string job = labelOf(shape.job, "d-", 30);
  return fmt::format("# The runtime '{comment}' numbers servers, says where they meet and gives "
                     "containers their /dev/shm.\n"
                     "# runtimePatches are those of Kubeflow Trainer 2.2 and later.\n{labels}"
                     "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata:\n"
                     "  name: {job}\nspec:\n  runtimeRef:\n    name: {runtime}\n"
                     "    kind: ClusterTrainingRuntime\n    apiGroup: trainer.kubeflow.org\n"
                     "{patch}  trainer:\n    image: {image}\n{command}    args:\n"
                     "      - {script}\n    numNodes: {nodes}\n    numProcPerNode: {perNode}\n"
                     "    env:\n{environment}    resourcesPerNode:\n      limits:\n"
                     "        {resource}: {perNode}\n",
                     fmt::arg("comment", sanitized(options.runtime)), fmt::arg("labels", labelling(shape, options)),
                     fmt::arg("job", job), fmt::arg("runtime", quoted(options.runtime)),
                     fmt::arg("patch", patchOf(shape, options, job)), fmt::arg("image", imageOf(options)),
                     fmt::arg("command", indented(guardedCommand(shape, 0, "torchrun"), 4)),
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
