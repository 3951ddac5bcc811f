#include "lib/placement/solve/PlaceKeeps.h"
#include "lib/placement/solve/PlaceKnapsack.h"
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
  int64_t resident = 0, hostResident = 0;

  /// Bytes that a choice has in the host's memory at most.
  int64_t host(const KnapsackChoice &choice, const std::vector<std::vector<int64_t>> &held) const {
    int64_t most = 0;
    for (const std::vector<int64_t> &moment : held) {
      int64_t sum = 0;
      for (size_t item = 0; item < items.size(); ++item)
        for (size_t keep = 0; keep < choice.counts[item].size(); ++keep)
          sum += moment[items[item].part] * choice.counts[item][keep] *
                 (*items[item].keeps)[keep].hostKept;
      most = std::max(most, sum);
    }
    return hostResident + most;
  }
};

Places placesOf(const Space &space, Id form, const std::vector<Part> &parts) {
  Places places;
  for (size_t part = 0; part < parts.size(); ++part) {
    places.resident += space.between(form, parts[part].from, parts[part].to).resident;
    places.hostResident += space.between(form, parts[part].from, parts[part].to).hostResident;
    std::map<Id, size_t> at;
    auto layers = space.layersBetween(parts[part].from, parts[part].to);
    for (size_t i = 0; i < layers.size(); ++i) {
      auto [found, added] = at.emplace(space.problem.layers[layers[i]].of, places.items.size());
      if (added) {
        const auto &cost = *space.problem.cost(layers[i], form);
        places.items.push_back({&cost.keeps, 0, part, cost.joulesAgain});
        places.layers.emplace_back();
      }
      ++places.items[found->second].count;
      places.layers[found->second].push_back({part, i});
    }
  }
  return places;
}

KeepOption optionOf(const Places &places, const KnapsackChoice &choice,
                    const std::vector<size_t> &sizes) {
  KeepOption option;
  option.again.resize(sizes.size());
  for (size_t size : sizes)
    option.keeps.emplace_back(size);
  for (size_t item = 0; item < places.items.size(); ++item) {
    size_t next = 0;
    for (uint32_t keep = 0; keep < choice.counts[item].size(); ++keep)
      for (int64_t n = 0; n < choice.counts[item][keep]; ++n, ++next) {
        auto [part, position] = places.layers[item][next];
        option.keeps[part][position] = keep;
        int64_t again = (*places.items[item].keeps)[keep].again;
        option.again[part] += again;
        option.joules += places.items[item].joulesAgain * static_cast<double>(again);
      }
  }
  return option;
}

bool noWorse(const KeepOption &a, const KeepOption &b) {
  for (size_t i = 0; i < a.again.size(); ++i)
    if (a.again[i] > b.again[i])
      return false;
  return a.joules <= b.joules;
}

} // namespace

std::optional<int64_t> Keeps::leastAgain(Id form, uint32_t from, uint32_t to, int64_t inFlight,
                                         int64_t memory) {
  Sums sums = space_.between(form, from, to);
  if (sums.cannot || sums.resident > memory ||
      sums.hostResident > space_.problem.kinds[space_.problem.forms[form].kind].hostMemory ||
      sums.keptLeast > (memory - sums.resident) / inFlight)
    return std::nullopt;
  if (sums.resident + inFlight * sums.kept + space_.mostWorking(form) <= memory)
    return sums.again;
  uint64_t key = mix(mix(mix(space_.classesOf(from, to), form), static_cast<uint64_t>(inFlight)),
                     static_cast<uint64_t>(memory));
  auto [found, added] = cache_.emplace(key, -1);
  if (added) {
    Places places = placesOf(space_, form, {{from, to}});
    if (auto least = leastOf(places.items, {{inFlight}}, memory - places.resident))
      found->second = least->bound;
  }
  return found->second < 0 ? std::nullopt : std::optional(found->second);
}

Keeps::Options Keeps::options(Id form, const std::vector<Part> &parts, const Held &held,
                              int64_t memory, Which which) {
  Places places = placesOf(space_, form, parts);
  std::vector<size_t> sizes;
  for (const Part &part : parts)
    sizes.push_back(static_cast<size_t>(space_.count(part.from, part.to)));
  Options options;
  int64_t budget = memory - places.resident, fastest = 0;
  for (const Part &part : parts)
    fastest += space_.between(form, part.from, part.to).again;
  int64_t host = space_.problem.kinds[space_.problem.forms[form].kind].hostMemory;
  auto least = leastOf(places.items, held, budget, parts.size() > 1);
  if (!least || places.hostResident > host)
    return options;
  // `leastOf` knows nothing of the host: what it chose may be too much for it.
  bool room = places.host(least->choice, held) <= host;
  // No recomputation that can be done without: nothing takes less time or energy.
  bool enough = room && (which == Which::Least || (which == Which::Times && parts.size() == 1) ||
                         (which < Which::Distinct && least->exact && least->bound == fastest));
  if (!enough) {
    std::vector<KnapsackChoice> all;
    bool dominates = which < Which::Distinct;
    options.exact = allOf(places.items, held, budget, dominates ? 1024 : 8192, all);
    options.work += static_cast<int64_t>(all.size() * 16);
    std::erase_if(all,
                  [&](const KnapsackChoice &choice) { return places.host(choice, held) > host; });
    if (!room && which == Which::Least) { // the best of those that are known
      const KnapsackChoice *best = nullptr;
      int64_t time = INT64_MAX;
      for (const KnapsackChoice &choice : all) {
        int64_t again = 0;
        for (size_t item = 0; item < places.items.size(); ++item)
          for (size_t keep = 0; keep < choice.counts[item].size(); ++keep)
            again += choice.counts[item][keep] * (*places.items[item].keeps)[keep].again;
        if (again < time)
          time = again, best = &choice;
      }
      if (best)
        options.list.push_back(optionOf(places, *best, sizes));
      return options;
    }
    std::map<std::pair<std::vector<int64_t>, double>, KeepOption> distinct;
    if (options.exact)
      for (const KnapsackChoice &choice : all) {
        KeepOption option = optionOf(places, choice, sizes);
        if (which == Which::Times || which == Which::Distinct)
          option.joules = 0;
        auto key = std::make_pair(option.again, option.joules);
        distinct.emplace(std::move(key), std::move(option));
      }
    if (dominates)
      options.work += static_cast<int64_t>(distinct.size() * distinct.size() / 8);
    std::vector<const KeepOption *> kept;
    for (const auto &[key, option] : distinct)
      if (!dominates ||
          std::none_of(distinct.begin(), distinct.end(), [&, &mine = option](const auto &other) {
            return &other.second != &mine && noWorse(other.second, mine);
          }))
        kept.push_back(&option);
    for (const KeepOption *option : kept)
      options.list.push_back(*option);
    if (options.exact)
      return options;
  }
  options.exact &= least->exact && enough;
  if (room)
    options.list.push_back(optionOf(places, least->choice, sizes));
  return options;
}

const std::vector<Held> &Keeps::held(const PipelineShape &shape) {
  constexpr size_t Most = 4'000'000;
  std::array<int64_t, 4> key{static_cast<int64_t>(shape.schedule), shape.groups, shape.chunks,
                             shape.microbatches};
  if (auto found = held_.find(key); found != held_.end())
    return found->second;
  if (numbers_ > Most)
    held_.clear(), numbers_ = 0;
  std::vector<Held> &all = held_[key];
  for (int64_t g = 0; g < shape.groups; ++g) {
    all.push_back(heldOf(shape, g));
    for (const auto &moment : all.back())
      numbers_ += moment.size();
  }
  return all;
}

} // namespace accord::placing
