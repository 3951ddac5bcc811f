// From bytes that tensors take to bytes that a device has to have: what an allocator reserves, and what lies outside of
// it.
#pragma once
#include "lib/machine/model/Framework.h"
#include "lib/support/Result.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace accord {

/// What a framework makes of the memory of each device type. Bytes of one device.
struct DeviceMemory {
  std::string framework;
  double reservedRatio = 1; ///< see `Framework`
  int64_t context = 0, communication = 0, buckets = 0;
  double margin = 0, confidence = 0.9;
  /// What scripts have to ask of the framework, as `Framework` says.
  bool fp32Gradients = false, fp32Reductions = false, vocabularyPerTensor = false;
  int64_t vocabularyMultiple = 1;
  /// By device type: what its devices have, and what a requirement leaves of it (0: all).
  struct Type {
    int64_t capacity = 0, limit = 0;
  };
  std::vector<Type> types;

  static DeviceMemory of(const Framework &framework);

  /// What tensors take, with buckets of gradients, of what a plan gives them.
  int64_t allocated(int64_t tensors) const { return tensors + buckets; }
  /// What the allocator has at its peak, rounded up.
  int64_t reserved(int64_t tensors) const;
  /// What a tool of the driver shows.
  int64_t onDevice(int64_t tensors) const { return reserved(tensors) + context + communication; }
  /// The most bytes of tensors with which `onDevice` and the margin are within the capacity, and `onDevice` within the
  /// limit; negative: not even an empty program is.
  int64_t budget(const Type &type) const;
};

} // namespace accord
