// The clock of a power level that states a cap instead of one, and warnings of power.
#pragma once
#include "lib/driver/Options.h"
#include "lib/machine/model/Plan.h"
#include "lib/placement/problem/PlacementPlan.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace accord {
class Session;

/// Watts of one device, on average over a step; of a placement over its devices, without their hosts. Negative without
/// a plan.
double deviceWatts(const Plan &plan);
double deviceWatts(const PlacementPlan &plan);

/// The highest clock at which a step keeps the cap of the level of `--power-level`, by bisection over plans at the
/// least effort; 0 where the level states none, or after errors, which the command finds again. A level that several
/// kinds of devices have with a cap is at its lowest clock, 0. `wattsOf`: what a device of a session's step draws;
/// negative: not known.
double clockUnderCap(Options options, llvm::function_ref<double(Session &)> wattsOf);

/// A warning where a plan draws more than the cap, as plans at more effort may, since they are faster.
void warnAboveCap(Session &session, double watts);

/// Warnings A1401 to A1404 of a machine that is hard to build or to cool, at its declaration.
void warnOfBuildability(Diagnostics &diags, const Machine &machine);

} // namespace accord
