// A search on several processes: the same whatever happens to those that help.
#include "test/lib/exploration/FakeRankLink.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace accord;
using namespace accord::test;
using testing::HasSubstr;

namespace {

void expectSame(const MiningResult &a, const MiningResult &b, const std::string &where) {
  EXPECT_EQ(a.value, b.value) << where;
  EXPECT_EQ(a.best, b.best) << where;
  EXPECT_EQ(a.bound, b.bound) << where;
  EXPECT_EQ(a.evaluations, b.evaluations) << where;
  EXPECT_EQ(a.bounds, b.bounds) << where;
  EXPECT_EQ(a.proof, b.proof) << where;
  EXPECT_EQ(a.isOptimal, b.isOptimal) << where;
}

struct Played {
  std::vector<MiningResult> led;                 ///< by search
  std::vector<std::vector<MiningResult>> served; ///< by rank - 1 and search
  LeaderStatistics statistics;
  std::vector<LeaderStatistics::Rank> left;
};

struct Play {
  std::vector<Fault> faults; ///< of each rank
  std::vector<uint64_t> seeds = {1};
  std::string strategy = "exact";
  unsigned threads = 1;
  int slow = 300, fast = 30; ///< microseconds of an appraisal, of the leader and of others
  std::chrono::milliseconds patience{10'000}, gathering{10'000};
  size_t otherProblem = 0; ///< this rank has one
  uint64_t evaluations = UINT64_MAX;

  Played run() const {
    FakeLink link(faults.size());
    Played played;
    played.served.resize(faults.size());
    std::vector<std::thread> others;
    for (size_t i = 0; i < faults.size(); ++i)
      others.emplace_back([&, i] {
        FakeServerLink mine(link, i + 1, faults[i]);
        ServerExecutor executor(mine, threads, "host", 7);
        for (uint64_t seed : seeds) {
          SlowProblem problem(seed, fast);
          problem.said = otherProblem == i + 1 ? "other" : "";
          MiningOptions options;
          options.executor = &executor;
          played.served[i].push_back(miningStrategy(strategy)(problem, options));
        }
      });
    {
      LeaderOptions leading;
      leading.threads = threads;
      leading.patience = patience;
      leading.gathering = gathering;
      LeaderExecutor executor(link, leading);
      for (uint64_t seed : seeds) {
        SlowProblem problem(seed, slow);
        MiningOptions options;
        options.executor = &executor;
        options.evaluations = evaluations;
        played.led.push_back(miningStrategy(strategy)(problem, options));
      }
      played.left = executor.dismiss();
      played.statistics = executor.statistics();
    }
    for (size_t i = 0; i < faults.size(); ++i)
      link.close(i + 1, false);
    for (std::thread &other : others)
      other.join();
    return played;
  }
  MiningResult alone(uint64_t seed) const {
    SlowProblem problem(seed, 0);
    MiningOptions options;
    options.evaluations = evaluations;
    return miningStrategy(strategy)(problem, options);
  }
  void expectEquivalent(const Played &played, const std::string &where) const {
    for (size_t i = 0; i < seeds.size(); ++i)
      expectSame(alone(seeds[i]), played.led[i], where);
  }
};

uint64_t byOthers(const LeaderStatistics &statistics) {
  uint64_t sum = 0;
  for (size_t i = 1; i < statistics.values.size(); ++i)
    sum += statistics.values[i] + statistics.bounds[i];
  return sum;
}

TEST(Ranks, AnyNumberFindsTheSameAndTellsTheOthers) {
  for (size_t ranks = 0; ranks < 4; ++ranks)
    for (unsigned threads : {1u, 3u}) {
      Play play;
      play.faults.resize(ranks);
      play.seeds = {1, 2, 3, 4};
      play.threads = threads;
      Played played = play.run();
      std::string where = fmt::format("{} others, {} threads", ranks, threads);
      play.expectEquivalent(played, where);
      for (const auto &served : played.served)
        for (size_t i = 0; i < play.seeds.size(); ++i)
          expectSame(played.led[i], served[i], where);
      EXPECT_EQ(byOthers(played.statistics) > 0, ranks > 0) << where;
      EXPECT_TRUE(played.statistics.lost.empty()) << where;
      EXPECT_TRUE(played.left.empty()) << where;
    }
}

TEST(Ranks, EveryStrategyFindsTheSame) {
  for (const std::string &strategy : miningStrategies()) {
    Play play;
    play.faults.resize(2);
    play.strategy = strategy;
    play.seeds = {8};
    play.evaluations = strategy == "bayes" ? 12 : 100;
    play.expectEquivalent(play.run(), strategy);
  }
}

TEST(Ranks, ALostRankLosesNothing) {
  size_t losses = 0;
  for (size_t after : {0, 1, 5, 20})
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      Play play;
      play.faults = {{.lostAfter = after}, {}};
      play.seeds = {seed, seed + 10};
      Played played = play.run();
      play.expectEquivalent(played, fmt::format("after {}, seed {}", after, seed));
      EXPECT_LE(played.statistics.lost.size(), 1u);
      losses += played.statistics.lost.size();
      for (const LeaderStatistics::Rank &lost : played.statistics.lost)
        EXPECT_EQ(lost.host, "host");
      EXPECT_TRUE(played.left.empty());
    }
  EXPECT_GT(losses, 0u); // each alone might be asked for nothing
}

TEST(Ranks, AllOthersLost) {
  Play play;
  play.slow = 1000;
  play.faults = {{.lostAfter = 1}, {.lostAfter = 0}, {.lostAfter = 0}};
  play.seeds = {3, 6};
  Played played = play.run();
  play.expectEquivalent(played, "all lost");
  EXPECT_GT(played.statistics.lost.size(), 0u);
}

TEST(Ranks, ASilentRankIsNotWaitedForForEver) {
  for (size_t after : {0, 3}) {
    Play play;
    play.faults = {{.silentAfter = after}, {}};
    play.seeds = {2, 4};
    play.patience = std::chrono::milliseconds(50);
    play.expectEquivalent(play.run(), fmt::format("silent after {}", after));
  }
}

TEST(Ranks, LateAndDoubleAnswersChangeNothing) {
  for (int delay : {1, 60})
    for (bool twice : {false, true}) {
      Play play;
      play.faults = {{.delay = delay, .twice = twice}, {.twice = twice}};
      play.seeds = {1, 7};
      play.patience = std::chrono::milliseconds(20); // less than the delay
      play.expectEquivalent(play.run(), fmt::format("delay {}, twice {}", delay, twice));
    }
}

/// Worth its one choice. In its second round it lets the answer of the first come, late and wrong.
struct LateProblem : CountingProblem {
  explicit LateProblem(FakeLink &link) : link(link) { all = {numbers("p", {0, 1, 2, 3})}; }
  double boundIn(const DesignBox &) override { return 0; }
  double valueOf(const Design &design) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(20)); // the rank has its part by now
    if (design[0] >= 2 && late.load()) {
      RankMessage wrong{RankMessage::Kind::Answer, 1, chunk.load()};
      wrong.results = {{12345, 12345}};
      link.say(1, encoded(wrong));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return design[0];
  }
  FakeLink &link;
  std::atomic<bool> late = false;
  std::atomic<uint64_t> chunk = 0;
};

TEST(Ranks, AnAnswerOfAnEarlierRoundIsNotOneOfThis) {
  FakeLink link(1);
  LateProblem problem(link);
  std::thread rank([&] {
    link.say(1, encoded({RankMessage::Kind::Hello}));
    while (auto text = link.hear(1)) {
      auto message = decoded(*text);
      if (message->kind == RankMessage::Kind::Begin) {
        message->kind = RankMessage::Kind::Ready; // with the leader's own digest
        link.say(1, encoded(*message));
      } else if (message->kind == RankMessage::Kind::Work && message->number == 1) {
        problem.chunk = message->chunk;
        problem.late = true;
      }
    }
  });
  {
    LeaderOptions leading;
    leading.patience = std::chrono::milliseconds(1);
    LeaderExecutor executor(link, leading);
    MiningOptions options;
    auto strategy = [](MiningProblem &problem, const MiningOptions &options) {
      for (uint32_t first : {0u, 2u}) {
        auto found =
            options.executor->results(problem, {EvaluationTask::Query::Evaluate}, {{{first}, {}}, {{first + 1}, {}}});
        EXPECT_EQ(found[0].value, first);
        EXPECT_EQ(found[1].value, first + 1);
      }
      return MiningResult();
    };
    executor.search(strategy, problem, options);
  }
  EXPECT_TRUE(problem.late); // it was asked
  link.close(1, false);
  rank.join();
}

TEST(Ranks, WhatIsNoAnswerIsNotBelieved) {
  for (const Fault &fault : {Fault{.garbageAt = 1}, Fault{.shortAt = 1}}) {
    size_t losses = 0;
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      Play play;
      play.faults = {fault, {}};
      play.seeds = {seed, seed + 5};
      Played played = play.run();
      play.expectEquivalent(played, fmt::format("garbage, seed {}", seed));
      losses += played.statistics.lost.size();
    }
    EXPECT_GT(losses, 0u);
  }
}

TEST(Ranks, AnotherProblemEndsTheSearchBeforeItBegins) {
  Play play;
  play.faults.resize(2);
  play.otherProblem = 2;
  Played played = play.run();
  EXPECT_TRUE(played.led[0].refused);
  EXPECT_FALSE(played.led[0].best);
  EXPECT_THAT(played.led[0].error, HasSubstr("rank 2 on host has a different mining problem"));
  EXPECT_TRUE(played.served[0][0].refused);
}

TEST(Ranks, ARankWithoutAProblemSaysWhy) {
  FakeLink link(1);
  std::thread other([&] {
    FakeServerLink mine(link, 1, {});
    ServerExecutor(mine, 1, "host", 7).fail("no such file");
  });
  SlowProblem problem(1, 0);
  {
    LeaderExecutor executor(link, {});
    MiningOptions options;
    options.executor = &executor;
    MiningResult result = miningStrategy("exact")(problem, options);
    EXPECT_TRUE(result.refused);
    EXPECT_THAT(result.error, HasSubstr("no such file"));
  }
  link.close(1, false);
  other.join();
}

TEST(Ranks, ARankThatNeverComesIsNotWaitedForForEver) {
  FakeLink link(1);
  LeaderOptions leading;
  leading.gathering = std::chrono::milliseconds(30);
  LeaderExecutor executor(link, leading);
  SlowProblem problem(1, 0), again(1, 0);
  MiningOptions options;
  options.executor = &executor;
  expectSame(mineExactly(again), miningStrategy("exact")(problem, options), "absent");
}

TEST(Ranks, WithoutItsLeaderARankEnds) {
  FakeLink link(1);
  link.close(1, false);
  FakeServerLink mine(link, 1, {});
  ServerExecutor executor(mine, 1, "host", 7);
  SlowProblem problem(1, 0);
  MiningOptions options;
  options.executor = &executor;
  EXPECT_TRUE(miningStrategy("exact")(problem, options).refused);
}

} // namespace
