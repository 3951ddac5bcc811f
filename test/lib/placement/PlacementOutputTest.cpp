#include "lib/placement/output/PlacementFigures.h"
#include "lib/placement/output/PlacementJson.h"
#include "lib/placement/output/PlacementReport.h"
#include "lib/placement/output/PlacementSummary.h"
#include "lib/placement/output/PlacementTrace.h"
#include "lib/support/documents/JsonText.h"
#include "test/support/PlacementFixture.h"
#include "gtest/gtest.h"
#include <limits>
#include <numeric>
#include <random>

using namespace accord;
using llvm::StringRef;

namespace {

const test::PlacementShape kShapes[] = {{},
                                        {96, 8, 3, 8, 16, 1, 1536, PipelineSchedule::Interleaved, {}, 2, 1},
                                        {24, 4, 1, 2, 4, 2, 64, PipelineSchedule::ZeroBubble, {5, 7, 6, 6}, 1, 0},
                                        {12, 3, 1, 1, 1, 1, 7, PipelineSchedule::GPipe, {}, 0, 0},
                                        {4, 1, 1, 8, 1, 1, 4, PipelineSchedule::OneFOneB, {}, 0, 0}};

std::string certificate(const PlacementPlan &plan) { return jsonText(placementCertificate(plan)); }

std::string problemOf(StringRef text) {
  auto plan = placementFromCertificate(text, "placement.json");
  return plan ? "no error" : llvm::toString(plan.takeError());
}

std::string replaced(std::string text, StringRef from, StringRef to) {
  size_t at = text.find(from.str());
  EXPECT_NE(at, std::string::npos) << from.str();
  return at == std::string::npos ? text : text.replace(at, from.size(), to.str());
}

} // namespace

TEST(EmitPlacement, CertificateComesBackBitForBit) {
  for (const test::PlacementShape &shape : kShapes) {
    PlacementPlan plan = test::fullPlacement(shape);
    plan.problem.overlapFraction = 0.1 + 0.2;
    plan.problem.links[0].interNode.perByte = 5e-324;
    plan.problem.placementConstraints = {{"on \"a\"", {0}, {}, false, {"job.dnn", 3, 2}},
                                         {"together", {}, 7, true, {}}};
    plan.problem.deviceTypes[0].counted = {"one.accel", 4, 1};
    plan.problem.limits = {1, 0.5, 2, 3, 4};
    plan.problem.parallelConfigs[0].expertGradientSyncs = {{1, {{20e6, 80}}}, {4, {{5e6, 70}, {1e6, 90}}}};
    for (auto &one : plan.problem.classes)
      if (one.costs[0])
        one.costs[0]->expertGradients = 77;
    plan.model = "a \"model\" \\ with\nlines";
    auto back = placementFromCertificate(certificate(plan), "placement.json");
    ASSERT_TRUE(bool(back)) << llvm::toString(back.takeError());
    EXPECT_EQ(certificate(*back), certificate(plan));
    EXPECT_EQ(back->problem.overlapFraction, 0.1 + 0.2);
    EXPECT_EQ(back->problem.links[0].interNode.perByte, 5e-324);
    EXPECT_EQ(back->problem.placementConstraints[0].deviceTypes, std::vector<uint32_t>{0});
    EXPECT_EQ(back->problem.placementConstraints[0].location.line, 3u);
    EXPECT_EQ(back->problem.placementConstraints[1].stage, std::optional<int64_t>(7));
    EXPECT_TRUE(back->problem.placementConstraints[1].sameStage);
    EXPECT_EQ(back->problem.layers.size(), plan.problem.layers.size());
    EXPECT_EQ(back->problem.limits.price, 4);
    EXPECT_EQ(back->problem.parallelConfigs[0].expertGradientSyncs[1].alternatives[1].perByte, 90);
    EXPECT_EQ(back->problem.classes[0].costs[0]->expertGradients, 77);
    EXPECT_FALSE(back->problem.classes[2].costs.back());
    EXPECT_EQ(back->model, plan.model);
    EXPECT_EQ(back->result.pruned, plan.result.pruned);
    EXPECT_EQ(back->result.plan->schedule, shape.schedule);
    EXPECT_EQ(back->result.plan->stages.back().layers, plan.result.plan->stages.back().layers);
    EXPECT_EQ(back->result.metrics.memory, plan.result.metrics.memory);
    EXPECT_EQ(back->location.line, plan.location.line);
    EXPECT_FALSE(bool(agrees(*back, jsonText(toJson(plan)), "plan.json")));
  }
}

TEST(EmitPlacement, WithoutAPlan) {
  PlacementPlan plan = test::infeasiblePlacement();
  plan.result.bound = std::numeric_limits<double>::infinity(); // that none fits
  auto back = placementFromCertificate(certificate(plan), "placement.json");
  ASSERT_TRUE(bool(back)) << llvm::toString(back.takeError());
  EXPECT_FALSE(back->result.plan);
  EXPECT_EQ(back->result.bound, plan.result.bound);
  EXPECT_EQ(back->conflicts.at(0).line, 31u);
  EXPECT_EQ(toJson(plan).getAsObject()->getString("status"), StringRef("infeasible"));
  EXPECT_NE(placementSummary(plan, {}, {}).find("16.9 GiB more memory"), std::string::npos);
  EXPECT_NE(toReport(plan).find("16.9 GiB"), std::string::npos);
  EXPECT_NE(jsonText(toTrace(plan)).find("traceEvents"), std::string::npos);
}

/// Keys that are missing in a document, or that its schema does not have.
static std::vector<std::string> againstSchema(const llvm::json::Value &value, const llvm::json::Object &schema,
                                              const std::string &at) {
  std::vector<std::string> wrong;
  auto add = [&](const std::vector<std::string> &more) { wrong.insert(wrong.end(), more.begin(), more.end()); };
  if (const auto *array = value.getAsArray())
    for (const llvm::json::Value &one : *array)
      if (const auto *items = schema.getObject("items"))
        add(againstSchema(one, *items, at + "[]"));
  const llvm::json::Object *object = value.getAsObject(), *properties = schema.getObject("properties");
  if (!object || !properties)
    return wrong;
  for (const auto &[key, member] : *object)
    if (const llvm::json::Object *of = properties->getObject(key))
      add(againstSchema(member, *of, at + "." + key.str()));
    else
      wrong.push_back(at + "." + key.str());
  if (const llvm::json::Array *required = schema.getArray("required"))
    for (const llvm::json::Value &key : *required)
      if (!object->get(*key.getAsString()))
        wrong.push_back(at + " without " + key.getAsString()->str());
  return wrong;
}

TEST(EmitPlacement, SchemaIsThatOfTheDocument) {
  llvm::json::Value schema = placementSchema();
  for (const test::PlacementShape &shape : kShapes)
    EXPECT_EQ(againstSchema(toJson(test::fullPlacement(shape)), *schema.getAsObject(), ""), std::vector<std::string>());
  EXPECT_EQ(againstSchema(toJson(PlacementPlan()), *schema.getAsObject(), ""), std::vector<std::string>());
}

TEST(EmitPlacement, ErrorsHaveTheirPlace) {
  std::string good = certificate(test::fullPlacement());
  struct {
    StringRef from, to, message;
  } cases[] = {
      {"\"devicesPerNode\"", "", ""},
      {"\"devices_per_node\": 8", "\"devices_per_node\": \"8\"",
       ": expected integer at placement.problem.device_types[0].devices_per_node"},
      {"\"devices_per_node\": 8", "\"devices_per_node\": 0",
       "integer out of range at placement.problem.device_types[0].devices_per_node"},
      {"\"devices_per_node\": 8", "\"per_sever\": 8",
       "missing value at placement.problem.device_types[0].devices_per_node"},
      {"\"overlap_fraction\": 0.25", "\"overlap_fraction\": 0.25, \"overlap_fracton\": 1",
       "unknown key at placement.problem.overlap_fracton"},
      {"\"overlap_fraction\": 0.25", "\"overlap_fraction\": 1.5",
       "a share above one at placement.problem.overlap_fraction"},
      {"\"overlap_fraction\": 0.25", "\"overlap_fraction\": -1", "expected a finite number that is not negative"},
      {"\"objective\": \"step_time\"", "\"objective\": \"speed\"", "expected an objective of placements"},
      {"\"uniform_config_per_device_type\": true", "\"uniform_config_per_device_type\": 1",
       "expected boolean at placement.problem.uniform_config_per_device_type"},
      {"\"class\": 1", "\"class\": 3", "no class has this number at placement.problem.layers[1].class"},
      {"\"class\": 1", "\"class\": 2", "no plan of this problem"},
      {"[0, 1, 50331648]", "[1, 1, 50331648]", "expected an earlier and a later layer"},
      {"[0, 1, 50331648]", "[0, 1]", "expected [from, to, bytes] at placement.problem.edges[0]"},
      {"\"batch\": 1536", "\"batch\": 1537", "no plan of this problem"},
      {"\"batch\": 1536", "\"batch\": 1000000000000000000", "beyond what can be counted"},
      {"\"microbatches\": 96", "\"microbatches\": 95", "no plan of this problem"},
      {"\"kind\": \"placement\"", "\"kind\": \"schedule\"", "expected placement at placement.kind"},
      {"\"schema\": 2", "\"schema\": 3", "integer out of range at placement.schema"},
      {"\"proof\"", "\"prof\"", "unknown key (did you mean 'proof'?) at placement.result.prof"}};
  for (const auto &one : cases)
    if (!one.message.empty())
      EXPECT_NE(problemOf(replaced(good, one.from, one.to)).find(one.message.str()), std::string::npos)
          << one.to.str() << ": " << problemOf(replaced(good, one.from, one.to));
  EXPECT_NE(problemOf("[]"), "no error");
  EXPECT_NE(problemOf("{"), "no error");
}

TEST(EmitPlacement, PlanIsHeldAgainstItsCertificate) {
  PlacementPlan plan = test::fullPlacement();
  std::string good = jsonText(toJson(plan));
  auto said = [&](StringRef from, StringRef to) {
    return llvm::toString(agrees(plan, replaced(good, from, to), "plan.json"));
  };
  EXPECT_EQ(said("\"pipeline_parallel\": 8", "\"pipeline_parallel\": 4"),
            "plan.json: 4 at pipeline_parallel, the certificate gives 8");
  EXPECT_EQ(said("\"kind\": \"placement\"", "\"kind\": \"placement\", \"nought\": 0"),
            "plan.json: unknown key at nought");
  EXPECT_EQ(said("\"uniform_config\": true,", ""), "plan.json: missing value at runners_up[0].uniform_config");
  EXPECT_EQ(said("block[0..11]", "block[0..10]"),
            "plan.json: \"block[0..10]\" at stages[0].layers[1], the certificate gives "
            "\"block[0..11]\"");
  EXPECT_NE(llvm::toString(agrees(plan, "{", "plan.json")), "");
}

// Whatever stands in a file is refused or can be printed.
TEST(EmitPlacement, NoFileCrashes) {
  std::mt19937 random(7);
  test::PlacementShape small = {6, 3, 1, 2, 2, 1, 8, PipelineSchedule::OneFOneB, {}, 1, 0};
  std::string good = certificate(test::fullPlacement(small));
  const char *values[] = {"0",     "-1",         "2",   "1e300", "9223372036854775807", "null", "[]", "{}",
                          "\"x\"", "4294967295", "0.5", "3"};
  std::vector<size_t> numbers;
  for (size_t i = 1; i < good.size(); ++i)
    if (isdigit(good[i]) && !isdigit(good[i - 1]) && (good[i - 1] == ' ' || good[i - 1] == '['))
      numbers.push_back(i);
  size_t accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = good;
    for (int changes = 1 + round % 3; changes-- > 0;) {
      size_t at = numbers[random() % numbers.size()], end = at;
      if (at >= text.size() || !isdigit(text[at]))
        continue;
      while (end < text.size() && isdigit(text[end]))
        ++end;
      text.replace(at, end - at, values[random() % std::size(values)]);
    }
    auto plan = placementFromCertificate(text, "placement.json");
    if (!plan) {
      EXPECT_NE(llvm::toString(plan.takeError()), "");
      continue;
    }
    ++accepted;
    EXPECT_FALSE(jsonText(toJson(*plan)).empty());
    EXPECT_FALSE(jsonLine(toTrace(*plan)).empty());
    EXPECT_FALSE(toReport(*plan).empty());
    EXPECT_FALSE(placementSummary(*plan, {}, {}).empty());
  }
  EXPECT_GT(accepted, 100u);
}

TEST(EmitPlacement, FiguresAddUp) {
  for (const test::PlacementShape &shape : kShapes) {
    PlacementPlan plan = test::gptPlacement(shape);
    PlacementFigures figures = figuresOf(plan);
    ASSERT_EQ(figures.groups.size(), static_cast<size_t>(shape.stages));
    for (size_t g = 0; g < figures.groups.size(); ++g) {
      const GroupFigures &group = figures.groups[g];
      EXPECT_EQ(group.peak(), plan.result.metrics.memory[g]); // of `judge`
      EXPECT_EQ(std::accumulate(group.step.begin(), group.step.end(), int64_t(0)), plan.result.metrics.step);
      EXPECT_EQ(group.first, static_cast<int64_t>(g) * shape.tensor * shape.data);
    }
    EXPECT_DOUBLE_EQ(figures.throughput * figures.seconds, static_cast<double>(shape.batch));
    EXPECT_DOUBLE_EQ(figures.mfu * figures.seconds * 312e12 * static_cast<double>(plan.result.metrics.devices),
                     plan.modelFlops);
  }
}

// Equal stages and nothing else that takes time: the bubble is (p - 1) / (m + p - 1) of the step
// (Narayanan et al., SC 2021, section 2.2).
TEST(EmitPlacement, BubbleOfEqualStages) {
  PlacementPlan plan = test::gptPlacement({8, 4, 1, 1, 1, 1, 16});
  PlacementProblem &p = plan.problem;
  for (PlacementProblem::LayerClass &one : p.classes)
    for (auto &cost : one.costs)
      if (cost) {
        bool block = one.name == "block";
        cost->forward = block ? 1000 : 0, cost->backward = block ? 1000 : 0;
        cost->weight = block ? 1000 : 0, cost->update = 0;
        for (PlacementProblem::RecomputeChoice &recomputeChoice : cost->recomputeChoices)
          recomputeChoice.recomputeTime = 0;
      }
  p.links = {{}}, p.hostOverheadPerMicrobatch = p.hostOverheadPerStep = 0;
  plan.result.metrics = evaluate(p, *plan.result.plan);
  EXPECT_DOUBLE_EQ(figuresOf(plan).bubble, 3.0 / 19);
}

TEST(EmitPlacement, RunsOfLayers) {
  PlacementProblem p;
  for (const char *name : {"in", "block[8]", "block[9]", "block[10]", "block[12]", "h.0.mlp", "h.1.mlp",
                           "h.1.attention", "x01", "x02", "out"})
    p.layers.push_back({name, 0, {}, {}});
  std::vector<uint32_t> all(p.layers.size());
  std::iota(all.begin(), all.end(), 0u);
  EXPECT_EQ(layerRuns(p, all), (std::vector<std::string>{"in", "block[8..10]", "block[12]", "h.0..1.mlp",
                                                         "h.1.attention", "x01", "x02", "out"}));
}

TEST(EmitPlacement, TraceIsBoundedAndInOrder) {
  PlacementPlan plan = test::gptPlacement({96, 8, 1, 1, 1, 1, 20000});
  PlacementFigures figures = figuresOf(plan);
  PipelinePicture all = picture(plan, figures, 1000000), few = picture(plan, figures, 1000);
  EXPECT_EQ(all.left, 0);
  EXPECT_GT(few.left, 300000);
  for (const PipelinePicture *shown : {&all, &few})
    for (size_t g = 0; g < shown->groups.size(); ++g) {
      int64_t end = 0, passes = 0, busy = 0;
      for (const PipelineSlice &slice : shown->groups[g]) {
        EXPECT_EQ(slice.start, end); // bubbles fill all gaps
        end = slice.end;
        if (slice.kind <= PipelineSlice::Kind::Weight || slice.kind == PipelineSlice::Kind::Summary)
          passes += slice.passes, busy += slice.end - slice.start;
      }
      EXPECT_EQ(end, shown->step);
      EXPECT_EQ(passes, 2 * 20000);
    }
  llvm::json::Value trace = toTrace(plan, {2000});
  EXPECT_LT(trace.getAsObject()->getArray("traceEvents")->size(), 6000u);
  EXPECT_GT(*trace.getAsObject()->getObject("otherData")->getInteger("left_out"), 0);
}

TEST(EmitPlacement, NamesAreNeverMarkup) {
  PlacementPlan plan = test::fullPlacement();
  plan.model = "</script><script>throw 1</script>\xe2\x80\xa8 & \xff";
  plan.problem.layers[3].name = "<img onerror=x>";
  std::string page = toReport(plan);
  EXPECT_EQ(page.find("<script>throw"), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
}

TEST(EmitPlacement, LayerIsExplained) {
  PlacementPlan plan = test::gptPlacement();
  std::string text = llvm::cantFail(explainLayer(plan, "block[13]", {}));
  EXPECT_NE(text.find("1 of 8, a100_80g 128..255"), std::string::npos) << text;
  auto wrong = explainLayer(plan, "blok[13]", {});
  ASSERT_FALSE(bool(wrong));
  EXPECT_NE(llvm::toString(wrong.takeError()).find("did you mean 'block[13]'?"), std::string::npos);
}
