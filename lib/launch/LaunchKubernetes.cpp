// Objects of Kubernetes: a Job, a JobSet or a TrainJob of Kubeflow, for a plan or for one run of it on nodes by name.
#include "lib/launch/Guard.h"
#include "lib/launch/Products.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace accord {
namespace {

using llvm::json::Array;
using llvm::json::Object;

constexpr const char *kRank = "$(NODE_RANK)";
constexpr const char *kScript = "train.py", *kCommand = "true"; // until they are filled in
constexpr const char *kInstance = "app.kubernetes.io/instance";
/// Seconds for which a pod stays on a node that does not answer: Kubernetes waits for 300 otherwise.
constexpr int64_t kUnreachable = 30;
/// Seconds from SIGTERM to SIGKILL.
constexpr int64_t kKill = 5;
/// Of a Workload of Kueue v1beta2.
constexpr size_t kMaxPodSets = 18;
/// Of a JobSet: etcd takes 1.5 MiB for an object, and each set has some 15 KB with the guard and usual commands and
/// variables.
constexpr size_t kMaxSetsOfJobSet = 64;

/// Kubernetes replaces $(NAME) in words and variables; a second $ keeps it from that, and goes away itself.
std::string literal(const std::string &text) {
  std::string out;
  for (char c : text)
    out += c == '$' ? std::string("$$") : std::string(1, c);
  return out;
}

Object objectOf(const std::map<std::string, std::string> &all) {
  Object made;
  for (const auto &[key, value] : all)
    made[key] = value;
  return made;
}

/// The arguments of Megatron-LM as lines of a comment; what the plan does not say is asked for behind.
std::vector<std::string> megatronLines(const BatchOptions &batch) {
  if (!batch.megatron)
    return batch.withoutMegatron.empty() ? std::vector<std::string>{} : std::vector{sanitized(batch.withoutMegatron)};
  std::vector<std::string> lines{"Megatron-LM follows the plan with these, and CUDA_DEVICE_MAX_CONNECTIONS=1:"};
  for (const std::string &argument : batch.megatron->arguments) {
    const size_t blank = argument.find(' ');
    std::string word = argument.substr(0, blank), value, asked;
    if (blank != std::string::npos)
      value = argument.substr(blank + 1);
    if (const size_t question = value.find(":?"); question != std::string::npos) {
      asked = " # " + sanitized(value.substr(question + 2, value.rfind('}') - question - 2));
      value.clear();
    }
    std::erase(value, '\'');
    word += blank == std::string::npos ? "" : "=" + value;
    std::string quoted;
    for (char c : word)
      quoted += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    lines.push_back(fmt::format("- \"{}\"{}", quoted, asked));
  }
  return lines;
}

/// A shell as `command`, which starts `program` with the arguments of the container where the guard lets it.
Array guardedCommand(const LaunchLayout &shape, size_t pool, const std::string &program) {
  return Array{"sh", "-c",
               literal(guardText(guardOf(shape, pool)) + "accord_guard || exit\nexec " + program + " \"$@\"\n"),
               "train"};
}

/// The label of GPU feature discovery (NVIDIA/k8s-device-plugin) has what nvidia-smi says with "-" for blanks, and
/// until driver 470 without the vendor.
Array productLabels(const LaunchLayout::Pool &pool) {
  Array labels;
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

/// Which servers a pod may be on, in its specification: those with the label of the type, and where the vendor's labels
/// are there, too, those on which they say a product of the plan with its memory. `peers` is a label of the pods of the
/// job, which with a topology are on servers with the same value of it; empty: something else sees to that.
void addServers(Object &pod, const LaunchLayout::Pool &pool, const LaunchOptions &options, Object peers) {
  Object affinity;
  if (!options.nodeLabel.empty())
    pod["nodeSelector"] = Object{{options.nodeLabel, pool.deviceName}};
  if (Array labels = productLabels(pool); !labels.empty()) {
    Array known{Object{{"key", "nvidia.com/gpu.product"}, {"operator", "In"}, {"values", std::move(labels)}}};
    if (pool.reported > 1048576)
      known.push_back(Object{{"key", "nvidia.com/gpu.memory"},
                             {"operator", "Gt"},
                             {"values", Array{std::to_string(pool.reported / 1048576 - 1)}}});
    Array terms{Object{{"matchExpressions", std::move(known)}}};
    if (!options.nodeLabel.empty())
      terms.push_back(
          Object{{"matchExpressions", Array{Object{{"key", "nvidia.com/gpu.product"}, {"operator", "DoesNotExist"}}}}});
    affinity["nodeAffinity"] =
        Object{{"requiredDuringSchedulingIgnoredDuringExecution", Object{{"nodeSelectorTerms", std::move(terms)}}}};
  }
  if (!options.topology.empty() && !peers.empty()) {
    Object term{{"labelSelector", Object{{"matchLabels", std::move(peers)}}}, {"topologyKey", options.topology}};
    affinity["podAffinity"] = options.prefersTopology
                                  ? Object{{"preferredDuringSchedulingIgnoredDuringExecution",
                                            Array{Object{{"weight", 100}, {"podAffinityTerm", std::move(term)}}}}}
                                  : Object{{"requiredDuringSchedulingIgnoredDuringExecution", Array{std::move(term)}}};
  }
  if (!affinity.empty())
    pod["affinity"] = std::move(affinity);
}

/// Pods that are alike: some of the nodes of a layout.
struct PodSet {
  LaunchLayout::Pool pool;   ///< how many, with how many devices
  size_t of = 0;             ///< its place in the layout
  int64_t first = 0;         ///< rank of the first one
  std::string master;        ///< where rank 0 is reached
  std::string hostname;      ///< empty: as Kubernetes names it
  std::string subdomain;     ///< empty: that of the set
  std::vector<size_t> nodes; ///< of the run
};

class KubernetesObjects {
public:
  KubernetesObjects(const LaunchLayout &shape, const LaunchOptions &options)
      : shape(shape), options(options), batch(options.batch ? &*options.batch : nullptr),
        run(options.run ? &*options.run : nullptr) {}

  std::vector<Manifest> jobs();
  Manifest jobSet();
  Manifest trainJob();

private:
  std::string queue() const { return !options.queue.empty() ? options.queue : batch ? batch->queue : ""; }
  bool isQueued() const { return !queue().empty(); }
  bool isOrdered() const { return run && keepsOrderOfNodes(*run, options.kind, isQueued()); }
  std::string imageOf();
  std::string scriptOf();
  Array environmentOf(bool isIndexed) const;
  void addCommand(Object &container, const PodSet &pods, bool isIndexed);
  Array commandOf(size_t pool, const std::string &program) const;
  void addRunCommand(Object &container, Array &args, size_t pool) const;
  void addRunVariables(Array &environment) const;
  Object container(const PodSet &pods);
  Object affinityOf(const PodSet &pods) const;
  void addPlacement(Object &pod, const PodSet &pods) const;
  Object peersOf(const PodSet &pods) const;
  Object topologyOf(int64_t nodes) const;
  Object podTemplate(const PodSet &pods);
  Object jobSpec(const PodSet &pods);
  Object metadataOf(const std::string &name) const;
  Manifest service() const;
  Manifest made(Object object);
  std::vector<PodSet> podSets(const std::string &job);

  const LaunchLayout &shape;
  const LaunchOptions &options;
  const BatchOptions *batch;
  const KubernetesRun *run;
  std::vector<std::string> head;
  decltype(Manifest::beside) beside;
  decltype(Manifest::behind) behind;
};

std::string KubernetesObjects::imageOf() {
  if (options.image.empty())
    beside[{"image", ""}] = "FILL IN: an image with torchrun and the training script";
  return options.image;
}

std::string KubernetesObjects::scriptOf() {
  if (!options.script.empty())
    return options.script;
  beside[{"args", kScript}] = "FILL IN: the training script and its arguments";
  return kScript;
}

Array KubernetesObjects::environmentOf(bool isIndexed) const {
  Array all;
  if (isIndexed)
    all.push_back(
        Object{{"name", "NODE_RANK"},
               {"valueFrom", Object{{"fieldRef", Object{{"fieldPath", "metadata.annotations['batch.kubernetes.io/"
                                                                      "job-completion-index']"}}}}}});
  for (const auto &[key, value] : shape.environment)
    all.push_back(Object{{"name", key}, {"value", run ? literal(value) : value}});
  return all;
}

/// The node of a pod, and where its guard leaves its mark: in the message with which the container ends.
void KubernetesObjects::addRunVariables(Array &environment) const {
  environment.push_back(
      Object{{"name", "ACCORD_NODE"}, {"valueFrom", Object{{"fieldRef", Object{{"fieldPath", "spec.nodeName"}}}}}});
  environment.push_back(Object{{"name", kGuardMarkVariable}, {"value", "/dev/termination-log"}});
}

/// Command and arguments of a container, by torchrun unless the run says otherwise.
void KubernetesObjects::addCommand(Object &container, const PodSet &pods, bool isIndexed) {
  if (batch && !batch->torchrun && !run) {
    beside[{"args", kCommand}] = "FILL IN: the command that the job runs, with its arguments";
    container["command"] = guardedCommand(shape, pods.of, "");
    container["args"] = Array{kCommand};
    return;
  }
  Array args;
  if (!batch || batch->torchrun) {
    args = Array{fmt::format("--nnodes={}", shape.nodes), fmt::format("--nproc-per-node={}", pods.pool.perNode)};
    const bool isAdded = isIndexed && pods.first > 0; // by the shell
    const std::string program =
        isAdded ? fmt::format("torchrun --node-rank=$((NODE_RANK + {}))", pods.first) : "torchrun";
    container["command"] = commandOf(pods.of, program); // of a run: one set whose ranks are counted, or one for each
    if (!isIndexed || pods.first == 0)
      args.push_back("--node-rank=" + (isIndexed ? kRank : std::to_string(pods.first)));
    args.push_back("--master-addr=" + pods.master);
    args.push_back(fmt::format("--master-port={}", kRendezvousPort));
    if (!run)
      args.push_back(scriptOf());
    if (batch && !run)
      behind["args"] = megatronLines(*batch);
  }
  if (run)
    addRunCommand(container, args, pods.of);
  if (!args.empty())
    container["args"] = std::move(args);
}

/// Behind the guard, where the layout says what devices are called.
Array KubernetesObjects::commandOf(size_t pool, const std::string &program) const {
  return shape.pools[pool].products.empty() ? Array{program} : guardedCommand(shape, pool, program);
}

/// The words of a run, behind those of torchrun where that starts it.
void KubernetesObjects::addRunCommand(Object &container, Array &args, size_t pool) const {
  const bool isGuarded = !shape.pools[pool].products.empty();
  Array words;
  for (const std::string &word : run->command)
    words.push_back(literal(word));
  if (!batch->torchrun && isGuarded)
    container["command"] = guardedCommand(shape, pool, "");
  else if (!batch->torchrun && !words.empty()) {
    container["command"] = Array{words.front()};
    words.erase(words.begin());
  }
  for (llvm::json::Value &word : words)
    args.push_back(std::move(word));
}

Object KubernetesObjects::container(const PodSet &pods) {
  const bool isIndexed = !isOrdered();
  Object made{{"name", "train"},
              {"image", imageOf()},
              {"env", environmentOf(isIndexed)},
              {"resources", Object{{"limits", Object{{options.resource, pods.pool.perNode}}}}}};
  addCommand(made, pods, isIndexed);
  Array mounts{Object{{"name", "shared-memory"}, {"mountPath", "/dev/shm"}}};
  if (!run) {
    made["volumeMounts"] = std::move(mounts);
    return made;
  }
  Array &environment = *made.getArray("env");
  if (!isIndexed)
    environment.push_back(Object{{"name", "NODE_RANK"}, {"value", std::to_string(pods.first)}});
  environment.push_back(Object{{"name", "NNODES"}, {"value", std::to_string(shape.nodes)}});
  environment.push_back(Object{{"name", "WORLD_SIZE"}, {"value", std::to_string(shape.nodes * shape.perNode)}});
  environment.push_back(Object{{"name", "MASTER_ADDR"}, {"value", pods.master}});
  environment.push_back(Object{{"name", "MASTER_PORT"}, {"value", std::to_string(kRendezvousPort)}});
  addRunVariables(environment);
  if (!run->directory.empty())
    made["workingDir"] = run->directory;
  if (!run->claim.empty())
    mounts.push_back(Object{{"name", "shared"}, {"mountPath", run->mount}});
  if (batch->notice > 0) // a hook runs before SIGTERM: first the process with number 1, then all others
    made["lifecycle"] = Object{
        {"preStop", Object{{"exec", Object{{"command", Array{"sh", "-c",
                                                             fmt::format("kill -USR1 1; kill -USR1 -1; exec sleep {}",
                                                                         batch->notice)}}}}}}};
  made["volumeMounts"] = std::move(mounts);
  return made;
}

/// Exactly these nodes, one pod on each.
Object KubernetesObjects::affinityOf(const PodSet &pods) const {
  Array terms; // each names one node: values of a name are single
  for (size_t node : pods.nodes)
    terms.push_back(
        Object{{"matchFields",
                Array{Object{{"key", "metadata.name"}, {"operator", "In"}, {"values", Array{run->nodes[node]}}}}}});
  Object made{{"nodeAffinity", Object{{"requiredDuringSchedulingIgnoredDuringExecution",
                                       Object{{"nodeSelectorTerms", std::move(terms)}}}}}};
  if (pods.nodes.size() > 1)
    made["podAntiAffinity"] = Object{{"requiredDuringSchedulingIgnoredDuringExecution",
                                      Array{Object{{"labelSelector", Object{{"matchLabels", objectOf(run->labels)}}},
                                                   {"topologyKey", "kubernetes.io/hostname"}}}}};
  return made;
}

void KubernetesObjects::addPlacement(Object &pod, const PodSet &pods) const {
  pod["affinity"] = affinityOf(pods);
  Array tolerations{Object{{"key", options.resource}, {"operator", "Exists"}}};
  for (const char *taint : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
    tolerations.push_back(
        Object{{"key", taint}, {"operator", "Exists"}, {"effect", "NoExecute"}, {"tolerationSeconds", kUnreachable}});
  pod["tolerations"] = std::move(tolerations);
}

Object KubernetesObjects::podTemplate(const PodSet &pods) {
  Array volumes{Object{{"name", "shared-memory"}, {"emptyDir", Object{{"medium", "Memory"}}}}};
  Object pod{{"restartPolicy", "Never"}, {"containers", Array{container(pods)}}};
  if (!pods.hostname.empty())
    pod["hostname"] = pods.hostname;
  if (!pods.subdomain.empty())
    pod["subdomain"] = pods.subdomain;
  if (!run)
    addServers(pod, shape.pools[pods.of], options, peersOf(pods));
  if (batch && (batch->notice > 0 || run))
    pod["terminationGracePeriodSeconds"] = batch->notice + (run ? kKill : 0);
  Object labels;
  if (!pods.subdomain.empty())
    labels[kInstance] = pods.subdomain;
  if (run) {
    addPlacement(pod, pods);
    if (!run->claim.empty())
      volumes.push_back(Object{{"name", "shared"}, {"persistentVolumeClaim", Object{{"claimName", run->claim}}}});
    for (const auto &[key, value] : run->labels)
      labels[key] = value;
    if (isOrdered())
      labels["accord/rank"] = std::to_string(pods.first);
  }
  pod["volumes"] = std::move(volumes);
  Object made{{"spec", std::move(pod)}}, metadata;
  if (!labels.empty())
    metadata["labels"] = std::move(labels);
  if (Object annotations = topologyOf(pods.pool.nodes); !annotations.empty())
    metadata["annotations"] = std::move(annotations);
  if (!metadata.empty())
    made["metadata"] = std::move(metadata);
  return made;
}

/// A label that the pods of a job have in common, by which they stay together; nothing where Kueue places them, or a
/// JobSet has a domain for itself.
Object KubernetesObjects::peersOf(const PodSet &pods) const {
  if (isQueued())
    return {};
  if (options.kind == KubernetesKind::Job)
    return Object{{kInstance, pods.subdomain}};
  if (options.kind == KubernetesKind::JobSet && !options.prefersTopology)
    return {};
  return Object{{"jobset.sigs.k8s.io/jobset-name", labelOf(shape.job, "d-", 30)}};
}

/// What Kueue is told of the network, by annotations of pods (topology-aware scheduling; slices since version 0.13).
Object KubernetesObjects::topologyOf(int64_t nodes) const {
  Object annotations;
  if (run || !isQueued())
    return annotations;
  if (!options.topology.empty())
    annotations[options.prefersTopology ? "kueue.x-k8s.io/podset-preferred-topology"
                                        : "kueue.x-k8s.io/podset-required-topology"] = options.topology;
  if (!options.groupTopology.empty() && shape.groupNodes > 1 && nodes % shape.groupNodes == 0) {
    annotations["kueue.x-k8s.io/podset-slice-required-topology"] = options.groupTopology;
    annotations["kueue.x-k8s.io/podset-slice-size"] = std::to_string(shape.groupNodes);
  }
  return annotations;
}

/// The specification of an indexed Job: a pod for each node.
Object KubernetesObjects::jobSpec(const PodSet &pods) {
  Object made{{"completionMode", "Indexed"},
              {"completions", pods.pool.nodes},
              {"parallelism", pods.pool.nodes},
              {"backoffLimit", 0},
              {"template", podTemplate(pods)}};
  if (batch && batch->limit > 0)
    made["activeDeadlineSeconds"] = batch->limit;
  return made;
}

/// Name, place and labels, among them those by which Kueue admits a job.
Object KubernetesObjects::metadataOf(const std::string &name) const {
  Object made{{"name", name}}, labels;
  if (run) {
    made["namespace"] = run->nameSpace;
    labels = objectOf(run->labels);
    if (!run->annotations.empty())
      made["annotations"] = objectOf(run->annotations);
  } else if (batch && !batch->queue.empty()) {
    made["namespace"] = batch->queue;
  }
  if (isQueued()) {
    labels["kueue.x-k8s.io/queue-name"] = queue();
    if (batch && !batch->priorityClass.empty())
      labels["kueue.x-k8s.io/priority-class"] = batch->priorityClass;
  }
  if (!labels.empty())
    made["labels"] = std::move(labels);
  if (!run && options.kind == KubernetesKind::JobSet && !options.topology.empty() && !options.prefersTopology &&
      !isQueued())
    made["annotations"] = Object{{"alpha.jobset.sigs.k8s.io/exclusive-topology", options.topology}};
  return made;
}

Manifest KubernetesObjects::made(Object object) { return {std::move(object), head, beside, behind}; }

/// A name for each pod, whether it is ready or not: they meet before they are.
Manifest KubernetesObjects::service() const {
  const std::string name = run ? run->name : shape.job;
  Object metadata{{"name", name}};
  if (run)
    metadata["namespace"] = run->nameSpace, metadata["labels"] = objectOf(run->labels);
  return {Object{{"apiVersion", "v1"},
                 {"kind", "Service"},
                 {"metadata", std::move(metadata)},
                 {"spec", Object{{"clusterIP", "None"},
                                 {"publishNotReadyAddresses", true},
                                 {"selector", Object{{kInstance, name}}},
                                 {"ports", Array{Object{{"name", "rendezvous"}, {"port", kRendezvousPort}}}}}}},
          {},
          {},
          {}};
}

/// Pods of a plan by device type, of a run by node.
std::vector<PodSet> KubernetesObjects::podSets(const std::string &job) {
  std::vector<PodSet> sets;
  const size_t count = isOrdered() ? run->nodes.size() : 1;
  for (size_t node = 0; run && node < count; ++node) {
    PodSet one;
    one.pool = {fmt::format("n{}", node), isOrdered() ? 1 : static_cast<int64_t>(run->nodes.size()), shape.perNode};
    one.first = static_cast<int64_t>(node);
    for (size_t i = 0; i < run->nodes.size(); ++i)
      if (!isOrdered() || i == node)
        one.nodes.push_back(i);
    one.master = run->nodes.size() == 1 ? "127.0.0.1" : fmt::format("{0}-n0-0-0.{0}", job);
    sets.push_back(std::move(one));
  }
  const bool several = shape.pools.size() > 1;
  std::set<std::string> taken;
  std::string master;
  int64_t first = 0;
  for (const LaunchLayout::Pool &pool : shape.pools) {
    if (run)
      break;
    PodSet one;
    one.pool = pool, one.first = first;
    std::string &name = one.pool.name = several ? labelOf(pool.name, "d-", 15) : "server";
    if (!taken.insert(name).second)
      taken.insert(name = labelOf(name, "d-", 11) + "-" + std::to_string(taken.size()));
    if (master.empty())
      master = fmt::format("{0}-{1}-0-0.{0}", job, name);
    one.master = master;
    one.of = sets.size();
    first += pool.nodes;
    sets.push_back(std::move(one));
  }
  return sets;
}

std::vector<Manifest> KubernetesObjects::jobs() {
  std::vector<Manifest> all;
  auto add = [&](const std::string &name, const PodSet &pods) {
    Object spec = jobSpec(pods);
    if (run)
      spec["ttlSecondsAfterFinished"] = run->keep;
    if (isQueued())
      spec["suspend"] = true;
    all.push_back(made(Object{
        {"apiVersion", "batch/v1"}, {"kind", "Job"}, {"metadata", metadataOf(name)}, {"spec", std::move(spec)}}));
  };
  if (!run) {
    all.push_back(service());
    PodSet pods;
    pods.pool = shape.pools.front(), pods.master = shape.job + "-0." + shape.job, pods.subdomain = shape.job;
    add(shape.job, pods);
    return all;
  }
  const bool several = run->nodes.size() > 1;
  std::vector<PodSet> sets = podSets(run->name);
  for (size_t i = 0; i < sets.size(); ++i) {
    PodSet &pods = sets[i];
    if (several)
      pods.subdomain = run->name, pods.master = fmt::format("{0}-0.{0}", run->name);
    const bool isOne = sets.size() == 1;
    const std::string name = isOne ? run->name : fmt::format("{}-{}", run->name, i);
    if (!isOne)
      pods.hostname = name;
    add(name, pods);
  }
  if (several)
    all.push_back(service());
  return all;
}

/// Pods are reached at JOBSET-REPLICATEDJOB-0-INDEX.SUBDOMAIN; a name has at most 63 characters, and a pod's has its
/// index and six more behind.
Manifest KubernetesObjects::jobSet() {
  const std::string job = run ? run->name : labelOf(shape.job, "d-", 30);
  Array replicated;
  for (const PodSet &pods : podSets(job))
    replicated.push_back(
        Object{{"name", pods.pool.name}, {"replicas", 1}, {"template", Object{{"spec", jobSpec(pods)}}}});
  Object failure{{"maxRestarts", 0}};
  if (batch && batch->requeue) // who is ended by its deadline is not started again, whatever else ends it is
    failure = Object{{"maxRestarts", 3},
                     {"rules", Array{Object{{"action", "FailJobSet"},
                                            {"name", "deadline"},
                                            {"onJobFailureReasons", Array{"DeadlineExceeded"}}}}}};
  Object spec{{"network", Object{{"enableDNSHostnames", true}, {"subdomain", job}, {"publishNotReadyAddresses", true}}},
              {"failurePolicy", std::move(failure)},
              {"successPolicy", Object{{"operator", "All"}}},
              {"replicatedJobs", std::move(replicated)}};
  if (run)
    spec["ttlSecondsAfterFinished"] = run->keep;
  if (isQueued())
    spec["suspend"] = true;
  return made(Object{{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                     {"kind", "JobSet"},
                     {"metadata", metadataOf(job)},
                     {"spec", std::move(spec)}});
}

/// What is added to the pods of a runtime.
Array patchesOf(const char *manager, Object pod) {
  Object job{{"name", "node"}, {"template", Object{{"spec", Object{{"template", std::move(pod)}}}}}};
  return Array{Object{{"manager", manager},
                      {"trainingRuntimeSpec",
                       Object{{"template", Object{{"spec", Object{{"replicatedJobs", Array{std::move(job)}}}}}}}}}};
}

/// Nodes and labels of its pods are a patch of the replicated job "node", which runtimes of Kubeflow have.
Manifest KubernetesObjects::trainJob() {
  head.push_back(fmt::format("The runtime '{}' numbers servers, says where they meet and gives containers their "
                             "/dev/shm.",
                             sanitized(options.runtime)));
  Object trainer{{"image", imageOf()},
                 {"numNodes", shape.nodes},
                 {"numProcPerNode", shape.perNode},
                 {"resourcesPerNode", Object{{"limits", Object{{options.resource, shape.perNode}}}}}};
  Array environment = environmentOf(false), args;
  if (run)
    addRunVariables(environment);
  if (!environment.empty())
    trainer["env"] = std::move(environment);
  if (!run || batch->torchrun)
    trainer["command"] = commandOf(0, "torchrun");
  if (run)
    addRunCommand(trainer, args, 0);
  else
    args.push_back(scriptOf());
  if (!args.empty())
    trainer["args"] = std::move(args);
  Object spec{
      {"runtimeRef",
       Object{{"name", options.runtime}, {"kind", "ClusterTrainingRuntime"}, {"apiGroup", "trainer.kubeflow.org"}}},
      {"trainer", std::move(trainer)}};
  if (run) {
    PodSet pods = podSets(run->name).front();
    Object pod{{"terminationGracePeriodSeconds", batch->notice + kKill}};
    addPlacement(pod, pods);
    if (!run->claim.empty()) {
      pod["volumes"] = Array{Object{{"name", "shared"}, {"persistentVolumeClaim", Object{{"claimName", run->claim}}}}};
      pod["containers"] = Array{
          Object{{"name", "node"}, {"volumeMounts", Array{Object{{"name", "shared"}, {"mountPath", run->mount}}}}}};
    }
    spec["runtimePatches"] = patchesOf(
        "accord/serve", Object{{"metadata", Object{{"labels", objectOf(run->labels)}}}, {"spec", std::move(pod)}});
    if (batch->limit > 0)
      spec["activeDeadlineSeconds"] = batch->limit;
    if (isQueued())
      spec["suspend"] = true;
  } else {
    head.push_back("runtimePatches are those of Kubeflow Trainer 2.2 and later.");
    if (isQueued())
      spec["suspend"] = true;
    Object pod, patch;
    addServers(pod, shape.pools.front(), options, peersOf({}));
    if (Object annotations = topologyOf(shape.nodes); !annotations.empty())
      patch["metadata"] = Object{{"annotations", std::move(annotations)}};
    if (!pod.empty())
      patch["spec"] = std::move(pod);
    if (!patch.empty())
      spec["runtimePatches"] = patchesOf("accord/emit", std::move(patch));
  }
  return made(Object{{"apiVersion", "trainer.kubeflow.org/v1alpha1"},
                     {"kind", "TrainJob"},
                     {"metadata", metadataOf(run ? run->name : labelOf(shape.job, "d-", 30))},
                     {"spec", std::move(spec)}});
}

} // namespace

bool keepsOrderOfNodes(const KubernetesRun &run, KubernetesKind kind, bool isQueued) {
  const size_t nodes = run.nodes.size();
  switch (kind) {
  case KubernetesKind::TrainJob:
    return false;
  case KubernetesKind::JobSet:
    return nodes <= (isQueued ? kMaxPodSets : kMaxSetsOfJobSet);
  case KubernetesKind::Job:
    break;
  }
  return nodes == 1 || !isQueued;
}

std::vector<Manifest> kubernetesObjects(const LaunchLayout &shape, const LaunchOptions &options) {
  KubernetesObjects objects(shape, options);
  switch (options.kind) {
  case KubernetesKind::JobSet:
    return {objects.jobSet()};
  case KubernetesKind::TrainJob:
    return {objects.trainJob()};
  case KubernetesKind::Job:
    break;
  }
  return objects.jobs();
}

std::string kubernetesText(const LaunchLayout &shape, const LaunchOptions &options) {
  std::string text = fmt::format("# {}\n", shape.title);
  if (options.batch)
    for (const std::string &remark : options.batch->remarks)
      text += "# " + sanitized(remark) + "\n";
  text += "# kubectl apply -f FILE\n";
  for (const LaunchLayout::Pool &pool : shape.pools)
    if (!options.batch && !options.nodeLabel.empty())
      text += fmt::format("# kubectl label node SERVER {}={}\n", sanitized(options.nodeLabel), pool.deviceName);
  if (!options.batch && !shape.spans.empty())
    text += "# Groups: " + shape.spans + ".\n";
  bool isFirst = true;
  for (const Manifest &one : kubernetesObjects(shape, options)) {
    text += (isFirst ? "" : "---\n") + yamlText(one);
    isFirst = false;
  }
  return text;
}

} // namespace accord
