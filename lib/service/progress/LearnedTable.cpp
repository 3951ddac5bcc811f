#include "lib/service/progress/LearnedTable.h"
#include <algorithm>
#include <cmath>

namespace accord::service {
namespace {

constexpr double kSerial = 0.05; ///< share of a step that more devices do not make faster, before two numbers are seen

struct Amdahl {
  double rate = 0, serial = kSerial; ///< of one device
  double at(double devices) const { return rate * devices / (1 + serial * (devices - 1)); }
};

/// Of one type: means of each number, and the law through them.
struct TypeSpeeds {
  std::map<int64_t, double> means;
  Amdahl law;
};

TypeSpeeds speedsOf(const std::string &type, const std::vector<SeenSpeed> &seen) {
  TypeSpeeds made;
  std::map<int64_t, double> weights;
  for (const SeenSpeed &one : seen)
    if (one.deviceType == type && one.rate > 0 && one.seconds > 0)
      made.means[one.devices] += one.rate * one.seconds, weights[one.devices] += one.seconds;
  for (auto &[devices, mean] : made.means)
    mean /= weights[devices];
  if (made.means.empty())
    return made;
  // n / rate(n) = (1 - s) / r + n s / r is a straight line over n.
  double serial = kSerial;
  if (made.means.size() == 1) {
    const auto n = static_cast<double>(made.means.begin()->first);
    for (const SeenSpeed &one : seen) // the last one
      if (one.deviceType == type && n > 1 && one.communication >= 0 && one.communication < 1)
        serial = std::min(1.0, one.communication / (1 - one.communication) / (n - 1));
  } else {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (const auto &[devices, mean] : made.means) {
      const auto d = static_cast<double>(devices);
      n += 1, x += d, y += d / mean, xx += d * d, xy += d * d / mean;
    }
    const double slope = (n * xy - x * y) / (n * xx - x * x), at0 = (y - slope * x) / n, one = at0 + slope;
    serial = one > 0 ? std::clamp(slope / one, 0.0, 1.0) : kSerial;
  }
  made.law.serial = serial;
  double sum = 0;
  for (const auto &[devices, mean] : made.means)
    sum += mean / Amdahl{1, serial}.at(static_cast<double>(devices));
  made.law.rate = sum / static_cast<double>(made.means.size());
  return made;
}

} // namespace

std::vector<SeenSpeed> learnedSpeeds(const jobs::Cluster &cluster, const std::vector<std::vector<int64_t>> &counts,
                                     const std::map<std::string, double> &speeds, const std::vector<SeenSpeed> &seen) {
  int64_t max = 0;
  for (const SeenSpeed &one : seen)
    max = std::max(max, 2 * one.devices);
  std::vector<TypeSpeeds> types;
  const TypeSpeeds *known = nullptr;
  size_t knownType = 0;
  for (size_t type = 0; type < cluster.types.size(); ++type)
    types.push_back(speedsOf(cluster.types[type], seen));
  for (size_t type = 0; type < types.size() && !known; ++type)
    if (!types[type].means.empty())
      known = &types[type], knownType = type;
  std::vector<SeenSpeed> made;
  auto speedOf = [&](size_t type) {
    const auto found = speeds.find(cluster.types[type]);
    return found == speeds.end() ? 0 : found->second;
  };
  for (size_t type = 0; type < types.size() && known; ++type)
    for (int64_t devices : counts[type]) {
      if (devices > max)
        continue;
      const TypeSpeeds &own = types[type].means.empty() ? *known : types[type];
      const double a = speedOf(knownType), b = speedOf(type);
      const double ratio = types[type].means.empty() && a > 0 && b > 0 ? b / a : 1;
      const auto seenMean = types[type].means.find(devices);
      const double rate =
          seenMean != types[type].means.end() ? seenMean->second : ratio * own.law.at(static_cast<double>(devices));
      made.push_back({cluster.types[type], devices, rate, 0});
    }
  return made;
}

} // namespace accord::service
