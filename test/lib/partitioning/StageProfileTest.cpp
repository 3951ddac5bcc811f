// Stages that were profiled whole, as Alpa does it, against all chains of them; and the files that say so.
#include "lib/import/profiles/LayerGraphImport.h"
#include "lib/partitioning/output/LayerPlanCertificate.h"
#include "lib/partitioning/output/LayerPlanOutput.h"
#include "lib/partitioning/solve/LayerPlanner.h"
#include "lib/partitioning/verify/LayerPlanBoundProof.h"
#include "lib/partitioning/verify/LayerPlanVerifier.h"
#include "lib/support/SplitMix.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace accord;

namespace {

LayerGraph randomProfiles(uint64_t seed) {
  SplitMix random(seed);
  auto pick = [&](int64_t min, int64_t max) { return min + int64_t(random.below(uint64_t(max - min + 1))); };
  LayerGraph g;
  g.name = "random";
  g.devices = pick(1, 6);
  g.microbatches = pick(1, 12);
  g.memory = double(pick(10, 60));
  g.bandwidth = 1;
  auto n = static_cast<LayerGraph::Id>(pick(1, 5));
  for (LayerGraph::Id v = 0; v < n; ++v) {
    g.layers.push_back({"layer" + std::to_string(v), {}, {}});
    if (v > 0)
      g.edges.push_back({v - 1, v, 0});
  }
  for (LayerGraph::Id first = 0; first < n; ++first)
    for (LayerGraph::Id last = first; last < n; ++last)
      for (int64_t i = pick(0, 3); i > 0; --i)
        g.profiles.push_back({first, last, "p" + std::to_string(i), int64_t(1) << pick(0, 2),
                              double(pick(1, 20) * int64_t(last - first + 1)), double(pick(0, 9)), double(pick(0, 30)),
                              pick(0, 3) ? pick(0, 4) : LayerGraph::kAnyLater});
  if (g.profiles.empty())
    g.profiles.push_back({0, n - 1, "all", 1, 7, 0, 0, 0});
  return g;
}

/// All chains of profiles from the last layer to the first.
double minimumOf(const LayerGraph &g, PipelineObjective objective, size_t end, int64_t stages, int64_t devices,
                 double sum, double longest) {
  if (end == 0) {
    double rest = double(g.microbatches - 1) * longest;
    return objective == PipelineObjective::Load ? longest : objective == PipelineObjective::Latency ? sum : sum + rest;
  }
  double best = INFINITY;
  for (const auto &one : g.profiles)
    if (one.last + 1 == end && devices + one.tensor <= g.devices && stages <= one.maxLater &&
        stages + 1 <= g.microbatches && one.memoryFixed + one.memoryPerMicrobatch * double(stages + 1) <= g.memory)
      best = std::min(best, minimumOf(g, objective, one.first, stages + 1, devices + one.tensor, sum + one.time,
                                      std::max(longest, one.time)));
  return best;
}

TEST(StageProfiles, AreAsGoodAsAllChains) {
  for (PipelineObjective objective :
       {PipelineObjective::Load, PipelineObjective::Latency, PipelineObjective::Makespan}) {
    size_t infeasible = 0, several = 0;
    for (uint64_t seed = 1; seed <= 250; ++seed) {
      SCOPED_TRACE(seed);
      LayerGraph graph = randomProfiles(seed);
      ASSERT_TRUE(check(graph).empty()) << check(graph)[0].message;
      LayerPlanOptions options;
      options.objective = objective;
      LayerPlan plan = planLayers(graph, options);
      double best = minimumOf(graph, objective, graph.layers.size(), 0, 0, 0, 0);
      EXPECT_EQ(proveLayerPlanBound(graph, best, false, objective), BoundVerdict::Holds);
      if (std::isinf(best)) {
        EXPECT_EQ(plan.status, LayerPlan::Status::Infeasible);
        ++infeasible;
        continue;
      }
      EXPECT_EQ(proveLayerPlanBound(graph, best * (1 + 1e-6), false, objective), BoundVerdict::Broken);
      ASSERT_EQ(plan.status, LayerPlan::Status::Feasible);
      EXPECT_NEAR(plan.value, best, 1e-9 * best);
      EXPECT_NEAR(plan.bound, best, 1e-9 * best);
      for (const Error &error : verify(graph, plan))
        ADD_FAILURE() << error.message;
      several += plan.stages.size() > 1;
      AnswerFiles files = filesOf(LayerPlanAnswer{graph, plan, false});
      auto read = layerPlanFromCertificate(files[2].text, files[3].text, "out");
      ASSERT_TRUE(read) << read.error()[0].message;
      EXPECT_EQ(filesOf(*read)[0].text, files[0].text);
      EXPECT_EQ(profiledLayersJson(read->graph), files[2].text);
      EXPECT_TRUE(verify(read->graph, read->plan).empty());
    }
    EXPECT_GT(infeasible, 20u);
    EXPECT_GT(several, 20u);
  }
}

TEST(StageProfiles, VerifierSeesWhatIsWrong) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    LayerGraph graph = randomProfiles(seed);
    LayerPlan plan = planLayers(graph);
    if (plan.status != LayerPlan::Status::Feasible)
      continue;
    auto changed = [&](auto change) {
      LayerPlan other = plan;
      change(other);
      EXPECT_FALSE(verify(graph, other).empty()) << seed;
    };
    changed([](LayerPlan &p) { p.stages[0].configuration[0] = 99; });
    changed([](LayerPlan &p) { p.stages[0].tensor *= 2; });
    changed([](LayerPlan &p) { p.stages[0].data = 2; });
    changed([](LayerPlan &p) { p.stages[0].latency += 1; });
    changed([](LayerPlan &p) { p.stages[0].memory += 1; });
    changed([](LayerPlan &p) { p.stages[0].layers.pop_back(), p.stages[0].configuration.pop_back(); });
    LayerGraph tighter = graph;
    tighter.profiles[plan.stages[0].configuration[0]].maxLater = int64_t(plan.stages.size()) - 2;
    if (plan.stages.size() > 1) {
      EXPECT_FALSE(verify(tighter, plan).empty());
    }
  }
}

/// An array of NumPy of times and of stages that may follow; `type` as it describes numbers.
std::string npy(const std::string &shape, const std::vector<double> &numbers, const std::string &type = "<f8",
                const std::string &order = "False") {
  std::string header = "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': (" + shape + "), }\n";
  std::string text =
      std::string("\x93NUMPY\x01", 7) + '\0' + char(header.size() & 255) + char(header.size() >> 8) + header;
  for (double number : numbers) {
    char bytes[8];
    auto narrow = static_cast<float>(number);
    if (type == "<f4")
      std::memcpy(bytes, &narrow, 4);
    else
      std::memcpy(bytes, &number, 8);
    text.append(bytes, type == "<f4" ? 4 : 8);
  }
  return text;
}

/// Two layers, on one or two devices; the second layer alone does not fit one device.
std::vector<double> costs() {
  const double inf = INFINITY;
  return {5, 3, 9, 6, inf, inf, 4,  2.5, //
          3, 3, 1, 1, -1,  -1,  -1, 0,   //
          1, 1, 1, 1, 0,   0,   1,  1};
}

TEST(StageProfiles, ReadsAlpa) {
  for (const char *type : {"<f8", "<f4"}) {
    SourceManager sources;
    Diagnostics diags(sources);
    auto read = importAlpaCosts(diags, "costs.npy", npy("3, 2, 2, 2, 1", costs(), type), {3, 10});
    ASSERT_TRUE(read) << diags.text();
    const LayerGraph &g = read->graph;
    ASSERT_EQ(g.profiles.size(), 5u);
    EXPECT_EQ(g.profiles[1].tensor, 2);
    EXPECT_EQ(g.profiles[1].time, 3);
    EXPECT_EQ(g.profiles[4].first, 1u);
    EXPECT_EQ(g.profiles[4].maxLater, 0);
    LayerPlanOptions options;
    options.objective = PipelineObjective::Makespan;
    LayerPlan plan = planLayers(g, options); // 5 + 2.5 + 9 x 5, or all on two devices: 10 x 6
    EXPECT_EQ(plan.value, 52.5);
    EXPECT_EQ(plan.stages.size(), 2u);
  }
}

TEST(StageProfiles, BrokenFilesOfAlpaAreRefused) {
  std::vector<double> negative = costs(), unknown = costs(), none = costs();
  negative[2] = -1;
  unknown[8] = NAN;
  for (size_t i = 0; i < 8; ++i)
    none[i] = INFINITY;
  const std::string good = npy("3, 2, 2, 2, 1", costs());
  const std::pair<std::string, const char *> kBroken[] = {
      {"", "costs.npy:1:1: error[A0811]: expected an array of NumPy"},
      {"\x93NUMPX", "expected an array of NumPy"},
      {std::string("\x93NUMPY\x09", 7) + std::string(20, '\0'), "version 1, 2 or 3, found 9"},
      {good.substr(0, 60), "a header of"},
      {good.substr(0, good.size() - 1), "bytes of numbers, found"},
      {good + "x", "bytes of numbers, found"},
      {npy("3, 2, 2, 2, 1", costs(), "|O"), "pickled Python objects"},
      {npy("3, 2, 2, 2, 1", costs(), ">f8"), "expected numbers of type"},
      {npy("3, 2, 2, 2, 1", costs(), "<f8", "True"), "order of C"},
      {npy("2, 2, 2, 2, 1", costs()), "expected the shape (3, layers, layers, meshes, shardings)"},
      {npy("3, 2, 3, 2, 1", costs()), "found (3, 2, 3, 2, 1)"},
      {npy("3, 2, 2, 2", costs()), "found (3, 2, 2, 2)"},
      {npy("3, 0, 0, 2, 1", {}), "expected 1 to 1000 layers"},
      {npy("3, 2, 2, 60, 1", costs()), "meshes"},
      {npy("3, 99999999999, 99999999999, 2, 1", costs()), "expected 1 to 1000 layers"},
      {npy("3, 2, 2, 2, 1", negative), "layers 0 to 1, mesh 0, sharding 0, has the time -1"},
      {npy("3, 2, 2, 2, 1", unknown), "later stages"},
      {npy("3, 2, 2, 2, 1", none), "no stage has a time and fits"},
  };
  for (const auto &[bytes, message] : kBroken) {
    SourceManager sources;
    Diagnostics diags(sources);
    EXPECT_FALSE(importAlpaCosts(diags, "costs.npy", bytes, {3, 10})) << message;
    EXPECT_NE(diags.text().find(message), std::string::npos) << message << "\n" << diags.text();
  }
}

TEST(StageProfiles, BrokenDocumentsAreRefusedAtTheirPlaces) {
  auto text = [](const std::string &stages, const std::string &more = "", const std::string &layer = "") {
    return "{\"kind\": \"profiled_layers\", \"devices\": 2, \"memory_bytes\": 1, \"bandwidth_bytes_s\": 1, "
           "\"microbatches\": 2,\n\"layers\": [{\"name\": \"a\"" +
           layer + "}, {\"name\": \"b\"}],\n\"stages\": [" + stages + "]" + more + "}";
  };
  auto stage = [](const std::string &first, const std::string &last, const std::string &more = "") {
    return "{\"first\": \"" + first + "\", \"last\": \"" + last +
           "\", \"tensor\": 1, \"forward_s\": 1, \"backward_s\": 2" + more + "}";
  };
  ASSERT_TRUE(readProfiledLayers(text(stage("a", "b")), "x.json"));
  const std::pair<std::string, const char *> kBroken[] = {
      {text(stage("a", "c")), "no layer has the name 'c'"},
      {text(stage("b", "a")), "'a' is before 'b'"},
      {text(stage("a", "b"), ", \"edges\": [{\"from\": \"a\", \"to\": \"b\", \"bytes\": 1}]"), "have no edges"},
      {text(stage("a", "b"), "", ", \"configurations\": [{\"tensor\": 1, \"forward_s\": 1, \"backward_s\": 1}]"),
       "have no configurations"},
      {text(stage("a", "b", ", \"later_stages_max\": -1")), "later_stages_max"},
      {text(stage("a", "b", ", \"tensor\": 0")), "tensor"},
      {text(""), "has no configuration"},
  };
  for (const auto &[document, message] : kBroken) {
    auto read = readProfiledLayers(document, "x.json");
    ASSERT_FALSE(read) << document;
    EXPECT_NE(read.error()[0].message.find(message), std::string::npos) << read.error()[0].message;
    EXPECT_EQ(read.error()[0].location.file, "x.json");
  }
}

} // namespace
