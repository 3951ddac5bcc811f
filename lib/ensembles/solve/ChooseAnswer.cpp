#include "lib/ensembles/solve/ChooseAnswer.h"
#include "lib/ensembles/solve/AnswerBound.h"
#include "lib/ensembles/solve/Arrivals.h"
#include "lib/support/FirstWhere.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <numeric>

namespace accord {

double valueOf(const AnswerChoice &choice, AnswerObjective objective) {
  switch (objective) {
  case AnswerObjective::Energy:
    return choice.joules;
  case AnswerObjective::Latency:
    for (const AnswerTime &one : choice.times)
      if (one.share == Rational(99) / Rational(100))
        return double(one.decided);
    return 0;
  case AnswerObjective::Error:
    return std::max(choice.wrong, choice.wrongAfter).toDouble();
  }
  return 0;
}

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kNoTimeout = int64_t(1) << 60;
constexpr size_t kFewMembers = 6; ///< of which an exact bound takes some milliseconds
const Rational kTailShare = Rational(99) / Rational(100);

/// What one device may do: members at a level.
struct DeviceUse {
  AnsweringDevice device; ///< without its number
  double joules = 0;
  int64_t weight = 0, members = 0;
};

/// Ways to use a device of a kind, the first of which is to leave it idle.
std::vector<DeviceUse> usesOf(const AnswerProblem &problem, unsigned device) {
  std::vector<DeviceUse> uses = {{{device, 0, 0, {}}}};
  for (unsigned level = 0; level < problem.devices[device].levels.size(); ++level) {
    DeviceUse use{{device, 0, level, {}}};
    int64_t memory = 0;
    auto add = [&](auto &&self, unsigned from) -> void {
      if (use.members == problem.membersPerDevice)
        return;
      for (unsigned kind = from; kind < problem.kinds.size(); ++kind) {
        const MemberRun &run = problem.runs[kind][device][level];
        if (!run.isPossible ||
            (problem.devices[device].memory > 0 && memory + run.memory > problem.devices[device].memory))
          continue;
        DeviceUse before = use;
        use.device.kinds.push_back(kind);
        use.joules += run.joules, use.weight += problem.kinds[kind].weight, ++use.members;
        memory += run.memory;
        uses.push_back(use);
        self(self, kind);
        memory -= run.memory;
        use = before;
      }
    };
    add(add, 0);
  }
  return uses;
}

/// Ways to choose `count` of `n` with repetition, at most one above `max`.
uint64_t multisets(uint64_t n, uint64_t count, uint64_t max) {
  unsigned __int128 number = 1;
  for (uint64_t i = 1; i <= count; ++i) {
    number = number * (n - 1 + i) / i;
    if (number > max)
      return max + 1;
  }
  return uint64_t(number);
}

struct Candidate {
  double key = 0, joules = 0;
  std::vector<AnsweringDevice> devices;
  int64_t weight = 0;
  size_t index = 0; ///< in the order of enumeration
};

class AnswerChooser {
public:
  AnswerChooser(const AnswerProblem &problem, const MemberStatistics &statistics, const AnswerOptions &options)
      : problem(problem), statistics(statistics), options(options),
        timeout(problem.timeout > 0 ? problem.timeout : kNoTimeout) {}

  AnswerResult run() {
    enumerate();
    result.placements = candidates.size();
    for (Candidate &one : candidates)
      one.key = problem.objective == AnswerObjective::Latency ? quorumBound(one)
                : problem.objective == AnswerObjective::Error ? 0
                                                              : one.joules;
    std::ranges::sort(candidates, [](const Candidate &a, const Candidate &b) {
      return std::tie(a.key, a.joules, a.index) < std::tie(b.key, b.joules, b.index);
    });
    double best = kInfinity, bestJoules = kInfinity, open = kInfinity;
    for (const Candidate &one : candidates) {
      if (one.key > best ||
          (one.key == best && one.joules >= bestJoules && problem.objective != AnswerObjective::Error))
        break;
      if (solved >= options.effort) {
        result.isComplete = false;
        open = std::min(open, one.key);
        break;
      }
      hasTooManyPatterns = false;
      auto choice = evaluate(one);
      if (!choice) {
        if (hasTooManyPatterns)
          result.isComplete = false, open = std::min(open, one.key);
        continue;
      }
      double value = valueOf(*choice, problem.objective);
      if (value < best || (value == best && choice->joules < bestJoules)) {
        best = value, bestJoules = choice->joules;
        result.best = std::move(choice);
      }
      if (problem.objective == AnswerObjective::Energy)
        break;
    }
    result.bound = std::min(best, open);
    result.evaluated = solved;
    if (result.best) {
      complete(*result.best);
      if (problem.objective == AnswerObjective::Error) // which is computed again without rounding
        result.bound = std::min(result.bound, valueOf(*result.best, problem.objective));
    }
    return std::move(result);
  }

private:
  /// Equal devices take uses of falling index, so each multiset is there once, and those in use are the first.
  void enumerate() {
    for (unsigned d = 0; d < problem.devices.size(); ++d)
      usesByDevice.push_back(usesOf(problem, d));
    Candidate sum;
    int64_t members = 0;
    auto place = [&](auto &&self, unsigned device, int64_t number, size_t last) -> void {
      if (device == problem.devices.size()) {
        if (members >= problem.minSize && members <= problem.maxSize) {
          candidates.push_back(sum);
          candidates.back().index = candidates.size();
        }
        return;
      }
      if (number == problem.devices[device].count) {
        const size_t next = device + 1 < usesByDevice.size() ? usesByDevice[device + 1].size() - 1 : 0;
        return self(self, device + 1, 0, next);
      }
      for (size_t use = last + 1; use-- > 0;) {
        const DeviceUse &one = usesByDevice[device][use];
        if (members + one.members > problem.maxSize)
          continue;
        const Candidate before = sum;
        if (one.members > 0) {
          sum.devices.push_back(one.device);
          sum.devices.back().number = number;
          sum.joules += one.joules, sum.weight += one.weight;
        }
        members += one.members;
        self(self, device, number + 1, use);
        members -= one.members;
        sum = before;
      }
    };
    place(place, 0, 0, usesByDevice[0].size() - 1);
  }

  /// All devices answer, and each failure that is asked for; of equal devices only one, where members of a kind are
  /// equal, too.
  std::vector<std::vector<size_t>> cases(const std::vector<AnsweringDevice> &devices) const {
    std::vector<std::vector<size_t>> all = {{}};
    const size_t number = std::min<size_t>(size_t(problem.deviceFailures), devices.size());
    if (number == 0)
      return all;
    const bool areEqual = statistics.table.kinds.empty();
    std::vector<size_t> failed;
    auto fail = [&](auto &&self, size_t from) -> void {
      if (failed.size() == number) {
        all.push_back(failed);
        return;
      }
      for (size_t i = from; i < devices.size(); ++i) {
        AnsweringDevice before = i > from ? devices[i - 1] : AnsweringDevice();
        before.number = devices[i].number;
        if (areEqual && i > from && before == devices[i])
          continue;
        failed.push_back(i);
        self(self, i + 1);
        failed.pop_back();
      }
    };
    fail(fail, 0);
    return all;
  }

  using TimeKey = std::pair<AnsweringDevice, int64_t>;
  struct DeviceLess {
    bool operator()(const TimeKey &a, const TimeKey &b) const {
      return std::tie(a.first.device, a.first.level, a.first.kinds, a.second) <
             std::tie(b.first.device, b.first.level, b.first.kinds, b.second);
    }
  };
  const ArrivalShare &shareOf(const AnsweringDevice &device, int64_t time) {
    auto [slot, isNew] = shares.try_emplace({device, time});
    if (isNew) {
      slot->second = arrivalShare(latencyParts(problem, device), time);
      const Rational there = Rational(1) - problem.devices[device.device].lost;
      slot->second.min = slot->second.min * there, slot->second.max = slot->second.max * there;
      slot->second.estimate *= there.toDouble();
    }
    return slot->second;
  }
  int64_t weightOf(const AnsweringDevice &device) const {
    int64_t weight = 0;
    for (unsigned kind : device.kinds)
      weight += problem.kinds[kind].weight;
    return weight;
  }

  /// By weight, the probability that votes of just this weight are there. `N`: double or Rational.
  template <typename N, typename Share>
  std::map<int64_t, N> weights(const std::vector<AnsweringDevice> &devices, const std::vector<size_t> &failed,
                               Share share) {
    std::map<int64_t, N> all = {{0, N(1)}};
    for (size_t i = 0; i < devices.size(); ++i) {
      if (std::ranges::count(failed, i))
        continue;
      const N there = share(devices[i]);
      const int64_t weight = weightOf(devices[i]);
      std::map<int64_t, N> next;
      for (const auto &[sum, probability] : all) {
        N &stays = next[sum];
        stays = stays + probability * (N(1) - there);
        N &comes = next[sum + weight];
        comes = comes + probability * there;
      }
      all = std::move(next);
    }
    return all;
  }
  Rational noneExactly(const std::vector<AnsweringDevice> &devices, const std::vector<size_t> &failed, int64_t quorum,
                       int64_t time) {
    Rational none = 0;
    for (const auto &[weight, probability] :
         weights<Rational>(devices, failed, [&](const AnsweringDevice &one) { return shareOf(one, time).min; }))
      if (weight < quorum)
        none = none + probability;
    return none;
  }
  /// The largest quorum that is there by `time` but for a share of `max`; 0: none is.
  int64_t maxQuorum(const std::vector<AnsweringDevice> &devices, const std::vector<size_t> &failed, int64_t time,
                    const Rational &max) {
    auto distribution =
        weights<double>(devices, failed, [&](const AnsweringDevice &one) { return shareOf(one, time).min.toDouble(); });
    constexpr double kNear = 1e-10;
    const double limit = max.toDouble();
    int64_t quorum = 0;
    double below = 0;
    for (const auto &[weight, probability] : distribution) {
      // A quorum up to this weight lacks what is below it.
      const bool isNear = std::abs(below - limit) < kNear;
      if (isNear ? noneExactly(devices, failed, weight, time) > max : below > limit)
        break;
      quorum = weight;
      below += probability;
    }
    return quorum;
  }

  /// No quorum is there sooner for 99 % of inputs.
  double quorumBound(const Candidate &one) {
    return double(timeUntil(one.devices, [&](int64_t time) {
      return maxQuorum(one.devices, {}, time, Rational(1) - kTailShare) >= problem.quorum.value_or(1);
    }));
  }

  /// Times at which the certain share of a device grows.
  std::vector<int64_t> steps(const std::vector<AnsweringDevice> &devices) const {
    std::vector<int64_t> times;
    for (const AnsweringDevice &device : devices) {
      std::vector<int64_t> sums = {0};
      for (const TimeQuantiles &part : latencyParts(problem, device)) {
        if (part.empty())
          continue;
        std::vector<int64_t> next;
        for (int64_t sum : sums)
          for (const TimeQuantile &one : part)
            if (sum + one.time <= timeout)
              next.push_back(sum + one.time);
        std::ranges::sort(next);
        next.erase(std::unique(next.begin(), next.end()), next.end());
        sums = std::move(next);
      }
      times.insert(times.end(), sums.begin(), sums.end());
    }
    std::ranges::sort(times);
    times.erase(std::unique(times.begin(), times.end()), times.end());
    return times;
  }
  /// The first step at which something holds that holds from then on; the time-out (0 where there is none) if it does
  /// at no step.
  template <typename F> int64_t timeUntil(const std::vector<AnsweringDevice> &devices, F holds) const {
    std::vector<int64_t> times = steps(devices);
    const size_t first = firstWhere(size_t(0), times.size(), [&](size_t step) { return holds(times[step]); });
    return first < times.size() ? times[first] : problem.timeout;
  }

  AnswerChoice choiceOf(const Candidate &one, int64_t quorum) const {
    AnswerChoice choice;
    choice.devices = one.devices;
    choice.joules = one.joules;
    choice.quorum = quorum;
    return choice;
  }

  /// What is guaranteed of votes that are there by `time`; nothing: too many patterns, or rates that contradict each
  /// other.
  /// Where the bound is hardly above `max`, its shares are computed again without rounding.
  std::optional<AnswerGuarantee> claim(const Candidate &one, int64_t quorum, int64_t time,
                                       const std::vector<size_t> &failed, bool isUndecided,
                                       const std::optional<Rational> &max) {
    ++solved;
    VoteDelivery delivery = deliveryOf(problem, one.devices, quorum, time, failed);
    delivery.isUndecided = isUndecided;
    std::vector<unsigned> counts = kindCounts(problem, one.devices);
    VoteOptions ask;
    ask.confidence = options.confidence;
    ask.tests = options.tests;
    ask.kinds = kindsOf(counts);
    const ErrorStatistics known = statisticsOf(statistics, counts);
    auto found = fastAnswerGuarantee(known, delivery, ask);
    hasTooManyPatterns |= !found;
    const bool isShown = isFinal && !isUndecided && delivery.device.size() <= kFewMembers;
    if (found && !found->conflict && isShown)
      if (auto exact = answerGuarantee(known, delivery, ask); exact && !exact->conflict)
        found = std::move(exact);
    // Of a table, shares that differ by rounding alone are tests of their own.
    const Rational near = known.votes.empty() ? Rational(1) / Rational(1'000'000'000) : max.value_or(0) / Rational(50);
    if (found && !found->conflict && max && found->certificate.value > *max && found->certificate.value < *max + near)
      if (auto exact = answerGuarantee(known, delivery, ask);
          exact && !exact->conflict && exact->certificate.value <= *max)
        found = std::move(exact);
    return found && !found->conflict ? found : std::nullopt;
  }

  void reject(const Candidate &one, const std::vector<size_t> &failed, int64_t time, AnswerGuarantee &&found) {
    constexpr size_t kMaxShown = 100;
    ++result.numRejected;
    if (result.rejected.size() < kMaxShown)
      result.rejected.push_back({one.devices, {failed, time, std::move(found.certificate)}});
  }

  /// The wrong answers and those that are missing in each case; false after the first that is not as required, which is
  /// then rejected.
  bool bound(const Candidate &one, AnswerChoice &choice, std::vector<AnswerClaim> *claims, bool required) {
    choice.wrong = choice.none = choice.wrongAfter = choice.noneAfter = 0;
    for (const std::vector<size_t> &failed : cases(one.devices)) {
      auto found = claim(one, choice.quorum, timeout, failed, false, required ? problem.maxWrong : std::nullopt);
      if (!found)
        return false;
      Rational value = found->certificate.value;
      if (failed.empty() && required && (result.minWrongDevices.empty() || value < result.minWrong))
        result.minWrong = value, result.minWrongDevices = one.devices;
      if (required && problem.maxWrong && value > *problem.maxWrong) {
        reject(one, failed, timeout, std::move(*found));
        return false;
      }
      Rational none = claims ? noneExactly(one.devices, failed, choice.quorum, timeout) : Rational(0);
      Rational &wrong = failed.empty() ? choice.wrong : choice.wrongAfter,
               &missing = failed.empty() ? choice.none : choice.noneAfter;
      wrong = std::max(wrong, value), missing = std::max(missing, none);
      if (claims)
        claims->push_back({failed, timeout, std::move(found->certificate)});
    }
    if (problem.deviceFailures == 0)
      choice.wrongAfter = choice.wrong, choice.noneAfter = choice.none;
    return true;
  }

  /// Whether votes decide soon enough in every case; `claims` get what proves it.
  bool isSoon(const Candidate &one, int64_t quorum, std::vector<AnswerClaim> *claims, bool keepsRejected) {
    for (const LatencyLimit &limit : problem.limits) {
      if (limit.time >= timeout || problem.timeout == 0)
        continue; // by then there is an answer, or none
      for (const std::vector<size_t> &failed : cases(one.devices)) {
        auto found = claim(one, quorum, limit.time, failed, true, Rational(1) - limit.share);
        if (!found)
          return false;
        if (found->certificate.value > Rational(1) - limit.share) {
          if (keepsRejected)
            reject(one, failed, limit.time, std::move(*found));
          return false;
        }
        if (claims)
          claims->push_back({failed, limit.time, std::move(found->certificate)});
      }
    }
    return true;
  }

  /// The largest quorum that keeps what is required of missing and late answers by the votes that are there alone.
  int64_t largestQuorum(const Candidate &one) {
    int64_t quorum = problem.quorum.value_or(problem.maxNone ? one.weight : one.weight / 2 + 1);
    if (quorum > one.weight)
      return 0;
    for (const std::vector<size_t> &failed : cases(one.devices)) {
      if (problem.maxNone)
        quorum = std::min(quorum, maxQuorum(one.devices, failed, timeout, *problem.maxNone));
      for (const LatencyLimit &limit : problem.limits)
        if (limit.time < timeout && problem.timeout > 0)
          quorum = std::min(quorum, maxQuorum(one.devices, failed, limit.time, Rational(1) - limit.share));
    }
    bool isFixed = problem.quorum || !problem.maxNone;
    return isFixed && quorum < problem.quorum.value_or(one.weight / 2 + 1) ? 0 : quorum;
  }

  std::optional<AnswerChoice> evaluate(const Candidate &one) {
    int64_t quorum = largestQuorum(one);
    if (quorum < 1)
      return std::nullopt;
    const bool isFixed = problem.quorum || !problem.maxNone;
    if (problem.objective == AnswerObjective::Latency && !isFixed) {
      // The smallest quorum whose error is as required; of the largest that is not known.
      quorum = firstWhere(int64_t(1), quorum, [&](int64_t fewer) {
        AnswerChoice tried = choiceOf(one, fewer);
        const uint64_t before = result.numRejected;
        const size_t shown = result.rejected.size();
        bool keeps = bound(one, tried, nullptr, true);
        result.numRejected = before;
        result.rejected.resize(shown);
        return keeps;
      });
    }
    while (!isSoon(one, quorum, nullptr, isFixed || quorum == 1))
      if (isFixed || --quorum < 1)
        return std::nullopt;
    AnswerChoice choice = choiceOf(one, quorum);
    if (!bound(one, choice, nullptr, true))
      return std::nullopt;
    if (problem.objective == AnswerObjective::Latency)
      choice.times.push_back({kTailShare, decidedTime(one, quorum, kTailShare), 0, 0});
    return choice;
  }

  int64_t decidedTime(const Candidate &one, int64_t quorum, const Rational &share) {
    return timeUntil(one.devices, [&](int64_t time) {
      auto found = claim(one, quorum, time, {}, true, Rational(1) - share);
      return found && found->certificate.value <= Rational(1) - share;
    });
  }

  /// Everything that is said of the chosen one.
  void complete(AnswerChoice &choice) {
    Candidate one;
    one.devices = choice.devices;
    one.joules = choice.joules;
    for (const AnsweringDevice &device : one.devices)
      one.weight += weightOf(device);
    isFinal = true;
    bound(one, choice, &result.claims, true);
    isFinal = false;
    isSoon(one, choice.quorum, &result.claims, false);
    choice.times.clear();
    for (int64_t perMille : {500, 990, 999}) {
      AnswerTime time;
      time.share = Rational(perMille) / Rational(1000);
      time.decided = decidedTime(one, choice.quorum, time.share);
      if (time.decided < problem.timeout || problem.timeout == 0)
        if (auto found = claim(one, choice.quorum, time.decided, {}, true, Rational(1) - time.share))
          result.claims.push_back({{}, time.decided, std::move(found->certificate)});
      time.quorum = timeUntil(one.devices, [&](int64_t at) {
        return noneExactly(one.devices, {}, choice.quorum, at) <= Rational(1) - time.share;
      });
      time.quorumEstimate = estimatedTime(one, choice.quorum, time.share);
      choice.times.push_back(time);
    }
    auto estimated = weights<double>(one.devices, {},
                                     [&](const AnsweringDevice &device) { return shareOf(device, timeout).estimate; });
    for (const auto &[weight, probability] : estimated)
      choice.noneEstimate += weight < choice.quorum ? probability : 0;
    estimateWrong(one, choice);
    idle(one, choice);
  }

  /// Why nothing runs on the devices of a kind that are left.
  void idle(const Candidate &chosen, const AnswerChoice &choice) {
    const uint64_t before = result.evaluated;
    for (unsigned d = 0; d < problem.devices.size(); ++d) {
      const int64_t used = std::ranges::count(chosen.devices, d, &AnsweringDevice::device);
      if (const int64_t left = problem.devices[d].count - used; left > 0)
        result.idle.push_back({d, left, idleReason(chosen, choice, d, used)});
    }
    result.evaluated = before;
  }
  std::string idleReason(const Candidate &chosen, const AnswerChoice &choice, unsigned device, int64_t used) {
    const std::vector<DeviceUse> &uses = usesByDevice[device];
    if (uses.size() == 1)
      return noUse(device);
    const int64_t members = std::ssize(placedVotes(chosen.devices));
    if (members >= problem.maxSize)
      return fmt::format("{} members vote, and no more may", members);
    std::optional<AnswerChoice> best;
    std::string who;
    for (const DeviceUse &use : uses) {
      if (use.members != 1)
        continue;
      Candidate more = chosen;
      auto at = std::ranges::upper_bound(more.devices, device, {}, &AnsweringDevice::device);
      at = more.devices.insert(at, use.device);
      at->number = used;
      more.joules += use.joules, more.weight += use.weight;
      const int64_t quorum = largestQuorum(more);
      AnswerChoice tried = choiceOf(more, quorum);
      if (quorum < 1 || !bound(more, tried, nullptr, /*required=*/false))
        continue;
      if (problem.objective == AnswerObjective::Latency)
        tried.times.push_back({kTailShare, decidedTime(more, quorum, kTailShare), 0, 0});
      if (!best || valueOf(tried, problem.objective) < valueOf(*best, problem.objective)) {
        best = std::move(tried);
        who = problem.kinds[use.device.kinds[0]].name;
      }
    }
    if (!best)
      return "with any member more there, no quorum keeps what is required";
    const std::string errors = fmt::format("wrong at most {:.4g} % instead of {:.4g} %",
                                           100 * std::max(best->wrong, best->wrongAfter).toDouble(),
                                           100 * std::max(choice.wrong, choice.wrongAfter).toDouble());
    switch (problem.objective) {
    case AnswerObjective::Energy:
      return fmt::format("what is required is kept without it, and any member there raises the energy of an input from "
                         "{:.6g} J to {:.6g} J or more ({}: {})",
                         choice.joules, best->joules, who, errors);
    case AnswerObjective::Latency:
      return fmt::format("a member more makes no input faster: 99 % in {:.6g} s with {} there, in {:.6g} s now",
                         valueOf(*best, problem.objective) * 1e-12, who, valueOf(choice, problem.objective) * 1e-12);
    case AnswerObjective::Error:
      return fmt::format("no member there lowers the error: at the best, {} is {}", who, errors);
    }
    return "";
  }
  std::string noUse(unsigned device) const {
    for (size_t k = 0; k < problem.kinds.size(); ++k)
      for (const MemberRun &run : problem.runs[k][device])
        if (run.isPossible)
          return fmt::format("no member fits its memory of {} bytes: {} needs {}", problem.devices[device].memory,
                             problem.kinds[k].name, run.memory);
    return "no member states how it runs there";
  }

  double estimatedTime(const Candidate &one, int64_t quorum, const Rational &share) {
    if (problem.timeout == 0)
      return 0;
    double low = 0, high = double(timeout);
    auto isThere = [&](double time) {
      double there = 0;
      for (const auto &[weight, probability] : weights<double>(one.devices, {}, [&](const AnsweringDevice &device) {
             return arrivalShare(latencyParts(problem, device), int64_t(time)).estimate *
                    (1 - problem.devices[device.device].lost.toDouble());
           }))
        there += weight >= quorum ? probability : 0;
      return there >= share.toDouble();
    };
    for (int i = 0; i < 40 && high - low > 1e-4 * high; ++i) {
      double middle = (low + high) / 2;
      (isThere(middle) ? high : low) = middle;
    }
    return high * 1e-12;
  }

  void estimateWrong(const Candidate &one, AnswerChoice &choice) {
    VoteDelivery delivery = deliveryOf(problem, one.devices, choice.quorum, timeout, {});
    for (size_t i = 0; i < one.devices.size(); ++i)
      delivery.undelivered[i] = Rational(1) - Rational::ofDouble(shareOf(one.devices[i], timeout).estimate);
    delivery.minUndelivered.clear();
    std::vector<unsigned> counts = kindCounts(problem, one.devices);
    VoteOptions ask{options.confidence, options.tests, kindsOf(counts)};
    const ErrorStatistics known = statisticsOf(statistics, counts);
    auto found = delivery.device.size() <= kFewMembers ? answerGuarantee(known, delivery, ask)
                                                       : fastAnswerGuarantee(known, delivery, ask);
    choice.wrongEstimate = found ? found->certificate.value.toDouble() : choice.wrong.toDouble();
  }

  const AnswerProblem &problem;
  const MemberStatistics &statistics;
  const AnswerOptions &options;
  const int64_t timeout;
  std::vector<std::vector<DeviceUse>> usesByDevice;
  std::vector<Candidate> candidates;
  std::map<TimeKey, ArrivalShare, DeviceLess> shares;
  uint64_t solved = 0;
  bool hasTooManyPatterns = false, isFinal = false;
  AnswerResult result;
};

} // namespace

uint64_t answerPlacements(const AnswerProblem &problem) {
  uint64_t all = 1;
  for (unsigned d = 0; d < problem.devices.size(); ++d) {
    uint64_t ways = multisets(usesOf(problem, d).size(), uint64_t(problem.devices[d].count), kMaxAnswerPlacements);
    all = std::min(all * ways, kMaxAnswerPlacements + 1);
  }
  return all;
}

int64_t answerTests(const AnswerProblem &problem, const MemberStatistics &statistics) {
  int64_t tests =
      std::ranges::count_if(statistics.memberErrors, [](const ErrorRate &rate) { return rate.samples > 0; });
  tests += std::ranges::count_if(statistics.jointErrors, [](const auto &entry) { return entry.second.samples > 0; });
  if (statistics.table.kinds.empty())
    return std::max<int64_t>(1, tests);
  // Each placement with each quorum and each failure of devices: of wrong answers, and of those that are undecided at
  // each limit, at each time that is shown, and at each step of latencies.
  int64_t devices = 0, heaviest = 0, quantiles = 0;
  for (unsigned d = 0; d < problem.devices.size(); ++d) {
    devices += problem.devices[d].count;
    for (size_t k = 0; k < problem.kinds.size(); ++k) {
      heaviest = std::max(heaviest, problem.kinds[k].weight);
      for (const MemberRun &run : problem.runs[k][d])
        quantiles += std::max<int64_t>(1, std::ssize(run.latency)) * (1 + std::ssize(problem.devices[d].network));
    }
  }
  constexpr int64_t kMaxTests = int64_t(1) << 50;
  double all = double(answerPlacements(problem)) * double(heaviest) * 63;
  for (int64_t failure = 0; failure < std::min(problem.deviceFailures, devices); ++failure)
    all *= double(devices + 1);
  all = all * double(1 + std::ssize(problem.limits) + quantiles) + double(tests);
  return int64_t(std::min(all, double(kMaxTests)));
}

AnswerResult chooseAnswer(const AnswerProblem &problem, const MemberStatistics &statistics,
                          const AnswerOptions &options) {
  return AnswerChooser(problem, statistics, options).run();
}

} // namespace accord
