// Windows narrowed by probing keep every schedule: against all starts of small problems.
#include "lib/scheduling/solve/Propagator.h"
#include "test/support/SchedulingBruteForce.h"
#include <gtest/gtest.h>
#include <random>

using namespace accord;

namespace {

struct Small {
  SchedulingProblem problem;
  explicit Small(unsigned seed) {
    std::mt19937 random(seed);
    problem.addResource("a", 4), problem.addResource("b", 3);
    for (SchedulingProblem::Id t = 0; t < 5; ++t) {
      problem.addTask(std::to_string(t), 1 + random() % 3,
                      {{0, 1 + static_cast<int64_t>(random() % 3)}, {1, 1 + static_cast<int64_t>(random() % 2)}});
      if (t > 0 && random() % 2)
        problem.addPrecedence(static_cast<SchedulingProblem::Id>(random() % t), t);
    }
  }

  /// First and last start of each task among all schedules of at most `horizon`; empty: none.
  std::vector<std::pair<int64_t, int64_t>> windows(int64_t horizon) const {
    std::vector<std::pair<int64_t, int64_t>> out;
    SchedulingSolution s{std::vector<int64_t>(5, 0), std::vector<SchedulingProblem::Id>(5, 0), 0};
    for (bool more = true; more;) {
      s.makespan = 0;
      for (size_t t = 0; t < 5; ++t)
        s.makespan = std::max(s.makespan, s.start[t] + problem.tasks[t].modes[0].duration);
      if (s.makespan <= horizon && accord::testing::occupancyAllows(problem, s)) {
        if (out.empty())
          for (int64_t start : s.start)
            out.push_back({start, start});
        for (size_t t = 0; t < 5; ++t)
          out[t] = {std::min(out[t].first, s.start[t]), std::max(out[t].second, s.start[t])};
      }
      size_t digit = 0;
      while (digit < 5 && ++s.start[digit] >= horizon)
        s.start[digit++] = 0;
      more = digit < 5;
    }
    return out;
  }
};

} // namespace

TEST(WindowProbe, KeepsEverySchedule) {
  int64_t narrower = 0, compared = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    Small small(seed);
    solve::Instance in(small.problem);
    for (int64_t horizon = in.path(); horizon <= std::min<int64_t>(in.path() + 3, 9); ++horizon) {
      auto truth = small.windows(horizon);
      solve::Propagator windows(in, horizon);
      if (!windows.run()) {
        EXPECT_TRUE(truth.empty()) << seed << " at " << horizon;
        continue;
      }
      auto earliest = windows.earliest, latest = windows.latest;
      EXPECT_LE(windows.probe(500), 500u + 50u);
      for (size_t t = 0; t < truth.size(); ++t) {
        EXPECT_LE(windows.earliest[t], truth[t].first) << seed << " at " << horizon;
        EXPECT_GE(windows.latest[t], truth[t].second) << seed << " at " << horizon;
        narrower += windows.earliest[t] - earliest[t] + latest[t] - windows.latest[t];
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 100);
  EXPECT_GT(narrower, 0);
}
