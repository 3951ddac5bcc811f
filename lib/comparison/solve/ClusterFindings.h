// What explains the difference between a plan of a cluster and its measured step. Internal to this folder.
#pragma once
#include "lib/comparison/problem/ClusterComparison.h"

namespace accord::comparison {

/// Of ranks whose shares, exchanges and work are there. A finding has at least 0.5 % of the measured step and 2 % of
/// what it is compared with; the largest come first.
std::vector<Finding> findingsOf(const ClusterComparison &comparison);

} // namespace accord::comparison
