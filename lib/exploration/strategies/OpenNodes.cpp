#include "lib/exploration/strategies/OpenNodes.h"
#include <algorithm>

namespace accord {

OpenNodes::OpenNodes(const std::vector<DesignParameter> &parameters, unsigned corners) {
  for (const DesignParameter &parameter : parameters) {
    size_t choices = parameter.labels.size();
    widths_.push_back(choices <= 1 << 8 ? 1 : choices <= 1 << 16 ? 2 : 4);
    corner_ += widths_.back();
  }
  stride_ = corner_ * corners;
}

// Most significant byte first: the order of bytes is that of parameters.
static void write(uint8_t *&to, uint32_t choice, unsigned width) {
  while (width-- > 0)
    *to++ = static_cast<uint8_t>(choice >> (8 * width));
}

static uint32_t read(const uint8_t *&from, unsigned width) {
  uint32_t choice = 0;
  while (width-- > 0)
    choice = choice << 8 | *from++;
  return choice;
}

bool OpenNodes::later(const Entry &a, const Entry &b) const {
  if (a.bound != b.bound)
    return a.bound > b.bound;
  const uint8_t *lowA = blocks_[a.slot / kBlock].data() + a.slot % kBlock * stride_;
  const uint8_t *lowB = blocks_[b.slot / kBlock].data() + b.slot % kBlock * stride_;
  return corner_ > 0 && std::memcmp(lowA, lowB, corner_) > 0;
}

void OpenNodes::push(double bound, const DesignBox &box) {
  uint32_t slot;
  if (!free_.empty()) {
    slot = free_.back();
    free_.pop_back();
  } else {
    slot = used_++;
    if (slot / kBlock == blocks_.size())
      blocks_.emplace_back(kBlock * stride_);
  }
  uint8_t *to = blocks_[slot / kBlock].data() + slot % kBlock * stride_;
  for (size_t i = 0; i < widths_.size(); ++i)
    write(to, box.low[i], widths_[i]);
  for (size_t i = 0; stride_ > corner_ && i < widths_.size(); ++i)
    write(to, box.high[i], widths_[i]);
  heap_.push_back({bound, slot});
  std::push_heap(heap_.begin(), heap_.end(), [this](const Entry &a, const Entry &b) { return later(a, b); });
}

DesignBox OpenNodes::at(uint32_t slot) const {
  const uint8_t *from = blocks_[slot / kBlock].data() + slot % kBlock * stride_;
  DesignBox box;
  for (uint8_t width : widths_)
    box.low.push_back(read(from, width));
  if (stride_ == corner_)
    box.high = box.low;
  else
    for (uint8_t width : widths_)
      box.high.push_back(read(from, width));
  return box;
}

void OpenNodes::pop() {
  std::pop_heap(heap_.begin(), heap_.end(), [this](const Entry &a, const Entry &b) { return later(a, b); });
  free_.push_back(heap_.back().slot);
  heap_.pop_back();
}

void OpenNodes::filter(const std::function<bool(double, const DesignBox &)> &keep) {
  std::erase_if(heap_, [&](const Entry &entry) {
    if (keep(entry.bound, at(entry.slot)))
      return false;
    free_.push_back(entry.slot);
    return true;
  });
  std::make_heap(heap_.begin(), heap_.end(), [this](const Entry &a, const Entry &b) { return later(a, b); });
}

} // namespace accord
