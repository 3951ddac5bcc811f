// Proofs of allocations: what the verifier refuses, compared with a computation that tries each configuration.
#include "test/lib/jobs/AllocationCases.h"
#include <numeric>

namespace accord::jobs {
namespace {

using namespace test;
using Wide = __int128;

/// The upper bound that follows from a proof, computed downwards along its tree with each configuration in its turn; or
/// nothing if the tree is broken. Only for small problems: what does not fit is left out, as it stands in the header of
/// the proof.
class ProofValue {
public:
  ProofValue(const AllocationProblem &problem, const AllocationProof &proof)
      : problem(problem), proof(proof), way(problem.jobs.size(), kOpen) {}
  /// Whether each allocation that keeps the capacities has at most `bound` by the leaf that it leads to.
  bool proves(int64_t bound) {
    std::vector<int64_t> capacity = problem.capacity;
    for (unsigned r = 0; r < capacity.size(); ++r)
      while (capacity[r] > 0 && !isMultiple(r, capacity[r]))
        --capacity[r];
    return provesFrom(0, capacity, 0, bound);
  }

private:
  static constexpr int64_t kOpen = -2;
  /// Whether an amount is a multiple of all that divides each amount of configurations that fit the empty cluster.
  bool isMultiple(unsigned resource, int64_t amount) const {
    int64_t divisor = 0;
    for (const AllocationJob &job : problem.jobs)
      for (const Configuration &configuration : job.configurations) {
        bool fits = true;
        int64_t used = 0;
        for (const ResourceUse &use : configuration.uses) {
          fits &= use.amount <= problem.capacity[use.resource];
          used = use.resource == resource ? use.amount : used;
        }
        divisor = fits ? std::gcd(divisor, used) : divisor;
      }
    return divisor == 0 || amount % divisor == 0;
  }
  /// Whether no equal job is fixed in a way that would have to stand on the other side.
  bool inOrder(size_t job, size_t chosen) const {
    for (size_t other = 0; other < problem.jobs.size(); ++other)
      if (way[other] != kOpen && problem.jobs[other] == problem.jobs[job])
        if (other < job ? way[other] > static_cast<int64_t>(chosen) : way[other] < static_cast<int64_t>(chosen))
          return false;
    return true;
  }
  bool provesFrom(unsigned number, std::vector<int64_t> left, Wide value, int64_t bound) {
    const AllocationProof::Node &node = proof.nodes[number];
    if (node.job >= 0) {
      const AllocationJob &job = problem.jobs[node.job];
      for (size_t k = 0; k < node.next.size(); ++k) {
        if (!inOrder(node.job, k))
          continue;
        std::vector<int64_t> rest = left;
        int64_t gain = 0;
        if (k < job.configurations.size()) {
          gain = job.configurations[k].value;
          for (const ResourceUse &use : job.configurations[k].uses)
            rest[use.resource] -= use.amount;
        }
        way[node.job] = static_cast<int64_t>(k);
        const bool proved = provesFrom(node.next[k], rest, value + gain, bound);
        way[node.job] = kOpen;
        if (!proved)
          return false;
      }
      return true;
    }
    if (*std::min_element(left.begin(), left.end()) < 0)
      return true;
    if (node.prices.size() != left.size())
      return false;
    return provesLeaf(node.prices, left, value, bound);
  }
  bool provesLeaf(const Prices &prices, const std::vector<int64_t> &left, Wide value, int64_t bound) const {
    Wide supply = 0, demand = 0;
    for (size_t r = 0; r < left.size(); ++r)
      supply += Wide(prices[r]) * left[r];
    Wide upper = value * proof.denominator + supply;
    for (size_t j = 0; j < problem.jobs.size(); ++j) {
      if (way[j] != kOpen)
        continue;
      std::vector<Wide> gains, costs;
      for (const Configuration &configuration : problem.jobs[j].configurations) {
        Wide cost = 0;
        bool fits = true;
        for (const ResourceUse &use : configuration.uses) {
          cost += Wide(prices[use.resource]) * use.amount;
          fits &= use.amount <= left[use.resource];
        }
        if (!fits || !inOrder(j, &configuration - problem.jobs[j].configurations.data()))
          continue;
        costs.push_back(cost);
        gains.push_back(Wide(configuration.value) * proof.denominator - cost);
      }
      if (problem.jobs[j].mayWait && inOrder(j, problem.jobs[j].configurations.size()))
        gains.push_back(0);
      else if (costs.empty())
        return true;
      else
        demand += *std::min_element(costs.begin(), costs.end());
      upper += *std::max_element(gains.begin(), gains.end());
    }
    return supply < demand || upper < (Wide(bound) + 1) * proof.denominator;
  }

  const AllocationProblem &problem;
  const AllocationProof &proof;
  std::vector<int64_t> way;
};

/// Changes one thing of a solution. Returns whether it is still true, as the independent computation says.
bool tamper(SplitMix &random, const AllocationProblem &problem, AllocationSolution &solution) {
  std::vector<AllocationProof::Node> &nodes = solution.proof.nodes;
  AllocationProof::Node &node = nodes[random.below(nodes.size())];
  const int64_t change = random.below(2) ? 1 : -1;
  switch (random.below(9)) {
  case 0:
    if (!solution.choice.empty()) {
      int64_t &choice = solution.choice[random.below(solution.choice.size())];
      const int64_t old = choice;
      while (choice == old)
        choice = static_cast<int64_t>(random.below(6)) - 2;
    } else {
      solution.choice.push_back(0);
    }
    return false; // unless another configuration of the same value fits: the caller compares values
  case 1:
    solution.value += change;
    return false;
  case 2:
    solution.bound += change;
    return false;
  case 3:
    solution.proof.denominator = random.below(2) ? 0 : -solution.proof.denominator;
    return false;
  case 4:
    nodes.push_back(nodes[random.below(nodes.size())]); // nothing leads to it
    return false;
  case 5:
    nodes.pop_back(); // something led to it, or nothing is left
    return false;
  case 6:
    if (node.job < 0) {
      node.prices.resize(problem.capacity.size() + 1, 1);
    } else {
      const unsigned target = random.below(&node - nodes.data() + 1); // itself, or before it
      node.next[random.below(node.next.size())] = target;
    }
    return false;
  case 7:
    solution.proof.denominator += change * static_cast<int64_t>(1 + random.below(solution.proof.denominator));
    if (solution.proof.denominator < 1)
      return false;
    return ProofValue(problem, solution.proof).proves(solution.bound);
  default:
    if (node.job >= 0) {
      node.job = problem.jobs.size() + random.below(3);
      return false;
    }
    if (node.prices.empty()) {
      node.job = -2;
      return false;
    }
    int64_t &price = node.prices[random.below(node.prices.size())];
    price = random.below(2) ? price / 2 : price + 1 + random.below(1 + solution.proof.denominator);
    return ProofValue(problem, solution.proof).proves(solution.bound);
  }
}

bool choiceStillHolds(const AllocationProblem &problem, const AllocationSolution &solution) {
  std::vector<int64_t> left = problem.capacity;
  int64_t value = 0;
  if (solution.choice.size() != problem.jobs.size())
    return false;
  for (size_t j = 0; j < problem.jobs.size(); ++j) {
    const int64_t choice = solution.choice[j];
    if (choice < -1 || choice >= static_cast<int64_t>(problem.jobs[j].configurations.size()) ||
        (choice == -1 && !problem.jobs[j].mayWait))
      return false;
    if (choice == -1)
      continue;
    value += problem.jobs[j].configurations[choice].value;
    for (const ResourceUse &use : problem.jobs[j].configurations[choice].uses)
      left[use.resource] -= use.amount;
  }
  return value == solution.value && *std::min_element(left.begin(), left.end()) >= 0;
}

/// Then a leaf holds for the best of several configurations, and the verifier may refuse what each of them keeps.
bool sharesNodes(const AllocationProof &proof) {
  return std::any_of(proof.nodes.begin(), proof.nodes.end(), [](const AllocationProof::Node &node) {
    std::vector<unsigned> next = node.next;
    std::sort(next.begin(), next.end());
    return std::adjacent_find(next.begin(), next.end()) != next.end();
  });
}

TEST(AllocationProof, RefusesTamperedSolutions) {
  SplitMix random(5);
  unsigned refused = 0, accepted = 0, infeasible = 0;
  for (unsigned i = 0; i < 3000; ++i) {
    AllocationProblem problem = randomProblem(random, shapeOf(i));
    const AllocationSolution solution = solveAllocation(problem, {});
    ASSERT_TRUE(verifyAllocation(problem, solution));
    EXPECT_TRUE(ProofValue(problem, solution.proof).proves(solution.bound));
    for (int k = 0; k < 10; ++k) {
      AllocationSolution changed = solution;
      bool holds = tamper(random, problem, changed);
      if (changed.choice != solution.choice && solution.status == AllocationStatus::Optimal)
        holds = choiceStillHolds(problem, changed);
      const Result<void> verified = verifyAllocation(problem, changed);
      EXPECT_TRUE(!verified || holds) << "problem " << i;
      if (!sharesNodes(solution.proof))
        EXPECT_EQ(bool(verified), holds) << "problem " << i << ": " << textOf(verified);
      infeasible += !verified && solution.status == AllocationStatus::Infeasible;
      (verified ? accepted : refused) += 1;
    }
    if (HasFailure())
      return;
  }
  EXPECT_GT(refused, 10000u);
  EXPECT_GT(accepted, 100u);
  EXPECT_GT(infeasible, 1000u);
}

TEST(AllocationProof, RefusesProofsWithBrokenTrees) {
  // Two jobs of value 3 that need 2 or 3 of 3 devices each: branching is needed.
  const Configuration two{3, {{0, 2}}}, three{3, {{0, 3}}};
  const AllocationProblem problem{{3}, {{{two}, true}, {{three}, true}}};
  AllocationSolution solution = solveAllocation(problem, {});
  ASSERT_EQ(solution.bound, 3);
  solution.proof = {1, {{0, {1, 2}, {}}, {-1, {}, {0}}, {-1, {}, {0}}}};
  ASSERT_EQ(textOf(verifyAllocation(problem, solution)), "");
  auto refused = [&](std::vector<AllocationProof::Node> nodes, const std::string &message) {
    AllocationSolution changed = solution;
    changed.proof.nodes = std::move(nodes);
    Result<void> verified = verifyAllocation(problem, changed);
    ASSERT_FALSE(verified) << message;
    EXPECT_EQ(verified.error().code, Code::BoundNotProved);
    EXPECT_NE(verified.error().message.find(message), std::string::npos) << verified.error().message;
  };
  const AllocationProof::Node leaf{-1, {}, {0}}, zero{-1, {}, {0}};
  refused({}, "no node");
  refused({{0, {1}, {}}, leaf}, "has 1 children, but job 0 has 2 ways");
  refused({{0, {1, 3}, {}}, leaf, zero}, "child 3 of node 0");
  refused({{0, {0, 1}, {}}, leaf}, "child 0 of node 0");
  refused({{2, {1, 2}, {}}, leaf, zero}, "branches on job 2 of 2");
  refused({{0, {1, 2}, {}}, {0, {3, 4}, {}}, zero, leaf, zero}, "branches on job 0 again");
  refused({{0, {1, 2}, {}}, {1, {3, 4}, {}}, {1, {3, 5}, {}}, leaf, leaf, zero}, "two branches of the proof lead");
  refused({{0, {1, 2}, {}}, leaf, zero, leaf}, "no branch of the proof leads to node 3");
  refused({{0, {1, 2}, {1}}, leaf, zero}, "branches and has prices");
  refused({{0, {1, 2}, {}}, {-1, {}, {}}, zero}, "leaf 1 has 0 prices for 1 resources");
  refused({{0, {1, 2}, {}}, {-1, {}, {-1}}, zero}, "leaf 1 has price -1");
  refused({{0, {1, 2}, {}}, {-1, {2}, {2}}, zero}, "leaf 1 has job -1 and 1 children");
  refused({{0, {1, 1}, {}}, leaf}, "do not prove a value of at most 3"); // for running and waiting at a time
  refused({{-1, {}, {1}}}, "do not prove a value of at most 3");
}

TEST(AllocationProof, ProvesThatNothingFitsWherePricesAloneDoNot) {
  // Each job takes 3 of one of two resources. By halves three jobs need 4.5 of each, but one job fits on each.
  const Configuration left{1, {{0, 3}}}, right{1, {{1, 3}}}, small{2, {{0, 1}, {1, 1}}};
  AllocationProblem problem{{5, 5}, std::vector<AllocationJob>(3, {{left, right}, false})};
  problem.jobs.push_back({{small}, true}); // so that amounts have no common divisor
  AllocationSolution solution = solveAllocation(problem, {});
  EXPECT_EQ(solution.status, AllocationStatus::Infeasible);
  EXPECT_EQ(solution.bound, -1);
  EXPECT_TRUE(solution.choice.empty());
  EXPECT_GT(solution.proof.nodes.size(), 1u);
  EXPECT_EQ(textOf(verifyAllocation(problem, solution)), "");
  for (size_t node = 0; node < solution.proof.nodes.size(); ++node)
    if (!solution.proof.nodes[node].prices.empty()) {
      AllocationSolution changed = solution;
      changed.proof.nodes[node].prices = {0, 0};
      EXPECT_EQ(bool(verifyAllocation(problem, changed)), ProofValue(problem, changed.proof).proves(-1)) << node;
    }
  problem.capacity[0] = 6; // now two fit on the first
  EXPECT_FALSE(verifyAllocation(problem, solution));
  expectSolved(problem, 3, "one more device");
}

/// A proof that is changed at random: children, jobs, prices and leaves of a tree that holds, or a tree of chance.
AllocationProof randomProof(SplitMix &random, const AllocationProblem &problem, AllocationProof proof) {
  for (uint64_t change = random.below(3); change > 0; --change) {
    AllocationProof::Node &node = proof.nodes[random.below(proof.nodes.size())];
    if (node.job < 0)
      for (int64_t &price : node.prices)
        price = random.below(3) ? price + static_cast<int64_t>(random.below(proof.denominator)) : price / 2;
    else if (random.below(3) == 0)
      node.job = random.below(problem.jobs.size());
    else
      std::swap(node.next[random.below(node.next.size())], node.next[random.below(node.next.size())]);
    if (node.job < 0 && random.below(4) == 0)
      node.prices.clear();
  }
  std::vector<unsigned> leaves;
  for (unsigned i = 0; i < proof.nodes.size(); ++i)
    if (proof.nodes[i].job < 0)
      leaves.push_back(i);
  for (uint64_t grow = random.below(3); grow > 0; --grow) { // replaces a leaf by a branch with few children
    const unsigned leaf = leaves[random.below(leaves.size())];
    const size_t job = random.below(problem.jobs.size());
    const size_t ways = problem.jobs[job].configurations.size() + problem.jobs[job].mayWait;
    if (proof.nodes[leaf].job >= 0)
      continue;
    const Prices prices = proof.nodes[leaf].prices;
    const unsigned first = proof.nodes.size(), children = 1 + random.below(3);
    proof.nodes[leaf] = {static_cast<int64_t>(job), {}, {}};
    for (size_t way = 0; way < ways; ++way)
      proof.nodes[leaf].next.push_back(first + std::min<unsigned>(way, children - 1));
    for (unsigned child = 0; child < std::min<size_t>(ways, children); ++child)
      proof.nodes.push_back({-1, {}, random.below(4) ? prices : Prices(problem.capacity.size(), 0)});
  }
  return proof;
}

TEST(AllocationProof, NeverVerifiesABoundBelowTheOptimum) {
  SplitMix random(7);
  unsigned held = 0;
  for (unsigned i = 0; i < 4000; ++i) {
    const AllocationProblem problem = randomProblem(random, shapeOf(i % 2 ? i : 7 + i % 4 / 2));
    const int64_t best = bruteForce(problem);
    if (best < 0)
      continue;
    AllocationSolution claim;
    const AllocationProof proof = solveAllocation(problem, {}).proof;
    for (int k = 0; k < 10; ++k) {
      claim.proof = randomProof(random, problem, proof);
      claim.bound = best;
      held += bool(verifyAllocation(problem, claim));
      claim.bound = best - 1;
      claim.status = best > 0 ? AllocationStatus::Unknown : AllocationStatus::Infeasible;
      ASSERT_FALSE(verifyAllocation(problem, claim)) << "problem " << i;
      claim.status = AllocationStatus::Unknown;
    }
  }
  EXPECT_GT(held, 3000u); // so that the changes are not all of the kind that breaks the tree
}

TEST(AllocationProof, AcceptsDeepProofs) {
  const size_t jobs = 200'000;
  AllocationProblem problem{{0}, std::vector<AllocationJob>(jobs, {{{1, {{0, 1}}}}, true})};
  AllocationSolution solution = solveAllocation(problem, {});
  EXPECT_EQ(textOf(verifyAllocation(problem, solution)), "");
  EXPECT_EQ(solution.status, AllocationStatus::Optimal);
  solution.proof = {};
  for (unsigned j = 0; j < jobs; ++j) { // each node: running uses too much, waiting goes on
    solution.proof.nodes.push_back({j, {2 * j + 1, 2 * j + 2}, {}});
    solution.proof.nodes.push_back({-1, {}, {}});
  }
  solution.proof.nodes.push_back({-1, {}, {0}});
  EXPECT_EQ(textOf(verifyAllocation(problem, solution)), "");
  solution.proof.nodes[2 * (jobs / 2) + 1].prices = {1, 1};
  EXPECT_FALSE(verifyAllocation(problem, solution));
}

} // namespace
} // namespace accord::jobs
