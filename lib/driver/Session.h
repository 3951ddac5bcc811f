// One training of a user, from its file to a plan. A session puts together what also stands alone: the workspace (file,
// program, diagnostics), the target (machine or cluster) and the graphs (training graphs and their work).
//
//   Options options;
//   options.file = "gpt2.dnn";
//   Session session(options);
//   if (!session.prepare())
//     return session.finish(kWrongInput, "compile");
//   std::optional<Plan> plan = session.plan();
#pragma once
#include "lib/driver/JobGraphs.h"
#include "lib/machine/model/Plan.h"
#include "lib/placement/problem/PlacementPlan.h"
#include "lib/planning/solve/SingleDevice.h"
#include "mlir/IR/OwningOpRef.h"

namespace accord {
class PlacementPlanner;
class SolverMonitor;
struct DataLoaderRow;
struct EstimateTotals;
struct PlacementProblemRequest;
struct PlacementSparsityRequest;
struct Planning;
struct PlacementSpace;
struct TrainingRequest;
enum class PipelinePhase : uint8_t;

class Session {
public:
  explicit Session(const Options &options);
  ~Session();

  /// Reads the file, finds job and target, builds the training graphs. False after errors.
  bool prepare();

  Workspace &workspace() { return theWorkspace; }
  JobTarget &target() { return theTarget; }
  const JobTarget &target() const { return theTarget; }
  JobGraphs &graphs() { return theGraphs; }

  Diagnostics &diagnostics() { return theWorkspace.diagnostics(); }
  Program &program() { return theWorkspace.program(); }
  const TrainingJob &job() const { return theWorkspace.job(); }
  const Machine &machine() const { return theTarget.machine(); }
  const std::optional<Cluster> &cluster() const { return theTarget.cluster(); }
  /// Tokens of a sample, where the model says so.
  std::optional<int64_t> sequence() const { return theSequence; }
  /// What frameworks call the model of the job; nothing after errors.
  std::optional<ModelArchitecture> architecture();
  void report(const Error &error, llvm::StringRef help = {}) { theWorkspace.report(error, help); }
  int finish(int status, llvm::StringRef command) const { return theWorkspace.finish(status, command); }

  /// Samples of a step that one device takes.
  int64_t batchOfDevice() const { return job().batch / job().degrees.data; }
  /// The smallest micro-batch that is in the search space and divides them, else all of them; on a cluster 0
  /// where none divides them.
  int64_t smallestMicrobatch() const;

  /// The module with machines, clusters and the request, before the first phase of the pipeline; null after errors.
  mlir::OwningOpRef<mlir::ModuleOp> requestModule();
  /// Runs phases of the pipeline on such a module, with the search as the user asked for it. False after errors.
  bool runPhases(mlir::ModuleOp module, PipelinePhase from, PipelinePhase until, Planning &planning);
  /// Best plan of the job on the machine; nothing after errors.
  std::optional<Plan> plan();
  /// Best placement of the job on the cluster; nothing after errors. Without a plan that fits, `conflicts` say why.
  std::optional<PlacementPlan> placement();
  /// The last plan in the plan dialect: plan.mlir.
  std::string planMlir();

  /// All that the problem of `placement` is made from; what is assumed for it goes into `assumptions`. Nothing after
  /// errors.
  std::optional<PlacementProblemRequest> placementRequest(std::vector<std::string> &assumptions);

  /// The search as the user asked for it, for planning again on a changed machine.
  SingleDeviceRequest request(std::optional<Degrees> degrees = {});
  /// Costs, schedule and memory of one work graph on the job's machine.
  std::optional<Plan> planFor(WorkGraph graph, std::optional<Degrees> degrees = {});
  /// The plan's step with its interval, the parts of its energy, and the memory that there is; warns of more power than
  /// the machine may draw.
  void account(const Plan &plan, EstimateTotals &totals);
  /// Loading the job's data beside the plan's step, with what was assumed for it; nothing where the
  /// job does not say how, or after an error.
  std::optional<DataLoaderRow> dataLoaderOf(const Plan &plan, std::vector<std::string> &assumptions);

  const PlacementSparsityRequest *zeros = nullptr; ///< that `placement` may choose from; null: nothing is zero

  /// Of searches for plans from here on.
  struct Search : SearchControl {
    std::function<std::string()> stopReason = {}; ///< in words
    bool brief = false;                           ///< no more than a first schedule of each
    bool firstAnswer = false;                     ///< see `Planning`
    std::function<void()> found = {};             ///< see `Planning`
    /// A plan for `placement` to begin with.
    std::function<std::optional<Placement>(const PlacementProblem &)> known = {};
    std::function<void(PlacementSpace &)> within = {}; ///< see `Planning`
  } search;

private:
  void describeRequest();
  void steer(SearchControl &planning) const { planning = search; }
  TrainingRequest &trainingRequest();
  mlir::OwningOpRef<mlir::ModuleOp> shardedModule();
  PlacementPlanner &planner();

  const Options &options;
  Workspace theWorkspace;
  JobTarget theTarget;
  JobGraphs theGraphs;
  std::optional<int64_t> theSequence;
  std::unique_ptr<TrainingRequest> theRequest;
  std::unique_ptr<PlacementPlanner> thePlanner;
  mlir::OwningOpRef<mlir::ModuleOp> theDecisions; ///< the module that the last plan was made in
};

/// The first search of a command, under its monitor, which shows how far it is. What the session searches after it,
/// from the answer on, ends where the monitor stops it.
void searchUnder(SolverMonitor &monitor, Session &session, llvm::function_ref<void()> search);
/// The session's plan. On a signal or after the time it is the best so far and says so (`Schedule::stopped`), and what
/// is planned after it is only sketched. Nothing after errors, which are reported.
std::optional<Plan> planUnder(SolverMonitor &monitor, Session &session);

} // namespace accord
