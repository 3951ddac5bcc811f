#include "test/support/MiningFixture.h"
#include <fmt/format.h>
#include <limits>

namespace accord::test {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

MinedDesign designOf(const MiningPlan &plan, const std::string &name, const Design &design) {
  MinedDesign mined;
  mined.name = name;
  mined.machine.area.value = 1e-6 * (10 + 5 * design[0] + 2 * design[1]);
  mined.machine.tdp = Watts(60 + 10.0 * design[0]);
  for (size_t p = 0; p < design.size(); ++p)
    mined.chosen.push_back(plan.parameters[p].labels[design[p]]);
  for (const char *job : {"deep", "wide"}) {
    double step = 0.4 / (1 + design[0]) + 0.01 * design[1];
    mined.steps.push_back({job, "micro-batch 4", 16, step, 30 * step, 3e9, step, 0.15});
  }
  mined.text = "accelerator chips { }\n";
  return mined;
}

} // namespace

MiningPlan minedPlan() {
  MiningPlan plan;
  plan.space = "chips", plan.size = "48";
  plan.metric = "step_time", plan.aggregation = "minimax_regret", plan.version = "0";
  plan.parameters = {{"tc.count", {"1", "2", "3", "4"}, {1, 2, 3, 4}, {}},
                     {"glb.capacity", {"1 MiB", "2 MiB", "4 MiB"}, {1, 2, 4}, {}},
                     {"tc.dataflow", {"weight_stationary", "output_stationary"}, {}, {}}};
  plan.requirements = {"area <= 31 mm2", "power.tdp <= 120 W"};
  MiningResult &result = plan.best.result;
  result.strategy = "exact", result.proof = "branch and bound: nothing below the best; 0 open nodes";
  result.best = Design{3, 1, 0};
  result.value = 1.2, result.bound = 1.15, result.evaluations = 20, result.bounds = 100;
  result.convergence = {{0, 1, kNever, 0.5}, {1, 20, 2.5, 0.7}, {8, 60, 1.2, 1}, {20, 100, 1.2, 1.15}};
  plan.best.design = designOf(plan, "common", *result.best);
  plan.own = {{result, designOf(plan, "deep", {2, 0, 0})}, {result, std::nullopt}};
  MiningResult other = result;
  other.strategy = "random", other.value = 1.3, other.bound = 0, other.proof = "";
  plan.compared = {{other, designOf(plan, "random", {2, 2, 1})}};
  MinedParetoFront &front = plan.front.emplace();
  front.front.costs = {"area", "tdp"};
  front.front.within = front.front.possibly = 0.01, front.front.proof = result.proof;
  for (uint32_t i = 4; i-- > 0;) {
    Design design = {i, i == 3 ? 1u : 0u, 0};
    front.designs.push_back(designOf(plan, fmt::format("{:02}", 4 - i), design));
    const Machine &machine = front.designs.back().machine;
    front.front.points.push_back({design, 4.8 / (1 + i), {machine.area.value, machine.tdp.value}});
  }
  EvaluatedDesigns &evaluated = result.evaluated;
  evaluated.costs = {"area", "tdp"}, evaluated.count = 20, evaluated.nonDominated = 4;
  for (uint32_t i = 4; i-- > 0;)
    for (uint32_t dataflow : {0u, 1u}) {
      Design design = {i, 1, dataflow};
      Machine machine = designOf(plan, "", design).machine;
      evaluated.designs.push_back({design,
                                   4.8 / (1 + i) + 0.1 * dataflow,
                                   {machine.area.value, machine.tdp.value},
                                   dataflow == 0,
                                   {{0.4 / (1 + i), 12}, {0.4 / (1 + i), 12.5}}});
    }
  MiningFindings &findings = plan.findings;
  findings.limits = {{"deep", {{"core tc", 0.7}, {"bandwidth hbm", 0.3}}, {{"tc", 2, 0.01}, {"vc", 1, 0.002}}},
                     {"wide", {{"host", 1}}, {}}};
  findings.bottleneckGains = {0.4, 0, 0.1};
  for (const DesignParameter &parameter : plan.parameters) {
    std::vector<ChoiceSensitivity> &choices = findings.parameters.emplace_back();
    for (uint32_t c = 0; c < parameter.labels.size(); ++c)
      choices.push_back({c, 1.2 + 0.1 * c, c % 2 == 0, c == 0, 1.2 + 0.05 * c, 1.2, ""});
  }
  findings.parameters[1][2] = {2, kNever, true, true, kNever, kNever, "breaks 'area': 33 mm2 > 31 mm2"};
  findings.requirements = {{"area <= 31 mm2",
                            0.98,
                            "30.4 mm2 of at most 31 mm2",
                            "area",
                            31,
                            true,
                            other,
                            {"4", "2 MiB", "weight_stationary"}},
                           {"power.tdp <= 120 W", 0.75, "90 W of at most 120 W", "tdp", 120, true, std::nullopt, {}},
                           {"tc.count > glb.capacity", 0, "", "", 0, true, std::nullopt, {}}};
  findings.reference = designOf(plan, "tpu_like", {1, 1, 1});
  findings.reference->steps.pop_back();
  findings.reference->chosen.clear();
  return plan;
}

} // namespace accord::test
