#include "lib/ensembles/solve/MemberPlacer.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

namespace accord {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Sums of doubles in another order differ by less; what is nearer is equal.
constexpr double kRounding = 1e-14;
constexpr double kHoursPerPicosecond = 1e-12 / 3600;

bool fits(const MemberCost &alternative, const MemberProblem::Device &device) {
  return device.memory == 0 || alternative.state + alternative.activations <= device.memory;
}

/// Calls `f(device, way)` for each way in which a member of a kind runs alone.
template <typename F> void eachAlternative(const MemberProblem &problem, unsigned kind, F f) {
  for (unsigned d = 0; d < problem.devices.size(); ++d)
    for (unsigned w = 0; w < problem.kinds[kind].alternatives[d].size(); ++w)
      if (fits(problem.kinds[kind].alternatives[d][w], problem.devices[d]))
        f(d, w);
}

/// The least of something over those ways; infinite: there is none.
template <typename F> double minOf(const MemberProblem &problem, unsigned kind, F value) {
  double min = kInfinity;
  eachAlternative(problem, kind, [&](unsigned d, unsigned w) {
    min = std::min<double>(min, value(problem.kinds[kind].alternatives[d][w], problem.devices[d], d));
  });
  return min;
}

unsigned sizeOf(const std::vector<unsigned> &counts) { return std::accumulate(counts.begin(), counts.end(), 0u); }

/// Devices of a kind that so many members can use.
int64_t usable(const MemberProblem &problem, unsigned device, unsigned members) {
  int64_t max = 1;
  for (const MemberProblem::Kind &kind : problem.kinds)
    for (const MemberCost &alternative : kind.alternatives[device])
      max = std::max(max, alternative.devices);
  return std::min<int64_t>(problem.devices[device].count, max <= problem.devices[device].count / int64_t(members) + 1
                                                              ? max * members
                                                              : problem.devices[device].count);
}

} // namespace

MemberPlacer::MemberPlacer(const MemberProblem &problem, QuorumError left, uint64_t effort)
    : problem(problem), left(std::move(left)), effort(effort), order(problem.kinds.size()) {
  std::iota(order.begin(), order.end(), 0u);
  std::vector<double> times;
  for (unsigned kind : order)
    times.push_back(
        minOf(problem, kind, [&](const MemberCost &alternative, auto &, unsigned) { return alternative.time; }));
  std::ranges::sort(order, {}, [&](unsigned kind) { return std::pair(-times[kind], kind); });
}

double MemberPlacer::amountOf(const MemberCost &alternative) const {
  switch (problem.objective) {
  case MemberObjective::StepTime:
  case MemberObjective::Price:
    return alternative.time;
  case MemberObjective::Memory:
    return alternative.state;
  case MemberObjective::Energy:
    return 0;
  }
  return 0;
}

double MemberPlacer::weightedBound(const std::vector<unsigned> &counts, const std::vector<double> &weights) const {
  double amount = 0, room = 0;
  for (unsigned kind = 0; kind < counts.size(); ++kind)
    if (counts[kind])
      amount += counts[kind] * minOf(problem, kind, [&](const MemberCost &alternative, auto &, unsigned d) {
                  return weights[d] * alternative.devices * amountOf(alternative);
                });
  for (unsigned d = 0; d < problem.devices.size(); ++d)
    room += weights[d] * usable(problem, d, sizeOf(counts));
  return amount / room;
}

/// Weights are raised where the fractional assignment that is best for them loads a device most;
/// any are right, the best of some rounds are taken.
std::vector<double> MemberPlacer::weightsFor(const std::vector<unsigned> &counts) const {
  constexpr unsigned kRounds = 40;
  std::vector<double> weights(problem.devices.size(), 1), best = weights;
  double bound = weightedBound(counts, weights);
  for (unsigned round = 0; round < kRounds && weights.size() > 1; ++round) {
    std::vector<double> loads(weights.size(), 0);
    for (unsigned kind = 0; kind < counts.size(); ++kind) {
      double min = kInfinity, amount = 0;
      unsigned at = 0;
      eachAlternative(problem, kind, [&](unsigned d, unsigned w) {
        const MemberCost &alternative = problem.kinds[kind].alternatives[d][w];
        double here = alternative.devices * amountOf(alternative);
        if (weights[d] * here < min)
          min = weights[d] * here, at = d, amount = here;
      });
      loads[at] += counts[kind] * amount / usable(problem, at, sizeOf(counts));
    }
    double max = *std::ranges::max_element(loads);
    if (!(max > 0))
      break;
    for (size_t d = 0; d < weights.size(); ++d)
      weights[d] *= 1 + loads[d] / max / (2 + round);
    if (double found = weightedBound(counts, weights); found > bound)
      bound = found, best = weights;
  }
  return best;
}

double MemberPlacer::bound(const std::vector<unsigned> &counts) const {
  double longestMember = 0, joules = 0, rent = 0;
  for (unsigned kind = 0; kind < counts.size(); ++kind) {
    if (!counts[kind])
      continue;
    double min = minOf(problem, kind, [&](const MemberCost &alternative, auto &, unsigned) {
      return problem.objective == MemberObjective::Memory ? alternative.state + alternative.activations
                                                          : alternative.time;
    });
    if (std::isinf(min))
      return kInfinity;
    longestMember = std::max(longestMember, min);
    joules += counts[kind] *
              minOf(problem, kind, [](const MemberCost &alternative, auto &, unsigned) { return alternative.joules; });
    rent = std::max(rent, minOf(problem, kind, [](const MemberCost &alternative, auto &device, unsigned) {
                      return alternative.devices * device.pricePerHour;
                    }));
  }
  if (problem.objective == MemberObjective::Energy)
    return joules * (1 - kRounding);
  double max = std::max(longestMember, weightedBound(counts, weightsFor(counts)) * (1 - kRounding));
  return problem.objective == MemberObjective::Price ? rent * max * kHoursPerPicosecond * (1 - kRounding) : max;
}

struct MemberPlacer::Search {
  struct Slot {
    int64_t time = 0, state = 0, activations = 0;
    bool used = false, closed = false; ///< closed: a group of devices has it for itself
    std::vector<unsigned> counts = {}; ///< members that are lost with it, where that matters; of a group at its first
    bool operator==(const Slot &) const = default;
  };
  struct Option {
    double value = 0;
    PlacedMember member;
  };

  Search(const MemberPlacer &placer, const std::vector<unsigned> &counts, double limit)
      : placer(placer), problem(placer.problem), counts(counts), limit(limit) {
    for (unsigned kind : placer.order)
      members.insert(members.end(), counts[kind], kind);
    for (unsigned d = 0; d < problem.devices.size(); ++d) {
      int64_t number = usable(problem, d, members.size());
      slots.emplace_back(number);
      if (problem.deviceFailures)
        for (Slot &slot : slots.back())
          slot.counts.assign(problem.kinds.size(), 0);
      room += number;
    }
    weights = {std::vector<double>(problem.devices.size(), 1), placer.weightsFor(counts)};
    for (const std::vector<double> &w : weights) {
      double all = 0;
      for (unsigned d = 0; d < slots.size(); ++d)
        all += w[d] * slots[d].size();
      rooms.push_back(all);
      std::vector<double> rest(members.size() + 1, 0);
      for (size_t i = members.size(); i-- > 0;)
        rest[i] = rest[i + 1] + minOf(problem, members[i], [&](const MemberCost &alternative, auto &, unsigned d) {
                    return w[d] * alternative.devices * placer.amountOf(alternative);
                  });
      amounts.push_back(std::move(rest));
      filled.push_back(0);
    }
    joulesLeft.assign(members.size() + 1, 0);
    for (size_t i = members.size(); i-- > 0;)
      joulesLeft[i] =
          joulesLeft[i + 1] + minOf(problem, members[i],
                                    [](const MemberCost &alternative, auto &, unsigned) { return alternative.joules; });
  }

  /// What no completion of the placement of the first `done` members is below.
  double reached(size_t done) const {
    if (problem.objective == MemberObjective::Energy)
      return joules + joulesLeft[done];
    double max = problem.objective == MemberObjective::Memory ? memory : time;
    for (size_t w = 0; w < weights.size(); ++w)
      max = std::max(max, (filled[w] + amounts[w][done]) / rooms[w]);
    return problem.objective == MemberObjective::Price ? rent * max * kHoursPerPicosecond : max;
  }
  bool below(double value) const { return value < limit * (1 - kRounding); }

  /// Whether the vote can still do with every loss of devices: those that have members by now lose
  /// no fewer later.
  bool survives(bool complete) {
    if (!problem.deviceFailures || !problem.max)
      return true;
    std::vector<const Slot *> used;
    for (const auto &kind : slots)
      for (const Slot &slot : kind)
        if (std::ranges::any_of(slot.counts, [](unsigned count) { return count > 0; }))
          used.push_back(&slot);
    if (used.size() <= problem.deviceFailures) // all of them
      return !complete || *problem.max >= Rational(1);
    std::vector<unsigned> remaining = counts;
    return survivesFailures(used, 0, problem.deviceFailures, remaining);
  }
  bool survivesFailures(const std::vector<const Slot *> &used, size_t from, unsigned more,
                        std::vector<unsigned> &remaining) {
    if (more == 0)
      return placer.left(remaining) <= *problem.max;
    for (size_t i = from; i + more <= used.size(); ++i) {
      for (size_t k = 0; k < remaining.size(); ++k)
        remaining[k] -= used[i]->counts[k];
      bool holds = survivesFailures(used, i + 1, more - 1, remaining);
      for (size_t k = 0; k < remaining.size(); ++k)
        remaining[k] += used[i]->counts[k];
      if (!holds)
        return false;
    }
    return true;
  }

  struct State {
    int64_t time, memory;
    double joules, rent;
    std::vector<double> filled;
    std::vector<Slot> slots;
  };
  State put(const PlacedMember &member) {
    const MemberCost &alternative = problem.kinds[member.kind].alternatives[member.device][member.alternative];
    auto first = slots[member.device].begin() + member.first, last = first + alternative.devices;
    State before{time, memory, joules, rent, filled, {first, last}};
    joules += alternative.joules;
    for (auto slot = first; slot != last; ++slot) {
      if (!slot->used)
        rent += problem.devices[member.device].pricePerHour;
      slot->used = true;
      slot->closed = alternative.devices > 1;
      slot->time += alternative.time;
      slot->state += alternative.state;
      slot->activations = std::max(slot->activations, alternative.activations);
      if (problem.deviceFailures && slot == first) // whichever of a group is lost
        ++slot->counts[member.kind];
      time = std::max(time, slot->time);
      memory = std::max(memory, slot->state + slot->activations);
    }
    for (size_t w = 0; w < weights.size(); ++w)
      filled[w] += weights[w][member.device] * alternative.devices * placer.amountOf(alternative);
    return before;
  }
  void undo(const PlacedMember &member, State before) {
    std::ranges::copy(before.slots, slots[member.device].begin() + member.first);
    time = before.time, memory = before.memory, joules = before.joules, rent = before.rent;
    filled = std::move(before.filled);
  }

  bool hasRoom(const Slot &slot, const MemberCost &alternative, unsigned device) const {
    return problem.devices[device].memory == 0 ||
           slot.state + alternative.state + std::max(slot.activations, alternative.activations) <=
               problem.devices[device].memory;
  }

  /// Where the next member may go: of devices that are alike only the first.
  std::vector<Option> options(size_t next) {
    std::vector<Option> found;
    unsigned kind = members[next];
    const PlacedMember *after = next > 0 && members[next - 1] == kind ? &placed[next - 1] : nullptr;
    eachAlternative(problem, kind, [&](unsigned d, unsigned w) {
      const MemberCost &alternative = problem.kinds[kind].alternatives[d][w];
      auto consider = [&](int64_t first) {
        PlacedMember member{kind, d, w, first};
        if (after && std::tuple(d, w, member.first) < std::tuple(after->device, after->alternative, after->first))
          return;
        State before = put(member);
        double value = reached(next + 1);
        if (below(value) && survives(next + 1 == members.size()))
          found.push_back({value, member});
        undo(member, std::move(before));
      };
      std::vector<Slot> &here = slots[d];
      if (alternative.devices > 1) { // groups are taken from those without members, in their order
        size_t first = 0;
        while (first < here.size() && here[first].used)
          ++first;
        const size_t last = first + alternative.devices;
        if (last <= here.size() && std::none_of(here.begin() + first, here.begin() + last, std::mem_fn(&Slot::used)))
          consider(first);
        return;
      }
      for (size_t s = 0; s < here.size(); ++s)
        if (!here[s].closed && hasRoom(here[s], alternative, d) &&
            !llvm::is_contained(llvm::ArrayRef(here).take_front(s), here[s]))
          consider(s);
    });
    std::ranges::sort(found, {}, [](const Option &option) {
      const PlacedMember &member = option.member;
      return std::tuple(option.value, member.device, member.alternative, member.first);
    });
    return found;
  }

  void run(size_t next) {
    if (steps >= placer.effort) {
      complete = false;
      return;
    }
    ++steps;
    if (next == members.size()) {
      MemberChoice choice = evaluateMembers(problem, placed);
      double value = valueOf(choice, problem.objective);
      if (below(value))
        limit = value, best = std::move(choice);
      return;
    }
    for (const Option &option : options(next)) {
      if (!below(option.value))
        break;
      State before = put(option.member);
      placed.push_back(option.member);
      run(next + 1);
      placed.pop_back();
      undo(option.member, std::move(before));
    }
  }

  const MemberPlacer &placer;
  const MemberProblem &problem;
  const std::vector<unsigned> &counts;
  double limit, room = 0, joules = 0, rent = 0;
  int64_t time = 0, memory = 0;
  std::vector<unsigned> members; ///< kinds, in the order of placing
  std::vector<std::vector<Slot>> slots;
  std::vector<std::vector<double>> weights, amounts; ///< amounts: of the members from one on
  std::vector<double> rooms, filled, joulesLeft;
  std::vector<PlacedMember> placed;
  uint64_t steps = 0;
  bool complete = true;
  std::optional<MemberChoice> best;
};

MemberPlacer::Result MemberPlacer::place(const std::vector<unsigned> &counts, double limit) const {
  if (!(bound(counts) < limit * (1 - kRounding)))
    return {};
  Search search(*this, counts, limit);
  search.run(0);
  return {std::move(search.best), search.complete};
}

} // namespace accord
