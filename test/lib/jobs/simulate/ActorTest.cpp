// Actors: networks that weigh the jobs of a round, their files, their training, and the shield of the planner.
#include "lib/import/actors/ActorFile.h"
#include "lib/jobs/actor/ActorTrainer.h"
#include "lib/jobs/actor/ActorWeigher.h"
#include "lib/jobs/simulate/SteadyProgress.h"
#include "lib/support/SplitMix.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <numeric>

using namespace accord;
using namespace accord::jobs;

namespace {

std::vector<double> drawnNumbers(size_t count, uint64_t seed) {
  SplitMix random(seed);
  std::vector<double> numbers;
  for (size_t i = 0; i < count; ++i)
    numbers.push_back(2 * random.unit() - 1);
  return numbers;
}

ActorTensor drawnTensor(size_t rows, size_t columns, uint64_t seed) {
  return {rows, columns, drawnNumbers(rows * columns, seed)};
}

ActorGraph drawnGraph(uint64_t seed, size_t hidden = 5) {
  const size_t f = jobFeatureNames().size(), c = clusterFeatureNames().size();
  return deepSet(f, c, hidden, drawnNumbers(deepSetParameters(f, c, hidden), seed));
}

ActorNetwork networkOf(ActorGraph graph) {
  auto made = ActorNetwork::make(std::move(graph));
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

/// Jobs on two types, with the work of each multiplied by a factor that a policy cannot see.
std::vector<SimulatedJob> drawnJobs(size_t count, uint64_t seed, double factor = 1) {
  SplitMix random(seed);
  std::vector<SteadyJob> steady;
  for (size_t i = 0; i < count; ++i) {
    const double work = 500 + 20'000 * random.unit() * random.unit();
    steady.push_back({std::to_string(i),
                      "a",
                      900.0 * static_cast<double>(random.below(8)),
                      factor * work,
                      random.below(3) ? 1u : 2u,
                      1,
                      30,
                      {1, 0.2 + random.unit()}});
  }
  std::vector<SimulatedJob> jobs = simulatedJobs(steady);
  for (size_t i = 0; i < count; ++i)
    jobs[i].application = i % 2 ? "odd" : "even";
  return jobs;
}

const Cluster kCluster{{"a", "b"}, {{0, 2}, {1, 2}}};

AllocationOptions learned() {
  AllocationOptions options;
  options.knows = KnownWork::Learned;
  return options;
}

TEST(Actor, DeepSetIsWhatItsFormulaSays) {
  const size_t f = 3, c = 2, h = 4, n = 5;
  const std::vector<double> p = drawnNumbers(deepSetParameters(f, c, h), 1);
  const ActorTensor jobs = drawnTensor(n, f, 2), cluster = drawnTensor(1, c, 3);
  size_t at = 0;
  auto matrix = [&](size_t rows, size_t columns) {
    std::vector<std::vector<double>> made(rows, std::vector<double>(columns));
    for (auto &row : made)
      for (double &number : row)
        number = static_cast<float>(p[at++]);
    return made;
  };
  const auto A = matrix(f, h), a = matrix(1, h), B = matrix(h + c, h), b = matrix(1, h), C = matrix(h, h),
             D = matrix(h, h), d = matrix(1, h), w = matrix(h, 1), e = matrix(1, 1), v = matrix(f, 1);
  ASSERT_EQ(at, p.size());
  std::vector<std::vector<double>> first(n, std::vector<double>(h));
  std::vector<double> joined(h + c, 0), context(h);
  for (size_t i = 0; i < n; ++i)
    for (size_t k = 0; k < h; ++k) {
      double sum = a[0][k];
      for (size_t j = 0; j < f; ++j)
        sum += jobs.numbers[i * f + j] * A[j][k];
      joined[k] += (first[i][k] = std::tanh(sum)) / n;
    }
  for (size_t k = 0; k < c; ++k)
    joined[h + k] = cluster.numbers[k];
  for (size_t k = 0; k < h; ++k) {
    double sum = b[0][k];
    for (size_t j = 0; j < h + c; ++j)
      sum += joined[j] * B[j][k];
    context[k] = std::tanh(sum);
  }
  auto answers = networkOf(deepSet(f, c, h, p)).evaluate(jobs, cluster);
  ASSERT_TRUE(answers) << answers.error().message;
  for (size_t i = 0; i < n; ++i) {
    double answer = e[0][0];
    for (size_t k = 0; k < h; ++k) {
      double sum = d[0][k];
      for (size_t j = 0; j < h; ++j)
        sum += first[i][j] * C[j][k] + context[j] * D[j][k];
      answer += std::tanh(sum) * w[k][0];
    }
    for (size_t j = 0; j < f; ++j)
      answer += jobs.numbers[i * f + j] * v[j][0];
    EXPECT_NEAR((*answers)[i], answer, 1e-12);
  }
}

TEST(Actor, RefusesGraphsThatDoNotHoldForAnyNumberOfJobs) {
  auto refused = [](std::vector<ActorTensor> tensors, std::vector<ActorNode> nodes, size_t output) {
    auto made = ActorNetwork::make({2, 1, std::move(tensors), std::move(nodes), output});
    return made ? std::string() : made.error().message;
  };
  auto node = [](ActorOperator op, std::vector<size_t> inputs, unsigned axis = 0) {
    ActorNode made;
    made.op = op, made.inputs = std::move(inputs), made.axis = axis;
    return made;
  };
  const ActorTensor w{2, 1, {1, 1}};
  EXPECT_EQ(refused({w}, {node(ActorOperator::MatMul, {0, 2})}, 3), "");
  EXPECT_EQ(refused({w}, {node(ActorOperator::MatMul, {0, 4})}, 3),
            "node 0 (MatMul) uses a value that does not exist yet");
  EXPECT_EQ(refused({w}, {node(ActorOperator::MatMul, {0})}, 3), "node 0 (MatMul) has 1 operands");
  EXPECT_EQ(refused({w}, {node(ActorOperator::MatMul, {0, 2})}, 9), "the answer is a value that does not exist");
  EXPECT_EQ(refused({{2, 1, {1}}}, {}, 0), "a tensor [2, 1] has 1 numbers");
  EXPECT_EQ(refused({{2, 1, {1, NAN}}}, {}, 0), "a tensor has a number that is infinite or none");
  // Three rows fit three jobs, and no others.
  EXPECT_NE(refused({w, {3, 1, {1, 1, 1}}}, {node(ActorOperator::MatMul, {0, 2}), node(ActorOperator::Add, {4, 3})}, 5),
            "");
  // A number for all jobs together is none for each.
  EXPECT_NE(refused({w}, {node(ActorOperator::MatMul, {0, 2}), node(ActorOperator::ReduceSum, {3}, 0)}, 4), "");
  // The difference of a value and itself is 0, and 0 / 0 no number.
  EXPECT_NE(
      refused({w},
              {node(ActorOperator::MatMul, {0, 2}), node(ActorOperator::Sub, {3, 3}), node(ActorOperator::Div, {4, 4})},
              5)
          .find("infinite or none"),
      std::string::npos);
  // Sizes that double at each node end in a diagnostic.
  std::vector<ActorNode> doubling;
  for (size_t i = 0; i < 40; ++i)
    doubling.push_back(node(ActorOperator::Concat, {i ? 2 + i : 1, i ? 2 + i : 1}, 1));
  EXPECT_NE(refused({w}, doubling, 0).find("more than 2^24 numbers"), std::string::npos);
}

/// Keeps what it saw of a round.
struct Watcher : JobWeigher {
  std::function<std::vector<double>(const RoundView &)> weights;
  std::vector<Observation> seen;
  Result<std::vector<double>> weigh(const RoundView &round) override {
    seen.push_back(observe(round));
    return weights ? weights(round) : std::vector<double>(round.jobs.size(), 1);
  }
};

TEST(Actor, FeaturesFollowTheirJobsInAnyOrder) {
  auto watcher = std::make_shared<Watcher>();
  const ActorNetwork network = networkOf(drawnGraph(4));
  size_t compared = 0;
  watcher->weights = [&](const RoundView &round) {
    std::vector<size_t> order(round.jobs.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::ranges::reverse(order);
    std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(order.size() / 3), order.end());
    std::vector<JobView> jobs;
    std::vector<JobEstimate> estimates;
    for (size_t i : order)
      jobs.push_back(round.jobs[i]), estimates.push_back(round.estimates[i]);
    const Observation one = observe(round),
                      other = observe({round.now, round.cluster, jobs, estimates, round.complete});
    const auto answers = network.evaluate(one.jobs, one.cluster), others = network.evaluate(other.jobs, other.cluster);
    EXPECT_TRUE(answers && others);
    for (size_t i = 0; i < order.size(); ++i, ++compared) {
      for (size_t k = 0; k < one.jobs.columns; ++k)
        EXPECT_NEAR(one.jobs.numbers[order[i] * one.jobs.columns + k], other.jobs.numbers[i * one.jobs.columns + k],
                    1e-12);
      EXPECT_NEAR((*answers)[order[i]], (*others)[i], 1e-12);
    }
    for (size_t k = 0; k < one.cluster.numbers.size(); ++k)
      EXPECT_NEAR(one.cluster.numbers[k], other.cluster.numbers[k], 1e-12);
    return std::vector<double>(round.jobs.size(), 1);
  };
  AllocationOptions options = learned();
  options.weigher = watcher;
  AllocationPolicy policy(options);
  ASSERT_TRUE(simulate(kCluster, drawnJobs(12, 1), policy, {}));
  EXPECT_GT(compared, 300u);
}

TEST(Actor, SeesNothingOfTheWorkThatIsLeft) {
  std::vector<Observation> seen[2];
  for (int i = 0; i < 2; ++i) {
    auto watcher = std::make_shared<Watcher>();
    AllocationOptions options = learned();
    options.weigher = watcher;
    AllocationPolicy policy(options);
    ASSERT_TRUE(simulate(kCluster, drawnJobs(9, 5, i ? 3 : 1), policy, {}));
    seen[i] = watcher->seen;
  }
  // Until the first job is complete, all is the same; with a third of the work, that is after 500 s at the soonest.
  for (size_t round = 0; round < 8; ++round) {
    EXPECT_EQ(seen[0][round].jobs, seen[1][round].jobs);
    EXPECT_EQ(seen[0][round].cluster, seen[1][round].cluster);
  }
  EXPECT_NE(seen[0].size(), seen[1].size());
}

TEST(Actor, EqualWeightsAreThePolicyWithoutAny) {
  const std::vector<SimulatedJob> jobs = drawnJobs(14, 2);
  AllocationPolicy plain(learned());
  AllocationOptions options = learned();
  auto watcher = std::make_shared<Watcher>();
  watcher->weights = [](const RoundView &round) { return std::vector<double>(round.jobs.size(), 1.7); };
  options.weigher = watcher;
  options.shield = 0.3;
  AllocationPolicy weighed(options);
  const auto one = simulate(kCluster, jobs, plain, {}), other = simulate(kCluster, jobs, weighed, {});
  ASSERT_TRUE(one && other);
  for (size_t i = 0; i < jobs.size(); ++i)
    EXPECT_EQ(one->jobs[i].completion, other->jobs[i].completion);
  EXPECT_EQ(plain.shield(), std::nullopt);
  ASSERT_TRUE(weighed.shield());
  EXPECT_EQ(weighed.shield()->rounds, other->rounds);
  EXPECT_EQ(weighed.shield()->shielded, 0u);
}

/// Compares what a policy takes with all allocations that there are. Its jobs say their work, so that their values need
/// nothing of the policy.
class Shielded : public Policy {
public:
  explicit Shielded(double shield) {
    AllocationOptions options; // which know the work
    auto watcher = std::make_shared<Watcher>();
    watcher->weights = [this](const RoundView &round) {
      std::vector<double> weights;
      for (size_t i = 0; i < round.jobs.size(); ++i)
        weights.push_back(std::exp(2 * random.unit() - 1));
      return weights;
    };
    options.weigher = watcher;
    options.shield = shield;
    policy = std::make_unique<AllocationPolicy>(options);
  }

  std::vector<JobPlacement> decide(double now, const Cluster &cluster, const std::vector<JobView> &jobs) override {
    std::vector<JobPlacement> placed = policy->decide(now, cluster, jobs);
    double value = 0;
    for (size_t i = 0; i < jobs.size(); ++i)
      if (!placed[i].empty())
        value += valueOf(jobs[i], cluster, cluster.servers[placed[i].front().server].type);
    std::vector<int64_t> left = cluster.capacity();
    worst = std::min(worst, value / best(jobs, cluster, 0, left));
    return placed;
  }
  std::optional<ShieldCount> shield() const override { return policy->shield(); }

  double worst = 1; ///< the smallest (value of what was taken) / (value of the best)

private:
  /// 1 / (seconds until it is complete), a move counted as 16 restarts.
  static double valueOf(const JobView &job, const Cluster &cluster, unsigned type) {
    const double rate = job.progress->rate(cluster, type, job.description->devices);
    const bool stays = !job.placement.empty() && cluster.servers[job.placement.front().server].type == type;
    return 1 / std::max(1.0, job.progress->workLeft() / rate +
                                 (stays ? job.restartLeft : 16 * job.description->restartSeconds));
  }
  /// The largest value of the jobs from `i` on.
  static double best(const std::vector<JobView> &jobs, const Cluster &cluster, size_t i, std::vector<int64_t> &left) {
    if (i == jobs.size())
      return 0;
    double found = best(jobs, cluster, i + 1, left);
    const int64_t devices = jobs[i].description->devices;
    for (unsigned type = 0; type < left.size(); ++type)
      if (left[type] >= devices) {
        left[type] -= devices;
        found = std::max(found, valueOf(jobs[i], cluster, type) + best(jobs, cluster, i + 1, left));
        left[type] += devices;
      }
    return found;
  }

  SplitMix random{3};
  std::unique_ptr<AllocationPolicy> policy;
};

TEST(Actor, ShieldBoundsWhatWeightsLoseInEachRound) {
  const std::vector<SimulatedJob> jobs = drawnJobs(9, 7);
  double unshielded = 1;
  for (double shield : {0.02, 0.1, 0.3, 1.0}) {
    Shielded policy(shield);
    const auto result = simulate(kCluster, jobs, policy, {});
    ASSERT_TRUE(result) << result.error().message;
    const ShieldCount count = *policy.shield();
    EXPECT_EQ(count.rounds, result->rounds);
    if (shield < 1) {
      EXPECT_GE(policy.worst, 1 - shield - 1e-6);
      EXPECT_LT(count.shielded, count.rounds);
    } else {
      EXPECT_EQ(count.shielded, 0u);
      unshielded = policy.worst;
    }
    if (shield < 0.05) {
      EXPECT_GT(count.shielded, 10u);
    }
  }
  EXPECT_LT(unshielded, 0.9); // so there is something to bound
}

TEST(Actor, AnswersThatAreNoNumbersEndTheSimulation) {
  // ln-like growth is fine on the features that are tried, and infinite on others: exp(1000 * age).
  ActorGraph graph;
  graph.jobFeatures = jobFeatureNames().size(), graph.clusterFeatures = clusterFeatureNames().size();
  ActorTensor w{graph.jobFeatures, 1, std::vector<double>(graph.jobFeatures, 0)};
  w.numbers[0] = 1000;
  graph.tensors = {w};
  ActorNode product, power;
  product.op = ActorOperator::MatMul, product.inputs = {0, 2};
  power.op = ActorOperator::Exp, power.inputs = {3};
  graph.nodes = {product, power};
  graph.output = 4;
  auto weigher = ActorWeigher::make(networkOf(graph));
  ASSERT_TRUE(weigher);
  AllocationOptions options = learned();
  options.weigher = *weigher;
  AllocationPolicy policy(options);
  const auto result = simulate(kCluster, drawnJobs(14, 2), policy, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::WrongJobsFile);
  EXPECT_NE(result.error().message.find("infinite or none"), std::string::npos);
}

TEST(Actor, IsReadAsItWasWritten) {
  llvm::SmallString<128> path;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("actor", "onnx", path));
  const ActorGraph graph = drawnGraph(11);
  const std::string bytes = import::actorBytes(graph, {{"seed", "11"}, {"trained_on", "nothing"}});
  auto read = [&](const std::string &content) {
    std::error_code error;
    llvm::raw_fd_ostream(path, error) << content;
    SourceManager sources;
    Diagnostics diags(sources);
    auto made = import::readActor(diags, path.str().str());
    EXPECT_EQ(made.has_value(), !diags.hasErrors());
    return made;
  };
  auto again = read(bytes);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->network.graph(), graph);
  EXPECT_EQ(again->metadata.at("seed"), "11");
  EXPECT_EQ(import::actorBytes(again->network.graph(), again->metadata), bytes);
  // Whatever happens to a file, there is an actor or a diagnostic.
  SplitMix random(1);
  size_t refused = 0;
  for (int i = 0; i < 300; ++i) {
    std::string broken = bytes.substr(0, i % 3 ? bytes.size() : random.below(bytes.size()));
    for (int k = 0; k < 3 && !broken.empty(); ++k)
      broken[random.below(broken.size())] = static_cast<char>(random.below(256));
    refused += !read(broken);
  }
  EXPECT_GT(refused, 100u);
  (void)llvm::sys::fs::remove(path);
}

TEST(Actor, TrainingIsTheSameForTheSameSeed) {
  TrainingOptions options;
  options.budget = 110, options.pairs = 3, options.traces = 2, options.validations = 6, options.every = 3;
  const auto draw = [](uint64_t seed) -> Result<DrawnSimulation> { return drawSynthetic(14, seed); };
  std::vector<TrainedActor> trained;
  for (unsigned threads : {1u, 3u}) {
    options.threads = threads;
    auto made = trainActor(draw, options);
    ASSERT_TRUE(made) << made.error().message;
    trained.push_back(std::move(*made));
  }
  EXPECT_EQ(trained[0].graph, trained[1].graph);
  EXPECT_EQ(trained[0].simulations, trained[1].simulations);
  EXPECT_LE(trained[0].simulations, options.budget);
  EXPECT_GE(trained[0].generations, 5u);
  ASSERT_GE(trained[0].steps.size(), 2u);
  EXPECT_EQ(trained[0].steps.front().change, 0); // its first actor weighs all jobs alike
  for (const TrainingStep &step : trained[0].steps)
    EXPECT_LE(trained[0].validation.mean, step.change); // the shortest is kept
  for (size_t i = 0; i < trained[0].steps.size(); ++i)
    EXPECT_EQ(trained[0].steps[i].change, trained[1].steps[i].change);
  options.seed = 1;
  auto other = trainActor(draw, options);
  ASSERT_TRUE(other);
  EXPECT_NE(trained[0].steps.back().change, other->steps.back().change);
  options.budget = 20;
  auto none = trainActor(draw, options);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message,
            "a budget of 20 simulations trains nothing: one generation and its validation need 26");
}

TEST(Synthetic, FamiliesAreWhatTheySay) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const DrawnSimulation drawn = drawSynthetic(20, seed), again = drawSynthetic(20, seed);
    ASSERT_EQ(drawn.jobs.size(), 20u);
    const bool isAlike = seed % 2 == 0;
    EXPECT_EQ(drawn.cluster.types.size() == 1, isAlike);
    EXPECT_GE(drawn.cluster.devices(), 2);
    EXPECT_LE(drawn.cluster.devices(), 68);
    std::map<std::string, std::pair<double, double>> works;
    for (size_t i = 0; i < drawn.jobs.size(); ++i) {
      const SimulatedJob &job = drawn.jobs[i];
      EXPECT_EQ(job.arrival, again.jobs[i].arrival);
      EXPECT_EQ(job.devices < job.maxDevices, isAlike);
      const double work = job.progress()->workLeft();
      EXPECT_EQ(work, again.jobs[i].progress()->workLeft());
      EXPECT_GT(fastestRate(drawn.cluster, job), 0);
      auto &[min, max] = works.try_emplace(job.application, work, work).first->second;
      min = std::min(min, work), max = std::max(max, work);
    }
    for (const auto &[application, range] : works)
      if (isAlike) {
        EXPECT_LT(range.second / range.first, 2);
      }
  }
}

} // namespace
