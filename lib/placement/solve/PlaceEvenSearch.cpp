// Branch and bound over the even cuts of one configuration.
#include "lib/placement/solve/PlaceShape.h"
#include <algorithm>
#include <cmath>
#include <set>

namespace accord::placing {
namespace {

struct EvenNode {
  EvenPart part;
  double bound = 0;
  size_t proof = 0; ///< in EvenProofs
  std::vector<double> larger;
};

bool later(const EvenNode &a, const EvenNode &b) { return a.bound > b.bound; }

/// Halves of a part at what is most between two whole numbers: layers of a group, or else of a
/// stage. Empty: there is only one cut. `how`: as a certificate says it.
std::vector<EvenPart> split(const EvenNode &node, PathBound::Part &how) {
  size_t p = node.part.groups.size(), group = p, stage = node.larger.size();
  double most = 1e-6, n = 0;
  for (size_t g = 0; g < p; ++g) {
    double sum = 0;
    for (size_t s = g; s < node.larger.size(); s += p)
      sum += node.larger[s];
    if (double apart = std::abs(sum - std::round(sum)); apart > most)
      most = apart, group = g, n = sum;
  }
  if (group < p) {
    std::vector<EvenPart> halves(2, node.part);
    halves[0].groups[group].second = static_cast<int64_t>(std::floor(n));
    halves[1].groups[group].first = static_cast<int64_t>(std::floor(n)) + 1;
    how.fork = PathBound::Part::Fork::Group, how.of = static_cast<uint32_t>(group);
    how.most = halves[0].groups[group].second;
    return halves;
  }
  for (size_t s = 0; s < node.larger.size(); ++s)
    if (double apart = std::min(node.larger[s], 1 - node.larger[s]);
        node.part.stages[s] < 0 && apart > most)
      most = apart, stage = s;
  // All whole: the part may have other cuts all the same.
  for (size_t s = 0; s < node.larger.size() && stage == node.larger.size(); ++s)
    if (node.part.stages[s] < 0)
      stage = s;
  if (stage == node.larger.size())
    return {};
  std::vector<EvenPart> halves(2, node.part);
  halves[0].stages[stage] = 0, halves[1].stages[stage] = 1;
  how.fork = PathBound::Part::Fork::Stage, how.of = static_cast<uint32_t>(stage);
  return halves;
}

} // namespace

double Shape::gameBound(size_t parts) {
  auto equal = even_ ? middle() : std::nullopt;
  auto plans = equal ? evenPlans(*equal) : std::nullopt;
  if (!plans)
    return 0;
  Id form = configuration_.forms[0];
  auto all = static_cast<int64_t>(problem_.layers.size());
  EvenGame game(*plans);
  Rates rates = ratesAtLeast({});
  std::set<std::vector<char>> seen;
  auto judged = [&](const EvenMean &mean) {
    std::vector<size_t> order;
    for (size_t s = 0; s < mean.larger.size(); ++s)
      order.push_back(s);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return mean.larger[a] != mean.larger[b] ? mean.larger[a] > mean.larger[b] : a < b;
    });
    std::vector<char> larger(order.size());
    for (int64_t i = 0; i < plans->more; ++i)
      larger[order[static_cast<size_t>(i)]] = 1;
    if (!seen.insert(larger).second)
      return;
    std::vector<Placed> stages;
    uint32_t at = 0;
    for (char more : larger) {
      uint32_t to = at + static_cast<uint32_t>(all / stages_) + (more ? 1 : 0);
      stages.push_back({at, to, form});
      at = to;
    }
    leaf(stages, false);
  };
  int64_t before = 0;
  EvenProofs proofs;
  auto bounded = [&](EvenNode &node, size_t rounds) {
    double step = game.bound(node.part, static_cast<double>(longest()), rounds);
    answer_.budget -= (game.work() - before) / 64;
    before = game.work();
    double proved = value(step, rates);
    proofs.prove(node.proof, game.proof(), proved);
    node.bound = std::max(node.bound, proved);
    if (std::isinf(step) || node.bound >= answer_.goal())
      return;
    node.larger = game.mean().larger;
    judged(game.mean());
  };
  EvenNode root;
  root.part.groups.assign(static_cast<size_t>(groups_),
                          {0, std::min(plans->more, configuration_.chunks)});
  root.part.stages.assign(static_cast<size_t>(stages_), -1);
  if (problem_.evenly) {
    auto sizes = *onlyCut();
    for (auto &range : root.part.groups)
      range = {0, 0};
    for (size_t s = 0; s < sizes.size(); ++s) {
      root.part.stages[s] = sizes[s] > all / stages_;
      auto &[fewest, most] = root.part.groups[s % static_cast<size_t>(groups_)];
      fewest += root.part.stages[s], most += root.part.stages[s];
    }
  }
  double simple = evenBound();
  if (simple >= answer_.goal())
    return simple;
  root.bound = simple;
  int64_t room = 0;
  for (size_t g = 0; g < mostLarger_.size(); ++g) {
    if (mostLarger_[g] < 0)
      return answer_.goal();
    int64_t &most = root.part.groups[g].second;
    most = std::min(most, mostLarger_[g]);
    if (most < root.part.groups[g].first)
      return answer_.goal();
    room += most;
  }
  if (room < plans->more)
    return answer_.goal();
  bounded(root, parts > 1 ? 40 : 16);
  std::vector<EvenNode> heap{root};
  double closed = INFINITY;
  for (size_t looked = 1; !heap.empty() && looked < parts && !answer_.over(); looked += 2) {
    std::pop_heap(heap.begin(), heap.end(), later);
    EvenNode node = std::move(heap.back());
    heap.pop_back();
    if (node.bound >= std::min(closed, answer_.goal())) {
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
    for (EvenPart &half : halves) {
      EvenNode next{std::move(half), node.bound, proof++, {}};
      bounded(next, 12);
      if (std::isinf(next.bound))
        continue;
      heap.push_back(std::move(next));
      std::push_heap(heap.begin(), heap.end(), later);
    }
  }
  for (const EvenNode &node : heap)
    closed = std::min(closed, node.bound);
  if (std::isinf(closed))
    closed = std::max(answer_.goal(), root.bound);
  EvenProved &proved = answer_.proved[{microbatches_, configuration_.chunks, groups_, form}];
  if (closed > proved.bound)
    proved = {simple, closed, proofs.written(plans->shape, form, held_)};
  return closed;
}

} // namespace accord::placing
