// Why no interleaved plan of even stages has a step below a bound: means of paths through its passes, for the verifier
// to measure. Written by lib/placement/solve.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

namespace accord {

/// All plans of one parallel configuration, number of groups p, virtual stages v and micro-batches m: stages of floor(L
/// / (p v)) of the L layers
/// of a chain or of one more.
///
/// A *path* is a way through the passes from the first one of group 0 to the last one of some group: along the order in
/// which a group runs its passes, or from a pass to the one that waits for what it sends (forward to the next stage,
/// backward to the one before). No plan's step is shorter than it, nor than a mean of several.
struct PathBound {
  int64_t groups = 1, virtualStages = 1, microbatches = 1;
  uint32_t parallelConfig = 0;
  /// Passes along one group before the path goes over to the group that waits for the last of them, as (how many,
  /// times): (3, 2) is 3, then 3 again. The last one ends at the group's end.
  using Path = std::vector<std::pair<uint32_t, uint32_t>>;
  std::vector<Path> paths;
  struct Share {
    uint32_t of = 0;
    double weight = 0;
  };
  /// A part of the plans; a tree in preorder, the first one is of all plans. It falls into two parts or has a mean that
  /// says enough.
  struct Part {
    enum class Split : uint8_t {
      None,
      Group, ///< at most `most` stages of the group `of` have a layer more; then at least most + 1
      Stage  ///< the stage `of` has no layer more; then it has
    };
    Split fork = Split::None;
    uint32_t of = 0;
    int64_t max = 0;
    std::vector<Share> paths; ///< index into PathBound::paths; weights are positive, their sum is 1
    /// By group: after so many of its forward passes its memory is looked at; a mean of these moments. Likewise.
    std::vector<std::vector<Share>> moments;
  };
  std::vector<Part> parts;
};

} // namespace accord
