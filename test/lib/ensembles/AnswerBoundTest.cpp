// Answers of votes that may be lost, late or wrong on their way, beside all that may happen.
#include "lib/ensembles/solve/AnswerBound.h"
#include "VoteRandom.h"
#include "lib/ensembles/solve/VoteBounds.h"
#include "lib/ensembles/verify/Vote.h"
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::test;

namespace {

VoteDelivery plainDelivery(unsigned members) {
  VoteDelivery delivery;
  for (unsigned i = 0; i < members; ++i)
    delivery.device.push_back(i);
  delivery.undelivered.assign(members, 0);
  delivery.corrupted.assign(members, 0);
  delivery.weights.assign(members, 1);
  return delivery;
}

/// Often several members on one device, some equal, some weights and a quorum.
VoteDelivery randomDelivery(std::mt19937 &draw, unsigned members) {
  VoteDelivery delivery;
  unsigned devices = 1 + draw() % members;
  bool alone = draw() % 3 == 0, equal = draw() % 2, weighted = draw() % 2, corrupts = draw() % 2;
  if (alone)
    devices = members;
  for (unsigned i = 0; i < members; ++i) {
    delivery.device.push_back(alone ? i : draw() % devices);
    delivery.weights.push_back(weighted ? 1 + draw() % 4 : 1);
    delivery.corrupted.push_back(corrupts && !(equal && i) ? ratio(draw() % 3, 20)
                                 : equal && i              ? delivery.corrupted[0]
                                                           : 0);
  }
  for (unsigned d = 0; d < devices; ++d)
    delivery.undelivered.push_back(equal && d ? delivery.undelivered[0] : ratio(draw() % 4, 10));
  int64_t sum = 0;
  for (int64_t weight : delivery.weights)
    sum += weight;
  delivery.quorum = 1 + static_cast<int64_t>(draw() % sum);
  return delivery;
}

/// Of a pattern of wrong members, by going through all lost devices and all corrupted votes.
AnswerShares byEnumeration(const VoteDelivery &delivery, uint64_t wrong) {
  unsigned members = delivery.device.size(), devices = delivery.undelivered.size();
  AnswerShares shares{0, 0, 0};
  for (uint64_t lost = 0; lost < uint64_t{1} << devices; ++lost)
    for (uint64_t corrupted = 0; corrupted < uint64_t{1} << members; ++corrupted) {
      Rational probability = 1;
      for (unsigned d = 0; d < devices; ++d)
        probability = probability * (lost >> d & 1 ? delivery.undelivered[d] : Rational(1) - delivery.undelivered[d]);
      int64_t right = 0, other = 0;
      for (unsigned i = 0; i < members; ++i) {
        bool isCorrupted = corrupted >> i & 1;
        probability = probability * (isCorrupted ? delivery.corrupted[i] : Rational(1) - delivery.corrupted[i]);
        if (!(lost >> delivery.device[i] & 1))
          (isCorrupted || (wrong >> i & 1) ? other : right) += delivery.weights[i];
      }
      Rational &share = right + other < delivery.quorum ? shares.none : right <= other ? shares.wrong : shares.right;
      share = share + probability;
    }
  return shares;
}

Rational wrongAnswers(const JointAtRandom &joint, const VoteDelivery &delivery) {
  Rational sum = 0;
  for (uint64_t pattern = 0; pattern < joint.weights.size(); ++pattern)
    if (joint.weights[pattern])
      sum = sum + byEnumeration(delivery, pattern).wrong * ratio(joint.weights[pattern], joint.sum);
  return sum;
}

std::vector<bool> bitsOf(uint64_t pattern, unsigned members) {
  std::vector<bool> bits;
  for (unsigned i = 0; i < members; ++i)
    bits.push_back(pattern >> i & 1);
  return bits;
}

} // namespace

TEST(AnswerBound, SharesAreThoseOfAllThatMayHappen) {
  std::mt19937 draw(11);
  for (unsigned round = 0; round < 300; ++round) {
    unsigned members = 1 + draw() % 5;
    VoteDelivery delivery = randomDelivery(draw, members);
    ASSERT_EQ(check(delivery, members), "");
    uint64_t pattern = draw() % (1u << members);
    AnswerShares expected = byEnumeration(delivery, pattern), found = answerShares(delivery, bitsOf(pattern, members));
    EXPECT_EQ(found.right, expected.right) << round;
    EXPECT_EQ(found.wrong, expected.wrong) << round;
    EXPECT_EQ(found.none, expected.none) << round;
    EXPECT_EQ(found.right + found.wrong + found.none, Rational(1));
  }
}

TEST(AnswerBound, IsNeverOptimisticAndExactWhereAllIsKnown) {
  std::mt19937 draw(5);
  const Rational digits = ratio(1, 1'000'000'000'000);
  for (unsigned round = 0; round < 2000; ++round) {
    unsigned members = 1 + draw() % 5;
    JointAtRandom joint(draw, members);
    bool complete = round % 4 == 0;
    ErrorStatistics statistics =
        joint.statistics(draw, complete ? 100 : draw() % 100, complete ? members : 2 + draw() % 2);
    VoteDelivery delivery = randomDelivery(draw, members);
    Rational truth = wrongAnswers(joint, delivery);
    auto guarantee = answerGuarantee(statistics, delivery, {});
    ASSERT_TRUE(guarantee && !guarantee->conflict) << round;
    EXPECT_GE(guarantee->certificate.value, truth) << round;
    if (complete)
      EXPECT_LE(guarantee->certificate.value, truth + digits) << round;
    EXPECT_EQ(guarantee->none, byEnumeration(delivery, 0).none) << round;
    if (round % 5 == 0) {
      VoteProof proof = verify(guarantee->certificate);
      EXPECT_TRUE(proof.holds()) << round << ": " << (proof.findings.empty() ? "" : proof.findings[0].message);
      VoteCertificate forged = guarantee->certificate;
      forged.value = forged.value * ratio(99, 100);
      EXPECT_TRUE(forged.value.isZero() || !verify(forged).holds()) << round;
    }
  }
}

TEST(AnswerBound, OfIndependentErrorsIsExact) {
  std::mt19937 draw(6);
  for (unsigned round = 0; round < 200; ++round) {
    unsigned members = 1 + draw() % 4;
    ErrorStatistics statistics;
    statistics.independent = true;
    for (unsigned i = 0; i < members; ++i)
      statistics.memberErrors.push_back({ratio(draw() % 10, 20), 0});
    VoteDelivery delivery = randomDelivery(draw, members);
    Rational truth = 0;
    for (uint64_t pattern = 0; pattern < uint64_t{1} << members; ++pattern) {
      Rational probability = 1;
      for (unsigned i = 0; i < members; ++i) {
        const Rational &error = statistics.memberErrors[i].rate;
        probability = probability * (pattern >> i & 1 ? error : Rational(1) - error);
      }
      truth = truth + probability * byEnumeration(delivery, pattern).wrong;
    }
    auto guarantee = answerGuarantee(statistics, delivery, {});
    ASSERT_TRUE(guarantee);
    EXPECT_EQ(guarantee->certificate.value, truth) << round;
    EXPECT_TRUE(verify(guarantee->certificate).holds()) << round;
    guarantee->certificate.value = truth * ratio(99, 100);
    EXPECT_TRUE(truth.isZero() || !verify(guarantee->certificate).holds()) << round;
  }
}

TEST(AnswerBound, OfVotesThatAllArriveIsThatOfTheVote) {
  std::mt19937 draw(7);
  for (unsigned round = 0; round < 100; ++round) {
    unsigned members = 1 + draw() % 5;
    ErrorStatistics statistics = JointAtRandom(draw, members).statistics(draw, 60, 3);
    auto guarantee = answerGuarantee(statistics, plainDelivery(members), {});
    VoteRates rates(statistics, {});
    ASSERT_TRUE(guarantee);
    EXPECT_EQ(guarantee->certificate.value, maxFailureProbability(rates, (members + 1) / 2)->value) << round;
    EXPECT_TRUE(guarantee->none.isZero());
  }
}

TEST(AnswerBound, OfATableHoldsForWhatTheTableIsDrawnFrom) {
  std::mt19937 draw(8);
  unsigned misses = 0, rounds = 200;
  for (unsigned round = 0; round < rounds; ++round) {
    JointAtRandom joint(draw, 3);
    VoteDelivery delivery = randomDelivery(draw, 3);
    ErrorStatistics statistics;
    statistics.memberErrors.assign(3, {1, -1});
    std::discrete_distribution<uint64_t> sample(joint.weights.begin(), joint.weights.end());
    for (unsigned i = 0; i < 400; ++i)
      ++statistics.votes[sample(draw)];
    auto guarantee = answerGuarantee(statistics, delivery, {ratio(9, 10), 1, {}});
    ASSERT_TRUE(guarantee);
    misses += guarantee->certificate.value < wrongAnswers(joint, delivery);
    VoteProof proof = verify(guarantee->certificate);
    EXPECT_TRUE(proof.holds()) << round << ": " << (proof.findings.empty() ? "" : proof.findings[0].message);
    VoteCertificate forged = guarantee->certificate;
    forged.value = forged.value * ratio(99, 100);
    EXPECT_TRUE(forged.value.isZero() || !verify(forged).holds()) << round;
    forged = guarantee->certificate;
    forged.tests = 1;
    EXPECT_TRUE(guarantee->certificate.tests == 1 || !verify(forged).holds()) << round;
  }
  EXPECT_LE(misses, rounds / 10 + 15); // 20 are expected at most; 35 have a chance of one in a thousand
}

TEST(AnswerBound, GroupsOfUnequalVotesAreFoundOut) {
  ErrorStatistics statistics;
  statistics.memberErrors.assign(3, {ratio(1, 10), 0});
  VoteDelivery delivery = plainDelivery(3);
  delivery.weights = {1, 1, 2};
  auto guarantee = answerGuarantee(statistics, delivery, {});
  ASSERT_TRUE(guarantee);
  EXPECT_EQ(guarantee->certificate.groups.size(), 2u);
  EXPECT_TRUE(verify(guarantee->certificate).holds());
  VoteCertificate forged = guarantee->certificate;
  forged.groups = {{0, 1, 2}};
  for (VoteTerm &term : forged.multipliers)
    term.counts = {1};
  EXPECT_FALSE(verify(forged).holds());
  delivery.weights = {1, 1, 0};
  EXPECT_NE(check(delivery, 3), "");
  delivery = plainDelivery(3);
  delivery.quorum = 4;
  EXPECT_NE(check(delivery, 3), "");
}
