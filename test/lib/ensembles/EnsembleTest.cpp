// Facts of kinds as facts of members; an ensemble written and read back.
#include "lib/ensembles/output/Ensemble.h"
#include "lib/ensembles/solve/ChooseMembers.h"
#include "lib/ensembles/solve/VoteBounds.h"
#include "lib/ensembles/verify/Ensemble.h"
#include "lib/ensembles/verify/Members.h"
#include "lib/ensembles/verify/StatedStatistics.h"
#include "lib/ensembles/verify/Vote.h"
#include "lib/support/documents/JsonText.h"
#include <algorithm>
#include <bit>
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace accord;

namespace {

Rational share(int64_t n, int64_t d) { return Rational(n) / Rational(d); }

MemberStatistics someFacts() {
  MemberStatistics statistics;
  statistics.memberErrors = {{share(1, 10), 0}, {share(1, 8), 1000}, {1, -1}};
  statistics.jointErrors[{0, 0}] = {share(1, 50), 0};
  statistics.jointErrors[{0, 1}] = {share(1, 40), 2000};
  return statistics;
}

TEST(MemberStatistics, EveryPairOfTheKinds) {
  ErrorStatistics statistics = statisticsOf(someFacts(), {2, 1, 0});
  ASSERT_EQ(statistics.memberErrors.size(), 3u);
  EXPECT_EQ(statistics.memberErrors[1].rate, share(1, 10));
  EXPECT_EQ(statistics.memberErrors[2].samples, 1000);
  ASSERT_EQ(statistics.jointErrors.size(), 3u);
  EXPECT_EQ((statistics.jointErrors.at({0, 1}).rate), share(1, 50));
  EXPECT_EQ((statistics.jointErrors.at({0, 2}).samples), 2000);
  EXPECT_EQ((statistics.jointErrors.at({1, 2}).samples), 2000);
  EXPECT_TRUE(statistics.votes.empty());
  MemberStatistics triples;
  triples.memberErrors = {{share(1, 10), 0}};
  triples.jointErrors[{0, 0, 0}] = {share(1, 90), 0};
  EXPECT_EQ(statisticsOf(triples, {5}).jointErrors.size(), 10u);
  EXPECT_TRUE(statisticsOf(triples, {2}).jointErrors.empty());
}

TEST(MemberStatistics, VerifiedByOtherCode) {
  const std::vector<unsigned> counts = {2, 1, 0};
  const ErrorStatistics right = statisticsOf(someFacts(), counts);
  EXPECT_EQ(statisticsViolation(right, someFacts(), counts), std::nullopt);
  auto refused = [&](auto change) {
    ErrorStatistics wrong = right;
    change(wrong);
    return statisticsViolation(wrong, someFacts(), counts).has_value();
  };
  EXPECT_TRUE(refused([](ErrorStatistics &s) { s.independent = true; }));
  EXPECT_TRUE(refused([](ErrorStatistics &s) { s.memberErrors[2].samples = 0; }));
  EXPECT_TRUE(refused([](ErrorStatistics &s) { s.memberErrors.pop_back(); }));
  EXPECT_TRUE(refused([](ErrorStatistics &s) { s.jointErrors.erase(s.jointErrors.begin()); }));
  EXPECT_TRUE(refused([](ErrorStatistics &s) { s.jointErrors[{0, 1}].rate = share(1, 51); }));
  EXPECT_TRUE(refused([](ErrorStatistics &s) { s.jointErrors[{0, 1, 2}] = {share(1, 90), 0}; }));
  EXPECT_TRUE(refused([](ErrorStatistics &s) { s.jointErrors[{0, 7}] = {share(1, 90), 0}; }));
  EXPECT_TRUE(refused([](ErrorStatistics &s) { s.votes[1] = 1; }));
}

TEST(MemberStatistics, VotesOfTheFirstColumnsOfEachKind) {
  MemberStatistics statistics = someFacts();
  statistics.table.kinds = {0, 0, 1, 1}; // columns of each member
  statistics.table.votes = {{0b0000, 60}, {0b0001, 10}, {0b0101, 5}, {0b1010, 20}, {0b1101, 5}};
  statistics.table.samples = 100;
  EXPECT_FALSE(statisticsOf(statistics, {2, 2, 0}).votes.empty());
  EXPECT_TRUE(statisticsOf(statistics, {3, 0, 0}).votes.empty());
  EXPECT_TRUE(statisticsOf(statistics, {0, 0, 1}).votes.empty());
  std::map<uint64_t, int64_t> expected = {{0b00, 80}, {0b01, 10}, {0b11, 10}};
  EXPECT_EQ(statisticsOf(statistics, {1, 1, 0}).votes, expected);
  EXPECT_TRUE(statisticsOf(statistics, {3, 0, 0}).votes.empty());
}

/// Up to three kinds with up to three columns each, and some votes.
MemberStatistics randomTable(std::mt19937 &random) {
  MemberStatistics statistics;
  for (unsigned kind = 0; kind < 1 + random() % 3; ++kind) {
    statistics.memberErrors.push_back({share(1, 9), int64_t(random() % 2)});
    statistics.table.kinds.insert(statistics.table.kinds.end(), 1 + random() % 3, kind);
  }
  for (int i = 0; i < 9; ++i)
    statistics.table.votes[random() >> (32 - statistics.table.kinds.size())] += random() % 9;
  return statistics;
}

std::vector<unsigned> countsOf(const MemberStatistics &statistics, uint64_t columns) {
  std::vector<unsigned> counts(statistics.memberErrors.size(), 0);
  for (size_t c = 0; c < statistics.table.kinds.size(); ++c)
    counts[statistics.table.kinds[c]] += columns >> c & 1;
  return counts;
}

int64_t numWrongVotes(const std::map<uint64_t, int64_t> &votes, uint64_t votingMembers) {
  int64_t wrong = 0;
  for (auto [pattern, count] : votes)
    wrong += 2 * std::popcount(pattern & votingMembers) >= std::popcount(votingMembers) ? count : 0;
  return wrong;
}

TEST(MemberStatistics, AfterALossTheWorstOfTheTableCount) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    MemberStatistics statistics = randomTable(random);
    statistics.anyOfKind = true;
    uint64_t all = uint64_t{1} << statistics.table.kinds.size();
    std::map<std::vector<unsigned>, int64_t> max;
    for (uint64_t votingMembers = 1; votingMembers < all; ++votingMembers) {
      int64_t &worst = max[countsOf(statistics, votingMembers)];
      worst = std::max(worst, numWrongVotes(statistics.table.votes, votingMembers));
    }
    for (const auto &[counts, wrong] : max) {
      ErrorStatistics found = statisticsOf(statistics, counts);
      EXPECT_EQ(numWrongVotes(found.votes, (uint64_t{1} << found.memberErrors.size()) - 1), wrong);
    }
  }
  // The verifier takes these votes, and none with a vote more or less; it counts in another way.
  for (int round = 0; round < 300; ++round) {
    MemberStatistics statistics = randomTable(random);
    statistics.anyOfKind = random() % 2;
    std::vector<unsigned> counts(statistics.memberErrors.size());
    for (unsigned &count : counts)
      count = random() % 3;
    ErrorStatistics found = statisticsOf(statistics, counts);
    EXPECT_EQ(statisticsViolation(found, statistics, counts), std::nullopt);
    if (!found.votes.empty()) {
      ++found.votes.begin()->second;
      EXPECT_TRUE(statisticsViolation(found, statistics, counts));
    }
  }
  MemberStatistics many; // 13 of 26 of a kind: too many to look at
  many.memberErrors = {{1, -1}};
  many.table.kinds.assign(26, 0);
  many.table.votes = {{0, 1}, {1, 1}};
  many.anyOfKind = true;
  EXPECT_TRUE(statisticsOf(many, {13}).votes.empty());
  many.anyOfKind = false;
  EXPECT_FALSE(statisticsOf(many, {13}).votes.empty());
}

TEST(MemberStatistics, LimitsThatHoldTogether) {
  std::mt19937 random(8);
  for (int round = 0; round < 200; ++round) {
    MemberStatistics statistics = randomTable(random);
    statistics.anyOfKind = random() % 2;
    std::vector<unsigned> sizes = {1, 3};
    if (random() % 2)
      sizes = {5};
    std::set<std::vector<unsigned>> chosenFrom;
    auto columns = static_cast<int64_t>(statistics.table.kinds.size());
    for (uint64_t votingMembers = 1; votingMembers < uint64_t{1} << columns; ++votingMembers)
      if (int size = std::popcount(votingMembers);
          size > 1 && size % 2 && (statistics.anyOfKind || std::ranges::count(sizes, size)))
        chosenFrom.insert(countsOf(statistics, votingMembers));
    int64_t tests = columns + static_cast<int64_t>(chosenFrom.size()) +
                    std::ranges::count_if(statistics.memberErrors, [](auto &one) { return one.samples > 0; });
    EXPECT_EQ(simultaneousTests(statistics, sizes), tests);
    EXPECT_EQ(minSimultaneousTests(statistics, sizes, statistics.anyOfKind), Rational(tests));
  }
  EXPECT_EQ(simultaneousTests(someFacts(), {1, 3}), 2); // measured, no table
  MemberStatistics max;                                 // as many as there can be
  for (unsigned kind = 0; kind < kMaxEnsembleMembers; ++kind) {
    max.memberErrors.push_back({1, -1});
    max.table.kinds.push_back(kind);
  }
  max.anyOfKind = true;
  EXPECT_EQ(simultaneousTests(max, {}), int64_t{1} << 62);
  EXPECT_EQ(minSimultaneousTests(max, {}, true), Rational(int64_t{1} << 62));
}

EnsemblePlan somePlan() {
  EnsemblePlan plan;
  plan.name = "voters", plan.train = "t", plan.version = "0";
  plan.confidence = share(19, 20);
  plan.statistics.memberErrors = {{share(1, 10), 0}, {share(1, 8), 0}};
  plan.statistics.jointErrors = {{{0, 0}, {share(1, 50), 0}}, {{0, 1}, {share(1, 40), 0}}};
  plan.statistics.table.kinds = {0, 1};
  plan.statistics.table.votes = {{0, 90}, {3, 10}};
  plan.statistics.table.samples = 100;
  plan.request.kinds.resize(2);
  plan.problem.kinds = {
      {"a", {{{.time = 40, .state = 10, .joules = 3, .text = "w"}}, {}}},
      {"b", {{{.time = 10, .state = 4, .text = "x"}, {.time = 20, .state = 2, .text = "y"}}, {{.text = "z"}}}}};
  plan.problem.devices = {{"d", 2, 100, 1.5}, {"e", 1, 0, 0}};
  plan.problem.sizes = {1, 3};
  plan.problem.max = share(7, 100);
  plan.reasons = {{"", "too small"}, {"", ""}};
  auto error = [&](const std::vector<unsigned> &counts) {
    return guaranteed(statisticsOf(plan.statistics, counts), {.kinds = kindsOf(counts)});
  };
  plan.result = chooseMembers(plan.problem, error);
  plan.guarantees.resize(2);
  plan.certificates.push_back({{3, 0}, strongest(statisticsOf(plan.statistics, {3, 0}), {}).strongest().certificate});
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
  plan.guarantees[1].emplace().value = share(1, 3); // no decimal
  auto back = readBack(toJson(plan));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->problem.max, plan.problem.max);
  EXPECT_EQ(back->problem.sizes, plan.problem.sizes);
  EXPECT_EQ(back->guarantees[1]->value, share(1, 3));
  EXPECT_EQ(back->result.best, plan.result.best);
  EXPECT_EQ(back->result.bound, plan.result.bound);
  EXPECT_EQ(back->statistics.jointErrors, plan.statistics.jointErrors);
  EXPECT_EQ(back->statistics.table.votes, plan.statistics.table.votes);
  const MemberChoice &a = *plan.chosen(), &b = *back->chosen();
  EXPECT_EQ(a.members, b.members);
  EXPECT_EQ(a.error, b.error);
  EXPECT_EQ(std::tuple(a.time, a.memory, a.joules, a.price), std::tuple(b.time, b.memory, b.joules, b.price));
  // To the last digit.
  EXPECT_EQ(jsonText(toJson(*back)), jsonText(toJson(plan)));
}

TEST(EnsembleJson, SchemaOfAllKeys) {
  llvm::json::Value schema = voteSchema(), document = toJson(somePlan());
  const llvm::json::Object *properties = schema.getAsObject()->getObject("properties");
  ASSERT_TRUE(properties);
  for (const auto &[key, value] : *document.getAsObject())
    EXPECT_TRUE(properties->get(key)) << llvm::StringRef(key).str();
  for (const char *key : {"requirement", "conflict"})
    EXPECT_TRUE(properties->get(key)) << key;
}

/// Whatever is taken out, or replaced by something else: a diagnostic or a plan, never more.
TEST(EnsembleJson, MutatedDocuments) {
  llvm::json::Value document = toJson(somePlan());
  unsigned rejected = 0, tried = 0;
  const llvm::json::Value others[] = {nullptr, -1, 1e300, "x", "-1/2", llvm::json::Array{}, llvm::json::Object{}};
  auto attempt = [&](auto change) {
    llvm::json::Value copy = document;
    change(copy);
    ++tried;
    rejected += !readBack(copy);
  };
  for (const auto &[key, value] : *document.getAsObject()) {
    attempt([&](auto &copy) { copy.getAsObject()->erase(key); });
    for (const auto &other : others)
      attempt([&](auto &copy) { (*copy.getAsObject())[key] = other; });
  }
  for (llvm::StringRef list : {"members", "devices", "sizes", "certificates"})
    for (const auto &[key, value] : *document.getAsObject()->getArray(list)->front().getAsObject())
      for (const auto &other : others)
        attempt([&](auto &copy) { (*copy.getAsObject()->getArray(list)->front().getAsObject())[key] = other; });
  EXPECT_GT(rejected, tried / 2);
}

/// With a certificate of everything that is shown or was refused, and rates of samples.
EnsemblePlan provedPlan(bool table) {
  EnsemblePlan plan = somePlan();
  plan.problem.max = share(1, 10);
  for (auto &rate : plan.statistics.memberErrors)
    rate.samples = 4000;
  for (auto &[members, rate] : plan.statistics.jointErrors)
    rate.samples = 4000;
  if (!table)
    plan.statistics.table = {};
  plan.tests = simultaneousTests(plan.statistics, plan.problem.sizes);
  auto options = [&](const std::vector<unsigned> &counts) {
    VoteOptions made;
    made.confidence = plan.confidence, made.tests = plan.tests, made.kinds = kindsOf(counts);
    return made;
  };
  plan.result = chooseMembers(plan.problem, [&](const std::vector<unsigned> &counts) {
    return guaranteed(statisticsOf(plan.statistics, counts), options(counts));
  });
  std::set<std::vector<unsigned>> claimed;
  for (const MembersOfSize &of : plan.result.sizes)
    if (of.shown())
      claimed.insert(of.shown()->counts);
  for (const RejectedMembers &one : plan.result.rejected)
    claimed.insert(one.counts);
  plan.certificates.clear();
  for (const auto &counts : claimed) {
    auto found = strongest(statisticsOf(plan.statistics, counts), options(counts));
    plan.certificates.push_back({counts, found.conflict ? found.conflict->certificate : found.strongest().certificate});
  }
  return plan;
}

TEST(EnsembleVerify, EachClaimOfAPlanIsProved) {
  for (bool table : {false, true}) {
    EnsemblePlan plan = provedPlan(table);
    ASSERT_TRUE(plan.chosen());
    Verification proof = verify(plan);
    for (const Error &error : proof.findings)
      ADD_FAILURE() << table << ": " << error.message;
    EXPECT_TRUE(std::ranges::any_of(proof.checked,
                                    [](const std::string &text) { return text.starts_with("guaranteed errors of"); }));
    auto refused = [&](const char *said, auto change) {
      EnsemblePlan wrong = plan;
      change(wrong);
      Errors findings = verify(wrong).findings;
      EXPECT_TRUE(
          std::ranges::any_of(findings, [&](const Error &one) { return one.message.find(said) != std::string::npos; }))
          << said << (findings.empty() ? "" : ": " + findings.front().message);
    };
    size_t best = *plan.result.best;
    auto chosen = [best](EnsemblePlan &p) -> MemberChoice & { return *p.result.sizes[best].best; };
    refused("the confidence is shared by", [](auto &p) { --p.tests; });
    refused("of another confidence", [](auto &p) { p.certificates[0].certificate.confidence = share(9, 10); });
    refused("of another confidence", [](auto &p) { --p.certificates[0].certificate.tests; });
    refused("not from the rates", [](auto &p) { p.statistics.memberErrors[0].rate = share(1, 11); });
    refused("not from the rates", [](auto &p) { p.certificates[0].counts = {1, 2}; });
    refused("nothing proves the error of", [](auto &p) { p.certificates.clear(); });
    refused("is proven of", [&](auto &p) {
      chosen(p).error = chosen(p).error - share(1, 1000);
      chosen(p).errorAfterFailures = chosen(p).error;
    });
    refused("no device is lost, and another error", [&](auto &p) { chosen(p).errorAfterFailures = share(1, 1000); });
    refused("the guarantee of", [&](auto &p) { p.guarantees[best].emplace().value = share(1, 1000); });
    plan.reported = plan.objective();
    EXPECT_TRUE(verify(plan).holds());
    refused("the objective is shown as", [](auto &p) { p.reported->value *= 1 + 1e-9; });
    refused("the bound is shown as", [](auto &p) { p.reported->bound *= 1 - 1e-9; });
    refused("the gap is shown as", [](auto &p) { p.reported->gap += 1e-9; });
    refused("another objective is shown", [](auto &p) { p.reported->name += "x"; });
  }
}

TEST(DeviceFailures, QuorumsThatAreProven) {
  MemberProblem p;
  p.kinds = {{"a", {{{.time = 1}}}}};
  p.devices = {{"d", 3, 0, 0}};
  p.sizes = {5};
  p.deviceFailures = 1;
  MemberChoice choice = evaluateMembers(p, {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 0, 1}, {0, 0, 0, 2}});
  choice.errorAfterFailures = share(1, 20);
  uint64_t failures = 0;
  EXPECT_TRUE(verifyDeviceFailures(p, choice, {{{3}, share(1, 20)}}, failures).empty());
  EXPECT_EQ(failures, 3u);
  EXPECT_FALSE(verifyDeviceFailures(p, choice, {{{5}, share(1, 20)}}, failures).empty()); // too many
  EXPECT_FALSE(verifyDeviceFailures(p, choice, {{{2}, share(1, 20)}}, failures).empty()); // even
  EXPECT_FALSE(verifyDeviceFailures(p, choice, {{{3}, share(1, 19)}}, failures).empty()); // too large
  p.deviceFailures = 2;
  EXPECT_FALSE(verifyDeviceFailures(p, choice, {{{3}, share(1, 20)}}, failures).empty()); // one is left
  p.deviceFailures = 9;
  EXPECT_FALSE(verifyDeviceFailures(p, choice, {{{1}, share(1, 20)}}, failures).empty()); // nobody is
}

} // namespace
