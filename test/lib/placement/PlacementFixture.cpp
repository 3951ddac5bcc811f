#include "test/lib/placement/PlacementFixture.h"

namespace accord::test {
namespace {

using Problem = PlacementProblem;
constexpr int64_t kMillisecond = 1000000000;

Problem::Cost block(const Problem::Form &form) {
  int64_t t = form.tensor, b = form.microbatch, parameters = 1811939328 / t;
  Problem::Cost cost;
  cost.forward = 48 * kMillisecond * b / t + kMillisecond / 2;
  cost.backward = cost.forward, cost.weight = 48 * kMillisecond * b / t;
  cost.residentWeights = 2 * parameters, cost.residentGradients = 2 * parameters;
  cost.resident = 4 * parameters + 12 * parameters / (form.zero > 0 ? form.data : 1);
  cost.gradients = 2 * parameters, cost.weights = 0;
  cost.update = cost.resident / 1500 * 1000;
  int64_t hidden = 2048 * 12288 * b;
  cost.keeps = {{"none", 0, hidden * (10 + 104 / t), hidden * 8 / t},
                {"selective", cost.forward / 20, hidden * 34 / t, hidden * 8 / t},
                {"full", cost.forward, hidden * 2 / t, hidden * (10 + 104 / t)}};
  cost.joules = 90000, cost.joulesAgain = 0;
  return cost;
}

Problem::Cost end(const Problem::Form &form, bool head) {
  int64_t t = form.tensor, b = form.microbatch, parameters = 617558016 / t;
  Problem::Cost cost;
  cost.forward = (head ? 20 * kMillisecond : kMillisecond) * b / t;
  cost.backward = cost.forward, cost.weight = cost.forward;
  cost.residentWeights = 2 * parameters, cost.residentGradients = 2 * parameters;
  cost.resident = 4 * parameters + 12 * parameters / (form.zero > 0 ? form.data : 1);
  cost.gradients = 2 * parameters;
  cost.update = cost.resident / 1500 * 1000;
  int64_t kept = 2048 * b * (head ? 2 * 50257 + 2 * 12288 : 2 * 12288) / t;
  cost.keeps = {{"none", 0, kept, kept}};
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
  p.kinds = {{"a100_80g",
              1024,
              8,
              80 * (int64_t(1) << 30) * 94 / 100,
              90,
              400,
              2.5,
              {"selene.accel", 3, 5}}};
  for (int64_t tensor : {shape.tensor, int64_t(4)})
    for (int64_t data : {shape.data, shape.data / 2}) {
      Problem::Form form;
      form.tensor = tensor, form.data = std::max<int64_t>(1, data), form.zero = shape.zero;
      form.sequence = true, form.microbatch = shape.microbatch;
      if (form.data > 1)
        form.syncs = {{1, {{20e6, 80}, {5e6, 90}}}};
      p.forms.push_back(form);
    }
  p.classes = {{"embedding", {}}, {"block", {}}, {"head", {}}};
  for (const Problem::Form &form : p.forms) {
    p.classes[0].costs.push_back(end(form, false));
    p.classes[1].costs.push_back(block(form));
    p.classes[2].costs.push_back(end(form, true));
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
  p.chunks = {2, 3, 4}, p.hidden = 0.25;
  p.perMicrobatch = 50000000, p.perStep = 2 * kMillisecond;
  p.location = plan.location = {"gpt3.dnn", 10, 1};
  Placement placement;
  placement.schedule = shape.schedule, placement.chunks = shape.chunks;
  placement.microbatches = shape.batch / shape.data / shape.microbatch;
  int64_t count = shape.stages * shape.chunks;
  uint32_t next = 0;
  for (int64_t s = 0; s < count; ++s) {
    PlacedStage stage;
    auto add = [&](uint32_t keep) {
      stage.layers.push_back(next++);
      stage.keeps.push_back(keep);
    };
    int64_t blocks = shape.blocksOf.empty()
                         ? shape.blocks * (s + 1) / count - shape.blocks * s / count
                         : shape.blocksOf[static_cast<size_t>(s)];
    if (s == 0)
      add(0);
    for (int64_t i = 0; i < blocks; ++i)
      add(s == 0 && i < shape.fullInFirst ? 2 : 1);
    if (s + 1 == count)
      add(0);
    placement.stages.push_back(std::move(stage));
  }
  plan.result.worth = judge(p, placement);
  plan.result.plan = std::move(placement);
  plan.result.value = plan.result.worth.value;
  plan.result.bound = plan.result.value * 0.98;
  plan.result.proof = "work of the layers, all devices busy";
  plan.result.examined = 1234, plan.result.pruned = uint64_t(1) << 40;
  return plan;
}

PlacementPlan fullPlacement(const PlacementShape &shape) {
  PlacementPlan plan = gptPlacement(shape);
  for (PlacementProblem::Id form : {1u, 2u}) { // half of the replicas, or of the tensor parallelism
    const PlacementProblem::Form &other = plan.problem.forms[form];
    PlacementShape deeper;
    deeper.stages = 16;
    Placement next = *gptPlacement(deeper).result.plan;
    if (shape.blocks != 96)
      break;
    for (PlacedStage &stage : next.stages)
      stage.form = form;
    next.microbatches = shape.batch / other.data / other.microbatch;
    plan.runnersUp.push_back({next, judge(plan.problem, next)});
  }
  plan.whatIf = {{"memory of 'a100_80g' + 10 %", plan.result.value * 0.97},
                 {"network between servers + 10 %", plan.result.value * 0.985}};
  plan.front = {{"this plan", *plan.result.plan, plan.result.worth}};
  for (const RunnerUp &other : plan.runnersUp)
    plan.front.push_back({"at most 512 devices", other.plan, other.worth});
  plan.samples = 146'484'375, plan.sequence = 2048; // 300e9 tokens
  plan.sizes = {{"hidden", 12288}, {"seq", 2048}};  // the number of heads has another name
  plan.assumptions = {"collectives of a layer do not overlap with it",
                      "all devices of a kind run at one speed"};
  return plan;
}

PlacementPlan infeasiblePlacement() {
  PlacementPlan plan = gptPlacement();
  plan.result = {};
  plan.conflicts = {{"device.memory <= 0.94 * hbm.capacity", "gpt3.dnn", 31,
                     "needs 92.1 GiB, hbm has 75.2 GiB: 16.9 GiB too much"}};
  plan.relaxations = {"16.9 GiB more memory"};
  return plan;
}

} // namespace accord::test
