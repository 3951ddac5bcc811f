// What is not hidden of exchanges that go round a ring beside the attention to what has come already.
#pragma once
#include "lib/machine/model/WorkGraph.h"

namespace accord {

/// What counts of the time of each operation, in its unit. An exchange of a ring (`Communication::ring`) of n devices
/// goes on in n - 1 steps, each beside the attention to one of n equal pieces of keys and values (Liu et al., Ring
/// Attention, 2023, section 3): of exchanges that take T together, beside products that read or make what they bring
/// and take A, max(0, T - (n - 1) / n A) remains. The exchanges of one product share it in their order; views between
/// them take no time. All other times stay as they are.
std::vector<double> exposedTimes(const WorkGraph &graph, std::vector<double> times);

} // namespace accord
