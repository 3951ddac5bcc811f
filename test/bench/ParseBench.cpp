// Text to tree: the catalogue's largest files, and a generated one of many machines.
#include "lib/language/syntax/Parser.h"
#include <benchmark/benchmark.h>
#include <fmt/format.h>

using namespace accord;

static std::string machines(int64_t count) {
  std::string text;
  for (int64_t i = 0; i < count; ++i)
    text += fmt::format("accelerator chip_{} {{\n  clock = {} MHz\n  memory hbm : dram {{ capacity "
                        "= {} GiB, bandwidth = 900 GB/s }}\n"
                        "  core mxu[2] : tensor {{ array = 128 x 128, reads = hbm }}\n}}\n",
                        i, 900 + i % 700, 16 + i % 64);
  return text;
}

static void BM_ParseMachines(benchmark::State &state) {
  std::string text = machines(state.range(0));
  for (auto _ : state) {
    SourceManager sources;
    Diagnostics diags(sources);
    auto file = parse(diags, sources.add("generated.accel", text));
    if (diags.hasErrors())
      return state.SkipWithError("the generated file has errors");
    benchmark::DoNotOptimize(file);
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
}
BENCHMARK(BM_ParseMachines)->Arg(200)->Arg(2000)->Arg(20000)->Unit(benchmark::kMillisecond);
