// What a cluster leaves open: numbers of servers and devices, its networks and hosts.
#pragma once
#include "lib/exploration/problem/Design.h"
#include <map>
#include <memory>

namespace accord::accel {
class ClusterOp;
}

namespace accord {

/// The choices of a cluster. `choose` writes into the operation that it was made of, which has to outlive it.
class ClusterSpace {
public:
  /// Each combination is a placement problem of its own.
  static constexpr uint64_t kMax = 256;

  /// Without choices there are no parameters, and one point. Issues: A0303, A0305, A0307, A0311 a choice that has no
  /// values, or too many, or more than `kMax` combinations; A0307 of what cannot be a choice.
  static Result<ClusterSpace, Errors> of(accel::ClusterOp cluster);
  ClusterSpace(ClusterSpace &&) noexcept;
  ~ClusterSpace();

  /// By the names of what they are of: "board.count", "ici.bandwidth".
  const std::vector<DesignParameter> &parameters() const;
  size_t points() const;
  /// By parameter, from their values at a point; the last one counts fastest.
  Design at(size_t point) const;
  void choose(const Design &choices) const;
  /// Values by name, as they are written.
  std::map<std::string, std::string> labels(const Design &choices) const;

private:
  struct Data;
  explicit ClusterSpace(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

/// Points of choices whose parameters are the last of a design's, the last one counting fastest.
class ClusterPoints {
public:
  explicit ClusterPoints(const std::vector<DesignParameter> &parameters) {
    for (const DesignParameter &parameter : parameters)
      sizes_.push_back(static_cast<uint32_t>(parameter.labels.size()));
  }
  bool none() const { return sizes_.empty(); }
  size_t count() const {
    size_t count = 1;
    for (uint32_t size : sizes_)
      count *= size;
    return count;
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
  size_t of(const Design &design) const {
    size_t point = 0, first = design.size() - sizes_.size();
    for (size_t i = 0; i < sizes_.size(); ++i)
      point = point * sizes_[i] + design[first + i];
    return point;
  }
  /// The same box at each of its points.
  template <typename Each> void each(const DesignBox &box, Each each) const {
    DesignBox one = box;
    size_t first = box.low.size() - sizes_.size(), i = 0;
    std::copy(box.low.begin() + static_cast<ptrdiff_t>(first), box.low.end(),
              one.high.begin() + static_cast<ptrdiff_t>(first));
    do {
      each(of(one.low), one);
      for (i = sizes_.size(); i > 0; --i) {
        size_t p = first + i - 1;
        if (one.low[p] < box.high[p]) {
          one.high[p] = ++one.low[p];
          break;
        }
        one.high[p] = one.low[p] = box.low[p];
      }
    } while (i > 0);
  }

private:
  std::vector<uint32_t> sizes_;
};

} // namespace accord
