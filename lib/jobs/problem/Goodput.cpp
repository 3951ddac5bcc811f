#include "lib/jobs/problem/Goodput.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord::jobs {
namespace {

constexpr unsigned kSamples = 50;
constexpr double kSlack = 1e-8; ///< of rounding up

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

/// The split with so many steps of accumulation of the highest goodput; `low` to `high` are atomic batches.
BatchChoice bestAtomic(const GoodputModel &model, DeviceCount on, int64_t accumulation, int64_t low, int64_t high) {
  auto value = [&](int64_t atomic) { return goodput(model, on, {atomic, accumulation}); };
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (value(middle + 1) > value(middle))
      low = middle + 1;
    else
      high = middle;
  }
  return {{low, accumulation}, value(low)};
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
  const double compute = at(model.compute, static_cast<double>(split.atomic)), sync = syncSeconds(model, on);
  // The larger one outside of the powers, so that none of these is infinite or 0.
  const double larger = std::max(compute, sync), smaller = std::min(compute, sync);
  const double last = larger * std::pow(1 + std::pow(smaller / larger, model.gamma), 1 / model.gamma);
  return static_cast<double>(split.accumulation) * compute + last;
}

double throughput(const GoodputModel &model, DeviceCount on, BatchSplit split) {
  return static_cast<double>(batchOf(on, split)) / updateSeconds(model, on, split);
}

double efficiency(const GoodputModel &model, int64_t batch) {
  const double scale = static_cast<double>(batch) / static_cast<double>(model.initialBatch);
  // Gain over scale, without a quotient of both that could be 0 / 0.
  return (model.noise.variance + model.noise.square) / (model.noise.variance + model.noise.square * scale);
}

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

std::optional<BatchChoice> chooseBatch(const GoodputModel &model, DeviceCount on, const BatchLimits &limits) {
  const int64_t maxSteps = limits.maxBatch / (int64_t(on.devices) * std::max<int64_t>(1, limits.minAtomicBatch));
  std::optional<BatchChoice> best;
  for (int64_t steps = 1; steps <= (limits.accumulate ? maxSteps : std::min<int64_t>(1, maxSteps)); ++steps) {
    const int64_t together = int64_t(on.devices) * steps;
    const int64_t low = std::max(limits.minAtomicBatch, (model.initialBatch + together - 1) / together);
    int64_t high = std::min(limits.maxAtomicBatch, limits.maxBatch / together);
    if (limits.accumulate && on.devices == 1 && steps == 1)
      high = std::min(high, model.initialBatch);
    if (low > high)
      continue;
    const BatchChoice choice = bestAtomic(model, on, steps - 1, low, high);
    if (!best || choice.goodput > best->goodput)
      best = choice;
  }
  return best;
}

} // namespace accord::jobs
