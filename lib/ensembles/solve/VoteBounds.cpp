#include "lib/ensembles/solve/VoteBounds.h"
#include "lib/support/ClopperPearson.h"
#include "llvm/ADT/STLForwardCompat.h"
#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <numeric>
#include <set>

namespace accord {

namespace {

/// The least multiple of 10^-digits that is no less.
Rational roundUp(const Rational &value, unsigned digits) {
  Rational scale = 1;
  for (unsigned i = 0; i < digits; ++i)
    scale = scale * Rational(10);
  return (value * scale).ceil() / scale;
}

/// At least exp(-y), y >= 0: one by a part of the series of exp(y), of a y of so few digits that
/// its powers stay short.
Rational expOfMinus(const Rational &exact) {
  const Rational digits = 1'000'000'000'000'000;
  Rational y = (exact * digits).floor() / digits;
  Rational term = 1, sum = 1;
  const int64_t terms = 3 * y.toDouble() + 20;
  for (int64_t k = 1; k < terms; ++k) {
    term = term * y / Rational(k);
    sum = sum + term;
  }
  return roundUp(Rational(1) / sum, 12);
}

class Bounds {
public:
  Bounds(const ErrorStatistics &statistics, const VoteOptions &options)
      : rates(statistics, options), statistics(statistics), members(rates.members), enough((members + 1) / 2),
        count(members) {
    base.statistics = statistics;
    base.kinds = options.kinds;
    base.confidence = options.confidence;
    base.tests = rates.tests;
    base.groups.resize(1);
    for (unsigned i = 0; i < members; ++i) {
      base.groups[0].push_back(i);
      VoteRate one = rates.of({i});
      memberErrors.push_back(one.rate);
      exact &= one.exact;
      singles = singles + one.rate;
    }
    for (unsigned i = 0; i < members; ++i)
      for (unsigned j = i + 1; j < members; ++j)
        pairs = pairs + rates.of({i, j}).rate;
  }

  std::vector<VoteBound> all() {
    if (!countable()) {
      add(VoteBoundKind::Marginals, VoteCertificate::Proof::Multipliers, 2);
      return std::move(bounds);
    }
    if (statistics.independent) {
      independent();
      hoeffding();
    }
    byMoments(VoteBoundKind::FirstOrder, 0, Rational(2) / count, 0);
    byMoments(VoteBoundKind::SecondOrder, 0, Rational(4) / (count * count), Rational(8) / (count * count));
    cantelli();
    if (enough >= 2)
      byMoments(VoteBoundKind::PairMarkov, 0, 0, Rational(2) / Rational(int64_t{enough} * (enough - 1)));
    strong();
    return std::move(bounds);
  }
  bool countable() const { return members >= 1 && members <= kMaxEnsembleMembers; }
  /// Those that are never above the others.
  void strong() {
    marginals();
    if (auto bound = maxFailureProbability(rates, enough); bound && bound->complete) {
      program(VoteBoundKind::Patterns, *bound);
    } else {
      program(VoteBoundKind::BinomialMoments, maxFailureProbabilityByMoments(rates, enough));
      if (bound)
        program(VoteBoundKind::Patterns, *bound);
    }
    if (!statistics.votes.empty())
      table();
  }
  void independent() {
    std::vector<Rational> wrong(members + 1); // by number of wrong ones among those so far
    wrong[0] = 1;
    for (unsigned i = 0; i < members; ++i)
      for (unsigned k = i + 2; k-- > 0;)
        wrong[k] = wrong[k] * (Rational(1) - memberErrors[i]) + (k ? wrong[k - 1] * memberErrors[i] : 0);
    Rational sum = 0;
    for (unsigned k = enough; k <= members; ++k)
      sum = sum + wrong[k];
    add(VoteBoundKind::PoissonBinomial, VoteCertificate::Proof::Independence, sum).limits = rates.limits;
  }

  /// The least that is guaranteed of one member's error.
  Rational bestMember() const {
    Rational best = 1;
    for (unsigned i = 0; i < members; ++i) {
      best = std::min(best, memberErrors[i]);
      if (!statistics.votes.empty())
        best = std::min(best, limitOf([&](uint64_t pattern) { return pattern >> i & 1; }).limit);
    }
    return best;
  }

  VoteRates rates;
  std::vector<VoteBound> bounds;
  bool contradictory = false; ///< a program found the rates to be

private:
  VoteCertificate &add(VoteBoundKind kind, VoteCertificate::Proof proof, const Rational &value) {
    bounds.push_back({kind, base});
    VoteCertificate &certificate = bounds.back().certificate;
    certificate.proof = proof;
    certificate.value = value;
    if (proof == VoteCertificate::Proof::Multipliers)
      certificate.limits = rates.limits;
    else
      certificate.groups.clear();
    if (value > Rational(1)) { // nothing but that it is a probability
      certificate.proof = VoteCertificate::Proof::Multipliers;
      certificate.value = certificate.constant = 1;
      certificate.groups = base.groups;
    }
    return certificate;
  }
  /// A multiplier for all members and one for all pairs.
  void byMoments(VoteBoundKind kind, const Rational &constant, const Rational &one, const Rational &two) {
    VoteCertificate &certificate =
        add(kind, VoteCertificate::Proof::Multipliers, constant + one * singles + two * pairs);
    if (certificate.constant.sign())
      return;
    certificate.constant = constant;
    if (one.sign())
      certificate.multipliers.push_back({{1}, one});
    if (two.sign() && members > 1)
      certificate.multipliers.push_back({{2}, two});
  }
  void hoeffding() {
    Rational room = Rational(1) / Rational(2) - singles / count;
    if (room.sign() > 0)
      add(VoteBoundKind::Hoeffding, VoteCertificate::Proof::Independence, expOfMinus(Rational(2) * count * room * room))
          .limits = rates.limits;
  }
  /// Of a share of wrong votes with mean mu and variance v below 1/2 by r: v / (v + r^2), the mean
  /// of ((share - mu + v/r) / (r + v/r))^2 (Cantelli 1928).
  void cantelli() {
    Rational half = Rational(1) / Rational(2), mu = singles / count,
             m2 = (singles + Rational(2) * pairs) / (count * count), room = half - mu, variance = m2 - mu * mu;
    // Where mu may be less, it falls with mu only if m2 >= mu/2; else B4 is what is left of it.
    if (room.sign() <= 0 || variance.sign() < 0 || (!exact && m2 < half * mu))
      return;
    Rational c = variance / room - mu, g = half + c, square = g * g;
    byMoments(VoteBoundKind::Cantelli, c * c / square,
              (Rational(1) / (count * count) + Rational(2) * c / count) / square,
              Rational(2) / (count * count * square));
  }
  /// Of the N-j with the least errors t-j are wrong where t of all are.
  void marginals() {
    std::vector<unsigned> order(members);
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](unsigned a, unsigned b) {
      return memberErrors[a] != memberErrors[b] ? memberErrors[a] < memberErrors[b] : a < b;
    });
    Rational sum = singles, min = 2;
    unsigned left = 0;
    for (unsigned j = 0; j < enough; ++j) {
      Rational value = sum / Rational(int64_t{enough} - j);
      if (value < min) {
        min = value;
        left = j;
      }
      sum = sum - memberErrors[order[members - 1 - j]];
    }
    VoteCertificate &certificate = add(VoteBoundKind::Marginals, VoteCertificate::Proof::Multipliers, min);
    if (certificate.constant.sign())
      return;
    certificate.groups = {{order.begin(), order.end() - left}};
    if (left)
      certificate.groups.push_back({order.end() - left, order.end()});
    for (auto &group : certificate.groups)
      std::sort(group.begin(), group.end());
    std::vector<unsigned> counts(certificate.groups.size());
    counts[0] = 1;
    certificate.multipliers = {{counts, Rational(1) / Rational(int64_t{enough} - left)}};
  }
  void program(VoteBoundKind kind, const PatternBound &bound) {
    contradictory |= !bound.feasible;
    if (!bound.feasible)
      return;
    VoteCertificate &certificate = add(kind, VoteCertificate::Proof::Multipliers, bound.value);
    certificate.groups = bound.groups;
    certificate.constant = bound.constant;
    certificate.multipliers = bound.multipliers;
    certificate.attained = bound.attained;
  }
  /// Of the share of votes with such a pattern.
  template <typename F> VoteLimit limitOf(F counts) const {
    VoteLimit limit;
    for (auto [pattern, times] : statistics.votes) {
      limit.samples += times;
      if (counts(pattern))
        limit.wrong += times;
    }
    limit.limit = upperLimit(limit.wrong, limit.samples, rates.delta);
    return limit;
  }
  void table() {
    VoteLimit limit = limitOf([&](uint64_t pattern) { return unsigned(std::popcount(pattern)) >= enough; });
    add(VoteBoundKind::Table, VoteCertificate::Proof::Table, limit.limit).limits = {limit};
  }

  const ErrorStatistics &statistics;
  unsigned members, enough;
  std::vector<Rational> memberErrors; ///< errors, at most
  Rational count, singles, pairs;
  bool exact = true; ///< rates of single members are
  VoteCertificate base;
};

GuaranteeBasis basisOf(const VoteBound &bound, const VoteRates &rates) {
  if (bound.kind == VoteBoundKind::Table)
    return GuaranteeBasis::Table;
  if (bound.certificate.proof == VoteCertificate::Proof::Independence)
    return GuaranteeBasis::Independence;
  if (bound.certificate.multipliers.empty())
    return GuaranteeBasis::None;
  return rates.limits.empty() ? GuaranteeBasis::Asserted : GuaranteeBasis::Measured;
}

} // namespace

VoteGuarantee strongest(const ErrorStatistics &statistics, const VoteOptions &options,
                        const std::vector<std::string> &names) {
  VoteGuarantee result;
  Bounds bounds(statistics, options);
  result.bounds = bounds.all();
  if (bounds.contradictory || statistics.independent)
    if ((result.conflict = conflictOf(statistics, options))) {
      result.bounds.clear();
      return result;
    }
  std::sort(result.bounds.begin(), result.bounds.end(), [](const auto &a, const auto &b) { return a.kind < b.kind; });
  for (size_t i = 1; i < result.bounds.size(); ++i) {
    const VoteBound &min = result.bounds[result.min];
    const Rational &value = result.bounds[i].certificate.value;
    // Of equal ones the one that shows that no better one follows.
    if (value < min.certificate.value || (value == min.certificate.value && min.certificate.attained.empty() &&
                                          !result.bounds[i].certificate.attained.empty()))
      result.min = i;
  }
  result.best = bounds.bestMember();
  result.basis = basisOf(result.strongest(), bounds.rates);
  result.inputs = inputsOf(result.strongest(), bounds.rates, names);
  result.assumptions = assumptionsOf(result.strongest(), bounds.rates);
  return result;
}

std::optional<Rational> guaranteed(const ErrorStatistics &statistics, const VoteOptions &options) {
  Bounds bounds(statistics, options);
  if (!bounds.countable())
    return 1;
  bounds.strong();
  if (bounds.contradictory)
    return std::nullopt;
  if (statistics.independent)
    bounds.independent();
  Rational min = 1;
  for (const VoteBound &bound : bounds.bounds)
    min = std::min(min, bound.certificate.value);
  return min;
}

namespace {

constexpr VoteBoundDescription kTexts[kNumVoteBounds] = {
    {"Poisson-binomial tail (independent errors)", "sum of the Poisson-binomial tail P(K >= t)",
     "errors of members are independent, as stated"},
    {"Hoeffding bound (independent errors)", "exp(-2 N (1/2 - S1/N)^2)",
     "errors of members are independent, as stated"},
    {"first-order bound (Markov)", "2 S1 / N", ""},
    {"second-order bound", "4 (S1 + 2 S2) / N^2", ""},
    {"C-bound (Cantelli)", "(m2 - mu^2) / (m2 - mu + 1/4)", ""},
    {"pairwise Markov bound", "S2 / C(t,2)", ""},
    {"bound from individual error rates", "min over j < t of (sum of the N-j smallest errors) / (t-j)", ""},
    {"binomial-moment bound (linear program)", "linear program over the number of wrong members", ""},
    {"joint-distribution bound (linear program over error patterns)",
     "linear program over the patterns of wrong members", ""},
    {"hold-out bound (Clopper-Pearson)", "Clopper-Pearson limit of wrong votes",
     "votes in the table are independent samples of what is voted on, and no member was trained or "
     "chosen with them"},
};

} // namespace

std::string nameOf(const std::vector<unsigned> &set, const std::vector<std::string> &names) {
  std::string result = set.size() > 1 ? "joint error of " : "error of ";
  for (size_t i = 0; i < set.size(); ++i) {
    result += i == 0 ? "" : i + 1 < set.size() ? ", " : " and ";
    result += set[i] < names.size() ? fmt::format("'{}'", names[set[i]]) : fmt::format("member {}", set[i] + 1);
  }
  return result;
}

VoteBoundDescription describe(VoteBoundKind kind) { return kTexts[llvm::to_underlying(kind)]; }

const char *describe(GuaranteeBasis basis) {
  constexpr const char *kBases[] = {"table of votes", "measured error rates", "asserted error rates",
                                    "asserted independence", "none"};
  return kBases[llvm::to_underlying(basis)];
}

std::vector<std::string> inputsOf(const VoteBound &bound, const VoteRates &rates,
                                  const std::vector<std::string> &names) {
  const VoteCertificate &certificate = bound.certificate;
  std::vector<std::string> result;
  if (certificate.proof == VoteCertificate::Proof::Table) {
    for (const VoteLimit &limit : certificate.limits)
      result.push_back(
          fmt::format("{} of {} votes wrong: at most {}", limit.wrong, limit.samples, limit.limit.print()));
    return result;
  }
  // Of members of the same kinds what is known is the same.
  std::set<std::vector<unsigned>> listed;
  for (size_t size = 1; size <= rates.members; ++size)
    for (const auto &[set, rate] : rates.known) {
      if (set.size() != size || (size > 1 && certificate.proof == VoteCertificate::Proof::Independence))
        continue;
      std::vector<unsigned> kinds;
      for (unsigned member : set)
        kinds.push_back(member < certificate.kinds.size() ? certificate.kinds[member] : member);
      std::sort(kinds.begin(), kinds.end());
      if (!listed.insert(kinds).second)
        continue;
      const ErrorRate &fact = size == 1 ? certificate.statistics.memberErrors[set[0]]
                                        : certificate.statistics.jointErrors.find(set)->second;
      result.push_back(fmt::format("{} {}{}", nameOf(set, names), rate.exact ? "" : "at most ", rate.rate.print()));
      if (!rate.exact)
        result.back() += fmt::format(" ({} of {} samples)", (fact.rate * Rational(fact.samples)).print(), fact.samples);
    }
  return result;
}

std::vector<std::string> assumptionsOf(const VoteBound &bound, const VoteRates &rates) {
  const VoteCertificate &certificate = bound.certificate;
  std::vector<std::string> result;
  if (const char *own = describe(bound.kind).assumptions; *own)
    result.push_back(own);
  bool table = certificate.proof == VoteCertificate::Proof::Table;
  bool asserted =
      std::any_of(rates.known.begin(), rates.known.end(), [](const auto &entry) { return entry.second.exact; });
  if (!table && asserted)
    result.push_back("error rates without samples are exact, as stated");
  if (!table && !rates.limits.empty())
    result.push_back("samples are independent and of what is voted on, and no member was trained "
                     "or chosen with them");
  // Of a table each member has its own votes.
  std::set<unsigned> kinds(certificate.kinds.begin(), certificate.kinds.end());
  if (!table && !rates.known.empty() && kinds.size() < certificate.kinds.size())
    result.push_back("what is stated of a kind holds for every member of it");
  if (table || !rates.limits.empty())
    result.push_back(fmt::format("the limits of {} {} hold together with a probability of {}", certificate.tests,
                                 certificate.tests == 1 ? "test" : "tests", certificate.confidence.print()));
  result.push_back("half of the votes or more wrong is an error of the vote, a tie too");
  return result;
}

} // namespace accord
