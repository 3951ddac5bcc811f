// Folders with all documents of plans for a cluster: FOLDER/placement, and others beside it.
#include "lib/placement/output/PlacementFolder.h"
#include "lib/placement/output/PlacementSummary.h"
#include "test/support/PlacementFixture.h"
#include <filesystem>
#include <fstream>

using namespace accord;

namespace {

void writeOne(const std::string &folder, const PlacementPlan &plan) {
  std::filesystem::create_directories(folder + "/certificate");
  for (const AnswerFile &file : filesOf(plan))
    std::ofstream(folder + "/" + file.name, std::ios::binary) << file.text;
  std::ofstream(folder + "/summary.txt", std::ios::binary)
      << placementSummary(plan, {2048, "out/report.html"}, {}) << stageTable(plan, {});
}

} // namespace

void writePlacements(const std::string &folder) {
  test::PlacementShape shape;
  shape.zero = 1, shape.virtualStages = 3, shape.schedule = PipelineSchedule::Interleaved;
  PlacementPlan plan = test::fullPlacement(shape);
  writeOne(folder + "/placement", plan);
  PlacementPlan hostile = plan;
  hostile.model = "</script><script>throw 1</script>\xe2\x80\xa8 & \xff";
  hostile.problem.layers[3].name = "<b>\"'`$(id)";
  writeOne(folder + "/placement-hostile", hostile);
  shape = {};
  shape.schedule = PipelineSchedule::ZeroBubble;
  writeOne(folder + "/placement-zero-bubble", test::fullPlacement(shape));
  writeOne(folder + "/placement-infeasible", test::infeasiblePlacement());
}
