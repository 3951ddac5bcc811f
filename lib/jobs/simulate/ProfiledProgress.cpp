#include "lib/jobs/simulate/ProfiledProgress.h"
#include "lib/jobs/problem/JobBatches.h"
#include "lib/jobs/simulate/FittedSpeeds.h"
#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace accord::jobs {
namespace {

/// Servers beyond which the profiles say nothing.
constexpr unsigned kMaxServers = 16;

/// Batches that `bestSplit` looks at.
constexpr int kBatches = 50;

int64_t dividedUp(int64_t value, int64_t by) { return (value + by - 1) / by; }

unsigned total(const std::vector<unsigned> &placement) {
  unsigned sum = 0;
  for (unsigned devices : placement)
    sum += devices;
  return sum;
}

/// Devices of each server, where `devices` fill servers of `serverDevices`.
std::vector<unsigned> filledServers(unsigned devices, unsigned serverDevices) {
  std::vector<unsigned> placement(devices / serverDevices, serverDevices);
  if (devices % serverDevices)
    placement.push_back(devices % serverDevices);
  return placement;
}

std::vector<unsigned> smallestRotation(const std::vector<unsigned> &placement) {
  std::vector<unsigned> smallest = placement, rotated = placement;
  for (size_t i = 1; i < placement.size(); ++i) {
    std::ranges::rotate(rotated, rotated.begin() + 1);
    smallest = std::min(smallest, rotated);
  }
  return smallest;
}

/// Means of placements with equal servers, devices and local batch, ascending in these; then the scalability table.
std::vector<ScatteredPoint> scatteredPoints(const TrainingProfile &profile) {
  struct Sum {
    double step = 0, sync = 0, count = 0;
  };
  std::map<std::tuple<unsigned, unsigned, int64_t>, Sum> groups;
  for (const PlacementTime &row : profile.placements) {
    Sum &sum = groups[{static_cast<unsigned>(row.placement.size()), total(row.placement), row.localBatch}];
    sum.step += row.time.step;
    sum.sync += row.time.sync;
    ++sum.count;
  }
  std::vector<ScatteredPoint> points;
  auto add = [&](unsigned servers, unsigned devices, int64_t localBatch, double step, double sync) {
    points.push_back(
        {{static_cast<double>(servers), static_cast<double>(devices), static_cast<double>(localBatch)}, {step, sync}});
  };
  for (const auto &[key, sum] : groups)
    add(std::get<0>(key), std::get<1>(key), std::get<2>(key), sum.step / sum.count, sum.sync / sum.count);
  for (const ScalabilityTime &row : profile.scalability)
    add(row.servers, row.devices, row.localBatch, row.time.step, row.time.sync);
  return points;
}

/// Half to even, whatever the mode of the processor.
double roundHalfEven(double value) {
  const double below = std::floor(value), fraction = value - below;
  if (fraction != 0.5)
    return fraction < 0.5 ? below : below + 1;
  return std::fmod(below, 2) == 0 ? below : below + 1;
}

const TrainingProfile &firstOf(const ApplicationTypes &types) {
  return (*std::ranges::find_if(types, [](const auto &application) { return application != nullptr; }))->profile();
}

} // namespace

BatchSplit splitBatch(const TrainingProfile &profile, int64_t batch, unsigned devices, bool accumulateAlone) {
  const int64_t local = dividedUp(batch, devices);
  BatchSplit split;
  split.accumulation = dividedUp(local, profile.maxLocalBatch) - 1;
  if (devices == 1 && accumulateAlone)
    split.accumulation = std::max<int64_t>(1, split.accumulation);
  split.atomic = std::min(dividedUp(local, split.accumulation + 1),
                          profile.maxBatch / (int64_t(devices) * (split.accumulation + 1)));
  return split;
}

Result<std::shared_ptr<const ProfiledApplication>> ProfiledApplication::make(TrainingProfile profile,
                                                                             std::optional<double> assumedNoise) {
  if (auto checked = checkTrainingProfile(profile); !checked)
    return checked.takeError();
  ACCORD_TRY(scattered, DelaunayInterpolation::make(scatteredPoints(profile)));
  return std::shared_ptr<const ProfiledApplication>(
      new ProfiledApplication(std::move(profile), std::move(scattered), assumedNoise));
}

std::optional<StepTime> ProfiledApplication::stepTime(std::vector<unsigned> placement, int64_t localBatch) const {
  if (placement.empty())
    return std::nullopt;
  placement = smallestRotation(placement);
  const std::lock_guard lock(mutex);
  auto [found, isNew] = known.try_emplace({placement, localBatch});
  if (isNew)
    found->second = measure(placement, localBatch);
  return found->second;
}

std::optional<StepTime> ProfiledApplication::measure(const std::vector<unsigned> &placement, int64_t localBatch) const {
  auto isHere = [&](const PlacementTime &row) { return row.placement == placement; };
  const auto first = std::ranges::find_if(data.placements, isHere);
  if (first == data.placements.end()) {
    auto values = scattered({static_cast<double>(std::min<size_t>(placement.size(), kMaxServers)),
                             static_cast<double>(total(placement)), static_cast<double>(localBatch)});
    if (!values)
      return std::nullopt;
    return StepTime{(*values)[0], (*values)[1]};
  }
  const auto end = std::find_if_not(first, data.placements.end(), isHere);
  const auto above = std::find_if(first, end, [&](const PlacementTime &row) { return row.localBatch >= localBatch; });
  if (above == end || (above == first && above->localBatch != localBatch))
    return std::nullopt;
  if (above == first)
    return above->time;
  const PlacementTime &low = *std::prev(above), &high = *above;
  const auto width = static_cast<double>(high.localBatch - low.localBatch),
             offset = static_cast<double>(localBatch - low.localBatch);
  return StepTime{(high.time.step - low.time.step) / width * offset + low.time.step,
                  (high.time.sync - low.time.sync) / width * offset + low.time.sync};
}

std::optional<double> ProfiledApplication::updateSeconds(int64_t batch, unsigned devices,
                                                         unsigned devicesOfServer) const {
  std::vector<unsigned> placement = filledServers(devices, devicesOfServer);
  const BatchSplit split = splitBatch(data, batch, devices, true);
  const auto time = stepTime(std::move(placement), split.atomic);
  if (!time)
    return std::nullopt;
  return time->step + (time->step - time->sync) * static_cast<double>(split.accumulation);
}

double ProfiledApplication::progressRate(const std::vector<unsigned> &placement, BatchSplit split, size_t epoch) const {
  return rateOf(placement, split, epoch, std::nullopt);
}

double ProfiledApplication::expectedRate(const std::vector<unsigned> &placement, BatchSplit split, size_t epoch) const {
  return rateOf(placement, split, epoch, assumedNoise);
}

double ProfiledApplication::rateOf(const std::vector<unsigned> &placement, BatchSplit split, size_t epoch,
                                   std::optional<double> noise) const {
  const int64_t batch = int64_t(total(placement)) * split.atomic * (split.accumulation + 1);
  const auto time = stepTime(placement, split.atomic);
  if (!time || !data.hasCurves(batch))
    return 0;
  const double accumulate = time->step - time->sync;
  const double gain = noise ? sampleEfficiency(*noise, data.initialBatch, batch) * static_cast<double>(batch) /
                                  static_cast<double>(data.initialBatch)
                            : data.gain(batch, epoch);
  return gain / (time->step + accumulate * static_cast<double>(split.accumulation));
}

std::optional<BatchSplit> ProfiledApplication::bestSplit(std::vector<unsigned> placement, size_t epoch) const {
  placement = smallestRotation(placement);
  {
    const std::lock_guard lock(bestMutex);
    if (auto found = best.find({placement, epoch}); found != best.end())
      return found->second;
  }
  const unsigned devices = total(placement);
  const auto low = static_cast<double>(std::max(data.initialBatch, data.minLocalBatch * int64_t(devices))),
             high = static_cast<double>(data.maxBatch);
  std::optional<BatchSplit> chosen;
  double maxRate = 0;
  for (int i = 0; i < kBatches && low <= high; ++i) {
    const auto batch = static_cast<int64_t>(std::ceil(low * std::pow(high / low, i / double(kBatches - 1)) - 1e-8));
    const BatchSplit split = splitBatch(data, batch, devices, batch > data.initialBatch);
    if (split.atomic < data.minLocalBatch)
      continue;
    if (const double rate = expectedRate(placement, split, epoch); rate > maxRate)
      maxRate = rate, chosen = split;
  }
  const std::lock_guard lock(bestMutex);
  return best.try_emplace({std::move(placement), epoch}, chosen).first->second;
}

std::optional<BatchLimits> ProfiledApplication::batchLimits(std::vector<unsigned> placement) const {
  placement = smallestRotation(placement);
  {
    const std::lock_guard lock(bestMutex);
    if (auto found = limits.find(placement); found != limits.end())
      return found->second;
  }
  std::set<int64_t> batches{data.maxLocalBatch};
  for (const PlacementTime &row : data.placements)
    batches.insert(row.localBatch);
  for (const ScalabilityTime &row : data.scalability)
    batches.insert(row.localBatch);
  std::optional<BatchLimits> found;
  for (int64_t batch : batches) {
    if (batch < data.minLocalBatch || batch > data.maxLocalBatch || !stepTime(placement, batch))
      continue;
    if (!found)
      found = BatchLimits{data.maxBatch, batch, batch, /*accumulate=*/true};
    found->maxAtomicBatch = batch;
  }
  const std::lock_guard lock(bestMutex);
  return limits.try_emplace(std::move(placement), found).first->second;
}

double ProfiledApplication::aloneSpeed() const {
  double speed = 0;
  for (const PlacementTime &row : data.placements)
    if (row.placement == std::vector<unsigned>{1})
      speed = static_cast<double>(row.localBatch) / row.time.step;
  return speed;
}

ProfiledProgress::ProfiledProgress(ApplicationTypes onTypes, std::optional<int64_t> batch)
    : types(std::move(onTypes)), target(batch) {
  while (currentType + 1 < types.size() && !types[currentType])
    ++currentType;
  app = types[currentType];
}

ProfiledProgress::ProfiledProgress(ApplicationTypes onTypes, std::shared_ptr<FittedSpeeds> speeds)
    : ProfiledProgress(std::move(onTypes), std::optional<int64_t>()) {
  fitted = std::move(speeds);
}

const ProfiledApplication *ProfiledProgress::on(unsigned type) const {
  return types.size() == 1 ? types.front().get() : type < types.size() ? types[type].get() : nullptr;
}

size_t ProfiledProgress::currentEpoch() const { return std::min(epochsDone, app->profile().epochs - 1); }

std::optional<BatchSplit> ProfiledProgress::splitOn(const ProfiledApplication &there,
                                                    const std::vector<unsigned> &placement) const {
  const TrainingProfile &profile = there.profile();
  if (target)
    return splitBatch(profile, *target, total(placement), *target > profile.initialBatch);
  return there.bestSplit(placement, currentEpoch());
}

std::optional<BatchSplit> ProfiledProgress::estimatedSplit() const {
  const std::optional<BatchSplit> split = fitted->split(currentType, current);
  if (split && app->progressRate(current, *split, currentEpoch()) > 0)
    return split;
  return app->bestSplit(current, currentEpoch());
}

void ProfiledProgress::place(const Cluster &cluster, const JobPlacement &placement) {
  const unsigned type = cluster.servers[placement.front().server].type;
  current.clear();
  if (on(type)) {
    currentType = type;
    app = types[types.size() == 1 ? 0 : type];
    for (const ServerShare &share : placement)
      current.push_back(share.devices);
  }
  configure();
  updateRate();
}

void ProfiledProgress::configure() {
  const std::optional<BatchSplit> split = current.empty() ? std::nullopt
                                          : fitted        ? estimatedSplit()
                                                          : splitOn(*app, current);
  batchSplit = split.value_or(BatchSplit{});
  batch = int64_t(total(current)) * batchSplit.atomic * (batchSplit.accumulation + 1);
  time = split ? app->stepTime(current, batchSplit.atomic) : std::nullopt;
}

void ProfiledProgress::observe() {
  fitted->observe(currentType, {static_cast<unsigned>(current.size()), total(current)}, batchSplit.atomic, *time,
                  app->profile().noise(batch, epochsDone));
}

bool ProfiledProgress::knowsSpeed() const { return !fitted || fitted->isKnown(); }

void ProfiledProgress::updateRate() {
  const TrainingProfile &profile = app->profile();
  currentRate = 0;
  if (epochsDone >= profile.epochs || !time)
    return;
  currentRate = app->progressRate(current, batchSplit, epochsDone);
  nextProgress = profile.progressAfter(epochsDone + 1);
}

double ProfiledProgress::workLeft() const { return app->profile().progressAfter(app->profile().epochs) - progressDone; }

double ProfiledApplication::bestRate(unsigned devices, unsigned serverDevices, size_t epoch) const {
  const std::array<size_t, 3> key{devices, serverDevices, epoch};
  {
    const std::lock_guard lock(bestMutex);
    if (auto found = bestRates.find(key); found != bestRates.end())
      return found->second;
  }
  const std::vector<unsigned> placement = filledServers(devices, serverDevices);
  const std::optional<BatchSplit> split = bestSplit(placement, epoch);
  const double rate = split ? expectedRate(placement, *split, epoch) : 0;
  const std::lock_guard lock(bestMutex);
  return bestRates.try_emplace(key, rate).first->second;
}

double ProfiledProgress::rate(const Cluster &cluster, unsigned type, unsigned devices) const {
  const unsigned serverDevices = cluster.largestServer(type);
  if (serverDevices == 0 || devices == 0)
    return 0;
  const ProfiledApplication *there = on(type);
  if (!there)
    return 0;
  if (fitted)
    return fitted->rate(type, filledServers(devices, serverDevices));
  if (!target)
    return there->bestRate(devices, serverDevices, currentEpoch());
  const std::vector<unsigned> placement = filledServers(devices, serverDevices);
  return there->progressRate(placement, *splitOn(*there, placement), currentEpoch());
}

std::optional<double> ProfiledProgress::run(double seconds) {
  double passed = 0;
  while (passed < seconds && currentRate > 0) {
    const double left = seconds - passed;
    if (fitted)
      observe();
    if (progressDone + currentRate * left < nextProgress) {
      progressDone += currentRate * left;
      if (fitted) {
        configure();
        updateRate();
      }
      return std::nullopt;
    }
    passed += std::min(left, roundHalfEven((nextProgress - progressDone) / currentRate));
    progressDone = nextProgress;
    if (++epochsDone == app->profile().epochs)
      return passed;
    if (!target)
      configure();
    updateRate();
  }
  return std::nullopt;
}

double ProfiledProgress::remainingIterations() const {
  const TrainingProfile &profile = app->profile();
  const size_t last = profile.epochs - 1;
  if (epochsDone >= last || !profile.hasCurves(targetBatch()))
    return 1;
  return profile.iterationsAfter(targetBatch(), last) - profile.iterationsAfter(targetBatch(), epochsDone);
}

SimulatedJob adaptiveJob(const std::string &name, double arrival, const ApplicationTypes &types, double restartSeconds,
                         KnownSpeeds speeds) {
  SimulatedJob job = profiledJob(name, arrival, 1, types, firstOf(types).maxBatch, restartSeconds);
  if (speeds == KnownSpeeds::Fitted)
    job.progress = [types] { return std::make_unique<ProfiledProgress>(types, std::make_shared<FittedSpeeds>(types)); };
  else
    job.progress = [types] { return std::make_unique<ProfiledProgress>(types, std::nullopt); };
  return job;
}

SimulatedJob profiledJob(const std::string &name, double arrival, unsigned devices, const ApplicationTypes &types,
                         int64_t targetBatch, double restartSeconds) {
  int64_t maxDevices = 1;
  for (const auto &application : types) {
    if (!application)
      continue;
    const TrainingProfile &profile = application->profile();
    const int64_t byBatch = targetBatch / profile.minLocalBatch;
    maxDevices =
        std::max(maxDevices, profile.maxDevices > 0 ? std::min<int64_t>(byBatch, profile.maxDevices) : byBatch);
  }
  SimulatedJob job;
  job.name = name;
  job.arrival = arrival;
  job.devices = devices;
  job.maxDevices = static_cast<unsigned>(maxDevices);
  job.restartSeconds = restartSeconds;
  job.progress = [types, targetBatch] { return std::make_unique<ProfiledProgress>(types, targetBatch); };
  return job;
}

} // namespace accord::jobs
