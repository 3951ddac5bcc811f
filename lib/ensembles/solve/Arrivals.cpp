#include "lib/ensembles/solve/Arrivals.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

namespace accord {
namespace {

double normalShare(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

/// By bisection: called for a few quantiles alone.
double normalQuantile(double share) {
  double low = -40, high = 40;
  for (int i = 0; i < 100; ++i) {
    double middle = (low + high) / 2;
    (normalShare(middle) < share ? low : high) = middle;
  }
  return low;
}

/// One latency as a function of a standard normal number.
class LognormalPieces {
public:
  explicit LognormalPieces(const TimeQuantiles &latency) {
    for (const TimeQuantile &one : latency)
      if (one.share < Rational(1))
        points.push_back({normalQuantile(one.share.toDouble()), std::log(std::max(1.0, double(one.time)))});
      else
        max = double(one.time);
  }
  double at(double z) const {
    if (points.empty())
      return std::isinf(max) ? 0 : max;
    if (points.size() == 1)
      return std::exp(points[0].second);
    size_t next = 1;
    while (next + 1 < points.size() && points[next].first < z)
      ++next;
    auto [z0, t0] = points[next - 1];
    auto [z1, t1] = points[next];
    return std::min(max, std::exp(t0 + (z - z0) * (t1 - t0) / (z1 - z0)));
  }

private:
  std::vector<std::pair<double, double>> points; ///< z, ln t
  double max = INFINITY;
};

double estimateOf(const std::vector<TimeQuantiles> &parts, int64_t time) {
  std::vector<LognormalPieces> pieces(parts.begin(), parts.end());
  double low = -9, high = 9;
  auto sum = [&](double z) {
    double all = 0;
    for (const LognormalPieces &one : pieces)
      all += one.at(z);
    return all;
  };
  if (sum(high) <= double(time))
    return 1;
  for (int i = 0; i < 60; ++i) {
    double middle = (low + high) / 2;
    (sum(middle) <= double(time) ? low : high) = middle;
  }
  return normalShare(low);
}

/// Of one latency: at most so much is there by then.
Rational upperShare(const TimeQuantiles &latency, int64_t time) {
  auto next = std::ranges::lower_bound(latency, time, {}, &TimeQuantile::time);
  return next == latency.end() ? Rational(1) : next->share;
}

} // namespace

ArrivalShare arrivalShare(const std::vector<TimeQuantiles> &parts, int64_t time) {
  ArrivalShare result;
  if (time < 0)
    return {0, 0, 0};
  // By time that is used up, the smallest sum of what may be later. Those that are later and no smaller are left out.
  std::map<int64_t, Rational> missing = {{0, 0}};
  for (const TimeQuantiles &part : parts) {
    if (part.empty())
      continue;
    std::map<int64_t, Rational> next;
    for (const auto &[used, late] : missing)
      for (const TimeQuantile &one : part)
        if (used + one.time <= time) {
          Rational sum = late + Rational(1) - one.share;
          auto [slot, isNew] = next.try_emplace(used + one.time, sum);
          if (!isNew)
            slot->second = std::min(slot->second, sum);
        }
    Rational best = Rational(2) + Rational(int64_t(parts.size()));
    std::erase_if(next, [&](const auto &entry) {
      bool isUseless = entry.second >= best;
      best = std::min(best, entry.second);
      return isUseless;
    });
    missing = std::move(next);
    result.max = std::min(result.max, upperShare(part, time));
  }
  result.min = 0;
  for (const auto &[used, late] : missing)
    result.min = std::max(result.min, Rational(1) - late);
  result.estimate = std::clamp(estimateOf(parts, time), result.min.toDouble(), result.max.toDouble());
  return result;
}

std::vector<TimeQuantiles> latencyParts(const AnswerProblem &problem, const AnsweringDevice &device) {
  std::vector<TimeQuantiles> parts;
  for (unsigned kind : device.kinds)
    parts.push_back(problem.runs[kind][device.device][device.level].latency);
  parts.push_back(problem.devices[device.device].network);
  return parts;
}

VoteDelivery deliveryOf(const AnswerProblem &problem, const std::vector<AnsweringDevice> &devices, int64_t quorum,
                        int64_t time, const std::vector<size_t> &failed) {
  VoteDelivery delivery;
  delivery.quorum = quorum;
  for (size_t i = 0; i < devices.size(); ++i) {
    const Rational there = Rational(1) - problem.devices[devices[i].device].lost;
    if (std::ranges::count(failed, i)) {
      delivery.undelivered.push_back(1);
      delivery.minUndelivered.push_back(1);
      continue;
    }
    ArrivalShare share = arrivalShare(latencyParts(problem, devices[i]), time);
    delivery.undelivered.push_back(Rational(1) - there * share.min);
    delivery.minUndelivered.push_back(Rational(1) - there * share.max);
  }
  if (delivery.minUndelivered == delivery.undelivered)
    delivery.minUndelivered.clear();
  for (const PlacedVote &member : placedVotes(devices)) {
    const AnsweringDevice &on = devices[member.on];
    const Rational &bits = problem.runs[member.kind][on.device][on.level].corrupted;
    delivery.device.push_back(static_cast<unsigned>(member.on));
    delivery.corrupted.push_back(Rational(1) -
                                 (Rational(1) - bits) * (Rational(1) - problem.devices[on.device].corrupted));
    delivery.weights.push_back(problem.kinds[member.kind].weight);
  }
  return delivery;
}

} // namespace accord
