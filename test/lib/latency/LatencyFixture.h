// The latency model of the made-up GPT of EmitFixture.h, and random configurations of a model.
#pragma once
#include "lib/latency/build/LatencyModelFit.h"
#include "test/support/EmitFixture.h"
#include <cmath>
#include <random>

namespace accord::test {

inline Result<LatencyModel> gptLatencyModel() {
  static const std::vector<std::pair<int64_t, int64_t>> points = [] {
    std::vector<std::pair<int64_t, int64_t>> grid;
    for (int64_t B : {1, 2, 4})
      for (int64_t S : {128, 256, 512, 1024})
        grid.push_back({B, S});
    return grid;
  }();
  std::vector<Costed> costed;
  std::vector<LatencySample> samples;
  for (auto [B, S] : points)
    costed.push_back(gptCosts({B, S}));
  for (size_t i = 0; i < points.size(); ++i)
    samples.push_back({points[i].first, points[i].second, &costed[i].graph, &costed[i].costs});
  LatencyFitOptions options;
  options.sequence = 1024, options.minSequence = 1, options.maxSequence = 8192;
  options.memoryOf = memoryOf;
  return fitLatencyModel(gptPlan(), samples, options);
}

/// Values of every argument; about one configuration in eight is outside of the domain.
inline std::vector<double> randomArguments(const LatencyModel &model, std::mt19937_64 &random) {
  std::vector<double> values = model.initial();
  auto uniform = [&] { return std::uniform_real_distribution<double>(0, 1)(random); };
  for (size_t i = 0; i < values.size(); ++i) {
    const LatencyArgument &a = model.arguments()[i];
    double size = std::exp(std::log(std::max(a.min, 1e-9)) + uniform() * std::log(a.max / std::max(a.min, 1e-9)));
    if (!a.allowed.empty())
      values[i] = double(a.allowed[random() % a.allowed.size()]);
    else if (a.integer)
      values[i] = std::round(size / double(a.multiple)) * double(a.multiple);
    else
      values[i] = a.initial * std::exp(4 * uniform() - 2);
    if (uniform() < 0.02)
      values[i] = std::array{0.0, -1.0, a.max * 2, -0x1p60}[random() % 4];
  }
  if (values[kMicrobatch] > values[kBatch] && random() % 16)
    std::swap(values[kMicrobatch], values[kBatch]);
  if (auto data = model.argument("data_parallel"); data && random() % 16)
    values[kBatch] *= values[*data]; // what the replicas can share
  return values;
}

} // namespace accord::test
