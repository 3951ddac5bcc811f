#include "lib/driver/GraphProfiler.h"
#include "dialects/accel/AccelDialect.h"
#include "dialects/dnn/Dnn.h"
#include "lib/language/program/Elaborate.h"
#include "lib/machine/translate/FromAccel.h"
#include "lib/machine/translate/FromDnn.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include <fmt/format.h>
#include <set>
#include <tuple>

namespace accord::calibrate {
namespace {

/// Trained scalars; `table`: of tables with sparse gradients.
struct Parameters {
  double block = 0, other = 0, table = 0;
};

} // namespace

struct GraphProfiler::Data {
  struct Built {
    std::unique_ptr<SourceManager> sources;
    std::unique_ptr<Diagnostics> diags;
    std::unique_ptr<Program> program;
    mlir::OwningOpRef<mlir::ModuleOp> module;
    dnn::TrainingGraphOp graph;
    Parameters parameters;
    std::string error;
  };
  using GraphKey = std::tuple<std::string, std::string, int64_t, bool, bool, int64_t, std::string>;
  static GraphKey keyOf(const Workload &workload) {
    return {workload.text,  workload.recompute, workload.tensor, workload.sequence,
            workload.fused, workload.data,      workload.tables};
  }
  mlir::MLIRContext &context;
  std::string catalog;
  std::map<GraphKey, Built> graphs;
  std::map<std::tuple<GraphKey, int64_t>, Profile> profiles;

  bool run(mlir::ModuleOp module, const std::string &pipeline, std::string &error) {
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
      if (d.getSeverity() == mlir::DiagnosticSeverity::Error && error.empty())
        error = d.str();
      return mlir::success();
    });
    mlir::PassManager passes(&context);
    std::string reason;
    llvm::raw_string_ostream stream(reason);
    bool ok = mlir::succeeded(mlir::parsePassPipeline(pipeline, passes, stream)) && mlir::succeeded(passes.run(module));
    if (!ok && error.empty())
      error = reason.empty() ? "pipeline '" + pipeline + "' failed" : reason;
    return ok;
  }

  void build(const Workload &workload, Built &into) {
    into.sources = std::make_unique<SourceManager>();
    into.diags = std::make_unique<Diagnostics>(*into.sources);
    into.sources->add("row.dnn", workload.text);
    ElaborateOptions options;
    options.catalog = catalog;
    into.program = std::make_unique<Program>(*into.diags, context, "row.dnn", options);
    auto job = into.diags->hasErrors() ? std::nullopt : into.program->job();
    dnn::ModelOp model = job ? into.program->model(*job) : dnn::ModelOp();
    if (!model) {
      into.error = into.diags->text();
      return;
    }
    into.module = mlir::ModuleOp::create(model.getLoc());
    model->moveBefore(into.module->getBody(), into.module->getBody()->end());
    std::string pipeline = "build-training-graph,dnn.training_graph(gather-gradients)";
    if (workload.recompute != "none")
      pipeline = "recompute{policy=" + workload.recompute + "}," + pipeline;
    pipeline = "expand-recurrent," + pipeline;
    if (workload.tensor > 1)
      pipeline += fmt::format(",shard{{axis=tensor devices={} sequence={}}}", workload.tensor, workload.sequence);
    if (workload.data > 1)
      pipeline += fmt::format(",replicate{{axis=data devices={} tables={}}}", workload.data, workload.tables);
    if (workload.fused)
      pipeline += ",dnn.training_graph(fuse)";
    if (!run(*into.module, pipeline, into.error))
      return;
    for (dnn::TrainingGraphOp graph : into.module->getOps<dnn::TrainingGraphOp>())
      into.graph = graph;
    if (!into.graph)
      into.error = "the passes left no training graph";
    else
      countParameters(into);
  }

  void countParameters(Built &into) {
    std::set<llvm::StringRef> tables;
    into.graph->walk([&](dnn::UpdateOp update) {
      if (update.getRowsAttr())
        tables.insert(update.getParameter());
    });
    into.graph->walk([&](dnn::ParameterOp parameter) {
      double elements = parameter.getElements();
      if (tables.count(parameter.getSymName()))
        into.parameters.table += elements;
      else if (parameter.getCopies() > 1)
        into.parameters.block += elements;
      else
        into.parameters.other += elements;
    });
  }
};

GraphProfiler::GraphProfiler(mlir::MLIRContext &context, std::string catalog)
    : data(new Data{context, std::move(catalog), {}, {}}) {}
GraphProfiler::~GraphProfiler() = default;

Result<Profile> GraphProfiler::profile(const Workload &workload, int64_t microbatch, const SourceLocation &row) {
  Data::GraphKey key = Data::keyOf(workload);
  auto known = data->profiles.find({key, microbatch});
  if (known != data->profiles.end())
    return known->second;
  auto work = graph(workload, microbatch, 1, row);
  if (!work)
    return work.error();
  const Data::Built &built = data->graphs.at(key);
  Profile profile = profileOf(*work);
  profile.blockParameters = built.parameters.block;
  profile.otherParameters = built.parameters.other;
  profile.tableParameters = built.parameters.table;
  data->profiles.emplace(std::tuple(key, microbatch), profile);
  return profile;
}

Result<WorkGraph> GraphProfiler::graph(const Workload &workload, int64_t microbatch, int64_t microbatches,
                                       const SourceLocation &row) {
  auto [found, isNew] = data->graphs.try_emplace(Data::keyOf(workload));
  Data::Built &built = found->second;
  if (isNew)
    data->build(workload, built);
  if (!built.error.empty())
    return Error{Code::RowNotBuilt, "the row's training graph cannot be built: " + built.error, row, {}};
  std::string error;
  auto work = workGraphFrom(built.graph, microbatch, microbatches, error);
  if (!work)
    return Error{Code::RowNotBuilt, "the row's training graph is too large: " + error, row, {}};
  return std::move(*work);
}

Result<Machine> GraphProfiler::machine(const std::string &target) {
  SourceManager sources;
  Diagnostics diags(sources);
  // A program needs a main file; what it says does not matter here.
  sources.add("machine.dnn", "model none() {\n  input x : float[1]\n  input y : float[1]\n  loss mse(x, y)\n}\n");
  ElaborateOptions options;
  options.catalog = data->catalog;
  options.target = target;
  Program program(diags, data->context, "machine.dnn", options);
  accel::AcceleratorOp op = program.machine(target, {});
  if (!op || diags.hasErrors())
    return Error{Code::RowNotBuilt, diags.text(), {}, {}};
  auto machine = machineFrom(op);
  if (mlir::failed(machine))
    return Error{Code::RowNotBuilt, "the machine '" + target + "' cannot be used", {}, {}};
  return *machine;
}

} // namespace accord::calibrate
