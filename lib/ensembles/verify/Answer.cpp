#include "lib/ensembles/verify/Answer.h"
#include "lib/ensembles/verify/BinomialTail.h"
#include "lib/ensembles/verify/StatedStatistics.h"
#include "lib/ensembles/verify/Vote.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <numeric>
#include <set>

namespace accord {
namespace {

using Devices = std::vector<AnsweringDevice>;
using Failed = std::vector<size_t>;
constexpr int64_t kForever = int64_t(1) << 60;

/// A device without its number: what makes it another one.
using Use = std::tuple<unsigned, unsigned, std::vector<unsigned>>;
Use useOf(const AnsweringDevice &device) { return {device.device, device.level, device.kinds}; }

/// The probability that a sum of latencies is within a time, from `low` to `high`.
struct Within {
  Rational low, high;
};

/// One quantile of each part: those that fit, and the smallest sum of what may be later.
std::optional<Rational> minLate(const std::vector<const TimeQuantiles *> &parts, size_t from, int64_t time) {
  if (from == parts.size())
    return Rational(0);
  std::optional<Rational> min;
  for (const TimeQuantile &one : *parts[from]) {
    if (one.time > time)
      break;
    if (auto rest = minLate(parts, from + 1, time - one.time)) {
      Rational late = *rest + (Rational(1) - one.share);
      if (!min || late < *min)
        min = late;
    }
  }
  return min;
}

Within within(const std::vector<const TimeQuantiles *> &parts, int64_t time) {
  Within result{0, 1};
  if (auto late = minLate(parts, 0, time); late && *late < Rational(1))
    result.low = Rational(1) - *late;
  for (const TimeQuantiles *part : parts)
    for (const TimeQuantile &one : *part)
      if (one.time >= time) {
        result.high = std::min(result.high, one.share);
        break;
      }
  return result;
}

class AnswerChecker {
public:
  explicit AnswerChecker(const AnswerPlan &plan)
      : plan(plan), problem(plan.problem), timeout(problem.timeout > 0 ? problem.timeout : kForever) {}

  Verification run() {
    if (std::string wrong = check(problem); !wrong.empty())
      return find(Code::MemoryExceeded, "{}", wrong), std::move(out);
    if (Rational tests = minTests(); tests > Rational(plan.tests))
      find(Code::BoundNotProved, "{} limits have to hold together, and the confidence is shared by {}", tests.print(),
           plan.tests);
    if (const auto &best = plan.result.best) {
      if (!isPlaced(best->devices))
        return std::move(out);
      double joules = joulesOf(best->devices);
      if (std::abs(joules - best->joules) > 1e-9 * joules)
        find(Code::WrongObjective, "an input takes {} J, {} are stated", joules, best->joules);
      claims(*best);
      times(*best);
      bound(*best);
      idle(*best);
    } else if (plan.conflict.empty()) {
      find(Code::BoundNotProved, "nothing is chosen, and no reason is stated");
    }
    if (out.holds())
      others();
    return std::move(out);
  }

private:
  template <typename... T> void find(Code code, fmt::format_string<T...> text, T &&...args) {
    if (out.findings.size() < 20)
      out.findings.push_back({code, fmt::format(text, std::forward<T>(args)...), {}, {}});
  }

  const MemberRun &runOf(const AnsweringDevice &on, unsigned kind) const {
    return problem.runs[kind][on.device][on.level];
  }
  int64_t weightOf(const AnsweringDevice &on) const {
    int64_t weight = 0;
    for (unsigned kind : on.kinds)
      weight += problem.kinds[kind].weight;
    return weight;
  }
  double joulesOf(const Devices &devices) const {
    double joules = 0;
    for (const AnsweringDevice &on : devices)
      for (unsigned kind : on.kinds)
        joules += runOf(on, kind).joules;
    return joules;
  }

  bool isUse(const AnsweringDevice &on) {
    const AnswerProblem::Device &device = problem.devices[on.device];
    if (on.level >= device.levels.size() || on.kinds.empty() || std::ssize(on.kinds) > problem.membersPerDevice ||
        !std::ranges::is_sorted(on.kinds) || on.kinds.back() >= problem.kinds.size())
      return false;
    int64_t memory = 0;
    for (unsigned kind : on.kinds) {
      if (!runOf(on, kind).isPossible)
        return false;
      memory += runOf(on, kind).memory;
    }
    return device.memory == 0 || memory <= device.memory;
  }

  bool isPlaced(const Devices &devices) {
    std::set<std::pair<unsigned, int64_t>> used;
    int64_t members = 0;
    for (const AnsweringDevice &on : devices) {
      if (on.device >= problem.devices.size() || on.number < 0 || on.number >= problem.devices[on.device].count ||
          !used.insert({on.device, on.number}).second) {
        find(Code::MemoryExceeded, "a device answers that is not there, or twice");
        return false;
      }
      if (!isUse(on)) {
        find(Code::MemoryExceeded, "members on '{}' {} do not run there, or have no room",
             problem.devices[on.device].name, on.number + 1);
        return false;
      }
      members += std::ssize(on.kinds);
    }
    if (members < problem.minSize || members > problem.maxSize) {
      find(Code::MemoryExceeded, "{} members vote, from {} to {} may", members, problem.minSize, problem.maxSize);
      return false;
    }
    return true;
  }

  /// The probabilities that the votes of a device are there.
  Within arrival(const AnsweringDevice &on, int64_t time) const {
    std::vector<const TimeQuantiles *> parts;
    for (unsigned kind : on.kinds)
      if (!runOf(on, kind).latency.empty())
        parts.push_back(&runOf(on, kind).latency);
    if (!problem.devices[on.device].network.empty())
      parts.push_back(&problem.devices[on.device].network);
    Within result = within(parts, time);
    const Rational answers = Rational(1) - problem.devices[on.device].lost;
    return {result.low * answers, result.high * answers};
  }

  VoteDelivery delivery(const Devices &devices, int64_t quorum, int64_t time, const Failed &failed) const {
    VoteDelivery made;
    made.quorum = quorum;
    bool isExact = true;
    for (size_t i = 0; i < devices.size(); ++i) {
      bool fails = std::find(failed.begin(), failed.end(), i) != failed.end();
      Within there = fails ? Within{0, 0} : arrival(devices[i], time);
      made.undelivered.push_back(Rational(1) - there.low);
      made.minUndelivered.push_back(Rational(1) - there.high);
      isExact &= there.low == there.high;
    }
    if (isExact)
      made.minUndelivered.clear();
    for (unsigned kind = 0; kind < problem.kinds.size(); ++kind)
      for (unsigned i = 0; i < devices.size(); ++i)
        for (auto copies = std::ranges::count(devices[i].kinds, kind); copies > 0; --copies) {
          made.device.push_back(i);
          made.weights.push_back(problem.kinds[kind].weight);
          const Rational right = (Rational(1) - runOf(devices[i], kind).corrupted) *
                                 (Rational(1) - problem.devices[devices[i].device].corrupted);
          made.corrupted.push_back(Rational(1) - right);
        }
    return made;
  }

  std::vector<unsigned> counts(const Devices &devices) const {
    std::vector<unsigned> all(problem.kinds.size(), 0);
    for (const AnsweringDevice &on : devices)
      for (unsigned kind : on.kinds)
        ++all[kind];
    return all;
  }

  /// Whether a claim of these devices is one of what is stated, and is proved; its proof.
  std::optional<VoteProof> follows(const char *who, const Devices &devices, int64_t quorum, const AnswerClaim &claim) {
    if (std::ranges::any_of(claim.failed, [&](size_t i) { return i >= devices.size(); }) || claim.time < 0) {
      find(Code::BoundNotProved, "{} is of a device that is not there", who);
      return std::nullopt;
    }
    VoteDelivery own = delivery(devices, quorum, claim.time, claim.failed);
    own.isUndecided = claim.certificate.delivery && claim.certificate.delivery->isUndecided;
    if (!claim.certificate.delivery || *claim.certificate.delivery != own ||
        claim.certificate.proof == VoteCertificate::Proof::Contradiction) {
      find(Code::BoundNotProved, "{} is of votes that arrive otherwise than is stated", who);
      return std::nullopt;
    }
    if (auto other = statisticsViolation(claim.certificate.statistics, plan.statistics, counts(devices))) {
      find(Code::BoundNotProved, "{} is not from the rates that are stated: {}", who, *other);
      return std::nullopt;
    }
    if (claim.certificate.confidence != plan.confidence || claim.certificate.tests < plan.tests) {
      find(Code::BoundNotProved, "{} is of another confidence", who);
      return std::nullopt;
    }
    VoteProof proof = verify(claim.certificate);
    for (Error &error : proof.findings)
      out.findings.push_back({error.code, fmt::format("{}: {}", who, error.message), error.location, error.notes});
    for (const std::string &text : proof.trusted)
      if (std::ranges::find(out.trusted, text) == out.trusted.end())
        out.trusted.push_back(text);
    return proof;
  }

  /// Every failure of so many devices, as indices; of none, where none may fail.
  std::vector<Failed> failures(size_t devices) const {
    std::vector<Failed> all;
    std::vector<bool> fails(devices, false);
    std::fill_n(fails.begin(), std::min<size_t>(size_t(problem.deviceFailures), devices), true);
    do {
      Failed failed;
      for (size_t i = 0; i < devices; ++i)
        if (fails[i])
          failed.push_back(i);
      all.push_back(std::move(failed));
    } while (std::prev_permutation(fails.begin(), fails.end()));
    if (problem.deviceFailures > 0)
      all.push_back({});
    return all;
  }
  /// Failures of equal devices are one, unless members of a kind are told apart by a table.
  using Signature = std::pair<std::vector<Use>, Failed>;
  Signature signature(const Devices &devices, const Failed &failed) const {
    Signature made;
    if (!plan.statistics.table.kinds.empty())
      made.second = failed;
    for (size_t i : failed)
      made.first.push_back(useOf(devices[i]));
    std::ranges::sort(made.first);
    return made;
  }

  void claims(const AnswerChoice &best) {
    std::map<Signature, Rational> wrong;
    std::map<std::pair<Signature, int64_t>, Rational> undecided;
    for (const AnswerClaim &claim : plan.result.claims) {
      if (!follows("a claim of the chosen placement", best.devices, best.quorum, claim))
        return;
      const Signature key = signature(best.devices, claim.failed);
      const Rational &value = claim.certificate.value;
      if (claim.certificate.delivery->isUndecided) {
        auto [slot, isNew] = undecided.try_emplace({key, claim.time}, value);
        slot->second = std::min(slot->second, value);
        if (claim.failed.empty())
          undecidedBy[claim.time] = slot->second;
      } else if (claim.time == timeout) {
        wrong[key] = value;
      }
    }
    Rational worst, worstNone;
    for (const Failed &failed : failures(best.devices.size())) {
      auto known = wrong.find(signature(best.devices, failed));
      if (known == wrong.end())
        return find(Code::BoundNotProved, "nothing is claimed of answers after a failure of {} devices", failed.size());
      const Rational none = shareWithoutAnswer(delivery(best.devices, best.quorum, timeout, failed));
      if (failed.empty()) {
        stated("wrong answers", known->second, best.wrong);
        stated("questions without an answer", none, best.none);
      }
      if (!failed.empty() || problem.deviceFailures == 0)
        worst = std::max(worst, known->second), worstNone = std::max(worstNone, none);
      required("wrong answers", known->second, problem.maxWrong);
      required("questions without an answer", none, problem.maxNone);
      for (const LatencyLimit &limit : problem.limits) {
        if (limit.time >= timeout || problem.timeout == 0)
          continue;
        auto late = undecided.find({signature(best.devices, failed), limit.time});
        if (late == undecided.end() || late->second > Rational(1) - limit.share)
          find(Code::BoundNotProved, "that {} of inputs are answered in {} s is not shown", limit.share.print(),
               double(limit.time) * 1e-12);
      }
    }
    stated("wrong answers after failures", worst, best.wrongAfter);
    stated("questions without an answer after failures", worstNone, best.noneAfter);
    if (problem.quorum && best.quorum != *problem.quorum)
      find(Code::BoundNotProved, "a quorum of {} is stated, {} is shown", *problem.quorum, best.quorum);
    if (out.holds())
      out.checked.push_back(fmt::format("{} claims of wrong, missing and late answers, after each failure of devices",
                                        plan.result.claims.size()));
  }
  void stated(const char *what, const Rational &proved, const Rational &shown) {
    if (proved != shown)
      find(Code::BoundNotProved, "{} are shown as {}, at most {} is proven", what, shown.print(), proved.print());
  }
  void required(const char *what, const Rational &proved, const std::optional<Rational> &max) {
    if (max && proved > *max)
      find(Code::BoundNotProved, "{} are {} at most, {} is required", what, proved.print(), max->print());
  }

  void times(const AnswerChoice &best) {
    for (const AnswerTime &time : best.times) {
      const Rational late = Rational(1) - time.share;
      auto decided = undecidedBy.find(time.decided);
      if (time.decided != problem.timeout && (decided == undecidedBy.end() || decided->second > late))
        find(Code::BoundNotProved, "that {} of votes decide in {} ps is not shown", time.share.print(), time.decided);
      if (time.quorum != problem.timeout &&
          shareWithoutAnswer(delivery(best.devices, best.quorum, time.quorum, {})) > late)
        find(Code::BoundNotProved, "the quorum is not there in {} ps for {} of inputs", time.quorum,
             time.share.print());
    }
    if (out.holds() && !best.times.empty())
      out.checked.push_back(fmt::format("times until an answer of {} shares of inputs", best.times.size()));
  }

  void idle(const AnswerChoice &best) {
    for (unsigned d = 0; d < problem.devices.size(); ++d) {
      int64_t shown = 0;
      for (const IdleDevice &one : plan.result.idle)
        shown += one.device == d ? one.count : 0;
      int64_t left = problem.devices[d].count - std::ranges::count(best.devices, d, &AnsweringDevice::device);
      if (shown != left)
        find(Code::MemoryExceeded, "{} devices '{}' are idle, {} are shown", left, problem.devices[d].name, shown);
    }
    out.trusted.push_back(plan.result.idle.empty() ? "estimates, which are no bounds"
                                                   : "estimates, which are no bounds, and why devices are idle");
  }

  void bound(const AnswerChoice &best) {
    double value = best.joules;
    if (problem.objective == AnswerObjective::Error)
      value = std::max(best.wrong, best.wrongAfter).toDouble();
    if (problem.objective == AnswerObjective::Latency)
      for (const AnswerTime &time : best.times)
        if (time.share == Rational(99) / Rational(100))
          value = double(time.decided);
    if (plan.result.bound > value * (1 + 1e-12))
      find(Code::BoundNotProved, "the bound {} is above the objective {}", plan.result.bound, value);
    if (plan.result.isComplete && plan.result.bound < value * (1 - 1e-12))
      find(Code::BoundNotProved, "all is searched, and the bound {} is below the objective {}", plan.result.bound,
           value);
  }

  /// Limits of samples among which the choice was made.
  Rational minTests() const {
    int64_t measured = 0;
    for (const ErrorRate &rate : plan.statistics.memberErrors)
      measured += rate.samples > 0;
    for (const auto &[kinds, rate] : plan.statistics.jointErrors)
      measured += rate.samples > 0;
    if (plan.statistics.table.kinds.empty())
      return Rational(measured);
    // With a table each placement, quorum and claim is a test of its own. 2^50 are as many as count.
    Rational all = 1;
    int64_t devices = 0, heaviest = 0, quantiles = 0;
    for (unsigned d = 0; d < problem.devices.size(); ++d) {
      const int64_t ways = std::ssize(usesOf(d));
      for (int64_t i = 1; i <= problem.devices[d].count; ++i)
        all = all * Rational(ways - 1 + i) / Rational(i);
      devices += problem.devices[d].count;
    }
    for (unsigned k = 0; k < problem.kinds.size(); ++k) {
      heaviest = std::max(heaviest, problem.kinds[k].weight);
      for (unsigned d = 0; d < problem.devices.size(); ++d)
        for (const MemberRun &run : problem.runs[k][d])
          quantiles += std::max<int64_t>(1, std::ssize(run.latency)) * (1 + std::ssize(problem.devices[d].network));
    }
    all = all * Rational(heaviest) * Rational(63);
    for (int64_t i = 0; i < std::min(devices, problem.deviceFailures); ++i)
      all = all * Rational(devices + 1);
    all = all * Rational(1 + std::ssize(problem.limits) + quantiles) + Rational(measured);
    return std::min(all, Rational(int64_t(1) << 50) * (Rational(1) - Rational(1) / Rational(1 << 20)));
  }

  /// Ways to use a device of a kind, with none first.
  std::vector<AnsweringDevice> usesOf(unsigned device) const {
    std::vector<AnsweringDevice> uses = {{device, 0, 0, {}}};
    for (unsigned level = 0; level < problem.devices[device].levels.size(); ++level) {
      std::vector<AnsweringDevice> longer = {{device, 0, level, {}}};
      for (int64_t members = 0; members < problem.membersPerDevice; ++members) {
        std::vector<AnsweringDevice> next;
        for (const AnsweringDevice &use : longer)
          for (unsigned kind = use.kinds.empty() ? 0 : use.kinds.back(); kind < problem.kinds.size(); ++kind) {
            AnsweringDevice more = use;
            more.kinds.push_back(kind);
            int64_t memory = 0;
            bool runs = true;
            for (unsigned one : more.kinds)
              runs &= runOf(more, one).isPossible, memory += runOf(more, one).memory;
            if (runs && (problem.devices[device].memory == 0 || memory <= problem.devices[device].memory))
              next.push_back(std::move(more));
          }
        uses.insert(uses.end(), next.begin(), next.end());
        longer = std::move(next);
      }
    }
    return uses;
  }

  /// The largest quorum that is there within `time` but for a share of `late`.
  int64_t quorumWithin(const Devices &devices, const Failed &failed, int64_t time, const Rational &late) {
    std::map<int64_t, double> sums;
    sums[0] = 1;
    for (size_t i = 0; i < devices.size(); ++i) {
      if (std::find(failed.begin(), failed.end(), i) != failed.end())
        continue;
      auto [slot, isNew] = arrivals.try_emplace({useOf(devices[i]), time}, 0.0);
      if (isNew)
        slot->second = arrival(devices[i], time).low.toDouble();
      std::map<int64_t, double> next;
      for (auto [sum, share] : sums) {
        next[sum] += share * (1 - slot->second);
        next[sum + weightOf(devices[i])] += share * slot->second;
      }
      sums = std::move(next);
    }
    int64_t quorum = 0;
    double below = 0;
    for (auto [sum, share] : sums) {
      // Where doubles may err, the exact share decides.
      bool fits = below <= late.toDouble();
      if (std::abs(below - late.toDouble()) < 1e-9)
        fits = shareWithoutAnswer(delivery(devices, std::max<int64_t>(1, sum), time, failed)) <= late;
      if (!fits)
        break;
      quorum = sum;
      below += share;
    }
    return quorum;
  }

  /// No larger quorum keeps what is required of missing and late answers; 0: none does.
  int64_t maxQuorum(const Devices &devices) {
    int64_t weight = 0;
    for (const AnsweringDevice &on : devices)
      weight += weightOf(on);
    const bool isChosen = !problem.quorum && problem.maxNone;
    const int64_t wanted = problem.quorum.value_or(isChosen ? weight : weight / 2 + 1);
    int64_t quorum = std::min(wanted, weight);
    std::set<Signature> seen;
    for (const Failed &failed : failures(devices.size())) {
      if (!seen.insert(signature(devices, failed)).second)
        continue;
      if (problem.maxNone)
        quorum = std::min(quorum, quorumWithin(devices, failed, timeout, *problem.maxNone));
      for (const LatencyLimit &limit : problem.limits)
        if (limit.time < timeout && problem.timeout > 0)
          quorum = std::min(quorum, quorumWithin(devices, failed, limit.time, Rational(1) - limit.share));
    }
    return isChosen || quorum == wanted ? quorum : 0;
  }

  /// Whether a rejected placement does not keep what is required with any quorum up to `quorum`.
  bool isExcluded(const RejectedAnswer &rejected, int64_t quorum) {
    const auto &delivery = rejected.claim.certificate.delivery;
    if (!delivery)
      return false;
    const bool isOnly = problem.quorum || !problem.maxNone;
    // A larger quorum has no more wrong answers, and no sooner ones.
    if (delivery->isUndecided ? !(isOnly ? delivery->quorum == quorum : delivery->quorum == 1)
                              : delivery->quorum < quorum)
      return false;
    auto proof = follows("a rejected placement", rejected.devices, delivery->quorum, rejected.claim);
    std::optional<Rational> attained = proof ? proof->attained : std::nullopt;
    if (proof && rejected.claim.certificate.proof == VoteCertificate::Proof::Table)
      attained = minOfTable(rejected.claim.certificate);
    if (!attained)
      return false;
    if (!delivery->isUndecided)
      return rejected.claim.time == timeout && problem.maxWrong && *attained > *problem.maxWrong;
    return std::ranges::any_of(problem.limits, [&](const LatencyLimit &limit) {
      return limit.time == rejected.claim.time && *attained > Rational(1) - limit.share;
    });
  }
  /// What votes of a table do not show to be less: no limit of them is too large by a part in a million.
  static std::optional<Rational> minOfTable(const VoteCertificate &certificate) {
    const Rational delta = (Rational(1) - certificate.confidence) / Rational(certificate.tests),
                   slightlyLess = Rational(1) - Rational(1) / Rational(1'000'000);
    for (const VoteLimit &limit : certificate.limits)
      if (auto holds = tailAtMost(limit.wrong, limit.samples, limit.limit * slightlyLess, delta);
          limit.limit < Rational(1) && (!holds || *holds))
        return std::nullopt;
    return certificate.value * slightlyLess;
  }

  /// Placements with less energy than the bound.
  void others() {
    if (problem.objective != AnswerObjective::Energy) {
      out.trusted.push_back("the search, that no other placement is better");
      return;
    }
    std::map<std::vector<Use>, const RejectedAnswer *> rejected;
    for (const RejectedAnswer &one : plan.result.rejected) {
      if (std::ranges::any_of(one.devices,
                              [&](const AnsweringDevice &on) { return on.device >= problem.devices.size(); }) ||
          !isPlaced(one.devices))
        return;
      std::vector<Use> uses;
      for (const AnsweringDevice &on : one.devices)
        uses.push_back(useOf(on));
      std::ranges::sort(uses);
      rejected[uses] = &one;
    }
    constexpr uint64_t kMaxPlacements = 400'000;
    uint64_t seen = 0, lacking = 0, shown = 0, open = 0, steps = 0;
    Devices devices;
    double joules = 0;
    int64_t members = 0;
    const double limit = std::isinf(plan.result.bound) ? plan.result.bound : plan.result.bound * (1 - 1e-12);
    auto one = [&] {
      if (members < problem.minSize || members > problem.maxSize || !(joules < limit))
        return;
      ++seen;
      int64_t quorum = maxQuorum(devices);
      if (quorum < 1) {
        ++lacking;
        return;
      }
      std::vector<Use> uses;
      for (const AnsweringDevice &on : devices)
        uses.push_back(useOf(on));
      std::ranges::sort(uses);
      auto known = rejected.find(uses);
      known != rejected.end() && isExcluded(*known->second, quorum) ? ++shown : ++open;
    };
    std::vector<std::vector<AnsweringDevice>> uses;
    for (unsigned d = 0; d < problem.devices.size(); ++d)
      uses.push_back(usesOf(d));
    // Kind by kind, and of each use how many devices have it; energies only grow.
    std::function<void(unsigned, size_t, int64_t)> place = [&](unsigned d, size_t use, int64_t left) {
      constexpr uint64_t kMaxSteps = 10'000'000;
      if (++steps > kMaxSteps)
        seen = kMaxPlacements + 1;
      if (seen > kMaxPlacements || !(joules < limit) || members > problem.maxSize)
        return;
      if (use == uses[d].size()) {
        if (d + 1 == uses.size())
          one();
        else
          place(d + 1, 1, problem.devices[d + 1].count);
        return;
      }
      const Devices before = devices;
      const double spent = joules;
      const int64_t voting = members;
      for (int64_t number = 0; number <= left; ++number) {
        place(d, use + 1, left - number);
        AnsweringDevice next = uses[d][use];
        next.number = std::ranges::count(devices, d, &AnsweringDevice::device);
        joules += joulesOf({next});
        members += std::ssize(next.kinds);
        devices.push_back(std::move(next));
      }
      devices = before, joules = spent, members = voting;
    };
    place(0, 1, problem.devices[0].count);
    if (seen > kMaxPlacements) {
      out.trusted.push_back("the search: there are too many placements to go through them again");
      return;
    }
    out.checked.push_back(
        fmt::format("{} placements with less energy: {} lack the quorum or answer late, {} are wrong "
                    "or late too often with errors that have the stated rates, or votes that were seen",
                    seen, lacking, shown));
    if (open)
      out.trusted.push_back(
          fmt::format("the search, that {} placements with less energy do not keep what is required", open));
  }

  const AnswerPlan &plan;
  const AnswerProblem &problem;
  const int64_t timeout;
  Verification out;
  std::map<int64_t, Rational> undecidedBy; ///< by time, of the chosen placement without failures
  std::map<std::pair<Use, int64_t>, double> arrivals;
};

} // namespace

Verification verify(const AnswerPlan &plan) { return AnswerChecker(plan).run(); }

} // namespace accord
