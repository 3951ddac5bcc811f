#include "lib/ensembles/verify/MemberPlacementChecker.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace accord {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Sums of doubles in another order are equal within this.
constexpr double kRounding = 1e-12;

} // namespace

/// Adds all loads of a device that have the members in `load` and more, of ways from one on.
bool MemberPlacementChecker::addLoads(unsigned device, unsigned kind, unsigned alternative, Load &load,
                                      const std::vector<unsigned> &counts, std::vector<Load> &loads) {
  if (!spend(1))
    return false;
  if (kind == counts.size()) {
    loads.push_back(load);
    return true;
  }
  const auto &alternatives = problem.kinds[kind].alternatives[device];
  if (alternative == alternatives.size())
    return addLoads(device, kind + 1, 0, load, counts, loads);
  if (!addLoads(device, kind, alternative + 1, load, counts, loads))
    return false;
  if (alternatives[alternative].devices > 1)
    return true;
  int64_t memory = problem.devices[device].memory;
  Load more = load;
  while (more.counts[kind] < counts[kind]) {
    ++more.counts[kind];
    more.time += alternatives[alternative].time;
    more.state += alternatives[alternative].state;
    more.activations = std::max(more.activations, alternatives[alternative].activations);
    more.joules += alternatives[alternative].joules;
    if (memory > 0 && more.state + more.activations > memory)
      break;
    Load next = more;
    if (!addLoads(device, kind, alternative + 1, next, counts, loads))
      return false;
  }
  return true;
}

/// What one device, or a group for one member, may have.
bool MemberPlacementChecker::loadsOf(unsigned device, const std::vector<unsigned> &counts, std::vector<Load> &loads) {
  Load none;
  none.counts.assign(counts.size(), 0);
  Load load = none;
  if (!addLoads(device, 0, 0, load, counts, loads))
    return false;
  int64_t memory = problem.devices[device].memory;
  for (size_t kind = 0; kind < counts.size(); ++kind)
    for (const MemberCost &alternative : problem.kinds[kind].alternatives[device])
      if (alternative.devices > 1 && counts[kind] > 0 &&
          (memory == 0 || alternative.state + alternative.activations <= memory)) {
        Load group = none;
        group.counts[kind] = 1;
        group.time = alternative.time, group.state = alternative.state, group.activations = alternative.activations;
        group.joules = alternative.joules, group.devices = alternative.devices;
        loads.push_back(group);
      }
  return true;
}

std::optional<double> MemberPlacementChecker::minSum(const std::vector<unsigned> &counts,
                                                     const std::vector<std::vector<Load>> &loads,
                                                     const std::function<double(unsigned, const Load &)> &amount) {
  // A state is how many of each kind are placed, as one number.
  std::vector<size_t> strides;
  size_t states = 1, members = 0;
  for (unsigned count : counts) {
    strides.push_back(states);
    states *= count + 1;
    members += count;
  }
  std::vector<double> min(states, kInfinity);
  min[0] = 0;
  for (unsigned d = 0; d < loads.size(); ++d) {
    std::vector<Part> parts;
    int64_t widest = 1;
    for (const Load &load : loads[d]) {
      double takes = amount(d, load);
      size_t state = 0;
      for (size_t k = 0; k < counts.size(); ++k)
        state += load.counts[k] * strides[k];
      if (std::isfinite(takes) && state > 0)
        parts.push_back({state, load.devices, takes}), widest = std::max(widest, load.devices);
    }
    // More devices than that have no members.
    int64_t devices = std::min<int64_t>(problem.devices[d].count, widest * static_cast<int64_t>(members));
    std::vector<std::vector<double>> after(static_cast<size_t>(devices) + 1, std::vector<double>(states, kInfinity));
    after[0] = min;
    for (size_t used = 0; used < static_cast<size_t>(devices); ++used) {
      if (!spend(states * (parts.size() + 1)))
        return std::nullopt;
      for (size_t state = 0; state < states; ++state)
        after[used + 1][state] = std::min(after[used + 1][state], after[used][state]);
      for (const Part &part : parts) {
        size_t then = used + static_cast<size_t>(part.devices);
        if (then > static_cast<size_t>(devices))
          continue;
        for (size_t state = 0; state + part.state < states; ++state) {
          bool room = std::isfinite(after[used][state]);
          for (size_t k = 0; k < counts.size() && room; ++k) {
            size_t modulus = counts[k] + 1;
            room = state / strides[k] % modulus + part.state / strides[k] % modulus < modulus;
          }
          if (room)
            after[then][state + part.state] =
                std::min(after[then][state + part.state], after[used][state] + part.amount);
        }
      }
    }
    min = after.back();
  }
  return min.back();
}

bool MemberPlacementChecker::eachAlone(const std::vector<unsigned> &counts, double limit) const {
  for (size_t kind = 0; kind < counts.size(); ++kind) {
    bool runs = counts[kind] == 0;
    for (size_t d = 0; d < problem.devices.size() && !runs; ++d)
      for (const MemberCost &alternative : problem.kinds[kind].alternatives[d]) {
        int64_t memory = alternative.state + alternative.activations;
        bool fits = problem.devices[d].memory == 0 || memory <= problem.devices[d].memory;
        double memberErrors = problem.objective == MemberObjective::StepTime ? static_cast<double>(alternative.time)
                              : problem.objective == MemberObjective::Memory ? static_cast<double>(memory)
                              : problem.objective == MemberObjective::Energy ? alternative.joules
                                                                             : 0;
        runs |= fits && memberErrors < limit;
      }
    if (!runs)
      return false;
  }
  return true;
}

bool MemberPlacementChecker::greedily(const std::vector<unsigned> &counts, double limit) const {
  std::vector<PlacedMember> members;
  for (unsigned kind = 0; kind < counts.size(); ++kind)
    for (unsigned i = 0; i < counts[kind]; ++i) {
      std::optional<std::pair<double, PlacedMember>> best;
      for (unsigned d = 0; d < problem.devices.size(); ++d)
        for (unsigned w = 0; w < problem.kinds[kind].alternatives[d].size(); ++w) {
          if (problem.kinds[kind].alternatives[d][w].devices > 1)
            continue;
          // On a device that has members, or the first that has none.
          int64_t used = 0;
          for (const PlacedMember &other : members)
            if (other.device == d)
              used = std::max(used, other.first + 1);
          for (int64_t on = 0; on < std::min(used + 1, problem.devices[d].count); ++on) {
            int64_t state = 0, activations = 0;
            PlacedMember member{kind, d, w, on};
            members.push_back(member);
            for (const PlacedMember &other : members)
              if (other.device == d && other.first == on) {
                const MemberCost &alternative = problem.kinds[other.kind].alternatives[d][other.alternative];
                state += alternative.state, activations = std::max(activations, alternative.activations);
              }
            double value = valueOf(evaluateMembers(problem, members), problem.objective);
            members.pop_back();
            bool fits = problem.devices[d].memory == 0 || state + activations <= problem.devices[d].memory;
            if (fits && value < limit && (!best || value < best->first))
              best = {value, member};
          }
        }
      if (!best)
        return false;
      members.push_back(best->second);
    }
  return true;
}

std::optional<bool> MemberPlacementChecker::below(const std::vector<unsigned> &counts, double value) {
  if (!eachAlone(counts, value * (1 - kRounding)))
    return false;
  if (greedily(counts, value * (1 - kRounding)))
    return true;
  size_t states = 1;
  for (unsigned count : counts)
    if ((states *= count + 1) > 100'000)
      return std::nullopt;
  double limit = value * (1 - kRounding);
  std::vector<std::vector<Load>> loads(problem.devices.size());
  for (unsigned d = 0; d < loads.size(); ++d)
    if (!loadsOf(d, counts, loads[d]))
      return std::nullopt;
  auto within = [](bool holds) { return holds ? 0 : kInfinity; };
  std::optional<double> sum;
  switch (problem.objective) {
  case MemberObjective::StepTime:
    sum = minSum(counts, loads, [&](unsigned, const Load &load) { return within(load.time < limit); });
    return sum ? std::optional(std::isfinite(*sum)) : std::nullopt;
  case MemberObjective::Memory:
    sum = minSum(counts, loads,
                 [&](unsigned, const Load &load) { return within((load.state + load.activations) < limit); });
    return sum ? std::optional(std::isfinite(*sum)) : std::nullopt;
  case MemberObjective::Energy:
    sum = minSum(counts, loads, [&](unsigned, const Load &load) { return load.joules; });
    return sum ? std::optional(*sum < limit) : std::nullopt;
  case MemberObjective::Price:
    break;
  }
  std::set<int64_t> times; // of the slowest device
  for (const auto &kind : loads)
    for (const Load &load : kind)
      times.insert(load.time);
  for (int64_t slowest : times) {
    sum = minSum(counts, loads, [&](unsigned d, const Load &load) {
      return load.time <= slowest ? problem.devices[d].pricePerHour * load.devices : kInfinity;
    });
    if (!sum)
      return std::nullopt;
    if (*sum * (slowest * 1e-12 / 3600) < limit)
      return true;
  }
  return false;
}

} // namespace accord
