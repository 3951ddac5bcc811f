// The layers of a network for a dataflow device, from its work graph.
#pragma once
#include "lib/machine/model/WorkGraph.h"
#include "lib/sparsity/problem/Dataflow.h"

namespace accord {

/// The products of the forward pass in their order, for one image (sample): those of a repeat as often as it runs, as
/// "name #2" from the second on. What is no product needs no multipliers and is left out. Products of two activations
/// (attention) are right for graphs of one sample alone. Operations whose loops are no product, or more than 10,000
/// layers: none, and `wrong` says why.
std::vector<DataflowLayer> dataflowLayers(const WorkGraph &graph, std::string &error);

} // namespace accord
