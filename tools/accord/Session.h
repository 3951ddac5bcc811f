// What the sub-commands share: common options, loading a program, planning, printing diagnostics.
#pragma once
#include "lib/exploration/clusters/ClusterSpace.h"
#include "lib/language/program/Elaborate.h"
#include "lib/machine/collectives/Cluster.h"
#include "lib/placement/builder/PlacementProblemBuilder.h"
#include "lib/placement/problem/PlacementPlan.h"
#include "lib/planning/output/Summary.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/JSON.h"
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace CLI {
class App;
}

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
  unsigned threads = 1;
  unsigned effort = 4;
  bool json = false;
};
/// FILE and the options that say which job on which machine.
void addProgramOptions(CLI::App &command, Options &options);
void addJson(CLI::App &command, bool &json);

class Session {
public:
  explicit Session(const Options &options);
  ~Session();

  /// Reads the file, finds job and machine, builds the training graph. False after errors.
  bool prepare();
  /// Best plan of the job on the machine; nothing after errors.
  std::optional<Plan> plan();
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
  bool useDevice(const Machine &machine, Objective objective);
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
  const std::vector<Cluster> &groups() const { return theGroups; }
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
  struct Search {
    double gap = 0;
    const std::atomic<bool> *stop = nullptr;
    std::function<void(const SolveProgress &)> progress;
    bool brief = false; ///< no more than a first schedule of each
    /// A plan for `placement` to begin with.
    std::function<std::optional<Placement>(const PlacementProblem &)> known = {};
  } search;

  /// The search as the user asked for it, for planning again on a changed machine.
  SingleDeviceRequest request(std::optional<Degrees> degrees = {});

private:
  Result<WorkGraph> workOfPlacement(const Degrees &degrees, const std::string &policy, int64_t microbatch);
  bool loadPlugins();
  /// A training graph, and the remarks of the passes that shared it.
  struct Built {
    mlir::Operation *graph = nullptr;
    std::vector<std::string> remarks;
  };
  /// By recomputation, sequence length (-1: as written), tensor and data degree, whether sequence
  /// parallel, and what the replicas divide.
  using GraphKey = std::tuple<std::string, int64_t, int64_t, int64_t, bool, bool, std::string>;
  GraphKey keyOf(const std::string &recompute, std::optional<int64_t> sequence,
                 const std::optional<Degrees> &degrees) const;
  mlir::Operation *trainingGraph(const std::string &recompute, std::optional<int64_t> sequence,
                                 const std::optional<Degrees> &degrees = {});
  std::optional<WorkGraph> extract(mlir::Operation *graph, const std::string &policy, int64_t microbatch,
                                   int64_t microbatches, std::string &error);
  bool prepareMachine(mlir::Operation *accelerator);
  bool prepareCluster();
  bool prepareSpace();
  /// Of requirements that a cluster states: those of a training alone are looked at.
  void warnOfClusterLimits();
  bool prepareGroups();
  bool takeGroups(std::vector<Machine> machines);
  bool runPasses(mlir::ModuleOp module, const std::string &pipeline, const char *option,
                 std::vector<std::string> *remarks = nullptr);

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
  std::vector<Cluster> theGroups;
  std::optional<Network> theBetween; ///< connects servers of different groups
  std::optional<int64_t> theSequence;
  std::string recompute; ///< of the plan, before it the first candidate
  std::map<GraphKey, Built> graphs;
};

/// Where a location of a file that was read is; of another one nowhere.
SourceRange rangeOf(Diagnostics &diags, const SourceLocation &location);
/// Folder of the shipped descriptions.
std::string catalogFolder();
/// Writes a file or reports why it cannot be.
bool writeFile(Diagnostics &diags, const std::string &path, llvm::StringRef text);
/// Prints one error that has no place, as `Session::finish` does. Returns `kWrongInput`.
int refuse(Code code, const std::string &message, bool json, llvm::StringRef command);
/// {"command", "version", "status": "error", "diagnostics": […]}
llvm::json::Value errorDocument(const Diagnostics &diags, llvm::StringRef command);

} // namespace accord
