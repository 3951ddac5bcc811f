#include "lib/placement/verify/StageMinCosts.h"
#include "lib/placement/verify/ObjectiveRules.h"
#include "lib/placement/verify/PlanReevaluation.h"
#include "lib/placement/verify/ScheduleRules.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

namespace accord {

using Id = PlacementProblem::Id;

namespace {
constexpr size_t kMaxSets = 4096;

/// Layers of one stage with choices, and the least `recomputeTime` of them whose memory fits. Exact, or below where
/// there are more than some thousand ways that none makes worthless.
class Knapsack {
public:
  Knapsack(const PlacementProblem &problem, const std::vector<Id> &layers, Id parallelConfig, int64_t inFlight)
      : p(problem), layers(layers), parallelConfig(parallelConfig), inFlight(inFlight) {}

  std::optional<int64_t> min(std::vector<uint32_t> *choices, uint64_t *work) {
    int64_t staticMemory = 0;
    std::set<int64_t> workspaces;
    for (Id l : layers) {
      staticMemory += p.cost(l, parallelConfig)->staticMemory;
      for (const auto &recomputeChoice : p.cost(l, parallelConfig)->recomputeChoices)
        workspaces.insert(recomputeChoice.workspace);
    }
    int64_t memory = p.deviceTypeOf(parallelConfig).memory;
    std::optional<int64_t> best;
    for (int64_t workspace : workspaces) {
      int64_t room = memory - staticMemory - workspace;
      if (room < 0)
        break;
      if (auto recomputeTime = within(workspace, room / inFlight, work);
          recomputeTime && (!best || *recomputeTime < *best)) {
        best = recomputeTime;
        if (choices)
          *choices = chosen();
      }
    }
    return best;
  }

private:
  struct Point {
    int64_t activations, recomputeTime;
    uint32_t before, choice;
  };

  std::optional<int64_t> within(int64_t workspace, int64_t room, uint64_t *work) {
    steps.assign(1, {{0, 0, 0, 0}});
    for (Id l : layers) {
      std::vector<Point> next;
      const auto &recomputeChoices = p.cost(l, parallelConfig)->recomputeChoices;
      for (uint32_t i = 0; i < steps.back().size(); ++i)
        for (uint32_t k = 0; k < recomputeChoices.size(); ++k)
          if (recomputeChoices[k].workspace <= workspace &&
              steps.back()[i].activations + recomputeChoices[k].activations <= room)
            next.push_back({steps.back()[i].activations + recomputeChoices[k].activations,
                            steps.back()[i].recomputeTime + recomputeChoices[k].recomputeTime, i, k});
      if (work)
        *work += next.size() / 8;
      std::sort(next.begin(), next.end(), [](const Point &a, const Point &b) {
        return std::pair(a.activations, a.recomputeTime) < std::pair(b.activations, b.recomputeTime);
      });
      std::vector<Point> front;
      for (const Point &point : next)
        if (front.empty() || point.recomputeTime < front.back().recomputeTime)
          front.push_back(point);
      thin(front);
      if (front.empty())
        return std::nullopt;
      steps.push_back(std::move(front));
    }
    return steps.back().back().recomputeTime;
  }

  /// Two neighbours as one that is as good as both: below what can be, never above.
  static void thin(std::vector<Point> &front) {
    if (front.size() <= 4096)
      return;
    std::vector<Point> half;
    for (size_t i = 0; i < front.size(); i += 2) {
      half.push_back(front[i]);
      if (i + 1 < front.size())
        half.back().recomputeTime = front[i + 1].recomputeTime;
    }
    front = std::move(half);
  }

  std::vector<uint32_t> chosen() const {
    std::vector<uint32_t> choices(layers.size());
    size_t at = steps.back().size() - 1;
    for (size_t i = layers.size(); i-- > 0;) {
      choices[i] = steps[i + 1][at].choice;
      at = steps[i + 1][at].before;
    }
    return choices;
  }

  const PlacementProblem &p;
  const std::vector<Id> &layers;
  Id parallelConfig;
  int64_t inFlight;
  std::vector<std::vector<Point>> steps;
};

} // namespace

PlacementCuts::PlacementCuts(const PlacementProblem &problem) {
  size_t n = problem.layers.size();
  for (Id id = 0; id < problem.placementConstraints.size(); ++id) {
    std::vector<Id> under;
    for (Id l = 0; l < n; ++l)
      if (std::count(problem.layers[l].placementConstraints.begin(), problem.layers[l].placementConstraints.end(), id))
        under.push_back(l);
    if (problem.placementConstraints[id].stage)
      placementConstraints.push_back({problem.placementConstraints[id].stage, under}), constraintsNameStages = true;
    if (problem.placementConstraints[id].sameStage)
      placementConstraints.push_back({std::nullopt, under});
  }
  std::vector<char> follows(n);
  for (const auto &edge : problem.edges)
    if (edge.to == edge.from + 1)
      follows[edge.to] = 1;
  for (size_t l = 1; l < n; ++l)
    isChain &= follows[l] != 0;
  auto share = [&] {
    for (size_t set = 0; problem.uniformClass && set < count; ++set) {
      shared.push_back(0);
      for (Id l = 0; l < n; ++l)
        shared.back() += has(set, l) && problem.layers[l].of == *problem.uniformClass;
    }
  };
  if (isChain) {
    count = n + 1;
    share();
    return;
  }
  if (n > 64)
    return;
  std::vector<uint64_t> needs(n);
  for (const auto &edge : problem.edges)
    needs[edge.to] |= uint64_t(1) << edge.from;
  std::set<uint64_t> found{0};
  std::vector<uint64_t> open{0};
  while (!open.empty() && found.size() <= kMaxSets) {
    uint64_t set = open.back();
    open.pop_back();
    for (size_t l = 0; l < n; ++l)
      if (uint64_t bit = uint64_t(1) << l; !(set & bit) && (needs[l] & ~set) == 0)
        if (found.insert(set | bit).second)
          open.push_back(set | bit);
  }
  if (found.size() > kMaxSets)
    return;
  sets.assign(found.begin(), found.end());
  std::sort(sets.begin(), sets.end(),
            [](uint64_t a, uint64_t b) { return std::pair(std::popcount(a), a) < std::pair(std::popcount(b), b); });
  count = sets.size();
  share();
}

std::vector<Id> PlacementCuts::layers(size_t from, size_t to) const {
  std::vector<Id> list;
  if (isChain)
    for (size_t l = from; l < to; ++l)
      list.push_back(l);
  else
    for (Id l = 0; l < 64; ++l)
      if ((sets[to] & ~sets[from]) >> l & 1)
        list.push_back(l);
  return list;
}

bool PlacementCuts::mayCut(size_t set, int64_t stages, int64_t all) const {
  if (!shared.empty() && shared[set] * all != stages * shared.back())
    return false;
  for (const auto &[stage, under] : placementConstraints)
    for (Id l : under)
      if (has(set, l) != (stage ? *stage < stages : has(set, under.front())))
        return false;
  return true;
}

bool PlacementCuts::isBalanced(int64_t stages) const {
  if (shared.empty())
    return true;
  size_t min = (count - 1) / stages, first = 0, last = 0;
  for (int64_t s = 1; s <= stages; ++s) { // ends of stage s are between these
    size_t from = first, until = last;
    for (first = from + 1; first < size() && !mayCut(first, s, stages);)
      ++first;
    for (last = first; s < stages && last + 1 < size() && mayCut(last + 1, s, stages);)
      ++last;
    if (s == stages)
      first = last = size() - 1;
    if (first < until + min || last > from + min + 1)
      return false;
  }
  return true;
}

bool mayBeOn(const PlacementProblem &problem, Id layer, Id deviceType) {
  for (Id id : problem.layers[layer].placementConstraints)
    if (const auto &deviceTypes = problem.placementConstraints[id].deviceTypes; !deviceTypes.empty())
      if (!std::binary_search(deviceTypes.begin(), deviceTypes.end(), deviceType))
        return false;
  return true;
}

int64_t StageMinCosts::stepTail(const PlacementProblem &p, int64_t groupRecomputeTime) const {
  auto behind = static_cast<int64_t>(p.overlapFraction * (overlapTime + groupRecomputeTime));
  int64_t never = p.maxOverlap < 1 ? exchange - static_cast<int64_t>(p.maxOverlap * exchange) : 0;
  return std::max(never, exchange - behind) + update;
}

StageCosts::StageCosts(const PlacementProblem &problem, const PlacementCuts &cuts) : p(problem), cuts(cuts) {
  if (!cuts.chain())
    paths();
}

/// Longest chains of layers by their least times.
void StageCosts::paths() {
  size_t n = p.layers.size();
  fastest.assign(n, 0), fastestBack.assign(n, 0);
  bool delays = maySplitWeights(p);
  for (Id l = 0; l < n; ++l) {
    bool any = false;
    for (const auto &cost : p.classOf(l).costs)
      if (cost) {
        int64_t back = cost->backward + (delays ? 0 : cost->weight);
        fastest[l] = any ? std::min(fastest[l], cost->forward) : cost->forward;
        fastestBack[l] = any ? std::min(fastestBack[l], back) : back;
        any = true;
      }
  }
  pathTo = fastest, pathBack = fastestBack;
  std::vector<std::vector<Id>> before(n);
  for (const auto &edge : p.edges)
    before[edge.to].push_back(edge.from);
  for (Id l = 0; l < n; ++l)
    for (Id other : before[l]) {
      pathTo[l] = std::max(pathTo[l], pathTo[other] + fastest[l]);
      pathBack[l] = std::max(pathBack[l], pathBack[other] + fastestBack[l]);
    }
}

const StageMinCosts &StageCosts::of(size_t from, size_t to, Id parallelConfig, bool alone) {
  uint64_t key = ((parallelConfig * cuts.size() + from) * cuts.size() + to) * 2 + alone;
  if (auto found = known.find(key); found != known.end())
    return found->second;
  if (known.size() > 400'000)
    known.clear();
  return known[key] = compute(from, to, parallelConfig, alone);
}

/// Whether the stages of a replica are in a row of ranks.
static bool replicasInRows(const ParallelConfig &parallelConfig) {
  return parallelConfig.order == RankOrder::TensorPipelineData;
}

StageCosts::Sums &StageCosts::Sums::add(const Sums &other, int64_t times) {
  for (auto field : {&Sums::cannot, &Sums::forward, &Sums::backward, &Sums::weight, &Sums::recomputeTime, &Sums::update,
                     &Sums::gradients, &Sums::expertGradients, &Sums::weights, &Sums::staticMemory, &Sums::outside,
                     &Sums::activations, &Sums::minActivations})
    this->*field += times * other.*field;
  return *this;
}

const StageCosts::ParallelConfigSums &StageCosts::sumsOf(Id parallelConfig) {
  sums.resize(p.parallelConfigs.size());
  ParallelConfigSums &of = sums[parallelConfig];
  if (!of.upTo.empty())
    return of;
  of.upTo.emplace_back();
  for (Id l = 0; l < p.layers.size(); ++l) {
    const auto &cost = p.cost(l, parallelConfig);
    Sums &one = of.layers.emplace_back();
    int64_t &workspace = of.workspace.emplace_back();
    if (!cost || !mayBeOn(p, l, p.parallelConfigs[parallelConfig].deviceType)) {
      one.cannot = 1;
    } else {
      const auto *fast = &cost->recomputeChoices[0], *small = fast;
      for (const auto &recomputeChoice : cost->recomputeChoices) {
        if (std::pair(recomputeChoice.recomputeTime, recomputeChoice.activations) <
            std::pair(fast->recomputeTime, fast->activations))
          fast = &recomputeChoice;
        if (recomputeChoice.activations < small->activations)
          small = &recomputeChoice;
      }
      one.forward = cost->forward, one.backward = cost->backward, one.weight = cost->weight;
      one.recomputeTime = fast->recomputeTime, one.update = cost->update;
      one.gradients = cost->gradients, one.expertGradients = cost->expertGradients;
      one.weights = cost->weights;
      one.staticMemory = cost->staticMemory, one.outside = cost->hostStaticMemory;
      one.activations = fast->activations, one.minActivations = small->activations;
      workspace = fast->workspace;
      of.energy |= cost->joules != 0 || cost->recomputeJoules != 0;
    }
    of.upTo.push_back(Sums(of.upTo.back()).add(one, 1));
  }
  return of;
}

StageCosts::Sums StageCosts::sum(size_t from, size_t to, Id parallelConfig) {
  const ParallelConfigSums &of = sumsOf(parallelConfig);
  if (cuts.chain())
    return Sums(of.upTo[to]).add(of.upTo[from], -1);
  Sums all;
  for (Id l : cuts.layers(from, to))
    all.add(of.layers[l], 1);
  return all;
}

StageMinCosts StageCosts::compute(size_t from, size_t to, Id parallelConfig, bool alone) {
  StageMinCosts min;
  const auto &f = p.parallelConfigs[parallelConfig];
  Sums all = sum(from, to, parallelConfig);
  if (all.cannot > 0)
    return min;
  min.recomputeTime = all.recomputeTime, min.forward = all.forward, min.backward = all.backward;
  min.weight = all.weight, min.update = all.update;
  // A chain's layers are looked at one by one only where they must be.
  std::vector<Id> layers;
  if (!cuts.chain() || sumsOf(parallelConfig).energy)
    layers = cuts.layers(from, to);
  work += cuts.chain() ? to - from : layers.size();
  for (Id l : layers) {
    const auto &cost = p.cost(l, parallelConfig);
    min.joules += cost->joules + sumsOf(parallelConfig).layers[l].recomputeTime * cost->recomputeJoules;
  }
  min.can = true;
  min.overlapTime = min.backward + min.weight;
  min.busy = min.forward + min.overlapTime + min.recomputeTime;
  int64_t gather = minReplayTime(f.gather, all.weights);
  min.forward += gather + p.hostOverheadPerMicrobatch;
  min.backward += gather;
  min.exchange = exchange(parallelConfig, all);
  addNeighbours(min, from, to, parallelConfig, layers, alone);
  return min;
}

/// Exchange of gradients. Of ranks that run replica after replica, the best of any number of groups.
int64_t StageCosts::exchange(Id parallelConfig, const Sums &all) const {
  const auto &f = p.parallelConfigs[parallelConfig];
  auto takes = [&](const std::vector<GradientSync> &gradientSyncs, int64_t bytes, int64_t max) {
    int64_t best = gradientSyncs.empty() ? 0 : INT64_MAX;
    for (size_t i = 0; i < gradientSyncs.size(); ++i)
      if (i == 0 || gradientSyncs[i].replicasPerNode <= max) {
        int64_t time = minReplayTime(gradientSyncs[i].alternatives, bytes);
        best = replicasInRows(f) ? std::min(best, time) : time;
      }
    return best;
  };
  int64_t replicasPerNode = recountReplicasPerNode(p, parallelConfig, 1);
  return takes(f.gradientSyncs, all.gradients, replicasPerNode) +
         takes(f.expertGradientSyncs, all.expertGradients, replicasPerNode / f.expert);
}

/// The best link between a stage and any other.
AlphaBetaModel StageCosts::bestLink(Id parallelConfig) const {
  const auto &f = p.parallelConfigs[parallelConfig];
  AlphaBetaModel link{INFINITY, INFINITY};
  auto consider = [&](const AlphaBetaModel &way) {
    link = {std::min(link.latency, way.latency), std::min(link.perByte, way.perByte)};
  };
  bool sharesNode = (replicasInRows(f) ? f.tensor : f.devices()) < p.deviceTypes[f.deviceType].devicesPerNode;
  for (Id other = 0; other < p.deviceTypes.size(); ++other)
    for (const auto *one : {&p.link(other, f.deviceType), &p.link(f.deviceType, other)}) {
      consider(one->interNode);
      if (other == f.deviceType && sharesNode)
        consider(one->intraNode);
    }
  return link;
}

/// What comes in, once per layer that sends it, what goes out, and ties, on the best link there is; where layers
/// branch, the paths to the stage and back from it.
void StageCosts::addNeighbours(StageMinCosts &min, size_t from, size_t to, Id parallelConfig,
                               const std::vector<Id> &layers, bool alone) const {
  const auto &f = p.parallelConfigs[parallelConfig];
  std::map<Id, int64_t> in, out;
  auto has = [&](Id l) {
    return cuts.chain() ? l >= from && l < to : std::binary_search(layers.begin(), layers.end(), l);
  };
  if (!cuts.chain() || (!alone && p.blockingTransfers))
    for (const auto &edge : p.edges) {
      bool sent = has(edge.from), received = has(edge.to);
      if (received && !sent) {
        in[edge.from] = std::max(in[edge.from], edge.bytes);
        if (!cuts.chain()) {
          min.before = std::max(min.before, pathTo[edge.from]);
          min.after = std::max(min.after, pathBack[edge.from]);
        }
      } else if (sent && !received) {
        out[edge.from] = std::max(out[edge.from], edge.bytes);
      }
    }
  if (alone)
    return;
  AlphaBetaModel link = bestLink(parallelConfig);
  for (const auto &tie : p.ties)
    if (has(tie.a) != has(tie.b))
      min.update += minReplayTime({link}, p.cost(has(tie.a) ? tie.a : tie.b, parallelConfig)->tied);
  if (!p.blockingTransfers)
    return;
  auto takes = [&](const std::map<Id, int64_t> &transfers) {
    int64_t bytes = 0;
    for (const auto &[layer, size] : transfers)
      bytes += size;
    return minReplayTime({link}, bytes * (1.0 * (f.data / f.context * f.microbatch) / f.devices()));
  };
  min.forward += takes(in);
  min.backward += takes(out);
}

std::optional<int64_t> StageCosts::busy(size_t from, size_t to, Id parallelConfig) {
  const ParallelConfigSums &of = sumsOf(parallelConfig);
  const Sums &a = of.upTo[from], &b = of.upTo[to];
  auto takes = [](const Sums &all) { return all.forward + all.backward + all.weight + all.recomputeTime; };
  return a.cannot == b.cannot ? std::optional(takes(b) - takes(a)) : std::nullopt;
}

std::optional<int64_t> StageCosts::recomputeTime(size_t from, size_t to, Id parallelConfig, int64_t inFlight) {
  Sums all = sum(from, to, parallelConfig);
  int64_t memory = p.deviceTypeOf(parallelConfig).memory;
  if (all.outside > p.deviceTypeOf(parallelConfig).hostMemory)
    return std::nullopt;
  if (all.staticMemory + inFlight * all.minActivations > memory)
    return std::nullopt;
  int64_t workspace = 0;
  std::vector<Id> layers;
  if (cuts.chain()) {
    for (size_t l = from; l < to; ++l)
      workspace = std::max(workspace, sumsOf(parallelConfig).workspace[l]);
  } else {
    layers = cuts.layers(from, to);
    for (Id l : layers)
      workspace = std::max(workspace, sumsOf(parallelConfig).workspace[l]);
  }
  if (all.staticMemory + inFlight * all.activations + workspace <= memory)
    return all.recomputeTime;
  if (cuts.chain())
    layers = cuts.layers(from, to);
  std::vector<int64_t> key{static_cast<int64_t>(parallelConfig), inFlight};
  for (Id l : layers)
    key.push_back(p.layers[l].of);
  std::sort(key.begin() + 2, key.end());
  if (auto found = knapsacks.find(key); found != knapsacks.end())
    return found->second;
  return knapsacks[key] = Knapsack(p, layers, parallelConfig, inFlight).min(nullptr, &work);
}

std::vector<uint32_t> StageCosts::recomputeChoices(const std::vector<Id> &layers, Id parallelConfig,
                                                   int64_t inFlight) const {
  std::vector<uint32_t> choices(layers.size());
  Knapsack(p, layers, parallelConfig, inFlight).min(&choices, nullptr);
  return choices;
}

double ratePerSecond(const PlacementProblem &problem, PlacementProblem::Id parallelConfig) {
  const DeviceType &deviceType = problem.deviceTypeOf(parallelConfig);
  double devices = problem.parallelConfigs[parallelConfig].devices();
  return ruleOf(problem.objective).perSecond(problem, deviceType) * devices;
}

} // namespace accord
