// Answers of votes that may be lost, late or wrong on their way, beside all that may happen.
#include "lib/ensembles/solve/AnswerBound.h"
#include "VoteRandom.h"
#include "lib/ensembles/solve/Arrivals.h"
#include "lib/ensembles/solve/VoteBounds.h"
#include "lib/ensembles/verify/Vote.h"
#include <gtest/gtest.h>
#include <numbers>
#include <numeric>

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
  AnswerShares shares{0, 0, 0, 0};
  int64_t all = 0;
  for (int64_t weight : delivery.weights)
    all += weight;
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
      if (right + other < all && (right + other < delivery.quorum || 2 * right <= all))
        shares.undecided = shares.undecided + probability;
    }
  return shares;
}

/// Of wrong answers, or with `undecided` of votes that do not decide.
Rational wrongAnswers(const JointAtRandom &joint, const VoteDelivery &delivery, bool undecided = false) {
  Rational sum = 0;
  for (uint64_t pattern = 0; pattern < joint.weights.size(); ++pattern)
    if (joint.weights[pattern]) {
      AnswerShares shares = byEnumeration(delivery, pattern);
      sum = sum + (undecided ? shares.undecided : shares.wrong) * ratio(joint.weights[pattern], joint.sum);
    }
  return sum;
}

/// A latency of some whole numbers of a microsecond, by their probabilities.
struct DiscreteLatency {
  DiscreteLatency(std::mt19937 &draw, unsigned atoms) {
    int64_t time = 0;
    for (unsigned i = 0; i < atoms; ++i) {
      time += 1 + static_cast<int64_t>(draw() % 3);
      weights[time] = 1 + draw() % 9;
      sum += static_cast<int64_t>(weights[time]);
    }
  }
  Rational by(int64_t time) const {
    int64_t there = 0;
    for (const auto &[at, weight] : weights)
      there += at <= time ? static_cast<int64_t>(weight) : 0;
    return ratio(there, sum);
  }
  /// Each with a chance of `percent`.
  TimeQuantiles quantiles(std::mt19937 &draw, unsigned percent) const {
    TimeQuantiles stated;
    for (const auto &[at, weight] : weights)
      if (draw() % 100 < percent)
        stated.push_back({by(at), at});
    return stated;
  }
  std::map<int64_t, uint64_t> weights;
  int64_t sum = 0;
};

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
    EXPECT_EQ(found.undecided, expected.undecided) << round;
    EXPECT_EQ(found.right + found.wrong + found.none, Rational(1));
    for (bool isUndecided : {false, true}) {
      delivery.isUndecided = isUndecided;
      auto fast = fastAnswerShare(delivery, bitsOf(pattern, members));
      ASSERT_TRUE(fast);
      Rational exact = isUndecided ? expected.undecided : expected.wrong;
      EXPECT_GE(Rational::ofDouble(*fast), exact) << round;
      EXPECT_NEAR(*fast, exact.toDouble(), 1e-12) << round;
    }
  }
}

/// Votes that are late with probabilities of which a file states some quantiles, on devices of several members, some of
/// which fail for good. 2,000 cases beside all that may happen: never optimistic, exact where all is known.
TEST(AnswerBound, OfLateVotesIsNeverOptimistic) {
  std::mt19937 draw(21);
  const Rational digits = ratio(1, 100'000'000'000);
  unsigned doubtful = 0, decided = 0;
  for (unsigned round = 0; round < 2000; ++round) {
    unsigned members = 1 + draw() % 5;
    JointAtRandom joint(draw, members);
    const bool complete = round % 4 == 0;
    ErrorStatistics statistics =
        joint.statistics(draw, complete ? 100 : draw() % 100, complete ? members : 2 + draw() % 2);
    VoteDelivery truth = randomDelivery(draw, members), stated = truth;
    std::vector<DiscreteLatency> latencies;
    std::vector<TimeQuantiles> quantiles;
    for (size_t d = 0; d < truth.undelivered.size(); ++d) {
      latencies.emplace_back(draw, complete ? 3 : 1 + draw() % 4);
      if (complete) { // at the same times, one of which is the time-out
        latencies.back().weights = {{2, 1 + draw() % 9}, {5, 1 + draw() % 9}, {9, 1 + draw() % 9}};
        latencies.back().sum = 0;
        for (const auto &[at, weight] : latencies.back().weights)
          latencies.back().sum += static_cast<int64_t>(weight);
      }
      quantiles.push_back(latencies.back().quantiles(draw, complete ? 100 : 60));
    }
    const int64_t timeout = complete ? 5 : static_cast<int64_t>(draw() % 12);
    for (size_t d = 0; d < truth.undelivered.size(); ++d) {
      const Rational there = Rational(1) - truth.undelivered[d];
      truth.undelivered[d] = Rational(1) - there * latencies[d].by(timeout);
      if (!complete && quantiles[d].empty()) { // then nothing is known
        stated.undelivered[d] = 1;
        stated.minUndelivered.push_back(0);
        continue;
      }
      ArrivalShare share = arrivalShare({quantiles[d]}, timeout);
      EXPECT_LE(share.min, latencies[d].by(timeout));
      EXPECT_GE(share.max, latencies[d].by(timeout));
      stated.undelivered[d] = Rational(1) - there * share.min;
      stated.minUndelivered.push_back(Rational(1) - there * share.max);
    }
    ASSERT_EQ(check(stated, members), "") << round;
    doubtful += stated.minUndelivered != stated.undelivered;
    for (bool isUndecided : {false, true}) {
      stated.isUndecided = isUndecided;
      Rational is = wrongAnswers(joint, truth, isUndecided);
      decided += isUndecided && is < Rational(1);
      for (bool isFast : {false, true}) {
        auto guarantee = isFast ? fastAnswerGuarantee(statistics, stated, {}) : answerGuarantee(statistics, stated, {});
        ASSERT_TRUE(guarantee && !guarantee->conflict) << round;
        EXPECT_GE(guarantee->certificate.value, is) << round << isUndecided;
        if (complete)
          EXPECT_LE(guarantee->certificate.value, is + digits) << round << isUndecided;
        if (!isFast)
          EXPECT_GE(guarantee->none, byEnumeration(truth, 0).none) << round;
        if (!isFast && complete)
          EXPECT_EQ(guarantee->none, byEnumeration(truth, 0).none) << round;
        if (round % 5 == 0) {
          VoteProof proof = verify(guarantee->certificate);
          EXPECT_TRUE(proof.holds()) << round << ": " << (proof.findings.empty() ? "" : proof.findings[0].message);
          VoteCertificate forged = guarantee->certificate;
          forged.attained.clear();
          forged.value = forged.value * ratio(99, 100);
          EXPECT_TRUE(forged.value.isZero() || !verify(forged).holds()) << round;
        }
      }
    }
  }
  EXPECT_GT(doubtful, 700u);
  EXPECT_GT(decided, 1000u);
}

/// Several latencies that depend on each other in any way: a joint distribution at random, of which only quantiles of
/// the parts are stated.
TEST(AnswerBound, SumsOfLatenciesAreWithinTheirLimits) {
  std::mt19937 draw(22);
  for (unsigned round = 0; round < 2000; ++round) {
    const unsigned parts = 1 + draw() % 3, cases = 2 + draw() % 6;
    std::vector<std::vector<int64_t>> times(cases); // of each case, which are equally likely
    for (auto &one : times)
      for (unsigned p = 0; p < parts; ++p)
        one.push_back(1 + static_cast<int64_t>(draw() % 9));
    std::vector<TimeQuantiles> stated(parts);
    for (unsigned p = 0; p < parts; ++p)
      for (int64_t t = 1; t < 10; ++t) {
        const auto there = std::ranges::count_if(times, [&](const auto &one) { return one[p] <= t; });
        if (there > 0 && draw() % 2 && (stated[p].empty() || stated[p].back().share < ratio(there, cases)))
          stated[p].push_back({ratio(there, cases), t});
      }
    if (std::ranges::any_of(stated, [](const TimeQuantiles &one) { return one.empty(); }))
      continue; // takes no time
    const int64_t timeout = static_cast<int64_t>(draw() % 25);
    const auto there = std::ranges::count_if(
        times, [&](const auto &one) { return std::accumulate(one.begin(), one.end(), int64_t{0}) <= timeout; });
    ArrivalShare share = arrivalShare(stated, timeout);
    EXPECT_LE(share.min, ratio(there, cases)) << round;
    EXPECT_GE(share.max, ratio(there, cases)) << round;
    EXPECT_LE(share.min.toDouble(), share.estimate) << round;
    EXPECT_GE(share.max.toDouble(), share.estimate) << round;
  }
}

/// A lognormal latency by its 50th and 99th percentile: the estimate is its distribution.
TEST(AnswerBound, EstimatesOfLognormalLatencies) {
  const TimeQuantiles latency = {{ratio(1, 2), 8'000'000'000}, {ratio(99, 100), 20'000'000'000}};
  const double sigma = std::log(20.0 / 8) / 2.3263478740408408; // of the normal quantile of 99 %
  for (int64_t time : {4, 9, 13, 19, 24, 40})
    if (time > 8 && time < 20)
      EXPECT_NEAR(arrivalShare({latency}, time * 1'000'000'000).estimate,
                  std::erfc(-std::log(double(time) / 8) / sigma / std::numbers::sqrt2) / 2, 1e-9);
  EXPECT_EQ(arrivalShare({latency}, 8'000'000'000).min, ratio(1, 2));
  EXPECT_EQ(arrivalShare({latency}, 8'000'000'000).max, ratio(1, 2));
  EXPECT_EQ(arrivalShare({latency}, 9'000'000'000).min, ratio(1, 2));
  EXPECT_EQ(arrivalShare({latency}, 9'000'000'000).max, ratio(99, 100));
  EXPECT_EQ(arrivalShare({latency}, 50'000'000'000).min, ratio(99, 100));
  EXPECT_EQ(arrivalShare({latency}, 50'000'000'000).max, Rational(1));
  EXPECT_GT(arrivalShare({latency}, 50'000'000'000).estimate, 0.9999);
  EXPECT_EQ(arrivalShare({}, 0).min, Rational(1));
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
