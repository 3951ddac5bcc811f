#include "lib/ensembles/solve/ChooseMembers.h"
#include "lib/ensembles/solve/MemberPlacer.h"
#include "lib/support/FirstWhere.h"
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace accord {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Calls `f` for all counts with that sum, none above `max`, ascending.
template <typename F>
void eachCounts(std::vector<unsigned> &counts, size_t at, unsigned size, const std::vector<unsigned> &max, F &f) {
  if (at + 1 == counts.size()) {
    if (size <= max[at])
      counts[at] = size, f(counts);
    return;
  }
  for (unsigned count = 0; count <= std::min(size, max[at]); ++count) {
    counts[at] = count;
    eachCounts(counts, at + 1, size - count, max, f);
  }
}

/// Members and devices by name, so that their order in the problem changes nothing.
struct Ordered {
  explicit Ordered(const MemberProblem &given) : problem(given) {
    auto byName = [](auto &items, std::vector<unsigned> &order) {
      order.resize(items.size());
      std::iota(order.begin(), order.end(), 0u);
      std::ranges::sort(order, {}, [&](unsigned i) { return items[i].name; });
    };
    byName(given.kinds, kinds);
    byName(given.devices, devices);
    for (size_t i = 0; i < devices.size(); ++i)
      problem.devices[i] = given.devices[devices[i]];
    for (size_t i = 0; i < kinds.size(); ++i) {
      problem.kinds[i] = given.kinds[kinds[i]];
      for (size_t d = 0; d < devices.size(); ++d)
        problem.kinds[i].alternatives[d] = given.kinds[kinds[i]].alternatives[devices[d]];
    }
  }
  std::vector<unsigned> counts(const std::vector<unsigned> &ordered) const {
    std::vector<unsigned> given(ordered.size());
    for (size_t i = 0; i < ordered.size(); ++i)
      given[kinds[i]] = ordered[i];
    return given;
  }

  MemberProblem problem;
  std::vector<unsigned> kinds, devices; ///< as given, by place in `problem`
};

class Chooser {
public:
  Chooser(const MemberProblem &given, const VoteError &ask, const MemberOptions &options)
      : given(given), ordered(given), problem(ordered.problem), ask(ask),
        placer(problem, [this](const std::vector<unsigned> &left) { return quorum(left); }, options.effort) {}

  MembersResult run() {
    MembersResult result;
    result.bound = kInfinity;
    for (unsigned size : problem.sizes) {
      result.sizes.push_back(bestOf(size));
      const MembersOfSize &found = result.sizes.back();
      result.bound = std::min(result.bound, found.bound);
      if (found.shown() && (problem.max ? found.best.has_value() : true) &&
          (!result.best || better(*found.shown(), *result.sizes[*result.best].shown())))
        result.best = result.sizes.size() - 1;
    }
    if (!problem.max && result.best)
      result.bound = result.sizes[*result.best].bound;
    for (auto &[counts, error] : rejected)
      result.rejected.push_back({counts, error});
    return result;
  }

private:
  /// Of two that may be taken.
  bool better(const MemberChoice &a, const MemberChoice &b) const {
    if (!problem.max && a.error != b.error)
      return a.error < b.error;
    return valueOf(a, problem.objective) < valueOf(b, problem.objective);
  }

  std::optional<Rational> errorOf(const std::vector<unsigned> &counts) {
    auto [slot, isNew] = errors.try_emplace(counts);
    if (isNew)
      slot->second = ask(ordered.counts(counts));
    return slot->second;
  }
  Rational quorum(const std::vector<unsigned> &left) {
    auto [slot, isNew] = quorums.try_emplace(left);
    if (isNew)
      slot->second = bestQuorum(left, [&](const std::vector<unsigned> &counts) { return errorOf(counts); }).error;
    return slot->second;
  }

  /// In the terms of the problem as it was given.
  MemberChoice finished(const MemberChoice &found, const Rational &error) {
    std::vector<PlacedMember> members = found.members;
    for (PlacedMember &member : members) {
      member.kind = ordered.kinds[member.kind];
      member.device = ordered.devices[member.device];
    }
    MemberChoice choice = evaluateMembers(given, std::move(members));
    choice.error = choice.errorAfterFailures = error;
    for (const DeviceFailure &failure :
         deviceFailuresOf(problem, found, problem.deviceFailures,
                          [&](const std::vector<unsigned> &counts) { return errorOf(counts); }))
      choice.errorAfterFailures = std::max(choice.errorAfterFailures, failure.quorum.error);
    return choice;
  }

  MembersOfSize bestOf(unsigned size) {
    MembersOfSize result;
    result.size = size;
    std::vector<std::pair<double, std::vector<unsigned>>> all;
    std::vector<unsigned> counts(problem.kinds.size()), any(counts.size(), size);
    auto add = [&](const std::vector<unsigned> &found) { all.emplace_back(placer.bound(found), found); };
    eachCounts(counts, 0, size, any, add);
    std::ranges::sort(all);
    result.ensembles = all.size();
    result.bound = kInfinity;
    std::optional<MemberChoice> best;
    Rational error;
    for (const auto &[bound, one] : all) {
      double limit = best ? valueOf(*best, problem.objective) : kInfinity;
      if (!problem.max || !(bound < limit))
        break;
      if (problem.deviceFailures) { // then error decides where members may be
        auto whole = errorOf(one);
        if (!whole || *whole > *problem.max)
          continue;
      }
      MemberPlacer::Result answer = placer.place(one, limit);
      if (!answer.best && answer.complete)
        continue;
      auto found = errorOf(one);
      if (!found || *found > *problem.max) {
        if (!problem.deviceFailures)
          rejected[ordered.counts(one)] = found.value_or(Rational(1));
        continue;
      }
      if (!answer.complete) {
        result.proven = false;
        result.bound = std::min(result.bound, bound);
      }
      if (answer.best)
        best = std::move(answer.best), error = *found;
    }
    if (best) {
      result.best = finished(*best, error);
      result.bound = std::min(result.bound, valueOf(*best, problem.objective));
      return result;
    }
    minErrorChoice(all, result);
    return result;
  }

  /// The least error that is guaranteed of those that fit, of equal ones the least value.
  void minErrorChoice(const std::vector<std::pair<double, std::vector<unsigned>>> &all, MembersOfSize &result) {
    std::optional<MemberChoice> best;
    Rational min;
    MemberProblem free = problem; // lost devices ask for an error, which there is none of
    free.deviceFailures = 0;
    MemberPlacer anywhere(free, {}, placer.maxSteps());
    for (const auto &[bound, one] : all) {
      auto error = bound == kInfinity ? std::nullopt : errorOf(one);
      if (!error || (best && *error > min))
        continue;
      bool equal = best && *error == min;
      double limit = equal ? valueOf(*best, problem.objective) : kInfinity;
      MemberPlacer::Result answer = anywhere.place(one, limit);
      if (answer.best)
        best = std::move(answer.best), min = *error;
      if (!problem.max && !answer.complete)
        result.proven = false;
      if (!problem.max && (answer.best || !answer.complete))
        result.bound = answer.complete ? valueOf(*best, problem.objective) : bound;
    }
    if (best)
      result.minErrorChoice = finished(*best, min);
  }

  const MemberProblem &given;
  Ordered ordered;
  const MemberProblem &problem; ///< in order
  const VoteError &ask;
  std::map<std::vector<unsigned>, std::optional<Rational>> errors;
  std::map<std::vector<unsigned>, Rational> quorums;
  std::map<std::vector<unsigned>, Rational> rejected; ///< as given
  MemberPlacer placer;
};

} // namespace

MembersResult chooseMembers(const MemberProblem &problem, const VoteError &error, const MemberOptions &options) {
  return Chooser(problem, error, options).run();
}

Quorum bestQuorum(const std::vector<unsigned> &left, const VoteError &error) {
  unsigned all = std::accumulate(left.begin(), left.end(), 0u);
  Quorum best;
  best.counts.assign(left.size(), 0);
  std::vector<unsigned> counts(left.size());
  for (unsigned size = 1; size <= all; size += 2) {
    auto consider = [&](const std::vector<unsigned> &votes) {
      auto found = error(votes);
      if (found && *found < best.error)
        best = {votes, *found};
    };
    eachCounts(counts, 0, size, left, consider);
  }
  return best;
}

std::vector<DeviceFailure> deviceFailuresOf(const MemberProblem &problem, const MemberChoice &choice,
                                            unsigned deviceFailures, const VoteError &error) {
  // Members by the device that takes them with it; of a group of devices, its first.
  std::map<std::pair<unsigned, int64_t>, std::vector<unsigned>> on;
  for (const PlacedMember &member : choice.members) {
    auto &counts = on[{member.device, member.first}];
    counts.resize(problem.kinds.size());
    ++counts[member.kind];
  }
  std::vector<std::pair<std::pair<unsigned, int64_t>, std::vector<unsigned>>> units(on.begin(), on.end());
  std::vector<DeviceFailure> failures;
  if (deviceFailures == 0)
    return failures;
  std::map<std::vector<unsigned>, Quorum> known;
  DeviceFailure failure;
  failure.left = choice.counts;
  size_t number = std::min<size_t>(deviceFailures, units.size());
  auto lose = [&](auto &&self, size_t from) -> void {
    if (failure.devices.size() == number) {
      auto [slot, isNew] = known.try_emplace(failure.left);
      if (isNew)
        slot->second = bestQuorum(failure.left, error);
      failure.quorum = slot->second;
      failures.push_back(failure);
      return;
    }
    for (size_t i = from; i < units.size(); ++i) {
      failure.devices.push_back(units[i].first);
      for (size_t k = 0; k < failure.left.size(); ++k)
        failure.left[k] -= units[i].second[k];
      self(self, i + 1);
      for (size_t k = 0; k < failure.left.size(); ++k)
        failure.left[k] += units[i].second[k];
      failure.devices.pop_back();
    }
  };
  lose(lose, 0);
  return failures;
}

std::vector<MemberWidth> memberWidths(const std::vector<unsigned> &members, int64_t max, int64_t step, double budget,
                                      const WidthCost &cost) {
  std::vector<MemberWidth> found;
  if (step < 1)
    return found;
  std::map<int64_t, std::optional<double>> known;
  auto costOf = [&](int64_t width) {
    auto [slot, isNew] = known.try_emplace(width);
    if (isNew)
      slot->second = cost(width);
    return slot->second;
  };
  for (unsigned number : members) {
    auto fits = [&](int64_t steps) {
      auto one = costOf(steps * step);
      return one && *one * number <= budget;
    };
    const int64_t low = firstWhere(int64_t(1), max / step + 1, [&](int64_t steps) { return !fits(steps); }) - 1;
    if (low > 0 && number > 0)
      found.push_back({number, low * step, *costOf(low * step) * number});
  }
  return found;
}

} // namespace accord
