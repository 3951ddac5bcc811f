// Densities of a network's layers from one density of the whole, and the work that masks leave.
#pragma once
#include "lib/machine/model/WorkGraph.h"
#include "lib/support/Result.h"
#include <string>
#include <vector>

namespace accord {

/// A parameter that a mask may have zeros in: the weights of a contraction in the forward pass.
struct MaskedLayer {
  OperationId operation = kNone;
  std::string name;
  std::vector<int64_t> dims; ///< of the parameter: kernel height and width, channels, …
  double count = 1;          ///< parameters of this shape: iterations of the repeats around it
  double elements() const;   ///< of one
};

/// In the order of the forward pass.
std::vector<MaskedLayer> maskedLayers(const WorkGraph &);

/// Erdos-Renyi-Kernel: each density is proportional to sum(dims) / product(dims), at most 1, so that the share
/// `density` of all elements is kept; those at 1 stay there and the others are solved again (Evci et al.: Rigging the
/// Lottery, ICML 2020, section 3). A1010: no layers, a dimension below 1, or a density that is not from 0 to 1.
Result<std::vector<double>> erkDensities(const std::vector<MaskedLayer> &, double density);
/// The first layer dense, all others with `density` (as in the same paper). A1010 as above.
Result<std::vector<double>> uniformDensities(const std::vector<MaskedLayer> &, double density);

/// FLOPs with masks and without.
struct MaskedFlops {
  double masked = 0, dense = 0;
  double ratio() const { return masked / dense; }
};
/// Of one sample's inference: contractions of masked layers by their densities, all others and what is no contraction
/// whole. A batch normalization is folded into the convolution before it: one addition for each element. By the
/// convention of the literature on masks, where each of the three products of training takes what inference takes, this
/// is the ratio of a static mask's training as well.
MaskedFlops inferenceFlops(const WorkGraph &, const std::vector<MaskedLayer> &, const std::vector<double> &densities);
/// Of one step as the graph has it (the first layer has no data gradient; normalizations in full): contractions of
/// masked layers in all their phases. `contractionsAlone` leaves out everything else.
MaskedFlops trainingFlops(const WorkGraph &, const std::vector<MaskedLayer> &, const std::vector<double> &densities,
                          bool contractionsAlone);

} // namespace accord
