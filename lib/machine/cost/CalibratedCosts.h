// Measured efficiency instead of the data sheet's: what the operations of a step cost on a calibrated machine.
#pragma once
#include "lib/machine/calibration/Parameters.h"
#include "lib/machine/model/Costs.h"
#include "lib/machine/model/WorkGraph.h"
#include "lib/support/Result.h"

namespace accord {

/// Replaces the time of each operation that runs on a core by `calibrate::operationTimes`. The bound and the formula
/// say both times. Kernels hold the whole device (`kCalibratedModel`, see `usesCore`). Exchanges with other devices and
/// given times stay. Error A0451: the machine has no peak for a product's type.
std::optional<Error> calibrateCosts(const WorkGraph &graph, const Machine &machine,
                                    const calibrate::Parameters &parameters, Costs &costs);

} // namespace accord
