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

/// Sixteen replicas with weights and states divided among them; of Llama 3 8B, if `isKnown`.
PlacementPlan replicas(bool isKnown) {
  test::PlacementShape shape;
  shape.blocks = 32, shape.stages = 1, shape.tensor = 1, shape.data = 16, shape.zero = 3, shape.batch = 64;
  PlacementPlan plan = test::fullPlacement(shape);
  if (isKnown) {
    using Architecture = ModelArchitecture;
    Architecture &of = plan.architecture.emplace();
    of.family = Architecture::Family::Decoder, of.norm = Architecture::Norm::RmsNorm;
    of.activation = Architecture::Activation::SwiGlu, of.positions = Architecture::Positions::Rope;
    of.layers = 32, of.hidden = 4096, of.heads = 32, of.keyValueHeads = 8, of.headSize = 128, of.inner = 14336;
    of.vocabulary = 128256, of.sequence = 8192, of.finalNorm = of.causal = true;
    of.normEpsilon = 1e-5, of.rotaryBase = 500000, of.parameters = 8030261248;
  }
  plan.model = plan.job = plan.cluster = "x\n$(touch hacked)`id`\"}; END\nreboot\\'${HOME}";
  return plan;
}

/// Made up: every kind, each stage as much as its number says.
LinkTraffic trafficOf(const PlacementPlan &plan) {
  LinkTraffic traffic;
  traffic.links = {{"nvlink", 0, 1, 230e9}, {"ib", 0, 8, 200e9}, {"host", 0, 1, 32e9}};
  for (uint32_t group = 0; group < plan.result.plan->groups(); ++group)
    for (uint32_t kind = 0; kind < LinkTraffic::kKinds; ++kind)
      traffic.flows.push_back(
          {group, static_cast<LinkTraffic::Kind>(kind), kind == 6 ? 2 : kind / 4, 1e9 * (group + 1)});
  return traffic;
}

} // namespace

void writePlacements(const std::string &folder) {
  test::PlacementShape shape;
  shape.zero = 1, shape.virtualStages = 3, shape.schedule = PipelineSchedule::Interleaved;
  PlacementPlan plan = test::fullPlacement(shape);
  writeOne(folder + "/placement", plan);
  plan.traffic = trafficOf(plan);
  writeOne(folder + "/placement-traffic", plan);
  PlacementPlan hostile = plan;
  hostile.traffic->links[0].name = "</script><b>";
  hostile.model = "</script><script>throw 1</script>\xe2\x80\xa8 & \xff";
  hostile.problem.layers[3].name = "<b>\"'`$(id)";
  writeOne(folder + "/placement-hostile", hostile);
  shape = {};
  shape.schedule = PipelineSchedule::ZeroBubble;
  writeOne(folder + "/placement-zero-bubble", test::fullPlacement(shape));
  writeOne(folder + "/placement-replicas-hostile", replicas(true));
  writeOne(folder + "/placement-unknown-hostile", replicas(false));
  writeOne(folder + "/placement-infeasible", test::infeasiblePlacement());
}
