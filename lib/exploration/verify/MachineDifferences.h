// What a plan says otherwise than the space or the cost model that it should follow from.
#pragma once
#include "lib/machine/model/Costs.h"
#include "lib/machine/model/WorkGraph.h"

namespace accord {

/// Up to the last digits, which sums in another order differ in.
bool close(double a, double b);
/// All numbers of a core's microarchitecture that times follow from, in a row; empty: it has none.
std::string numbersOf(const Core &core);
/// The first number of two machines that is not the same, with both; empty: none.
std::string differs(const Machine &said, const Machine &ofSpace);
/// The first price that is not that of the cost model, with both; empty: none. Repeats have none.
std::string differs(const WorkGraph &graph, const Costs &said, const Costs &priced);

} // namespace accord
