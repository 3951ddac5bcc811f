#include "test/support/PlacementFixture.h"

namespace accord::test {
namespace {

using Problem = PlacementProblem;
constexpr int64_t kMillisecond = 1000000000;

Problem::Cost block(const Problem::ParallelConfig &parallelConfig) {
  int64_t t = parallelConfig.tensor, b = parallelConfig.microbatch, parameters = 1811939328 / t;
  Problem::Cost cost;
  cost.forward = 48 * kMillisecond * b / t + kMillisecond / 2;
  cost.backward = cost.forward, cost.weight = 48 * kMillisecond * b / t;
  cost.weightMemory = 2 * parameters, cost.gradientMemory = 2 * parameters;
  cost.staticMemory = 4 * parameters + 12 * parameters / (parallelConfig.zero > 0 ? parallelConfig.data : 1);
  cost.gradients = 2 * parameters, cost.weights = 0;
  cost.update = cost.staticMemory / 1500 * 1000;
  int64_t overlapFraction = 2048 * 12288 * b;
  cost.recomputeChoices = {{"none", 0, overlapFraction * (10 + 104 / t), overlapFraction * 8 / t},
                           {"selective", cost.forward / 20, overlapFraction * 34 / t, overlapFraction * 8 / t},
                           {"full", cost.forward, overlapFraction * 2 / t, overlapFraction * (10 + 104 / t)}};
  cost.joules = 90000, cost.recomputeJoules = 0;
  return cost;
}

Problem::Cost end(const Problem::ParallelConfig &parallelConfig, bool head) {
  int64_t t = parallelConfig.tensor, b = parallelConfig.microbatch, parameters = 617558016 / t;
  Problem::Cost cost;
  cost.forward = (head ? 20 * kMillisecond : kMillisecond) * b / t;
  cost.backward = cost.forward, cost.weight = cost.forward;
  cost.weightMemory = 2 * parameters, cost.gradientMemory = 2 * parameters;
  cost.staticMemory = 4 * parameters + 12 * parameters / (parallelConfig.zero > 0 ? parallelConfig.data : 1);
  cost.gradients = 2 * parameters;
  cost.update = cost.staticMemory / 1500 * 1000;
  int64_t activations = 2048 * b * (head ? 2 * 50257 + 2 * 12288 : 2 * 12288) / t;
  cost.recomputeChoices = {{"none", 0, activations, activations}};
  cost.joules = 30000;
  return cost;
}

} // namespace

PlacementPlan gptPlacement(const PlacementShape &shape) {
  PlacementPlan plan;
  plan.job = "gpt3_job", plan.model = "gpt3", plan.cluster = "selene";
  plan.precision = "mixed bf16", plan.optimizer = "adam", plan.version = "test";
  plan.parameters = 175 * int64_t(1000000000), plan.modelFlops = 3.3e18;
  plan.peakFlops = {312e12};
  Problem &p = plan.problem;
  p.name = "gpt3 on selene", p.batch = shape.batch;
  p.deviceTypes = {{"a100_80g", 1024, 8, 80 * (int64_t(1) << 30) * 94 / 100, 90, 400, 2.5, {"selene.accel", 3, 5}}};
  for (int64_t tensor : {shape.tensor, int64_t(4)})
    for (int64_t data : {shape.data, shape.data / 2}) {
      Problem::ParallelConfig parallelConfig;
      parallelConfig.tensor = tensor, parallelConfig.data = std::max<int64_t>(1, data),
      parallelConfig.zero = shape.zero;
      parallelConfig.sequence = true, parallelConfig.microbatch = shape.microbatch;
      if (parallelConfig.data > 1)
        parallelConfig.gradientSyncs = {{1, {{20e6, 80}, {5e6, 90}}}};
      p.parallelConfigs.push_back(parallelConfig);
    }
  p.classes = {{"embedding", {}}, {"block", {}}, {"head", {}}};
  for (const Problem::ParallelConfig &parallelConfig : p.parallelConfigs) {
    p.classes[0].costs.push_back(end(parallelConfig, false));
    p.classes[1].costs.push_back(block(parallelConfig));
    p.classes[2].costs.push_back(end(parallelConfig, true));
  }
  p.classes[2].costs.back().reset(); // cannot run so
  p.layers.push_back({"embedding", 0, {}, {"gpt3.dnn", 4, 3}});
  for (int64_t i = 0; i < shape.blocks; ++i)
    p.layers.push_back({"block[" + std::to_string(i) + "]", 1, {}, {"gpt3.dnn", 5, 3}});
  p.layers.push_back({"head", 2, {}, {"gpt3.dnn", 6, 3}});
  for (uint32_t i = 1; i < p.layers.size(); ++i)
    p.edges.push_back({i - 1, i, 2 * 2048 * 12288});
  p.links = {{{5e6, 4}, {10e6, 45}}};
  p.schedules = {PipelineSchedule::GPipe, PipelineSchedule::OneFOneB, PipelineSchedule::Interleaved,
                 PipelineSchedule::ZeroBubble};
  p.virtualStages = {2, 3, 4}, p.overlapFraction = 0.25;
  p.hostOverheadPerMicrobatch = 50000000, p.hostOverheadPerStep = 2 * kMillisecond;
  p.location = plan.location = {"gpt3.dnn", 10, 1};
  Placement placement;
  placement.schedule = shape.schedule, placement.virtualStages = shape.virtualStages;
  placement.microbatches = shape.batch / shape.data / shape.microbatch;
  int64_t count = shape.stages * shape.virtualStages;
  uint32_t next = 0;
  for (int64_t s = 0; s < count; ++s) {
    PlacedStage stage;
    auto add = [&](uint32_t recomputeChoice) {
      stage.layers.push_back(next++);
      stage.recomputeChoices.push_back(recomputeChoice);
    };
    int64_t blocks = shape.blocksOf.empty() ? shape.blocks * (s + 1) / count - shape.blocks * s / count
                                            : shape.blocksOf[static_cast<size_t>(s)];
    if (s == 0)
      add(0);
    for (int64_t i = 0; i < blocks; ++i)
      add(s == 0 && i < shape.fullInFirst ? 2 : 1);
    if (s + 1 == count)
      add(0);
    placement.stages.push_back(std::move(stage));
  }
  plan.result.metrics = evaluate(p, placement);
  plan.result.plan = std::move(placement);
  plan.result.value = plan.result.metrics.value;
  plan.result.bound = plan.result.value * 0.98;
  plan.result.proof = "work of the layers, all devices busy";
  plan.result.examined = 1234, plan.result.pruned = uint64_t(1) << 40;
  return plan;
}

PlacementPlan fullPlacement(const PlacementShape &shape) {
  PlacementPlan plan = gptPlacement(shape);
  for (PlacementProblem::Id parallelConfig : {1u, 2u}) { // half of the replicas, or of the tensor parallelism
    const PlacementProblem::ParallelConfig &other = plan.problem.parallelConfigs[parallelConfig];
    PlacementShape deeper;
    deeper.stages = 16;
    Placement next = *gptPlacement(deeper).result.plan;
    if (shape.blocks != 96)
      break;
    for (PlacedStage &stage : next.stages)
      stage.parallelConfig = parallelConfig;
    next.microbatches = shape.batch / other.data / other.microbatch;
    plan.runnersUp.push_back({next, evaluate(plan.problem, next)});
  }
  plan.whatIf = {{"memory of 'a100_80g' + 10 %", plan.result.value * 0.97},
                 {"network between servers + 10 %", plan.result.value * 0.985}};
  plan.front = {{"this plan", *plan.result.plan, plan.result.metrics}};
  for (const RunnerUp &other : plan.runnersUp)
    plan.front.push_back({"at most 512 devices", other.plan, other.metrics});
  plan.samples = 146'484'375, plan.sequence = 2048; // 300e9 tokens
  plan.sizes = {{"hidden", 12288}, {"seq", 2048}};  // the number of heads has another name
  plan.assumptions = {"collectives of a layer do not overlap with it", "all devices of a kind run at one speed"};
  return plan;
}

PlacementPlan infeasiblePlacement() {
  PlacementPlan plan = gptPlacement();
  plan.result = {};
  plan.conflicts = {
      {"device.memory <= 0.94 * hbm.capacity", "gpt3.dnn", 31, "needs 92.1 GiB, hbm has 75.2 GiB: 16.9 GiB too much"}};
  plan.relaxations = {"16.9 GiB more memory"};
  return plan;
}

} // namespace accord::test
