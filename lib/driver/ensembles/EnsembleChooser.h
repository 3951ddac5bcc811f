// The choice of an ensemble, once it is known what members cost.
#pragma once
#include "lib/ensembles/problem/EnsemblePlan.h"
#include "lib/support/Diagnostics.h"

namespace accord {

/// Chooses, guarantees and claims, once facts and costs are there. False after errors, which go to
/// `diags`: what cannot be certified (A1005, A1007, A1008).
bool chooseEnsemble(EnsemblePlan &plan, Diagnostics &diags);

} // namespace accord
