// Pipelines whose stages may each be on another device type, in parallel configurations of equal degrees.
#pragma once
#include "lib/placement/solve/PlacementSolver.h"

namespace accord {

/// No plan is worth less, by bounds of configurations and, of each number of groups, by the dynamic program over cuts
/// from the last stage to the first. Not more than is true where each layer's forward pass and its passes together are
/// not more, however they are divided between forward and backward (`SuffixBound`,
/// lib/placement/solve/ConfigurationContext.h, knows no other time). `below` or more will do.
double lowerBoundByCuts(const PlacementProblem &problem, double below);

/// A good plan worth less than `below`, of all parallel configurations in any stages; they take equally many devices
/// and samples. For each schedule but interleaved ones and each number of groups, and for many bottlenecks: the cut and
/// the parallel configurations of least work (`TdpTime`: of least power, then work) where no stage takes longer, by a
/// dynamic program; then other parallel configurations and neighbouring cuts, one at a time, while the evaluation says
/// that they are better. Nothing is proved. Deterministic.
PlacementResult placeStages(const PlacementProblem &problem, double below);

} // namespace accord
