#include "lib/latency/build/LatencyModelFit.h"
#include "lib/latency/build/LatencyBuilder.h"
#include "lib/latency/build/SampleCache.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace accord {
std::optional<Error> checkSamples(const Plan &plan, const std::vector<LatencySample> &samples) {
  auto refuse = [](std::string text) { return Error{Code::NoLatencyModel, std::move(text)}; };
  const WorkGraph &a = plan.graph;
  std::set<int64_t> microbatches, sequences;
  for (const LatencySample &s : samples) {
    microbatches.insert(s.microbatch), sequences.insert(s.sequence);
    const WorkGraph &b = *s.graph;
    auto sameOperation = [](const Operation &x, const Operation &y) {
      return x.name == y.name && x.region == y.region && x.parts.size() == y.parts.size();
    };
    auto sameParts = [](const OperationCost &cost, const Operation &op) {
      return cost.parts.size() == op.parts.size();
    };
    if (!std::ranges::equal(a.operations, b.operations, sameOperation) ||
        !std::ranges::equal(s.costs->operations, b.operations, sameParts) ||
        !std::ranges::equal(a.regions, b.regions, {}, &Region::count, &Region::count))
      return refuse(fmt::format(
          "the training step at micro-batch {} and sequence {} has other operations or repeats than the plan's",
          s.microbatch, s.sequence));
    if (s.microbatch < 1 || s.sequence < 1)
      return refuse("a sample without a micro-batch or a sequence");
  }
  auto fits = [](size_t values, size_t min) { return values == 1 || values >= min; };
  if (!fits(microbatches.size(), 3) || !fits(sequences.size(), 4))
    return refuse("too few samples: one or three micro-batches and one or four sequences are needed");
  return std::nullopt;
}

std::vector<PolynomialFit::Point> pointsOf(const std::vector<LatencySample> &samples) {
  std::vector<PolynomialFit::Point> points;
  for (const LatencySample &s : samples)
    points.push_back({s.microbatch, s.sequence});
  return points;
}

Result<LatencyModel> fitLatencyModel(const Plan &plan, const std::vector<LatencySample> &samples,
                                     const LatencyFitOptions &options, const std::vector<LatencySample> &accumulated) {
  for (const auto *all : {&samples, &accumulated})
    if (auto error = all->empty() ? std::nullopt : checkSamples(plan, *all))
      return *error;
  LatencyBuilder builder(plan, samples, PolynomialFit(pointsOf(samples)), options, accumulated);
  if (auto error = builder.prepare())
    return *error;
  auto model = buildWithinInt64(plan.graph.microbatch, [&](int64_t max) { return builder.build(max); });
  if (auto *built = model.get())
    addSamples(*built, 24);
  return model;
}

Result<LatencyModel> fitOverGrids(int64_t microbatch, std::optional<int64_t> sequence, const FitAt &fitAt) {
  int64_t s = sequence.value_or(1);
  LatencyFitOptions options;
  options.sequence = s;
  std::string reason;
  auto fit = [&](const std::vector<std::pair<int64_t, int64_t>> &points) -> std::optional<LatencyModel> {
    auto model = fitAt(points, options);
    if (!model) {
      reason = model.error().message;
      return std::nullopt;
    }
    return std::move(*model);
  };
  // Sequences are not longer than the plan's, which tables of positions may not allow.
  if (sequence && s >= 8 && s % 4 == 0) {
    std::vector<std::pair<int64_t, int64_t>> grid;
    for (int64_t b : {1, 2, 3})
      for (int64_t at : {s, s / 2, s / 4, 3 * s / 4})
        grid.push_back({b, at});
    // An odd length shows whether something is rounded to whole windows or tiles.
    auto odd = grid;
    odd.push_back({2, s / 2 + 1});
    if (auto model = fit(odd))
      return std::move(*model);
    options.sequenceMultiple = s / 4;
    if (auto model = fit(grid))
      return std::move(*model);
    options.sequenceMultiple = 1;
  }
  options.fixedReason = reason.empty() ? "the model has no parameter 'seq' to change" : reason;
  if (sequence && reason.empty())
    options.fixedReason = "it is too short to be varied";
  if (auto model = fit({{1, s}, {2, s}, {3, s}}))
    return std::move(*model);
  options.fixedReason = reason;
  return fitAt({{microbatch, s}}, options);
}

const SampleCache::Sampled *SampleCache::at(int64_t microbatch, int64_t microbatches, int64_t at, std::string &reason) {
  for (const auto &k : sampled)
    if (k->microbatch == microbatch && k->microbatches == microbatches && k->sequence == at)
      return k.get();
  auto work = sampleAt(microbatch, microbatches, at == sequence ? std::nullopt : std::optional(at));
  if (!work) {
    reason = fmt::format("the training is not defined at micro-batch {} and sequence {}", microbatch, at);
    return nullptr;
  }
  sampled.push_back(std::make_unique<Sampled>(Sampled{microbatch, microbatches, at, std::move(*work)}));
  return sampled.back().get();
}

Result<SampledSizes> SampleCache::of(const std::vector<std::pair<int64_t, int64_t>> &points, const Plan &plan) {
  SampledSizes samples;
  // The plan itself is a sample of its own sizes.
  if (points.size() == 1 && points[0] == std::pair(plan.graph.microbatch, sequence)) {
    samples.single = {{plan.graph.microbatch, sequence, &plan.graph, &plan.costs}};
    return samples;
  }
  std::string reason;
  for (auto [list, microbatches] : {std::pair(&samples.single, 1), {&samples.accumulated, 2}})
    for (auto [b, s] : points) {
      const Sampled *one = at(b, microbatches, s, reason);
      if (!one)
        return Error{Code::NoLatencyModel, reason};
      list->push_back({b, s, &one->work.graph, &one->work.costs});
    }
  return samples;
}

/// Each operation on as many instances as in the plan, where it was priced on them.
static void takeForms(const Plan &plan, Costs &costs) {
  for (auto &[id, others] : costs.alternatives) {
    if (id >= plan.costs.operations.size() || id >= costs.operations.size())
      continue;
    const OperationCost &own = plan.costs.operations[id];
    auto same = [&](const OperationCost &cost) { return cost.core == own.core && cost.instances == own.instances; };
    auto found = std::find_if(others.begin(), others.end(), same);
    if (!same(costs.operations[id]) && found != others.end())
      std::swap(*found, costs.operations[id]);
  }
}

Result<LatencyModel> latencyModelOf(const Plan &plan, std::optional<int64_t> sequence, const SampleAt &sampleAt) {
  SampleCache sampled(sequence.value_or(1), [&](int64_t b, int64_t of, std::optional<int64_t> s) {
    auto work = sampleAt(b, of, s);
    if (work) {
      work->graph.microbatches = plan.graph.microbatches;
      takeForms(plan, work->costs);
    }
    return work;
  });
  return fitOverGrids(plan.graph.microbatch, sequence,
                      [&](const std::vector<std::pair<int64_t, int64_t>> &points,
                          const LatencyFitOptions &options) -> Result<LatencyModel> {
                        ACCORD_TRY(samples, sampled.of(points, plan));
                        return fitLatencyModel(plan, samples.single, options, samples.accumulated);
                      });
}

} // namespace accord
