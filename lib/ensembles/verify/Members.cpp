#include "lib/ensembles/verify/Members.h"
#include "lib/ensembles/verify/MemberPlacementChecker.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>

namespace accord {

namespace {

constexpr double kTolerance = 1e-9;

bool near(double a, double b) { return a == b || std::abs(a - b) <= kTolerance * std::max(std::abs(a), std::abs(b)); }

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

  /// Calls `judge` for all multisets of a size.
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
