// The optimizer of placements on a language model of 96 and 960 equal blocks and 1,024 devices.
#include "lib/placement/solve/PlacementSolver.h"
#include "test/support/PlacementProblems.h"
#include <benchmark/benchmark.h>

using namespace accord;

static void run(benchmark::State &state, const PlacementProblem &problem) {
  PlacementResult result;
  for (auto _ : state)
    benchmark::DoNotOptimize(result = place(problem));
  state.counters["gap_percent"] = 100 * result.gap();
  state.counters["step_s"] = result.value * 1e-12;
}

static void BM_PlaceGpt3(benchmark::State &state) { run(state, test::languageModelPlacement(state.range(0))); }
BENCHMARK(BM_PlaceGpt3)->Arg(96)->Arg(960)->Unit(benchmark::kMillisecond);

static void BM_PlaceGpt3NotInterleaved(benchmark::State &state) {
  PlacementProblem problem = test::languageModelPlacement(state.range(0));
  problem.schedules = {PipelineSchedule::GPipe, PipelineSchedule::OneFOneB};
  run(state, problem);
}
BENCHMARK(BM_PlaceGpt3NotInterleaved)->Arg(96)->Arg(960)->Unit(benchmark::kMillisecond);
