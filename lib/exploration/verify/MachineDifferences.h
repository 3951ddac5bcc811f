// What a plan says otherwise than the space or the cost model that it should follow from.
#pragma once
#include "lib/machine/model/Costs.h"
#include "lib/machine/model/WorkGraph.h"

namespace accord {

/// Up to the last digits, which sums in another order differ in.
bool close(double a, double b);
/// The first number of two machines that is not the same, with both; empty: none.
std::string differs(const Machine &said, const Machine &ofSpace);
/// The first price that is not that of the cost model, with both; empty: none. Repeats have none.
std::string differs(const WorkGraph &graph, const Costs &said, const Costs &priced);

} // namespace accord
