// Claims of votes that do not hold are found out; certificates are read as they are written.
#include "VoteRandom.h"
#include "lib/ensembles/output/VoteCertificateJson.h"
#include "lib/ensembles/solve/VoteBounds.h"
#include "lib/ensembles/verify/BinomialTail.h"
#include "lib/ensembles/verify/Vote.h"
#include "lib/support/ClopperPearson.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include <functional>
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::test;

namespace {

/// Claims of all proofs.
std::vector<VoteCertificate> certificates() {
  std::mt19937 draw(11);
  std::vector<VoteCertificate> all;
  auto take = [&](const ErrorStatistics &statistics, const VoteOptions &options) {
    VoteGuarantee guarantee = strongest(statistics, options);
    if (guarantee.conflict)
      all.push_back(guarantee.conflict->certificate);
    for (const VoteBound &bound : guarantee.bounds)
      if (bound.certificate.value < Rational(1))
        all.push_back(bound.certificate);
  };
  for (unsigned i = 0; i < 30; ++i) {
    JointAtRandom joint(draw, 3 + i % 3);
    ErrorStatistics statistics = joint.statistics(draw, 70, 3);
    statistics.independent = i % 5 == 0;
    if (statistics.independent)
      statistics.jointErrors.clear();
    VoteOptions options;
    if (i % 2) {
      for (auto &rate : statistics.memberErrors)
        rate.samples = 5000;
      for (auto &[set, rate] : statistics.jointErrors)
        rate.samples = 5000;
    }
    if (i % 7 == 0)
      for (uint64_t pattern = 0; pattern < joint.weights.size(); ++pattern)
        statistics.votes[pattern] = joint.weights[pattern] * 10;
    if (i % 11 == 0)
      statistics.jointErrors[{0, 1}] = {ratio(99, 100), 0};
    take(statistics, options);
  }
  return all;
}

std::optional<VoteCertificate> read(llvm::StringRef text) {
  auto value = parseJson(text, "claim");
  if (!value)
    return llvm::consumeError(value.takeError()), std::nullopt;
  llvm::json::Path::Root root("claim");
  VoteCertificate certificate;
  if (!readDocument(*value, certificate, root))
    return llvm::consumeError(root.getError()), std::nullopt;
  return certificate;
}

TEST(VoteVerify, ClaimsThatHold) {
  unsigned proofs[4] = {};
  for (const VoteCertificate &certificate : certificates()) {
    VoteProof proof = verify(certificate);
    EXPECT_TRUE(proof.holds()) << proof.findings[0].message;
    EXPECT_FALSE(proof.checked.empty());
    ++proofs[static_cast<size_t>(certificate.proof)];
    std::string text = jsonText(toDocument(certificate));
    auto again = read(text);
    ASSERT_TRUE(again);
    EXPECT_EQ(jsonText(toDocument(*again)), text);
    EXPECT_TRUE(verify(*again).holds());
  }
  for (unsigned count : proofs)
    EXPECT_GT(count, 0u);
}

/// Changes that make a claim untrue, or leave it unproved; where one applies it must be found.
TEST(VoteVerify, ClaimsThatDoNotHold) {
  Rational little = ratio(1, 1'000'000'000'000);
  using Change = std::function<bool(VoteCertificate &)>;
  auto multipliers = [](const VoteCertificate &certificate) {
    return certificate.proof == VoteCertificate::Proof::Multipliers ||
           certificate.proof == VoteCertificate::Proof::Contradiction;
  };
  std::pair<const char *, Change> changes[] = {
      {"a smaller value",
       [&](VoteCertificate &certificate) {
         certificate.value = certificate.value - (certificate.proof == VoteCertificate::Proof::Independence
                                                      ? ratio(1, 10) // Hoeffding's bound is far from exact
                                                      : little);
         return certificate.proof != VoteCertificate::Proof::Independence || certificate.value.sign() < 0;
       }},
      {"a smaller multiplier",
       [&](VoteCertificate &certificate) {
         if (!multipliers(certificate) || certificate.multipliers.empty())
           return false;
         certificate.multipliers[0].value = certificate.multipliers[0].value - ratio(1, 2);
         return true;
       }},
      {"a smaller constant",
       [&](VoteCertificate &certificate) {
         certificate.constant = certificate.constant - little;
         // Markov's bounds of pairs have room where few are wrong.
         return !certificate.attained.empty() || certificate.proof == VoteCertificate::Proof::Contradiction;
       }},
      {"a larger rate",
       [&](VoteCertificate &certificate) {
         if (!multipliers(certificate) || certificate.statistics.memberErrors[0].samples != 0 ||
             certificate.proof == VoteCertificate::Proof::Contradiction)
           return false;
         certificate.statistics.memberErrors[0].rate = certificate.statistics.memberErrors[0].rate + ratio(1, 100);
         return !certificate.attained.empty();
       }},
      {"a tighter limit",
       [&](VoteCertificate &certificate) {
         if (certificate.limits.empty())
           return false;
         VoteLimit &limit = certificate.limits[0];
         limit.limit = limit.limit - limit.limit * ratio(1, 1'000'000);
         return limit.limit < Rational(1);
       }},
      {"more confidence",
       [&](VoteCertificate &certificate) {
         certificate.confidence = ratio(999, 1000);
         return !certificate.limits.empty() && certificate.limits[0].limit < Rational(1);
       }},
      {"fewer tests",
       [&](VoteCertificate &certificate) {
         if (certificate.limits.empty() || certificate.tests == 1 ||
             certificate.proof == VoteCertificate::Proof::Table ||
             certificate.proof == VoteCertificate::Proof::Contradiction) // one rate may be left
           return false;
         certificate.tests = 1;
         return true;
       }},
      {"no independence",
       [&](VoteCertificate &certificate) {
         certificate.statistics.independent = false;
         return certificate.proof == VoteCertificate::Proof::Independence;
       }},
      {"another distribution",
       [&](VoteCertificate &certificate) {
         if (certificate.attained.size() < 2 || !certificate.limits.empty()) // what is less than a limit is none
           return false;
         certificate.attained[0].value = certificate.attained[0].value + little;
         certificate.attained[1].value = certificate.attained[1].value - little;
         return true;
       }},
      {"a member in two groups",
       [&](VoteCertificate &certificate) {
         if (!multipliers(certificate))
           return false;
         certificate.groups.push_back({0});
         for (auto *terms : {&certificate.multipliers, &certificate.attained})
           for (VoteTerm &term : *terms)
             term.counts.push_back(0);
         return true;
       }},
      {"more wrong votes",
       [&](VoteCertificate &certificate) {
         if (certificate.proof != VoteCertificate::Proof::Table)
           return false;
         certificate.statistics.votes[(uint64_t{1} << certificate.statistics.memberErrors.size()) - 1] += 1;
         return true;
       }},
      {"no contradiction",
       [&](VoteCertificate &certificate) {
         for (auto &[set, rate] : certificate.statistics.jointErrors)
           rate.rate = 0;
         return certificate.proof == VoteCertificate::Proof::Contradiction &&
                !certificate.statistics.jointErrors.empty();
       }},
      {"patterns of other members",
       [&](VoteCertificate &certificate) {
         certificate.statistics.votes[uint64_t{1} << certificate.statistics.memberErrors.size()] = 1;
         return true;
       }},
      {"no tests",
       [&](VoteCertificate &certificate) {
         certificate.tests = 0;
         return true;
       }},
      {"no members",
       [&](VoteCertificate &certificate) {
         certificate.statistics = {};
         return true;
       }},
  };
  std::vector<VoteCertificate> all = certificates();
  for (const auto &[name, change] : changes) {
    unsigned applied = 0;
    for (const VoteCertificate &certificate : all) {
      VoteCertificate changed = certificate;
      if (!change(changed))
        continue;
      ++applied;
      EXPECT_FALSE(verify(changed).holds()) << name;
    }
    EXPECT_GT(applied, 0u) << name;
  }
}

/// P(two or three of three are wrong) = S2 - 2 e_123: with a triple that may be less it is no
/// bound.
TEST(VoteVerify, WhatMayBeLessCountsOnlyOneWay) {
  VoteCertificate certificate;
  certificate.statistics.memberErrors.assign(3, {ratio(1, 5), 0});
  for (unsigned i = 0; i < 3; ++i)
    for (unsigned j = i + 1; j < 3; ++j)
      certificate.statistics.jointErrors[{i, j}] = {ratio(6, 100), 0};
  certificate.statistics.jointErrors[{0, 1, 2}] = {ratio(5, 100), 0};
  certificate.groups = {{0, 1, 2}};
  certificate.multipliers = {{{2}, 1}, {{3}, -2}};
  certificate.value = ratio(8, 100);
  EXPECT_TRUE(verify(certificate).holds());
  certificate.statistics.jointErrors[{0, 1, 2}] = {ratio(5, 100), 1000};
  Rational limit = upperLimit(50, 1000, ratio(1, 20));
  certificate.limits = {{50, 1000, limit}};
  certificate.value = ratio(18, 100) - Rational(2) * limit;
  EXPECT_FALSE(verify(certificate).holds());
  certificate.multipliers = {{{2}, 1}};
  certificate.value = ratio(18, 100);
  EXPECT_TRUE(verify(certificate).holds());
}

TEST(VoteVerify, TextsThatAreNoClaim) {
  VoteCertificate certificate = certificates()[0];
  llvm::json::Value good = toDocument(certificate);
  EXPECT_TRUE(read(jsonText(good)));
  for (llvm::StringRef text : {"", "{}", "[]", "null", "\xff\xfe", "{\"facts\": 1}"})
    EXPECT_FALSE(read(text));
  for (const char *key : {"value", "constant", "confidence"})
    for (llvm::json::Value bad : {llvm::json::Value("1/0"), llvm::json::Value("nan"), llvm::json::Value(""),
                                  llvm::json::Value("1/"), llvm::json::Value("1e99999"), llvm::json::Value(0.5),
                                  llvm::json::Value(nullptr), llvm::json::Value("1/2/3")}) {
      llvm::json::Value changed = good;
      (*changed.getAsObject())[key] = bad;
      EXPECT_FALSE(read(jsonText(changed)));
    }
  for (auto &member : *good.getAsObject()) {
    llvm::json::Value changed = good;
    changed.getAsObject()->erase(member.first);
    EXPECT_FALSE(read(jsonText(changed))) << member.first.str();
    changed = good;
    (*changed.getAsObject())[member.first] = "no such thing";
    EXPECT_FALSE(read(jsonText(changed))) << member.first.str();
  }
}

/// Whatever a claim says, there is an answer.
TEST(VoteVerify, ClaimsThatMakeNoSense) {
  VoteCertificate certificate;
  EXPECT_FALSE(verify(certificate).holds());
  certificate.statistics.memberErrors.assign(64, {ratio(1, 2), 0});
  EXPECT_FALSE(verify(certificate).holds());
  certificate.statistics.memberErrors.assign(63, {ratio(1, 2), 0});
  for (unsigned i = 0; i < 63; ++i)
    certificate.groups.push_back({i});
  EXPECT_FALSE(verify(certificate).holds()); // 2^63 patterns
  certificate.groups = {certificate.groups[0]};
  EXPECT_FALSE(verify(certificate).holds());
  certificate.groups = {{}};
  for (unsigned i = 0; i < 63; ++i)
    certificate.groups[0].push_back(i);
  certificate.constant = 1;
  EXPECT_TRUE(verify(certificate).holds()); // a probability is at most 1
  certificate.multipliers = {{{31}, 1}};
  EXPECT_FALSE(verify(certificate).holds());
  certificate.multipliers = {{{64}, 1}};
  EXPECT_FALSE(verify(certificate).holds());
  certificate.multipliers = {{{0}, 1}};
  EXPECT_FALSE(verify(certificate).holds());
  certificate.multipliers = {{{1, 1}, 1}};
  EXPECT_FALSE(verify(certificate).holds());
  certificate.multipliers.clear();
  certificate.limits = {{0, 0, 0}, {5, 3, ratio(1, 2)}, {-1, 7, ratio(1, 2)}, {1, 7, -1}};
  for (const VoteLimit &limit : std::vector<VoteLimit>(certificate.limits)) {
    certificate.limits = {limit};
    EXPECT_FALSE(verify(certificate).holds());
  }
  certificate.limits = {{INT64_MAX / 2, INT64_MAX, ratio(3, 4)}};
  EXPECT_EQ(verify(certificate).trusted.size(), 1u);
}

TEST(VoteVerify, TailsAreNeverBelowTheExactOnes) {
  for (int64_t n = 1; n < 30; ++n)
    for (int64_t x = 0; x < n; ++x)
      for (const Rational &p : {ratio(1, 7), ratio(1, 2), ratio(9, 10)}) {
        Rational sum = 0;
        for (int64_t i = 0; i <= x; ++i) {
          Rational term = 1;
          for (int64_t j = 0; j < n; ++j)
            term = term * (j < i ? p * Rational(n - j) / Rational(j + 1) : Rational(1) - p);
          sum = sum + term;
        }
        ASSERT_EQ(tailAtMost(x, n, p, sum - ratio(1, 1'000'000'000'000'000'000)), false);
        ASSERT_EQ(tailAtMost(x, n, p, sum + sum * ratio(1, 10'000'000'000'000'000)), true);
      }
  // The limits of lib/statistics, of many samples as well.
  for (auto [x, n] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 1'000'000'000}, {800, 10'000}, {4500, 50'000}, {200'000, 1'000'000}}) {
    Rational limit = upperLimit(x, n, ratio(1, 20));
    EXPECT_EQ(tailAtMost(x, n, limit, ratio(1, 20)), true);
    EXPECT_EQ(tailAtMost(x, n, limit - limit * ratio(1, 100'000), ratio(1, 20)), false);
  }
  EXPECT_EQ(tailAtMost(kMaxTerms + 1, 1'000'000'000, ratio(1, 2), ratio(1, 2)), std::nullopt);
}

} // namespace
