// From times to the objective: what a picosecond of a step costs, by the devices used.
#pragma once
#include "lib/placement/solve/DownSetLattice.h"

namespace accord::placing {

/// Of devices in use; sums of groups add up.
struct Rates {
  double watts = 0, price = 0, tdp = 0; ///< idle; per second; thermal design power
  int64_t devices = 0;

  Rates &operator+=(const Rates &b);
};
Rates ratesOf(const PlacementProblem &problem, Id parallelConfig);
/// Least of each.
Rates minRates(Rates a, const Rates &b);

/// No plan with these or higher rates that takes `step` or longer and works with `joules` or more
/// is worth less; infinite where a limit is passed. `mostTdpTime` is a limit, too, of step time *
/// thermal design power in W s (0: none).
double valueOf(const PlacementProblem &problem, double step, const Rates &rates, double joules, double maxTdpTime);

/// Steps longer than this have no value below `value`, at these rates or higher ones.
double stepFor(const PlacementProblem &problem, double value, const Rates &rates, double joules);

} // namespace accord::placing
