// Orders of pipelines: all tasks once, no stage waits for ever, and as many micro-batches in flight
// as published.
#include "lib/planning/analysis/PipelineOrder.h"
#include <gtest/gtest.h>
#include <set>

using namespace accord;

namespace {

std::vector<Pipeline> pipelines() {
  std::vector<Pipeline> all;
  for (int64_t p : {1, 2, 3, 4, 8})
    for (int64_t m : {1, 2, 3, 8, 24}) {
      all.push_back({PipelineKind::GPipe, p, m, 1});
      all.push_back({PipelineKind::OneFOneB, p, m, 1});
      for (int64_t v : {2, 3})
        if (m % p == 0)
          all.push_back({PipelineKind::Interleaved, p, m, v});
    }
  return all;
}

} // namespace

TEST(PipelineOrder, EveryTaskOnceForwardFirst) {
  for (const Pipeline &one : pipelines())
    for (int64_t stage = 0; stage < one.stages; ++stage) {
      std::set<std::pair<int64_t, int64_t>> forward, backward;
      for (const PipelineTask &t : stageOrder(one, stage)) {
        if (t.backward)
          EXPECT_TRUE(forward.count({t.microbatch, t.virtualStage}));
        EXPECT_TRUE((t.backward ? backward : forward).insert({t.microbatch, t.virtualStage}).second);
      }
      EXPECT_EQ(forward.size(), static_cast<size_t>(one.microbatches * one.virtualStages));
      EXPECT_EQ(backward.size(), forward.size());
    }
}

// Every stage does its next task as soon as its input is there: all of them must finish.
TEST(PipelineOrder, NoStageWaitsForEver) {
  for (const Pipeline &one : pipelines()) {
    std::vector<std::vector<PipelineTask>> orders;
    for (int64_t stage = 0; stage < one.stages; ++stage)
      orders.push_back(stageOrder(one, stage));
    std::vector<size_t> next(orders.size());
    std::set<std::tuple<bool, int64_t, int64_t>> done; // backward, micro-batch, place in the model
    int64_t last = one.stages * one.virtualStages - 1;
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t s = 0; s < orders.size(); ++s)
        while (next[s] < orders[s].size()) {
          const PipelineTask &t = orders[s][next[s]];
          int64_t place = t.virtualStage * one.stages + static_cast<int64_t>(s);
          bool ready = t.backward ? (place == last ? done.count({false, t.microbatch, place})
                                                   : done.count({true, t.microbatch, place + 1}))
                                  : place == 0 || done.count({false, t.microbatch, place - 1});
          if (!ready)
            break;
          done.insert({t.backward, t.microbatch, place});
          ++next[s];
          moved = true;
        }
    }
    for (size_t s = 0; s < orders.size(); ++s)
      EXPECT_EQ(next[s], orders[s].size())
          << "kind " << int(one.kind) << ", " << one.stages << " stages, " << one.microbatches << " micro-batches, "
          << one.virtualStages << " chunks: stage " << s << " hangs";
  }
}

// GPipe holds all micro-batches; 1F1B at most as many as stages are left; interleaved p v + p - 1
// chunks on the first stage, that is 1 + (p-1)/(p v) times the model's layers / p (Korthikanti et
// al., 2022, section 4.2.3).
TEST(PipelineOrder, InFlightAsPublished) {
  EXPECT_EQ(maxInFlight({PipelineKind::GPipe, 4, 24, 1}, 0), 24);
  for (int64_t stage = 0; stage < 4; ++stage)
    EXPECT_EQ(maxInFlight({PipelineKind::OneFOneB, 4, 24, 1}, stage), 4 - stage);
  EXPECT_EQ(maxInFlight({PipelineKind::OneFOneB, 8, 3, 1}, 0), 3);
  EXPECT_EQ(maxInFlight({PipelineKind::Interleaved, 8, 64, 3}, 0), 8 * 3 + 8 - 1);
  EXPECT_EQ(maxInFlight({PipelineKind::Interleaved, 35, 280, 3}, 0), 35 * 3 + 35 - 1);
}
