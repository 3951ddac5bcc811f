#include "lib/driver/jobs/TrainingPlans.h"
#include "lib/driver/Session.h"
#include "lib/driver/jobs/PoolClusters.h"
#include "lib/launch/JobScripts.h"
#include "lib/placement/output/PlacementFigures.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cmath>
#include <fmt/format.h>
#include <fstream>
#include <thread>

using namespace accord;
using testing::HasSubstr;

namespace {

std::string written(const std::string &name, const std::string &text) {
  std::string path = testing::TempDir() + "/training_plans_" + name;
  std::ofstream(path) << text;
  return path;
}

/// A cluster as people write it, with networks of the DGX A100 and its SuperPOD.
std::string clusterText(const std::string &device, int64_t devices, int64_t servers) {
  std::string within = devices > 1 ? "network nvlink { connects = gpu topology = switch bandwidth = 300 GB/s\n"
                                     "bandwidth_by_peers = {2: 194 GB/s, 4: 220 GB/s, 8: 230 GB/s} latency = 17 us }\n"
                                   : "";
  std::string among = servers > 1 ? "network ib { connects = dgx topology = fat_tree(oversubscription = 1)\n"
                                    "bandwidth = 200 GB/s latency = 17 us }\n"
                                  : "";
  return fmt::format("import \"catalog/{}.accel\"\ncluster c {{\nserver dgx[{}] {{\ndevice gpu[{}] : {}\n{}}}\n{}}}\n",
                     device.substr(0, device.find('_')), servers, devices, device, within, among);
}

std::string training(const std::string &file, const std::string &model, int64_t batch, const std::string &more = "") {
  return fmt::format("import \"catalog/{}.dnn\"\ntrain t = {}() {{\nbatch = {}\nprecision = mixed(bf16)\n"
                     "optimizer = adam\n{}\n}}\n",
                     file, model, batch, more);
}

Options optionsOf(const std::string &text, const std::string &name) {
  Options options;
  options.file = written(name + ".dnn", text);
  options.effort = 0;
  return options;
}

/// Step in seconds and gap, as `accord compile --target` finds them on a cluster of so many devices.
std::pair<double, double> compiled(Options options, const std::string &cluster) {
  options.elaborate.target = cluster;
  options.elaborate.clusters = options.elaborate.placement = true;
  Session session(options);
  if (!session.prepare())
    return {0, 0};
  auto plan = session.placement();
  if (!plan || !plan->result.plan)
    return {0, 0};
  return {static_cast<double>(plan->result.metrics.step) * 1e-12, plan->result.gap()};
}

struct Case {
  std::string file, model;
  int64_t batch;
  std::string device;
  int64_t count;
};

/// Of the pool of 4 servers of 8 devices, and of a cluster that has no more than `count`.
void expectSame(const Case &one, const std::string &more, bool isExact, bool isIdeal = false) {
  SCOPED_TRACE(fmt::format("{} on {} {}", one.model, one.count, one.device));
  std::string name = fmt::format("{}_{}_{}", one.model, one.device, one.count);
  Options options = optionsOf(training(one.file, one.model, one.batch, more), name);
  options.elaborate.ideal = isIdeal;
  DevicePool pool;
  pool.cluster = written(name + "_pool.accel", clusterText(one.device, 8, 4)) + ":c";
  TrainingPlans plans(options);
  ASSERT_TRUE(plans.prepare());
  // Others before it leave nothing behind that changes it.
  auto found = plans.on(pool, {4, one.count});
  ASSERT_TRUE(found);
  const DeviceCountPlan &plan = found->back();
  ASSERT_TRUE(plan.fits) << plan.reason;
  int64_t servers = (one.count + 7) / 8;
  auto [step, gap] = compiled(
      options, written(name + ".accel", clusterText(one.device, std::min<int64_t>(one.count, 8), servers)) + ":c");
  ASSERT_GT(step, 0);
  if (isExact) {
    EXPECT_EQ(plan.step, step);
  } else {
    EXPECT_GE(plan.step, step * (1 - gap) * (1 - 1e-12));
    EXPECT_GE(step, plan.step * (1 - plan.gap) * (1 - 1e-12));
  }
  EXPECT_LE(plan.gap, 0.05);
}

} // namespace

TEST(TrainingPlans, SamePriceAsCompileOfOnePlan) {
  const std::string fixed = "search {{ microbatch = 1 tensor_parallel = {} data_parallel = {} pipeline_parallel = 1\n"
                            "recompute = none zero = 1 schedule = one_f_one_b }}";
  for (const Case &one : {Case{"gpt2", "gpt2_small", 16, "a100_80g", 8}, Case{"gpt2", "gpt2_small", 16, "h100", 16},
                          Case{"bert", "bert_large", 16, "v100_32g", 4}, Case{"vit", "vit_b_16", 16, "a100_80g", 2}})
    expectSame(one, fmt::format(fmt::runtime(fixed), one.count > 2 ? "{1, 2}" : "1", one.count / 2), true);
}

// What launchers are told is what they are told of the plan that `accord compile` finds.
TEST(TrainingPlans, LaunchedAsCompileOfOnePlan) {
  const std::string fixed = "search { microbatch = 1 tensor_parallel = 2 data_parallel = 2 pipeline_parallel = 1\n"
                            "sequence_parallel = 1 recompute = none zero = 1 schedule = one_f_one_b }";
  Options options = optionsOf(training("bert", "bert_large", 16, fixed), "launched");
  DevicePool pool;
  pool.cluster = written("launched_pool.accel", clusterText("a100_80g", 8, 4)) + ":c";
  TrainingPlans plans(options);
  ASSERT_TRUE(plans.prepare());
  auto found = plans.on(pool, {4});
  ASSERT_TRUE(found && found->back().fits && found->back().launch);
  const jobs::LaunchPlan &given = *found->back().launch;
  options.elaborate.target = written("launched.accel", clusterText("a100_80g", 4, 1)) + ":c";
  options.elaborate.clusters = options.elaborate.placement = true;
  Session session(options);
  ASSERT_TRUE(session.prepare());
  auto plan = session.placement();
  ASSERT_TRUE(plan && plan->result.plan);
  const jobs::LaunchPlan expected = launchPlanOf(*plan, given.coresPerDevice);
  EXPECT_EQ(given.refusal, "");
  EXPECT_EQ(given.servers, 1);
  EXPECT_EQ(given.devicesPerServer, 4);
  EXPECT_EQ(given.environment, expected.environment);
  EXPECT_EQ(given.megatron, expected.megatron);
  EXPECT_EQ(given.withoutMegatron, "");
  EXPECT_THAT(given.megatron, testing::Contains("--tensor-model-parallel-size 2"));
  EXPECT_THAT(given.environment, testing::Contains(testing::Pair("ACCORD_GLOBAL_BATCH", "16")));
  EXPECT_THAT(given.title, HasSubstr("bert_large on c"));
}

// Without a calibration, times of exchanges are those of the networks alone.
TEST(TrainingPlans, SamePriceAsCompileAtTheRatesOfDataSheets) {
  const std::string fixed = "search { microbatch = 1 tensor_parallel = 2 sequence_parallel = {1, 2} data_parallel = 2\n"
                            "pipeline_parallel = 1 recompute = none zero = 1 schedule = one_f_one_b }";
  expectSame({"gpt2", "gpt2_small", 16, "a100_80g", 4}, fixed, true, true);
  expectSame({"gpt2", "gpt2_small", 16, "h100", 2}, "", false, true);
}

TEST(TrainingPlans, SamePriceAsCompileOfPipelines) {
  const std::string fixed = "search { microbatch = 2 tensor_parallel = 2 pipeline_parallel = 2\n"
                            "data_parallel = {2, 4} recompute = full schedule = one_f_one_b }";
  for (const Case &one : {Case{"gpt2", "gpt2_medium", 16, "h100", 8}, Case{"gpt2", "gpt2_small", 32, "a100_80g", 16}})
    expectSame(one, fixed, false);
}

TEST(TrainingPlans, SamePriceAsCompileOfLanguageModels) {
  for (const Case &one : {Case{"gpt2", "gpt2_small", 16, "a100_80g", 2}, Case{"gpt2", "gpt2_small", 16, "h100", 32},
                          Case{"bert", "bert_large", 16, "v100_32g", 8}})
    expectSame(one, "", false);
}

TEST(TrainingPlans, SamePriceAsCompileOfOtherModels) {
  for (const Case &one : {Case{"resnet", "resnet18", 32, "v100_32g", 4}, Case{"vit", "vit_b_16", 16, "a100_80g", 16}})
    expectSame(one, "", false);
}

TEST(TrainingPlans, RowsOfAPoolOfTheCatalogue) {
  Options options = optionsOf(training("gpt2", "gpt2_small", 32, "samples = 64000"), "rows");
  TrainingPlans plans(options);
  ASSERT_TRUE(plans.prepare());
  EXPECT_EQ(plans.batch(), 32);
  EXPECT_EQ(plans.samples(), 64000);
  DevicePool pool;
  pool.cluster = "dgx_superpod_h100", pool.servers = 2;
  auto found = plans.on(pool, {-1, 0, 1, 4, 8, 12, 16, 17, 64, INT64_MAX});
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 10u);
  EXPECT_EQ((*found)[0].reason, "-1 devices are not at least 1");
  EXPECT_THAT((*found)[7].reason, HasSubstr("17 devices are more than the 16 of the pool"));
  for (size_t i : {0, 1, 7, 8, 9})
    EXPECT_FALSE((*found)[i].fits);
  double last = INFINITY;
  for (size_t i = 2; i < 7; ++i) {
    const DeviceCountPlan &plan = (*found)[i];
    SCOPED_TRACE(plan.devices);
    ASSERT_TRUE(plan.fits) << plan.reason;
    EXPECT_EQ(plan.servers, plan.devices > 8 ? 2 : 1);
    EXPECT_LE(plan.step, last * 1.02); // more devices may be left unused
    EXPECT_LT(plan.stepLow, plan.step);
    EXPECT_GT(plan.stepHigh, plan.step);
    EXPECT_GT(plan.memory, 1e9);
    EXPECT_LT(plan.memory, 80e9);
    // Each H100 draws at most 700 W, with an eighth of a host of 2.25 kW.
    EXPECT_LE(plan.watts, static_cast<double>(plan.devices) * (700 + 2250 / 8.0));
    EXPECT_GT(plan.watts, 2250 / 8.0);
    // Mixed precision and Adam: 14 bytes for each of 124 M parameters.
    EXPECT_NEAR(plan.checkpoint, 14 * 124.4e6, 14 * 1e6);
    EXPECT_THAT(plan.plan, HasSubstr("tensor "));
    last = plan.step;
  }
  EXPECT_FALSE(plans.assumptions().empty());
}

/// A table of several batches has what a training of each batch has, whatever was planned before it; a recommender's
/// gradients have as many rows as a batch looks up.
TEST(TrainingPlans, ABatchIsThatOfTheTrainingThatHasIt) {
  DevicePool pool;
  pool.cluster = "dgx_superpod_h100", pool.servers = 1;
  for (const auto &[file, model] : {std::pair("gpt2", "gpt2_small"), std::pair("dlrm", "dlrm_kaggle")}) {
    TrainingPlans several(optionsOf(training(file, model, 32), "several"));
    ASSERT_TRUE(several.prepare());
    EXPECT_EQ(several.optimizer(), "adam");
    for (int64_t batch : {int64_t(1) << 40, int64_t(64), int64_t(32), int64_t(1), int64_t(0)}) {
      SCOPED_TRACE(fmt::format("{} {}", model, batch));
      TrainingPlans one(optionsOf(training(file, model, batch > 0 ? batch : 32), "one"));
      ASSERT_TRUE(one.prepare());
      const auto expected = one.on(pool, {2}), found = several.on(pool, {2}, batch);
      ASSERT_TRUE(expected && found);
      const DeviceCountPlan &a = expected->front(), &b = found->front();
      EXPECT_EQ(a.fits, batch < 100);
      EXPECT_EQ(a.fits, b.fits);
      EXPECT_EQ(a.reason, b.reason);
      EXPECT_EQ(a.step, b.step);
      EXPECT_EQ(a.stepHigh, b.stepHigh);
      EXPECT_EQ(a.memory, b.memory);
      EXPECT_EQ(a.watts, b.watts);
      EXPECT_EQ(a.plan, b.plan);
      EXPECT_EQ(a.accumulation, b.accumulation);
    }
  }
}

/// 150,528 numbers of two bytes for an image, and four for its label: 64 of them are 19.27 MB.
TEST(TrainingPlans, AStepWaitsForItsData) {
  const auto planOn = [&](int64_t batch, const std::string &loader) {
    const std::string data = loader.empty() ? "" : "data { loader = " + loader + " }";
    TrainingPlans plans(optionsOf(
        training("resnet", "resnet18", 64, data + " search { microbatch = 16, tensor_parallel = 1, recompute = none }"),
        "data"));
    DevicePool pool;
    pool.cluster = "dgx_superpod_h100", pool.servers = 1;
    auto found = plans.prepare() ? plans.on(pool, {4}, batch) : std::nullopt;
    return found ? found->front() : DeviceCountPlan();
  };
  const DeviceCountPlan none = planOn(64, ""), fast = planOn(64, "10 GB/s"), slow = planOn(64, "100 MB/s");
  ASSERT_TRUE(none.fits && fast.fits && slow.fits);
  EXPECT_EQ(none.step, fast.step);
  const double bytes = 64 * (3 * 224 * 224 * 2 + 4);
  EXPECT_GT(bytes / 100e6, none.step);
  EXPECT_NEAR(slow.step, bytes / 100e6, 1e-9);
  EXPECT_THAT(slow.plan, HasSubstr("waits for its data"));
  EXPECT_THAT(fast.plan, testing::Not(HasSubstr("waits")));
  EXPECT_NEAR(planOn(256, "100 MB/s").step, 4 * bytes / 100e6, 1e-9); // of the step's own batch
}

TEST(TrainingPlans, TooLittleMemoryIsSaidInWords) {
  Options options = optionsOf(training("llama2", "llama2", 8), "llama");
  TrainingPlans plans(options);
  ASSERT_TRUE(plans.prepare());
  DevicePool pool;
  pool.cluster = "dgx_superpod_h100";
  auto found = plans.on(pool, {1});
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->front().fits);
  EXPECT_THAT(found->front().reason, HasSubstr("more memory on each 'h100'"));
}

TEST(TrainingPlans, DegreesThatNeedMoreDevices) {
  Options options = optionsOf(training("gpt2", "gpt2_small", 8, "search { tensor_parallel = 8 }"), "degrees");
  TrainingPlans plans(options);
  ASSERT_TRUE(plans.prepare());
  DevicePool pool;
  pool.cluster = "dgx_superpod_a100", pool.servers = 1;
  auto found = plans.on(pool, {4, 8});
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->front().fits);
  EXPECT_THAT(found->front().reason, HasSubstr("tensor_parallel 8"));
  EXPECT_TRUE(found->back().fits) << found->back().reason;
}

TEST(TrainingPlans, WrongPools) {
  Options options = optionsOf(training("gpt2", "gpt2_small", 8), "wrong");
  TrainingPlans plans(options);
  ASSERT_TRUE(plans.prepare());
  auto isRefused = [&](const DevicePool &pool) { return !plans.on(pool, {1}); };
  EXPECT_TRUE(isRefused({"no_such_cluster", "", 0, 0}));
  EXPECT_TRUE(isRefused({"h100", "", 0, 0}));
  EXPECT_TRUE(isRefused({"dgx_superpod_h100", "a100_80g", 0, 0}));
  EXPECT_TRUE(isRefused({"dgx_superpod_h100", "", -1, 0}));
  EXPECT_TRUE(isRefused({"dgx_superpod_h100", "", 8, INT64_MAX}));
  EXPECT_TRUE(isRefused({"dgx_h100", "", 0, 2})); // one server has no network to others
  EXPECT_FALSE(isRefused({"dgx_superpod_h100", "h100", 4, 2}));
}

TEST(TrainingPlans, SeveralAtOnceAreTheSame) {
  Options options = optionsOf(training("gpt2", "gpt2_small", 8), "threads");
  DevicePool pool;
  pool.cluster = "dgx_superpod_a100";
  std::vector<double> steps(2);
  std::vector<std::thread> threads;
  for (double &step : steps)
    threads.emplace_back([&] {
      TrainingPlans plans(options);
      if (plans.prepare())
        if (auto found = plans.on(pool, {2, 16}))
          step = found->front().step + found->back().step;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_GT(steps[0], 0);
  EXPECT_EQ(steps[0], steps[1]);
}

TEST(PoolClusters, SharesOfAServer) {
  Cluster cluster;
  cluster.name = "c", cluster.devicesPerNode = 8, cluster.servers = 4;
  cluster.host.power = Watts(2400), cluster.host.memory = Bytes(8e9), cluster.host.cpuCores = 64;
  Network network;
  network.name = "n", network.endpoints = 8, network.bandwidth = BytesPerSecond(1e9);
  cluster.fabric.levels.push_back(network);
  network.name = "m", network.endpoints = 4;
  cluster.fabric.levels.push_back(network);
  auto part = resizedCluster(cluster, 2, 1);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->fabric.devices(), 2);
  EXPECT_EQ(part->fabric.levels.size(), 1u);
  EXPECT_EQ(part->host.power.value, 600);
  EXPECT_EQ(part->host.memory.value, 2e9);
  EXPECT_EQ(part->host.cpuCores, 16);
  auto one = resizedCluster(cluster, 1, 1);
  ASSERT_TRUE(one);
  EXPECT_TRUE(one->fabric.levels.empty());
  auto single = resizedCluster(cluster, 1, 3);
  ASSERT_TRUE(single);
  ASSERT_EQ(single->fabric.levels.size(), 1u);
  EXPECT_EQ(single->fabric.levels.front().name, "m");
  EXPECT_FALSE(resizedCluster(cluster, 0, 1));
  EXPECT_FALSE(resizedCluster(*part, 2, 2));
  EXPECT_FALSE(resizedCluster(cluster, INT64_MAX, INT64_MAX));
}

PowerLevel levelOf(double clock) {
  PowerLevel level = levelAt(clock);
  level.name = "eco";
  return level;
}

TEST(TrainingPlans, LevelsAreSlowerWithLessPower) {
  TrainingPlans plans(optionsOf(training("gpt2", "gpt2_small", 64), "levels"));
  ASSERT_TRUE(plans.prepare());
  DevicePool pool;
  pool.cluster = written("levels.accel", clusterText("a100_80g", 8, 2)) + ":c";
  auto full = plans.on(pool, {1, 8, 16});
  ASSERT_TRUE(full);
  for (double clock : {1.0, 0.9, 0.75, 0.5}) {
    pool.level = levelOf(clock);
    auto slower = plans.on(pool, {1, 8, 16});
    ASSERT_TRUE(slower);
    for (size_t i = 0; i < full->size(); ++i) {
      const DeviceCountPlan &a = (*full)[i], &b = (*slower)[i];
      SCOPED_TRACE(fmt::format("{} devices, clock {}", a.devices, clock));
      ASSERT_TRUE(a.fits && b.fits);
      EXPECT_GE(b.step, a.step * (1 - 0.02)); // as near as the searches of tables go
      EXPECT_LE(b.step, a.step / clock * (1 + 0.02));
      EXPECT_LE(b.watts, a.watts * (1 + 0.02));
      EXPECT_LE(b.stepLow, b.step);
    }
  }
}

/// What a level makes of an accelerator, stated by hand as an accelerator of its own.
TEST(TrainingPlans, ALevelIsAMachineThatStatesItsRates) {
  std::string slow = "accelerator a100_80g {\nefficiency from \"catalog/a100_80g.calibration\"\nframework = megatron\n"
                     "clock = 1057.5 MHz\nmemory hbm : dram { capacity = 80 GiB bandwidth = 2039 GB/s }\n"
                     "core tc : tensor { peak = {bf16: 234 TFLOP/s, fp16: 234 TFLOP/s, tf32: 117 TFLOP/s} }\n"
                     "core sm : vector { peak = {fp32: 14.625 TFLOP/s, fp16: 58.5 TFLOP/s, bf16: 29.25 TFLOP/s} }\n"
                     "power { idle = 60 W tdp = 230 W }\n}\n";
  std::string lab = clusterText("a100_80g", 8, 1);
  TrainingPlans plans(optionsOf(training("gpt2", "gpt2_small", 64), "stated"));
  ASSERT_TRUE(plans.prepare());
  DevicePool pool, stated;
  pool.cluster = written("stated.accel", lab) + ":c";
  pool.level.name = "eco", pool.level.clock = 0.75, pool.level.power = 0.5;
  stated.cluster = written("stated_slow.accel", slow + lab.substr(lab.find("cluster"))) + ":c";
  auto level = plans.on(pool, {1, 8}), machine = plans.on(stated, {1, 8});
  ASSERT_TRUE(level && machine);
  for (size_t i = 0; i < level->size(); ++i) {
    EXPECT_NEAR((*level)[i].step / (*machine)[i].step, 1, 1e-9);
    EXPECT_NEAR((*level)[i].watts / (*machine)[i].watts, 1, 1e-6);
    EXPECT_EQ((*level)[i].plan, (*machine)[i].plan);
  }
}

TEST(TrainingPlans, CapsAreKeptAndAlmostReached) {
  TrainingPlans plans(optionsOf(training("gpt2", "gpt2_medium", 64), "caps"));
  ASSERT_TRUE(plans.prepare());
  DevicePool pool;
  pool.cluster = written("caps.accel", clusterText("a100_80g", 8, 1)) + ":c";
  auto full = plans.on(pool, {1, 8});
  ASSERT_TRUE(full);
  double before = INFINITY;
  for (double cap : {1000.0, 300.0, 250.0, 150.0}) {
    pool.level.name = "capped", pool.level.cap = Watts(cap);
    auto capped = plans.on(pool, {1, 8});
    ASSERT_TRUE(capped);
    for (size_t i = 0; i < full->size(); ++i) {
      const DeviceCountPlan &a = (*full)[i], &b = (*capped)[i];
      SCOPED_TRACE(fmt::format("{} devices, {} W", a.devices, cap));
      ASSERT_TRUE(b.fits);
      double each = b.watts / static_cast<double>(b.devices);
      EXPECT_LE(each, cap * (1 + 1e-9));
      EXPECT_GE(each, std::min(0.97 * cap, 0.97 * a.watts / static_cast<double>(a.devices)));
      EXPECT_GE(b.step, a.step * (1 - 1e-9));
    }
    EXPECT_LE(1 / capped->back().step, before);
    before = 1 / capped->back().step;
  }
  pool.level.cap = Watts(60); // what it draws idle
  auto none = plans.on(pool, {8});
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->front().fits);
  EXPECT_THAT(none->front().reason, HasSubstr("60 W are idle"));
}

TEST(PoolClusters, PartsOfATorus) {
  Cluster cluster;
  cluster.name = "pod", cluster.devicesPerNode = 256;
  Network torus;
  torus.name = "ici", torus.endpoints = 256, torus.topology = Topology::Torus, torus.shape = {16, 16};
  torus.bandwidth = BytesPerSecond(1e9);
  cluster.fabric.levels.push_back(torus);
  auto shapeAt = [&](int64_t devices) {
    auto part = resizedCluster(cluster, devices, 1);
    return part && !part->fabric.levels.empty() ? part->fabric.levels.front().shape : std::vector<int64_t>();
  };
  EXPECT_EQ(shapeAt(256), (std::vector<int64_t>{16, 16}));
  EXPECT_EQ(shapeAt(64), (std::vector<int64_t>{8, 8}));
  EXPECT_EQ(shapeAt(32), (std::vector<int64_t>{8, 4}));
  EXPECT_EQ(shapeAt(7), (std::vector<int64_t>{7, 1}));
}
