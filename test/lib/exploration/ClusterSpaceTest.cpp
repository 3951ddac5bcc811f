// Clusters with open dimensions: which there are, bounds of boxes of them against each cluster in them, and the exact
// search against trying all.
#include "lib/exploration/clusters/ClusterSpace.h"
#include "PlacedCase.h"
#include "lib/exploration/solve/MiningRun.h"
#include "lib/machine/translate/FromCluster.h"
#include "test/support/Random.h"
#include "llvm/ADT/StringRef.h"
#include <fmt/ranges.h>
#include <sstream>

using namespace accord;
using namespace accord::test;

namespace {

const char *const kNpu = R"(
accelerator npu {
  clock = 1 GHz
  memory hbm : dram { capacity = 32 GiB, bandwidth = 400 GB/s }
  memory glb : scratchpad { capacity = 4 MiB, bandwidth = 2048 B/cycle, double_buffered = true }
  core tc[{2, 4}] : tensor { array = 128 x 64, dataflow = weight_stationary, multiply = bf16, accumulate = fp32, reads = glb }
  core vc[2] : vector { lanes = 256, types = {fp32, bf16}, reads = glb }
  path hbm -> glb -> {tc, vc}
})";

struct Pod {
  Machines machines;
  accel::ClusterOp cluster;
  explicit Pod(const std::string &text) : machines(std::string(kNpu) + "\n" + text) {
    machines.program->machine("pod", {});
    cluster = machines.program->cluster();
    EXPECT_TRUE(cluster) << machines.diags.text();
  }
};

std::string wrong(const std::string &text) {
  Pod pod(text);
  if (!pod.cluster)
    return "no cluster";
  auto space = ClusterSpace::of(pod.cluster);
  if (space)
    return "";
  std::ostringstream said;
  said << space.error().front().code << " " << space.error().front().message;
  return said.str();
}

std::string network(const std::string &name, const std::string &rest) {
  return fmt::format("  network {} {{ connects = npu, latency = 1 us, {} }}\n", name, rest);
}

std::string drawn(std::mt19937_64 &random, const std::vector<std::string> &from) {
  std::vector<std::string> some;
  for (const std::string &one : from)
    if (random() % 2)
      some.push_back(one);
  if (some.empty())
    some.push_back(from[random() % from.size()]);
  return fmt::format("{{{}}}", fmt::join(some, ", "));
}

/// Two or three dimensions of 8 or 16 devices with a limit of bandwidth.
std::string drawnPod(std::mt19937_64 &random) {
  int64_t devices = random() % 2 ? 8 : 16;
  size_t dimensions = 2 + random() % 2;
  std::string text = fmt::format("cluster pod {{\n  device npu[{}] : npu\n", devices), sum;
  for (size_t d = 1; d <= dimensions; ++d) {
    text += network(fmt::format("d{}", d),
                    fmt::format("endpoints = {}, topology = {}, bandwidth = {}, algorithm = {}",
                                dimensions == 2 ? "pow2 2..8" : "{2, 4}",
                                drawn(random, {"ring", "fully_connected", "switch"}),
                                drawn(random, {"1 GB/s", "4 GB/s", "20 GB/s"}),
                                d == 1 ? drawn(random, {"ring", "direct", "double_tree"}) : "halving_doubling"));
    sum += fmt::format("{}d{}.bandwidth", d == 1 ? "" : " + ", d);
  }
  return text + fmt::format("  require {} <= {} GB/s\n}}\n", sum, 12 + random() % 40);
}

struct Case {
  ClusterCase one{"bert_base.dnn", "bert_base", 16};
  PlacementProblemRequest request;
  Case() {
    request.job = "bert", request.batch = 16;
    request.space.tensorShardings = {{1, false}, {2, false}, {4, false}};
    request.space.microbatches = {1, 2}, request.space.zero = {0};
    request.instantiate = [this](const PlacementSpace::TensorSharding &sharding, int64_t microbatch,
                                 const std::string &) -> Result<WorkGraph> {
      if (auto graph = one.graphAt(sharding.tensor, 1, microbatch, 16 / microbatch, {}))
        return std::move(*graph);
      return Error{Code::NotSupported, "no graph", {}, {}};
    };
  }
};

/// Of one pod: its space, its devices' designs, and a placement problem.
struct PlacedPod {
  Pod pod;
  std::optional<ClusterSpace> clusters;
  std::optional<DesignSpace> space;
  std::unique_ptr<PlacedProblem> problem;

  PlacedPod(const std::string &text, Case &base, uint64_t max) : pod(text) {
    auto made = ClusterSpace::of(pod.cluster, max);
    if (!made)
      return;
    clusters.emplace(std::move(*made));
    auto machines = DesignSpace::of(pod.machines["npu"], clusters->parameters());
    if (!machines)
      return;
    space.emplace(std::move(*machines));
    PlacedMiningJob job;
    job.batch = 16;
    for (size_t point = 0; point < clusters->points().count(); ++point) {
      clusters->choose(clusters->points().at(point));
      auto best = space->best(wholeOf(space->parameters()));
      auto cluster = clusterFrom(pod.cluster, *best);
      if (!cluster) {
        ADD_FAILURE() << cluster.error().message;
        return;
      }
      PlacedJob placed;
      placed.name = "bert", placed.request = base.request;
      placed.request.groups = {*cluster};
      auto work = PlacedWork::of(std::move(placed), *best);
      if (!work) {
        ADD_FAILURE() << work.error().front().message;
        return;
      }
      job.clusters.push_back(std::move(*work));
    }
    problem = std::make_unique<PlacedProblem>(*space, std::vector{job}, MiningMetric::StepTime,
                                              ObjectiveAggregation::Sum, &*clusters);
  }
};

} // namespace

TEST(ClusterSpace, OnlyWhatMultipliesOutIsAPoint) {
  Pod pod("cluster pod {\n  device npu[64] : npu\n" +
          network("d1", "endpoints = pow2 2..32, topology = {ring, switch}, bandwidth = 1..10 GB/s step 1 GB/s") +
          network("d2", "endpoints = pow2 2..32, topology = {ring, switch}, bandwidth = 1..10 GB/s step 1 GB/s") +
          "}\n");
  auto made = ClusterSpace::of(pod.cluster);
  ASSERT_TRUE(made) << made.error().front().message;
  EXPECT_EQ(*designsOf(made->parameters()), 5u * 2 * 10 * 5 * 2 * 10);
  ASSERT_EQ(made->points().count(), 5u); // 2 x 32, 4 x 16, 8 x 8, …
  EXPECT_TRUE(made->points().relaxesAny());
  std::set<std::string> extents;
  for (size_t point = 0; point < 5; ++point) {
    Design at = made->points().at(point);
    EXPECT_EQ(made->points().of(at), point);
    auto labels = made->labels(at);
    extents.insert(labels["d1.endpoints"] + "x" + labels["d2.endpoints"]);
    made->choose(at);
    auto cluster = clusterFrom(pod.cluster, Machine{});
    ASSERT_TRUE(cluster) << cluster.error().message;
    EXPECT_EQ(cluster->fabric.devices(), 64);
    EXPECT_TRUE(cluster->fabric.byLevel);
    EXPECT_EQ(cluster->fabric.levels[1].planes, cluster->fabric.levels[0].endpoints);
  }
  EXPECT_EQ(extents, (std::set<std::string>{"2x32", "4x16", "8x8", "16x4", "32x2"}));
  // One box: the best of everything.
  Fabric base = clusterFrom(pod.cluster, Machine{})->fabric;
  Fabric ideal = made->fabric(base, wholeOf(made->parameters()));
  EXPECT_EQ(ideal.levels[0].bandwidth.value, 10e9);
  EXPECT_EQ(ideal.levels[0].variants.size(), 2u);
}

TEST(ClusterSpace, BrokenSpacesAreRefused) {
  auto pod = [](const std::string &inside) { return "cluster pod {\n  device npu[64] : npu\n" + inside + "}\n"; };
  auto two = [&](const std::string &first, const std::string &rest = "") {
    return pod(network("d1", first) + network("d2", "endpoints = {2, 4}, topology = ring, bandwidth = 1 GB/s") + rest);
  };
  EXPECT_EQ(wrong(two("endpoints = {3, 5}, topology = ring, bandwidth = 1 GB/s")),
            "A0456 the networks of 'npu' connect {3, 5} x {2, 4} endpoints, which is never the number of 'npu', 64");
  EXPECT_EQ(wrong(two("endpoints = {16, 32}, topology = {ring, torus}, bandwidth = 1 GB/s")).substr(0, 5), "A0307");
  const std::string open = "endpoints = {16, 32}, topology = ring, bandwidth = {1 GB/s, 2 GB/s}";
  EXPECT_EQ(wrong(two(open)), "");
  EXPECT_EQ(wrong(two(open, "  require d1.bandwith <= 1 GB/s\n")),
            "A0104 cluster 'pod' has no 'd1.bandwith', did you mean 'd1.bandwidth'?");
  EXPECT_EQ(wrong(two(open, "  require d1.bandwidth <= 1 us\n")).substr(0, 5), "A0204");
  EXPECT_EQ(wrong(two(open, "  require d1.bandwidth <= 0.5 GB/s\n")),
            "A0456 no cluster of 'pod' is as it requires: d1.bandwidth <= 0.5 GB/s");
  EXPECT_EQ(wrong(two(open, "  require d1.bandwidth + d2.bandwidth <= 2 GB/s\n")), "");
  // Too many shapes.
  std::string many;
  for (int d = 1; d <= 6; ++d)
    many += network(fmt::format("d{}", d), "endpoints = {1, 2, 4, 8, 16, 32, 64}, topology = ring, bandwidth = 1 GB/s");
  EXPECT_EQ(wrong(pod(many)).substr(0, 5), "A0311");
}

/// No cluster that is as required is lost by what is left of a box.
TEST(ClusterSpace, WhatIsLeftOfABoxHasAllThatIsAllowed) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20; ++round) {
    Pod pod(drawnPod(random));
    auto made = ClusterSpace::of(pod.cluster, 8);
    if (!made)
      continue;
    auto cost = [&](const Design &one) { // of the requirement: bandwidths in a row
      double sum = 0;
      for (size_t i = 0; i < one.size(); ++i)
        if (llvm::StringRef(made->parameters()[i].name).ends_with(".bandwidth"))
          sum += made->parameters()[i].numbers[one[i]];
      return sum;
    };
    double limit = INFINITY;
    for (const std::string &text : made->requirements())
      limit = std::stod(text.substr(text.find("<=") + 2)) * 1e9;
    for (int draw = 0; draw < 50; ++draw) {
      DesignBox box = wholeOf(made->parameters());
      Design inside = box.low;
      for (size_t i = 0; i < inside.size(); ++i) {
        uint32_t n = box.high[i] + 1, a = random() % n, b = random() % n;
        box.low[i] = std::min(a, b), box.high[i] = std::max(a, b);
        inside[i] = box.low[i] + random() % (box.high[i] - box.low[i] + 1);
      }
      bool fixed = !made->parameters().empty(); // bandwidths stated as one number count, too
      double stated = 0;
      pod.cluster->walk([&](accel::NetworkOp network) {
        if (auto one = network.getEntries().getAs<accel::QuantityAttr>("bandwidth");
            one && llvm::none_of(made->parameters(), [&](const DesignParameter &p) {
              return p.name == network.getSymName().str() + ".bandwidth";
            }))
          stated += one.quantity().toDouble();
      });
      bool allowed = fixed && cost(inside) + stated <= limit;
      auto left = made->within(box);
      EXPECT_EQ(made->within({inside, inside}).has_value(), allowed);
      if (!allowed)
        continue;
      ASSERT_TRUE(left);
      for (size_t i = 0; i < inside.size(); ++i)
        EXPECT_TRUE(left->low[i] <= inside[i] && inside[i] <= left->high[i]);
    }
  }
}

/// The exact search over boxes of clusters finds what trying each one by itself finds, and no box is above what is in
/// it. ACCORD_CLUSTER_SPACES=1:100 are a hundred spaces.
TEST(ClusterSpace, ExactIsExhaustive) {
  Case base;
  int first = 1, last = static_cast<int>(cases(1));
  int solved = 0;
  uint64_t designs = 0, evaluated = 0, tightened = 0, above = 0;
  for (int seed = first; seed <= last; ++seed) {
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    std::string text = drawnPod(random);
    PlacedPod relaxed(text, base, 8);
    if (!relaxed.problem)
      continue;
    MiningResult exact = mineExactly(*relaxed.problem);
    double best = INFINITY;
    const auto &parameters = relaxed.space->parameters();
    const size_t ofMachine = parameters.size() - relaxed.clusters->parameters().size();
    for (uint64_t i = 0, all = *designsOf(parameters); i < all; ++i) {
      Design design = designAt(parameters, i);
      double value = relaxed.problem->evaluate(design, INFINITY).value;
      best = std::min(best, value);
      ++designs;
      if (std::isinf(value))
        continue;
      for (int draw = 0; draw < 2; ++draw) { // a box around it
        DesignBox box{design, design};
        for (size_t p = 0; p < design.size(); ++p) {
          box.low[p] -= static_cast<uint32_t>(random() % (design[p] + 1));
          box.high[p] += static_cast<uint32_t>(random() % (parameters[p].labels.size() - design[p]));
        }
        EXPECT_TRUE(relaxed.problem->mayHold(box));
        if (i % 7 != 0)
          continue;
        EXPECT_LE(relaxed.problem->bound(box), value * (1 + 1e-9)) << seed << "\n" << text;
        if (draw == 0) // of one machine, where boxes have a dearer bound
          std::copy_n(design.begin(), ofMachine, box.low.begin()),
              std::copy_n(design.begin(), ofMachine, box.high.begin());
        double tight = relaxed.problem->tightenBox(box);
        EXPECT_LE(tight, value * (1 + 1e-9)) << seed << "\n" << text;
        tightened += tight > 0, above += tight > relaxed.problem->bound(box);
      }
    }
    EXPECT_EQ(std::isinf(exact.value), std::isinf(best));
    if (std::isfinite(best)) {
      EXPECT_NEAR(exact.value, best, 1e-9 * best) << seed << "\n" << text;
      ++solved;
    }
    evaluated += exact.evaluations;
  }
  EXPECT_GT(solved, (last - first) / 2);
  EXPECT_LT(evaluated, designs);
  EXPECT_GT(above, tightened / 2);
  RecordProperty("spaces", solved);
  fmt::print("{} spaces, {} designs, {} evaluated, {} of {} boxes tightened\n", solved, designs, evaluated, above,
             tightened);
}

/// Whatever is wanted, what is near it and may be is found, and has the choice that is to be kept.
TEST(ClusterSpace, WhatIsNearMayBe) {
  Case base;
  std::mt19937_64 random(7);
  MiningRandom drawing(7);
  int found = 0, kept = 0, asked = 0;
  for (int round = 0; round < 4; ++round) {
    PlacedPod relaxed(drawnPod(random), base, 8);
    if (!relaxed.problem)
      continue;
    MiningOptions options;
    MiningRun run(*relaxed.problem, options, "");
    for (int draw = 0; draw < 20 && !run.empty(); ++draw, ++asked) {
      Design wanted = drawing.design(run.parameters());
      size_t keep = drawing.below(wanted.size());
      if (auto near = run.possibleNear(wanted, drawing)) {
        ++found;
        EXPECT_LT(run.bounds({{*near, *near}})[0], INFINITY);
      }
      if (auto near = run.possibleNear(wanted, drawing, keep)) {
        ++kept;
        EXPECT_EQ((*near)[keep], wanted[keep]);
        EXPECT_LT(run.bounds({{*near, *near}})[0], INFINITY);
      }
    }
  }
  EXPECT_GT(asked, 0);
  EXPECT_EQ(found, asked);
  EXPECT_GT(kept, asked / 2);
}
