// Bounds of votes against joint distributions, published figures and each other.
#include "VoteRandom.h"
#include "lib/support/ClopperPearson.h"
#include "lib/ensembles/verify/Vote.h"
#include "lib/ensembles/solve/Bounds.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::test;

namespace {

ErrorFacts equal(unsigned members, const Rational &error, std::optional<Rational> pair = {}) {
  ErrorFacts facts;
  for (unsigned i = 0; i < members; ++i) {
    facts.alone.push_back({error, 0});
    for (unsigned j = 0; pair && j < i; ++j)
      facts.together[{j, i}] = {*pair, 0};
  }
  return facts;
}
std::optional<Rational> valueOf(const VoteGuarantee &guarantee, VoteBoundKind kind) {
  for (const VoteBound &bound : guarantee.bounds)
    if (bound.kind == kind)
      return bound.claim.value;
  return std::nullopt;
}

/// Never optimistic, the program over patterns never looser than any other, and all proved again.
TEST(VoteBounds, HoldForAllJointDistributions) {
  std::mt19937 draw(1);
  unsigned tight = 0, closed = 0;
  for (unsigned i = 0; i < 2000; ++i) {
    unsigned members = 1 + i % 5;
    JointAtRandom joint(draw, members);
    ErrorFacts facts = joint.facts(draw, i % 3 * 50, 2 + draw() % 2);
    VoteGuarantee guarantee = strongest(facts, {});
    ASSERT_FALSE(guarantee.conflict);
    Rational program = *valueOf(guarantee, VoteBoundKind::Patterns), truth = joint.voteWrong();
    for (const VoteBound &bound : guarantee.bounds) {
      ASSERT_GE(bound.claim.value, truth) << describe(bound.kind).name;
      ASSERT_GE(bound.claim.value, program) << describe(bound.kind).name;
      VoteProof proof = verify(bound.claim);
      ASSERT_TRUE(proof.holds()) << describe(bound.kind).name << proof.findings[0].message;
      ASSERT_EQ(proof.tight, bound.kind == VoteBoundKind::Patterns);
      closed += bound.kind != VoteBoundKind::Patterns && bound.claim.value == program;
    }
    ASSERT_EQ(guarantee.value(), program);
    ASSERT_EQ(guaranteed(facts, {}), program);
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
    ErrorFacts facts = joint.facts(draw, 60, 3), other;
    std::vector<unsigned> place(members);
    for (unsigned m = 0; m < members; ++m)
      place[m] = m;
    std::shuffle(place.begin(), place.end(), draw);
    for (auto &rate : facts.alone)
      rate.samples = draw() % 3 ? 0 : 1000;
    other.alone.resize(members);
    for (unsigned m = 0; m < members; ++m)
      other.alone[place[m]] = facts.alone[m];
    for (const auto &[set, rate] : facts.together) {
      std::vector<unsigned> mapped;
      for (unsigned m : set)
        mapped.push_back(place[m]);
      std::sort(mapped.begin(), mapped.end());
      other.together[mapped] = rate;
    }
    VoteGuarantee a = strongest(facts, {}), b = strongest(other, {});
    ASSERT_EQ(a.conflict.has_value(), b.conflict.has_value());
    if (a.conflict)
      continue;
    ASSERT_EQ(a.bounds.size(), b.bounds.size());
    for (size_t k = 0; k < a.bounds.size(); ++k)
      ASSERT_EQ(a.bounds[k].claim.value, b.bounds[k].claim.value);
    ASSERT_EQ(a.strongest().kind, b.strongest().kind);
  }
}

TEST(VoteBounds, AnotherTrueRateNeverLoosens) {
  std::mt19937 draw(3);
  unsigned tighter = 0;
  for (unsigned i = 0; i < 300; ++i) {
    unsigned members = 2 + i % 4;
    JointAtRandom joint(draw, members);
    ErrorFacts facts = joint.facts(draw, 30, 2), more = facts;
    for (const auto &[set, rate] : joint.facts(draw, 40, 4).together)
      more.together.insert({set, rate});
    Rational before = *guaranteed(facts, {}), after = *guaranteed(more, {});
    ASSERT_LE(after, before);
    tighter += after < before;
    // An exact rate says no less than its upper limit.
    for (auto &[set, rate] : facts.together)
      rate = {rate.rate, 100};
    ASSERT_GE(*guaranteed(facts, {}), before);
  }
  EXPECT_GT(tighter, 50u);
}

/// A vote of members with equal errors is certified to be better than one of them if and only if a
/// pair is wrong together less often than e C(t,2) / C(N,2): 1/3, 0.3, 0.2857, 0.2778, 0.2727 of e.
TEST(VoteBounds, ThresholdsOfPairs) {
  Rational error = ratio(1, 10), little = ratio(1, 1'000'000);
  std::vector<Rational> thresholds = {ratio(1, 3), ratio(3, 10), ratio(2, 7), ratio(5, 18),
                                      ratio(3, 11)};
  for (unsigned members = 3; members <= 11; members += 2) {
    Rational threshold = error * thresholds[(members - 3) / 2];
    EXPECT_TRUE(strongest(equal(members, error, threshold - little), {}).gains()) << members;
    EXPECT_FALSE(strongest(equal(members, error, threshold), {}).gains()) << members;
    EXPECT_FALSE(strongest(equal(members, error, threshold + little), {}).gains()) << members;
    // B6 is the program where pairs are at most half as often wrong as one.
    VoteGuarantee guarantee = strongest(equal(members, error, threshold), {});
    EXPECT_EQ(valueOf(guarantee, VoteBoundKind::PairMarkov),
              valueOf(guarantee, VoteBoundKind::Patterns));
  }
}

TEST(VoteBounds, MembersAloneNeverCertifyAGain) {
  std::mt19937 draw(4);
  for (unsigned i = 0; i < 100; ++i) {
    ErrorFacts facts;
    std::vector<Rational> rates;
    for (unsigned m = 0; m < 3 + i % 4 * 2; ++m) {
      rates.push_back(ratio(draw() % 1000, 1000));
      facts.alone.push_back({rates.back(), 0});
    }
    VoteGuarantee guarantee = strongest(facts, {});
    EXPECT_FALSE(guarantee.gains());
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
    ErrorFacts facts = equal(members, ratio(1, 5));
    facts.independent = true;
    VoteGuarantee guarantee = strongest(facts, {});
    if (members > 1) {
      EXPECT_EQ(guarantee.strongest().kind, VoteBoundKind::PoissonBinomial);
      EXPECT_EQ(guarantee.evidence, VoteEvidence::Independence);
    }
    EXPECT_TRUE(verify(guarantee.strongest().claim).holds());
    EXPECT_EQ(guarantee.gains(), members > 2);
    return Rational(1) - guarantee.value();
  };
  EXPECT_EQ(right(3), ratio(896, 1000));
  EXPECT_EQ(right(4), ratio(8192, 10000));
  EXPECT_EQ(right(5), ratio(94208, 100000));
  for (unsigned members : {2u, 4u, 6u, 8u}) // never better than one less
    EXPECT_LT(right(members), right(members - 1));
  ErrorFacts facts;
  facts.alone = {{ratio(1, 10), 0}, {ratio(1, 5), 0}, {ratio(3, 10), 0}};
  facts.independent = true;
  EXPECT_EQ(strongest(facts, {}).value(), ratio(98, 1000)); // .02 + .03 + .06 - 2 * .006
}

TEST(VoteBounds, HoeffdingIsRoundedUp) {
  ErrorFacts facts = equal(9, ratio(1, 5));
  facts.independent = true;
  Rational value = *valueOf(strongest(facts, {}), VoteBoundKind::Hoeffding);
  EXPECT_GE(value.toDouble(), std::exp(-2 * 9 * 0.09));
  EXPECT_NEAR(value.toDouble(), std::exp(-2 * 9 * 0.09), 1e-11);
}

TEST(VoteBounds, SamplesCountWithTheirLimits) {
  ErrorFacts facts = equal(3, ratio(1, 10), ratio(1, 50));
  EXPECT_EQ(strongest(facts, {}).value(), ratio(6, 100));
  for (auto &rate : facts.alone)
    rate.samples = 10000;
  for (auto &[set, rate] : facts.together)
    rate.samples = 10000;
  VoteGuarantee guarantee = strongest(facts, {});
  EXPECT_EQ(guarantee.strongest().claim.tests, 6);
  EXPECT_EQ(guarantee.evidence, VoteEvidence::Measured);
  Rational delta = ratio(1, 20) / Rational(6);
  EXPECT_EQ(guarantee.value(), Rational(3) * upperLimit(200, 10000, delta));
  EXPECT_EQ(guarantee.best, upperLimit(1000, 10000, delta));
  EXPECT_TRUE(verify(guarantee.strongest().claim).holds());
  // Copies of a kind are measured once, and a stated number of tests counts.
  VoteOptions options;
  options.kinds = {0, 0, 0};
  VoteGuarantee copies = strongest(facts, options, {"wide.1", "wide.2", "wide.3"});
  EXPECT_EQ(copies.strongest().claim.tests, 2);
  delta = ratio(1, 40);
  EXPECT_EQ(copies.inputs,
            (std::vector<std::string>{
                "error of 'wide.1' at most " + upperLimit(1000, 10000, delta).print() +
                    " (0.1 of 10000 samples)",
                "joint error of 'wide.1' and 'wide.2' at most " +
                    upperLimit(200, 10000, delta).print() + " (0.02 of 10000 samples)"}));
  EXPECT_LT(*guaranteed(facts, options), guarantee.value());
  options.tests = 100;
  EXPECT_GT(*guaranteed(facts, options), guarantee.value());
  options.tests = 6;
  EXPECT_EQ(*guaranteed(facts, options), guarantee.value());
  options.confidence = ratio(1, 2);
  EXPECT_LT(*guaranteed(facts, options), guarantee.value());
}

/// With a mean that may be less, too, the C-bound may be more: it holds where m2 >= mu/2.
TEST(VoteBounds, CantelliOfLimits) {
  Rational error = ratio(1, 10), thousand = ratio(1, 1000);
  for (bool exact : {true, false})
    for (const Rational &pair : {thousand, ratio(4, 100)}) {
      ErrorFacts facts = equal(3, error, pair);
      for (auto &rate : facts.alone)
        rate.samples = exact ? 0 : 1'000'000;
      VoteGuarantee guarantee = strongest(facts, {});
      EXPECT_EQ(valueOf(guarantee, VoteBoundKind::Cantelli).has_value(), exact || pair > thousand);
      for (const VoteBound &bound : guarantee.bounds) {
        EXPECT_TRUE(verify(bound.claim).holds()) << describe(bound.kind).name;
        EXPECT_GE(bound.claim.value, guarantee.value());
      }
      if (!exact)
        continue;
      Rational m2 = (Rational(3) * error + Rational(6) * pair) / Rational(9);
      EXPECT_EQ(*valueOf(guarantee, VoteBoundKind::Cantelli),
                (m2 - error * error) / (m2 - error + ratio(1, 4)));
    }
}

TEST(VoteBounds, ATableReplacesSamples) {
  ErrorFacts facts = equal(3, ratio(1, 10), ratio(1, 50));
  for (auto &rate : facts.alone)
    rate.samples = 10000;
  facts.together.clear();
  facts.votes = {{0, 9000}, {1, 500}, {4, 300}, {3, 100}, {5, 40}, {6, 20}, {7, 40}};
  VoteGuarantee guarantee = strongest(facts, {});
  EXPECT_EQ(guarantee.strongest().kind, VoteBoundKind::Table);
  EXPECT_EQ(guarantee.value(), upperLimit(200, 10000, ratio(1, 20)));
  EXPECT_EQ(guarantee.evidence, VoteEvidence::Table);
  EXPECT_TRUE(verify(guarantee.strongest().claim).holds());
  EXPECT_EQ(guarantee.inputs, std::vector<std::string>{"200 of 10000 votes wrong: at most " +
                                                       guarantee.value().print()});
  EXPECT_EQ(guarantee.best, upperLimit(160, 10000, ratio(1, 20))); // the second member's
  EXPECT_FALSE(guarantee.gains());
}

/// Rates seen in samples of a known distribution: limits hold at least as often as is said.
TEST(VoteBounds, LimitsHoldAsOftenAsIsSaid) {
  std::mt19937 draw(5);
  unsigned optimistic = 0, all = 200;
  for (unsigned i = 0; i < all; ++i) {
    JointAtRandom joint(draw, 3);
    std::discrete_distribution<unsigned> pattern(joint.weights.begin(), joint.weights.end());
    ErrorFacts facts;
    std::vector<int64_t> alone(3);
    std::map<std::vector<unsigned>, int64_t> pairs = {{{0, 1}, 0}, {{0, 2}, 0}, {{1, 2}, 0}};
    for (unsigned s = 0; s < 300; ++s) {
      unsigned wrong = pattern(draw);
      for (unsigned m = 0; m < 3; ++m)
        alone[m] += wrong >> m & 1;
      for (auto &[pair, count] : pairs)
        count += (wrong >> pair[0] & 1) && (wrong >> pair[1] & 1);
      facts.votes[wrong] += 1;
    }
    for (unsigned m = 0; m < 3; ++m)
      facts.alone.push_back({ratio(alone[m], 300), 300});
    for (auto &[pair, count] : pairs)
      facts.together[pair] = {ratio(count, 300), 300};
    optimistic += *guaranteed(facts, {}) < joint.voteWrong();
    facts.votes.clear();
    ASSERT_GE(*guaranteed(facts, {}), ratio(0, 1));
    optimistic += *guaranteed(facts, {}) < joint.voteWrong();
  }
  EXPECT_LE(optimistic, 2 * all / 20);
}

TEST(VoteBounds, OddFacts) {
  ErrorFacts none;
  EXPECT_EQ(guaranteed(none, {}), Rational(1));
  ErrorFacts unknown;
  unknown.alone = {{1, -1}, {1, -1}, {1, -1}};
  VoteGuarantee guarantee = strongest(unknown, {});
  EXPECT_EQ(guarantee.value(), Rational(1));
  EXPECT_EQ(guarantee.evidence, VoteEvidence::Nothing);
  unknown.together[{0, 1}] = {ratio(1, 50), 0};
  unknown.together[{0, 2}] = {ratio(1, 50), 0};
  unknown.together[{1, 2}] = {ratio(1, 50), 0};
  EXPECT_EQ(strongest(unknown, {}).value(), ratio(6, 100));
  unknown.together[{2, 1}] = {1, 0}; // no set of members
  unknown.together[{1, 9}] = {1, 0};
  unknown.together[{}] = {ratio(1, 3), 0};
  EXPECT_EQ(strongest(unknown, {}).value(), ratio(6, 100));
  EXPECT_EQ(strongest(equal(63, 0), {}).value(), Rational(0));
  EXPECT_EQ(strongest(equal(63, 1), {}).value(), Rational(1));
  EXPECT_EQ(strongest(equal(1, ratio(1, 3)), {}).value(), ratio(1, 3));
}

} // namespace
