// What the search asks about a nest thousands of times, in the form that answers fastest.
#pragma once
#include "lib/machine/tiling/LoopSplit.h"
#include "lib/machine/tiling/Nest.h"
#include <vector>

namespace accord::tile {

/// The positions of one dimension, with equal loops joined and common factors of strides cancelled.
struct ShapeDimension {
  std::vector<Term> terms;
  double cap = 0; ///< elements there are; infinite if unknown
  double positions(const int64_t *extents) const;
};

struct ShapeTensor {
  explicit ShapeTensor(const NestTensor &from);
  double elements(const int64_t *extents) const;
  /// Sum of `elements` over all tiles, by how each loop is split.
  double sum(const Split *splits) const;

  uint32_t loops = 0; ///< mask of those that index it
  double bits = 0;
  bool written = false;
  /// Whether a tile that is so many times as long in one loop has at most so many times the
  /// elements: not known of positions made of three loops, or of a loop that stands in two
  /// dimensions.
  bool shrinksByLoop = true;
  double whole = 0; ///< elements of the whole nest; set by Shape
  /// Dimensions that share no loop with another one multiply; those that do are summed together.
  struct Component {
    std::vector<ShapeDimension> dimensions;
    std::vector<unsigned> loops;
  };
  std::vector<Component> components;
};

struct Shape {
  explicit Shape(const Nest &nest);
  double footprintBits(const int64_t *extents) const;

  std::vector<int64_t> extents;
  std::vector<ShapeTensor> tensors;
  std::vector<uint32_t> indexes; ///< by loop: mask of the tensors it indexes
};

} // namespace accord::tile
