// Open boxes of a branch and bound, in little memory: millions are held at once.
#pragma once
#include "lib/exploration/problem/Design.h"
#include <cstring>
#include <functional>

namespace accord {

/// A heap by bound, then by low corner in the order of parameters. A box takes 16 bytes and, for
/// each parameter and corner, as many as its number of choices needs.
class OpenNodes {
public:
  /// `corners`: 1 if all boxes are of one design, else 2.
  OpenNodes(const std::vector<DesignParameter> &parameters, unsigned corners);

  bool empty() const { return heap_.empty(); }
  size_t size() const { return heap_.size(); }
  void push(double bound, const DesignBox &box);
  /// Of the first; there is one.
  double bound() const { return heap_.front().bound; }
  DesignBox first() const { return at(heap_.front().slot); }
  void pop();
  /// Drops what `keep` refuses.
  void filter(const std::function<bool(double bound, const DesignBox &)> &keep);

private:
  struct Entry {
    double bound;
    uint32_t slot;
  };
  DesignBox at(uint32_t slot) const;
  bool later(const Entry &a, const Entry &b) const;

  std::vector<uint8_t> widths_; ///< bytes, by parameter
  size_t corner_ = 0, stride_ = 0;
  std::vector<Entry> heap_;
  std::vector<std::vector<uint8_t>> blocks_; ///< of kBlock boxes each, so that growing copies none
  std::vector<uint32_t> free_;
  uint32_t used_ = 0;
  static constexpr uint32_t kBlock = 1 << 14;
};

} // namespace accord
