// Which members on which devices, against trying everything, and laws.
#include "lib/ensembles/verify/Members.h"
#include "test/lib/ensembles/MembersRandom.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

using namespace accord;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double valueOf(const MembersResult &result, const MemberProblem &problem) {
  return result.best ? valueOf(*result.sizes[*result.best].shown(), problem.objective) : kInfinity;
}

TEST(Members, AsTryingEverything) {
  unsigned found = 0, rejected = 0, deviceFailures = 0, groups = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    MembersRandom random(seed);
    MemberProblem problem = random.problem();
    ASSERT_EQ(check(problem), "");
    VoteError error = errorByNames(problem, seed);
    MembersResult result = chooseMembers(problem, error);
    MembersBruteForce all(problem, error);
    double min = kInfinity;
    for (const MembersOfSize &of : result.sizes) {
      MembersTried tried = all.best(of.size);
      EXPECT_TRUE(of.proven);
      if (problem.max) {
        ASSERT_EQ(of.best.has_value(), std::isfinite(tried.value)) << seed;
        double value = of.best ? valueOf(*of.best, problem.objective) : kInfinity;
        if (of.best) {
          ASSERT_NEAR(value, tried.value, 1e-9 * tried.value) << seed << " size " << of.size;
        }
        EXPECT_EQ(of.bound, value) << seed;
        min = std::min(min, value);
      } else {
        ASSERT_EQ(of.minErrorChoice.has_value(), std::isfinite(tried.value)) << seed;
        if (of.minErrorChoice) {
          EXPECT_EQ(of.minErrorChoice->error, tried.error) << seed;
          EXPECT_NEAR(valueOf(*of.minErrorChoice, problem.objective), tried.value, 1e-9 * tried.value);
        }
      }
      if (of.best)
        for (const PlacedMember &m : of.best->members)
          groups += problem.kinds[m.kind].alternatives[m.device][m.alternative].devices > 1;
    }
    if (problem.max) {
      EXPECT_EQ(valueOf(result, problem), min) << seed;
      EXPECT_EQ(result.bound, min) << seed;
    }
    found += result.best.has_value();
    rejected += !result.rejected.empty();
    deviceFailures += problem.deviceFailures && result.best;
    MembersProof proof = verify(problem, result);
    EXPECT_TRUE(proof.holds()) << seed << ": " << proof.findings.front().message;
    EXPECT_LE(proof.assumedRejections.size(), result.rejected.size());
    if (!problem.deviceFailures) {
      EXPECT_TRUE(proof.trusted.empty()) << seed << ": " << proof.trusted.front();
    }
  }
  // It is not about nothing.
  EXPECT_GT(found, 150u);
  EXPECT_GT(rejected, 50u);
  EXPECT_GT(deviceFailures, 15u);
  EXPECT_GT(groups, 10u);
}

// A bound that says that no ensemble of a size is below, where trying everything found one. None is shown, so that only
// the bound itself can be refused.
TEST(Members, BoundsAboveWhatCanBePlacedAreRefused) {
  unsigned refused = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    MembersRandom random(seed);
    MemberProblem problem = random.problem();
    VoteError error = errorByNames(problem, seed);
    MembersResult result = chooseMembers(problem, error);
    if (!problem.max || problem.deviceFailures || !result.best)
      continue;
    for (double by : {1.001, kInfinity}) {
      MembersResult wrong = result;
      wrong.best.reset();
      wrong.bound = 0;
      std::vector<bool> has;
      for (MembersOfSize &of : wrong.sizes) {
        has.push_back(of.best.has_value());
        of.best.reset(), of.minErrorChoice.reset();
        if (has.back())
          of.bound *= by;
      }
      MembersProof proof = verify(problem, wrong);
      for (size_t i = 0; i < has.size(); ++i) {
        std::string said = std::to_string(wrong.sizes[i].size) + " members can be placed below the bound";
        bool found = std::ranges::any_of(proof.findings,
                                         [&](const Error &one) { return one.message.find(said) != std::string::npos; });
        bool something = wrong.sizes[i].bound > 0; // nothing is below 0
        EXPECT_EQ(found, has[i] && something) << seed << " " << by << " " << said;
        refused += found;
      }
    }
  }
  EXPECT_GT(refused, 150u);
}

TEST(Members, OrderChangesNothing) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    MembersRandom random(seed + 1000);
    MemberProblem problem = random.problem(), turned = problem;
    MembersResult result = chooseMembers(problem, errorByNames(problem, seed));
    std::ranges::reverse(turned.devices);
    std::ranges::reverse(turned.kinds);
    for (auto &kind : turned.kinds)
      std::ranges::reverse(kind.alternatives);
    MembersResult other = chooseMembers(turned, errorByNames(turned, seed));
    EXPECT_EQ(result.best, other.best) << seed;
    EXPECT_EQ(result.bound, other.bound) << seed;
    for (size_t i = 0; i < result.sizes.size(); ++i) {
      const MemberChoice *a = result.sizes[i].shown(), *b = other.sizes[i].shown();
      ASSERT_EQ(a == nullptr, b == nullptr) << seed;
      if (!a)
        continue;
      EXPECT_EQ(a->error, b->error);
      EXPECT_EQ(a->errorAfterFailures, b->errorAfterFailures);
      EXPECT_EQ(std::tuple(a->time, a->memory, a->joules, a->price),
                std::tuple(b->time, b->memory, b->joules, b->price))
          << seed;
      std::vector<unsigned> counts = b->counts;
      std::ranges::reverse(counts);
      EXPECT_EQ(a->counts, counts) << seed;
    }
  }
}

TEST(Members, MoreIsNeverWorse) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    MembersRandom random(seed + 2000);
    MemberProblem problem = random.problem();
    problem.max = Rational(3) / Rational(10);
    VoteError error = errorByNames(problem, seed);
    double value = valueOf(chooseMembers(problem, error), problem) * (1 + 1e-12);
    MemberProblem more = problem;
    ++more.devices[static_cast<size_t>(random(0, int64_t(more.devices.size()) - 1))].count;
    EXPECT_LE(valueOf(chooseMembers(more, error), more), value) << "devices, " << seed;
    more = problem;
    for (MemberProblem::Device &device : more.devices)
      if (device.memory)
        device.memory += random(0, 10);
    EXPECT_LE(valueOf(chooseMembers(more, error), more), value) << "memory, " << seed;
    more = problem;
    more.max = Rational(1) / Rational(2);
    EXPECT_LE(valueOf(chooseMembers(more, error), more), value) << "error, " << seed;
  }
}

/// Two kinds on one kind of device, where error is by size alone.
MemberProblem plain() {
  MemberProblem p;
  p.kinds = {{"slow", {{{.time = 40, .state = 10, .activations = 5, .joules = 3}}}},
             {"thin", {{{.time = 10, .state = 4, .activations = 3, .joules = 1}}}}};
  p.devices = {{"d", 2, 100, 1.5}};
  p.sizes = {1, 3, 5};
  p.max = Rational(1) / Rational(10);
  return p;
}

TEST(Members, TurnsAndRoomOfOneDevice) {
  MemberProblem p = plain();
  auto error = [](const std::vector<unsigned> &counts) -> std::optional<Rational> {
    return Rational(1) / Rational(5 * (counts[0] + counts[1]) - (counts[0] ? 0 : 4));
  };
  MembersResult result = chooseMembers(p, error);
  ASSERT_TRUE(result.best);
  const MemberChoice &best = *result.sizes[*result.best].best;
  EXPECT_EQ(best.counts, (std::vector<unsigned>{0, 3})); // 1/11; one alone has 1 or 1/5
  EXPECT_EQ(best.time, 20);                              // two of them take turns
  EXPECT_EQ(best.memory, 4 + 4 + 3);
  EXPECT_DOUBLE_EQ(best.joules, 3);
  EXPECT_DOUBLE_EQ(best.price, 3.0 * 20e-12 / 3600);
  p.devices[0].memory = 10; // room for one each
  result = chooseMembers(p, error);
  EXPECT_FALSE(result.best);
  EXPECT_TRUE(std::isinf(result.bound));
  p.devices[0].count = 3;
  EXPECT_EQ(chooseMembers(p, error).sizes[1].best->time, 10);
}

TEST(Members, DevicesThatMayBeLostTakeTheirMembersWithThem) {
  MemberProblem p = plain();
  auto error = [](const std::vector<unsigned> &counts) -> std::optional<Rational> {
    return Rational(1) / Rational(4 * (counts[0] + counts[1]));
  };
  p.deviceFailures = 1;
  p.devices[0].count = 3;
  p.max = Rational(1) / Rational(12); // three are needed, after the loss of a device
  p.sizes = {5};
  MembersResult result = chooseMembers(p, error);
  ASSERT_TRUE(result.best);
  const MemberChoice &best = *result.sizes[0].best;
  EXPECT_EQ(best.time, 20); // two, two and one: at most two are lost
  EXPECT_EQ(best.errorAfterFailures, Rational(1) / Rational(12));
  for (const DeviceFailure &failure : deviceFailuresOf(p, best, 1, error))
    EXPECT_EQ(std::accumulate(failure.quorum.counts.begin(), failure.quorum.counts.end(), 0u), 3u);
  p.devices[0].count = 2;
  EXPECT_FALSE(chooseMembers(p, error).best); // three and two
  p.deviceFailures = 0;
  EXPECT_TRUE(chooseMembers(p, error).best);
}

TEST(Members, ProofFindsWhatIsWrong) {
  MemberProblem p = plain();
  auto error = [](const std::vector<unsigned> &counts) -> std::optional<Rational> {
    return Rational(1) / Rational(5 * (counts[0] + counts[1]) - (counts[0] ? 0 : 4));
  };
  MembersResult right = chooseMembers(p, error);
  ASSERT_TRUE(verify(p, right).holds());
  ASSERT_FALSE(verify(p, right).assumedRejections.empty());
  auto broken = [&](auto change) {
    MembersResult wrong = right;
    change(wrong, *wrong.sizes[*wrong.best].best);
    return !verify(p, wrong).holds();
  };
  EXPECT_TRUE(broken([](auto &, auto &best) { --best.time; }));
  EXPECT_TRUE(broken([](auto &, auto &best) { ++best.memory; }));
  EXPECT_TRUE(broken([](auto &, auto &best) { best.joules *= 1.001; }));
  EXPECT_TRUE(broken([](auto &, auto &best) { best.price = 0; }));
  EXPECT_TRUE(broken([](auto &, auto &best) { best.error = Rational(1) / Rational(5); }));
  EXPECT_TRUE(broken([](auto &, auto &best) { best.members.pop_back(); }));
  EXPECT_TRUE(broken([](auto &, auto &best) { best.members[0].first = 2; }));
  EXPECT_TRUE(broken([](auto &, auto &best) { best.members[0].kind = 7; }));
  EXPECT_TRUE(broken([](auto &, auto &best) { best.members[0].device = 1; }));
  EXPECT_TRUE(broken([](auto &, auto &best) { std::swap(best.counts[0], best.counts[1]); }));
  EXPECT_TRUE(broken([](auto &result, auto &) { result.rejected.clear(); }));
  EXPECT_TRUE(broken([](auto &result, auto &) { result.sizes[1].bound = 21; }));
  EXPECT_TRUE(broken([](auto &result, auto &) { result.bound = 21; }));
  EXPECT_TRUE(broken([](auto &result, auto &) { result.best = 2; }));
  ASSERT_TRUE(right.sizes[0].shown() && !right.sizes[0].best); // cheaper, and not good enough
  EXPECT_TRUE(broken([](auto &result, auto &) { result.best = 0; }));
  EXPECT_TRUE(broken([](auto &result, auto &) { result.best.reset(); }));
  EXPECT_TRUE(broken([](auto &result, auto &) { result.sizes.pop_back(); }));
  MembersResult wide = right;
  p.devices[0].memory = 10;
  EXPECT_FALSE(verify(p, wide).holds());
}

TEST(Members, MalformedProblemsAreRefused) {
  EXPECT_EQ(check(plain()), "");
  auto wrong = [](auto change) {
    MemberProblem p = plain();
    change(p);
    return !check(p).empty();
  };
  EXPECT_TRUE(wrong([](auto &p) { p.kinds.clear(); }));
  EXPECT_TRUE(wrong([](auto &p) { p.devices.clear(); }));
  EXPECT_TRUE(wrong([](auto &p) { p.sizes = {}; }));
  EXPECT_TRUE(wrong([](auto &p) { p.sizes = {2}; }));
  EXPECT_TRUE(wrong([](auto &p) { p.sizes = {3, 1}; }));
  EXPECT_TRUE(wrong([](auto &p) { p.sizes = {65}; }));
  EXPECT_TRUE(wrong([](auto &p) { p.devices[0].count = 0; }));
  EXPECT_TRUE(wrong([](auto &p) { p.devices[0].memory = -1; }));
  EXPECT_TRUE(wrong([](auto &p) { p.devices[0].pricePerHour = NAN; }));
  EXPECT_TRUE(wrong([](auto &p) { p.kinds[0].alternatives.clear(); }));
  EXPECT_TRUE(wrong([](auto &p) { p.kinds[0].alternatives[0][0].time = -1; }));
  EXPECT_TRUE(wrong([](auto &p) { p.kinds[0].alternatives[0][0].state = INT64_MAX; }));
  EXPECT_TRUE(wrong([](auto &p) { p.kinds[0].alternatives[0][0].joules = kInfinity; }));
  EXPECT_TRUE(wrong([](auto &p) { p.kinds[0].alternatives[0][0].devices = 3; }));
  EXPECT_TRUE(wrong([](auto &p) { p.kinds[1].name = "slow"; }));
}

TEST(Members, AtTheEndOfTheEffortBoundsHold) {
  MemberProblem p = plain();
  p.devices = {{"d", 3, 0, 0}, {"e", 4, 0, 0}};
  p.kinds.clear();
  MembersRandom random(7);
  for (int k = 0; k < 4; ++k)
    p.kinds.push_back(
        {std::string(1, static_cast<char>('a' + k)), {{{.time = random(1000, 3000)}}, {{.time = random(1000, 3000)}}}});
  p.sizes = {11};
  auto error = [](const std::vector<unsigned> &counts) -> std::optional<Rational> {
    return std::ranges::all_of(counts, [](unsigned c) { return c > 1; }) ? Rational(0) : Rational(1);
  };
  MembersResult exact = chooseMembers(p, error), brief = chooseMembers(p, error, {.effort = 30});
  ASSERT_TRUE(exact.best && brief.best);
  EXPECT_TRUE(exact.sizes[0].proven);
  EXPECT_LE(brief.bound, exact.bound);
  EXPECT_GE(valueOf(brief, p), valueOf(exact, p));
  EXPECT_TRUE(verify(p, exact).holds());
  EXPECT_TRUE(verify(p, brief).holds());
}

TEST(Members, TooManyCases) {
  MemberProblem p = plain();
  p.devices[0].count = 100;
  p.sizes = {63};
  EXPECT_EQ(check(p), ""); // 64 ensembles
  p.deviceFailures = 3;    // 39,711 losses
  EXPECT_EQ(check(p), "");
  p.deviceFailures = 4;
  EXPECT_NE(check(p), "");
  p.deviceFailures = 63; // all of them, one case
  EXPECT_EQ(check(p), "");
  p.deviceFailures = 0;
  for (int k = 0; k < 3; ++k)
    p.kinds.push_back({"more" + std::to_string(k), {{}}});
  EXPECT_NE(check(p), ""); // 766,480
  p.sizes = {9};
  EXPECT_EQ(check(p), ""); // 715
}

} // namespace
