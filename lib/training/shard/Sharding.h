// How the devices of one axis hold a tensor.
#pragma once
#include "dialects/dnn/Dnn.h"

namespace accord::shard {

struct Sharding {
  enum Kind : uint8_t {
    Replicated, ///< every device has all of it
    Split,      ///< each device has one part along `dimension`, in the order of the ranks
    Partial,    ///< the sum over the devices is it
    Zero        ///< it is zero, and so is each of its parts
  };
  Kind kind = Replicated;
  int64_t dimension = -1; ///< of the tensor, the batch counted

  static Sharding split(int64_t dimension) { return {Split, dimension}; }
  bool operator==(const Sharding &) const = default;
};

/// The type on one of `devices` devices; a stash's is that of its slices. The dimension must be divisible.
mlir::Type localType(mlir::Type type, Sharding sharding, int64_t devices);
/// Whether `dimension` of the tensor can be cut into equal parts.
bool divisible(mlir::Type type, int64_t dimension, int64_t devices);

} // namespace accord::shard
