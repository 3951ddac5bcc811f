// One micro-batch of a network of the catalogue, and a machine of it.
#pragma once
#include "dialects/Register.h"
#include "dialects/accel/AccelDialect.h"
#include "dialects/dnn/Dnn.h"
#include "lib/language/program/Elaborate.h"
#include "lib/machine/translate/FromAccel.h"
#include "lib/machine/translate/FromDnn.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "passes/train/Passes.h"
#include "test/support/SourcePath.h"

namespace accord::test {

/// A network of the catalogue and a machine of it, at one micro-batch.
inline std::optional<std::pair<WorkGraph, Machine>> ofCatalogue(const char *file, const char *model, const char *target,
                                                                int64_t microbatch) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  SourceManager sources;
  Diagnostics diags(sources);
  ElaborateOptions options;
  options.ideal = true; // what a formula of the data sheet gives
  options.catalog = accord::sourcePath("lib/catalog");
  options.train = model, options.target = target;
  options.batch = std::to_string(microbatch);
  Program program(diags, context, options.catalog + "/" + file, options);
  auto job = program.job();
  if (!job || !program.model(*job))
    return std::nullopt;
  mlir::PassManager passes(&context);
  BuildTrainingGraphOptions build;
  build.precision = "bf16", build.optimizer = "sgd";
  passes.addPass(createBuildTrainingGraph(build));
  if (mlir::failed(passes.run(program.module())))
    return std::nullopt;
  std::optional<WorkGraph> work;
  program.module().walk([&](dnn::TrainingGraphOp graph) {
    std::string error;
    work = workGraphFrom(graph, microbatch, 1, error);
  });
  accel::AcceleratorOp accelerator = program.machine(job->target, {});
  auto machine = accelerator ? machineFrom(accelerator) : mlir::FailureOr<Machine>();
  if (!work || mlir::failed(machine))
    return std::nullopt;
  return std::pair(std::move(*work), std::move(*machine));
}

} // namespace accord::test
