// What is stated of bytes over links, counted again as far as a placement problem tells it.
#pragma once
#include "lib/placement/problem/LinkTraffic.h"

namespace accord {

/// Of a plan without violations.
/// - Between stages: each output of a layer once into each later stage that reads it, and its gradient back, for every
///   micro-batch; gradients of tied parameters both ways. Exact.
/// - Data: not less than (n - 1) / n of the gradients that n replicas add up, which no way of adding them sends less
///   than (Chan et al., Concurrency and Computation 19(13), 2007, section 3; a switch that adds takes all of them).
/// - What is sent for a kind of parallelism, only where there is one.
/// What layers exchange inside of them follows from the training graph, of which a placement problem has the times
/// alone: That is trusted, and --from counts it again. Code: CertificateDisagrees.
Errors trafficViolations(const PlacementProblem &problem, const Placement &plan, const LinkTraffic &traffic);

} // namespace accord
