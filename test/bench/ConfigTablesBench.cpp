// Tables of configurations: 20 models of the catalogue on 4 device types, on 1 to 64 devices each, in two threads.
#include "lib/driver/jobs/TrainingPlans.h"
#include "lib/support/ThreadPool.h"
#include "test/support/SourcePath.h"
#include <atomic>
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <iterator>

using namespace accord;

namespace {

struct CatalogueModel {
  const char *file, *name, *batch;
};
constexpr CatalogueModel kModels[] = {{"inception", "inception_v3", "256"},
                                      {"resnet", "resnet101", "256"},
                                      {"resnet", "resnet50", "256"},
                                      {"llama2", "llama2_70b", "64"},
                                      {"mixtral", "mixtral_8x7b", "64"},
                                      {"vgg", "vgg16", "256"},
                                      {"dlrm", "dlrm", "2048"},
                                      {"t5", "t5_large", "64"},
                                      {"megatron", "megatron_7_5b", "64"},
                                      {"llama2", "llama2", "64"},
                                      {"llama3", "llama3_8b", "64"},
                                      {"bert", "bert_large", "256"},
                                      {"bert_base", "bert_base", "256"},
                                      {"vit", "vit_l_16", "256"},
                                      {"vit", "vit_b_16", "256"},
                                      {"opt", "opt_1_3b", "64"},
                                      {"gpt2", "gpt2_xl", "64"},
                                      {"gpt2", "gpt2_large", "64"},
                                      {"gpt2", "gpt2_medium", "64"},
                                      {"gpt2", "gpt2_small", "64"}};
constexpr const char *kPools[] = {"dgx_superpod_a100", "dgx_superpod_h100", "dgx_superpod_a100_40g",
                                  "dgx1_cluster_v100"};

/// How many plans fit.
int64_t table(const CatalogueModel &model) {
  Options options;
  options.file = accord::sourcePath(fmt::format("lib/catalog/{}.dnn", model.file));
  options.elaborate.train = model.name;
  options.elaborate.batch = model.batch;
  TrainingPlans plans(options);
  int64_t fitting = 0;
  if (!plans.prepare())
    return 0;
  for (const char *cluster : kPools) {
    DevicePool pool;
    pool.cluster = cluster;
    if (auto rows = plans.on(pool, {1, 2, 4, 8, 16, 32, 64}))
      for (const DeviceCountPlan &row : *rows)
        fitting += row.fits;
  }
  return fitting;
}

} // namespace

static void BM_ConfigTable(benchmark::State &state) {
  const CatalogueModel &model = kModels[state.range(0)];
  int64_t fitting = 0;
  for (auto _ : state)
    fitting = table(model);
  state.SetLabel(model.name);
  state.counters["plans"] = static_cast<double>(fitting);
}
BENCHMARK(BM_ConfigTable)->DenseRange(0, std::size(kModels) - 1)->Iterations(1)->Unit(benchmark::kMillisecond);

static void BM_ConfigTables(benchmark::State &state) {
  std::atomic<int64_t> fitting{0};
  for (auto _ : state) {
    ThreadPool threads(2);
    fitting = 0;
    threads.each(std::size(kModels), [&](size_t model) { fitting += table(kModels[model]); });
  }
  state.counters["plans"] = static_cast<double>(fitting);
}
BENCHMARK(BM_ConfigTables)->Iterations(1)->Unit(benchmark::kMillisecond)->UseRealTime()->MeasureProcessCPUTime();
