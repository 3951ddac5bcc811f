// Claims of votes that do not hold are found out; certificates are read as they are written.
#include "VoteRandom.h"
#include "lib/support/documents/JsonText.h"
#include "lib/ensembles/output/VoteCertificate.h"
#include "lib/support/ClopperPearson.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/ensembles/verify/BinomialTail.h"
#include "lib/ensembles/verify/Vote.h"
#include "lib/ensembles/solve/Bounds.h"
#include <functional>
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::test;

namespace {

/// Claims of all proofs.
std::vector<VoteClaim> claims() {
  std::mt19937 draw(11);
  std::vector<VoteClaim> all;
  auto take = [&](const ErrorFacts &facts, const VoteOptions &options) {
    VoteGuarantee guarantee = strongest(facts, options);
    if (guarantee.conflict)
      all.push_back(guarantee.conflict->claim);
    for (const VoteBound &bound : guarantee.bounds)
      if (bound.claim.value < Rational(1))
        all.push_back(bound.claim);
  };
  for (unsigned i = 0; i < 30; ++i) {
    JointAtRandom joint(draw, 3 + i % 3);
    ErrorFacts facts = joint.facts(draw, 70, 3);
    facts.independent = i % 5 == 0;
    if (facts.independent)
      facts.together.clear();
    VoteOptions options;
    if (i % 2) {
      for (auto &rate : facts.alone)
        rate.samples = 5000;
      for (auto &[set, rate] : facts.together)
        rate.samples = 5000;
    }
    if (i % 7 == 0)
      for (uint64_t pattern = 0; pattern < joint.weights.size(); ++pattern)
        facts.votes[pattern] = joint.weights[pattern] * 10;
    if (i % 11 == 0)
      facts.together[{0, 1}] = {ratio(99, 100), 0};
    take(facts, options);
  }
  return all;
}

std::optional<VoteClaim> read(llvm::StringRef text) {
  auto value = parseJson(text, "claim");
  if (!value)
    return llvm::consumeError(value.takeError()), std::nullopt;
  llvm::json::Path::Root root("claim");
  VoteClaim claim;
  if (!readVoteClaim(*value, claim, root))
    return llvm::consumeError(root.getError()), std::nullopt;
  return claim;
}

TEST(VoteVerify, ClaimsThatHold) {
  unsigned proofs[4] = {};
  for (const VoteClaim &claim : claims()) {
    VoteProof proof = verify(claim);
    EXPECT_TRUE(proof.holds()) << proof.findings[0].message;
    EXPECT_FALSE(proof.checked.empty());
    ++proofs[static_cast<size_t>(claim.proof)];
    std::string text = jsonText(toJson(claim));
    auto again = read(text);
    ASSERT_TRUE(again);
    EXPECT_EQ(jsonText(toJson(*again)), text);
    EXPECT_TRUE(verify(*again).holds());
  }
  for (unsigned count : proofs)
    EXPECT_GT(count, 0u);
}

/// Changes that make a claim untrue, or leave it unproved; where one applies it must be found.
TEST(VoteVerify, ClaimsThatDoNotHold) {
  Rational little = ratio(1, 1'000'000'000'000);
  using Change = std::function<bool(VoteClaim &)>;
  auto multipliers = [](const VoteClaim &claim) {
    return claim.proof == VoteClaim::Proof::Multipliers ||
           claim.proof == VoteClaim::Proof::Contradiction;
  };
  std::pair<const char *, Change> changes[] = {
      {"a smaller value",
       [&](VoteClaim &claim) {
         claim.value = claim.value - (claim.proof == VoteClaim::Proof::Independence
                                          ? ratio(1, 10) // Hoeffding's bound is far from exact
                                          : little);
         return claim.proof != VoteClaim::Proof::Independence || claim.value.sign() < 0;
       }},
      {"a smaller multiplier",
       [&](VoteClaim &claim) {
         if (!multipliers(claim) || claim.multipliers.empty())
           return false;
         claim.multipliers[0].value = claim.multipliers[0].value - ratio(1, 2);
         return true;
       }},
      {"a smaller constant",
       [&](VoteClaim &claim) {
         claim.constant = claim.constant - little;
         // Markov's bounds of pairs have room where few are wrong.
         return !claim.attained.empty() || claim.proof == VoteClaim::Proof::Contradiction;
       }},
      {"a larger rate",
       [&](VoteClaim &claim) {
         if (!multipliers(claim) || claim.facts.alone[0].samples != 0 ||
             claim.proof == VoteClaim::Proof::Contradiction)
           return false;
         claim.facts.alone[0].rate = claim.facts.alone[0].rate + ratio(1, 100);
         return !claim.attained.empty();
       }},
      {"a tighter limit",
       [&](VoteClaim &claim) {
         if (claim.limits.empty())
           return false;
         VoteLimit &limit = claim.limits[0];
         limit.limit = limit.limit - limit.limit * ratio(1, 1'000'000);
         return limit.limit < Rational(1);
       }},
      {"more confidence",
       [&](VoteClaim &claim) {
         claim.confidence = ratio(999, 1000);
         return !claim.limits.empty() && claim.limits[0].limit < Rational(1);
       }},
      {"fewer tests",
       [&](VoteClaim &claim) {
         if (claim.limits.empty() || claim.tests == 1 || claim.proof == VoteClaim::Proof::Table ||
             claim.proof == VoteClaim::Proof::Contradiction) // one rate may be left
           return false;
         claim.tests = 1;
         return true;
       }},
      {"no independence",
       [&](VoteClaim &claim) {
         claim.facts.independent = false;
         return claim.proof == VoteClaim::Proof::Independence;
       }},
      {"another distribution",
       [&](VoteClaim &claim) {
         if (claim.attained.size() < 2 ||
             !claim.limits.empty()) // what is less than a limit is none
           return false;
         claim.attained[0].value = claim.attained[0].value + little;
         claim.attained[1].value = claim.attained[1].value - little;
         return true;
       }},
      {"a member in two groups",
       [&](VoteClaim &claim) {
         if (!multipliers(claim))
           return false;
         claim.groups.push_back({0});
         for (auto *terms : {&claim.multipliers, &claim.attained})
           for (VoteTerm &term : *terms)
             term.counts.push_back(0);
         return true;
       }},
      {"more wrong votes",
       [&](VoteClaim &claim) {
         if (claim.proof != VoteClaim::Proof::Table)
           return false;
         claim.facts.votes[(uint64_t{1} << claim.facts.alone.size()) - 1] += 1;
         return true;
       }},
      {"no contradiction",
       [&](VoteClaim &claim) {
         for (auto &[set, rate] : claim.facts.together)
           rate.rate = 0;
         return claim.proof == VoteClaim::Proof::Contradiction && !claim.facts.together.empty();
       }},
      {"patterns of other members",
       [&](VoteClaim &claim) {
         claim.facts.votes[uint64_t{1} << claim.facts.alone.size()] = 1;
         return true;
       }},
      {"no tests",
       [&](VoteClaim &claim) {
         claim.tests = 0;
         return true;
       }},
      {"no members",
       [&](VoteClaim &claim) {
         claim.facts = {};
         return true;
       }},
  };
  std::vector<VoteClaim> all = claims();
  for (const auto &[name, change] : changes) {
    unsigned applied = 0;
    for (const VoteClaim &claim : all) {
      VoteClaim changed = claim;
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
  VoteClaim claim;
  claim.facts.alone.assign(3, {ratio(1, 5), 0});
  for (unsigned i = 0; i < 3; ++i)
    for (unsigned j = i + 1; j < 3; ++j)
      claim.facts.together[{i, j}] = {ratio(6, 100), 0};
  claim.facts.together[{0, 1, 2}] = {ratio(5, 100), 0};
  claim.groups = {{0, 1, 2}};
  claim.multipliers = {{{2}, 1}, {{3}, -2}};
  claim.value = ratio(8, 100);
  EXPECT_TRUE(verify(claim).holds());
  claim.facts.together[{0, 1, 2}] = {ratio(5, 100), 1000};
  Rational limit = upperLimit(50, 1000, ratio(1, 20));
  claim.limits = {{50, 1000, limit}};
  claim.value = ratio(18, 100) - Rational(2) * limit;
  EXPECT_FALSE(verify(claim).holds());
  claim.multipliers = {{{2}, 1}};
  claim.value = ratio(18, 100);
  EXPECT_TRUE(verify(claim).holds());
}

TEST(VoteVerify, TextsThatAreNoClaim) {
  VoteClaim claim = claims()[0];
  llvm::json::Value good = toJson(claim);
  EXPECT_TRUE(read(jsonText(good)));
  for (llvm::StringRef text : {"", "{}", "[]", "null", "\xff\xfe", "{\"facts\": 1}"})
    EXPECT_FALSE(read(text));
  for (const char *key : {"value", "constant", "confidence"})
    for (llvm::json::Value bad :
         {llvm::json::Value("1/0"), llvm::json::Value("nan"), llvm::json::Value(""),
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
  VoteClaim claim;
  EXPECT_FALSE(verify(claim).holds());
  claim.facts.alone.assign(64, {ratio(1, 2), 0});
  EXPECT_FALSE(verify(claim).holds());
  claim.facts.alone.assign(63, {ratio(1, 2), 0});
  for (unsigned i = 0; i < 63; ++i)
    claim.groups.push_back({i});
  EXPECT_FALSE(verify(claim).holds()); // 2^63 patterns
  claim.groups = {claim.groups[0]};
  EXPECT_FALSE(verify(claim).holds());
  claim.groups = {{}};
  for (unsigned i = 0; i < 63; ++i)
    claim.groups[0].push_back(i);
  claim.constant = 1;
  EXPECT_TRUE(verify(claim).holds()); // a probability is at most 1
  claim.multipliers = {{{31}, 1}};
  EXPECT_FALSE(verify(claim).holds());
  claim.multipliers = {{{64}, 1}};
  EXPECT_FALSE(verify(claim).holds());
  claim.multipliers = {{{0}, 1}};
  EXPECT_FALSE(verify(claim).holds());
  claim.multipliers = {{{1, 1}, 1}};
  EXPECT_FALSE(verify(claim).holds());
  claim.multipliers.clear();
  claim.limits = {{0, 0, 0}, {5, 3, ratio(1, 2)}, {-1, 7, ratio(1, 2)}, {1, 7, -1}};
  for (const VoteLimit &limit : std::vector<VoteLimit>(claim.limits)) {
    claim.limits = {limit};
    EXPECT_FALSE(verify(claim).holds());
  }
  claim.limits = {{INT64_MAX / 2, INT64_MAX, ratio(3, 4)}};
  EXPECT_EQ(verify(claim).trusted.size(), 1u);
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
  EXPECT_EQ(tailAtMost(kMostTerms + 1, 1'000'000'000, ratio(1, 2), ratio(1, 2)), std::nullopt);
}

} // namespace
