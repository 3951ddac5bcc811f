// Zeros that a training may have, as what its placement chooses from.
#pragma once
#include "lib/placement/builder/LayerSparsity.h"
#include "lib/sparsity/solve/SparsitySearch.h"

namespace accord {

/// Of the options of a step of one device (`sparsityOptions`), each pattern in the format that is best there. Budgets:
/// the loss of accuracy, in `lossUnits`, where one is required; and layers with zeros, where they are limited.
PlacementSparsityRequest placementSparsityOf(const PrunePlan &options, SparseLayerUses::Options pricing);

/// What the zeros of a plan lose of the metric, in all.
Rational lossOf(const PlacementSparsity &zeros);

} // namespace accord
