#include "lib/ensembles/verify/Vote.h"
#include "lib/ensembles/verify/BinomialTail.h"
#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <set>

namespace accord {
namespace {

using Set = std::vector<unsigned>;
using Proof = VoteCertificate::Proof;

/// Patterns that are told apart, and sets of a multiplier, at most.
constexpr uint64_t kMax = 1 << 20;

std::string name(const Set &set) {
  std::string text;
  for (unsigned member : set)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", member);
  return "{" + text + "}";
}

/// n over k; 0 beyond what counts here.
uint64_t choose(uint64_t n, uint64_t k) {
  if (k > n)
    return 0;
  unsigned __int128 result = 1;
  for (uint64_t i = 1; i <= k; ++i)
    result = result * (n - k + i) / i;
  return static_cast<uint64_t>(result);
}
Rational rational(uint64_t value) { return Rational(value); }

/// Shares of what may become of votes: an answer that is wrong, none, or votes that do not decide.
struct Outcome {
  Rational wrong, none, undecided;
};

/// Ways in which votes may arrive: ways with as much weight in all, as much of it wrong and as much of it right are
/// one. What is neither is of a device of which only limits are known: its right votes help nobody but the quorum.
struct Way {
  int64_t all = 0, wrong = 0, right = 0;
  auto operator<=>(const Way &) const = default;
};
using Ways = std::map<Way, Rational>;

/// The ways of the votes of one device by itself, each with a share of `share`.
void addVotes(const VoteDelivery &delivery, const std::vector<Rational> &wrong, unsigned device, const Rational &share,
              bool certain, Ways &into) {
  Ways votes;
  votes[{}] = share;
  for (unsigned member = 0; member < wrong.size(); ++member) {
    if (delivery.device[member] != device)
      continue;
    Ways more;
    for (const auto &[way, part] : votes)
      for (bool isWrong : {false, true}) {
        Rational each = part * (isWrong ? wrong[member] : Rational(1) - wrong[member]);
        int64_t weight = delivery.weights[member];
        Way next{way.all + weight, way.wrong + (isWrong ? weight : 0), way.right + (!isWrong && certain ? weight : 0)};
        if (each.sign())
          more[next] = more[next] + each;
      }
    votes = std::move(more);
  }
  for (const auto &[way, part] : votes)
    into[way] = into[way] + part;
}

/// By member how likely its vote is wrong when it arrives. The ways of all devices, one after the other; without
/// `doubt` every device is as late as it may be.
Ways waysOf(const VoteDelivery &delivery, const std::vector<Rational> &wrong, bool doubt) {
  Ways ways;
  ways[{}] = 1;
  for (unsigned device = 0; device < delivery.undelivered.size(); ++device) {
    const Rational &max = delivery.undelivered[device];
    Rational min = doubt && !delivery.minUndelivered.empty() ? delivery.minUndelivered[device] : max;
    Ways votes;
    votes[{}] = min;
    addVotes(delivery, wrong, device, Rational(1) - max, true, votes);
    if (min < max)
      addVotes(delivery, wrong, device, max - min, false, votes);
    Ways next;
    for (const auto &[a, share] : ways)
      for (const auto &[b, other] : votes)
        if (other.sign()) {
          Way sum{a.all + b.all, a.wrong + b.wrong, a.right + b.right};
          next[sum] = next[sum] + share * other;
        }
    ways = std::move(next);
  }
  return ways;
}

Outcome outcomeOf(const VoteDelivery &delivery, const std::vector<Rational> &wrong) {
  int64_t weight = 0;
  for (int64_t one : delivery.weights)
    weight += one;
  Outcome outcome;
  for (const auto &[way, share] : waysOf(delivery, wrong, false)) {
    if (way.all < delivery.quorum)
      outcome.none = outcome.none + share;
    if (way.all < weight && (way.all < delivery.quorum || 2 * way.right <= weight))
      outcome.undecided = outcome.undecided + share;
  }
  for (const auto &[way, share] : waysOf(delivery, wrong, true))
    // As many right votes of doubtful devices have come as the quorum lacks of the others.
    if (int64_t lacks = std::max<int64_t>(0, delivery.quorum - way.right - way.wrong);
        way.all >= delivery.quorum && way.right + lacks <= way.wrong)
      outcome.wrong = outcome.wrong + share;
  return outcome;
}
Rational claimOf(const VoteDelivery &delivery, const std::vector<Rational> &wrong) {
  Outcome outcome = outcomeOf(delivery, wrong);
  return delivery.isUndecided ? outcome.undecided : outcome.wrong;
}

class VoteChecker {
public:
  explicit VoteChecker(const VoteCertificate &certificate)
      : certificate(certificate), members(certificate.statistics.memberErrors.size()), enough(members - members / 2) {}

  VoteProof run() {
    if (!wellFormed() || !limits())
      return std::move(out);
    switch (certificate.proof) {
    case Proof::Independence:
      independence();
      break;
    case Proof::Table:
      table();
      break;
    case Proof::Multipliers:
    case Proof::Contradiction:
      if (grouped() && multipliers() && !certificate.attained.empty())
        attained();
    }
    return std::move(out);
  }

private:
  template <typename... T> bool find(Code code, fmt::format_string<T...> text, T &&...args) {
    out.findings.push_back({code, fmt::format(text, std::forward<T>(args)...), {}, {}});
    return false;
  }
  template <typename... T> void checked(fmt::format_string<T...> text, T &&...args) {
    out.checked.push_back(fmt::format(text, std::forward<T>(args)...));
  }

  bool wellFormed() {
    const ErrorStatistics &statistics = certificate.statistics;
    if (members == 0 || members > kMaxEnsembleMembers)
      return find(Code::BadPlan, "a certificate of {} members: from 1 to {} can vote", members, kMaxEnsembleMembers);
    if (certificate.delivery && !deliverable(*certificate.delivery))
      return false;
    if (!certificate.kinds.empty() && certificate.kinds.size() != members)
      return find(Code::BadPlan, "kinds of {} members, but {} vote", certificate.kinds.size(), members);
    if (certificate.confidence.sign() <= 0 || certificate.confidence >= Rational(1) || certificate.tests < 1)
      return find(Code::BadPlan, "confidence {} of {} tests", certificate.confidence.print(), certificate.tests);
    for (const auto &[set, rate] : statistics.jointErrors)
      if (set.size() < 2 || set.back() >= members ||
          std::adjacent_find(set.begin(), set.end(), std::greater_equal<>()) != set.end())
        return find(Code::BadPlan, "a joint error of {}: not two or more members in ascending order", name(set));
    Rational votes = 0;
    for (auto [pattern, count] : statistics.votes) {
      if (pattern >> members || count < 0)
        return find(Code::BadPlan, "{} votes with pattern {} of {} members", count, pattern, members);
      votes = votes + Rational(count);
    }
    if (!votes.toInt64())
      return find(Code::BadPlan, "more votes than can be counted");
    collect();
    return true;
  }

  bool deliverable(const VoteDelivery &delivery) {
    auto isProbability = [](const Rational &p) { return p.sign() >= 0 && p <= Rational(1); };
    bool good =
        delivery.device.size() == members && delivery.corrupted.size() == members &&
        delivery.weights.size() == members && std::ranges::all_of(delivery.undelivered, isProbability) &&
        std::ranges::all_of(delivery.corrupted, isProbability) && delivery.quorum >= 1 &&
        std::ranges::all_of(delivery.device, [&](unsigned device) { return device < delivery.undelivered.size(); }) &&
        std::ranges::all_of(delivery.weights, [](int64_t weight) { return weight > 0 && weight <= int64_t{kMax}; });
    if (!delivery.minUndelivered.empty()) {
      good = good && delivery.minUndelivered.size() == delivery.undelivered.size();
      for (size_t device = 0; good && device < delivery.undelivered.size(); ++device)
        good = isProbability(delivery.minUndelivered[device]) &&
               delivery.minUndelivered[device] <= delivery.undelivered[device];
    }
    return good || find(Code::BadPlan, "a delivery that is none of {} votes", members);
  }

  /// Whether members of a group can change places as far as their devices, weights and corruption go.
  bool alike(const Set &group) {
    const VoteDelivery &delivery = *certificate.delivery;
    auto onDevice = [&](unsigned member) { return std::ranges::count(delivery.device, delivery.device[member]); };
    for (unsigned member : group) {
      unsigned first = group.front();
      bool isLikeFirst =
          delivery.weights[member] == delivery.weights[first] &&
          delivery.corrupted[member] == delivery.corrupted[first] &&
          (delivery.device[member] == delivery.device[first] ||
           (onDevice(member) == 1 && onDevice(first) == 1 &&
            delivery.undelivered[delivery.device[member]] == delivery.undelivered[delivery.device[first]] &&
            (delivery.minUndelivered.empty() ||
             delivery.minUndelivered[delivery.device[member]] == delivery.minUndelivered[delivery.device[first]])));
      if (!isLikeFirst)
        return find(Code::BadPlan, "members {} and {} are in a group, but their votes do not arrive alike", first,
                    member);
    }
    return true;
  }

  /// Rates that count, and how many measurements they are.
  void collect() {
    std::set<std::pair<Set, std::pair<Rational, int64_t>>> measurements;
    auto take = [&](const Set &set, const ErrorRate &rate) {
      if (rate.samples == 0)
        known[set] = {rate.rate, true};
      if (rate.samples <= 0 || !certificate.statistics.votes.empty())
        return;
      Set kinds;
      for (unsigned member : set)
        kinds.push_back(certificate.kinds.empty() ? member : certificate.kinds[member]);
      std::sort(kinds.begin(), kinds.end());
      measurements.insert({kinds, {rate.rate, rate.samples}});
      Rational wrong = (rate.rate * Rational(rate.samples)).ceil();
      for (const VoteLimit &limit : certificate.limits)
        if (limit.samples == rate.samples && Rational(limit.wrong) == wrong)
          known[set] = {limit.limit, false};
    };
    for (unsigned i = 0; i < members; ++i)
      take({i}, certificate.statistics.memberErrors[i]);
    for (const auto &[set, rate] : certificate.statistics.jointErrors)
      take(set, rate);
    measured = measurements.size();
  }

  bool limits() {
    Rational delta = (Rational(1) - certificate.confidence) / Rational(certificate.tests);
    if (certificate.proof != Proof::Table && !certificate.limits.empty() && measured > certificate.tests)
      return find(Code::BoundNotProved, "{} rates were measured, but the confidence is shared by {} tests", measured,
                  certificate.tests);
    for (const VoteLimit &limit : certificate.limits) {
      if (limit.limit >= Rational(1))
        continue;
      auto holds = tailAtMost(limit.wrong, limit.samples, limit.limit, delta);
      if (!holds)
        out.trusted.push_back(fmt::format("the limit {} of {} wrong of {} samples: too many terms", limit.limit.print(),
                                          limit.wrong, limit.samples));
      else if (!*holds)
        return find(Code::BoundNotProved,
                    "{} of {} wrong: that the share is at most {} is not shown with an error of {}", limit.wrong,
                    limit.samples, limit.limit.print(), delta.print());
    }
    if (!certificate.limits.empty())
      checked("{} limits with an error of {} each, by sums of binomial terms", certificate.limits.size(),
              delta.print());
    return true;
  }

  struct Rate {
    Rational rate;
    bool exact = true;
  };
  Rate rateOf(const Set &set) const {
    if (auto found = known.find(set); found != known.end())
      return found->second;
    Rate min{1, false};
    for (const auto &[other, rate] : known)
      if (rate.rate < min.rate && std::includes(set.begin(), set.end(), other.begin(), other.end()))
        min.rate = rate.rate;
    return min;
  }

  bool grouped() {
    std::vector<unsigned> times(members);
    patterns = 1;
    for (const Set &group : certificate.groups) {
      for (unsigned member : group)
        if (member < members)
          ++times[member];
      if (patterns <= kMax)
        patterns *= group.size() + 1;
    }
    if (std::any_of(times.begin(), times.end(), [](unsigned n) { return n != 1; }))
      return find(Code::BadPlan, "not every member is in one group");
    if (patterns > kMax)
      return find(Code::BadPlan, "{} patterns or more are told apart: too many to look at", patterns);
    if (certificate.delivery &&
        !std::ranges::all_of(certificate.groups, [&](const Set &group) { return alike(group); }))
      return false;
    for (const auto *terms : {&certificate.multipliers, &certificate.attained})
      for (const VoteTerm &term : *terms) {
        bool fits = term.counts.size() == certificate.groups.size();
        for (size_t g = 0; fits && g < term.counts.size(); ++g)
          fits = term.counts[g] <= certificate.groups[g].size();
        if (!fits)
          return find(Code::BadPlan, "more members of a group than there are");
      }
    return true;
  }

  /// Calls `f` with the wrong members of each group.
  template <typename F> void eachPattern(F f) const {
    Set counts(certificate.groups.size());
    for (uint64_t i = 0; i < patterns; ++i) {
      uint64_t rest = i;
      for (size_t g = 0; g < counts.size(); ++g) {
        counts[g] = rest % (certificate.groups[g].size() + 1);
        rest /= certificate.groups[g].size() + 1;
      }
      f(counts);
    }
  }
  /// The share of votes that fail where so many members of each group are wrong.
  Rational failing(const Set &counts) const {
    if (certificate.delivery) {
      std::vector<Rational> wrong = certificate.delivery->corrupted;
      for (size_t g = 0; g < counts.size(); ++g)
        for (unsigned k = 0; k < counts[g]; ++k)
          wrong[certificate.groups[g][k]] = 1;
      return claimOf(*certificate.delivery, wrong);
    }
    size_t wrong = 0;
    for (unsigned count : counts)
      wrong += count;
    return wrong >= enough ? 1 : 0;
  }

  /// The sum of the rates of all sets with so many of each group; false in `exact`: at most.
  Rational sumOver(const Set &counts, bool &exact) const {
    Rational sum = 0;
    Set set;
    auto add = [&](auto &&self, size_t g, size_t from, unsigned left) -> void {
      if (left == 0) {
        if (++g < certificate.groups.size())
          return self(self, g, 0, counts[g]);
        Set sorted = set;
        std::sort(sorted.begin(), sorted.end());
        Rate rate = rateOf(sorted);
        exact &= rate.exact;
        sum = sum + rate.rate;
        return;
      }
      for (size_t i = from; i + left <= certificate.groups[g].size(); ++i) {
        set.push_back(certificate.groups[g][i]);
        self(self, g, i + 1, left - 1);
        set.pop_back();
      }
    };
    add(add, 0, 0, counts[0]);
    return sum;
  }

  bool multipliers() {
    bool contradiction = certificate.proof == Proof::Contradiction;
    Rational total = certificate.constant;
    uint64_t sets = 0;
    for (const VoteTerm &term : certificate.multipliers) {
      Rational all = 1;
      for (size_t g = 0; g < term.counts.size(); ++g)
        all = all * rational(choose(certificate.groups[g].size(), term.counts[g]));
      if (all > rational(kMax))
        return find(Code::BadPlan, "a multiplier of {} sets: too many to look at", all.print());
      if (std::all_of(term.counts.begin(), term.counts.end(), [](unsigned k) { return k == 0; }))
        return find(Code::BadPlan, "a multiplier of no members");
      bool exact = true;
      total = total + term.value * sumOver(term.counts, exact);
      if (!exact && term.value.sign() < 0)
        return find(Code::BoundNotProved, "a rate that may be less has the multiplier {}", term.value.print());
      sets += *all.toInt64();
    }
    bool below = false;
    eachPattern([&](const Set &wrong) {
      Rational sum = certificate.constant;
      for (const VoteTerm &term : certificate.multipliers) {
        Rational times = term.value;
        for (size_t g = 0; g < wrong.size() && times.sign(); ++g)
          times = times * rational(choose(wrong[g], term.counts[g]));
        sum = sum + times;
      }
      Rational needed = contradiction ? Rational(0) : failing(wrong);
      if (!below && sum < needed)
        below = !find(Code::BoundNotProved, "multipliers are {} where {} members of the groups are wrong, below {}",
                      sum.print(), name(wrong), needed.print());
    });
    if (below)
      return false;
    if (contradiction && total.sign() >= 0)
      return find(Code::BoundNotProved, "no contradiction: multipliers times rates are {}, not below 0", total.print());
    if (total > certificate.value)
      return find(Code::BoundNotProved, "multipliers times rates are {}, above the stated {}", total.print(),
                  certificate.value.print());
    checked("{} on {} patterns, and {} from {} rates",
            contradiction ? "multipliers are 0 or more" : "multipliers cover the vote's failure", patterns,
            total.print(), sets);
    return true;
  }

  void attained() {
    Rational sum = 0, wrong = 0;
    for (const VoteTerm &term : certificate.attained) {
      sum = sum + term.value;
      wrong = wrong + term.value * failing(term.counts);
      if (term.value.sign() < 0)
        find(Code::BoundNotProved, "a probability of {}", term.value.print());
    }
    // Of answers the bound is of shares that may be rounded up.
    if (sum != Rational(1) || (certificate.delivery ? wrong > certificate.value : wrong != certificate.value))
      find(Code::BoundNotProved, "the distribution's sum is {}, and its vote is wrong with {}, not {}", sum.print(),
           wrong.print(), certificate.value.print());
    std::vector<size_t> groupOf(members);
    for (size_t g = 0; g < certificate.groups.size(); ++g)
      for (unsigned member : certificate.groups[g])
        groupOf[member] = g;
    for (const auto &[set, rate] : known) {
      Set counts(certificate.groups.size());
      for (unsigned member : set)
        ++counts[groupOf[member]];
      Rational all = 0;
      for (const VoteTerm &term : certificate.attained) {
        Rational share = term.value;
        for (size_t g = 0; g < counts.size(); ++g)
          share = share * rational(choose(term.counts[g], counts[g])) /
                  rational(choose(certificate.groups[g].size(), counts[g]));
        all = all + share;
      }
      if (rate.exact ? all != rate.rate : all > rate.rate)
        find(Code::BoundNotProved, "in the distribution members {} are wrong with {}, not {}{}", name(set), all.print(),
             rate.exact ? "" : "at most ", rate.rate.print());
    }
    out.tight = out.holds() && wrong == certificate.value;
    if (out.holds())
      out.attained = wrong;
    if (out.tight)
      checked("a distribution of {} patterns has these rates and this error: the bound is tight",
              certificate.attained.size());
  }

  void independence() {
    if (!certificate.statistics.independent) {
      find(Code::BoundNotProved, "nobody states that errors are independent");
      return;
    }
    if (certificate.delivery) {
      std::vector<Rational> wrong;
      for (unsigned i = 0; i < members; ++i)
        wrong.push_back(Rational(1) -
                        (Rational(1) - rateOf({i}).rate) * (Rational(1) - certificate.delivery->corrupted[i]));
      independent(claimOf(*certificate.delivery, wrong));
      return;
    }
    // By number of errors still needed: probability that the members from i on make them.
    std::vector<Rational> need(enough + 1);
    need[0] = 1;
    for (unsigned i = members; i-- > 0;) {
      Rational error = rateOf({i}).rate;
      for (size_t k = enough; k > 0; --k)
        need[k] = error * need[k - 1] + (Rational(1) - error) * need[k];
    }
    independent(need[enough]);
  }
  void independent(const Rational &error) {
    if (error > certificate.value)
      find(Code::BoundNotProved, "independent members fail with {}, above the stated {}", error.print(),
           certificate.value.print());
    else
      checked("independent members fail with {}", error.print());
    out.trusted.push_back("errors are independent, as stated");
  }

  /// Every sample fails with a share; samples of at least each share have a limit.
  void deliveredTable() {
    std::vector<std::pair<Rational, int64_t>> samples;
    int64_t all = 0;
    // What becomes of a sample depends on its devices, not on their order.
    using Device = std::pair<std::pair<Rational, Rational>, std::vector<std::pair<int64_t, Rational>>>;
    std::map<std::vector<Device>, Rational> known;
    const VoteDelivery &delivery = *certificate.delivery;
    for (auto [pattern, count] : certificate.statistics.votes) {
      std::vector<Rational> wrong = delivery.corrupted;
      for (unsigned i = 0; i < members; ++i)
        if (pattern >> i & 1)
          wrong[i] = 1;
      std::vector<Device> devices;
      for (size_t d = 0; d < delivery.undelivered.size(); ++d)
        devices.push_back({{delivery.undelivered[d],
                            delivery.minUndelivered.empty() ? delivery.undelivered[d] : delivery.minUndelivered[d]},
                           {}});
      for (unsigned i = 0; i < members; ++i)
        devices[delivery.device[i]].second.push_back({delivery.weights[i], wrong[i]});
      std::ranges::sort(devices);
      auto [slot, isNew] = known.try_emplace(std::move(devices));
      if (isNew)
        slot->second = claimOf(delivery, wrong);
      samples.push_back({slot->second, count});
      all += count;
    }
    std::ranges::sort(samples);
    Rational sum, before;
    int64_t passed = 0, levels = 0;
    for (const auto &[share, count] : samples) {
      if (share > before) {
        auto limit = std::ranges::find_if(
            certificate.limits, [&](const VoteLimit &one) { return one.wrong == all - passed && one.samples == all; });
        sum = sum + (share - before) * (limit == certificate.limits.end() ? Rational(1) : limit->limit);
        before = share;
        ++levels;
      }
      passed += count;
    }
    if (levels > certificate.tests)
      find(Code::BoundNotProved, "{} shares of samples have limits, but the confidence is shared by {} tests", levels,
           certificate.tests);
    else if (sum > certificate.value)
      find(Code::BoundNotProved, "limits of {} shares of votes add up to {}, above the stated {}", levels, sum.print(),
           certificate.value.print());
    else
      checked("{} shares of {} votes in the table fail with at most {}", levels, all, sum.print());
  }

  void table() {
    if (certificate.delivery)
      return deliveredTable();
    int64_t wrong = 0, all = 0;
    for (auto [pattern, count] : certificate.statistics.votes) {
      all += count;
      if (size_t(std::popcount(pattern)) >= enough)
        wrong += count;
    }
    for (const VoteLimit &limit : certificate.limits)
      if (limit.wrong == wrong && limit.samples == all && limit.limit <= certificate.value) {
        checked("{} of {} votes in the table are wrong", wrong, all);
        return;
      }
    if (certificate.value < Rational(1))
      find(Code::BoundNotProved, "no limit of {} wrong of {} votes is at most {}", wrong, all,
           certificate.value.print());
  }

  const VoteCertificate &certificate;
  size_t members, enough;
  VoteProof out;
  std::map<Set, Rate> known;
  int64_t measured = 0;
  uint64_t patterns = 1;
};

} // namespace

Rational shareWithoutAnswer(const VoteDelivery &delivery) {
  return outcomeOf(delivery, std::vector<Rational>(delivery.device.size())).none;
}

VoteProof verify(const VoteCertificate &certificate) { return VoteChecker(certificate).run(); }

Rational minSimultaneousTests(const MemberStatistics &statistics, const std::vector<unsigned> &sizes,
                              bool deviceFailures) {
  Rational tests = 0;
  for (const ErrorRate &rate : statistics.memberErrors)
    tests = tests + (rate.samples > 0 ? 1 : 0);
  for (const auto &[kinds, rate] : statistics.jointErrors)
    tests = tests + (rate.samples > 0 ? 1 : 0);
  // Multisets by size: the product of 1 + z + … + z^n over kinds with n members in the table.
  std::map<unsigned, unsigned> members;
  for (unsigned kind : statistics.table.kinds)
    ++members[kind];
  std::vector<Rational> product = {1};
  for (auto [kind, max] : members) {
    std::vector<Rational> next(product.size() + max);
    for (size_t size = 0; size < product.size(); ++size)
      for (unsigned count = 0; count <= max; ++count)
        next[size + count] = next[size + count] + product[size];
    product = std::move(next);
  }
  for (size_t size = 1; size < product.size(); size += 2)
    if (size == 1)
      tests = tests + rational(statistics.table.kinds.size());
    else if (deviceFailures || std::find(sizes.begin(), sizes.end(), size) != sizes.end())
      tests = tests + product[size];
  return tests;
}

} // namespace accord
