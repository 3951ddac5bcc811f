// Documents of mined designs: FOLDER/mining, and others beside it.
#include "lib/exploration/output/MiningOutput.h"
#include "lib/exploration/solve/DesignSample.h"
#include "lib/exploration/solve/MiningRandom.h"
#include "lib/support/documents/JsonText.h"
#include "test/support/MiningFixture.h"
#include <filesystem>
#include <fstream>
#include <limits>

using namespace accord;

namespace {

void writeOne(const std::string &folder, const MiningPlan &plan) {
  std::filesystem::create_directories(folder);
  auto write = [&](const char *name, const std::string &text) {
    std::ofstream(folder + "/" + name, std::ios::binary) << text;
  };
  write("report.html", toReport(plan));
  write("mine.json", jsonText(toJson(plan)));
  write("front.csv", paretoFrontCsv(plan));
  write("summary.txt", miningSummary(plan, "out", {}));
}

/// What a search over `parameters` leaves that evaluated so many designs.
MiningPlan sampledPlan(size_t parameters, size_t designs) {
  MiningPlan plan;
  plan.space = "sampled", plan.size = "many", plan.metric = "tdp_time", plan.version = "0";
  for (size_t p = 0; p < parameters; ++p) {
    DesignParameter &parameter = plan.parameters.emplace_back();
    parameter.name = "core_" + std::to_string(p) + ".array.dimension";
    for (int choice = 1; choice <= (p % 3 ? 8 : 40); ++choice)
      parameter.labels.push_back(std::to_string(choice * 64) + " KiB");
  }
  DesignSample sample(plan.parameters, {"area", "tdp"});
  MiningRandom random(7);
  std::optional<Design> best;
  double value = 0;
  for (size_t i = 0; i < designs; ++i) {
    Design design = random.design(plan.parameters);
    double sum = 1;
    for (uint32_t choice : design)
      sum += choice;
    double seconds = 1 / sum + 1e-4 * random.below(50), watts = 20 + sum + random.below(9);
    sample.add(design, {seconds * watts, 0, {{seconds, 2 * seconds}}}, {sum * 1e-6, watts});
    if (!best || seconds * watts < value)
      best = design, value = seconds * watts;
  }
  plan.best.result.strategy = "random", plan.best.result.best = best, plan.best.result.value = value;
  plan.best.result.evaluations = designs, plan.best.result.evaluated = sample.finish();
  plan.best.result.convergence = {{designs, 1, value, 0}};
  MinedDesign &design = plan.best.design.emplace();
  design.name = "job", design.chosen = labelsOf(plan.parameters, *best);
  design.machine.area.value = 1e-4, design.machine.tdp = Watts(90);
  design.steps.push_back({"job", "micro-batch 1", 16, 0.1, 3, 1e9, value});
  return plan;
}

} // namespace

void writeMining(const std::string &folder) {
  MiningPlan plan = test::minedPlan();
  writeOne(folder + "/mining", plan);
  MiningPlan hostile = plan;
  hostile.space = "</script><script>throw 1</script>\xe2\x80\xa8 & \xff";
  hostile.best.design->steps[0].job = "a,\"b\"<img src=x onerror=throw(1)>";
  for (MinedDesign &design : hostile.front->designs)
    design.steps[0].job = hostile.best.design->steps[0].job;
  hostile.parameters[0].labels[0] = "\"><b>";
  hostile.findings.parameters[0][0].reason = "<svg onload=throw(1)>";
  hostile.findings.limits[0].shares[0].resource = "core <b>";
  hostile.findings.requirements[0].text = "area < \"<\"";
  hostile.parameters[1].name = "</script><script>throw 1</script>";
  hostile.findings.reference->name = "<i>";
  writeOne(folder + "/mining-hostile", hostile);
  MiningPlan expression = plan;
  expression.aggregation = "sum", expression.metric = "energy * step_time^2", expression.unit = "J*s^2";
  writeOne(folder + "/mining-expression", expression);
  writeOne(folder + "/mining-large", sampledPlan(12, 100000));
  writeOne(folder + "/mining-narrow", sampledPlan(1, 30));
  MiningPlan none;
  none.space = "chips", none.size = "48", none.metric = "step_time", none.version = "0";
  none.best.result.strategy = "exact", none.best.result.value = std::numeric_limits<double>::infinity();
  none.best.result.bound = std::numeric_limits<double>::infinity();
  none.conflicts.push_back({"'area <= 1 mm2'", "", 0, ""});
  writeOne(folder + "/mining-infeasible", none);
}
