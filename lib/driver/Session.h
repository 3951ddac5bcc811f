// One program of a user, from its files to a plan: the job, its machine or cluster, its training graphs, its
// diagnostics.
#pragma once
#include "lib/compilation/PlacementPlanner.h"
#include "lib/exploration/clusters/ClusterSpace.h"
#include "lib/language/program/Elaborate.h"
#include "lib/machine/collectives/Cluster.h"
#include "lib/placement/builder/PlacementProblemBuilder.h"
#include "lib/placement/problem/PlacementPlan.h"
#include "lib/planning/output/Summary.h"
#include "lib/planning/solve/SingleDevice.h"
#include "lib/support/documents/WriteFile.h"
#include "mlir/IR/MLIRContext.h"
#include "passes/Pipelines.h"
#include "llvm/Support/JSON.h"
#include <memory>
#include <string>
#include <vector>

namespace accord {
class DesignSpace;

enum Exit : int { kDone = 0, kWrongInput = 1, kInfeasible = 2, kInternal = 3 };

struct Options {
  std::string file;
  ElaborateOptions elaborate;
  std::string costModel;
  std::vector<std::string> plugins;
  std::string modelPasses; ///< pipeline run on the model, before the training graph is built
  std::string passes;      ///< pipeline run on the training graph
  bool fuse = false;       ///< run the pass `fuse` after them
  std::string output = "out";
  std::string until; ///< phase of the pipeline after which the module is printed; empty: the whole command
  unsigned threads = 1;
  unsigned effort = kQuickEffort;
  bool json = false;
};

class Session {
public:
  explicit Session(const Options &options);
  ~Session();

  /// Reads the file, finds job and machine, builds the training graph. False after errors.
  bool prepare();
  /// Best plan of the job on the machine; nothing after errors.
  std::optional<Plan> plan();
  /// The module with machines, clusters and the request, before the first phase of the pipeline; null after errors.
  mlir::OwningOpRef<mlir::ModuleOp> requestModule();
  /// Runs phases of the pipeline on such a module, with the search as the user asked for it. False after errors.
  bool runPhases(mlir::ModuleOp module, PipelinePhase from, PipelinePhase until, Planning &planning);
  /// The last plan in the plan dialect: plan.mlir.
  std::string planMlir();
  /// Best placement of the job on the cluster; nothing after errors. Without a plan that fits,
  /// `conflicts` say why. Defined in Placement.cpp.
  std::optional<PlacementPlan> placement();
  /// Whether devices of a cluster are mined.
  bool minesCluster() const;
  std::string spaceName() const; ///< of the accelerator that is mined
  /// What the mined cluster leaves open; null: there is none.
  const ClusterSpace *clusters() const { return theClusters.get(); }
  /// The cluster has these choices from now on (the first of each at the beginning).
  void chooseCluster(const Design &choices);
  /// The cluster as a description, with these choices; empty: no cluster is mined.
  std::string clusterText(const Design &choices) const;
  /// The devices of the mined cluster are this machine from now on, with the limits that follow
  /// from it. False after errors.
  bool useDevice(const Machine &machine, PlacementObjective objective);
  /// All but the problem that `offerPlacement` is made from; what is assumed for it goes into
  /// `assumptions`. Nothing after errors.
  std::optional<PlacementProblemRequest> placementRequest(std::vector<std::string> &assumptions);
  /// Bytes of a device that a placement may use where devices are this machine; 0: all.
  double maxMemoryOn(const Machine &machine);
  /// The problem that `placement` solves, and ranges of pipeline stages: fewest, and most (0: any).
  std::optional<BuiltPlacementProblem> buildPlacement();
  /// The training graph's work for another sequence length (`seq` parameter), kept for later calls.
  /// Nothing after errors.
  /// `degrees`: among other numbers of devices than the job's; what then stays whole is not said.
  std::optional<WorkGraph> workAt(int64_t microbatch, int64_t microbatches, std::optional<int64_t> sequence = {},
                                  std::optional<Degrees> degrees = {});
  /// What of the training graph stays whole at these degrees, in the words of the passes that share
  /// it. Nothing after errors.
  std::optional<std::vector<std::string>> unshardedAt(const Degrees &degrees);
  /// Costs, schedule and memory of one work graph on the job's machine.
  std::optional<Plan> planFor(WorkGraph graph, std::optional<Degrees> degrees = {});

  /// Parts of the energy of the plan's step; warns of more power than the machine may draw.
  void account(const Plan &plan, EstimateTotals &totals);
  /// Loading the job's data beside the plan's step, with what was assumed for it; nothing where the
  /// job does not say how, or after an error.
  std::optional<DataLoaderRow> dataLoaderOf(const Plan &plan, std::vector<std::string> &assumptions);

  const TrainingJob &job() const { return *theJob; }
  const Machine &machine() const { return theMachine; }
  /// What the job's target is made of, if that is a cluster; `machine()` is then one of its
  /// devices.
  const std::optional<Cluster> &cluster() const { return theCluster; }
  /// Equal devices of the cluster, a group each.
  const std::vector<Cluster> &groups() const { return theGroups.groups; }
  /// The machines among which one is mined; nothing after errors.
  std::optional<DesignSpace> designSpace();
  /// Samples of a step that one device takes.
  int64_t batchOfDevice() const { return theJob->batch / theJob->degrees.data; }
  /// The smallest micro-batch that is in the search space and divides them, else all of them; on a cluster 0
  /// where none divides them.
  int64_t smallestMicrobatch() const;
  std::optional<int64_t> sequence() const { return theSequence; }
  Diagnostics &diagnostics() { return diags; }
  Program &program() { return *theProgram; }
  mlir::ModuleOp module();

  /// Prints the diagnostics: to standard error, or with --json as one document on standard output.
  /// Returns `status`, or 1 when there were errors.
  int finish(int status, llvm::StringRef command);
  void report(const Error &issue, llvm::StringRef help = {});

  /// Of searches for plans from here on.
  struct Search : SearchControl {
    std::function<std::string()> stopReason = {}; ///< in words
    bool brief = false;                           ///< no more than a first schedule of each
    /// A plan for `placement` to begin with.
    std::function<std::optional<Placement>(const PlacementProblem &)> known = {};
  } search;

  /// The search as the user asked for it, for planning again on a changed machine.
  SingleDeviceRequest request(std::optional<Degrees> degrees = {});

private:
  bool loadPlugins();
  bool checkPasses();
  void describeRequest(accel::AcceleratorOp target);
  TrainingOptions optionsAt(const std::string &recompute, const std::optional<Degrees> &degrees) const;
  dnn::TrainingGraphOp trainingGraph(const std::string &recompute, std::optional<int64_t> sequence,
                                     const std::optional<Degrees> &degrees = {});
  void reportPasses(Errors errors);
  TrainingRequest &trainingRequest();
  mlir::OwningOpRef<mlir::ModuleOp> shardedModule();
  PlacementPlanner &planner();
  std::optional<WorkGraph> extract(dnn::TrainingGraphOp graph, const std::string &policy, int64_t microbatch,
                                   int64_t microbatches, std::string &error);
  bool prepareMachine(mlir::Operation *accelerator);
  bool prepareCluster();
  bool prepareSpace();
  /// Of requirements that a cluster states: those of a training alone are looked at.
  void warnOfClusterLimits();
  bool prepareGroups();
  bool takeGroups(std::vector<Machine> machines);

  const Options &options;
  SourceManager sources;
  Diagnostics diags;
  std::unique_ptr<mlir::MLIRContext> context;
  std::unique_ptr<Program> theProgram;
  std::optional<TrainingJob> theJob;
  Machine theMachine;
  mlir::Operation *theSpace = nullptr; ///< the accelerator with choices that is mined
  std::unique_ptr<ClusterSpace> theClusters;
  std::optional<Cluster> theCluster;
  ClusterTarget theGroups; ///< for a placement
  std::optional<int64_t> theSequence;
  std::string recompute; ///< of the plan, before it the first candidate
  std::string theTarget; ///< accelerator or cluster of the module
  TrainingRequest theRequest;
  std::unique_ptr<TrainingGraphs> graphs;
  std::unique_ptr<PlacementPlanner> thePlanner;
  mlir::OwningOpRef<mlir::ModuleOp> theDecisions; ///< the module that the last plan was made in
};

/// Where a location of a file that was read is; of another one nowhere.
SourceRange rangeOf(Diagnostics &diags, const SourceLocation &location);
/// Folder of the shipped descriptions.
std::string catalogFolder();
/// Prints one error that has no place, as `Session::finish` does. Returns `kWrongInput`.
int refuse(Code code, const std::string &message, bool json, llvm::StringRef command);
/// {"command", "version", "status": "error", "diagnostics": […]}
llvm::json::Value errorDocument(const Diagnostics &diags, llvm::StringRef command);

} // namespace accord
