// What layers take at least, from what their operations take at least: before anything is
// scheduled.
#pragma once
#include "lib/placement/builder/Layers.h"
#include <array>

namespace accord {

/// With times not above those of a schedule, no member of what `of` gives is above that of
/// `layerUses` for any layering that is made of this one (`Layering::finest`): summed over the
/// layers that became one, and the time behind the forward pass in all. Exact are the residents,
/// but that of what several layers own the first one has all. `kept` is what the iterations of
/// repeats stash, and `working` 0.
class MinLayerUse {
public:
  MinLayerUse(const Layering &layering, const WorkGraph &graph);
  /// Seconds of each operation of a micro-batch, then of the update, by position in their regions;
  /// of a repeat in all of its iterations. Gradients of weights, and what is computed again, are in
  /// `backward`.
  std::vector<LayerUse> of(const std::vector<double> &seconds) const;

private:
  struct Share {
    uint32_t cls = 0;
    int64_t LayerUse::*into = nullptr;
  };
  std::vector<LayerUse> bytes_; ///< by class
  std::vector<double> counts_;  ///< layers by class
  std::vector<Share> shares_;   ///< by position
};

} // namespace accord
