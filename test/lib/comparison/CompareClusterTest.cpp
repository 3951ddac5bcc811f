// Ranks of a cluster beside their plan: purposes, alignment, and the laws of every comparison on random steps.
#include "lib/comparison/solve/CompareCluster.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

namespace accord::comparison {
namespace {

using Kind = CommunicationKind;

/// Two stages of two replicas of two devices: ranks 0 to 3 and 4 to 7.
PlannedCluster clusterPlan() {
  PlannedCluster plan;
  plan.job = "job", plan.seconds = 1e-3;
  plan.stages = plan.replicas = plan.tensor = 2;
  for (int64_t rank = 0; rank < 8; ++rank) {
    PlannedRank &one = plan.ranks.emplace_back();
    one.rank = rank, one.stage = rank / 4, one.replica = rank / 2 % 2, one.tensor = rank % 2;
    one.shares[0] = 1e-3;
    const int64_t peer = (rank + 4) % 8, first = rank / 4 * 4;
    one.exchanges.push_back({Purpose::Tensor, {rank / 2 * 2, rank / 2 * 2 + 1}, {{Kind::AllReduce, 0}}});
    one.exchanges.push_back(
        {Purpose::Stages, {std::min(rank, peer), std::max(rank, peer)}, {{Kind::Message, 800}}, 8e-6, 8e-6});
    one.exchanges.push_back(
        {Purpose::Replicas, {first + rank % 2, first + rank % 2 + 2}, {{Kind::AllReduce, 1000}}, 1e-5, 1e-5});
  }
  return plan;
}

MeasuredRank measuredRank(int64_t rank) {
  MeasuredRank made;
  made.rank = rank, made.step.seconds = 1e-3, made.step.source = "rank" + std::to_string(rank);
  return made;
}
MeasuredCollective &collective(MeasuredRank &rank, Kind kind, std::vector<int64_t> ranks, double start, double seconds,
                               int64_t bytes = 100) {
  MeasuredCollective &one = rank.step.collectives.emplace_back();
  one.kind = kind, one.ranks = std::move(ranks), one.groupSize = static_cast<int64_t>(one.ranks.size());
  one.bytes = bytes, one.start = start, one.seconds = seconds;
  one.alone = {{start, start + seconds}};
  one.kernel = "nccl", one.part = Part::Backward;
  return one;
}
double shareOf(const RankComparison &rank, StepShare share) { return rank.shares[static_cast<unsigned>(share)]; }

TEST(ExchangeMatcher, FindsPurposesByRanks) {
  const PlannedCluster plan = clusterPlan();
  std::vector<MeasuredRank> ranks{measuredRank(0)};
  collective(ranks[0], Kind::AllReduce, {0, 1}, 0, 1e-5);
  collective(ranks[0], Kind::AllReduce, {0, 2}, 1e-5, 1e-5);
  collective(ranks[0], Kind::AllReduce, {0, 1, 2, 3, 4, 5, 6, 7}, 2e-5, 1e-5);
  collective(ranks[0], Kind::AllToAll, {0, 1}, 3e-5, 1e-5);
  const ExchangeMatcher matcher(plan, ranks);
  const auto &found = matcher.collectives()[0];
  EXPECT_EQ(found[0].purpose, Purpose::Tensor);
  EXPECT_EQ(found[1].purpose, Purpose::Replicas);
  EXPECT_EQ(found[2].purpose, Purpose::Unplanned);
  EXPECT_EQ(found[3].purpose, Purpose::Unplanned); // the plan has no such kind there
}

TEST(ExchangeMatcher, FindsPurposesByBytesWhereGroupsHaveOneSize) {
  const PlannedCluster plan = clusterPlan();
  std::vector<MeasuredRank> ranks{measuredRank(0)};
  for (auto [name, bytes] : {std::pair("a", 70), {"b", 500}, {"a", 60}, {"b", 500}}) {
    MeasuredCollective &one = collective(ranks[0], Kind::AllReduce, {}, 1e-5 * bytes, 1e-6, bytes);
    one.groupSize = 2, one.group = name;
  }
  const ExchangeMatcher matcher(plan, ranks);
  const auto &found = matcher.collectives()[0];
  for (size_t i : {0, 2})
    EXPECT_EQ(found[i].purpose, Purpose::Tensor);
  for (size_t i : {1, 3})
    EXPECT_EQ(found[i].purpose, Purpose::Replicas); // 1000 bytes together, as planned
  EXPECT_EQ(found[1].ranks, (std::vector<int64_t>{0, 2}));
}

TEST(ExchangeMatcher, TellsWaitingFromTransfer) {
  const PlannedCluster plan = clusterPlan();
  std::vector<MeasuredRank> ranks{measuredRank(0), measuredRank(1)};
  // Clocks that differ by an hour: 1 comes 3 us late, then 0 comes 5 us late.
  collective(ranks[0], Kind::AllReduce, {0, 1}, 1e-5, 13e-6),
      collective(ranks[0], Kind::AllReduce, {0, 1}, 5e-5, 10e-6);
  collective(ranks[1], Kind::AllReduce, {0, 1}, 3600, 10e-6),
      collective(ranks[1], Kind::AllReduce, {0, 1}, 3601, 15e-6);
  const ExchangeMatcher matcher(plan, ranks);
  EXPECT_NEAR(matcher.collectives()[0][0].waiting, 3e-6, 1e-12);
  EXPECT_NEAR(matcher.collectives()[1][0].waiting, 0, 1e-12);
  EXPECT_NEAR(matcher.collectives()[1][1].waiting, 5e-6, 1e-12);
  EXPECT_EQ(matcher.collectives()[0][0].last, 1);
  EXPECT_EQ(matcher.collectives()[0][1].last, 0);
  const ClusterComparison both = compareCluster(plan, ranks);
  EXPECT_NEAR(both.ranks[1].waitedFor, 3e-6, 1e-9);
  EXPECT_NEAR(both.ranks[0].waitedFor, 5e-6, 1e-9);
}

TEST(ExchangeMatcher, StopsAligningWhereSequencesDiffer) {
  const PlannedCluster plan = clusterPlan();
  std::vector<MeasuredRank> ranks{measuredRank(0), measuredRank(1)};
  for (int64_t bytes : {100, 200, 300})
    collective(ranks[0], Kind::AllReduce, {0, 1}, 1e-5, 2e-6, bytes);
  for (int64_t bytes : {100, 300})
    collective(ranks[1], Kind::AllReduce, {0, 1}, 1e-5, 1e-6, bytes);
  const ExchangeMatcher matcher(plan, ranks);
  EXPECT_TRUE(matcher.collectives()[0][0].isAligned);
  EXPECT_FALSE(matcher.collectives()[0][1].isAligned);
  EXPECT_FALSE(matcher.collectives()[1][1].isAligned);
  ASSERT_EQ(matcher.notes.size(), 2u); // another number, and the second differs
  EXPECT_NE(matcher.notes[0].find("from 2 to 3 collectives"), std::string::npos);
  EXPECT_NE(matcher.notes[1].find("number 2 of the collectives among ranks 0, 1"), std::string::npos);
}

TEST(ExchangeMatcher, FindsTheEndsOfMessages) {
  const PlannedCluster plan = clusterPlan();
  std::vector<MeasuredRank> ranks{measuredRank(1), measuredRank(5)};
  MeasuredCollective &sent = collective(ranks[0], Kind::Message, {}, 0, 9e-6, 200);
  sent.call = "send";
  MeasuredCollective &received = collective(ranks[1], Kind::Message, {}, 0, 4e-6, 200);
  received.call = "recv";
  MeasuredCollective &toNobody = collective(ranks[1], Kind::Message, {}, 1e-5, 4e-6, 200);
  toNobody.call = "send", toNobody.to = 3;
  const ExchangeMatcher matcher(plan, ranks);
  EXPECT_EQ(matcher.collectives()[0][0].ranks, (std::vector<int64_t>{1, 5}));
  EXPECT_EQ(matcher.collectives()[1][0].ranks, (std::vector<int64_t>{1, 5}));
  EXPECT_NEAR(matcher.collectives()[0][0].waiting, 5e-6, 1e-12);
  EXPECT_EQ(matcher.collectives()[1][1].purpose, Purpose::Unplanned);
  EXPECT_EQ(compareCluster(plan, ranks).ranks[1].waitedFor, 0); // a bubble is no straggler
}

TEST(ExchangeMatcher, TakesThePlannedTransferWhereTheOtherEndIsNotGiven) {
  const PlannedCluster plan = clusterPlan();
  std::vector<MeasuredRank> ranks{measuredRank(1)};
  collective(ranks[0], Kind::Message, {}, 0, 9e-6, 200).call = "recv"; // 8 us for 800 bytes
  const ExchangeMatcher matcher(plan, ranks);
  EXPECT_NEAR(matcher.collectives()[0][0].waiting, 7e-6, 1e-12);
  EXPECT_FALSE(matcher.collectives()[0][0].isAligned);
}

TEST(CompareCluster, GivesOverlapToWhatThePassesWaitFor) {
  std::vector<MeasuredRank> ranks{measuredRank(0)};
  collective(ranks[0], Kind::AllReduce, {0, 2}, 10e-6, 30e-6); // gradients, behind which one of a layer comes
  collective(ranks[0], Kind::AllReduce, {0, 1}, 20e-6, 10e-6);
  const ClusterComparison both = compareCluster(clusterPlan(), ranks);
  EXPECT_NEAR(shareOf(both.ranks[0], StepShare::Replicas), 20e-6, 1e-12);
  EXPECT_NEAR(shareOf(both.ranks[0], StepShare::Backward), 10e-6, 1e-12);
  EXPECT_NEAR(both.ranks[0].layerExchanges, 10e-6, 1e-12);
  EXPECT_NEAR(both.ranks[0].computation(), 0, 1e-12);
}

TEST(CompareCluster, NamesWhatIsNotExplained) {
  std::vector<MeasuredRank> ranks{measuredRank(0)};
  MeasuredOperation &known = ranks[0].step.operations.emplace_back();
  known.name = "aten::mm", known.work.workClass = WorkClass::Product, known.exposed = 6e-4;
  MeasuredOperation &other = ranks[0].step.operations.emplace_back();
  other.name = "mystery", other.exposed = 4e-4;
  const ClusterComparison both = compareCluster(clusterPlan(), ranks);
  EXPECT_NEAR(explainedShare(both), 0.6, 1e-9);
  EXPECT_NEAR(shareOf(both.ranks[0], StepShare::Unexplained), 4e-4, 1e-12);
}

/// Random collectives and computation of random ranks, in whole microseconds: each microsecond is in one share, what
/// nothing runs in is in none, and waiting is at most what is exposed.
TEST(CompareCluster, CountsEveryMicrosecondOnce) {
  std::mt19937 random(5);
  auto draw = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  const std::vector<std::vector<int64_t>> groups{{0, 1}, {0, 2}, {0, 4}, {0, 1, 2, 3, 4, 5, 6, 7}};
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    std::vector<MeasuredRank> ranks;
    std::vector<double> anywhere;
    for (int64_t number : {0, 1, 2, 4}) {
      if (number > 0 && draw(0, 1))
        continue;
      MeasuredRank &rank = ranks.emplace_back(measuredRank(number));
      std::vector<bool> collectives(700), computes(700);
      for (int cell = 0; cell < 700; ++cell)
        computes[cell] = draw(0, 9) == 0 ? !computes[std::max(0, cell - 1)] : computes[std::max(0, cell - 1)];
      for (int i = 0, count = draw(0, 12), at = 0; i < count; ++i) {
        at += draw(0, 20);
        const int length = draw(0, 40);
        MeasuredCollective &one = collective(rank, static_cast<Kind>(draw(0, 7)), groups[draw(0, 3)], at * 1e-6,
                                             length * 1e-6, draw(1, 2) * 100);
        one.call = draw(0, 1) ? "send" : "recv";
        one.part = static_cast<Part>(draw(0, 5));
        std::vector<Interval> cells;
        for (int cell = at; cell < at + length; ++cell)
          if (!computes[cell])
            cells.emplace_back(cell * 1e-6, (cell + 1) * 1e-6), collectives[cell] = true;
        one.alone = Intervals(cells).list();
      }
      anywhere.push_back(1e-6 * static_cast<double>(std::count(collectives.begin(), collectives.end(), true)));
    }
    const ClusterComparison both = compareCluster(clusterPlan(), ranks);
    ASSERT_EQ(both.ranks.size(), anywhere.size());
    for (size_t r = 0; r < both.ranks.size(); ++r) {
      double sum = 0, exposed = 0;
      for (double share : both.ranks[r].shares)
        sum += share;
      EXPECT_NEAR(sum, anywhere[r], 1e-12);
      for (const ExchangeRow &row : both.ranks[r].exchanges) {
        EXPECT_LE(row.exposedWaiting, row.exposed + 1e-12);
        EXPECT_LE(row.waiting, row.seconds + 1e-12);
        EXPECT_LE(row.exposed, row.seconds + 1e-12);
        exposed += row.exposed;
      }
      EXPECT_NEAR(exposed, sum, 1e-12);
    }
  }
}

} // namespace
} // namespace accord::comparison
