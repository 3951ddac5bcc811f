// One moment of a cluster: which configuration each job runs in, with a proved bound, and the check of the proof.
#include "lib/jobs/solve/AllocationSolver.h"
#include "lib/jobs/verify/AllocationVerifier.h"
#include "test/support/ClusterAllocation.h"
#include <benchmark/benchmark.h>

using namespace accord;
using namespace accord::jobs;

/// Jobs, devices, and whether power and quotas limit them, too.
static AllocationProblem problemOf(const benchmark::State &state) {
  SplitMix random(1);
  return test::clusterProblem(random, state.range(0), state.range(1), state.range(2) != 0);
}

static void BM_Allocate(benchmark::State &state) {
  const AllocationProblem problem = problemOf(state);
  AllocationSolution solution;
  for (auto _ : state)
    benchmark::DoNotOptimize(solution = solveAllocation(problem, {}));
  state.counters["gap_percent"] =
      100 * static_cast<double>(solution.bound - solution.value) / static_cast<double>(solution.value);
}

static void BM_VerifyAllocation(benchmark::State &state) {
  const AllocationProblem problem = problemOf(state);
  const AllocationSolution solution = solveAllocation(problem, {});
  for (auto _ : state)
    if (auto verified = verifyAllocation(problem, solution); !verified)
      state.SkipWithError(verified.error().message.c_str());
}

static void sizes(benchmark::internal::Benchmark *bench) {
  bench->Args({512, 1024, 0})->Args({512, 1024, 1})->Args({2048, 4096, 0})->Unit(benchmark::kMillisecond);
}
BENCHMARK(BM_Allocate)->Apply(sizes);
BENCHMARK(BM_VerifyAllocation)->Apply(sizes);
