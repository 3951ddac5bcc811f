#include "lib/placement/solve/PlaceSpace.h"
#include "lib/support/SplitMix.h"
#include <algorithm>
#include <limits>
#include <map>

namespace accord::placing {

Sums operator-(Sums a, const Sums &b) {
  a.forward -= b.forward, a.backward -= b.backward, a.weight -= b.weight, a.again -= b.again;
  a.mostAgain -= b.mostAgain, a.update -= b.update, a.resident -= b.resident;
  a.gradients -= b.gradients, a.weights -= b.weights, a.joules -= b.joules, a.cannot -= b.cannot;
  a.kept -= b.kept, a.keptLeast -= b.keptLeast, a.hostResident -= b.hostResident;
  a.expertGradients -= b.expertGradients;
  return a;
}

Sums &Sums::operator+=(const Sums &b) {
  forward += b.forward, backward += b.backward, weight += b.weight, again += b.again;
  mostAgain += b.mostAgain, update += b.update, resident += b.resident, gradients += b.gradients;
  weights += b.weights, joules += b.joules, cannot += b.cannot;
  kept += b.kept, keptLeast += b.keptLeast, hostResident += b.hostResident;
  expertGradients += b.expertGradients;
  return *this;
}

bool mayRunOn(const PlacementProblem &problem, Id layer, Id kind) {
  for (Id pin : problem.layers[layer].pins) {
    const std::vector<Id> &kinds = problem.pins[pin].kinds;
    if (!kinds.empty() && std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
      return false;
  }
  return true;
}

namespace {

Sums sumsOf(const PlacementProblem &problem, Id of, Id form) {
  Sums sums;
  const auto &cost = problem.classes[of].costs[form];
  if (!cost || cost->keeps.empty()) {
    sums.cannot = 1;
    return sums;
  }
  sums.forward = cost->forward, sums.backward = cost->backward, sums.weight = cost->weight;
  sums.update = cost->update, sums.resident = cost->resident, sums.gradients = cost->gradients;
  sums.weights = cost->weights, sums.hostResident = cost->hostResident;
  sums.expertGradients = cost->expertGradients;
  sums.again = std::numeric_limits<int64_t>::max();
  double joules = std::numeric_limits<double>::infinity();
  sums.keptLeast = std::numeric_limits<int64_t>::max();
  for (const PlacementProblem::Keep &keep : cost->keeps) {
    if (keep.again < sums.again || (keep.again == sums.again && keep.kept < sums.kept))
      sums.kept = keep.kept;
    sums.keptLeast = std::min(sums.keptLeast, keep.kept);
    sums.again = std::min(sums.again, keep.again);
    sums.mostAgain = std::max(sums.mostAgain, keep.again);
    joules = std::min(joules, cost->joulesAgain * static_cast<double>(keep.again));
  }
  sums.joules = cost->joules + joules;
  return sums;
}

Sums times(Sums a, int64_t n) {
  a.forward *= n, a.backward *= n, a.weight *= n, a.again *= n, a.mostAgain *= n, a.update *= n;
  a.resident *= n, a.gradients *= n, a.weights *= n, a.kept *= n, a.keptLeast *= n;
  a.joules *= static_cast<double>(n), a.cannot *= n, a.hostResident *= n;
  a.expertGradients *= n;
  return a;
}

uint64_t scatter(uint64_t x) { return SplitMix(x).next(); } // classes get unrelated summands

} // namespace

Space::Space(const PlacementProblem &given, size_t mostSets, double tdpTime)
    : problem(given), mostTdpTime(tdpTime) {
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
  if (linear)
    listPrefixes();
  else if (!listSets(mostSets)) {
    complete = false;
    sets_.clear(), above_.clear();
    listPrefixes();
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
        auto bit = static_cast<size_t>(63 - __builtin_clzll(bits[w]));
        bits[w] &= ~(uint64_t{1} << bit);
        auto at = std::lower_bound(sets_.begin(), sets_.begin() + node, bits,
                                   [](const auto &a, const auto &b) {
                                     size_t x = 0, y = 0;
                                     for (uint64_t v : a)
                                       x += static_cast<size_t>(__builtin_popcountll(v));
                                     for (uint64_t v : b)
                                       y += static_cast<size_t>(__builtin_popcountll(v));
                                     return x != y ? x < y : a < b;
                                   });
        add(static_cast<uint32_t>(at - sets_.begin()), static_cast<Id>(w * 64 + bit));
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
  if (problem.evenly) {
    even_.assign(nodes_, 0);
    for (uint32_t node = 1; node < nodes_; ++node)
      even_[node] = even_[below_[node]] + (problem.layers[added_[node]].of == *problem.evenly);
  }
  sums_.resize(problem.forms.size());
  std::vector<int64_t> counts(problem.classes.size());
  std::vector<std::vector<int64_t>> pins(problem.kinds.size(), counts);
  for (Id id = 0; id < problem.layers.size(); ++id) {
    const PlacementProblem::Layer &layer = problem.layers[id];
    ++counts[layer.of];
    for (Id of : layer.pins)
      if ((problem.pins[of].stage || problem.pins[of].together) &&
          (pinned_.empty() || pinned_.back() != id))
        pinned_.push_back(id);
    for (Id kind = 0; kind < problem.kinds.size(); ++kind)
      pins[kind][layer.of] += !mayRunOn(problem, id, kind);
  }
  for (Id form = 0; form < problem.forms.size(); ++form) {
    Sums all;
    int64_t working = 0;
    for (Id of = 0; of < counts.size(); ++of) {
      Sums one = sumsOf(problem, of, form);
      all.cannot += one.cannot ? 0 : pins[problem.forms[form].kind][of];
      all += times(one, counts[of]);
      if (!one.cannot)
        for (const PlacementProblem::Keep &keep : problem.classes[of].costs[form]->keeps)
          working = std::max(working, keep.working);
    }
    all_.push_back(all);
    working_.push_back(working);
  }
}

const std::vector<Sums> &Space::of(Id form) const {
  std::vector<Sums> &sums = sums_[form];
  if (!sums.empty())
    return sums;
  std::vector<Sums> byClass;
  for (Id of = 0; of < problem.classes.size(); ++of)
    byClass.push_back(sumsOf(problem, of, form));
  Sums cannot;
  cannot.cannot = 1;
  sums.resize(nodes_);
  for (uint32_t node = 1; node < nodes_; ++node) {
    const PlacementProblem::Layer &layer = problem.layers[added_[node]];
    sums[node] = sums[below_[node]];
    sums[node] +=
        mayRunOn(problem, added_[node], problem.forms[form].kind) ? byClass[layer.of] : cannot;
  }
  return sums;
}

bool Space::pinsHold(int64_t stages, uint32_t node) const {
  std::vector<char> &may = pinsHold_[stages];
  if (!may.empty())
    return may[node];
  may.assign(nodes_, 1);
  size_t pins = problem.pins.size();
  std::vector<int64_t> all(pins);
  for (Id layer : pinned_)
    for (Id pin : problem.layers[layer].pins)
      ++all[pin];
  for (Id pin = 0; pin < pins; ++pin) {
    const PlacementProblem::Pin &one = problem.pins[pin];
    if (!one.stage && !one.together)
      continue;
    std::vector<int64_t> held(nodes_); // layers of it in a set
    for (uint32_t at = 0; at < nodes_; ++at) {
      if (at > 0) {
        const std::vector<Id> &of = problem.layers[added_[at]].pins;
        held[at] = held[below_[at]] + (std::find(of.begin(), of.end(), pin) != of.end());
      }
      if (one.stage)
        may[at] &= held[at] == (*one.stage < stages ? all[pin] : 0);
      if (one.together)
        may[at] &= held[at] == 0 || held[at] == all[pin];
    }
  }
  return may[node];
}

void Space::listPrefixes() { nodes_ = static_cast<uint32_t>(problem.layers.size() + 1); }

bool Space::listSets(size_t mostSets) {
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
        if (has(set, i) || !std::all_of(needs[i].begin(), needs[i].end(),
                                        [&, &held = set](Id of) { return has(held, of); }))
          continue;
        auto bigger = set;
        bigger[i / 64] |= uint64_t{1} << (i % 64);
        next.emplace(bigger, 0);
        covers.push_back({node, std::move(bigger)});
        if (sets_.size() + next.size() > mostSets)
          return false;
      }
    for (auto &[set, node] : next) {
      node = static_cast<uint32_t>(sets_.size());
      sets_.push_back(set);
    }
    above_.resize(sets_.size());
    for (auto &[node, set] : covers)
      above_[node].push_back(next[set]);
    level = std::move(next);
  }
  nodes_ = static_cast<uint32_t>(sets_.size());
  return true;
}

std::vector<Id> Space::layersBetween(uint32_t from, uint32_t to) const {
  std::vector<Id> layers;
  if (sets_.empty()) {
    for (uint32_t i = from; i < to; ++i)
      layers.push_back(i);
    return layers;
  }
  for (size_t w = 0; w < sets_[to].size(); ++w)
    for (uint64_t bits = sets_[to][w] & ~sets_[from][w]; bits; bits &= bits - 1)
      layers.push_back(static_cast<Id>(w * 64 + static_cast<size_t>(__builtin_ctzll(bits))));
  return layers;
}

bool Space::holds(uint32_t from, uint32_t to, Id layer) const {
  if (sets_.empty())
    return from <= layer && layer < to;
  auto has = [&](uint32_t node) { return (sets_[node][layer / 64] >> (layer % 64) & 1) != 0; };
  return has(to) && !has(from);
}

std::vector<int64_t> Space::chains(const std::vector<int64_t> &time) const {
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

int64_t Space::before(const std::vector<int64_t> &chainTo, uint32_t from, uint32_t to) const {
  int64_t longest = 0;
  auto in = [&](uint32_t node, Id layer) {
    return sets_.empty() ? layer < node : (sets_[node][layer / 64] >> (layer % 64) & 1) != 0;
  };
  for (const PlacementProblem::Edge &edge : problem.edges)
    if (edge.bytes > 0 && in(from, edge.from) && !in(from, edge.to) && in(to, edge.to))
      longest = std::max(longest, chainTo[edge.from]);
  return longest;
}

} // namespace accord::placing
