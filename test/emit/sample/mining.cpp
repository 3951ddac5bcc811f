// Documents of mined designs: FOLDER/mining, and others beside it.
#include "lib/exploration/output/MiningOutput.h"
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
  hostile.findings.reference->name = "<i>";
  writeOne(folder + "/mining-hostile", hostile);
  MiningPlan expression = plan;
  expression.aggregation = "sum", expression.metric = "energy * step_time^2", expression.unit = "J*s^2";
  writeOne(folder + "/mining-expression", expression);
  MiningPlan none;
  none.space = "chips", none.size = "48", none.metric = "step_time", none.version = "0";
  none.best.result.strategy = "exact", none.best.result.value = std::numeric_limits<double>::infinity();
  none.best.result.bound = std::numeric_limits<double>::infinity();
  none.conflicts.push_back({"'area <= 1 mm2'", "", 0, ""});
  writeOne(folder + "/mining-infeasible", none);
}
