// The list scheduler and its bounds on layered random problems of growing size.
#include "lib/solve/Solve.h"
#include "test/fuzz/Random.h"
#include <benchmark/benchmark.h>

using namespace accord;

static SchedulingProblem layered(int64_t tasks) {
  fuzz::Random random(7);
  SchedulingProblem problem;
  for (const char *core : {"core a", "core b", "core c", "core d"})
    problem.addResource(core, 1);
  uint32_t bandwidth = problem.addResource("memory", 1000000);
  for (int64_t i = 0; i < tasks; ++i) {
    auto core = static_cast<uint32_t>(random.below(4));
    problem.addTask("", 1000 + static_cast<int64_t>(random.below(9000)),
                    {{core, 1}, {bandwidth, static_cast<int64_t>(random.below(400000))}});
    for (int edge = 0; edge < 2 && i > 0; ++edge) // to one of the 64 tasks before
      problem.addPrecedence(
          static_cast<uint32_t>(i - 1 -
                                static_cast<int64_t>(random.below(std::min<size_t>(64, i)))),
          static_cast<uint32_t>(i));
  }
  return problem;
}

static void BM_ScheduleLayered(benchmark::State &state) {
  SchedulingProblem problem = layered(state.range(0));
  SchedulingResult result;
  for (auto _ : state)
    benchmark::DoNotOptimize(result = schedule(problem));
  state.counters["gap_percent"] = 100 * result.gap();
  state.SetComplexityN(state.range(0));
}
BENCHMARK(BM_ScheduleLayered)
    ->RangeMultiplier(4)
    ->Range(64, 16384)
    ->Unit(benchmark::kMillisecond)
    ->Complexity();
