// Computes again what kernels are expected to make of 2:4 products, from the products that an answer states.
#pragma once
#include "lib/sparsity/problem/PruneStep.h"

namespace accord {

/// Width, deviation and reach of each table follow from its products, by the definitions of
/// lib/machine/operations/SparseProducts.h. One sentence for each that does not.
std::vector<std::string> findWrongKernels(const std::vector<SparseKernelTable> &kernels);

/// Expected times of an option's products and masks follow from the tables, or from published figures where there is
/// none of the type, and with its ideal times add up to those of the option.
std::vector<std::string> findWrongExpectations(const PruneOption &option,
                                               const std::vector<SparseKernelTable> &kernels);

} // namespace accord
