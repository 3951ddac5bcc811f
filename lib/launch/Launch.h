// Scripts and manifests that start a placement: `accord emit BACKEND DIR`.
#pragma once
#include "lib/launch/Manifest.h"
#include "lib/placement/problem/PlacementPlan.h"
#include <map>
#include <memory>
#include <optional>

namespace accord {

enum class Launcher : uint8_t {
  Torchrun,   ///< a shell script, run on each server
  Megatron,   ///< the same with the arguments of a script of Megatron-LM
  Accelerate, ///< the same with FSDP2 by Hugging Face Accelerate, and those of Transformers' examples
  DeepSpeed,  ///< the same with DeepSpeed's JSON, and those of Transformers' examples
  Titan,      ///< the same with torchtitan's TOML
  MaxText,    ///< a shell script for each server with MaxText's YAML
  Slurm,      ///< a batch script
  Kubernetes  ///< a manifest, as YAML
};

/// Which objects start a plan on Kubernetes.
enum class KubernetesKind : uint8_t {
  Job,     ///< a headless Service and an indexed Job, which every cluster knows
  JobSet,  ///< jobset.x-k8s.io/v1alpha2: a replicated job for each device type
  TrainJob ///< trainer.kubeflow.org/v1alpha1: of a runtime that says how torchrun is started
};

struct MegatronArguments;

/// What a scheduler is told of a run of a job beside its plan. Times are seconds.
struct BatchOptions {
  std::string comment;              ///< which job and which run
  std::vector<std::string> remarks; ///< comments of the script or manifest, a line each
  std::string deviceType;           ///< as Slurm (gres) calls it, where the layout has no name of its devices
  std::string account, service;     ///< of Slurm; empty: none
  std::string queue, priorityClass; ///< of Kueue; the queue is the namespace, too; empty: the job is not queued
  int64_t begin = 0;                ///< after it is submitted
  int64_t limit = 0;                ///< it is ended then; 0: never
  int64_t notice = 0;               ///< so long before it is ended it gets a signal, at which it saves; 0: none
  int64_t coresPerDevice = 0;       ///< 0: not stated
  bool exclusive = true;            ///< nobody else is on its servers
  bool requeue = false;             ///< it begins again where a server failed
  bool torchrun = true;             ///< else its command is started as it is, once on each server
  std::shared_ptr<const MegatronArguments> megatron; ///< what `@megatron` stands for in a command
  std::string withoutMegatron;                       ///< why there are none
};

/// A run that a scheduler process starts on nodes that it chose, beside its layout: what objects of Kubernetes say of
/// it.
struct KubernetesRun {
  std::string name;                 ///< of its objects: a label of DNS, at most 40 characters
  std::string nameSpace;            ///< where they are
  std::vector<std::string> nodes;   ///< by name, in the order of ranks
  std::vector<std::string> command; ///< words; with torchrun the program and its arguments. No shell reads them
  std::string directory;            ///< where it runs; empty: that of the image
  std::map<std::string, std::string> labels;      ///< of objects and pods
  std::map<std::string, std::string> annotations; ///< of objects
  std::string claim, mount;                       ///< a PersistentVolumeClaim and where it is mounted; empty: none
  int64_t keep = 86400;                           ///< seconds after its end, in which its objects can still be read
};

/// Whether pods of a run get their ranks in the order of its nodes: each is an object of its own then, or a set of its
/// own in a JobSet of at most 64 nodes. Kueue admits an object as a whole, with at most 18 sets of pods (Workload
/// v1beta2), and a TrainJob has one set: there the nodes are those of the run, but which of them is rank 0 is known
/// only when they run.
bool keepsOrderOfNodes(const KubernetesRun &run, KubernetesKind kind, bool isQueued);

struct LaunchOptions {
  std::string script;                      ///< of the training, in the container; Kubernetes alone
  std::string image;                       ///< Kubernetes alone; empty: a line that has to be filled in
  std::string resource = "nvidia.com/gpu"; ///< what Kubernetes calls a device
  KubernetesKind kind = KubernetesKind::Job;
  std::string runtime = "torch-distributed"; ///< of a TrainJob: its ClusterTrainingRuntime
  std::string nodeLabel = "accord/device";   ///< of servers, with the name of their devices; empty: they have none
  std::string deviceName; ///< what Slurm (gres) or the label on Kubernetes calls the type; empty: as queues/ does
  std::string product;    ///< what tools on a server call a device; empty: by lib/catalog/products.csv
  std::string constraint; ///< of Slurm; empty: none
  int64_t switches = 0;   ///< of Slurm: at most so many leaf switches; 0: any
  /// Where each group of `groupNodes` servers is together: Slurm, "block" of topology/block; Kubernetes with Kueue, a
  /// label of servers. Empty: anywhere.
  std::string groupTopology;
  std::string topology;              ///< Kubernetes: a label of servers that all of the job have in common; empty: none
  bool prefersTopology = false;      ///< it starts all the same where they have not
  std::string queue;                 ///< Kubernetes: a LocalQueue of Kueue; empty: that of `batch`, or none
  bool isVirtual = false;            ///< the guard compares names of the scheduler alone
  std::optional<BatchOptions> batch; ///< of a run of a job; Slurm and JobSets alone
  std::optional<KubernetesRun> run;  ///< on nodes by name, with `batch`; Kubernetes alone
};

/// Ranks are given as the plan numbers devices: server after server, tensor parallel devices in a row, then replicas,
/// then stages. What the backend cannot express and without which the step is another one or does not fit is refused,
/// with what it is (A0955); what is only performance stands in a comment. A0956 where there is no plan. What the plan
/// does not know (sizes of the model) has to be given in variables, named when they are missing.
Result<std::string> launchText(const PlacementPlan &plan, Launcher launcher, const LaunchOptions &options = {});

/// What every launcher needs.
struct LaunchLayout {
  /// Servers of one device type; ranks of a pool follow those of the one before it.
  struct Pool {
    std::string name;
    int64_t nodes = 1, perNode = 1;
    int64_t memory = 0; ///< bytes of one of its devices; 0: not known
    // What `describedLayout` adds, by which the guard and schedulers know them.
    std::string deviceName = {};            ///< as the scheduler calls the type
    std::vector<std::string> products = {}; ///< as tools on a server do (lib/launch/Guard.h)
    int64_t reported = 0;                   ///< bytes that a tool reports of a device, at least; 0: not compared
    double devicesPerUnit = 1;              ///< in one that the tool counts
    int64_t devicesPerNode = 0;             ///< devices that its servers have; 0: not known
    /// Whether nobody else can have devices of its servers.
    bool fillsServers() const { return devicesPerNode > 0 && perNode >= devicesPerNode; }
  };
  std::vector<Pool> pools;
  int64_t nodes = 0, perNode = 1; ///< of all pools; of the first
  std::string job;                ///< letters, digits, "-", starts with a letter: fit for every backend
  std::string title;              ///< "gpt3 on selene: tensor 8, …", on one line
  std::vector<std::pair<std::string, std::string>> environment; ///< degrees; digits and blanks
  /// Servers of one group of the innermost parallelism that exchanges across servers; 1: none does. Groups begin at its
  /// multiples.
  int64_t groupNodes = 1;
  std::string spans =
      {}; ///< where groups are: "tensor parallel in a server, data parallel in 4, ..."; empty: not known
  bool isVirtual = false; ///< the guard compares names of the scheduler alone
};
/// Which layers of a plan are blocks: the longest run of layers of one class; of an encoder with a decoder, all runs.
std::vector<bool> blocksOf(const PlacementPlan &plan);
/// Several device types are refused unless asked for. Of a transformer, the layers of a stage are its blocks, as
/// frameworks count them, without the embedding and the head.
Result<LaunchLayout> launchLayout(const PlacementPlan &plan, bool allowMixedDeviceTypes = false);

/// With names of devices for the guard and for the requests of a launcher. Error A0955 where one name is given for
/// several device types.
Result<LaunchLayout> describedLayout(LaunchLayout shape, Launcher launcher, const LaunchOptions &options);

constexpr int kRendezvousPort = 29500;
std::string slurmText(const LaunchLayout &shape, const LaunchOptions &options);
std::string kubernetesText(const LaunchLayout &shape, const LaunchOptions &options);
/// The objects of that text, in the order in which they are created but for a Service, which a run's first Job owns and
/// which comes behind.
std::vector<Manifest> kubernetesObjects(const LaunchLayout &shape, const LaunchOptions &options);
/// The guard's function and its call, which ends the script where it refuses: of the servers of a layout of one pool.
/// Empty where the layout does not say what devices are called (`describedLayout`).
std::string guardLines(const LaunchLayout &shape);
/// A line `export NAME="VALUE"` for each variable of a layout.
std::string exportsOf(const LaunchLayout &shape);

/// Arguments of Megatron-LM (core 0.13), one for each element with its value, and remarks. Layers are cut between the
/// equal blocks of the longest run; what stands before them is the embedding, what stands behind them the head. The
/// whole model is said where its architecture is known; else its sizes are those of parameters with the usual names.
struct MegatronArguments {
  std::string script = "pretrain_gpt.py"; ///< in the folder of Megatron-LM
  std::vector<std::string> arguments;
  std::vector<std::string> remarks;
};
Result<MegatronArguments> megatronArguments(const PlacementPlan &plan);
/// A Python script that builds the model with an installed Megatron-LM, without memory and on one rank, and compares
/// its parameters with the plan's. Refused as the arguments are, and where the plan has no architecture (A0955).
Result<std::string> megatronSmokeText(const PlacementPlan &plan);

/// One line of letters, digits and what is harmless in scripts and YAML; the rest becomes "_".
std::string sanitized(const std::string &text);
/// Fits into names and labels: at most `max` lower case letters, digits and "-", a letter first; what has none there
/// gets the prefix.
std::string labelOf(const std::string &text, const std::string &prefix, size_t max);

} // namespace accord
