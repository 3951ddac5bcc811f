// How fast instructions are timed: visits a second without recurrences, plain and with what they wait for, and how long
// a loop of 10^12 iterations takes.
#include "lib/microarchitecture/solve/InstructionEngine.h"
#include "lib/microarchitecture/solve/TimeProgram.h"
#include <benchmark/benchmark.h>

namespace {
using namespace accord::microarchitecture;

CycleExpression cycles(int64_t count) {
  CycleExpression made;
  made.terms = {{CycleExpression::Kind::Constant, count}};
  return made;
}

/// Two instructions a cycle through decode into a load unit behind a cache and two multipliers.
Microarchitecture core() {
  Microarchitecture made;
  made.name = "core", made.window = 16;
  made.fetch = {"fetch", 2, 8, 1, 0, {}};
  made.opcodes.push_back({"load", 0, 1, 0, 1, 0, false, {}});
  made.opcodes.push_back({"mac", 3, 1, 0, 0, 0, false, {}});
  Stage decode, execute;
  decode.name = "decode", decode.capacity = decode.width = 2, decode.latency = cycles(1), decode.to = {1};
  execute.name = "execute", execute.capacity = execute.width = 2, execute.latency = cycles(1), execute.units = {0, 1};
  made.stages = {decode, execute};
  made.registers.push_back({"r", 16, 32, 4, 2, false, {}});
  Unit memory, multiply;
  memory.name = "memory", memory.entries = 4, memory.operations = {{0, cycles(1), cycles(1), {}}};
  memory.writes = {0}, memory.loadsFrom = {1};
  multiply.name = "multiply", multiply.count = 2, multiply.entries = 4;
  multiply.operations = {{1, cycles(4), cycles(1), {}}}, multiply.reads = multiply.writes = {0};
  made.units = {memory, multiply};
  Storage dram, cache;
  dram.name = "dram", dram.end = int64_t(1) << 60, dram.portBytes = 16, dram.requests = 8, dram.readLatency = 40;
  cache.name = "cache", cache.portBytes = 8, cache.requests = 4, cache.readLatency = 2;
  cache.cache = Storage::Cache{};
  cache.cache->sets = 64, cache.cache->ways = 4, cache.cache->behind = 0;
  made.storages = {dram, cache};
  return made;
}

/// Two loads and two multiplications an iteration; with cached data where it does not move.
InstructionProgram products(int64_t count, int64_t stride) {
  InstructionProgram made;
  made.name = "products";
  made.loops.push_back({"i", count, {}, {}});
  made.body.push_back({kNone, 0});
  auto add = [&](Instruction one) {
    made.loops[0].body.push_back({Index(made.instructions.size()), kNone});
    made.instructions.push_back(std::move(one));
  };
  for (Index i = 0; i < 2; ++i)
    add({0, {}, {{0, i}}, {{1, {(int64_t(i) + 1) << 50, {stride}}, 8}}, {}, {}});
  for (Index i = 0; i < 2; ++i)
    add({1, {{0, i}, {0, 4}, {0, Index(8 + i)}}, {{0, Index(8 + i)}}, {}, {}, {}});
  return made;
}

void evaluate(benchmark::State &state, bool waits) {
  const Microarchitecture machine = core();
  const InstructionProgram program = products(250'000, state.range(0));
  TimingLimits limits;
  limits.recurrences = false, limits.waits = waits;
  int64_t visits = 0;
  for (auto _ : state)
    if (auto timing = timeProgram(machine, program, limits))
      visits += timing->evaluated;
  state.counters["visits"] = benchmark::Counter(double(visits), benchmark::Counter::kIsRate);
}

void BM_InstructionVisits(benchmark::State &state) { evaluate(state, false); }
void BM_InstructionVisitsWatched(benchmark::State &state) { evaluate(state, true); }
BENCHMARK(BM_InstructionVisits)->Arg(0)->Arg(8)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_InstructionVisitsWatched)->Arg(0)->Arg(8)->Unit(benchmark::kMillisecond);

void BM_InstructionTrillion(benchmark::State &state) {
  const Microarchitecture machine = core();
  const InstructionProgram program = products(1'000'000'000'000, 0);
  for (auto _ : state)
    benchmark::DoNotOptimize(timeProgram(machine, program));
}
BENCHMARK(BM_InstructionTrillion)->Unit(benchmark::kMillisecond);

} // namespace
