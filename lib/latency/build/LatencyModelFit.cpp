#include "lib/latency/build/LatencyModelFit.h"
#include "lib/latency/build/LatencyBuilder.h"
#include "lib/latency/build/SampleCache.h"
#include "lib/microarchitecture/problem/InstructionTiming.h"
#include <algorithm>
#include <bit>
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

namespace {

/// Tries one set of samples after the other, and keeps why the last one gave no model.
class GridFit {
public:
  GridFit(int64_t microbatch, std::optional<int64_t> sequence, const FitAt &fitAt)
      : microbatch_(microbatch), sequence_(sequence), s_(sequence.value_or(1)), fitAt_(fitAt) {
    options_.sequence = s_;
  }

  /// For any micro-batch, and any sequence where there is one.
  std::optional<LatencyModel> expressions() {
    if (varies()) {
      // An odd length shows whether something is rounded to whole windows or tiles.
      auto grid = over({1, 2, 3}, sequences()), odd = grid;
      odd.push_back({2, s_ / 2 + 1});
      if (auto model = fit(odd))
        return model;
      options_.sequenceMultiple = s_ / 4;
      if (auto model = fit(grid))
        return model;
      options_.sequenceMultiple = 1;
    }
    options_.fixedReason = reason_.empty() ? "the model has no parameter 'seq' to change" : reason_;
    if (sequence_ && reason_.empty())
      options_.fixedReason = "it is too short to be varied";
    return fit(over({1, 2, 3}, {s_}));
  }

  /// For the sizes of a table. First for few micro-batches, which were sampled before, to know whether there is one.
  std::optional<LatencyModel> tables(const LatencyTable &table) {
    const std::string before = reason_;
    options_.tabulated = true;
    std::set<int64_t> all(table.microbatches.begin(), table.microbatches.end()), few = {1, 2, 3, microbatch_};
    all.insert(microbatch_);
    all.insert(table.askedMicrobatches.begin(), table.askedMicrobatches.end());
    if (!table.first || all.size() < few.size())
      all.insert(few.begin(), few.end());
    std::vector<std::vector<int64_t>> lengths;
    if (varies()) {
      lengths.push_back(sequences());
      for (int64_t asked : table.askedSequences)
        if (asked <= s_ && std::ranges::find(lengths.front(), asked) == lengths.front().end())
          lengths.front().push_back(asked);
    }
    lengths.push_back({s_});
    for (const std::vector<int64_t> &at : lengths) {
      if (at.size() == 1)
        options_.fixedReason = !sequence_ ? "the model has no parameter 'seq' to change"
                               : varies() ? reason_
                                          : "it is too short to be varied";
      std::optional<LatencyModel> model;
      if (!table.first)
        model = fit(over(few, at));
      if (model || table.first)
        if (auto more = fit(over(all, at)))
          return more;
      if (!model && table.first)
        model = fit(over(few, at));
      if (model)
        return model;
    }
    options_.tabulated = false;
    if (!table.first) // of what was tried first
      reason_ = before;
    return std::nullopt;
  }

  Result<LatencyModel> ownSizes() {
    options_.fixedReason = reason_;
    return fitAt_({{microbatch_, s_}}, options_);
  }

private:
  /// Sequences are not longer than the plan's, which tables of positions may not allow.
  bool varies() const { return sequence_ && s_ >= 8 && s_ % 4 == 0; }
  std::vector<int64_t> sequences() const { return {s_, s_ / 2, s_ / 4, 3 * s_ / 4}; }

  static std::vector<std::pair<int64_t, int64_t>> over(const std::set<int64_t> &microbatches,
                                                       const std::vector<int64_t> &sequences) {
    std::vector<std::pair<int64_t, int64_t>> grid;
    for (int64_t b : microbatches)
      for (int64_t s : sequences)
        grid.push_back({b, s});
    return grid;
  }

  std::optional<LatencyModel> fit(const std::vector<std::pair<int64_t, int64_t>> &points) {
    auto model = fitAt_(points, options_);
    if (model)
      return std::move(*model);
    reason_ = model.error().message;
    return std::nullopt;
  }

  const int64_t microbatch_;
  const std::optional<int64_t> sequence_;
  const int64_t s_;
  const FitAt &fitAt_;
  LatencyFitOptions options_;
  std::string reason_;
};

} // namespace

std::vector<int64_t> tableMicrobatches(int64_t own, bool brief) {
  const int64_t last = brief ? std::max<int64_t>(4, 2 * own) : std::max<int64_t>(64, 4 * own);
  std::vector<int64_t> all;
  for (int64_t b = 1; b <= last; b += brief ? b : b < 16 ? 1 : int64_t(std::bit_floor(uint64_t(b))) / 4)
    all.push_back(b);
  return all;
}

Result<LatencyModel> fitOverGrids(int64_t microbatch, std::optional<int64_t> sequence, const FitAt &fitAt,
                                  const LatencyTable &table) {
  GridFit grids(microbatch, sequence, fitAt);
  if (!table.first)
    if (auto model = grids.expressions())
      return std::move(*model);
  if (auto model = grids.tables(table))
    return std::move(*model);
  return grids.ownSizes();
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

/// The micro-batches of a table whose samples' programs are within the instructions that it may evaluate.
static std::vector<int64_t> withinWork(const LatencyTable &table, const Plan &plan, int64_t sequence,
                                       SampleCache &sampled) {
  std::vector<int64_t> order = table.microbatches, chosen;
  std::ranges::sort(order, {}, [&](int64_t b) {
    const int64_t odd = b >> std::countr_zero(uint64_t(b));
    return std::pair(b == plan.graph.microbatch ? 0 : std::min<int64_t>(odd, 5), b);
  });
  order.insert(order.begin(), table.askedMicrobatches.begin(), table.askedMicrobatches.end());
  std::set<const void *> timed;
  int64_t work = 0;
  for (int64_t b : order) {
    std::string why;
    for (int64_t microbatches : {1, 2})
      if (const auto *one = sampled.at(b, microbatches, sequence, why))
        for (const OperationCost &cost : one->work.costs.operations)
          if (cost.timing && timed.insert(cost.timing.get()).second)
            work += cost.timing->evaluated;
    if (why.empty()) // else the training is not defined there
      chosen.push_back(b);
    if (work > table.evaluated && chosen.size() > std::max<size_t>(2, table.askedMicrobatches.size()))
      break;
  }
  return chosen;
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

Result<LatencyModel> latencyModelOf(const Plan &plan, std::optional<int64_t> sequence, const SampleAt &sampleAt,
                                    const LatencyTable &table) {
  SampleCache sampled(sequence.value_or(1), [&](int64_t b, int64_t of, std::optional<int64_t> s) {
    auto work = sampleAt(b, of, s);
    if (work) {
      work->graph.microbatches = plan.graph.microbatches;
      takeForms(plan, work->costs);
    }
    return work;
  });
  LatencyTable within = table;
  within.first |= std::ranges::any_of(plan.costs.operations, &isFoundForEachSize);
  if (within.first) {
    if (within.microbatches.empty())
      within.microbatches = tableMicrobatches(plan.graph.microbatch, /*brief=*/true);
    within.microbatches = withinWork(within, plan, sequence.value_or(1), sampled);
  }
  return fitOverGrids(
      plan.graph.microbatch, sequence,
      [&](const std::vector<std::pair<int64_t, int64_t>> &points,
          const LatencyFitOptions &options) -> Result<LatencyModel> {
        ACCORD_TRY(samples, sampled.of(points, plan));
        return fitLatencyModel(plan, samples.single, options, samples.accumulated);
      },
      within);
}

} // namespace accord
