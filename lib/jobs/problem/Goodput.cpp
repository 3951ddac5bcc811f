#include "lib/jobs/problem/Goodput.h"
#include "lib/support/FirstWhere.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord::jobs {
namespace {

constexpr unsigned kSamples = 50;
constexpr double kSlack = 1e-8; ///< of rounding up
/// Numbers of steps that `chooseBatch` tries beyond the first one with which devices need not be full.
constexpr int64_t kMaxTried = 4096;

double at(const LinearTime &time, double count) { return time.constant + time.slope * count; }

bool isTime(const LinearTime &time) {
  return std::isfinite(time.constant) && time.constant >= 0 && std::isfinite(time.slope) && time.slope >= 0;
}

double syncSeconds(const GoodputModel &model, DeviceCount on) {
  const double beyond = std::max(static_cast<double>(on.devices) - 2, kSlack);
  if (on.servers > 1)
    return at(model.betweenServers, beyond);
  if (on.devices > 1)
    return at(model.withinServer, beyond);
  return kSlack;
}

int64_t roundedUp(double value) { return static_cast<int64_t>(std::ceil(value - kSlack)); }

/// `accumulation` steps of gradients alone, and one whose gradients are exchanged.
double secondsOf(const GoodputModel &model, DeviceCount on, double atomic, double accumulation) {
  const double compute = at(model.compute, atomic), sync = syncSeconds(model, on);
  // The larger one outside of the powers, so that none of these is infinite or 0.
  const double larger = std::max(compute, sync), smaller = std::min(compute, sync);
  const double last = larger * std::pow(1 + std::pow(smaller / larger, model.gamma), 1 / model.gamma);
  return accumulation * compute + last;
}

/// Gain over scale, without a quotient of both that could be 0 / 0.
double worthOf(const GoodputModel &model, double batch) {
  const double scale = batch / static_cast<double>(model.initialBatch);
  return (model.noise.variance + model.noise.square) / (model.noise.variance + model.noise.square * scale);
}

/// The split with so many steps of accumulation of the highest goodput; `low` to `high` are atomic batches.
BatchChoice bestAtomic(const GoodputModel &model, DeviceCount on, int64_t accumulation, int64_t low, int64_t high) {
  auto value = [&](int64_t atomic) { return goodput(model, on, {atomic, accumulation}); };
  const int64_t best =
      firstWhere(low, std::max(low, high), [&](int64_t atomic) { return !(value(atomic + 1) > value(atomic)); });
  return {{best, accumulation}, value(best)};
}

} // namespace

Result<void> checkGoodputModel(const GoodputModel &model) {
  auto wrong = [](std::string message) { return Error{Code::WrongJobsFile, std::move(message)}; };
  if (!isTime(model.compute) || !isTime(model.betweenServers) || !isTime(model.withinServer))
    return wrong("a time of a goodput model is below 0 or not finite");
  if (model.compute.constant + model.compute.slope <= 0)
    return wrong("a step of a goodput model takes no time");
  if (!(model.gamma >= 1 && model.gamma <= 10))
    return wrong(fmt::format("the overlap of a goodput model is {}, but from 1 to 10 is expected", model.gamma));
  if (!(model.noise.square >= 0) || !(model.noise.variance >= 0) ||
      !std::isfinite(model.noise.square + model.noise.variance) || model.noise.square + model.noise.variance <= 0)
    return wrong(fmt::format("a goodput model has a gradient of square {} and variance {}, but finite numbers of at "
                             "least 0 are expected, and one above it",
                             model.noise.square, model.noise.variance));
  if (model.initialBatch < 1)
    return wrong(
        fmt::format("the initial batch of a goodput model is {}, but 1 or more is expected", model.initialBatch));
  return {};
}

int64_t batchOf(DeviceCount on, BatchSplit split) {
  return int64_t(on.devices) * split.atomic * (split.accumulation + 1);
}

double updateSeconds(const GoodputModel &model, DeviceCount on, BatchSplit split) {
  return secondsOf(model, on, static_cast<double>(split.atomic), static_cast<double>(split.accumulation));
}

double throughput(const GoodputModel &model, DeviceCount on, BatchSplit split) {
  return static_cast<double>(batchOf(on, split)) / updateSeconds(model, on, split);
}

double efficiency(const GoodputModel &model, int64_t batch) { return worthOf(model, static_cast<double>(batch)); }

double goodput(const GoodputModel &model, DeviceCount on, BatchSplit split) {
  return throughput(model, on, split) * efficiency(model, batchOf(on, split));
}

std::optional<BatchChoice> sampleBatch(const GoodputModel &model, DeviceCount on, const BatchLimits &limits) {
  const auto first = static_cast<double>(std::max(model.initialBatch, limits.minAtomicBatch * int64_t(on.devices))),
             last = static_cast<double>(limits.maxBatch);
  std::optional<BatchChoice> best;
  if (first > last)
    return best;
  for (unsigned i = 0; i < kSamples; ++i) {
    const double batch = i + 1 == kSamples ? last : first * std::pow(last / first, double(i) / (kSamples - 1));
    const double local = batch / on.devices;
    BatchSplit split;
    if (limits.accumulate) {
      split.accumulation = roundedUp(local / static_cast<double>(limits.maxAtomicBatch)) - 1;
      if (on.devices == 1 && local > static_cast<double>(model.initialBatch) + kSlack)
        split.accumulation = std::max<int64_t>(1, split.accumulation);
    }
    split.atomic = roundedUp(local / static_cast<double>(split.accumulation + 1));
    if (split.atomic < limits.minAtomicBatch || split.atomic > limits.maxAtomicBatch)
      continue;
    const double value = goodput(model, on, split);
    if (!best || value > best->goodput)
      best = BatchChoice{split, value};
  }
  return best;
}

namespace {

/// All splits, by numbers of steps n = accumulation + 1. For a batch, more steps take more time: with x samples of a
/// device in all, d T / d n = alpha_c + beta_c x / n^2 (1 - dT_last / dT_grad), where the last quotient is at most 1.
class BatchChooser {
public:
  BatchChooser(const GoodputModel &model, DeviceCount on, const BatchLimits &limits)
      : model(model), on(on), limits(limits),
        maxSteps(limits.maxBatch / (int64_t(on.devices) * std::max<int64_t>(1, limits.minAtomicBatch))) {
    if (!limits.accumulate)
      maxSteps = std::min<int64_t>(1, maxSteps);
  }

  std::optional<BatchChoice> run() {
    if (maxSteps < 1 || limits.maxAtomicBatch < 1)
      return best;
    take(1);
    // With fewer steps than the first, devices that are full do not reach the initial batch.
    const int64_t full = int64_t(on.devices) * std::min(limits.maxAtomicBatch, limits.maxBatch);
    const int64_t first = std::max<int64_t>(2, (model.initialBatch + full - 1) / full);
    const int64_t free = firstWhere(first, maxSteps + 1, [&](int64_t steps) { return !isFull(steps); });
    if (first < free) // quasiconcave in the number of steps: a concave gain over a time that grows linearly
      take(firstWhere(first, free - 1, [&](int64_t steps) { return valueFull(steps + 1) <= valueFull(steps); }));
    takeFree(free);
    return best;
  }

private:
  double valueFull(int64_t steps) const { return goodput(model, on, {limits.maxAtomicBatch, steps - 1}); }
  /// Whether the most samples in a step are the best: then they are with fewer steps, too, for the gain of another
  /// sample falls with the batch, and its share of the time grows with the steps.
  bool isFull(int64_t steps) const {
    const int64_t max = limits.maxAtomicBatch;
    return max <= limits.maxBatch / (int64_t(on.devices) * steps) &&
           (max == 1 || valueFull(steps) > goodput(model, on, {max - 1, steps - 1}));
  }

  void take(int64_t steps) {
    const int64_t together = int64_t(on.devices) * steps;
    const int64_t low = std::max(limits.minAtomicBatch, (model.initialBatch + together - 1) / together);
    int64_t high = std::min(limits.maxAtomicBatch, limits.maxBatch / together);
    if (limits.accumulate && on.devices == 1 && steps == 1)
      high = std::min(high, model.initialBatch);
    if (low > high)
      return;
    const BatchChoice choice = bestAtomic(model, on, steps - 1, low, high);
    const bool isEarlier = best && choice.goodput == best->goodput && steps - 1 < best->split.accumulation;
    if (!best || choice.goodput > best->goodput || isEarlier)
      best = choice;
  }

  /// From the first number on with which devices need not be full: as long as a batch that is no whole number of
  /// samples could be better.
  void takeFree(int64_t first) {
    if (first > maxSteps)
      return;
    const double devices = on.devices, steps = static_cast<double>(first);
    auto seconds = [&](double samples) { return secondsOf(model, on, samples / steps, steps - 1); };
    auto value = [&](double samples) {
      return samples * devices * worthOf(model, samples * devices) / seconds(samples);
    };
    // A concave gain over a convex time: thirds of the interval are left out.
    const double largest = static_cast<double>(limits.maxBatch) / devices;
    double low = 0, high = largest;
    for (int i = 0; i < 200; ++i) {
      const double third = (high - low) / 3;
      if (value(low + third) < value(high - third))
        low += third;
      else
        high -= third;
    }
    const double bound = value((low + high) / 2) * (1 + kSlack), longest = seconds(largest);
    for (int64_t n = first; n <= maxSteps && n - first < kMaxTried; ++n) {
      // Each step more takes what a step without samples takes, of a time that is at most the longest.
      const double more = static_cast<double>(n - first) * model.compute.constant;
      if (best && bound * (longest / (longest + more)) < best->goodput)
        return;
      take(n);
    }
  }

  const GoodputModel &model;
  const DeviceCount on;
  const BatchLimits &limits;
  int64_t maxSteps;
  std::optional<BatchChoice> best;
};

} // namespace

std::optional<BatchChoice> chooseBatch(const GoodputModel &model, DeviceCount on, const BatchLimits &limits) {
  return BatchChooser(model, on, limits).run();
}

} // namespace accord::jobs
