#include "lib/driver/GraphProfiler.h"
#include "dialects/accel/AccelDialect.h"
#include "dialects/dnn/Dnn.h"
#include "lib/compilation/TrainingGraphs.h"
#include "lib/language/program/Elaborate.h"
#include "lib/machine/translate/FromAccel.h"
#include "lib/machine/translate/FromCluster.h"
#include "lib/machine/translate/FromDnn.h"
#include "lib/support/documents/Csv.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/MemoryBuffer.h"
#include <map>
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
  /// One program, and the training graphs of its job.
  struct Text {
    SourceManager sources;
    Diagnostics diags{sources};
    std::unique_ptr<Program> program;
    std::optional<TrainingJob> job;
    std::unique_ptr<TrainingGraphs> graphs;
  };
  mlir::MLIRContext &context;
  std::string catalog;
  std::map<std::string, Text> texts;
  std::map<std::tuple<std::string, TrainingOptions, int64_t>, Profile> profiles;

  static TrainingOptions optionsOf(const Workload &workload) {
    TrainingOptions options;
    options.recompute = workload.recompute;
    options.tensor = workload.tensor, options.sequence = workload.sequence;
    options.context = workload.context;
    if (workload.context > 1)
      options.exchange = workload.exchange;
    options.data = workload.data;
    options.tables = workload.tables == "whole" ? "" : workload.tables;
    options.fuse = workload.fused;
    return options;
  }

  /// The graph of a row; nothing, with the words of the front end or of a pass in `error`, where there is none.
  dnn::TrainingGraphOp graphOf(const Workload &workload, std::string &error) {
    auto [slot, isNew] = texts.try_emplace(workload.text);
    Text &text = slot->second;
    if (isNew) {
      text.sources.add("row.dnn", workload.text);
      ElaborateOptions options;
      options.catalog = catalog;
      text.program = std::make_unique<Program>(text.diags, context, "row.dnn", options);
      if (!text.diags.hasErrors())
        text.job = text.program->job();
      text.graphs = std::make_unique<TrainingGraphs>(
          [&text](std::optional<int64_t>) { return text.job ? text.program->model(*text.job) : dnn::ModelOp(); });
    }
    const TrainingGraphs::Built &built = text.graphs->get(optionsOf(workload));
    if (!built.graph)
      error = built.errors.empty() ? text.diags.text() : built.errors.front().message;
    return built.graph;
  }
};

static Parameters parametersOf(dnn::TrainingGraphOp graph) {
  Parameters parameters;
  std::set<llvm::StringRef> tables;
  graph->walk([&](dnn::UpdateOp update) {
    if (update.getRowsAttr())
      tables.insert(update.getParameter());
  });
  graph->walk([&](dnn::ParameterOp parameter) {
    double elements = parameter.getElements();
    if (tables.count(parameter.getSymName()))
      parameters.table += elements;
    else if (parameter.getCopies() > 1)
      parameters.block += elements;
    else
      parameters.other += elements;
  });
  return parameters;
}

GraphProfiler::GraphProfiler(mlir::MLIRContext &context, std::string catalog)
    : data(new Data{context, std::move(catalog), {}, {}}) {}
GraphProfiler::~GraphProfiler() = default;

Result<Profile> GraphProfiler::profile(const Workload &workload, int64_t microbatch, const SourceLocation &row) {
  std::tuple key(workload.text, Data::optionsOf(workload), microbatch);
  auto known = data->profiles.find(key);
  if (known != data->profiles.end())
    return known->second;
  ACCORD_TRY(work, graph(workload, microbatch, 1, row));
  std::string error;
  Parameters parameters = parametersOf(data->graphOf(workload, error));
  Profile profile = profileOf(work);
  if (const std::optional<TrainingJob> &job = data->texts.at(workload.text).job; job && job->inference) {
    profile.replayed = job->inference->compiled;
    parameters = {}; // nothing is updated
  }
  profile.blockParameters = parameters.block;
  profile.otherParameters = parameters.other;
  profile.tableParameters = parameters.table;
  data->profiles.emplace(key, profile);
  return profile;
}

Result<WorkGraph> GraphProfiler::graph(const Workload &workload, int64_t microbatch, int64_t microbatches,
                                       const SourceLocation &row) {
  std::string error;
  dnn::TrainingGraphOp graph = data->graphOf(workload, error);
  if (!graph)
    return Error{Code::RowNotBuilt, "the row's training graph cannot be built: " + error, row};
  auto work = workGraphFrom(graph, microbatch, microbatches, error);
  if (!work)
    return Error{Code::RowNotBuilt, "the row's training graph is too large: " + error, row};
  return std::move(*work);
}

/// The cluster of the catalogue that published tables mean by the name of an accelerator; else the name itself.
static std::string meantBy(const std::string &name, const std::string &catalog) {
  auto file = llvm::MemoryBuffer::getFile(catalog + "/accelerators.csv");
  if (!file)
    return name;
  auto records = readCsv((*file)->getBuffer(), "accelerators.csv");
  for (const Record &record : records ? llvm::ArrayRef(*records).drop_front() : llvm::ArrayRef<Record>())
    if (record.size() == 2 && record[0].text == name)
      return record[1].text;
  return name;
}

Result<Cluster> GraphProfiler::hardware(const std::string &name) {
  std::string target = meantBy(name, data->catalog);
  SourceManager sources;
  Diagnostics diags(sources);
  // A program needs a main file; what it says does not matter here.
  sources.add("machine.dnn", "model none() {\n  input x : float[1]\n  input y : float[1]\n  loss mse(x, y)\n}\n");
  ElaborateOptions options;
  options.catalog = data->catalog;
  options.target = target;
  options.clusters = true;
  Program program(diags, data->context, "machine.dnn", options);
  accel::AcceleratorOp op = program.machine(target, {});
  if (!op || diags.hasErrors())
    return Error{Code::RowNotBuilt, diags.text()};
  auto machine = machineFrom(op);
  if (mlir::failed(machine))
    return Error{Code::RowNotBuilt, "the machine '" + target + "' cannot be used"};
  if (program.cluster())
    return clusterFrom(program.cluster(), *machine);
  Cluster alone;
  alone.name = machine->name;
  alone.location = machine->location;
  alone.machine = std::move(*machine);
  return alone;
}

} // namespace accord::calibrate
