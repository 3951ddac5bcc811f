// The list scheduler and its bounds on layered random problems of growing size.
#include "lib/scheduling/solve/Solve.h"
#include "test/support/Random.h"
#include "test/support/SchedulingTransformer.h"
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
      problem.addPrecedence(static_cast<uint32_t>(i - 1 - static_cast<int64_t>(random.below(std::min<size_t>(64, i)))),
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
BENCHMARK(BM_ScheduleLayered)->RangeMultiplier(4)->Range(64, 16384)->Unit(benchmark::kMillisecond)->Complexity();

/// Training graphs of about 42 operations a layer on tensor and vector cores, at the effort of
/// plans; the last argument: one core or all of a kind, as the scheduler decides.
static void BM_ScheduleTransformer(benchmark::State &state) {
  SchedulingProblem problem =
      testing::transformer(static_cast<unsigned>(state.range(0)), state.range(1), state.range(2), state.range(3));
  SolveOptions options;
  options.effort = 5;
  SchedulingResult result;
  for (auto _ : state)
    benchmark::DoNotOptimize(result = schedule(problem, options));
  state.counters["operations"] = static_cast<double>(problem.tasks.size());
  state.counters["gap_percent"] = 100 * result.gap();
}
BENCHMARK(BM_ScheduleTransformer)
    ->ArgsProduct({{5, 25, 122, 2400}, {2}, {1, 2}, {0}})
    ->Args({122, 4, 4, 0})
    ->Args({1, 8, 2, 1})
    ->Args({1, 16, 16, 1})
    ->Unit(benchmark::kMillisecond);
