#include "lib/launch/Launch.h"
#include "test/support/PlacementFixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <fmt/format.h>

using namespace accord;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

namespace {

MegatronArguments megatron(const PlacementPlan &plan) {
  auto made = megatronArguments(plan);
  if (!made) {
    ADD_FAILURE() << made.error().message;
    return {};
  }
  return *made;
}

std::string refusal(const PlacementPlan &plan, Launcher launcher = Launcher::Megatron) {
  auto made = launchText(plan, launcher);
  if (!made)
    return numberOf(made.error().code) + " " + made.error().message;
  return "not refused";
}

void keepEverywhere(PlacementPlan &plan, uint32_t recomputeChoice) {
  for (PlacedStage &stage : plan.result.plan->stages)
    for (size_t i = 0; i < stage.layers.size(); ++i)
      if (plan.problem.layers[stage.layers[i]].of == 1)
        stage.recomputeChoices[i] = recomputeChoice;
}

} // namespace

// Megatron-LM's arguments and what they mean: megatron/training/arguments.py and the configurations
// that it makes arguments of, core 0.13 to 0.20.
TEST(EmitLaunch, MegatronDegrees) {
  test::PlacementShape shape;
  shape.zero = 1;
  auto made = megatron(test::gptPlacement(shape));
  for (const char *argument :
       {"--tensor-model-parallel-size 8", "--pipeline-model-parallel-size 8", "--sequence-parallel",
        "--micro-batch-size 1", "--global-batch-size 1536", "--use-distributed-optimizer", "--overlap-grad-reduce",
        "--overlap-param-gather", "--num-layers 96", "--recompute-granularity selective", "--bf16", "--optimizer adam"})
    EXPECT_THAT(made.arguments, Contains(argument));
  EXPECT_THAT(made.arguments, Not(Contains(HasSubstr("virtual"))));
  EXPECT_THAT(made.arguments, Not(Contains(HasSubstr("layout"))));
  EXPECT_TRUE(made.remarks.empty());
  shape.zero = 0, shape.virtualStages = 3, shape.schedule = PipelineSchedule::Interleaved;
  made = megatron(test::gptPlacement(shape));
  EXPECT_THAT(made.arguments, Contains("--num-layers-per-virtual-pipeline-stage 4"));
  EXPECT_THAT(made.arguments, Not(Contains(HasSubstr("distributed-optimizer"))));
  EXPECT_THAT(made.arguments, Not(Contains("--overlap-param-gather")));
}

// Megatron-LM's ranks are those of tensors, then of contexts, then of replicas (megatron/core/parallel_state.py, order
// "tp-cp-ep-dp-pp"); its data parallel size leaves contexts out.
TEST(EmitLaunch, MegatronContexts) {
  for (auto [exchange, type] : {std::pair{ContextExchange::Ring, "p2p"},
                                {ContextExchange::AllGather, "all_gather"},
                                {ContextExchange::AllToAll, "a2a"}}) {
    PlacementPlan plan = test::gptPlacement({});
    for (ParallelConfig &config : plan.problem.parallelConfigs)
      config.context = 2, config.contextExchange = exchange;
    auto made = megatron(plan);
    EXPECT_THAT(made.arguments, Contains("--context-parallel-size 2"));
    EXPECT_THAT(made.arguments, Contains(std::string("--cp-comm-type ") + type));
    auto text = launchText(plan, Launcher::Torchrun);
    ASSERT_TRUE(static_cast<bool>(text));
    EXPECT_THAT(*text, HasSubstr("ACCORD_CONTEXT_PARALLEL=\"2\""));
    EXPECT_THAT(*text, HasSubstr("ACCORD_DATA_PARALLEL=\"8\""));
  }
  EXPECT_THAT(megatron(test::gptPlacement({})).arguments, Not(Contains(HasSubstr("context"))));
}

TEST(EmitLaunch, MegatronUnevenStages) {
  test::PlacementShape shape;
  shape.blocksOf = {11, 12, 12, 12, 12, 12, 12, 13};
  auto ends = megatron(test::gptPlacement(shape));
  EXPECT_THAT(ends.arguments, Contains("--decoder-first-pipeline-num-layers 11"));
  EXPECT_THAT(ends.arguments, Contains("--decoder-last-pipeline-num-layers 13"));
  shape.blocksOf = {12, 12, 12, 13, 12, 12, 12, 11};
  auto middle = megatron(test::gptPlacement(shape));
  EXPECT_THAT(middle.arguments, Contains("--pipeline-model-parallel-layout "
                                         "'Et*12|t*12|t*12|t*13|t*12|t*12|t*12|t*11,L'"));
}

TEST(EmitLaunch, MegatronRecomputesNoLessThanPlanned) {
  PlacementPlan plan = test::gptPlacement();
  keepEverywhere(plan, 0);
  EXPECT_THAT(megatron(plan).arguments, Not(Contains(HasSubstr("recompute"))));
  keepEverywhere(plan, 2);
  auto full = megatron(plan);
  EXPECT_THAT(full.arguments, Contains("--recompute-granularity full"));
  EXPECT_THAT(full.arguments, Contains("--recompute-method uniform"));
  EXPECT_TRUE(full.remarks.empty());
  // Three blocks of one stage, none elsewhere: three in each.
  keepEverywhere(plan, 0);
  for (size_t i : {2u, 5u, 9u})
    plan.result.plan->stages[4].recomputeChoices[i] = 2;
  auto some = megatron(plan);
  EXPECT_THAT(some.arguments, Contains("--recompute-method block"));
  EXPECT_THAT(some.arguments, Contains("--recompute-num-layers 3"));
  EXPECT_THAT(some.remarks, Contains(HasSubstr("0 to 3 blocks")));
}

TEST(EmitLaunch, RefusesWhatCannotBeSaid) {
  test::PlacementShape shape;
  shape.schedule = PipelineSchedule::ZeroBubble;
  EXPECT_THAT(refusal(test::gptPlacement(shape)), HasSubstr("A0955 Megatron-LM has no schedule"));
  shape = {}, shape.zero = 3;
  EXPECT_THAT(refusal(test::gptPlacement(shape)), HasSubstr("ZeRO 3"));
  PlacementPlan parallelConfigs = test::gptPlacement();
  parallelConfigs.result.plan->stages[5].parallelConfig = 2;
  EXPECT_THAT(refusal(parallelConfigs), HasSubstr("stage 5 has another parallel configuration"));
  PlacementPlan apart = test::gptPlacement();
  auto &stages = apart.result.plan->stages;
  std::swap(stages[2].layers[0], stages[3].layers[0]);
  EXPECT_THAT(refusal(apart), HasSubstr("has others between"));
  PlacementPlan early = test::gptPlacement();
  early.problem.layers[13].of = early.problem.layers[14].of = 2; // the blocks are what follows
  for (PlacedStage &stage : early.result.plan->stages)
    std::fill(stage.recomputeChoices.begin(), stage.recomputeChoices.end(), 0);
  EXPECT_THAT(refusal(early), HasSubstr("has all that is no block in the first stage or the last one"));
  EXPECT_THAT(refusal(test::infeasiblePlacement(), Launcher::Torchrun), HasSubstr("A0956"));
  PlacementPlan deviceTypes = test::gptPlacement();
  deviceTypes.problem.deviceTypes.push_back(deviceTypes.problem.deviceTypes[0]);
  deviceTypes.problem.deviceTypes[1].name = "v100";
  deviceTypes.problem.parallelConfigs[1].deviceType = 1;
  deviceTypes.result.plan->stages[7].parallelConfig = 1;
  EXPECT_THAT(refusal(deviceTypes, Launcher::Slurm), HasSubstr("'a100_80g' and 'v100'"));
  PlacementPlan odd = test::gptPlacement({12, 3, 1, 4, 1, 1, 4});
  EXPECT_THAT(refusal(odd, Launcher::Torchrun), HasSubstr("12 devices do not fill servers of 8"));
  // Stages in different forms are no matter to a launcher that only starts processes.
  EXPECT_EQ(refusal(parallelConfigs, Launcher::Slurm), "not refused");
}

TEST(EmitLaunch, FewDevicesAreOneServer) {
  PlacementPlan plan = test::gptPlacement({12, 3, 1, 2, 1, 1, 4});
  auto made = launchLayout(plan);
  EXPECT_EQ(made->nodes, 1);
  EXPECT_EQ(made->perNode, 6);
}

// Names of a user end in no script as anything but letters.
TEST(EmitLaunch, NamesAreNeverCommands) {
  PlacementPlan plan = test::gptPlacement();
  plan.model = "x\n$(rm -rf /)`id`\"}; reboot";
  plan.job = "-$(reboot)\nJob: \"#";
  plan.cluster = plan.optimizer = plan.version = plan.model;
  EXPECT_THAT(refusal(plan), HasSubstr("has the optimizers adam, adamw, sgd and momentum"));
  plan.optimizer = "adam";
  for (Launcher launcher : {Launcher::Torchrun, Launcher::Megatron, Launcher::Slurm, Launcher::Kubernetes}) {
    auto made = launchText(plan, launcher);
    ASSERT_TRUE(static_cast<bool>(made));
    const auto &text = *made;
    for (const char *bad : {"$(rm", "`", "\n$(", "\"};", "$(reboot"})
      EXPECT_THAT(text, Not(HasSubstr(bad)));
  }
  EXPECT_EQ(launchLayout(plan)->job, "reboot-job");
}

// A request without a type is one that any accelerator fulfils.
TEST(EmitLaunch, EveryLauncherAsksForTheType) {
  const PlacementPlan plan = test::gptPlacement();
  LaunchOptions options;
  auto text = [&](Launcher launcher) {
    auto made = launchText(plan, launcher, options);
    return made ? *made : made.error().message;
  };
  EXPECT_THAT(text(Launcher::Slurm), HasSubstr("#SBATCH --gpus-per-node=a100-80g:8\n"));
  options.deviceName = "A100_SXM", options.constraint = "nvlink&ib", options.switches = 2;
  EXPECT_THAT(text(Launcher::Slurm),
              HasSubstr("#SBATCH --gpus-per-node=A100_SXM:8\n#SBATCH --constraint=\"nvlink&ib\"\n"));
  EXPECT_THAT(text(Launcher::Slurm), HasSubstr("#SBATCH --switches=2\n"));
  for (KubernetesKind kind : {KubernetesKind::Job, KubernetesKind::JobSet, KubernetesKind::TrainJob}) {
    options.kind = kind;
    EXPECT_THAT(text(Launcher::Kubernetes), HasSubstr("\"accord/device\": \"A100_SXM\"\n"));
  }
  for (Launcher launcher : {Launcher::Torchrun, Launcher::Megatron, Launcher::Slurm, Launcher::Kubernetes})
    EXPECT_THAT(text(launcher), HasSubstr("accord_guard"));
  options.product = "A100-PG509";
  EXPECT_THAT(text(Launcher::Torchrun), HasSubstr("products=\"a100 pg509\""));
}

// Servers of groups, counted by hand: 8 devices a server, 8 * 16 a stage of 8.
TEST(EmitLaunch, SaysWhichServersExchange) {
  auto spans = [](const test::PlacementShape &of, RankOrder order = RankOrder::TensorDataPipeline) {
    PlacementPlan plan = test::gptPlacement(of);
    for (ParallelConfig &one : plan.problem.parallelConfigs)
      one.order = order;
    auto shape = launchLayout(plan);
    return shape ? fmt::format("{}: {}", shape->groupNodes, shape->spans) : shape.error().message;
  };
  EXPECT_EQ(spans({}), "16: tensor parallel 8 in a server, data parallel 16 in 16 servers, pipeline parallel 8 in 128 "
                       "servers");
  EXPECT_EQ(spans({}, RankOrder::TensorPipelineData), "8: tensor parallel 8 in a server, pipeline parallel 8 in 8 "
                                                      "servers, data parallel 16 in 128 servers");
  EXPECT_EQ(spans({.stages = 1, .tensor = 16, .data = 4}), "2: tensor parallel 16 in 2 servers, data parallel 4 in 8 "
                                                           "servers");
  EXPECT_EQ(spans({.stages = 2, .tensor = 2, .data = 2}), "1: tensor parallel 2 in a server, data parallel 2 in a "
                                                          "server, pipeline parallel 2 in a server");
  EXPECT_EQ(spans({.stages = 4, .tensor = 4, .data = 3, .batch = 48}),
            "6: tensor parallel 4 in a server, data parallel 3 in 2 servers, pipeline parallel 4 in 6 servers");
}

TEST(EmitLaunch, AsksForWhatOfTheNetworkALauncherCanSay) {
  const PlacementPlan plan = test::gptPlacement();
  LaunchOptions options;
  auto text = [&](Launcher launcher) {
    auto made = launchText(plan, launcher, options);
    return made ? *made : numberOf(made.error().code) + " " + made.error().message;
  };
  EXPECT_THAT(text(Launcher::Slurm), Not(HasSubstr("--segment")));
  options.switches = 4;
  EXPECT_THAT(text(Launcher::Slurm), HasSubstr("that each 16 servers have one in common is not said"));
  options.groupTopology = "block";
  EXPECT_THAT(text(Launcher::Slurm), HasSubstr("#SBATCH --segment=16\n"));
  EXPECT_THAT(text(Launcher::Slurm), Not(HasSubstr("is not said")));
  options.groupTopology = "rack";
  EXPECT_EQ(text(Launcher::Slurm),
            "A0955 Slurm places groups of servers in a 'block' of topology/block alone, found 'rack'");
  EXPECT_EQ(text(Launcher::Kubernetes), "A0955 Kueue alone places groups of servers in a 'rack', and no queue is "
                                        "stated");
  options.topology = "zone", options.queue = "lab";
  for (KubernetesKind kind : {KubernetesKind::Job, KubernetesKind::JobSet, KubernetesKind::TrainJob}) {
    options.kind = kind, options.prefersTopology = false;
    EXPECT_THAT(text(Launcher::Kubernetes), HasSubstr("kueue.x-k8s.io/queue-name: \"lab\"\n"));
    EXPECT_THAT(text(Launcher::Kubernetes), HasSubstr("suspend: true\n"));
    EXPECT_THAT(text(Launcher::Kubernetes), HasSubstr("kueue.x-k8s.io/podset-required-topology: \"zone\"\n"));
    EXPECT_THAT(text(Launcher::Kubernetes), HasSubstr("kueue.x-k8s.io/podset-slice-required-topology: \"rack\"\n"));
    EXPECT_THAT(text(Launcher::Kubernetes), HasSubstr("kueue.x-k8s.io/podset-slice-size: \"16\"\n"));
    EXPECT_THAT(text(Launcher::Kubernetes), Not(HasSubstr("podAffinity")));
    options.prefersTopology = true;
    EXPECT_THAT(text(Launcher::Kubernetes), HasSubstr("kueue.x-k8s.io/podset-preferred-topology: \"zone\"\n"));
  }
  options.queue = options.groupTopology = "";
  for (KubernetesKind kind : {KubernetesKind::Job, KubernetesKind::JobSet, KubernetesKind::TrainJob}) {
    options.kind = kind;
    EXPECT_THAT(text(Launcher::Kubernetes), HasSubstr("preferredDuringScheduling"));
    EXPECT_THAT(text(Launcher::Kubernetes), Not(HasSubstr("exclusive-topology")));
  }
}

// Nobody else is on servers that a plan fills; on others there may be.
TEST(EmitLaunch, SharesServersThatItDoesNotFill) {
  auto text = [](const test::PlacementShape &of) {
    auto made = launchText(test::gptPlacement(of), Launcher::Slurm);
    return made ? *made : made.error().message;
  };
  EXPECT_THAT(text({}), HasSubstr("#SBATCH --exclusive\n"));
  EXPECT_THAT(text({}), HasSubstr("${MASTER_PORT:-29500}"));
  const std::string half = text({.stages = 2, .tensor = 2, .data = 1});
  EXPECT_THAT(half, HasSubstr(":4\n"));
  EXPECT_THAT(half, Not(HasSubstr("--exclusive")));
  EXPECT_THAT(half, HasSubstr("SLURM_JOB_ID % 10000"));
}

// A layout without names of its devices cannot be checked; its request has the type that the engine knows.
TEST(EmitLaunch, WithoutNamesThereIsNoGuard) {
  auto shape = launchLayout(test::gptPlacement());
  ASSERT_TRUE(static_cast<bool>(shape));
  LaunchOptions options;
  options.batch.emplace().deviceType = "a100";
  const std::string text = slurmText(*shape, options);
  EXPECT_THAT(text, HasSubstr("#SBATCH --gpus-per-node=a100:8\n"));
  EXPECT_THAT(text, Not(HasSubstr("accord_guard")));
  EXPECT_EQ(guardLines(*shape), "");
}

// One name cannot be that of two types.
TEST(EmitLaunch, OneNameForSeveralTypesIsRefused) {
  PlacementPlan plan = test::gptPlacement();
  plan.problem.deviceTypes.push_back(plan.problem.deviceTypes[0]);
  plan.problem.deviceTypes[1].name = "v100_32g";
  plan.problem.parallelConfigs[1].deviceType = 1;
  plan.result.plan->stages[7].parallelConfig = 1;
  LaunchOptions options;
  options.kind = KubernetesKind::JobSet;
  auto made = launchText(plan, Launcher::Kubernetes, options);
  ASSERT_TRUE(static_cast<bool>(made)) << made.error().message;
  EXPECT_THAT(*made, HasSubstr("products=\"a100 sxm4 80gb|"));
  EXPECT_THAT(*made, HasSubstr("products=\"v100 sxm2 32gb|"));
  options.deviceName = "gpu";
  made = launchText(plan, Launcher::Kubernetes, options);
  ASSERT_FALSE(static_cast<bool>(made));
  EXPECT_EQ(numberOf(made.error().code), "A0955");
}
