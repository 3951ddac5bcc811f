#include "lib/ensembles/verify/Members.h"
#include "llvm/ADT/STLForwardCompat.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>

namespace accord {

namespace {

constexpr double kTolerance = 1e-9;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Sums of doubles in another order are equal within this.
constexpr double kRounding = 1e-12;

bool near(double a, double b) { return a == b || std::abs(a - b) <= kTolerance * std::max(std::abs(a), std::abs(b)); }

/// Whether members can be placed below a value, for one problem.
class MemberPlacementChecker {
public:
  MemberPlacementChecker(const MemberProblem &problem, uint64_t effort) : problem(problem), effort(effort) {}

  /// Nothing: not known within the effort, which is that of all questions together.
  std::optional<bool> below(const std::vector<unsigned> &counts, double value) {
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
    if (problem.objective != MemberObjective::Price) {
      sum = minSum(counts, loads, [&](unsigned, const Load &load) {
        return problem.objective == MemberObjective::StepTime ? within(load.time < limit)
               : problem.objective == MemberObjective::Memory ? within(load.state + load.activations < limit)
                                                              : load.joules;
      });
      return sum ? std::optional(*sum < limit) : std::nullopt;
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

private:
  struct Load { ///< members of one device, and what they take
    std::vector<unsigned> counts;
    int64_t time = 0, state = 0, activations = 0;
    double joules = 0;
    int64_t devices = 1;
  };
  struct Part { ///< of a placement: what a device, or a group of them, has
    size_t state;
    int64_t devices;
    double amount;
  };

  bool spend(uint64_t steps) { return (used += steps) <= effort; }

  /// Adds all loads of a device that have the members in `load` and more, of ways from one on.
  bool addLoads(unsigned device, unsigned kind, unsigned alternative, Load &load, const std::vector<unsigned> &counts,
                std::vector<Load> &loads) {
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
  bool loadsOf(unsigned device, const std::vector<unsigned> &counts, std::vector<Load> &loads) {
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

  /// The least sum over devices of what loads amount to, infinite ones left out.
  std::optional<double> minSum(const std::vector<unsigned> &counts, const std::vector<std::vector<Load>> &loads,
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
      const size_t devices = std::min<int64_t>(problem.devices[d].count, widest * members);
      std::vector<std::vector<double>> after(devices + 1, std::vector<double>(states, kInfinity));
      after[0] = min;
      for (size_t used = 0; used < devices; ++used) {
        if (!spend(states * (parts.size() + 1)))
          return std::nullopt;
        for (size_t state = 0; state < states; ++state)
          after[used + 1][state] = std::min(after[used + 1][state], after[used][state]);
        for (const Part &part : parts) {
          size_t then = used + part.devices;
          if (then > devices)
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

  /// Whether every member has a way that is not above a limit by itself.
  bool eachAlone(const std::vector<unsigned> &counts, double limit) const {
    for (size_t kind = 0; kind < counts.size(); ++kind) {
      bool runs = counts[kind] == 0;
      for (size_t d = 0; d < problem.devices.size() && !runs; ++d)
        for (const MemberCost &alternative : problem.kinds[kind].alternatives[d]) {
          int64_t memory = alternative.state + alternative.activations;
          bool fits = problem.devices[d].memory == 0 || memory <= problem.devices[d].memory;
          const double values[] = {double(alternative.time), alternative.joules, double(memory), 0};
          runs |= fits && values[llvm::to_underlying(problem.objective)] < limit;
        }
      if (!runs)
        return false;
    }
    return true;
  }

  /// Whether members one after the other, each where the value then is least, stay below it.
  bool greedily(const std::vector<unsigned> &counts, double limit) const {
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

  const MemberProblem &problem;
  uint64_t effort, used = 0;
};

class MembersChecker {
public:
  MembersChecker(const MemberProblem &problem, const MembersResult &result, uint64_t effort)
      : problem(problem), result(result), placed(problem, effort) {}

  MembersProof run() {
    if (std::string wrong = check(problem); !wrong.empty()) {
      find(Code::MemoryExceeded, wrong);
      return std::move(out);
    }
    if (!sizes())
      return std::move(out);
    for (const MembersOfSize &of : result.sizes) {
      if (of.best)
        checkChoice(*of.best, of.size, true);
      if (of.minErrorChoice)
        checkChoice(*of.minErrorChoice, of.size, false);
    }
    if (!out.holds())
      return std::move(out);
    best();
    if (problem.max)
      bounds();
    return std::move(out);
  }

private:
  void find(Code code, std::string text) {
    if (out.findings.size() < 20)
      out.findings.push_back({code, std::move(text), {}, {}});
  }

  bool sizes() {
    bool same = result.sizes.size() == problem.sizes.size();
    for (size_t i = 0; same && i < problem.sizes.size(); ++i)
      same = result.sizes[i].size == problem.sizes[i];
    if (!same)
      find(Code::BoundNotProved, "the sizes that were searched are not those that were asked for");
    if (result.best && *result.best >= result.sizes.size())
      find(Code::BoundNotProved, "the best size is none of those that were asked for");
    for (const RejectedMembers &one : result.rejected)
      if (one.counts.size() != problem.kinds.size())
        find(Code::BoundNotProved, "refused members are of other kinds");
    return out.holds();
  }

  struct Load {
    int64_t time = 0, state = 0, activations = 0, members = 0;
    bool group = false;
  };

  void checkChoice(const MemberChoice &choice, unsigned size, bool keeps) {
    if (choice.members.size() != size)
      return find(Code::MemoryExceeded, fmt::format("{} members are placed of {}", choice.members.size(), size));
    std::vector<unsigned> counts(problem.kinds.size(), 0);
    std::map<std::pair<unsigned, int64_t>, Load> loads;
    double joules = 0, rent = 0;
    for (const PlacedMember &member : choice.members) {
      if (member.kind >= problem.kinds.size() || member.device >= problem.devices.size() ||
          member.alternative >= problem.kinds[member.kind].alternatives[member.device].size())
        return find(Code::MemoryExceeded, "a member is of no kind, or on no device");
      const MemberCost &alternative = problem.kinds[member.kind].alternatives[member.device][member.alternative];
      const MemberProblem::Device &device = problem.devices[member.device];
      if (member.first < 0 || member.first > device.count - alternative.devices)
        return find(Code::MemoryExceeded,
                    fmt::format("'{}' is on number {} of {} devices '{}'", problem.kinds[member.kind].name,
                                member.first, device.count, device.name));
      ++counts[member.kind];
      joules += alternative.joules;
      for (int64_t d = member.first; d < member.first + alternative.devices; ++d) {
        Load &load = loads[{member.device, d}];
        load.time += alternative.time, load.state += alternative.state, ++load.members;
        load.activations = std::max(load.activations, alternative.activations);
        load.group |= alternative.devices > 1;
      }
    }
    int64_t time = 0, memory = 0;
    for (const auto &[at, load] : loads) {
      const MemberProblem::Device &device = problem.devices[at.first];
      int64_t needs = load.state + load.activations;
      if (device.memory > 0 && needs > device.memory)
        find(Code::MemoryExceeded,
             fmt::format("members on '{}' need {} bytes of {}", device.name, needs, device.memory));
      if (load.group && load.members > 1)
        find(Code::MemoryExceeded, fmt::format("devices '{}' of a group have other members", device.name));
      time = std::max(time, load.time), memory = std::max(memory, needs);
      rent += device.pricePerHour;
    }
    if (counts != choice.counts)
      find(Code::MemoryExceeded, "numbers of members by kind are not those that are placed");
    double price = rent * time / 3.6e15;
    if (time != choice.time || memory != choice.memory || !near(joules, choice.joules) || !near(price, choice.price))
      find(Code::WrongObjective,
           fmt::format("a step of {} members takes {} ps, {} bytes, {} J and {} $; "
                       "stated are {}, {}, {} and {}",
                       size, time, memory, joules, price, choice.time, choice.memory, choice.joules, choice.price));
    if (keeps && (!problem.max || choice.error > *problem.max || choice.errorAfterFailures > *problem.max))
      find(Code::BoundNotProved, fmt::format("an error of {} does not keep what is required",
                                             std::max(choice.error, choice.errorAfterFailures).print()));
  }

  void best() {
    const MemberObjective objective = problem.objective;
    if (result.best && problem.max && !result.sizes[*result.best].best)
      find(Code::BoundNotProved,
           fmt::format("{} members are chosen, none of which keep what is required", result.sizes[*result.best].size));
    for (const MembersOfSize &of : result.sizes) {
      const MemberChoice *one = problem.max ? (of.best ? &*of.best : nullptr) : of.shown();
      if (!one)
        continue;
      if (!result.best || !result.sizes[*result.best].shown())
        return find(Code::BoundNotProved, fmt::format("{} members would suffice, none are chosen", of.size));
      const MemberChoice &chosen = *result.sizes[*result.best].shown();
      bool better = !problem.max && one->error != chosen.error
                        ? one->error < chosen.error
                        : valueOf(*one, objective) < valueOf(chosen, objective) * (1 - kTolerance);
      if (better)
        find(Code::BoundNotProved, fmt::format("{} members are better than those that are chosen", of.size));
      if (problem.max && of.bound > valueOf(*one, objective) * (1 + kTolerance))
        find(Code::BoundNotProved, fmt::format("the bound of {} members is above what was found", of.size));
      if (problem.max && result.bound > of.bound * (1 + kTolerance))
        find(Code::BoundNotProved, fmt::format("the bound is above that of {} members", of.size));
    }
    out.checked.push_back(
        fmt::format("members on their devices: {} ensembles, with memory, time, energy and price",
                    std::ranges::count_if(result.sizes, [](const MembersOfSize &of) { return of.shown(); })));
  }

  /// Calls `f` for all multisets of a size.
  template <typename F> void multisets(std::vector<unsigned> &counts, size_t at, unsigned size, F f) {
    if (at + 1 == counts.size()) {
      counts[at] = size;
      f(counts);
      return;
    }
    for (unsigned count = 0; count <= size; ++count) {
      counts[at] = count;
      multisets(counts, at + 1, size - count, f);
    }
  }

  void bounds() {
    std::map<std::vector<unsigned>, size_t> rejected;
    for (size_t i = 0; i < result.rejected.size(); ++i)
      rejected[result.rejected[i].counts] = i;
    uint64_t looked = 0, open = 0, cheaper = 0;
    std::vector<bool> used(result.rejected.size());
    for (const MembersOfSize &of : result.sizes) {
      std::vector<unsigned> counts(problem.kinds.size());
      multisets(counts, 0, of.size, [&](const std::vector<unsigned> &one) {
        ++looked;
        auto below = placed.below(one, of.bound);
        if (!below)
          ++open;
        else if (auto known = rejected.find(one);
                 *below && known != rejected.end() && result.rejected[known->second].error > *problem.max)
          used[known->second] = true;
        else if (*below && problem.deviceFailures > 0)
          ++cheaper;
        else if (*below)
          find(Code::BoundNotProved, fmt::format("{} members can be placed below the bound of {}", of.size, of.bound));
      });
    }
    for (size_t i = 0; i < used.size(); ++i)
      if (used[i])
        out.assumedRejections.push_back(i);
    out.checked.push_back(fmt::format("bounds by placing {} ensembles a second time", looked - open));
    if (open)
      out.trusted.push_back(fmt::format("the search, for {} ensembles that are too many steps to place again", open));
    if (cheaper)
      out.trusted.push_back(
          fmt::format("the search, that {} cheaper ensembles do not survive the loss of devices", cheaper));
  }

  const MemberProblem &problem;
  const MembersResult &result;
  MemberPlacementChecker placed;
  MembersProof out;
};

} // namespace

MembersProof verify(const MemberProblem &problem, const MembersResult &result, uint64_t effort) {
  return MembersChecker(problem, result, effort).run();
}

namespace {

/// Whether each kind has no more votes than members that are left, an odd number in all.
bool isQuorum(const std::vector<unsigned> &quorum, const std::vector<unsigned> &left) {
  for (size_t k = 0; k < left.size(); ++k)
    if (quorum[k] > left[k])
      return false;
  return std::accumulate(quorum.begin(), quorum.end(), 0u) % 2 == 1;
}

} // namespace

Errors verifyDeviceFailures(const MemberProblem &problem, const MemberChoice &choice,
                            const std::map<std::vector<unsigned>, Rational> &proven, uint64_t &numFailures) {
  std::map<std::pair<unsigned, int64_t>, size_t> number; // of devices that are used
  for (const PlacedMember &member : choice.members) {
    int64_t devices = problem.kinds[member.kind].alternatives[member.device][member.alternative].devices;
    for (int64_t d = 0; d < devices; ++d)
      number.try_emplace({member.device, member.first + d}, number.size());
  }
  size_t used = number.size();
  // Which devices are lost: all sets of so many, as flags in their order.
  std::vector<bool> deviceFailures(used, false);
  std::fill_n(deviceFailures.begin(), std::min<size_t>(problem.deviceFailures, used), true);
  do {
    ++numFailures;
    std::vector<unsigned> left(problem.kinds.size(), 0);
    for (const PlacedMember &member : choice.members) {
      int64_t devices = problem.kinds[member.kind].alternatives[member.device][member.alternative].devices;
      bool gone = false;
      for (int64_t d = 0; d < devices; ++d)
        gone |= deviceFailures[number.at({member.device, member.first + d})];
      left[member.kind] += !gone;
    }
    Rational min = 1;
    for (const auto &[quorum, error] : proven)
      if (error < min && isQuorum(quorum, left))
        min = error;
    if (min > choice.errorAfterFailures)
      return {{Code::BoundNotProved,
               fmt::format("after a loss of {} devices an error of {} is proven, {} is stated", problem.deviceFailures,
                           min.print(), choice.errorAfterFailures.print()),
               {},
               {}}};
  } while (std::prev_permutation(deviceFailures.begin(), deviceFailures.end()));
  return {};
}

} // namespace accord
