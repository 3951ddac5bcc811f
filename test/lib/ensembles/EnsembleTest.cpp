// Facts of kinds as facts of members; an ensemble written and read back.
#include "lib/ensembles/output/Ensemble.h"
#include "lib/support/documents/JsonText.h"
#include "lib/ensembles/verify/MembersLost.h"
#include "lib/ensembles/verify/Vote.h"
#include "lib/ensembles/solve/Bounds.h"
#include "lib/ensembles/solve/Choose.h"
#include <algorithm>
#include <bit>
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace accord;

namespace {

Rational share(int64_t n, int64_t d) { return Rational(n) / Rational(d); }

KindFacts someFacts() {
  KindFacts facts;
  facts.alone = {{share(1, 10), 0}, {share(1, 8), 1000}, {1, -1}};
  facts.together[{0, 0}] = {share(1, 50), 0};
  facts.together[{0, 1}] = {share(1, 40), 2000};
  return facts;
}

TEST(KindFacts, EveryPairOfTheKinds) {
  ErrorFacts facts = factsOf(someFacts(), {2, 1, 0});
  ASSERT_EQ(facts.alone.size(), 3u);
  EXPECT_EQ(facts.alone[1].rate, share(1, 10));
  EXPECT_EQ(facts.alone[2].samples, 1000);
  ASSERT_EQ(facts.together.size(), 3u);
  EXPECT_EQ((facts.together.at({0, 1}).rate), share(1, 50));
  EXPECT_EQ((facts.together.at({0, 2}).samples), 2000);
  EXPECT_EQ((facts.together.at({1, 2}).samples), 2000);
  EXPECT_TRUE(facts.votes.empty());
  KindFacts triples;
  triples.alone = {{share(1, 10), 0}};
  triples.together[{0, 0, 0}] = {share(1, 90), 0};
  EXPECT_EQ(factsOf(triples, {5}).together.size(), 10u);
  EXPECT_TRUE(factsOf(triples, {2}).together.empty());
}

TEST(KindFacts, VotesOfTheFirstColumnsOfEachKind) {
  KindFacts facts = someFacts();
  facts.table.kinds = {0, 0, 1, 1}; // columns of each member
  facts.table.votes = {{0b0000, 60}, {0b0001, 10}, {0b0101, 5}, {0b1010, 20}, {0b1101, 5}};
  facts.table.samples = 100;
  EXPECT_TRUE(inTable(facts, {2, 2, 0}));
  EXPECT_FALSE(inTable(facts, {3, 0, 0}));
  EXPECT_FALSE(inTable(facts, {0, 0, 1}));
  std::map<uint64_t, int64_t> expected = {{0b00, 80}, {0b01, 10}, {0b11, 10}};
  EXPECT_EQ(factsOf(facts, {1, 1, 0}).votes, expected);
  EXPECT_TRUE(factsOf(facts, {3, 0, 0}).votes.empty());
}

/// Up to three kinds with up to three columns each, and some votes.
KindFacts randomTable(std::mt19937 &random) {
  KindFacts facts;
  for (unsigned kind = 0; kind < 1 + random() % 3; ++kind) {
    facts.alone.push_back({share(1, 9), int64_t(random() % 2)});
    facts.table.kinds.insert(facts.table.kinds.end(), 1 + random() % 3, kind);
  }
  for (int i = 0; i < 9; ++i)
    facts.table.votes[random() >> (32 - facts.table.kinds.size())] += random() % 9;
  return facts;
}

std::vector<unsigned> countsOf(const KindFacts &facts, uint64_t columns) {
  std::vector<unsigned> counts(facts.alone.size(), 0);
  for (size_t c = 0; c < facts.table.kinds.size(); ++c)
    counts[facts.table.kinds[c]] += columns >> c & 1;
  return counts;
}

int64_t wrongVotes(const std::map<uint64_t, int64_t> &votes, uint64_t voters) {
  int64_t wrong = 0;
  for (auto [pattern, count] : votes)
    wrong += 2 * std::popcount(pattern & voters) >= std::popcount(voters) ? count : 0;
  return wrong;
}

TEST(KindFacts, AfterALossTheWorstOfTheTableCount) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    KindFacts facts = randomTable(random);
    facts.anyOfKind = true;
    uint64_t all = uint64_t{1} << facts.table.kinds.size();
    std::map<std::vector<unsigned>, int64_t> most;
    for (uint64_t voters = 1; voters < all; ++voters) {
      int64_t &worst = most[countsOf(facts, voters)];
      worst = std::max(worst, wrongVotes(facts.table.votes, voters));
    }
    for (const auto &[counts, wrong] : most) {
      ErrorFacts found = factsOf(facts, counts);
      EXPECT_EQ(wrongVotes(found.votes, (uint64_t{1} << found.alone.size()) - 1), wrong);
    }
  }
  KindFacts many; // 13 of 26 of a kind: too many to look at
  many.alone = {{1, -1}};
  many.table.kinds.assign(26, 0);
  many.table.votes = {{0, 1}, {1, 1}};
  many.anyOfKind = true;
  EXPECT_TRUE(factsOf(many, {13}).votes.empty());
  many.anyOfKind = false;
  EXPECT_FALSE(factsOf(many, {13}).votes.empty());
}

TEST(KindFacts, LimitsThatHoldTogether) {
  std::mt19937 random(8);
  for (int round = 0; round < 200; ++round) {
    KindFacts facts = randomTable(random);
    facts.anyOfKind = random() % 2;
    std::vector<unsigned> sizes = {1, 3};
    if (random() % 2)
      sizes = {5};
    std::set<std::vector<unsigned>> chosenFrom;
    auto columns = static_cast<int64_t>(facts.table.kinds.size());
    for (uint64_t voters = 1; voters < uint64_t{1} << columns; ++voters)
      if (int size = std::popcount(voters);
          size > 1 && size % 2 && (facts.anyOfKind || std::ranges::count(sizes, size)))
        chosenFrom.insert(countsOf(facts, voters));
    int64_t tests = columns + static_cast<int64_t>(chosenFrom.size()) +
                    std::ranges::count_if(facts.alone, [](auto &one) { return one.samples > 0; });
    EXPECT_EQ(testsOf(facts, sizes), tests);
    EXPECT_EQ(testsNeeded(facts, sizes, facts.anyOfKind), Rational(tests));
  }
  EXPECT_EQ(testsOf(someFacts(), {1, 3}), 2); // measured, no table
  KindFacts most;                             // as many as there can be
  for (unsigned kind = 0; kind < kMostVoters; ++kind) {
    most.alone.push_back({1, -1});
    most.table.kinds.push_back(kind);
  }
  most.anyOfKind = true;
  EXPECT_EQ(testsOf(most, {}), int64_t{1} << 62);
  EXPECT_EQ(testsNeeded(most, {}, true), Rational(int64_t{1} << 62));
}

EnsemblePlan somePlan() {
  EnsemblePlan plan;
  plan.name = "voters", plan.train = "t", plan.version = "0";
  plan.confidence = share(19, 20);
  plan.facts.alone = {{share(1, 10), 0}, {share(1, 8), 0}};
  plan.facts.together = {{{0, 0}, {share(1, 50), 0}}, {{0, 1}, {share(1, 40), 0}}};
  plan.facts.table.kinds = {0, 1};
  plan.facts.table.votes = {{0, 90}, {3, 10}};
  plan.facts.table.samples = 100;
  plan.request.kinds.resize(2);
  plan.problem.kinds = {{"a", {{{.time = 40, .state = 10, .joules = 3}}, {}}},
                        {"b", {{{.time = 10, .state = 4}, {.time = 20, .state = 2}}, {{}}}}};
  plan.problem.devices = {{"d", 2, 100, 1.5}, {"e", 1, 0, 0}};
  plan.problem.sizes = {1, 3};
  plan.problem.most = share(7, 100);
  plan.ways = {{{"w"}, {}}, {{"x", "y"}, {"z"}}};
  plan.reasons = {{"", "too small"}, {"", ""}};
  auto error = [&](const std::vector<unsigned> &counts) {
    return guaranteed(factsOf(plan.facts, counts), {.kinds = kindsOf(counts)});
  };
  plan.result = chooseMembers(plan.problem, error);
  plan.guarantees.resize(2);
  plan.claims.push_back({{3, 0}, strongest(factsOf(plan.facts, {3, 0}), {}).strongest().claim});
  return plan;
}

std::optional<EnsemblePlan> readBack(llvm::json::Value document) {
  EnsemblePlan plan;
  llvm::json::Path::Root root;
  if (!readEnsemble(document, plan, root)) {
    llvm::consumeError(root.getError());
    return std::nullopt;
  }
  return plan;
}

TEST(EnsembleJson, WrittenAndReadBack) {
  EnsemblePlan plan = somePlan();
  ASSERT_TRUE(plan.result.best);
  auto back = readBack(toJson(plan));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->problem.most, plan.problem.most);
  EXPECT_EQ(back->problem.sizes, plan.problem.sizes);
  EXPECT_EQ(back->result.best, plan.result.best);
  EXPECT_EQ(back->result.bound, plan.result.bound);
  EXPECT_EQ(back->facts.together, plan.facts.together);
  EXPECT_EQ(back->facts.table.votes, plan.facts.table.votes);
  const MemberChoice &a = *plan.chosen(), &b = *back->chosen();
  EXPECT_EQ(a.members, b.members);
  EXPECT_EQ(a.error, b.error);
  EXPECT_EQ(std::tuple(a.time, a.memory, a.joules, a.price),
            std::tuple(b.time, b.memory, b.joules, b.price));
  // Words are not read; all else is, to the last digit.
  back->ways = plan.ways, back->reasons = plan.reasons, back->request = plan.request;
  back->guarantees = plan.guarantees;
  EXPECT_EQ(jsonText(toJson(*back)), jsonText(toJson(plan)));
}

/// Whatever is taken out, or replaced by something else: a diagnostic or a plan, never more.
TEST(EnsembleJson, MutatedDocuments) {
  llvm::json::Value document = toJson(somePlan());
  unsigned refused = 0, tried = 0;
  const llvm::json::Value others[] = {
      nullptr, -1, 1e300, "x", "-1/2", llvm::json::Array{}, llvm::json::Object{}};
  auto attempt = [&](auto change) {
    llvm::json::Value copy = document;
    change(copy);
    ++tried;
    refused += !readBack(copy);
  };
  for (const auto &[key, value] : *document.getAsObject()) {
    attempt([&](auto &copy) { copy.getAsObject()->erase(key); });
    for (const auto &other : others)
      attempt([&](auto &copy) { (*copy.getAsObject())[key] = other; });
  }
  for (llvm::StringRef list : {"members", "devices", "sizes", "claims"})
    for (const auto &[key, value] : *document.getAsObject()->getArray(list)->front().getAsObject())
      for (const auto &other : others)
        attempt([&](auto &copy) {
          (*copy.getAsObject()->getArray(list)->front().getAsObject())[key] = other;
        });
  EXPECT_GT(refused, tried / 2);
}

TEST(MembersLost, QuorumsThatAreProven) {
  MemberProblem p;
  p.kinds = {{"a", {{{.time = 1}}}}};
  p.devices = {{"d", 3, 0, 0}};
  p.sizes = {5};
  p.lost = 1;
  MemberChoice choice =
      measured(p, {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 0, 1}, {0, 0, 0, 2}});
  choice.afterLoss = share(1, 20);
  uint64_t losses = 0;
  EXPECT_TRUE(verifyLosses(p, choice, {{{3}, share(1, 20)}}, losses).empty());
  EXPECT_EQ(losses, 3u);
  EXPECT_FALSE(verifyLosses(p, choice, {{{5}, share(1, 20)}}, losses).empty()); // too many
  EXPECT_FALSE(verifyLosses(p, choice, {{{2}, share(1, 20)}}, losses).empty()); // even
  EXPECT_FALSE(verifyLosses(p, choice, {{{3}, share(1, 19)}}, losses).empty()); // too large
  p.lost = 2;
  EXPECT_FALSE(verifyLosses(p, choice, {{{3}, share(1, 20)}}, losses).empty()); // one is left
  p.lost = 9;
  EXPECT_FALSE(verifyLosses(p, choice, {{{1}, share(1, 20)}}, losses).empty()); // nobody is
}

} // namespace
