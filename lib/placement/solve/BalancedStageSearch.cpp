// Branch and bound over the even cuts of one configuration.
#include "lib/placement/solve/ConfigurationSearch.h"
#include <algorithm>
#include <cmath>
#include <set>

namespace accord::placing {
namespace {

struct BalancedNode {
  BalancedSubset part;
  double bound = 0;
  size_t proof = 0; ///< in EvenProofs
  std::vector<double> larger;
};

bool later(const BalancedNode &a, const BalancedNode &b) { return a.bound > b.bound; }

/// Halves of a part at what is most between two whole numbers: layers of a group, or else of a
/// stage. Empty: there is only one cut. `how`: as a certificate says it.
std::vector<BalancedSubset> split(const BalancedNode &node, PathBound::Part &how) {
  size_t p = node.part.groups.size(), group = p, stage = node.larger.size();
  double max = 1e-6, n = 0;
  for (size_t g = 0; g < p; ++g) {
    double sum = 0;
    for (size_t s = g; s < node.larger.size(); s += p)
      sum += node.larger[s];
    if (double apart = std::abs(sum - std::round(sum)); apart > max)
      max = apart, group = g, n = sum;
  }
  if (group < p) {
    std::vector<BalancedSubset> halves(2, node.part);
    halves[0].groups[group].second = static_cast<int64_t>(std::floor(n));
    halves[1].groups[group].first = static_cast<int64_t>(std::floor(n)) + 1;
    how.fork = PathBound::Part::Split::Group, how.of = static_cast<uint32_t>(group);
    how.max = halves[0].groups[group].second;
    return halves;
  }
  for (size_t s = 0; s < node.larger.size(); ++s)
    if (double apart = std::min(node.larger[s], 1 - node.larger[s]); node.part.stages[s] < 0 && apart > max)
      max = apart, stage = s;
  // All whole: the part may have other cuts all the same.
  for (size_t s = 0; s < node.larger.size() && stage == node.larger.size(); ++s)
    if (node.part.stages[s] < 0)
      stage = s;
  if (stage == node.larger.size())
    return {};
  std::vector<BalancedSubset> halves(2, node.part);
  halves[0].stages[stage] = 0, halves[1].stages[stage] = 1;
  how.fork = PathBound::Part::Split::Stage, how.of = static_cast<uint32_t>(stage);
  return halves;
}

} // namespace

double ConfigurationSearch::minimaxBound(size_t parts) {
  auto equal = balanced_ ? middle() : std::nullopt;
  auto plans = equal ? balancedPlans(*equal) : std::nullopt;
  if (!plans)
    return 0;
  Id parallelConfig = configuration_.parallelConfigs[0];
  auto all = static_cast<int64_t>(problem_.layers.size());
  MinimaxPathBound game(*plans);
  Rates rates = minRatesOf({});
  std::set<std::vector<char>> seen;
  auto evaluated = [&](const MeanPlan &mean) {
    std::vector<size_t> order;
    for (size_t s = 0; s < mean.larger.size(); ++s)
      order.push_back(s);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return mean.larger[a] != mean.larger[b] ? mean.larger[a] > mean.larger[b] : a < b;
    });
    std::vector<char> larger(order.size());
    for (int64_t i = 0; i < plans->more; ++i)
      larger[order[i]] = 1;
    if (!seen.insert(larger).second)
      return;
    std::vector<Placed> stages;
    uint32_t at = 0;
    for (char more : larger) {
      uint32_t to = at + static_cast<uint32_t>(all / stages_) + (more ? 1 : 0);
      stages.push_back({at, to, parallelConfig});
      at = to;
    }
    leaf(stages, false);
  };
  int64_t before = 0;
  MinimaxProofTree proofs;
  auto bounded = [&](BalancedNode &node, size_t rounds) {
    double step = game.bound(node.part, longest(), rounds);
    searchState_.budget -= (game.work() - before) / 64;
    before = game.work();
    double proved = value(step, rates);
    proofs.prove(node.proof, game.proof(), proved);
    node.bound = std::max(node.bound, proved);
    if (std::isinf(step) || node.bound >= searchState_.cutoff())
      return;
    node.larger = game.mean().larger;
    evaluated(game.mean());
  };
  BalancedNode root;
  root.part.groups.assign(groups_, {0, std::min(plans->more, configuration_.virtualStages)});
  root.part.stages.assign(stages_, -1);
  if (problem_.uniformClass) {
    auto sizes = *onlyCut();
    for (auto &range : root.part.groups)
      range = {0, 0};
    for (size_t s = 0; s < sizes.size(); ++s) {
      root.part.stages[s] = sizes[s] > all / stages_;
      auto &[min, max] = root.part.groups[s % static_cast<size_t>(groups_)];
      min += root.part.stages[s], max += root.part.stages[s];
    }
  }
  double simple = balancedBound();
  if (simple >= searchState_.cutoff())
    return simple;
  root.bound = simple;
  int64_t room = 0;
  for (size_t g = 0; g < maxLarger_.size(); ++g) {
    if (maxLarger_[g] < 0)
      return searchState_.cutoff();
    int64_t &max = root.part.groups[g].second;
    max = std::min(max, maxLarger_[g]);
    if (max < root.part.groups[g].first)
      return searchState_.cutoff();
    room += max;
  }
  if (room < plans->more)
    return searchState_.cutoff();
  bounded(root, parts > 1 ? 40 : 16);
  std::vector<BalancedNode> heap{root};
  double closed = INFINITY;
  for (size_t looked = 1; !heap.empty() && looked < parts && !searchState_.isExhausted(); looked += 2) {
    std::pop_heap(heap.begin(), heap.end(), later);
    BalancedNode node = std::move(heap.back());
    heap.pop_back();
    if (node.bound >= std::min(closed, searchState_.cutoff())) {
      closed = std::min(closed, node.bound);
      break;
    }
    PathBound::Part how;
    auto halves = split(node, how);
    if (halves.empty()) {
      closed = std::min(closed, node.bound);
      continue;
    }
    size_t proof = proofs.split(node.proof, std::move(how));
    for (BalancedSubset &half : halves) {
      BalancedNode next{std::move(half), node.bound, proof++, {}};
      bounded(next, 12);
      if (std::isinf(next.bound))
        continue;
      heap.push_back(std::move(next));
      std::push_heap(heap.begin(), heap.end(), later);
    }
  }
  for (const BalancedNode &node : heap)
    closed = std::min(closed, node.bound);
  if (std::isinf(closed))
    closed = std::max(searchState_.cutoff(), root.bound);
  ProvedPathBound &proved = searchState_.proved[{microbatches_, configuration_.virtualStages, groups_, parallelConfig}];
  if (closed > proved.bound)
    proved = {simple, closed, proofs.written(plans->shape, parallelConfig, held_)};
  return closed;
}

} // namespace accord::placing
