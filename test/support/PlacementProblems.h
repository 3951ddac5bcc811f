// Placement problems for tests: random small ones, and one like a language model on a cluster.
#pragma once
#include "lib/placement/problem/Placement.h"
#include "test/support/Random.h"
#include <algorithm>
#include <array>
#include <string>

namespace accord::test {

/// To some of the problems: a host's memory and what may be there, ranks in either order, layers
/// with a parameter in common, input that comes slowly, experts, least memory.
inline void addOtherChoices(PlacementProblem &problem, uint64_t seed) {
  fuzz::Random random(seed ^ 0x5bd1e995);
  auto below = [&](int64_t n) { return static_cast<int64_t>(random.below(static_cast<size_t>(n))); };
  auto one = [&](int64_t in) { return below(in) == 0; };
  if (one(3)) {
    for (auto &deviceType : problem.deviceTypes)
      deviceType.hostMemory = one(3) ? 0 : 10 + below(250);
    for (auto &layer : problem.classes)
      for (auto &cost : layer.costs)
        if (cost) {
          cost->hostStaticMemory = one(2) ? below(30) : 0;
          if (one(2))
            cost->recomputeChoices.push_back(
                {"offload", below(10), 0, below(60), cost->recomputeChoices[0].activations});
        }
  }
  if (one(3))
    for (auto &parallelConfig : problem.parallelConfigs)
      if (one(2))
        parallelConfig.order = PlacementProblem::RankOrder::TensorPipelineData;
  if (size_t n = problem.layers.size(); n > 1 && one(3)) {
    auto a = static_cast<uint32_t>(one(2) ? 0 : below(static_cast<int64_t>(n) - 1));
    auto b =
        one(2) ? static_cast<uint32_t>(n - 1) : a + 1 + static_cast<uint32_t>(below(static_cast<int64_t>(n - a) - 1));
    problem.ties.push_back({a, b});
    for (auto &layer : problem.classes)
      for (auto &cost : layer.costs)
        if (cost)
          cost->tied = below(200);
  }
  if (!problem.ties.empty())
    for (auto &parallelConfig : problem.parallelConfigs)
      parallelConfig.oneGroup = one(4);
  if (one(6))
    problem.minStep = below(1000);
  if (one(4))
    problem.uniformClass = problem.layers[static_cast<size_t>(below(static_cast<int64_t>(problem.layers.size())))].of;
  if (one(3))
    for (size_t f = 0; f < problem.parallelConfigs.size(); ++f)
      if (PlacementProblem::ParallelConfig &parallelConfig = problem.parallelConfigs[f]; parallelConfig.data > 1) {
        parallelConfig.expert = one(2) ? parallelConfig.data : 1;
        parallelConfig.expertGradientSyncs = {{1, {{static_cast<double>(below(40)), 0.6}}}, {2, {{2, 0.3}}}};
        for (auto &layer : problem.classes)
          if (layer.costs[f])
            layer.costs[f]->expertGradients = below(90);
      }
  if (one(5))
    problem.objective = PlacementObjective::Memory;
}

/// One to four parallel configurations, each on one of the device types.
inline void addParallelConfigs(PlacementProblem &problem, fuzz::Random &random) {
  auto below = [&](int64_t n) { return static_cast<int64_t>(random.below(static_cast<size_t>(n))); };
  auto one = [&](int64_t in) { return below(in) == 0; };
  for (size_t f = 0, parallelConfigs = static_cast<size_t>(1 + below(4)); f < parallelConfigs; ++f) {
    PlacementProblem::ParallelConfig parallelConfig;
    parallelConfig.deviceType = static_cast<uint32_t>(below(static_cast<int64_t>(problem.deviceTypes.size())));
    parallelConfig.tensor = one(3) ? 2 : 1;
    parallelConfig.data = one(3) ? 2 : 1;
    parallelConfig.microbatch = one(3) ? 2 : 1;
    if (parallelConfig.data > 1)
      parallelConfig.gradientSyncs = {{1, {{static_cast<double>(below(50)), 0.5}}}, {2, {{3, 0.25}, {20, 0.1}}}};
    if (one(5))
      parallelConfig.gather = {{2, 0.1}};
    problem.parallelConfigs.push_back(parallelConfig);
  }
}

/// One to three classes of layers; not each runs in each parallel configuration.
inline void addClasses(PlacementProblem &problem, fuzz::Random &random) {
  auto below = [&](int64_t n) { return static_cast<int64_t>(random.below(static_cast<size_t>(n))); };
  auto one = [&](int64_t in) { return below(in) == 0; };
  size_t classes = static_cast<size_t>(1 + below(3));
  for (size_t c = 0; c < classes; ++c) {
    PlacementProblem::LayerClass layer;
    layer.name = "class" + std::to_string(c);
    for (size_t f = 0; f < problem.parallelConfigs.size(); ++f) {
      if (one(12)) {
        layer.costs.emplace_back();
        continue;
      }
      PlacementProblem::Cost cost;
      cost.forward = below(40), cost.backward = below(60), cost.weight = below(30);
      cost.update = below(20);
      cost.staticMemory = below(60), cost.gradients = below(100), cost.weights = below(40);
      cost.weightMemory = cost.staticMemory / 4, cost.gradientMemory = cost.staticMemory / 4;
      cost.joules = static_cast<double>(below(1000)) * 1e-9;
      cost.recomputeJoules = static_cast<double>(below(20)) * 1e-9;
      for (int64_t k = 0, recomputeChoices = 1 + below(3); k < recomputeChoices; ++k)
        cost.recomputeChoices.push_back({"keep" + std::to_string(k), k == 0 ? 0 : below(40), below(50), below(60)});
      layer.costs.push_back(cost);
    }
    problem.classes.push_back(layer);
  }
}

/// A chain, sometimes with an edge that skips all of it, a tree or a DAG.
inline void addEdges(PlacementProblem &problem, fuzz::Random &random) {
  auto below = [&](int64_t n) { return static_cast<int64_t>(random.below(static_cast<size_t>(n))); };
  auto one = [&](int64_t in) { return below(in) == 0; };
  int64_t shape = below(3); // chain, tree, DAG
  for (uint32_t i = 1; i < problem.layers.size(); ++i) {
    if (shape == 0)
      problem.edges.push_back({i - 1, i, one(15) ? 0 : below(60)});
    else if (shape == 1)
      problem.edges.push_back({static_cast<uint32_t>(below(i)), i, below(60)});
    else
      for (uint32_t from = 0; from < i; ++from)
        if (one(2))
          problem.edges.push_back({from, i, below(60)});
  }
  if (shape == 0 && problem.layers.size() > 2 && one(4))
    problem.edges.push_back({0, static_cast<uint32_t>(problem.layers.size() - 1), 30});
}

/// At most `layers` layers and about `devices` devices: chains, trees and DAGs, one or two kinds,
/// tight and roomy memory.
inline PlacementProblem randomPlacement(uint64_t seed, size_t layers = 6, int64_t devices = 6) {
  fuzz::Random random(seed);
  auto below = [&](int64_t n) { return static_cast<int64_t>(random.below(static_cast<size_t>(n))); };
  auto one = [&](int64_t in) { return below(in) == 0; };
  PlacementProblem problem;
  size_t n = 1 + static_cast<size_t>(below(static_cast<int64_t>(layers)));
  problem.batch = std::array<int64_t, 5>{{1, 2, 4, 6, 8}}[static_cast<size_t>(below(5))];
  size_t deviceTypes = one(3) ? 2 : 1;
  for (size_t k = 0; k < deviceTypes; ++k) {
    PlacementProblem::DeviceType deviceType;
    deviceType.name = std::string(1, static_cast<char>('a' + k));
    deviceType.devices = 1 + below(deviceTypes == 2 ? std::max<int64_t>(1, devices / 2) : devices);
    deviceType.devicesPerNode = int64_t{1} << below(3);
    deviceType.memory = one(2) ? 100'000 : 60 + below(400);
    deviceType.idleWatts = static_cast<double>(below(300)), deviceType.hostWatts = deviceType.idleWatts / 2,
    deviceType.tdpWatts = static_cast<double>(100 + below(300));
    deviceType.pricePerHour = static_cast<double>(1 + below(9));
    problem.deviceTypes.push_back(deviceType);
  }
  addParallelConfigs(problem, random);
  addClasses(problem, random);
  size_t classes = problem.classes.size();
  for (size_t i = 0; i < n; ++i) {
    PlacementProblem::Layer layer;
    layer.name = "layer" + std::to_string(i);
    layer.of = static_cast<uint32_t>(below(static_cast<int64_t>(classes)));
    if (one(20))
      layer.placementConstraints.push_back(static_cast<uint32_t>(problem.placementConstraints.size())),
          problem.placementConstraints.push_back(
              {"pin", {static_cast<uint32_t>(below(static_cast<int64_t>(deviceTypes)))}, {}, false, {}});
    problem.layers.push_back(layer);
  }
  addEdges(problem, random);
  for (size_t k = 0; k < deviceTypes * deviceTypes; ++k) {
    auto latency = static_cast<double>(below(6));
    problem.links.push_back({{latency, 0.05}, {latency + 4, 0.3}});
  }
  problem.schedules.clear();
  for (PipelineSchedule schedule : {PipelineSchedule::GPipe, PipelineSchedule::OneFOneB, PipelineSchedule::Interleaved,
                                    PipelineSchedule::ZeroBubble})
    if (one(2))
      problem.schedules.push_back(schedule);
  if (problem.schedules.empty())
    problem.schedules.push_back(PipelineSchedule::OneFOneB);
  problem.virtualStages = one(2) ? std::vector<int64_t>{2} : std::vector<int64_t>{2, 3};
  if (one(4))
    problem.groups = {{1, 1 + below(4)}};
  else if (one(4))
    problem.groups = {{1, 1 + below(2)}, {4, 4 + below(3)}};
  problem.uniformConfigPerDeviceType = !one(3);
  problem.blockingTransfers = one(2);
  problem.overlapFraction = one(2) ? 0 : one(2) ? 0.5 : 1;
  problem.hostOverheadPerMicrobatch = one(2) ? 0 : below(6);
  problem.hostOverheadPerStep = one(2) ? 0 : below(50);
  problem.objective = one(2) ? PlacementObjective::StepTime : static_cast<PlacementObjective>(below(4));
  problem.maxOverlap = one(2) ? 1 : one(4) ? 0 : 0.7;
  addOtherChoices(problem, seed);
  return problem;
}

/// A chain on two groups with several stages each, all of whose gradients may be hidden. In these, a group of the best
/// plan waits for the other one before its last pass, and hides more where another pass of it recomputes more.
inline constexpr uint64_t kHidingPlacements[] = {5176, 11130, 13702, 14820};
inline PlacementProblem hidingPlacement(uint64_t seed) {
  PlacementProblem problem = randomPlacement(seed, 6, 6);
  problem.limits = {}, problem.objective = PlacementObjective::StepTime, problem.minStep = 0;
  problem.overlapFraction = 1, problem.maxOverlap = 1;
  problem.schedules = {PipelineSchedule::Interleaved};
  return problem;
}

/// A language model with `blocks` equal blocks between an embedding and a head on 1,024 devices of
/// 80 GB in servers of eight: 1F1B, GPipe and interleaved; tensor, data and micro-batch degrees.
inline PlacementProblem languageModelPlacement(int64_t blocks, int64_t batch = 1536) {
  PlacementProblem problem;
  problem.name = "language model";
  problem.batch = batch;
  problem.deviceTypes = {{"device", 1024, 8, 80'000'000'000, 90, 400, 2, {}}};
  problem.classes = {{"embedding", {}}, {"block", {}}, {"head", {}}};
  // 175e9 parameters in 96 blocks: a block works 3.6e12 operations a token sample of 2,048.
  constexpr double Parameters = 1.81e9, Operations = 2.0 * Parameters * 2048 * 1.06;
  double scale = 96.0 / static_cast<double>(blocks);
  for (int64_t tensor : {1, 2, 4, 8})
    for (int64_t data = 1; data * tensor <= 1024; data *= 2)
      for (int64_t microbatch : {1, 2, 4, 8})
        for (int zero : {0, 1}) {
          if (batch % (data * microbatch) != 0 || (zero > 0 && data == 1))
            continue;
          PlacementProblem::ParallelConfig parallelConfig;
          parallelConfig.tensor = tensor, parallelConfig.data = data, parallelConfig.microbatch = microbatch,
          parallelConfig.zero = zero;
          parallelConfig.sequence = tensor > 1;
          if (data > 1) {
            auto d = static_cast<double>(data);
            parallelConfig.gradientSyncs = {{1, {{d * 5e6, 2 * (d - 1) / d * 40}}}};
          }
          problem.parallelConfigs.push_back(parallelConfig);
          auto t = static_cast<double>(tensor), b = static_cast<double>(microbatch);
          double efficient = 0.62 * (1 - 0.25 / (1 + b)) * (1 - 0.02 * t);
          auto costOf = [&](double operations, double parameters, double bytes) {
            PlacementProblem::Cost cost;
            double time = operations * b / t / (312e12 * efficient) * 1e12;
            double talk = tensor > 1 ? 4 * b * 2048 * 12288 * 2 * (t - 1) / t / 240e9 * 1e12 : 0;
            cost.forward = static_cast<int64_t>(time + talk / 2);
            cost.backward = static_cast<int64_t>(time + talk / 2);
            cost.weight = static_cast<int64_t>(time);
            double states = 12 * parameters / t / (zero ? static_cast<double>(data) : 1);
            cost.weightMemory = cost.gradientMemory = static_cast<int64_t>(2 * parameters / t);
            cost.staticMemory = static_cast<int64_t>(4 * parameters / t + states);
            cost.gradients = static_cast<int64_t>(2 * parameters / t);
            cost.weights = cost.gradients;
            cost.update = static_cast<int64_t>(states / 2e12 * 1e12);
            auto part = [&](double share) { return static_cast<int64_t>(share * bytes * b / t); };
            cost.recomputeChoices = {{"none", 0, part(1), part(0.1)},
                                     {"selective", cost.forward / 25, part(0.45), part(0.5)},
                                     {"full", cost.forward, part(0.06), part(0.9)}};
            return cost;
          };
          problem.classes[0].costs.emplace_back(costOf(1e10, 6.4e8, 1e8));
          problem.classes[1].costs.emplace_back(costOf(Operations * scale, Parameters * scale, 1.9e9 * scale));
          problem.classes[2].costs.emplace_back(costOf(2.0 * 6.2e8 * 2048, 6.2e8, 6e8));
        }
  problem.layers.push_back({"embedding", 0, {}, {}});
  for (int64_t i = 0; i < blocks; ++i)
    problem.layers.push_back({"block" + std::to_string(i), 1, {}, {}});
  problem.layers.push_back({"head", 2, {}, {}});
  for (uint32_t i = 1; i < problem.layers.size(); ++i)
    problem.edges.push_back({i - 1, i, int64_t{2048} * 12288 * 2});
  problem.links = {{{1e6, 1 / 240e9 * 1e12}, {5e6, 1 / 22e9 * 1e12}}};
  problem.schedules = {PipelineSchedule::GPipe, PipelineSchedule::OneFOneB, PipelineSchedule::Interleaved};
  problem.virtualStages = {2, 3, 4, 5, 6, 7, 8};
  problem.overlapFraction = 0.5;
  problem.hostOverheadPerStep = 1'000'000'000;
  return problem;
}

} // namespace accord::test
