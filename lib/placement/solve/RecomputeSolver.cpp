#include "lib/placement/solve/RecomputeSolver.h"
#include "lib/placement/solve/RecomputeKnapsack.h"
#include "lib/search/ParetoFront.h"
#include <algorithm>
#include <map>

namespace accord::placing {
namespace {

uint64_t mix(uint64_t a, uint64_t b) {
  a ^= b + 0x9e3779b97f4a7c15 + (a << 6) + (a >> 2);
  a = (a ^ (a >> 31)) * 0xbf58476d1ce4e5b9;
  return a ^ (a >> 29);
}

struct Places {
  std::vector<KnapsackItem> items;
  std::vector<std::vector<std::pair<size_t, size_t>>> layers; ///< by item: part, position
  int64_t staticMemory = 0, hostStaticMemory = 0;

  /// Bytes that a choice has in the host's memory at most.
  int64_t host(const KnapsackChoice &choice, const std::vector<std::vector<int64_t>> &held) const {
    int64_t max = 0;
    for (const std::vector<int64_t> &moment : held) {
      int64_t sum = 0;
      for (size_t item = 0; item < items.size(); ++item)
        for (size_t recomputeChoice = 0; recomputeChoice < choice.counts[item].size(); ++recomputeChoice)
          sum += moment[items[item].part] * choice.counts[item][recomputeChoice] *
                 (*items[item].recomputeChoices)[recomputeChoice].hostActivations;
      max = std::max(max, sum);
    }
    return hostStaticMemory + max;
  }
};

Places placesOf(const DownSetLattice &lattice, Id parallelConfig, const std::vector<Part> &parts) {
  Places places;
  for (size_t part = 0; part < parts.size(); ++part) {
    places.staticMemory += lattice.between(parallelConfig, parts[part].from, parts[part].to).staticMemory;
    places.hostStaticMemory += lattice.between(parallelConfig, parts[part].from, parts[part].to).hostStaticMemory;
    std::map<Id, size_t> at;
    auto layers = lattice.layersBetween(parts[part].from, parts[part].to);
    for (size_t i = 0; i < layers.size(); ++i) {
      auto [found, added] = at.emplace(lattice.problem.layers[layers[i]].of, places.items.size());
      if (added) {
        const auto &cost = *lattice.problem.cost(layers[i], parallelConfig);
        places.items.push_back({&cost.recomputeChoices, 0, part, cost.recomputeJoules});
        places.layers.emplace_back();
      }
      ++places.items[found->second].count;
      places.layers[found->second].push_back({part, i});
    }
  }
  return places;
}

GroupRecomputeChoice optionOf(const Places &places, const KnapsackChoice &choice, const std::vector<size_t> &sizes) {
  GroupRecomputeChoice option;
  option.recomputeTime.resize(sizes.size());
  for (size_t size : sizes)
    option.recomputeChoices.emplace_back(size);
  for (size_t item = 0; item < places.items.size(); ++item) {
    size_t next = 0;
    for (uint32_t recomputeChoice = 0; recomputeChoice < choice.counts[item].size(); ++recomputeChoice)
      for (int64_t n = 0; n < choice.counts[item][recomputeChoice]; ++n, ++next) {
        auto [part, position] = places.layers[item][next];
        option.recomputeChoices[part][position] = recomputeChoice;
        int64_t recomputeTime = (*places.items[item].recomputeChoices)[recomputeChoice].recomputeTime;
        option.recomputeTime[part] += recomputeTime;
        option.joules += places.items[item].recomputeJoules * recomputeTime;
      }
  }
  return option;
}

bool noWorse(const GroupRecomputeChoice &a, const GroupRecomputeChoice &b) {
  return isAtMost(a.recomputeTime, b.recomputeTime) && a.joules <= b.joules;
}

/// Of the choices one of the least recomputation; nothing if there are none.
const KnapsackChoice *fastestOf(const Places &places, const std::vector<KnapsackChoice> &choices) {
  const KnapsackChoice *best = nullptr;
  int64_t min = INT64_MAX;
  for (const KnapsackChoice &choice : choices) {
    int64_t time = 0;
    for (size_t item = 0; item < places.items.size(); ++item)
      for (size_t k = 0; k < choice.counts[item].size(); ++k)
        time += choice.counts[item][k] * (*places.items[item].recomputeChoices)[k].recomputeTime;
    if (time < min)
      min = time, best = &choice;
  }
  return best;
}

using Which = RecomputeSolver::Which;

/// Options that differ in time or energy; where one of no more time and energy will do, only those that none beats.
std::vector<GroupRecomputeChoice> distinctOptions(const Places &places, const std::vector<KnapsackChoice> &choices,
                                                  const std::vector<size_t> &sizes, Which which, int64_t &work) {
  std::map<std::pair<std::vector<int64_t>, double>, GroupRecomputeChoice> distinct;
  for (const KnapsackChoice &choice : choices) {
    GroupRecomputeChoice option = optionOf(places, choice, sizes);
    if (which == Which::ParetoTimes || which == Which::Distinct)
      option.joules = 0;
    auto key = std::make_pair(option.recomputeTime, option.joules);
    distinct.emplace(std::move(key), std::move(option));
  }
  bool dominates = which < Which::Distinct;
  if (dominates)
    work += static_cast<int64_t>(distinct.size() * distinct.size() / 8);
  std::vector<GroupRecomputeChoice> list;
  for (const auto &[key, option] : distinct)
    if (!dominates || std::none_of(distinct.begin(), distinct.end(), [&, &mine = option](const auto &other) {
          return &other.second != &mine && noWorse(other.second, mine);
        }))
      list.push_back(option);
  return list;
}

} // namespace

std::optional<int64_t> RecomputeSolver::minRecomputeTime(Id parallelConfig, uint32_t from, uint32_t to,
                                                         int64_t inFlight, int64_t memory) {
  Sums sums = lattice_.between(parallelConfig, from, to);
  if (sums.cannot || sums.staticMemory > memory ||
      sums.hostStaticMemory > lattice_.problem.deviceTypeOf(parallelConfig).hostMemory ||
      sums.minActivations > (memory - sums.staticMemory) / inFlight)
    return std::nullopt;
  if (sums.staticMemory + inFlight * sums.activations + lattice_.maxWorkspace(parallelConfig) <= memory)
    return sums.recomputeTime;
  uint64_t key = mix(mix(mix(lattice_.classesOf(from, to), parallelConfig), inFlight), memory);
  auto [found, added] = cache_.emplace(key, -1);
  if (added) {
    Places places = placesOf(lattice_, parallelConfig, {{from, to}});
    if (auto optimum = solveKnapsack(places.items, {{inFlight}}, memory - places.staticMemory))
      found->second = optimum->bound;
  }
  return found->second < 0 ? std::nullopt : std::optional(found->second);
}

RecomputeSolver::Options RecomputeSolver::options(Id parallelConfig, const std::vector<Part> &parts,
                                                  const InFlightStates &held, int64_t memory, Which which) {
  Places places = placesOf(lattice_, parallelConfig, parts);
  std::vector<size_t> sizes;
  for (const Part &part : parts)
    sizes.push_back(lattice_.count(part.from, part.to));
  Options options;
  int64_t budget = memory - places.staticMemory, fastest = 0;
  for (const Part &part : parts)
    fastest += lattice_.between(parallelConfig, part.from, part.to).recomputeTime;
  int64_t host = lattice_.problem.deviceTypeOf(parallelConfig).hostMemory;
  auto optimum = solveKnapsack(places.items, held, budget, parts.size() > 1);
  if (!optimum || places.hostStaticMemory > host)
    return options;
  // `solveKnapsack` knows nothing of the host: what it chose may be too much for it.
  bool room = places.host(optimum->choice, held) <= host;
  // No recomputation that can be done without: nothing takes less time or energy.
  bool enough = room && (which == Which::MinTime || (which == Which::ParetoTimes && parts.size() == 1) ||
                         (which < Which::Distinct && optimum->exact && optimum->bound == fastest));
  if (!enough) {
    std::vector<KnapsackChoice> all;
    options.exact = enumerateChoices(places.items, held, budget, which < Which::Distinct ? 1024 : 8192, all);
    options.work += static_cast<int64_t>(all.size() * 16);
    std::erase_if(all, [&](const KnapsackChoice &choice) { return places.host(choice, held) > host; });
    if (!room && which == Which::MinTime) { // the best of those that are known
      if (const KnapsackChoice *best = fastestOf(places, all))
        options.list.push_back(optionOf(places, *best, sizes));
      return options;
    }
    if (options.exact) {
      options.list = distinctOptions(places, all, sizes, which, options.work);
      return options;
    }
  }
  options.exact &= optimum->exact && enough;
  if (room)
    options.list.push_back(optionOf(places, optimum->choice, sizes));
  return options;
}

const std::vector<InFlightStates> &RecomputeSolver::held(const PipelineShape &shape) {
  constexpr size_t kMaxNumbers = 4'000'000;
  std::array<int64_t, 4> key{static_cast<int64_t>(shape.schedule), shape.groups, shape.virtualStages,
                             shape.microbatches};
  if (auto found = held_.find(key); found != held_.end())
    return found->second;
  if (numbers_ > kMaxNumbers)
    held_.clear(), numbers_ = 0;
  std::vector<InFlightStates> &all = held_[key];
  for (int64_t g = 0; g < shape.groups; ++g) {
    all.push_back(inFlightStatesOf(shape, g));
    for (const auto &moment : all.back())
      numbers_ += moment.size();
  }
  return all;
}

} // namespace accord::placing
