#include "lib/jobs/simulate/FittedSpeeds.h"
#include <algorithm>
#include <numeric>

namespace accord::jobs {
namespace {

/// Steps up to which a fit starts anew; beyond, it starts from the one before.
constexpr size_t kFewSteps = 6;

} // namespace

void FittedSpeeds::observe(unsigned type, DeviceCount on, int64_t atomicBatch, StepTime time, GradientNoise now) {
  Seen &there = seen[indexOf(type)];
  if (now.square != noise.square || now.variance != noise.variance) {
    noise = now;
    choices.clear();
  }
  maxSeen = std::max(maxSeen, on.devices);
  const bool isKnownStep = std::ranges::any_of(there.steps, [&](const MeasuredStep &step) {
    return step.on.servers == on.servers && step.on.devices == on.devices && step.atomicBatch == atomicBatch;
  });
  if (isKnownStep)
    return;
  there.steps.push_back({on, atomicBatch, time.step - time.sync, time.step});
  const auto fit = fitGoodput(there.steps, there.steps.size() > kFewSteps ? &there.model : nullptr);
  if (fit)
    there.model = fit->model;
  else
    there.steps.pop_back(); // a step that is all synchronization
  choices.clear();
}

std::optional<BatchChoice> FittedSpeeds::compute(size_t type, const std::vector<unsigned> &placement) const {
  if (!types[type])
    return std::nullopt;
  const std::optional<BatchLimits> limits = types[type]->batchLimits(placement);
  if (!limits)
    return std::nullopt;
  const DeviceCount on{static_cast<unsigned>(placement.size()),
                       std::accumulate(placement.begin(), placement.end(), 0u)};
  const int64_t initial = types[type]->profile().initialBatch;
  auto source = seen.begin() + static_cast<ptrdiff_t>(type);
  double ratio = 1;
  if (source->steps.empty()) {
    source = std::ranges::find_if(seen, [](const Seen &one) { return !one.steps.empty(); });
    if (source == seen.end()) {
      const int64_t min = std::max(initial, limits->minAtomicBatch * int64_t(on.devices));
      const int64_t batch = types[type]->profile().maxDevices == 1 ? std::max(min, limits->maxBatch) : min;
      TrainingProfile held = types[type]->profile();
      held.maxLocalBatch = limits->maxAtomicBatch;
      return BatchChoice{splitBatch(held, batch, on.devices, batch > initial), static_cast<double>(on.devices)};
    }
    const double here = types[type]->aloneSpeed(),
                 there = types[static_cast<size_t>(source - seen.begin())]->aloneSpeed();
    ratio = here > 0 && there > 0 ? here / there : 1;
  }
  GoodputModel model = source->model;
  model.noise = noise;
  model.initialBatch = initial;
  std::optional<BatchChoice> choice = sampleBatch(model, on, *limits);
  if (choice) {
    // Rounding up may exceed the maximum batch.
    const int64_t together = int64_t(on.devices) * (choice->split.accumulation + 1);
    choice->split.atomic = std::min(choice->split.atomic, limits->maxBatch / together);
    choice->goodput *= ratio / static_cast<double>(initial);
  }
  return choice;
}

std::optional<BatchChoice> FittedSpeeds::choose(unsigned type, const std::vector<unsigned> &placement) const {
  const auto [found, isNew] = choices.try_emplace({indexOf(type), placement});
  if (isNew)
    found->second = compute(indexOf(type), placement);
  return found->second;
}

std::optional<BatchSplit> FittedSpeeds::split(unsigned type, const std::vector<unsigned> &placement) const {
  const std::optional<BatchChoice> choice = choose(type, placement);
  return choice ? std::optional(choice->split) : std::nullopt;
}

double FittedSpeeds::rate(unsigned type, const std::vector<unsigned> &placement) const {
  if (std::accumulate(placement.begin(), placement.end(), 0u) > maxDevices())
    return 0;
  const std::optional<BatchChoice> choice = choose(type, placement);
  return choice ? choice->goodput : 0;
}

} // namespace accord::jobs
