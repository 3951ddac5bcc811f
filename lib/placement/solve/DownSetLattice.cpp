#include "lib/placement/solve/DownSetLattice.h"
#include "lib/support/SplitMix.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <map>

namespace accord::placing {

bool mayRunOn(const PlacementProblem &problem, Id layer, Id deviceType) {
  for (Id constraint : problem.layers[layer].placementConstraints) {
    const std::vector<Id> &deviceTypes = problem.placementConstraints[constraint].deviceTypes;
    if (!deviceTypes.empty() && !llvm::is_contained(deviceTypes, deviceType))
      return false;
  }
  return true;
}

namespace {

Sums sumsOf(const PlacementProblem &problem, Id of, Id parallelConfig) {
  Sums sums;
  const auto &cost = problem.classes[of].costs[parallelConfig];
  if (!cost || cost->recomputeChoices.empty()) {
    sums.cannot = 1;
    return sums;
  }
  sums.forward = cost->forward, sums.backward = cost->backward, sums.weight = cost->weight;
  sums.update = cost->update, sums.staticMemory = cost->staticMemory, sums.gradients = cost->gradients;
  sums.weights = cost->weights, sums.hostStaticMemory = cost->hostStaticMemory;
  sums.expertGradients = cost->expertGradients;
  sums.recomputeTime = cost->minOf(&RecomputeChoice::recomputeTime);
  sums.activations = INT64_MAX;
  sums.minActivations = cost->minOf(&RecomputeChoice::activations);
  double joules = INFINITY;
  for (const RecomputeChoice &choice : cost->recomputeChoices) {
    if (choice.recomputeTime == sums.recomputeTime)
      sums.activations = std::min(sums.activations, choice.activations);
    sums.maxRecomputeTime = std::max(sums.maxRecomputeTime, choice.recomputeTime);
    joules = std::min(joules, cost->recomputeJoules * choice.recomputeTime);
  }
  sums.joules = cost->joules + joules;
  return sums;
}

uint64_t scatter(uint64_t x) { return SplitMix(x).next(); } // classes get unrelated summands

} // namespace

DownSetLattice::DownSetLattice(const PlacementProblem &given, size_t maxDownSets, double tdpTime)
    : problem(given), maxTdpTime(tdpTime) {
  size_t n = problem.layers.size();
  std::vector<char> follows(n + 1), sends(n + 1);
  crossing_.assign(n + 1, 0);
  path = true;
  for (const PlacementProblem::Edge &edge : problem.edges) {
    if (edge.to != edge.from + 1) {
      path = false;
      continue;
    }
    follows[edge.to] = 1;
    sends[edge.to] |= edge.bytes > 0;
    crossing_[edge.to] = std::max(crossing_[edge.to], edge.bytes);
  }
  linear = chain = true;
  for (size_t i = 1; i < n; ++i)
    linear &= follows[i] != 0, chain &= sends[i] != 0;
  path &= chain;
  nodes_ = n + 1; // the prefixes
  if (!linear && !listSets(maxDownSets)) {
    complete = false;
    sets_.clear(), above_.clear();
  }
  hash_.assign(nodes_, 0), size_.assign(nodes_, 0);
  auto each = [&](uint32_t node, auto add) {
    if (sets_.empty()) {
      if (node > 0)
        add(node - 1, node - 1); // the prefix before it, the layer it adds
      return;
    }
    // Any set one smaller: its highest layer left out is a down-set, as no edge points back.
    auto bits = sets_[node];
    for (size_t w = bits.size(); w-- > 0;)
      if (bits[w]) {
        size_t bit = 63 - __builtin_clzll(bits[w]);
        bits[w] &= ~(uint64_t{1} << bit);
        auto at = std::lower_bound(sets_.begin(), sets_.begin() + node, bits, [](const auto &a, const auto &b) {
          size_t x = 0, y = 0;
          for (uint64_t v : a)
            x += __builtin_popcountll(v);
          for (uint64_t v : b)
            y += __builtin_popcountll(v);
          return x != y ? x < y : a < b;
        });
        add(at - sets_.begin(), w * 64 + bit);
        return;
      }
  };
  below_.assign(nodes_, 0), added_.assign(nodes_, 0);
  for (uint32_t node = 0; node < nodes_; ++node)
    each(node, [&](uint32_t below, Id layer) {
      hash_[node] = hash_[below] + scatter(problem.layers[layer].of);
      size_[node] = size_[below] + 1;
      below_[node] = below, added_[node] = layer;
    });
  if (problem.uniformClass) {
    uniformLayers_.assign(nodes_, 0);
    for (uint32_t node = 1; node < nodes_; ++node)
      uniformLayers_[node] = uniformLayers_[below_[node]] + (problem.layers[added_[node]].of == *problem.uniformClass);
  }
  sums_.resize(problem.parallelConfigs.size());
  std::vector<int64_t> counts(problem.classes.size());
  std::vector<std::vector<int64_t>> placementConstraints(problem.deviceTypes.size(), counts);
  for (Id id = 0; id < problem.layers.size(); ++id) {
    const PlacementProblem::Layer &layer = problem.layers[id];
    ++counts[layer.of];
    for (Id of : layer.placementConstraints)
      if ((problem.placementConstraints[of].stage || problem.placementConstraints[of].sameStage) &&
          (constrainedLayers_.empty() || constrainedLayers_.back() != id))
        constrainedLayers_.push_back(id);
    for (Id deviceType = 0; deviceType < problem.deviceTypes.size(); ++deviceType)
      placementConstraints[deviceType][layer.of] += !mayRunOn(problem, id, deviceType);
  }
  for (Id parallelConfig = 0; parallelConfig < problem.parallelConfigs.size(); ++parallelConfig) {
    Sums all;
    int64_t workspace = 0;
    for (Id of = 0; of < counts.size(); ++of) {
      Sums one = sumsOf(problem, of, parallelConfig);
      all.cannot += one.cannot ? 0 : placementConstraints[problem.parallelConfigs[parallelConfig].deviceType][of];
      all.add(one, counts[of]);
      if (!one.cannot)
        for (const RecomputeChoice &recomputeChoice : problem.classes[of].costs[parallelConfig]->recomputeChoices)
          workspace = std::max(workspace, recomputeChoice.workspace);
    }
    all_.push_back(all);
    workspace_.push_back(workspace);
  }
}

const std::vector<Sums> &DownSetLattice::of(Id parallelConfig) const {
  std::vector<Sums> &sums = sums_[parallelConfig];
  if (!sums.empty())
    return sums;
  std::vector<Sums> byClass;
  for (Id of = 0; of < problem.classes.size(); ++of)
    byClass.push_back(sumsOf(problem, of, parallelConfig));
  Sums cannot;
  cannot.cannot = 1;
  sums.resize(nodes_);
  for (uint32_t node = 1; node < nodes_; ++node) {
    const PlacementProblem::Layer &layer = problem.layers[added_[node]];
    sums[node] = sums[below_[node]];
    bool may = mayRunOn(problem, added_[node], problem.parallelConfigs[parallelConfig].deviceType);
    sums[node].add(may ? byClass[layer.of] : cannot);
  }
  return sums;
}

bool DownSetLattice::constraintsHold(int64_t stages, uint32_t node) const {
  std::vector<char> &may = constraintsHold_[stages];
  if (!may.empty())
    return may[node];
  may.assign(nodes_, 1);
  size_t placementConstraints = problem.placementConstraints.size();
  std::vector<int64_t> all(placementConstraints);
  for (Id layer : constrainedLayers_)
    for (Id constraint : problem.layers[layer].placementConstraints)
      ++all[constraint];
  for (Id constraint = 0; constraint < placementConstraints; ++constraint) {
    const PlacementProblem::PlacementConstraint &one = problem.placementConstraints[constraint];
    if (!one.stage && !one.sameStage)
      continue;
    std::vector<int64_t> held(nodes_); // layers of it in a set
    for (uint32_t at = 0; at < nodes_; ++at) {
      if (at > 0) {
        held[at] = held[below_[at]] + llvm::is_contained(problem.layers[added_[at]].placementConstraints, constraint);
      }
      if (one.stage)
        may[at] &= held[at] == (*one.stage < stages ? all[constraint] : 0);
      if (one.sameStage)
        may[at] &= held[at] == 0 || held[at] == all[constraint];
    }
  }
  return may[node];
}

bool DownSetLattice::listSets(size_t maxDownSets) {
  size_t n = problem.layers.size(), words = (n + 63) / 64;
  std::vector<std::vector<Id>> needs(n);
  for (const PlacementProblem::Edge &edge : problem.edges)
    needs[edge.to].push_back(edge.from);
  auto has = [](const std::vector<uint64_t> &set, size_t i) { return set[i / 64] >> (i % 64) & 1; };
  std::map<std::vector<uint64_t>, uint32_t> level{{std::vector<uint64_t>(words), 0}};
  sets_.push_back(level.begin()->first);
  for (size_t size = 0; size < n; ++size) {
    std::map<std::vector<uint64_t>, uint32_t> next;
    std::vector<std::pair<uint32_t, std::vector<uint64_t>>> covers;
    for (const auto &[set, node] : level)
      for (size_t i = 0; i < n; ++i) {
        if (has(set, i) ||
            !std::all_of(needs[i].begin(), needs[i].end(), [&, &held = set](Id of) { return has(held, of); }))
          continue;
        auto bigger = set;
        bigger[i / 64] |= uint64_t{1} << (i % 64);
        next.emplace(bigger, 0);
        covers.push_back({node, std::move(bigger)});
        if (sets_.size() + next.size() > maxDownSets)
          return false;
      }
    for (auto &[set, node] : next) {
      node = sets_.size();
      sets_.push_back(set);
    }
    above_.resize(sets_.size());
    for (auto &[node, set] : covers)
      above_[node].push_back(next[set]);
    level = std::move(next);
  }
  nodes_ = sets_.size();
  return true;
}

std::vector<Id> DownSetLattice::layersBetween(uint32_t from, uint32_t to) const {
  std::vector<Id> layers;
  if (sets_.empty()) {
    for (uint32_t i = from; i < to; ++i)
      layers.push_back(i);
    return layers;
  }
  for (size_t w = 0; w < sets_[to].size(); ++w)
    for (uint64_t bits = sets_[to][w] & ~sets_[from][w]; bits; bits &= bits - 1)
      layers.push_back(w * 64 + __builtin_ctzll(bits));
  return layers;
}

std::vector<uint32_t> DownSetLattice::line() const {
  std::vector<uint32_t> line{0};
  while (line.back() != last())
    line.push_back(above(line.back()).empty() ? line.back() + 1 : above(line.back()).front());
  return line;
}

std::vector<int64_t> DownSetLattice::chains(const std::vector<int64_t> &time) const {
  std::vector<int64_t> longest = time;
  std::vector<std::vector<Id>> feeds(time.size());
  for (const PlacementProblem::Edge &edge : problem.edges)
    if (edge.bytes > 0)
      feeds[edge.to].push_back(edge.from);
  for (size_t i = 0; i < time.size(); ++i)
    for (Id from : feeds[i])
      longest[i] = std::max(longest[i], longest[from] + time[i]);
  return longest;
}

int64_t DownSetLattice::before(const std::vector<int64_t> &chainTo, uint32_t from, uint32_t to) const {
  int64_t longest = 0;
  for (const PlacementProblem::Edge &edge : problem.edges)
    if (edge.bytes > 0 && has(from, edge.from) && holds(from, to, edge.to))
      longest = std::max(longest, chainTo[edge.from]);
  return longest;
}

} // namespace accord::placing
