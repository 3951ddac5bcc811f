// The latency model of a network of the catalogue, made as `accord latency` makes it.
#pragma once
#include "dialects/Register.h"
#include "dialects/accel/AccelDialect.h"
#include "dialects/dnn/Dnn.h"
#include "lib/language/program/Elaborate.h"
#include "lib/latency/build/LatencyModelFit.h"
#include "lib/machine/cost/Estimate.h"
#include "lib/machine/translate/FromAccel.h"
#include "lib/machine/translate/FromDnn.h"
#include "lib/planning/solve/SingleDevice.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/Passes.h"
#include "test/support/SourcePath.h"

namespace accord::test {

/// `model` of lib/catalog/`file` on `target`, at `batch` and `microbatch`; else `why` there is
/// none.
inline std::optional<LatencyModel> catalogueLatencyModel(const std::string &file, const std::string &name,
                                                         const std::string &target, int64_t batch, int64_t microbatch,
                                                         std::string &error) {
  static const bool registered = [] {
    registerAllPasses();
    return true;
  }();
  (void)registered;
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  SourceManager sources;
  Diagnostics diags(sources);
  ElaborateOptions options;
  options.ideal = true; // what a formula of the data sheet gives
  options.catalog = accord::sourcePath("lib/catalog");
  options.train = name, options.target = target, options.batch = std::to_string(batch);
  Program program(diags, context, options.catalog + "/" + file, options);
  auto job = program.job();
  accel::AcceleratorOp accelerator = job ? program.machineOf(*job) : accel::AcceleratorOp();
  mlir::FailureOr<Machine> machine = mlir::failure();
  if (accelerator)
    machine = machineFrom(accelerator);
  if (!job || mlir::failed(machine)) {
    error = diags.text();
    return std::nullopt;
  }
  std::map<int64_t, mlir::OwningOpRef<mlir::ModuleOp>> built; // by sequence, -1: as written
  auto workAt = [&](int64_t b, int64_t of, std::optional<int64_t> sequence) -> std::optional<WorkGraph> {
    auto &own = built[sequence.value_or(-1)];
    if (!own) {
      std::map<std::string, int64_t> overrides;
      if (sequence)
        overrides["seq"] = *sequence;
      dnn::ModelOp model = program.model(*job, overrides);
      if (!model)
        return std::nullopt;
      own = mlir::ModuleOp::create(model.getLoc());
      model->moveBefore(own->getBody(), own->getBody()->end());
      mlir::PassManager passes(&context);
      if (mlir::failed(mlir::parsePassPipeline(
              "expand-recurrent,build-training-graph,dnn.training_graph(gather-gradients)", passes)) ||
          mlir::failed(passes.run(*own)))
        return std::nullopt;
    }
    auto graphs = own->getOps<dnn::TrainingGraphOp>();
    return graphs.empty() ? std::nullopt : workGraphFrom(*graphs.begin(), b, of, error);
  };
  auto work = workAt(microbatch, batch / microbatch, std::nullopt);
  if (!work) {
    error += diags.text();
    return std::nullopt;
  }

  SingleDeviceRequest request;
  request.job = name, request.batch = batch;
  auto planned = planFor(std::move(*work), *machine, request);
  if (!planned) {
    error = planned.error().front().message;
    return std::nullopt;
  }
  auto sampleAt = [&](int64_t b, int64_t of, std::optional<int64_t> s) -> std::optional<SampledWork> {
    auto at = workAt(b, of, s);
    auto costs = at ? estimate(*at, *machine) : Result<Costs, Errors>();
    if (!at || !costs)
      return std::nullopt;
    return SampledWork{std::move(*at), std::move(*costs)};
  };
  auto fitted = latencyModelOf(*planned, program.parameter(*job, "seq"), sampleAt);
  if (!fitted) {
    error = fitted.error().message;
    return std::nullopt;
  }
  return std::move(*fitted);
}

} // namespace accord::test
