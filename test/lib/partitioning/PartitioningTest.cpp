// Stages of profiled graphs against all assignments of small ones, laws, and published optima.
#include "lib/import/profiles/PartitioningImport.h"
#include "lib/language/syntax/Parser.h"
#include "lib/partitioning/output/PartitioningOutput.h"
#include "lib/partitioning/solve/GraphPartitioner.h"
#include "lib/partitioning/verify/PartitioningBoundProof.h"
#include "lib/partitioning/verify/PartitioningVerifier.h"
#include "test/support/DocumentSchema.h"
#include "test/support/SharedData.h"
#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace accord;
using Id = PartitioningProblem::Id;

namespace {

struct Random {
  std::mt19937 engine;
  int64_t operator()(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine() % static_cast<uint64_t>(high - low + 1));
  }
};

PartitioningProblem randomProblem(Random &random, bool overlap) {
  PartitioningProblem p;
  p.rule = overlap ? PartitioningProblem::Rule::Overlap : PartitioningProblem::Rule::Sum;
  auto n = static_cast<Id>(random(2, 6)), backward = static_cast<Id>(overlap ? 0 : random(0, 2));
  int64_t all = 0;
  for (Id i = 0; i < n + backward; ++i) {
    PartitioningProblem::Node node;
    node.name = "n" + std::to_string(i);
    node.time = random(0, 3) == 0 ? 0 : random(1, 30);
    node.processorTime = random(0, 4) == 0 ? 0 : random(1, 90);
    node.memory = random(0, 9);
    node.gradients = overlap ? random(0, 9) : 0;
    node.onAccelerator = overlap || random(0, 9) > 0;
    node.colocationGroup = random(0, 2) == 0 ? random(0, 2) : -1;
    node.backward = i >= n;
    if (node.backward && random(0, 2) > 0)
      node.colocationGroup = p.nodes[i - n].colocationGroup = 10 + i;
    all += node.memory;
    p.nodes.push_back(node);
  }
  for (Id from = 0; from < p.nodes.size(); ++from) {
    PartitioningProblem::Transfer transfer{from, {}, random(0, 12)};
    for (Id to = from + 1; to < p.nodes.size(); ++to)
      if (random(0, 2) == 0)
        transfer.to.push_back(to);
    if (!transfer.to.empty())
      p.transfers.push_back(transfer);
  }
  p.accelerators = random(overlap ? 1 : 0, 3);
  p.processors = overlap ? 0 : random(p.accelerators == 0, 1);
  p.memory = random(0, 1) ? 4 * all : random(0, all);
  p.allowReplicas = overlap && random(0, 2) > 0;
  p.timePerByte = overlap ? 0.5 * static_cast<double>(random(0, 6)) : 0;
  return p;
}

/// All assignments of nodes to positions of all rows of devices: by the definition alone.
struct BruteForce {
  const PartitioningProblem &p;
  int64_t best = INT64_MAX, memory = INT64_MAX; ///< least load; least memory that would do
  std::vector<int64_t> replicas;                ///< of each position; 0: a processor
  std::vector<size_t> at;

  /// `visit`: each assignment, well-formed or not.
  explicit BruteForce(const PartitioningProblem &problem, std::function<void(const BruteForce &)> visit = {})
      : p(problem), at(problem.nodes.size()), visit_(std::move(visit)) {
    row(p.accelerators, p.processors);
  }

  void row(int64_t accelerators, int64_t processors) {
    if (!replicas.empty())
      assign(0);
    if (replicas.size() == p.nodes.size())
      return;
    for (int64_t m = 0; m <= (p.allowReplicas ? accelerators : std::min<int64_t>(1, accelerators)); ++m)
      if (m > 0 || processors > 0) {
        replicas.push_back(m);
        row(accelerators - m, processors - (m == 0));
        replicas.pop_back();
      }
  }
  void assign(size_t i) {
    if (i == p.nodes.size()) {
      evaluate();
      return;
    }
    for (size_t s = 0; s < replicas.size(); ++s) {
      at[i] = s;
      assign(i + 1);
    }
  }
  bool hasForward(const PartitioningProblem::Node &node) const {
    return std::any_of(p.nodes.begin(), p.nodes.end(), [&](const PartitioningProblem::Node &other) {
      return !other.backward && other.colocationGroup == node.colocationGroup && node.colocationGroup >= 0;
    });
  }
  void evaluate() {
    if (visit_)
      visit_(*this);
    if (!isAllowed())
      return;
    int64_t max = 0, needs = 0;
    for (size_t s = 0; s < replicas.size(); ++s) {
      Stage stage = stageAt(s);
      if (!stage.runs)
        return;
      max = std::max(max, stage.load);
      needs = std::max(needs, replicas[s] > 0 ? stage.memory : 0); // a processor has enough
    }
    memory = std::min(memory, needs);
    if (needs <= p.memory)
      best = std::min(best, max);
  }
  bool together(size_t i, size_t j) const {
    return p.nodes[i].colocationGroup >= 0 && p.nodes[i].colocationGroup == p.nodes[j].colocationGroup;
  }
  /// No stage is empty, what belongs together is, and no transfer points back.
  bool isAllowed() const {
    for (size_t s = 0; s < replicas.size(); ++s)
      if (std::count(at.begin(), at.end(), s) == 0)
        return false;
    for (size_t i = 0; i < at.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (together(i, j) && at[i] != at[j])
          return false;
    for (const auto &t : p.transfers)
      for (Id to : t.to) {
        const auto &a = p.nodes[t.from], &b = p.nodes[to];
        if (!p.contiguous)
          continue;
        if (!a.backward && !b.backward && at[t.from] > at[to])
          return false;
        if (a.backward && b.backward && (!hasForward(a) || !hasForward(b)) && at[t.from] < at[to])
          return false;
      }
    return true;
  }
  struct Stage {
    int64_t load = 0, memory = 0, compute = 0, communication = 0;
    bool runs = true; ///< no accelerator has a node that it cannot run
  };
  Stage stageAt(size_t s) const {
    int64_t time = 0, processor = 0, bytes = 0, gradients = 0, in = 0, out = 0, m = replicas[s];
    bool runs = true;
    for (size_t i = 0; i < at.size(); ++i)
      if (at[i] == s) {
        runs &= m == 0 || p.nodes[i].onAccelerator;
        time += p.nodes[i].time;
        processor += p.nodes[i].processorTime;
        bytes += p.nodes[i].memory;
        gradients += p.nodes[i].gradients;
      }
    for (const auto &t : p.transfers) {
      bool here = false, there = false;
      for (Id to : t.to)
        (at[to] == s ? here : there) = true;
      in += at[t.from] != s && here ? t.time : 0;
      out += at[t.from] == s && there ? t.time : 0;
    }
    if (m == 0)
      return {processor, bytes, processor, 0, true};
    if (p.rule == PartitioningProblem::Rule::Sum)
      return {time + in + out, bytes, time, in + out, runs};
    int64_t later = std::accumulate(replicas.begin() + static_cast<ptrdiff_t>(s), replicas.end(), int64_t(0));
    double exchange = 2.0 * double(m - 1) / double(m) * double(gradients) * p.timePerByte;
    int64_t compute = (time + m - 1) / m, moved = std::max(in, static_cast<int64_t>(std::ceil(exchange)));
    return {std::max(compute, moved), bytes * ((later + m - 1) / m), compute, moved, runs};
  }

private:
  std::function<void(const BruteForce &)> visit_;
};

std::string errors(const PartitioningProblem &problem, const PartitioningResult &result) {
  std::string text;
  for (const Error &error : verify(problem, result))
    text += numberOf(error.code) + ": " + error.message + "\n";
  return text;
}

/// The same problem with its nodes, classes and transfers in another order.
PartitioningProblem shuffled(const PartitioningProblem &p, Random &random) {
  std::vector<Id> place(p.nodes.size());
  std::iota(place.begin(), place.end(), 0);
  std::shuffle(place.begin(), place.end(), random.engine);
  PartitioningProblem other = p;
  for (Id i = 0; i < p.nodes.size(); ++i) {
    other.nodes[place[i]] = p.nodes[i];
    if (p.nodes[i].colocationGroup >= 0)
      other.nodes[place[i]].colocationGroup = 1000 - p.nodes[i].colocationGroup;
  }
  for (auto &transfer : other.transfers) {
    transfer.from = place[transfer.from];
    for (Id &to : transfer.to)
      to = place[to];
    std::shuffle(transfer.to.begin(), transfer.to.end(), random.engine);
  }
  std::shuffle(other.transfers.begin(), other.transfers.end(), random.engine);
  return other;
}

void againstBruteForce(bool overlap, int count) {
  Random random{std::mt19937(overlap ? 7 : 5)};
  int feasible = 0;
  for (int i = 0; i < count; ++i) {
    PartitioningProblem p = randomProblem(random, overlap);
    ASSERT_TRUE(check(p).empty()) << check(p)[0].message;
    BruteForce brute(p);
    PartitioningResult result = partitionGraph(p);
    SCOPED_TRACE(i);
    using Verdict = BoundVerdict;
    ASSERT_EQ(provePartitioningBound(p, brute.best), Verdict::Holds);
    if (brute.best < INT64_MAX)
      ASSERT_EQ(provePartitioningBound(p, brute.best + 1), Verdict::Broken);
    if (brute.best == INT64_MAX) {
      ASSERT_EQ(result.status, PartitioningResult::Status::Infeasible);
      ASSERT_EQ(result.minMemory, brute.memory == INT64_MAX ? 0 : brute.memory);
      ASSERT_FALSE(result.conflict.empty());
      continue;
    }
    ++feasible;
    ASSERT_EQ(result.status, PartitioningResult::Status::Feasible);
    ASSERT_EQ(result.load, brute.best);
    ASSERT_EQ(result.bound, brute.best);
    ASSERT_EQ(errors(p, result), "");
    PartitioningResult again = partitionGraph(shuffled(p, random));
    ASSERT_EQ(again.load, result.load);
    PartitioningProblem more = p;
    ++more.accelerators;
    if (!overlap || p.memory > 0)
      ASSERT_LE(partitionGraph(more).load, result.load);
  }
  EXPECT_GT(feasible, count / 3);
  EXPECT_LT(feasible, count);
}

std::optional<PartitioningImport> read(const std::filesystem::path &path, const PartitioningDevices &devices) {
  SourceManager sources;
  Diagnostics diags(sources);
  auto file = readFile(diags, path.string());
  EXPECT_TRUE(file) << path;
  auto made = path.extension() == ".txt" ? importPipedreamGraph(diags, *file, devices)
                                         : importPartitioningGraph(diags, *file, devices);
  EXPECT_TRUE(made) << diags.text();
  return made;
}

} // namespace

TEST(PartitioningTest, SumsMatchAllAssignments) { againstBruteForce(false, 400); }
TEST(PartitioningTest, OverlapMatchesAllAssignments) { againstBruteForce(true, 400); }

/// Any sets of nodes: the division, its bound, and the second proof.
TEST(PartitioningTest, AnySetsMatchAllAssignments) {
  Random random{std::mt19937(19)};
  int feasible = 0, better = 0;
  for (int i = 0; i < 400; ++i) {
    SCOPED_TRACE(i);
    PartitioningProblem p = randomProblem(random, false);
    PartitioningResult contiguous = partitionGraph(p);
    p.contiguous = false;
    ASSERT_TRUE(check(p).empty()) << check(p)[0].message;
    int64_t best = BruteForce(p).best;
    PartitioningResult result = partitionGraph(p);
    ASSERT_EQ(provePartitioningBound(p, best), BoundVerdict::Holds);
    if (best == INT64_MAX) {
      ASSERT_EQ(result.status, PartitioningResult::Status::Infeasible);
      ASSERT_FALSE(result.conflict.empty());
      continue;
    }
    ++feasible;
    ASSERT_EQ(provePartitioningBound(p, best + 1), BoundVerdict::Broken);
    ASSERT_EQ(result.status, PartitioningResult::Status::Feasible);
    ASSERT_EQ(result.load, best);
    ASSERT_EQ(result.bound, best);
    ASSERT_EQ(errors(p, result), "");
    better += contiguous.status != PartitioningResult::Status::Feasible || contiguous.load > best;
    PartitioningOptions little;
    little.effort = 0;
    PartitioningResult quick = partitionGraph(p, little);
    ASSERT_LE(quick.bound, best);
    ASSERT_EQ(errors(p, quick), "");
    ASSERT_EQ(partitionGraph(shuffled(p, random)).load, best);
  }
  EXPECT_GT(feasible, 130);
  EXPECT_GT(better, 4);
}

TEST(PartitioningTest, LittleWorkStillAnswersWithABound) {
  Random random{std::mt19937(11)};
  for (int i = 0; i < 60; ++i) {
    PartitioningProblem p = randomProblem(random, i % 2 == 0);
    PartitioningOptions little;
    little.effort = 0;
    PartitioningResult quick = partitionGraph(p, little), best = partitionGraph(p);
    EXPECT_EQ(errors(p, quick), "");
    EXPECT_NE(provePartitioningBound(p, std::max<int64_t>(1, quick.bound), 3), BoundVerdict::Broken);
    if (quick.status == PartitioningResult::Status::Feasible) {
      EXPECT_LE(quick.bound, best.load);
      EXPECT_GE(quick.load, best.load);
    }
  }
}

TEST(PartitioningTest, TheCheckFindsDamage) {
  Random random{std::mt19937(13)};
  int found = 0, tried = 0;
  while (tried < 100) {
    PartitioningProblem p = randomProblem(random, tried % 2 == 0);
    PartitioningResult result = partitionGraph(p);
    if (result.status != PartitioningResult::Status::Feasible)
      continue;
    ++tried;
    PartitioningStage &stage =
        result.stages[static_cast<size_t>(random(0, static_cast<int64_t>(result.stages.size()) - 1))];
    switch (tried % 5) {
    case 0:
      ++stage.load;
      break;
    case 1:
      ++stage.memory;
      break;
    case 2:
      result.bound = result.load + 1;
      break;
    case 3:
      stage.nodes.pop_back();
      break;
    default:
      stage.nodes.push_back(stage.nodes.front());
      break;
    }
    found += !verify(p, result).empty();
  }
  EXPECT_EQ(found, tried);
}

TEST(PartitioningTest, EachAssignmentIsJudgedAsItIsDefined) {
  Random random{std::mt19937(17)};
  int problems = 0, good = 0, bad = 0, wrong = 0;
  while (problems < 40) {
    PartitioningProblem p = randomProblem(random, problems % 2 == 0);
    if (p.nodes.size() > 4)
      continue;
    ++problems;
    BruteForce all(p, [&](const BruteForce &given) {
      PartitioningResult result;
      result.status = PartitioningResult::Status::Feasible;
      bool holds = given.isAllowed();
      for (size_t s = 0; s < given.replicas.size(); ++s) {
        BruteForce::Stage is = given.stageAt(s);
        PartitioningStage stage;
        stage.processor = given.replicas[s] == 0, stage.replicas = std::max<int64_t>(1, given.replicas[s]);
        stage.compute = is.compute, stage.communication = is.communication;
        stage.load = is.load, stage.memory = is.memory;
        for (Id i = 0; i < given.at.size(); ++i)
          if (given.at[i] == s)
            stage.nodes.push_back(i);
        holds = holds && is.runs && (stage.processor || is.memory <= p.memory);
        result.load = std::max(result.load, is.load);
        result.stages.push_back(std::move(stage));
      }
      wrong += verify(p, result).empty() != holds;
      (holds ? good : bad) += 1;
      if (!holds || good % 16)
        return;
      auto refused = [&](auto change) {
        PartitioningResult other = result;
        change(other, other.stages.back());
        EXPECT_FALSE(verify(p, other).empty());
      };
      for (int64_t by : {-1, 1}) {
        refused([&](auto &, auto &stage) { stage.compute += by; });
        refused([&](auto &, auto &stage) { stage.communication += by; });
        refused([&](auto &, auto &stage) { stage.memory += by; });
        refused([&](auto &, auto &stage) { stage.load += by; });
        refused([&](auto &other, auto &) { other.load += by; });
      }
      refused([](auto &other, auto &) { other.bound = other.load + 1; });
      refused([](auto &other, auto &) { other.bound = -1; });
      refused([](auto &, auto &stage) { stage.replicas = 0; });
      refused([](auto &, auto &stage) { stage.replicas = 7; });
      refused([](auto &, auto &stage) { stage.nodes.clear(); });
      refused([](auto &, auto &stage) { stage.nodes.push_back(stage.nodes.front()); });
      for (size_t beyond : {p.nodes.size(), p.nodes.size() + 1000})
        refused([&](auto &, auto &stage) { stage.nodes.push_back(static_cast<Id>(beyond)); });
      refused([](auto &, auto &stage) { stage.nodes.pop_back(); });
    });
    EXPECT_EQ(provePartitioningBound(p, all.best), BoundVerdict::Holds);
    EXPECT_EQ(provePartitioningBound(p, 0), BoundVerdict::Holds);
    if (all.best < INT64_MAX)
      EXPECT_EQ(provePartitioningBound(p, all.best + 1), BoundVerdict::Broken);
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(good, 100);
  EXPECT_GT(bad, 100);
}

TEST(PartitioningTest, FindingsNameStagesAndAreTwentyAtMost) {
  PartitioningProblem p;
  p.nodes.resize(2);
  p.nodes[0].name = "a", p.nodes[1].name = "b";
  p.nodes[0].time = p.nodes[1].time = 5;
  p.nodes[0].colocationGroup = p.nodes[1].colocationGroup = 0;
  p.accelerators = 2;
  PartitioningResult result = partitionGraph(p);
  ASSERT_EQ(errors(p, result), "");
  PartitioningStage half = result.stages.at(0);
  half.nodes = {0}, half.compute = half.load = 5;
  result.stages = {half, half};
  result.stages[1].nodes = {1};
  result.load = 5, result.bound = 0;
  EXPECT_NE(errors(p, result).find("'a' and 'b' belong together, and are in stages 1 and 2"), std::string::npos);
  result.stages[0].nodes.assign(30, 9);
  EXPECT_EQ(verify(p, result).size(), 20u);
}

TEST(PartitioningTest, TheSchemaDescribesTheDocument) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    Random random{std::mt19937(seed)};
    PartitioningProblem p = randomProblem(random, seed % 2);
    accord::testing::expectDescribed(partitioningJson(p, partitionGraph(p)), partitionSchema());
  }
}

TEST(PartitioningTest, StagesThatPointBackAreRefused) {
  PartitioningProblem p;
  p.nodes.resize(2);
  p.nodes[0].time = p.nodes[1].time = 5;
  p.nodes[0].name = "a", p.nodes[1].name = "b";
  p.transfers = {{0, {1}, 1}};
  p.accelerators = 2;
  PartitioningResult result = partitionGraph(p);
  ASSERT_EQ(result.stages.size(), 2u);
  EXPECT_EQ(verify(p, result).size(), 0u);
  std::swap(result.stages[0], result.stages[1]);
  ASSERT_FALSE(verify(p, result).empty());
  EXPECT_EQ(verify(p, result)[0].code, Code::StageOrderBroken);
}

TEST(PartitioningTest, MalformedProblemsAreRefused) {
  PartitioningProblem good;
  good.nodes.resize(2);
  good.nodes[0].name = "a";
  good.nodes[1].name = "b";
  good.transfers = {{0, {1}, 1}};
  EXPECT_TRUE(check(good).empty());
  auto refused = [&](auto damage) {
    PartitioningProblem p = good;
    damage(p);
    Errors errors = check(p);
    return !errors.empty() && errors[0].code == Code::MalformedPartitioningProblem;
  };
  EXPECT_TRUE(refused([](PartitioningProblem &p) { p.transfers.push_back({1, {0}, 1}); }));
  EXPECT_TRUE(refused([](PartitioningProblem &p) { p.transfers.push_back({0, {1}, 1}); }));
  EXPECT_TRUE(refused([](PartitioningProblem &p) { p.transfers[0].to = {2}; }));
  EXPECT_TRUE(refused([](PartitioningProblem &p) { p.transfers[0].to = {0}; }));
  EXPECT_TRUE(refused([](PartitioningProblem &p) { p.transfers[0].time = -1; }));
  EXPECT_TRUE(refused([](PartitioningProblem &p) { p.nodes[0].time = -1; }));
  EXPECT_TRUE(refused([](PartitioningProblem &p) { p.nodes[0].time = INT64_MAX; }));
  EXPECT_TRUE(refused([](PartitioningProblem &p) { p.nodes[0].backward = true; }));
  EXPECT_TRUE(refused([](PartitioningProblem &p) { p.nodes.clear(); }));
  EXPECT_TRUE(refused([](PartitioningProblem &p) { p.accelerators = 0; }));
}

// What the dynamic program of Tarnawski et al. (NeurIPS 2020) prints for its own inputs.
TEST(PartitioningTest, PublishedOptima) {
  auto folder = accord::testing::sharedData("dnn-partitioning");
  struct Case {
    const char *file;
    double load; ///< milliseconds
  };
  size_t ran = 0;
  for (Case one :
       {Case{"LayerGraphs/resnet50_inference.json", 33.7747}, Case{"LayerGraphs/gnmt_inference.json", 32.9107},
        Case{"OperatorGraphs/bert_l-3_inference.json", 27.9186}}) {
    if (folder.empty() || !std::filesystem::exists(folder / one.file))
      continue;
    auto made = read(folder / one.file, {});
    ASSERT_TRUE(made);
    PartitioningResult result = partitionGraph(made->problem);
    EXPECT_EQ(errors(made->problem, result), "");
    EXPECT_LE(static_cast<double>(result.load) * 1e-9, one.load + 5e-5) << one.file;
    EXPECT_EQ(result.load, result.bound) << one.file;
    ++ran;
  }
  std::printf("%zu of 3 graphs of dnn-partitioning\n", ran);
}

// Each profile's heaviest nodes as a chain: all splits and replicas by recursion.
TEST(PartitioningTest, ProfilesAsChainsMatchAllSplits) {
  auto folder = accord::testing::sharedData("pipedream");
  size_t ran = 0;
  for (const char *file : {"gnmt.graph.txt", "resnet18.graph.txt", "squeezenet1_0.graph.txt"}) {
    if (folder.empty() || !std::filesystem::exists(folder / file))
      continue;
    PartitioningDevices devices;
    devices.accelerators = 4;
    devices.bandwidth = 12e9;
    auto made = read(folder / file, devices);
    ASSERT_TRUE(made);
    PartitioningProblem chain = made->problem;
    size_t n = 10;
    std::vector<PartitioningProblem::Node> nodes = chain.nodes;
    std::sort(nodes.begin(), nodes.end(),
              [](const auto &a, const auto &b) { return a.time != b.time ? a.time > b.time : a.name < b.name; });
    nodes.resize(n);
    chain.nodes = nodes;
    std::vector<int64_t> sends(n, 0);
    for (Id i = 0; i < n; ++i)
      sends[i] = i < made->problem.transfers.size() ? made->problem.transfers[i].time : 7;
    chain.transfers.clear();
    for (Id i = 0; i + 1 < n; ++i)
      chain.transfers.push_back({i, {i + 1}, sends[i]});
    std::function<int64_t(size_t, int64_t)> split = [&](size_t begin, int64_t left) -> int64_t {
      if (begin == n)
        return 0;
      int64_t best = INT64_MAX, time = 0, gradients = 0;
      for (size_t end = begin + 1; end <= n; ++end) {
        time += nodes[end - 1].time;
        gradients += nodes[end - 1].gradients;
        for (int64_t m = 1; m <= left; ++m) {
          double exchange = 2.0 * double(m - 1) / double(m) * double(gradients) * chain.timePerByte;
          int64_t load = std::max(
              {(time + m - 1) / m, begin > 0 ? sends[begin - 1] : 0, static_cast<int64_t>(std::ceil(exchange))});
          best = std::min(best, std::max(load, split(end, left - m)));
        }
      }
      return best;
    };
    PartitioningResult result = partitionGraph(chain), whole = partitionGraph(made->problem);
    EXPECT_EQ(result.load, split(0, 4)) << file;
    EXPECT_EQ(errors(chain, result), "");
    EXPECT_EQ(errors(made->problem, whole), "");
    EXPECT_EQ(whole.load, whole.bound) << file;
    ++ran;
  }
  std::printf("%zu of 3 profiles of PipeDream\n", ran);
}
