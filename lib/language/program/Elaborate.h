// Syntax trees -> dialects and training jobs: names resolved, units and keys checked, parameters
// substituted.
#pragma once
#include "lib/ensembles/problem/EnsembleRequest.h"
#include "lib/jobs/problem/JobsRequest.h"
#include "lib/language/requests/TrainingJob.h"
#include "lib/machine/model/Framework.h"
#include "lib/sparsity/problem/SparsityRequest.h"
#include "lib/support/Diagnostics.h"
#include "lib/tuning/problem/Tuning.h"
#include "mlir/IR/BuiltinOps.h"
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace accord {
// Declared only: the dialects' own headers cost seconds to compile.
namespace accel {
class AcceleratorOp;
class ClusterOp;
} // namespace accel
namespace dnn {
class ModelOp;
} // namespace dnn

/// What the command line adds to or overrides in the files.
struct ElaborateOptions {
  std::string catalog;     ///< folder of the shipped descriptions
  std::string target;      ///< --target
  std::string train;       ///< --train: which block or model
  bool clusters = false;   ///< whether the target may be a cluster
  std::string calibration; ///< --calibration: a file, for the machine that it names
  bool ideal = false;      ///< --ideal: machines reach what their data sheets say
  bool mines = false;      ///< the target is a space of machines, whose design power differs
  /// Degrees on a cluster may be choices, pipelines included, and requirements become
  /// `TrainingJob::limits`.
  bool placement = false;
  std::string batch, microbatch, recompute, precision,
      optimizer;         ///< as written on the command line; empty: not given
  std::string framework; ///< --framework
  std::string metric;    ///< of mining: an expression, as written there
  bool prunes = false;   ///< what `sparsity for` says of the job is looked at; else it is assumed dense
  std::string ensemble;  ///< --ensemble: which one, where a file has several
  std::string member;    ///< the job is the training of this kind of its members
  std::string jobs;      ///< which `jobs` block, where a file has several
  std::string tuning;    ///< which `tuning` block, where a file has several
  /// Declarations that `Program::checkAll` leaves out, for whoever knows that they are right; empty: none.
  std::function<bool(const ast::Declaration &declaration)> isChecked;
};

/// One program: a main file and what it imports. All errors of all its parts go to the diagnostics.
class Program {
public:
  /// Reads and checks the main file. Look at `diags.hasErrors()` before asking for more.
  Program(Diagnostics &diags, mlir::MLIRContext &context, const std::string &path, const ElaborateOptions &options);
  ~Program();

  const ast::File *main() const;
  /// The job that the file and the options name; nothing after an error (none, several and none
  /// chosen, wrong settings).
  std::optional<TrainingJob> job();
  /// What `sparsity for` says of the job's training; nothing where the main file has no such block,
  /// or after errors.
  std::optional<SparsityRequest> sparsity(const TrainingJob &job);
  /// The ensemble that the options name, or the only one of the main file; nothing after an error.
  /// The job of one of its members on a machine is `job()` of a program with
  /// `ElaborateOptions::member` and `target`: the settings of its training, with the member's
  /// model.
  std::optional<EnsembleRequest> ensemble();
  /// The `jobs` block that the options name, or the only one of the main file; nothing after an error. Its cluster is
  /// that of --target, else of `on`. The job of one of its trainings is `job()` of a program with
  /// `ElaborateOptions::train`.
  std::optional<jobs::JobsRequest> jobs();
  /// The `tuning` block that the options name, or the only one of the main file, on one device; nothing after an error.
  std::optional<tuning::TuningProblem> tuning();
  /// The accelerator that a name means after `on` or --target: of the file, else of its imports,
  /// else of the catalogue. --target also takes a file, or FILE:NAME. Null after an error.
  accel::AcceleratorOp machine(const std::string &name, SourceRange from);
  /// The machine that the job or the options say, or the only one of the main file; of a cluster,
  /// one of its devices. Settles the job's parallel degrees: one device has 1 of each, a cluster
  /// what the file fixes.
  accel::AcceleratorOp machineOf(TrainingJob &job);
  /// The cluster that `machineOf` found; null if it is a machine alone.
  accel::ClusterOp cluster();
  /// The framework that trains on that cluster: the one that the options name, else the cluster's, else its devices'.
  /// That of devices says nothing of the degrees that there are. Nothing where none is stated, or after errors;
  /// `assumed` says where it comes from, unless the options say it.
  std::optional<Framework> framework(std::string &assumed);
  /// Of a job on that cluster: what its requirements limit where its devices are this machine.
  /// Those that say no such thing are reported.
  std::vector<PlacementLimit> limitsOn(const TrainingJob &job, const Machine &machine);
  /// That cluster as it is written, with the constants that it names; empty without one. `chosen`:
  /// what stands instead of its choices, by name ("board.count", "ici.bandwidth", "price").
  std::string clusterText(const std::map<std::string, std::string> &chosen = {});
  /// Of each kind of devices of that cluster: one, unless `ElaborateOptions::placement`.
  std::vector<accel::AcceleratorOp> machines();
  /// The job's model as a `dnn.model` named like the job; `overrides` replace parameters (sweeps
  /// over `seq`). Null after errors.
  dnn::ModelOp model(const TrainingJob &job, const std::map<std::string, int64_t> &overrides = {});
  /// The value of an integer parameter of the job's model, if it has one of that name.
  std::optional<int64_t> parameter(const TrainingJob &job, llvm::StringRef name);
  /// Everything of the main file that no job asks for is checked too: every machine and every model
  /// with defaults.
  void checkAll();
  /// Inputs, names and imports that nothing uses (A0013, A0117, A0515), once all else is right.
  void reportUnused();
  mlir::ModuleOp module();

private:
  struct Data;
  std::unique_ptr<Data> data;
};

} // namespace accord
