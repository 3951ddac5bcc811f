// Writes every document of the made-up plan of test/support/EmitFixture.h into a folder, for tests
// that look at files.
#include "lib/latency/build/LatencyModelFit.h"
#include "lib/latency/forms/Print.h"
#include "lib/planning/output/EstimateJson.h"
#include "lib/planning/output/PlanDifference.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/planning/output/Report.h"
#include "lib/planning/output/Summary.h"
#include "lib/planning/output/Trace.h"
#include "lib/support/documents/JsonText.h"
#include "test/support/EmitFixture.h"
#include <fstream>

using namespace accord;

void writePlacements(const std::string &folder);
void writeMining(const std::string &folder);

int main(int argc, char **argv) {
  if (argc != 2)
    return 1;
  std::string folder = argv[1];
  Plan plan = test::gptPlan();
  plan.sequence = 1024;
  auto write = [&](const char *name, const std::string &text) {
    std::ofstream(folder + "/" + name, std::ios::binary) << text;
  };
  write("plan.json", jsonText(toJson(plan)));
  write("trace.json", jsonText(toTrace(plan)));
  write("estimate.json",
        jsonText(toEstimateJson(plan.graph, plan.machine, plan.costs, sumEstimate(plan.graph, plan.costs))));
  plan.whatIf = {{"hbm bandwidth x 2", plan.schedule.step.seconds() * 0.93, plan.objectiveValue / 0.93,
                  plan.memory.peak, true, "core tc binds"},
                 {"tc peak x 2", plan.schedule.step.seconds() * 0.61, plan.objectiveValue / 0.61, plan.memory.peak,
                  true, "hbm bandwidth binds"},
                 {"recompute full", plan.schedule.step.seconds() * 1.31, plan.objectiveValue / 1.31,
                  plan.memory.peak / 2, true, "core tc binds"},
                 {"microbatch 8", plan.schedule.step.seconds() * 0.99, plan.objectiveValue / 0.99, plan.memory.peak * 2,
                  true, "core tc binds"}};
  TextStyle style;
  Plan other = test::gptPlan({8, 1024, 4});
  other.machine.name = "b200_like";
  write("summary.txt", compileSummary(plan, {1024, "out/report.html"}, style));
  write("estimate.txt",
        estimateTable(plan.graph, plan.machine, plan.costs, sumEstimate(plan.graph, plan.costs), style));
  write("explain.txt", cantFail(explainOperation(plan, "block.fc1", style)));
  write("diff.txt", differenceText(differenceOf(plan, other), style));
  std::vector<test::Costed> costed;
  std::vector<LatencySample> samples;
  for (int64_t B : {1, 2, 4})
    for (int64_t S : {128, 256, 512, 1024})
      costed.push_back(test::gptCosts({B, S}));
  for (size_t i = 0; i < costed.size(); ++i)
    samples.push_back({costed[i].graph.microbatch, std::array<int64_t, 4>{128, 256, 512, 1024}[i % 4], &costed[i].graph,
                       &costed[i].costs});
  LatencyFitOptions fit;
  fit.sequence = 1024, fit.minSequence = 1, fit.maxSequence = 8192;
  fit.memoryOf = test::memoryOf;
  auto fitted = fitLatencyModel(plan, samples, fit);
  if (!fitted)
    return 1;
  const auto &model = *fitted;
  write("latency_model.h", printC(model));
  write("latency_model.py", printPython(model));
  write("latency_model.js", printJavaScript(model));
  write("report.html", toReport(plan, printJavaScript(model)));
  write("latency_model.mlir", printMlir(model));
  write("latency_model.csv", printCsv(model));
  // The same page from hostile names, and of a plan that does not fit.
  plan.graph.model = "</script><script>throw 1</script>\xe2\x80\xa8 & \xff";
  plan.feasible = false;
  plan.conflicts = {
      {"device.memory <= 0.95 * hbm.capacity", "gpt.dnn", 31, "needs 92.1 GiB, hbm has 80 GiB: 12.1 GiB too much"}};
  write("hostile.html", toReport(plan));
  writePlacements(folder);
  writeMining(folder);
  return 0;
}
