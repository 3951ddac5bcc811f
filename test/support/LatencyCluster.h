// The latency model of a network of the catalogue on a small cluster, and plans to compare it with.
#pragma once
#include "lib/latency/build/ClusterLatencyModel.h"
#include "test/support/LatencyCatalogue.h"
#include "test/support/SourcePath.h"
#include <fmt/format.h>

namespace accord::test {

/// Servers of 4 devices on a switch with measured bandwidths, 3 of them on a fat tree: tensor
/// degrees cross servers, data degrees are no powers of two.
inline Fabric smallFabric() {
  Network inner, outer;
  inner.name = "nvlink", inner.endpoints = 4;
  inner.bandwidth = BytesPerSecond(300e9), inner.latency = Seconds(17e-6);
  inner.bandwidthByPeers = {{2, BytesPerSecond(194e9)}, {4, BytesPerSecond(220e9)}};
  outer.name = "ib", outer.topology = Topology::FatTree, outer.endpoints = 3;
  outer.leaf = 1, outer.oversubscription = 2;
  outer.bandwidth = BytesPerSecond(200e9), outer.latency = Seconds(5e-6);
  return {{inner, outer}};
}

class ClusterCase {
public:
  ClusterCase(std::string file, std::string name, int64_t batch, bool sequenceParallel = false)
      : fabric(smallFabric()), sequenceParallel(sequenceParallel),
        context((registered(), registry()), mlir::MLIRContext::Threading::DISABLED), diags(sources) {
    context.loadAllAvailableDialects();
    ElaborateOptions options;
    options.ideal = true; // what a formula of the data sheet gives
    options.catalog = accord::sourcePath("lib/catalog");
    options.train = name, options.target = "a100_80g", options.batch = std::to_string(batch);
    program = std::make_unique<Program>(diags, context, options.catalog + "/" + file, options);
    job = program->job();
    if (!job)
      return;
    if (auto accelerator = program->machineOf(*job))
      if (auto made = machineFrom(accelerator); mlir::succeeded(made))
        machine = *made;
    sequence = program->parameter(*job, "seq");
  }

  std::optional<WorkGraph> graphAt(int64_t t, int64_t d, int64_t microbatch, int64_t microbatches,
                                   std::optional<int64_t> s) {
    auto &own = built[{t, d, s.value_or(-1)}];
    if (!own) {
      std::map<std::string, int64_t> overrides;
      if (s)
        overrides["seq"] = *s;
      dnn::ModelOp model = program->model(*job, overrides);
      if (!model)
        return std::nullopt;
      own = mlir::ModuleOp::create(model.getLoc());
      model->moveBefore(own->getBody(), own->getBody()->end());
      std::string pipeline = "expand-recurrent,build-training-graph,dnn.training_graph(gather-gradients)";
      if (t > 1)
        pipeline += fmt::format(",shard{{axis=tensor devices={} sequence={}}}", t, sequenceParallel);
      if (d > 1)
        pipeline += fmt::format(",replicate{{axis=data devices={}}}", d);
      mlir::PassManager passes(&context);
      mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) { return mlir::success(); });
      if (mlir::failed(mlir::parsePassPipeline(pipeline, passes)) || mlir::failed(passes.run(*own)))
        return std::nullopt;
    }
    auto graphs = own->getOps<dnn::TrainingGraphOp>();
    std::string error;
    return graphs.empty() ? std::nullopt : workGraphFrom(*graphs.begin(), microbatch, microbatches, error);
  }

  /// The plan that the degrees have on `on`, for `samples` of each replica.
  std::optional<Plan> planAt(int64_t t, int64_t d, int64_t microbatch, int64_t samples, std::optional<int64_t> s = {}) {
    auto graph = graphAt(t, d, microbatch, (samples + microbatch - 1) / microbatch, s);
    if (!graph)
      return std::nullopt;
    SingleDeviceRequest request;
    request.job = job->name, request.batch = graph->microbatch * graph->microbatches;
    request.fabric = &fabric, request.axes = {{"tensor", t}, {"data", d}};
    auto made = planFor(std::move(*graph), machine, request);
    if (auto *plan = made.get())
      return std::move(*plan);
    return std::nullopt;
  }

  Result<LatencyModel> model(const std::vector<int64_t> &tensor, const std::vector<int64_t> &data, int64_t microbatch) {
    ClusterJob cluster;
    cluster.fabric = &fabric, cluster.cluster = "small", cluster.batch = job->batch;
    for (int64_t t : tensor)
      for (int64_t d : data)
        if (t * d <= fabric.devices()) {
          auto plan = planAt(t, d, microbatch, (job->batch + d - 1) / d);
          if (!plan)
            return Error{Code::InternalError, fmt::format("no plan at {} x {}", t, d), {}, {}};
          cluster.plans.push_back({t, d, std::move(*plan)});
        }
    cluster.tensor = cluster.plans.front().tensor, cluster.data = cluster.plans.front().data;
    return clusterLatencyModelOf(
        cluster, sequence,
        [&](int64_t t, int64_t d, int64_t b, int64_t of, std::optional<int64_t> s) -> std::optional<SampledWork> {
          auto graph = graphAt(t, d, b, of, s);
          EstimateOptions options;
          options.fabric = &fabric, options.axes = {{"tensor", t}, {"data", d}};
          auto costs = graph ? estimate(*graph, machine, options) : Result<Costs, Errors>();
          if (!graph || !costs)
            return std::nullopt;
          return SampledWork{std::move(*graph), std::move(*costs)};
        },
        [&](int64_t t, int64_t d, int64_t b, int64_t of) { return graphAt(t, d, b, of, {}); });
  }

  Machine machine;
  Fabric fabric;
  std::optional<TrainingJob> job;
  std::optional<int64_t> sequence;

private:
  static void registered() {
    static const bool done = [] {
      registerAllPasses();
      return true;
    }();
    (void)done;
  }
  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry all;
    registerAllDialects(all);
    return all;
  }

  bool sequenceParallel;
  mlir::MLIRContext context;
  SourceManager sources;
  Diagnostics diags;
  std::unique_ptr<Program> program;
  std::map<std::tuple<int64_t, int64_t, int64_t>, mlir::OwningOpRef<mlir::ModuleOp>> built;
};

} // namespace accord::test
