// The placement problems among the choices of a cluster: choices that make another one, and choices that only change
// what exchanges take.
#pragma once
#include "lib/exploration/problem/Design.h"
#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace accord {

/// Parameters of a cluster are the last of a design's. A point is a choice of each of those that are *enumerated*; the
/// others are *relaxed*: a box keeps all of their values at each point.
class ClusterPoints {
public:
  /// All parameters are enumerated, and each combination is a point, the last one counting fastest.
  explicit ClusterPoints(const std::vector<DesignParameter> &parameters)
      : sizes_(sizesOf(parameters)), relaxed_(parameters.size(), false) {}
  /// `points`: the combinations that there are, ascending, with 0 for what is relaxed.
  ClusterPoints(const std::vector<DesignParameter> &parameters, std::vector<bool> relaxed, std::vector<Design> points)
      : sizes_(sizesOf(parameters)), relaxed_(std::move(relaxed)), listed_(std::move(points)), isListed_(true) {
    for (size_t i = 0; i < listed_.size(); ++i)
      places_[listed_[i]] = i;
  }
  static constexpr size_t kNone = ~size_t(0);

  bool isListed() const { return isListed_; }
  bool none() const { return sizes_.empty(); }
  size_t parameters() const { return sizes_.size(); }
  bool relaxes(size_t parameter) const { return relaxed_[parameter]; }
  bool relaxesAny() const { return std::find(relaxed_.begin(), relaxed_.end(), true) != relaxed_.end(); }
  size_t count() const {
    if (isListed_)
      return listed_.size();
    size_t count = 1;
    for (uint32_t size : sizes_)
      count *= size;
    return count;
  }
  /// By parameter of the cluster, at a point; what is relaxed is 0.
  Design at(size_t point) const {
    if (isListed_)
      return listed_[point];
    Design choices(sizes_.size());
    for (size_t i = sizes_.size(); i-- > 0; point /= sizes_[i])
      choices[i] = static_cast<uint32_t>(point % sizes_[i]);
    return choices;
  }
  /// Of a box what is not of the cluster, and whether that is one machine.
  std::pair<Design, Design> machinesOf(const DesignBox &box) const {
    auto part = [&](const Design &of) { return Design(of.begin(), of.end() - static_cast<ptrdiff_t>(sizes_.size())); };
    return {part(box.low), part(box.high)};
  }
  bool isSingleMachine(const DesignBox &box) const {
    auto [low, high] = machinesOf(box);
    return low == high;
  }
  /// What is of the cluster.
  DesignBox clustersOf(const DesignBox &box) const {
    auto part = [&](const Design &of) { return Design(of.end() - static_cast<ptrdiff_t>(sizes_.size()), of.end()); };
    return {part(box.low), part(box.high)};
  }
  /// `kNone`: these numbers make no cluster.
  size_t of(const Design &design) const {
    size_t first = design.size() - sizes_.size();
    if (isListed_) {
      Design key(design.begin() + static_cast<ptrdiff_t>(first), design.end());
      for (size_t i = 0; i < key.size(); ++i)
        key[i] = relaxed_[i] ? 0 : key[i];
      auto found = places_.find(key);
      return found == places_.end() ? kNone : found->second;
    }
    size_t point = 0;
    for (size_t i = 0; i < sizes_.size(); ++i)
      point = point * sizes_[i] + design[first + i];
    return point;
  }
  /// Machines of a box, and its values of what is relaxed: what a bound at a point follows from.
  std::pair<Design, Design> keyOf(const DesignBox &box) const {
    std::pair<Design, Design> key{box.low, box.high};
    for (size_t i = 0, first = box.low.size() - sizes_.size(); i < sizes_.size(); ++i)
      if (!relaxed_[i])
        key.first[first + i] = key.second[first + i] = 0;
    return key;
  }
  /// The same box at each of its points.
  template <typename Each> void each(const DesignBox &box, Each each) const {
    DesignBox one = box;
    size_t first = box.low.size() - sizes_.size();
    for (size_t point = 0, points = count(); point < points; ++point) {
      Design choices = at(point);
      bool inside = true;
      for (size_t i = 0; i < choices.size() && inside; ++i)
        inside = relaxed_[i] || (box.low[first + i] <= choices[i] && choices[i] <= box.high[first + i]);
      if (!inside)
        continue;
      for (size_t i = 0; i < choices.size(); ++i)
        if (!relaxed_[i])
          one.low[first + i] = one.high[first + i] = choices[i];
      each(point, one);
    }
  }

private:
  static std::vector<uint32_t> sizesOf(const std::vector<DesignParameter> &parameters) {
    std::vector<uint32_t> sizes;
    for (const DesignParameter &parameter : parameters)
      sizes.push_back(static_cast<uint32_t>(parameter.labels.size()));
    return sizes;
  }
  std::vector<uint32_t> sizes_;
  std::vector<bool> relaxed_;
  std::vector<Design> listed_;
  std::map<Design, size_t> places_;
  bool isListed_ = false;
};

} // namespace accord
