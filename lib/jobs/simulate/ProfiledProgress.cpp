#include "lib/jobs/simulate/ProfiledProgress.h"
#include <algorithm>
#include <cmath>
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

Result<std::shared_ptr<const ProfiledApplication>> ProfiledApplication::make(TrainingProfile profile) {
  if (auto checked = checkTrainingProfile(profile); !checked)
    return checked.takeError();
  ACCORD_TRY(scattered, DelaunayInterpolation::make(scatteredPoints(profile)));
  return std::shared_ptr<const ProfiledApplication>(new ProfiledApplication(std::move(profile), std::move(scattered)));
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
  const int64_t batch = int64_t(total(placement)) * split.atomic * (split.accumulation + 1);
  const auto time = stepTime(placement, split.atomic);
  if (!time || !data.hasCurves(batch))
    return 0;
  const double accumulate = time->step - time->sync;
  return data.gain(batch, epoch) / (time->step + accumulate * static_cast<double>(split.accumulation));
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
    if (const double rate = progressRate(placement, split, epoch); rate > maxRate)
      maxRate = rate, chosen = split;
  }
  const std::lock_guard lock(bestMutex);
  return best.try_emplace({std::move(placement), epoch}, chosen).first->second;
}

std::optional<BatchSplit> ProfiledProgress::splitOn(const std::vector<unsigned> &placement) const {
  const TrainingProfile &profile = app->profile();
  if (target)
    return splitBatch(profile, *target, total(placement), *target > profile.initialBatch);
  return app->bestSplit(placement, std::min(epochsDone, profile.epochs - 1));
}

void ProfiledProgress::place(const Cluster &, const JobPlacement &placement) {
  current.clear();
  for (const ServerShare &share : placement)
    current.push_back(share.devices);
  configure();
  updateRate();
}

void ProfiledProgress::configure() {
  const std::optional<BatchSplit> split = splitOn(current);
  batchSplit = split.value_or(BatchSplit{});
  batch = int64_t(total(current)) * batchSplit.atomic * (batchSplit.accumulation + 1);
  time = split ? app->stepTime(current, batchSplit.atomic) : std::nullopt;
}

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
  const double rate = split ? progressRate(placement, *split, epoch) : 0;
  const std::lock_guard lock(bestMutex);
  return bestRates.try_emplace(key, rate).first->second;
}

double ProfiledProgress::rate(const Cluster &cluster, unsigned type, unsigned devices) const {
  const unsigned serverDevices = cluster.largestServer(type);
  if (serverDevices == 0 || devices == 0)
    return 0;
  const size_t epoch = std::min(epochsDone, app->profile().epochs - 1);
  if (!target)
    return app->bestRate(devices, serverDevices, epoch);
  const std::vector<unsigned> placement = filledServers(devices, serverDevices);
  return app->progressRate(placement, *splitOn(placement), epoch);
}

std::optional<double> ProfiledProgress::run(double seconds) {
  double passed = 0;
  while (passed < seconds && currentRate > 0) {
    const double left = seconds - passed;
    if (progressDone + currentRate * left < nextProgress) {
      progressDone += currentRate * left;
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

SimulatedJob adaptiveJob(const std::string &name, double arrival,
                         const std::shared_ptr<const ProfiledApplication> &application, double restartSeconds) {
  SimulatedJob job = profiledJob(name, arrival, 1, application, application->profile().maxBatch, restartSeconds);
  job.progress = [application] { return std::make_unique<ProfiledProgress>(application, std::nullopt); };
  return job;
}

SimulatedJob profiledJob(const std::string &name, double arrival, unsigned devices,
                         const std::shared_ptr<const ProfiledApplication> &application, int64_t targetBatch,
                         double restartSeconds) {
  const TrainingProfile &profile = application->profile();
  int64_t maxDevices = targetBatch / profile.minLocalBatch;
  if (profile.maxDevices > 0)
    maxDevices = std::min<int64_t>(maxDevices, profile.maxDevices);
  SimulatedJob job;
  job.name = name;
  job.arrival = arrival;
  job.devices = devices;
  job.maxDevices = static_cast<unsigned>(std::max<int64_t>(1, maxDevices));
  job.restartSeconds = restartSeconds;
  job.progress = [application, targetBatch] { return std::make_unique<ProfiledProgress>(application, targetBatch); };
  return job;
}

} // namespace accord::jobs
