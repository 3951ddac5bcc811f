// A whole training step priced on a machine of systolic arrays, with the search for tiles.
#include "dialects/Register.h"
#include "dialects/accel/AccelDialect.h"
#include "dialects/dnn/Dnn.h"
#include "lib/cost/Estimate.h"
#include "lib/cost/FromAccel.h"
#include "lib/cost/FromDnn.h"
#include "lib/syntax/Elaborate.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "passes/train/Passes.h"
#include <benchmark/benchmark.h>

using namespace accord;

namespace {

struct Work {
  WorkGraph graph;
  Machine machine;
};

/// A network of the catalogue on a machine of it, at one micro-batch.
std::optional<Work> workOf(const char *file, const char *model, const char *target,
                           int64_t microbatch) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  SourceManager sources;
  Diagnostics diags(sources);
  ElaborateOptions options;
  options.catalog = ACCORD_SOURCE_DIR "/lib/catalog";
  options.train = model, options.target = target;
  options.batch = std::to_string(microbatch);
  options.precision = "bf16", options.optimizer = "sgd";
  Program program(diags, context, std::string(ACCORD_SOURCE_DIR "/lib/catalog/") + file, options);
  auto job = diags.hasErrors() ? std::nullopt : program.job();
  if (!job || !program.model(*job))
    return std::nullopt;
  mlir::PassManager passes(&context);
  BuildTrainingGraphOptions build;
  build.precision = "bf16", build.optimizer = "sgd";
  passes.addPass(createBuildTrainingGraph(build));
  if (mlir::failed(passes.run(program.module())))
    return std::nullopt;
  Work work;
  bool found = false;
  program.module().walk([&](dnn::TrainingGraphOp graph) {
    std::string error;
    if (auto made = workGraphFrom(graph, microbatch, 1, error))
      work.graph = std::move(*made), found = true;
  });
  accel::AcceleratorOp accelerator = program.machine(job->target, {});
  if (accelerator)
    if (auto machine = machineFrom(accelerator); mlir::succeeded(machine))
      work.machine = std::move(*machine);
  return found && !work.machine.cores.empty() ? std::optional(std::move(work)) : std::nullopt;
}

void step(benchmark::State &state, const char *file, const char *model, const char *target,
          int64_t microbatch) {
  auto work = workOf(file, model, target, microbatch);
  if (!work)
    return state.SkipWithError("the network cannot be priced");
  size_t mapped = 0, exact = 0;
  for (auto _ : state) {
    auto costs = estimate(work->graph, work->machine);
    if (!std::holds_alternative<Costs>(costs))
      return state.SkipWithError("no costs");
    mapped = exact = 0;
    for (const OperationCost &cost : std::get<Costs>(costs).operations) {
      mapped += !cost.tiles.empty();
      exact += !cost.tiles.empty() && cost.gap == 0;
    }
  }
  state.counters["operations"] = static_cast<double>(work->graph.operations.size());
  state.counters["mapped"] = static_cast<double>(mapped);
  state.counters["exact"] = static_cast<double>(exact);
}

} // namespace

BENCHMARK_CAPTURE(step, ResNet50OnArrays, "resnet.dnn", "resnet50", "tpu_like", 32)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(step, BertLargeOnArrays, "bert.dnn", "bert_large", "tpu_like", 16)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(step, Gpt3OnDataSheet, "gpt3.dnn", "gpt3", "a100_80g", 1)
    ->Unit(benchmark::kMillisecond);
