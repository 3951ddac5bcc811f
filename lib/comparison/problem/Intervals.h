// Sets of times as sorted intervals that do not meet.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

namespace accord::comparison {

using Interval = std::pair<double, double>;

class Intervals {
public:
  Intervals() = default;
  /// The union of any intervals, those without length left out.
  explicit Intervals(std::vector<Interval> all) {
    std::sort(all.begin(), all.end());
    for (const Interval &one : all)
      if (one.second > one.first) {
        if (!parts.empty() && one.first <= parts.back().second)
          parts.back().second = std::max(parts.back().second, one.second);
        else
          parts.push_back(one);
      }
  }
  const std::vector<Interval> &list() const { return parts; }
  double length() const {
    double sum = 0;
    for (const Interval &one : parts)
      sum += one.second - one.first;
    return sum;
  }
  /// How much of [from, to) is in the set.
  double overlap(double from, double to) const {
    double sum = 0;
    auto at = std::upper_bound(parts.begin(), parts.end(), from,
                               [](double value, const Interval &one) { return value < one.second; });
    for (; at != parts.end() && at->first < to; ++at)
      sum += std::min(to, at->second) - std::max(from, at->first);
    return std::max(0.0, sum);
  }
  /// What of [from, to) is not in the set.
  std::vector<Interval> gaps(double from, double to) const {
    std::vector<Interval> all;
    auto at = std::partition_point(parts.begin(), parts.end(), [&](const Interval &one) { return one.second <= from; });
    for (; at != parts.end(); ++at) {
      const Interval &one = *at;
      if (one.first >= to)
        break;
      if (one.first > from)
        all.emplace_back(from, one.first);
      from = std::max(from, one.second);
    }
    if (from < to)
      all.emplace_back(from, to);
    return all;
  }

private:
  std::vector<Interval> parts;
};

} // namespace accord::comparison
