// What each operation of a step takes on a calibrated machine: the one price that a device alone, a placement, a
// latency model and a calibration share.
#pragma once
#include "lib/machine/calibration/WorkTime.h"
#include "lib/support/Result.h"
#include <vector>

namespace accord::calibrate {

/// Seconds of one execution of each operation, by OperationId; 0 of repeats and of views of other values. Kernels run
/// one after the other on the whole device, which waits for the host where launching takes longer than computing:
///   time = workTime * max(1, sum of launches / sum of times on the device), both over one micro-batch.
/// An operation of the update takes `updateTime` or `updatedRowsTime`; one that replicas exchange takes `rowsTime`.
/// Error A0451: the machine has no peak for a product's type.
Result<std::vector<double>> operationTimes(const WorkGraph &graph, const Machine &machine, const Parameters &parameters,
                                           const Layout &layout);

/// How many equal lookups the region of each lookup has, itself among them (one kernel runs all of them, each has its
/// share of it); 1 of other operations. By OperationId.
std::vector<double> equalLookupsOf(const WorkGraph &graph);

/// How much longer a micro-batch takes than the device computes, because the host launches it: at least 1.
inline double hostFactor(double device, double host) { return device > 0 ? std::max(1.0, host / device) : 1; }

/// What the host adds to a kernel, a micro-batch and a step of this training.
Machine::HostOverhead hostOverheadOf(const WorkGraph &graph, const Parameters &parameters);

} // namespace accord::calibrate
