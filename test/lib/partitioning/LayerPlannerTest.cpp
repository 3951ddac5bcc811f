// Plans of profiled layers against all plans of small graphs, and Piper's own inputs where they are there.
#include "lib/partitioning/solve/LayerPlanner.h"
#include "lib/import/profiles/LayerGraphImport.h"
#include "lib/partitioning/output/LayerPlanCertificate.h"
#include "lib/partitioning/output/LayerPlanOutput.h"
#include "lib/partitioning/verify/LayerPlanBoundProof.h"
#include "lib/partitioning/verify/LayerPlanVerifier.h"
#include "test/support/SharedData.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace accord;

namespace {

/// Every assignment of layers to stages in a row, degrees to stages, and configurations to layers.
class AllPlans {
public:
  explicit AllPlans(const LayerGraph &graph, PipelineObjective objective = PipelineObjective::Load)
      : g(graph), objective(objective), stage(graph.layers.size()) {}

  double minimum() {
    for (size_t stages = 1; stages <= g.layers.size(); ++stages)
      assign(0, stages);
    return best;
  }

private:
  void assign(size_t layer, size_t stages) {
    if (layer < g.layers.size()) {
      for (stage[layer] = 0; stage[layer] < stages; ++stage[layer])
        assign(layer + 1, stages);
      return;
    }
    std::vector<size_t> size(stages, 0);
    for (size_t s : stage)
      ++size[s];
    for (size_t one : size)
      if (one == 0)
        return;
    for (const auto &edge : g.edges)
      if (stage[edge.from] > stage[edge.to])
        return;
    tensor.assign(stages, 1);
    data.assign(stages, 1);
    degrees(0);
  }

  void degrees(size_t s) {
    int64_t used = 0;
    for (size_t i = 0; i < s; ++i)
      used += tensor[i] * data[i];
    if (s == tensor.size()) {
      combine(0, 0, 0);
      return;
    }
    for (tensor[s] = 1; used + tensor[s] <= g.devices; ++tensor[s])
      for (data[s] = 1; used + tensor[s] * data[s] <= g.devices; ++data[s])
        if (g.microbatches % data[s] == 0)
          degrees(s + 1);
  }

  /// Configurations of each stage, one after another.
  void combine(size_t s, double latency, double longest) {
    if (s == tensor.size()) {
      best = std::min(best, latency + longest);
      return;
    }
    for (auto [one, other] : choices(s))
      combine(s + 1, latency + one, std::max(longest, other));
  }

  /// Of a stage in all configurations that fit: latency, and load or remainder, where the objective counts them.
  std::vector<std::pair<double, double>> choices(size_t s) {
    std::vector<std::pair<double, double>> all;
    std::vector<size_t> mine;
    for (size_t v = 0; v < stage.size(); ++v)
      if (stage[v] == s)
        mine.push_back(v);
    int64_t later = 0, replicas = 0;
    for (size_t i = 0; i < data.size(); ++i) {
      replicas += data[i];
      later += i >= s ? data[i] : 0;
    }
    if (replicas > g.microbatches)
      return all;
    double flight = std::ceil(double(later) / double(data[s])), batches = double(g.microbatches);
    std::vector<size_t> choice(mine.size(), 0);
    for (;;) {
      double memory = 0, load = 0, latency = 0, turn = 0, reduction = 0, d = double(data[s]);
      bool isPossible = true;
      for (size_t i = 0; i < mine.size(); ++i) {
        const auto &one = g.layers[mine[i]].configurations[choice[i]];
        if (one.tensor != tensor[s])
          isPossible = false;
        memory += one.memoryPerMicrobatch * flight + one.memoryFixed;
        load += one.time / d;
        latency += one.time;
        turn += one.time;
        reduction += g.reductionFactor * (d - 1) / d * one.parameterBytes / g.bandwidth;
        load += g.reductionFactor * (d - 1) / d * one.parameterBytes / double(g.microbatches) / g.bandwidth;
        size_t in = 0, out = 0;
        for (const auto &edge : g.edges) {
          if (edge.to == mine[i] && stage[edge.from] != s) {
            load += 2 * (edge.bytes + one.syncIn[in]) / d / g.bandwidth;
            latency += 2 * (edge.bytes + one.syncIn[in]) / g.bandwidth;
            turn += 2 * (edge.bytes + one.syncIn[in]) / g.bandwidth;
          }
          if (edge.from == mine[i] && stage[edge.to] != s) {
            load += 2 * (edge.bytes + one.syncOut[out]) / d / g.bandwidth;
            latency += 2 * one.syncOut[out] / g.bandwidth;
            turn += 2 * (edge.bytes + one.syncOut[out]) / g.bandwidth;
          }
          in += edge.to == mine[i];
          out += edge.from == mine[i];
        }
      }
      if (memory <= g.memory && isPossible)
        switch (objective) {
        case PipelineObjective::Load:
          all.push_back({0, load});
          break;
        case PipelineObjective::Latency:
          all.push_back({latency, 0});
          break;
        case PipelineObjective::Makespan: // N / d micro-batches of each replica, the first in the latency
          all.push_back({latency, (batches / d - 1) * turn + reduction});
          break;
        }
      size_t i = 0;
      while (i < mine.size() && ++choice[i] == g.layers[mine[i]].configurations.size())
        choice[i++] = 0;
      if (i == mine.size())
        return all;
    }
  }

  const LayerGraph &g;
  PipelineObjective objective;
  std::vector<size_t> stage;
  std::vector<int64_t> tensor, data;
  double best = INFINITY;
};

LayerGraph randomGraph(unsigned seed) {
  std::mt19937 random(seed);
  auto pick = [&](int min, int max) { return min + int(random() % unsigned(max - min + 1)); };
  LayerGraph g;
  g.name = "random";
  g.devices = pick(1, 4);
  g.memory = pick(40, 150);
  g.bandwidth = pick(1, 20);
  g.microbatches = pick(1, 12);
  if (pick(0, 1))
    g.reductionFactor = 2;
  int n = pick(1, 5);
  for (int a = 0; a < n; ++a)
    for (int b = a + 1; b < n; ++b)
      if (pick(0, 99) < (b == a + 1 ? 70 : 25))
        g.edges.push_back({LayerGraph::Id(a), LayerGraph::Id(b), double(pick(0, 30))});
  for (int v = 0; v < n; ++v) {
    auto &layer = g.layers.emplace_back();
    layer.name = "layer" + std::to_string(v);
    for (int c = pick(1, 3); c > 0; --c) {
      LayerGraph::Configuration one;
      one.name = "c" + std::to_string(c);
      one.tensor = pick(0, 2) ? 1 : 2;
      one.time = pick(1, 40);
      one.parameterBytes = pick(0, 40);
      one.memoryPerMicrobatch = pick(0, 20);
      one.memoryFixed = pick(0, 40);
      for (const auto &edge : g.edges) {
        if (int(edge.to) == v)
          one.syncIn.push_back(pick(0, 9));
        if (int(edge.from) == v)
          one.syncOut.push_back(pick(0, 9));
      }
      layer.configurations.push_back(std::move(one));
    }
  }
  return g;
}

TEST(LayerPlanner, IsAsGoodAsAllPlansOfSmallGraphs) {
  size_t infeasible = 0, several = 0, replicated = 0;
  for (unsigned seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    LayerGraph graph = randomGraph(seed);
    ASSERT_TRUE(check(graph).empty());
    LayerPlan plan = planLayers(graph);
    double best = AllPlans(graph).minimum();
    if (std::isinf(best)) {
      EXPECT_EQ(plan.status, LayerPlan::Status::Infeasible);
      ++infeasible;
      continue;
    }
    ASSERT_EQ(plan.status, LayerPlan::Status::Feasible);
    EXPECT_NEAR(plan.value, best, 1e-9 * best);
    EXPECT_NEAR(plan.bound, best, 1e-9 * best);
    for (const Error &error : verify(graph, plan))
      ADD_FAILURE() << error.message;
    several += plan.stages.size() > 1;
    for (const LayerStage &stage : plan.stages)
      replicated += stage.data > 1;
  }
  EXPECT_GT(infeasible, 20u);
  EXPECT_GT(several, 40u);
  EXPECT_GT(replicated, 40u);
}

/// Latency and makespan: the plan, its bound, and the second search for stages below it.
TEST(LayerPlanner, MinimizesLatencyAndMakespan) {
  for (PipelineObjective objective : {PipelineObjective::Latency, PipelineObjective::Makespan}) {
    size_t several = 0, others = 0;
    for (unsigned seed = 1; seed <= 250; ++seed) {
      SCOPED_TRACE(seed);
      LayerGraph graph = randomGraph(seed);
      LayerPlanOptions options;
      LayerPlan byLoad = planLayers(graph, options);
      options.objective = objective;
      LayerPlan plan = planLayers(graph, options);
      double best = AllPlans(graph, objective).minimum();
      EXPECT_EQ(proveLayerPlanBound(graph, best, true, objective), BoundVerdict::Holds);
      if (std::isinf(best)) {
        EXPECT_EQ(plan.status, LayerPlan::Status::Infeasible);
        continue;
      }
      ASSERT_EQ(plan.status, LayerPlan::Status::Feasible);
      EXPECT_NEAR(plan.value, best, 1e-9 * best);
      EXPECT_NEAR(plan.bound, best, 1e-9 * best);
      EXPECT_EQ(proveLayerPlanBound(graph, best * (1 + 1e-6), true, objective), BoundVerdict::Broken);
      for (const Error &error : verify(graph, plan))
        ADD_FAILURE() << error.message;
      several += plan.stages.size() > 1;
      others += valueOf(byLoad.stages, objective) > best * (1 + 1e-6);
      options.allowReplicas = false;
      LayerPlan single = planLayers(graph, options);
      bool found = single.status == LayerPlan::Status::Feasible;
      EXPECT_EQ(proveLayerPlanBound(graph, found ? single.bound : INFINITY, false, objective), BoundVerdict::Holds);
      options.effort = 0;
      options.allowReplicas = true;
      LayerPlan quick = planLayers(graph, options);
      EXPECT_LE(quick.bound, best * (1 + 1e-9));
    }
    EXPECT_GT(several, 20u);
    EXPECT_GT(others, 3u);
  }
}

TEST(LayerPlanner, WithinAGapAndWithoutReplicas) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    LayerGraph graph = randomGraph(seed);
    LayerPlan best = planLayers(graph);
    LayerPlanOptions options;
    options.gap = 0.1;
    LayerPlan near = planLayers(graph, options);
    ASSERT_EQ(near.status, best.status);
    if (best.status != LayerPlan::Status::Feasible)
      continue;
    EXPECT_LE(near.bound, best.value * (1 + 1e-9));
    EXPECT_LE(near.gap(), 0.1 + 1e-9);
    EXPECT_TRUE(verify(graph, near).empty());
    options.allowReplicas = false;
    for (const LayerStage &stage : planLayers(graph, options).stages)
      EXPECT_EQ(stage.data, 1);
  }
}

/// The second search agrees with all plans, and with the first one where replicas are not allowed.
TEST(LayerPlanner, BoundsAreProvedAgain) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    LayerGraph graph = randomGraph(seed);
    double best = AllPlans(graph).minimum();
    EXPECT_EQ(proveLayerPlanBound(graph, best, true), BoundVerdict::Holds);
    if (std::isinf(best))
      continue;
    EXPECT_EQ(proveLayerPlanBound(graph, best * (1 + 1e-6), true), BoundVerdict::Broken);
    EXPECT_EQ(proveLayerPlanBound(graph, INFINITY, true), BoundVerdict::Broken);
    LayerPlanOptions options;
    options.allowReplicas = false;
    LayerPlan plan = planLayers(graph, options);
    bool found = plan.status == LayerPlan::Status::Feasible;
    EXPECT_EQ(proveLayerPlanBound(graph, found ? plan.bound : INFINITY, false), BoundVerdict::Holds);
    if (found) {
      EXPECT_EQ(proveLayerPlanBound(graph, plan.value * (1 + 1e-6), false), BoundVerdict::Broken);
    }
  }
}

TEST(LayerPlanner, CertificatesGiveBackWhatWasWritten) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    LayerGraph graph = randomGraph(seed);
    graph.location = {"random.json", 1, 1};
    LayerPlanOptions options;
    options.objective = static_cast<PipelineObjective>(seed % 3);
    AnswerFiles files = filesOf(LayerPlanAnswer{graph, planLayers(graph, options), true});
    ASSERT_EQ(files.size(), 4u);
    auto read = layerPlanFromCertificate(files[2].text, files[3].text, "out");
    ASSERT_TRUE(read) << read.error()[0].message;
    AnswerFiles again = filesOf(*read);
    for (size_t i = 0; i < files.size(); ++i)
      EXPECT_EQ(again[i].text, files[i].text) << seed;
    std::string beyond = files[3].text;
    if (size_t at = beyond.find("\"layers\":"); at != std::string::npos) {
      beyond.insert(beyond.find_first_of("0123456789", at), "9");
      EXPECT_FALSE(layerPlanFromCertificate(files[2].text, beyond, "out")) << seed;
    }
  }
}

TEST(LayerPlanner, DocumentsGiveBackWhatWasWritten) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    LayerGraph graph = randomGraph(seed);
    std::string text = profiledLayersJson(graph);
    auto read = readProfiledLayers(text, "x.json");
    ASSERT_TRUE(read) << read.error()[0].message;
    EXPECT_EQ(profiledLayersJson(*read), text);
    LayerPlan one = planLayers(graph), other = planLayers(*read);
    EXPECT_EQ(one.value, other.value);
    EXPECT_EQ(one.stages.size(), other.stages.size());
  }
}

TEST(LayerPlanner, VerifierSeesWhatIsWrong) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    LayerGraph graph = randomGraph(seed);
    LayerPlan plan = planLayers(graph);
    if (plan.status != LayerPlan::Status::Feasible)
      continue;
    auto changed = [&](auto change) {
      LayerPlan other = plan;
      change(other);
      EXPECT_FALSE(verify(graph, other).empty()) << seed;
    };
    changed([](LayerPlan &p) { p.value *= 0.9; });
    changed([](LayerPlan &p) { p.bound = p.value * 1.1; });
    changed([](LayerPlan &p) { p.stages[0].load *= 0.9; });
    changed([](LayerPlan &p) { p.stages[0].latency *= 0.9; });
    changed([](LayerPlan &p) { p.stages[0].remains += 1; });
    changed([](LayerPlan &p) { p.stages[0].memory += 1; });
    changed([](LayerPlan &p) { p.stages[0].layers.clear(); });
    changed([](LayerPlan &p) { p.stages.pop_back(); });
    changed([](LayerPlan &p) { p.stages[0].data += 10'000; });
    changed([](LayerPlan &p) { p.stages[0].tensor += 1; });
    changed([](LayerPlan &p) { p.stages[0].configuration[0] = 99; });
    changed([](LayerPlan &p) { p.stages.push_back(p.stages[0]); });
  }
}

std::string piper(const std::string &more = "", const std::string &second = "\"destId\": 7") {
  std::string one = "{\"id\": \"vanilla\", \"timePerSample\": 2, \"parameterSize\": 0, \"memoryUsageA\": 1, "
                    "\"memoryUsageB\": 0, \"syncTimeFw\": {}, \"syncTimeBw\": {\"7\": 0}}",
              two = "{\"id\": \"vanilla\", \"timePerSample\": 4, \"parameterSize\": 0, \"memoryUsageA\": 1, "
                    "\"memoryUsageB\": 0, \"syncTimeFw\": {\"3\": 0}, \"syncTimeBw\": {}}";
  return "{\"maxDevices\": 2, \"maxMemoryPerDevice\": 10, \"bandwidth\": 100, \"mbsInBatch\": 4,\n\"nodes\": [\n"
         "{\"id\": 3, \"TMPCs\": {\"1\": [" +
         one + "]}},\n{\"id\": 7, \"TMPCs\": {\"1\": [" + two + "]}}" + more + "],\n\"edges\": [{\"sourceId\": 3, " +
         second + ", \"communicationCost\": 0}]}";
}

TEST(LayerPlanner, ReadsPiper) {
  SourceManager sources;
  Diagnostics diags(sources);
  ASSERT_TRUE(isPiper(piper()));
  auto read = importPiperGraph(diags, sources.add("small.json", piper()));
  ASSERT_TRUE(read) << diags.text();
  LayerPlan plan = planLayers(read->graph);
  EXPECT_DOUBLE_EQ(plan.value, 3); // both layers on two replicas
  EXPECT_EQ(read->graph.layers[1].name, "node7");
}

TEST(LayerPlanner, BrokenPiperFilesAreRefusedAtTheirPlaces) {
  auto without = [](std::string text, const std::string &part, const std::string &with) {
    text.replace(text.find(part), part.size(), with);
    return text;
  };
  const std::pair<std::string, const char *> kBroken[] = {
      {"{\"TMPCs\"", "error[A0001]"},
      {"[\"TMPCs\"]", "expected an object with the lists 'nodes' and 'edges'"},
      {without(piper(), "\"maxDevices\": 2", "\"maxDevices\": 0"),
       ":1:16: error[A0811]: 'maxDevices' must be a whole number from 1 to 4096, found 0"},
      {without(piper(), "\"bandwidth\": 100", "\"bandwidth\": -1"), "'bandwidth' must be a number from 0 to 1e18"},
      {without(piper(), "\"bandwidth\": 100", "\"bandwidth\": 0"), "a bandwidth above 0"},
      {without(piper(), ", \"mbsInBatch\": 4", ""), "'maxBatchSize' must be a whole number from 1"},
      {without(piper(), "\"timePerSample\": 2", "\"timePerSample\": \"2\""),
       ":3:62: error[A0811]: 'timePerSample' must be a number from 0 to 1e18, found \"2\""},
      {without(piper(), "\"memoryUsageA\": 1, ", ""),
       "'memoryUsageA' must be a number from 0 to 1e18, and it is missing"},
      {without(piper(), "\"7\": 0", "\"8\": 0"), "'7' must be a number from 0 to 1e18, and it is missing"},
      {without(piper(), "{\"1\": [", "{\"0\": ["), "expected lists by tensor degree (1 to 4096), found '0'"},
      {without(piper(), "{\"id\": 7, \"TMPCs\"", "{\"id\": 7, \"other\""), "node 7 has no TMPCs"},
      {without(piper(), "{\"id\": 7", "{\"id\": 3"), ":4:8: error[A0811]: node 2 has the id 3 of an earlier one"},
      {piper(",\n1"), "expected a node: an object"},
      {piper("", "\"destId\": 9"), "edge 1 names the node 9, which is not there"},
      {piper("", "\"destId\": 3"), "edge 1 from 3 to 3 is a loop"},
  };
  for (const auto &[text, message] : kBroken) {
    SourceManager sources;
    Diagnostics diags(sources);
    EXPECT_FALSE(importPiperGraph(diags, sources.add("x.json", text))) << text;
    EXPECT_NE(diags.text().find(message), std::string::npos) << message << "\n" << diags.text();
  }
}

/// Two layers in two tensor degrees.
std::string phaze(const std::string &algorithm = "Adam", const std::string &recomputation = "true") {
  auto node = [](int id, const char *divided, int activations, int parameters, int forward, int backward) {
    return "{\"id\": " + std::to_string(id) + ", \"isTensorParallelized\": " + divided +
           ", \"activationSize\": " + std::to_string(activations) +
           ", \"parameterSize\": " + std::to_string(parameters) + ", \"optimalLatencyFw\": " + std::to_string(forward) +
           ", \"optimalLatencyBw\": " + std::to_string(backward) + ", \"energy\": 1}";
  };
  auto edge = [](int bytes) {
    return "[{\"sourceId\": -1, \"destId\": 0, \"communicationCost\": " + std::to_string(bytes) + "}]";
  };
  return "{\"maxMemoryPerDevice\": 100, \"maxDevices\": 4, \"bandwidth\": 10, \"mbsInBatch\": 8.0,\n\"nodes\": "
         "{\n\"1\": [" +
         node(-1, "false", 10, 3, 2, 4) + ",\n" + node(0, "false", 20, 10, 10, 20) + "],\n\"2\": [" +
         node(-1, "false", 10, 3, 2, 4) + ",\n" + node(0, "true", 12, 5, 6, 12) + "]},\n\"edges\": {\"1\": " + edge(5) +
         ", \"2\": " + edge(7) + "},\n\"activationRecomputation\": " + recomputation + ", \"optimizerAlgorithm\": \"" +
         algorithm + "\", \"fixedPP\": 1, \"fixedTMPC\": 1, \"fixedDP\": 1, " + "\"numTransformerLayers\": 1}";
}

TEST(LayerPlanner, ReadsPhaze) {
  SourceManager sources;
  Diagnostics diags(sources);
  ASSERT_TRUE(isPhaze(phaze()));
  EXPECT_FALSE(isPhaze(piper()));
  auto read = importPhazeGraph(diags, sources.add("small.json", phaze()));
  ASSERT_TRUE(read) << diags.text();
  const LayerGraph &g = read->graph;
  EXPECT_TRUE(read->notes.empty());
  EXPECT_EQ(g.devices, 4);
  EXPECT_EQ(g.microbatches, 8);
  ASSERT_EQ(g.layers.size(), 2u);
  EXPECT_EQ(g.layers[0].name, "layer-1");
  EXPECT_EQ(g.edges[0].bytes, 5);
  // The first layer has nothing coming in, so that it is kept or computed again from nothing.
  ASSERT_EQ(g.layers[0].configurations.size(), 4u);
  ASSERT_EQ(g.layers[1].configurations.size(), 4u);
  const auto &kept = g.layers[1].configurations[2], &again = g.layers[1].configurations[3];
  EXPECT_EQ(kept.tensor, 2);
  EXPECT_EQ(kept.time, 18);
  EXPECT_EQ(kept.memoryPerMicrobatch, 12);
  EXPECT_EQ(kept.memoryFixed, 15); // parameters, gradients, and what Adam keeps of them
  EXPECT_EQ(kept.syncIn, std::vector<double>{2});
  EXPECT_EQ(again.time, 24);
  EXPECT_EQ(again.memoryPerMicrobatch, 7);
  EXPECT_EQ(again.memoryFixed, 27);
  auto plain = importPhazeGraph(diags, sources.add("plain.json", phaze("SGD", "0")));
  ASSERT_TRUE(plain) << diags.text();
  EXPECT_EQ(plain->graph.layers[1].configurations.size(), 2u);
  EXPECT_EQ(plain->graph.layers[1].configurations[0].memoryFixed, 20);
  for (PipelineObjective objective : {PipelineObjective::Load, PipelineObjective::Latency, PipelineObjective::Makespan})
    for (double memory : {25, 45, 60, 100})
      for (auto *one : {&*read, &*plain}) {
        one->graph.memory = memory;
        LayerPlanOptions options;
        options.objective = objective;
        LayerPlan plan = planLayers(one->graph, options);
        double best = AllPlans(one->graph, objective).minimum();
        EXPECT_EQ(std::isinf(best), plan.status == LayerPlan::Status::Infeasible);
        if (!std::isinf(best)) {
          EXPECT_NEAR(plan.value, best, 1e-9 * best);
        }
      }
}

TEST(LayerPlanner, BrokenPhazeFilesAreRefusedAtTheirPlaces) {
  auto without = [](std::string text, const std::string &part, const std::string &with) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
    return text.replace(text.find(part), part.size(), with);
  };
  const std::pair<std::string, const char *> kBroken[] = {
      {"{\"optimalLatencyFw\"", "error[A0001]"},
      {"[\"optimalLatencyFw\"]", "expected an object with 'nodes' and 'edges' by tensor degree"},
      {"{\"nodes\": [1], \"edges\": {}}", "expected an object with 'nodes' and 'edges' by tensor degree"},
      {without(phaze(), "8.0", "8.5"), ":1:77: error[A0811]: 'mbsInBatch' must be a whole number from 1"},
      {without(phaze(), "\"2\": [{\"id\"", "\"x\": [{\"id\""),
       "expected lists by tensor degree (1 to 4096), found 'x'"},
      {without(phaze(), "\"2\": [{\"id\"", "\"4\": [{\"id\""), "there are nodes of tensor degree 4, and no edges"},
      {without(phaze(), "Adam", "Lion"), "'optimizerAlgorithm' must be SGD or Adam, found \"Lion\""},
      {without(phaze(), "true, \"opt", "2, \"opt"), "'activationRecomputation' must be true or false, found 2"},
      {without(phaze(), "\"id\": 0", "\"id\": -1"), ":4:8: error[A0811]: node 2 has the id -1 of an earlier one"},
      {without(phaze(), "\"id\": 0", "\"id\": 5"),
       ":6:8: error[A0811]: node 0 of tensor degree 2 is not there in degree 1"},
      {without(phaze(), "\"optimalLatencyBw\": 4", "\"optimalLatencyBw\": -4"),
       "'optimalLatencyBw' must be a number from 0 to 1e18, found -4"},
      {without(phaze(), "\"isTensorParallelized\": false", "\"isTensorParallelized\": true"),
       "a layer of tensor degree 1 is not divided"},
      {without(phaze(), "\"destId\": 0", "\"destId\": 9"), "edge 1 names the node 9, which is not there"},
      {without(phaze(), "\"destId\": 0", "\"destId\": -1"), "edge 1 is a loop"},
      {without(phaze(), "\"2\": [{\"sourceId\": -1", "\"2\": [7, {\"sourceId\": -1"), "expected an edge: an object"},
  };
  for (const auto &[text, message] : kBroken) {
    SourceManager sources;
    Diagnostics diags(sources);
    EXPECT_FALSE(importPhazeGraph(diags, sources.add("x.json", text))) << text;
    EXPECT_NE(diags.text().find(message), std::string::npos) << message << "\n" << diags.text();
  }
}

TEST(LayerPlanner, PlansPipersInputs) {
  std::filesystem::path data = accord::testing::sharedData("piper");
  if (data.empty())
    GTEST_SKIP() << "no inputs of Piper beside the checkout or in ACCORD_DATA";
  for (const char *name : {"bert32a100.json", "gnmt.json", "resnet.json"}) {
    auto buffer = llvm::MemoryBuffer::getFile((data / "inputs" / name).string());
    ASSERT_TRUE(buffer) << name;
    SourceManager sources;
    Diagnostics diags(sources);
    auto read = importPiperGraph(diags, sources.add(name, (*buffer)->getBuffer().str()));
    ASSERT_TRUE(read) << diags.text();
    LayerPlanOptions options;
    options.effort = kQuickEffort;
    LayerPlan plan = planLayers(read->graph, options);
    EXPECT_EQ(plan.status, LayerPlan::Status::Feasible) << name;
    EXPECT_TRUE(verify(read->graph, plan).empty()) << name;
  }
}

} // namespace
