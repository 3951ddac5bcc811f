// Bounds of votes against joint distributions, published figures and each other.
#include "lib/ensembles/solve/VoteBounds.h"
#include "VoteRandom.h"
#include "lib/ensembles/verify/Vote.h"
#include "lib/support/ClopperPearson.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::test;

namespace {

ErrorStatistics equal(unsigned members, const Rational &error, std::optional<Rational> pair = {}) {
  ErrorStatistics statistics;
  for (unsigned i = 0; i < members; ++i) {
    statistics.memberErrors.push_back({error, 0});
    for (unsigned j = 0; pair && j < i; ++j)
      statistics.jointErrors[{j, i}] = {*pair, 0};
  }
  return statistics;
}
std::optional<Rational> valueOf(const VoteGuarantee &guarantee, VoteBoundKind kind) {
  for (const VoteBound &bound : guarantee.bounds)
    if (bound.kind == kind)
      return bound.certificate.value;
  return std::nullopt;
}

/// Never optimistic, the program over patterns never looser than any other, and all proved again.
TEST(VoteBounds, HoldForAllJointDistributions) {
  std::mt19937 draw(1);
  unsigned tight = 0, closed = 0;
  for (unsigned i = 0; i < 2000; ++i) {
    unsigned members = 1 + i % 5;
    JointAtRandom joint(draw, members);
    ErrorStatistics statistics = joint.statistics(draw, i % 3 * 50, 2 + draw() % 2);
    VoteGuarantee guarantee = strongest(statistics, {});
    ASSERT_FALSE(guarantee.conflict);
    Rational program = *valueOf(guarantee, VoteBoundKind::Patterns), truth = joint.failureProbability();
    for (const VoteBound &bound : guarantee.bounds) {
      ASSERT_GE(bound.certificate.value, truth) << describe(bound.kind).name;
      ASSERT_GE(bound.certificate.value, program) << describe(bound.kind).name;
      VoteProof proof = verify(bound.certificate);
      ASSERT_TRUE(proof.holds()) << describe(bound.kind).name << proof.findings[0].message;
      ASSERT_EQ(proof.tight, bound.kind == VoteBoundKind::Patterns);
      closed += bound.kind != VoteBoundKind::Patterns && bound.certificate.value == program;
    }
    ASSERT_EQ(guarantee.value(), program);
    ASSERT_EQ(guaranteed(statistics, {}), program);
    tight += program == truth;
  }
  EXPECT_GT(tight, 200u);
  EXPECT_GT(closed, 200u);
}

TEST(VoteBounds, OrderOfMembersChangesNothing) {
  std::mt19937 draw(2);
  for (unsigned i = 0; i < 200; ++i) {
    unsigned members = 3 + i % 3;
    JointAtRandom joint(draw, members);
    ErrorStatistics statistics = joint.statistics(draw, 60, 3), other;
    std::vector<unsigned> place(members);
    for (unsigned m = 0; m < members; ++m)
      place[m] = m;
    std::shuffle(place.begin(), place.end(), draw);
    for (auto &rate : statistics.memberErrors)
      rate.samples = draw() % 3 ? 0 : 1000;
    other.memberErrors.resize(members);
    for (unsigned m = 0; m < members; ++m)
      other.memberErrors[place[m]] = statistics.memberErrors[m];
    for (const auto &[set, rate] : statistics.jointErrors) {
      std::vector<unsigned> mapped;
      for (unsigned m : set)
        mapped.push_back(place[m]);
      std::sort(mapped.begin(), mapped.end());
      other.jointErrors[mapped] = rate;
    }
    VoteGuarantee a = strongest(statistics, {}), b = strongest(other, {});
    ASSERT_EQ(a.conflict.has_value(), b.conflict.has_value());
    if (a.conflict)
      continue;
    ASSERT_EQ(a.bounds.size(), b.bounds.size());
    for (size_t k = 0; k < a.bounds.size(); ++k)
      ASSERT_EQ(a.bounds[k].certificate.value, b.bounds[k].certificate.value);
    ASSERT_EQ(a.strongest().kind, b.strongest().kind);
  }
}

TEST(VoteBounds, AnotherTrueRateNeverLoosens) {
  std::mt19937 draw(3);
  unsigned tighter = 0;
  for (unsigned i = 0; i < 300; ++i) {
    unsigned members = 2 + i % 4;
    JointAtRandom joint(draw, members);
    ErrorStatistics statistics = joint.statistics(draw, 30, 2), more = statistics;
    for (const auto &[set, rate] : joint.statistics(draw, 40, 4).jointErrors)
      more.jointErrors.insert({set, rate});
    Rational before = *guaranteed(statistics, {}), after = *guaranteed(more, {});
    ASSERT_LE(after, before);
    tighter += after < before;
    // An exact rate says no less than its upper limit.
    for (auto &[set, rate] : statistics.jointErrors)
      rate = {rate.rate, 100};
    ASSERT_GE(*guaranteed(statistics, {}), before);
  }
  EXPECT_GT(tighter, 50u);
}

/// A vote of members with equal errors is certified to be better than one of them if and only if a
/// pair is wrong together less often than e C(t,2) / C(N,2): 1/3, 0.3, 0.2857, 0.2778, 0.2727 of e.
TEST(VoteBounds, ThresholdsOfPairs) {
  Rational error = ratio(1, 10), little = ratio(1, 1'000'000);
  std::vector<Rational> thresholds = {ratio(1, 3), ratio(3, 10), ratio(2, 7), ratio(5, 18), ratio(3, 11)};
  for (unsigned members = 3; members <= 11; members += 2) {
    Rational threshold = error * thresholds[(members - 3) / 2];
    EXPECT_TRUE(strongest(equal(members, error, threshold - little), {}).improvesOnBestMember()) << members;
    EXPECT_FALSE(strongest(equal(members, error, threshold), {}).improvesOnBestMember()) << members;
    EXPECT_FALSE(strongest(equal(members, error, threshold + little), {}).improvesOnBestMember()) << members;
    // B6 is the program where pairs are at most half as often wrong as one.
    VoteGuarantee guarantee = strongest(equal(members, error, threshold), {});
    EXPECT_EQ(valueOf(guarantee, VoteBoundKind::PairMarkov), valueOf(guarantee, VoteBoundKind::Patterns));
  }
}

TEST(VoteBounds, MembersAloneNeverCertifyAGain) {
  std::mt19937 draw(4);
  for (unsigned i = 0; i < 100; ++i) {
    ErrorStatistics statistics;
    std::vector<Rational> rates;
    for (unsigned m = 0; m < 3 + i % 4 * 2; ++m) {
      rates.push_back(ratio(draw() % 1000, 1000));
      statistics.memberErrors.push_back({rates.back(), 0});
    }
    VoteGuarantee guarantee = strongest(statistics, {});
    EXPECT_FALSE(guarantee.improvesOnBestMember());
    // The least error that is not improved on is the middle member's.
    std::sort(rates.begin(), rates.end());
    EXPECT_GE(guarantee.value(), rates[rates.size() / 2]);
    // B9 is then all there is; N = 2k+1 members of equal p: P(right) >= (N p - k) / (k + 1).
    EXPECT_EQ(valueOf(guarantee, VoteBoundKind::Marginals), guarantee.value());
  }
  for (unsigned k = 1; k < 6; ++k) {
    Rational members = 2 * k + 1, p = ratio(9, 10);
    EXPECT_EQ(strongest(equal(2 * k + 1, Rational(1) - p), {}).value(),
              Rational(1) - (members * p - Rational(k)) / Rational(k + 1));
  }
}

/// Condorcet: .8 each gives .8960 of three, and .8192 of four, whose ties are errors.
TEST(VoteBounds, IndependentMembers) {
  auto right = [](unsigned members) {
    ErrorStatistics statistics = equal(members, ratio(1, 5));
    statistics.independent = true;
    VoteGuarantee guarantee = strongest(statistics, {});
    if (members > 1) {
      EXPECT_EQ(guarantee.strongest().kind, VoteBoundKind::PoissonBinomial);
      EXPECT_EQ(guarantee.basis, GuaranteeBasis::Independence);
    }
    EXPECT_TRUE(verify(guarantee.strongest().certificate).holds());
    EXPECT_EQ(guarantee.improvesOnBestMember(), members > 2);
    return Rational(1) - guarantee.value();
  };
  EXPECT_EQ(right(3), ratio(896, 1000));
  EXPECT_EQ(right(4), ratio(8192, 10000));
  EXPECT_EQ(right(5), ratio(94208, 100000));
  for (unsigned members : {2u, 4u, 6u, 8u}) // never better than one less
    EXPECT_LT(right(members), right(members - 1));
  ErrorStatistics statistics;
  statistics.memberErrors = {{ratio(1, 10), 0}, {ratio(1, 5), 0}, {ratio(3, 10), 0}};
  statistics.independent = true;
  EXPECT_EQ(strongest(statistics, {}).value(), ratio(98, 1000)); // .02 + .03 + .06 - 2 * .006
}

TEST(VoteBounds, HoeffdingIsRoundedUp) {
  ErrorStatistics statistics = equal(9, ratio(1, 5));
  statistics.independent = true;
  Rational value = *valueOf(strongest(statistics, {}), VoteBoundKind::Hoeffding);
  EXPECT_GE(value.toDouble(), std::exp(-2 * 9 * 0.09));
  EXPECT_NEAR(value.toDouble(), std::exp(-2 * 9 * 0.09), 1e-11);
}

TEST(VoteBounds, SamplesCountWithTheirLimits) {
  ErrorStatistics statistics = equal(3, ratio(1, 10), ratio(1, 50));
  EXPECT_EQ(strongest(statistics, {}).value(), ratio(6, 100));
  for (auto &rate : statistics.memberErrors)
    rate.samples = 10000;
  for (auto &[set, rate] : statistics.jointErrors)
    rate.samples = 10000;
  VoteGuarantee guarantee = strongest(statistics, {});
  EXPECT_EQ(guarantee.strongest().certificate.tests, 6);
  EXPECT_EQ(guarantee.basis, GuaranteeBasis::Measured);
  Rational delta = ratio(1, 20) / Rational(6);
  EXPECT_EQ(guarantee.value(), Rational(3) * upperLimit(200, 10000, delta));
  EXPECT_EQ(guarantee.best, upperLimit(1000, 10000, delta));
  EXPECT_TRUE(verify(guarantee.strongest().certificate).holds());
  // Copies of a kind are measured once, and a stated number of tests counts.
  VoteOptions options;
  options.kinds = {0, 0, 0};
  VoteGuarantee copies = strongest(statistics, options, {"wide.1", "wide.2", "wide.3"});
  EXPECT_EQ(copies.strongest().certificate.tests, 2);
  delta = ratio(1, 40);
  EXPECT_EQ(copies.inputs,
            (std::vector<std::string>{"error of 'wide.1' at most " + upperLimit(1000, 10000, delta).print() +
                                          " (1000 of 10000 samples)",
                                      "joint error of 'wide.1' and 'wide.2' at most " +
                                          upperLimit(200, 10000, delta).print() + " (200 of 10000 samples)"}));
  EXPECT_LT(*guaranteed(statistics, options), guarantee.value());
  options.tests = 100;
  EXPECT_GT(*guaranteed(statistics, options), guarantee.value());
  options.tests = 6;
  EXPECT_EQ(*guaranteed(statistics, options), guarantee.value());
  options.confidence = ratio(1, 2);
  EXPECT_LT(*guaranteed(statistics, options), guarantee.value());
}

/// With a mean that may be less, too, the C-bound may be more: it holds where m2 >= mu/2.
TEST(VoteBounds, CantelliOfLimits) {
  Rational error = ratio(1, 10), thousand = ratio(1, 1000);
  for (bool exact : {true, false})
    for (const Rational &pair : {thousand, ratio(4, 100)}) {
      ErrorStatistics statistics = equal(3, error, pair);
      for (auto &rate : statistics.memberErrors)
        rate.samples = exact ? 0 : 1'000'000;
      VoteGuarantee guarantee = strongest(statistics, {});
      EXPECT_EQ(valueOf(guarantee, VoteBoundKind::Cantelli).has_value(), exact || pair > thousand);
      for (const VoteBound &bound : guarantee.bounds) {
        EXPECT_TRUE(verify(bound.certificate).holds()) << describe(bound.kind).name;
        EXPECT_GE(bound.certificate.value, guarantee.value());
      }
      if (!exact)
        continue;
      Rational m2 = (Rational(3) * error + Rational(6) * pair) / Rational(9);
      EXPECT_EQ(*valueOf(guarantee, VoteBoundKind::Cantelli), (m2 - error * error) / (m2 - error + ratio(1, 4)));
    }
}

TEST(VoteBounds, ATableReplacesSamples) {
  ErrorStatistics statistics = equal(3, ratio(1, 10), ratio(1, 50));
  for (auto &rate : statistics.memberErrors)
    rate.samples = 10000;
  statistics.jointErrors.clear();
  statistics.votes = {{0, 9000}, {1, 500}, {4, 300}, {3, 100}, {5, 40}, {6, 20}, {7, 40}};
  VoteGuarantee guarantee = strongest(statistics, {});
  EXPECT_EQ(guarantee.strongest().kind, VoteBoundKind::Table);
  EXPECT_EQ(guarantee.value(), upperLimit(200, 10000, ratio(1, 20)));
  EXPECT_EQ(guarantee.basis, GuaranteeBasis::Table);
  EXPECT_TRUE(verify(guarantee.strongest().certificate).holds());
  EXPECT_EQ(guarantee.inputs,
            std::vector<std::string>{"200 of 10000 votes wrong: at most " + guarantee.value().print()});
  EXPECT_EQ(guarantee.best, upperLimit(160, 10000, ratio(1, 20))); // the second member's
  EXPECT_FALSE(guarantee.improvesOnBestMember());
}

/// Rates seen in samples of a known distribution: limits hold at least as often as is said.
TEST(VoteBounds, LimitsHoldAsOftenAsIsSaid) {
  std::mt19937 draw(5);
  unsigned optimistic = 0, all = 200;
  for (unsigned i = 0; i < all; ++i) {
    JointAtRandom joint(draw, 3);
    std::discrete_distribution<unsigned> pattern(joint.weights.begin(), joint.weights.end());
    ErrorStatistics statistics;
    std::vector<int64_t> memberErrors(3);
    std::map<std::vector<unsigned>, int64_t> pairs = {{{0, 1}, 0}, {{0, 2}, 0}, {{1, 2}, 0}};
    for (unsigned s = 0; s < 300; ++s) {
      unsigned wrong = pattern(draw);
      for (unsigned m = 0; m < 3; ++m)
        memberErrors[m] += wrong >> m & 1;
      for (auto &[pair, count] : pairs)
        count += (wrong >> pair[0] & 1) && (wrong >> pair[1] & 1);
      statistics.votes[wrong] += 1;
    }
    for (unsigned m = 0; m < 3; ++m)
      statistics.memberErrors.push_back({ratio(memberErrors[m], 300), 300});
    for (auto &[pair, count] : pairs)
      statistics.jointErrors[pair] = {ratio(count, 300), 300};
    optimistic += *guaranteed(statistics, {}) < joint.failureProbability();
    statistics.votes.clear();
    ASSERT_GE(*guaranteed(statistics, {}), ratio(0, 1));
    optimistic += *guaranteed(statistics, {}) < joint.failureProbability();
  }
  EXPECT_LE(optimistic, 2 * all / 20);
}

TEST(VoteBounds, OddFacts) {
  ErrorStatistics none;
  EXPECT_EQ(guaranteed(none, {}), Rational(1));
  ErrorStatistics unknown;
  unknown.memberErrors = {{1, -1}, {1, -1}, {1, -1}};
  VoteGuarantee guarantee = strongest(unknown, {});
  EXPECT_EQ(guarantee.value(), Rational(1));
  EXPECT_EQ(guarantee.basis, GuaranteeBasis::None);
  unknown.jointErrors[{0, 1}] = {ratio(1, 50), 0};
  unknown.jointErrors[{0, 2}] = {ratio(1, 50), 0};
  unknown.jointErrors[{1, 2}] = {ratio(1, 50), 0};
  EXPECT_EQ(strongest(unknown, {}).value(), ratio(6, 100));
  unknown.jointErrors[{2, 1}] = {1, 0}; // no set of members
  unknown.jointErrors[{1, 9}] = {1, 0};
  unknown.jointErrors[{}] = {ratio(1, 3), 0};
  EXPECT_EQ(strongest(unknown, {}).value(), ratio(6, 100));
  EXPECT_EQ(strongest(equal(63, 0), {}).value(), Rational(0));
  EXPECT_EQ(strongest(equal(63, 1), {}).value(), Rational(1));
  EXPECT_EQ(strongest(equal(1, ratio(1, 3)), {}).value(), ratio(1, 3));
}

} // namespace
