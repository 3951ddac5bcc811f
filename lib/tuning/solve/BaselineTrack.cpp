#include "lib/tuning/solve/BaselineTrack.h"
#include <algorithm>
#include <cmath>

namespace accord::tuning {

double windowNoise(const std::vector<ServerInterval> &intervals) {
  double sum = 0;
  int64_t freedom = 0;
  for (const ServerInterval &interval : intervals) {
    if (interval.outcome != ServerInterval::Outcome::Complete)
      continue;
    std::vector<double> logs;
    double mean = 0;
    for (const ServerWindow &window : interval.windows)
      if (window.samples > 0) {
        logs.push_back(std::log(window.samples / window.seconds));
        mean += logs.back();
      }
    mean /= static_cast<double>(std::max<size_t>(1, logs.size()));
    for (double one : logs)
      sum += (one - mean) * (one - mean);
    freedom += std::max<int64_t>(0, static_cast<int64_t>(logs.size()) - 1);
  }
  constexpr double kMinNoise = 1e-4;
  return freedom > 0 ? std::max(kMinNoise, std::sqrt(sum / static_cast<double>(freedom))) : kMinNoise;
}

static double weightOf(size_t a, size_t b) {
  const double distance = static_cast<double>(a > b ? a - b : b - a);
  return std::exp(-distance / kReferenceReach);
}

double BaselineTrack::sigmaOf(double noise) const {
  std::vector<double> differences;
  for (size_t i = 1; i < points_.size(); ++i)
    differences.push_back(std::abs(points_[i].value - points_[i - 1].value));
  double sigma = noise / std::sqrt(static_cast<double>(kWindows));
  if (!differences.empty()) {
    auto middle = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2);
    std::ranges::nth_element(differences, middle);
    constexpr double kMedianOfNormal = 0.6745;
    sigma = std::max(sigma, *middle / kMedianOfNormal / std::sqrt(2.0));
  }
  return sigma;
}

BaselineTrack::BaselineTrack(const std::vector<ServerInterval> &intervals, bool isPerJoule) : count_(intervals.size()) {
  for (size_t i = 0; i < intervals.size(); ++i) {
    const ServerInterval &interval = intervals[i];
    const double value = isPerJoule ? interval.samples() / interval.joules() : interval.rate();
    if (interval.kind == ServerInterval::Kind::Baseline && interval.outcome == ServerInterval::Outcome::Complete &&
        value > 0 && std::isfinite(value))
      points_.push_back({i, 0, std::log(value)});
  }
  const double noise = windowNoise(intervals);
  sigma_ = sigmaOf(noise);
  beyond_ = std::sqrt(std::max(0.0, sigma_ * sigma_ - noise * noise / static_cast<double>(kWindows)));
  size_t begin = 0; // of the segment
  for (size_t i = 1; i < points_.size(); ++i) {
    double sum = 0, weights = 0;
    for (size_t j = begin; j < i; ++j) {
      const double weight = weightOf(points_[j].interval, points_[i].interval);
      sum += weight * points_[j].value, weights += weight;
    }
    const double spread = kJumpDeviations * sigma_ * std::sqrt(1 + 1 / static_cast<double>(i - begin));
    if (std::abs(points_[i].value - sum / weights) > std::max(kMinJump, spread))
      begin = i;
    points_[i].segment = begin;
  }
}

std::optional<double> BaselineTrack::at(size_t interval) const {
  auto next = std::ranges::upper_bound(points_, interval, {}, &Point::interval);
  if (next == points_.begin())
    return std::nullopt;
  const Point &last = *(next - 1);
  if (next != points_.end() && last.interval != interval && next->segment != last.segment)
    return std::nullopt;
  double sum = 0, weights = 0;
  for (const Point &point : points_)
    if (point.segment == last.segment) {
      const double weight = weightOf(point.interval, interval);
      sum += weight * point.value, weights += weight;
    }
  return sum / weights;
}

double BaselineTrack::deviation() const {
  if (points_.empty())
    return 0;
  double squares = 0, weights = 0;
  for (const Point &point : points_)
    if (point.segment == points_.back().segment) {
      const double weight = weightOf(point.interval, count_);
      squares += weight * weight, weights += weight;
    }
  return std::hypot(sigma_ * std::sqrt(squares) / weights, beyond_);
}

bool isBelowFloor(const std::vector<ServerWindow> &windows, double reference, double referenceDeviation, double noise,
                  double floor, double alpha) {
  constexpr double kRho = 3, kReferenceDeviations = 1.645;
  double sum = 0;
  for (const ServerWindow &window : windows)
    sum += std::max(kMinWindowLog, std::log(window.samples / window.seconds / reference / floor));
  const auto count = static_cast<double>(windows.size());
  const double boundary =
      noise * std::sqrt(2 * (count + kRho) * std::log(std::sqrt((count + kRho) / kRho) / (2 * alpha) + 1));
  return !windows.empty() && sum < -(boundary + count * kReferenceDeviations * referenceDeviation);
}

} // namespace accord::tuning
