// Designs of the devices of small clusters, and networks that train on them.
#pragma once
#include "lib/exploration/clusters/PlacedProblem.h"
#include "lib/placement/solve/PlacementSolver.h"
#include "test/support/DesignSpaceFixture.h"
#include "test/support/LatencyCluster.h"
#include <cmath>

namespace accord::test {

inline const char *const kChips = R"(
accelerator s {
  clock = 1 GHz
  technology = 16 nm
  memory hbm : dram { capacity = {1 GiB, 32 GiB}, bandwidth = 200 GB/s }
  memory glb : scratchpad { capacity = {1 MiB, 4 MiB}, bandwidth = 2048 B/cycle, double_buffered = true }
  core tc[pow2 1..4] : tensor { array = (pow2 32..128) x 64, dataflow = weight_stationary, multiply = bf16, accumulate = fp32, reads = glb }
  core vc[2] : vector { lanes = 256, types = {fp32, bf16}, reads = glb }
  path hbm -> glb -> {tc, vc}
  power { idle = 2 W, mac = 0.6 pJ }
  area { mac = 760 um2, lane = 760 um2, sram = 1.4 mm2 per 1 MiB }
  require area <= 30 mm2
})";

inline DesignSpace chips(std::string text = kChips) {
  test::Machines machines(text);
  auto made = machines.space("s");
  if (!made) {
    ADD_FAILURE() << test::firstError(text);
    std::abort();
  }
  return std::move(*made);
}

/// A network of the catalogue on 12 devices, or fewer servers of 4.
struct PlacedCase {
  test::ClusterCase one;
  PlacementProblemRequest request;

  PlacedCase(const char *file, const char *name, std::vector<int64_t> tensor, int64_t servers = 3)
      : one(file, name, 12) {
    request.job = name;
    request.batch = 12;
    Cluster cluster;
    cluster.name = "small";
    cluster.devicesPerNode = 4, cluster.servers = servers;
    cluster.fabric = one.fabric;
    cluster.fabric.levels.back().endpoints = servers;
    if (servers == 1)
      cluster.fabric.levels.pop_back();
    cluster.machine = one.machine;
    request.groups = {cluster};
    request.space.tensorShardings.clear();
    for (int64_t t : tensor)
      request.space.tensorShardings.push_back({t, false});
    request.space.microbatches = {1, 2};
    request.space.zero = {0, 1};
    request.space.schedules = {PipelineSchedule::OneFOneB, PipelineSchedule::Interleaved};
    request.instantiate = [this](const PlacementSpace::TensorSharding &sharding, int64_t microbatch,
                                 const std::string &) -> Result<WorkGraph> {
      if (auto graph = one.graphAt(sharding.tensor, 1, microbatch, 12 / microbatch, {}))
        return std::move(*graph);
      return Error{Code::NotSupported, "no graph", {}, {}};
    };
  }

  std::shared_ptr<const PlacedWork> work(const DesignSpace &space, MiningMetric metric = MiningMetric::StepTime,
                                         const std::atomic<bool> *stop = nullptr) {
    DesignBox all = wholeOf(space.parameters());
    PlacedJob job{request.job, request, {}, {}, stop};
    job.request.objective = *objectiveOf(metric);
    auto made = PlacedWork::of(std::move(job), *space.best(all));
    if (!made) {
      ADD_FAILURE() << made.error().front().message;
      return nullptr;
    }
    return std::move(*made);
  }

  /// Of a design by itself, with nothing known from others.
  double placed(const DesignSpace &space, const Design &design, MiningMetric metric) {
    auto machine = space.machine(design);
    auto *one = machine.get();
    if (!one || space.violatedRequirement(design, *one))
      return INFINITY;
    PlacementProblemRequest alone = request;
    alone.groups.front().machine = *one;
    alone.objective = *objectiveOf(metric);
    auto made = buildPlacementProblem(alone);
    auto *found = made.get();
    if (!found)
      return INFINITY;
    PlacementResult result = place(found->problem);
    EXPECT_GE(result.bound, result.value * (1 - 1e-9)) << "not proven: no reference";
    if (!result.plan)
      return INFINITY;
    return metric == MiningMetric::TdpTime    ? result.value
           : metric == MiningMetric::AreaTime ? result.value * 1e-12 * one->area.value
                                              : result.value * 1e-12;
  }
};

} // namespace accord::test
