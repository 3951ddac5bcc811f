#include "lib/placement/problem/DeviceMemory.h"
#include <algorithm>
#include <cmath>

namespace accord {

DeviceMemory DeviceMemory::of(const Framework &framework) {
  DeviceMemory memory;
  memory.framework = framework.name;
  memory.reservedRatio = framework.reservedRatio;
  memory.context = framework.context, memory.communication = framework.communication;
  memory.buckets = framework.gradientBuckets;
  memory.margin = framework.margin, memory.confidence = framework.confidence;
  memory.fp32Gradients = framework.fp32Gradients, memory.fp32Reductions = framework.fp32Reductions;
  memory.vocabularyMultiple = framework.vocabularyMultiple;
  memory.vocabularyPerTensor = framework.vocabularyPerTensor;
  return memory;
}

int64_t DeviceMemory::reserved(int64_t tensors) const {
  return static_cast<int64_t>(std::min(0x1p61, std::ceil(reservedRatio * static_cast<double>(allocated(tensors)))));
}

int64_t DeviceMemory::budget(const Type &type) const {
  double max = static_cast<double>(type.capacity) / (1 + margin);
  if (type.limit > 0)
    max = std::min(max, static_cast<double>(type.limit));
  double free = std::floor(max) - static_cast<double>(context) - static_cast<double>(communication);
  auto tensors = static_cast<int64_t>(std::floor(free / reservedRatio)) - buckets;
  // What rounding of the quotient leaves.
  while (reserved(tensors) > free)
    --tensors;
  while (tensors < type.capacity && reserved(tensors + 1) <= free)
    ++tensors;
  return tensors;
}

} // namespace accord
