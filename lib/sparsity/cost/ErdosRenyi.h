// Densities of layers from one density of the network.
#pragma once
#include "lib/machine/model/WorkGraph.h"

namespace accord {

/// Weights of a layer.
struct ErdosRenyiLayer {
  double sum = 0;      ///< of the dimensions of one matrix or kernel: height, width, channels, filters
  double elements = 0; ///< of one
  double copies = 1;   ///< iterations of the repeats around it
};
/// Of the tensor `stationary` of a product.
ErdosRenyiLayer erdosRenyiLayer(const WorkGraph &graph, OperationId operation, size_t stationary);

/// Erdos-Renyi-Kernel: each density is a factor times sum / elements, at most 1, so that the share `density` of all
/// elements is kept; layers at 1 stay there and the factor of the others is found again (Evci et al.: Rigging the
/// Lottery, ICML 2020, section 3).
std::vector<double> erdosRenyiDensities(const std::vector<ErdosRenyiLayer> &layers, double density);

} // namespace accord
