#include "lib/ensembles/verify/Vote.h"
#include "lib/ensembles/verify/BinomialTail.h"
#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <set>

namespace accord {
namespace {

using Set = std::vector<unsigned>;
using Proof = VoteClaim::Proof;

/// Patterns that are told apart, and sets of a multiplier, at most.
constexpr uint64_t kMost = 1 << 20;

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
Rational rational(uint64_t value) { return Rational(static_cast<int64_t>(value)); }

class Judge {
public:
  explicit Judge(const VoteClaim &claim)
      : claim(claim), members(claim.facts.alone.size()), enough(members - members / 2) {}

  VoteProof judge() {
    if (!wellFormed() || !limits())
      return std::move(out);
    switch (claim.proof) {
    case Proof::Independence:
      independence();
      break;
    case Proof::Table:
      table();
      break;
    case Proof::Multipliers:
    case Proof::Contradiction:
      if (grouped() && multipliers() && !claim.attained.empty())
        attained();
    }
    return std::move(out);
  }

private:
  template <typename... T> bool find(const char *code, fmt::format_string<T...> text, T &&...args) {
    out.findings.push_back({code, fmt::format(text, std::forward<T>(args)...), {}, {}});
    return false;
  }
  template <typename... T> void checked(fmt::format_string<T...> text, T &&...args) {
    out.checked.push_back(fmt::format(text, std::forward<T>(args)...));
  }

  bool wellFormed() {
    const ErrorFacts &facts = claim.facts;
    if (members == 0 || members > kMostVoters)
      return find("A0901", "a claim of {} members: from 1 to {} can vote", members, kMostVoters);
    if (!claim.kinds.empty() && claim.kinds.size() != members)
      return find("A0901", "kinds of {} members, but {} vote", claim.kinds.size(), members);
    if (claim.confidence.sign() <= 0 || claim.confidence >= Rational(1) || claim.tests < 1)
      return find("A0901", "confidence {} of {} tests", claim.confidence.print(), claim.tests);
    for (const auto &[set, rate] : facts.together)
      if (set.size() < 2 || set.back() >= members ||
          std::adjacent_find(set.begin(), set.end(), std::greater_equal<>()) != set.end())
        return find("A0901", "a joint error of {}: not two or more members in ascending order",
                    name(set));
    Rational votes = 0;
    for (auto [pattern, count] : facts.votes) {
      if (pattern >> members || count < 0)
        return find("A0901", "{} votes with pattern {} of {} members", count, pattern, members);
      votes = votes + Rational(count);
    }
    if (!votes.toInt64())
      return find("A0901", "more votes than can be counted");
    collect();
    return true;
  }

  /// Rates that count, and how many measurements they are.
  void collect() {
    std::set<std::pair<Set, std::pair<Rational, int64_t>>> measurements;
    auto take = [&](const Set &set, const ErrorRate &rate) {
      if (rate.samples == 0)
        known[set] = {rate.rate, true};
      if (rate.samples <= 0 || !claim.facts.votes.empty())
        return;
      Set kinds;
      for (unsigned member : set)
        kinds.push_back(claim.kinds.empty() ? member : claim.kinds[member]);
      std::sort(kinds.begin(), kinds.end());
      measurements.insert({kinds, {rate.rate, rate.samples}});
      Rational wrong = (rate.rate * Rational(rate.samples)).ceil();
      for (const VoteLimit &limit : claim.limits)
        if (limit.samples == rate.samples && Rational(limit.wrong) == wrong)
          known[set] = {limit.limit, false};
    };
    for (unsigned i = 0; i < members; ++i)
      take({i}, claim.facts.alone[i]);
    for (const auto &[set, rate] : claim.facts.together)
      take(set, rate);
    measured = static_cast<int64_t>(measurements.size());
  }

  bool limits() {
    Rational delta = (Rational(1) - claim.confidence) / Rational(claim.tests);
    if (claim.proof != Proof::Table && !claim.limits.empty() && measured > claim.tests)
      return find("A0906", "{} rates were measured, but the confidence is shared by {} tests",
                  measured, claim.tests);
    for (const VoteLimit &limit : claim.limits) {
      if (limit.limit >= Rational(1))
        continue;
      auto holds = tailAtMost(limit.wrong, limit.samples, limit.limit, delta);
      if (!holds)
        out.trusted.push_back(fmt::format("the limit {} of {} wrong of {} samples: too many terms",
                                          limit.limit.print(), limit.wrong, limit.samples));
      else if (!*holds)
        return find("A0906",
                    "{} of {} wrong: that the share is at most {} is not shown with an error of {}",
                    limit.wrong, limit.samples, limit.limit.print(), delta.print());
    }
    if (!claim.limits.empty())
      checked("{} limits with an error of {} each, by sums of binomial terms", claim.limits.size(),
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
    Rate least{1, false};
    for (const auto &[other, rate] : known)
      if (rate.rate < least.rate &&
          std::includes(set.begin(), set.end(), other.begin(), other.end()))
        least.rate = rate.rate;
    return least;
  }

  bool grouped() {
    std::vector<unsigned> times(members);
    patterns = 1;
    for (const Set &group : claim.groups) {
      for (unsigned member : group)
        if (member < members)
          ++times[member];
      if (patterns <= kMost)
        patterns *= group.size() + 1;
    }
    if (std::any_of(times.begin(), times.end(), [](unsigned n) { return n != 1; }))
      return find("A0901", "not every member is in one group");
    if (patterns > kMost)
      return find("A0901", "{} patterns or more are told apart: too many to look at", patterns);
    for (const auto *terms : {&claim.multipliers, &claim.attained})
      for (const VoteTerm &term : *terms) {
        bool fits = term.counts.size() == claim.groups.size();
        for (size_t g = 0; fits && g < term.counts.size(); ++g)
          fits = term.counts[g] <= claim.groups[g].size();
        if (!fits)
          return find("A0901", "more members of a group than there are");
      }
    return true;
  }

  /// Calls `f` with the wrong members of each group.
  template <typename F> void eachPattern(F f) const {
    Set counts(claim.groups.size());
    for (uint64_t i = 0; i < patterns; ++i) {
      uint64_t rest = i;
      for (size_t g = 0; g < counts.size(); ++g) {
        counts[g] = static_cast<unsigned>(rest % (claim.groups[g].size() + 1));
        rest /= claim.groups[g].size() + 1;
      }
      f(counts);
    }
  }
  static bool fails(const Set &counts, size_t enough) {
    size_t wrong = 0;
    for (unsigned count : counts)
      wrong += count;
    return wrong >= enough;
  }

  /// The sum of the rates of all sets with so many of each group; false in `exact`: at most.
  Rational sumOver(const Set &counts, bool &exact) const {
    Rational sum = 0;
    Set set;
    auto add = [&](auto &&self, size_t g, size_t from, unsigned left) -> void {
      if (left == 0) {
        if (++g < claim.groups.size())
          return self(self, g, 0, counts[g]);
        Set sorted = set;
        std::sort(sorted.begin(), sorted.end());
        Rate rate = rateOf(sorted);
        exact &= rate.exact;
        sum = sum + rate.rate;
        return;
      }
      for (size_t i = from; i + left <= claim.groups[g].size(); ++i) {
        set.push_back(claim.groups[g][i]);
        self(self, g, i + 1, left - 1);
        set.pop_back();
      }
    };
    add(add, 0, 0, counts[0]);
    return sum;
  }

  bool multipliers() {
    bool contradiction = claim.proof == Proof::Contradiction;
    Rational total = claim.constant;
    uint64_t sets = 0;
    for (const VoteTerm &term : claim.multipliers) {
      Rational all = 1;
      for (size_t g = 0; g < term.counts.size(); ++g)
        all = all * rational(choose(claim.groups[g].size(), term.counts[g]));
      if (all > rational(kMost))
        return find("A0901", "a multiplier of {} sets: too many to look at", all.print());
      if (std::all_of(term.counts.begin(), term.counts.end(), [](unsigned k) { return k == 0; }))
        return find("A0901", "a multiplier of no members");
      bool exact = true;
      total = total + term.value * sumOver(term.counts, exact);
      if (!exact && term.value.sign() < 0)
        return find("A0906", "a rate that may be less has the multiplier {}", term.value.print());
      sets += static_cast<uint64_t>(*all.toInt64());
    }
    bool below = false;
    eachPattern([&](const Set &wrong) {
      Rational sum = claim.constant;
      for (const VoteTerm &term : claim.multipliers) {
        Rational times = term.value;
        for (size_t g = 0; g < wrong.size() && times.sign(); ++g)
          times = times * rational(choose(wrong[g], term.counts[g]));
        sum = sum + times;
      }
      Rational needed = !contradiction && fails(wrong, enough) ? 1 : 0;
      if (!below && sum < needed)
        below =
            !find("A0906", "multipliers are {} where {} members of the groups are wrong, below {}",
                  sum.print(), name(wrong), needed.print());
    });
    if (below)
      return false;
    if (contradiction && total.sign() >= 0)
      return find("A0906", "no contradiction: multipliers times rates are {}, not below 0",
                  total.print());
    if (total > claim.value)
      return find("A0906", "multipliers times rates are {}, above the claimed {}", total.print(),
                  claim.value.print());
    checked("{} on {} patterns, and {} from {} rates",
            contradiction ? "multipliers are 0 or more" : "multipliers cover the vote's failure",
            patterns, total.print(), sets);
    return true;
  }

  void attained() {
    Rational sum = 0, wrong = 0;
    for (const VoteTerm &term : claim.attained) {
      sum = sum + term.value;
      if (fails(term.counts, enough))
        wrong = wrong + term.value;
      if (term.value.sign() < 0)
        find("A0906", "a probability of {}", term.value.print());
    }
    if (sum != Rational(1) || wrong != claim.value)
      find("A0906", "the distribution's sum is {}, and its vote is wrong with {}, not {}",
           sum.print(), wrong.print(), claim.value.print());
    std::vector<size_t> groupOf(members);
    for (size_t g = 0; g < claim.groups.size(); ++g)
      for (unsigned member : claim.groups[g])
        groupOf[member] = g;
    for (const auto &[set, rate] : known) {
      Set counts(claim.groups.size());
      for (unsigned member : set)
        ++counts[groupOf[member]];
      Rational all = 0;
      for (const VoteTerm &term : claim.attained) {
        Rational share = term.value;
        for (size_t g = 0; g < counts.size(); ++g)
          share = share * rational(choose(term.counts[g], counts[g])) /
                  rational(choose(claim.groups[g].size(), counts[g]));
        all = all + share;
      }
      if (rate.exact ? all != rate.rate : all > rate.rate)
        find("A0906", "in the distribution members {} are wrong with {}, not {}{}", name(set),
             all.print(), rate.exact ? "" : "at most ", rate.rate.print());
    }
    out.tight = out.holds();
    if (out.tight)
      checked("a distribution of {} patterns has these rates and this error: the bound is tight",
              claim.attained.size());
  }

  void independence() {
    if (!claim.facts.independent) {
      find("A0906", "nobody states that errors are independent");
      return;
    }
    // By number of errors still needed: probability that the members from i on make them.
    std::vector<Rational> need(enough + 1);
    need[0] = 1;
    for (unsigned i = static_cast<unsigned>(members); i-- > 0;) {
      Rational error = rateOf({i}).rate;
      for (size_t k = enough; k > 0; --k)
        need[k] = error * need[k - 1] + (Rational(1) - error) * need[k];
    }
    if (need[enough] > claim.value)
      find("A0906", "independent members fail with {}, above the claimed {}", need[enough].print(),
           claim.value.print());
    else
      checked("independent members fail with {}", need[enough].print());
    out.trusted.push_back("errors are independent, as stated");
  }

  void table() {
    int64_t wrong = 0, all = 0;
    for (auto [pattern, count] : claim.facts.votes) {
      all += count;
      if (static_cast<size_t>(std::popcount(pattern)) >= enough)
        wrong += count;
    }
    for (const VoteLimit &limit : claim.limits)
      if (limit.wrong == wrong && limit.samples == all && limit.limit <= claim.value) {
        checked("{} of {} votes in the table are wrong", wrong, all);
        return;
      }
    if (claim.value < Rational(1))
      find("A0906", "no limit of {} wrong of {} votes is at most {}", wrong, all,
           claim.value.print());
  }

  const VoteClaim &claim;
  size_t members, enough;
  VoteProof out;
  std::map<Set, Rate> known;
  int64_t measured = 0;
  uint64_t patterns = 1;
};

} // namespace

VoteProof verify(const VoteClaim &claim) { return Judge(claim).judge(); }

Rational testsNeeded(const KindFacts &facts, const std::vector<unsigned> &sizes, bool lost) {
  Rational tests = 0;
  for (const ErrorRate &rate : facts.alone)
    tests = tests + (rate.samples > 0 ? 1 : 0);
  for (const auto &[kinds, rate] : facts.together)
    tests = tests + (rate.samples > 0 ? 1 : 0);
  // Multisets by size: the product of 1 + z + … + z^n over kinds with n members in the table.
  std::map<unsigned, unsigned> members;
  for (unsigned kind : facts.table.kinds)
    ++members[kind];
  std::vector<Rational> product = {1};
  for (auto [kind, most] : members) {
    std::vector<Rational> next(product.size() + most);
    for (size_t size = 0; size < product.size(); ++size)
      for (unsigned count = 0; count <= most; ++count)
        next[size + count] = next[size + count] + product[size];
    product = std::move(next);
  }
  for (size_t size = 1; size < product.size(); size += 2)
    if (size == 1)
      tests = tests + rational(facts.table.kinds.size());
    else if (lost || std::find(sizes.begin(), sizes.end(), size) != sizes.end())
      tests = tests + product[size];
  return tests;
}

} // namespace accord
