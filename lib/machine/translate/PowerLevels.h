// The power levels of an accelerator in the dialect, and the one that it is used at.
#pragma once
#include "lib/machine/energy/PowerLevel.h"
#include "mlir/Support/LLVM.h"
#include <vector>

namespace accord {
namespace accel {
class AcceleratorOp;
class ClusterOp;
} // namespace accel

/// Attributes: the levels of an accelerator, or of a device of a cluster, as an array of dictionaries with `name`,
/// `place` (a location) and the keys of a level; the level that an accelerator is used at, as a dictionary with `name`,
/// `clock` and `power`.
constexpr const char *kPowerLevelsAttribute = "power_levels", *kPowerLevelAttribute = "power_level";
/// Gives the accelerators of a cluster the levels that its devices state, in the place of own ones of the same name.
void addLevelsOfDevices(accel::ClusterOp cluster, llvm::ArrayRef<accel::AcceleratorOp> accelerators);

/// In the order in which they are written. Power that is not stated follows from the clock (`dynamicPowerAt`); a level
/// with a cap has a clock and a power of 1 until its clock is found.
std::vector<PowerLevel> powerLevelsOf(accel::AcceleratorOp accelerator);
/// From now on, `machineFrom` gives the machine at this level.
void usePowerLevel(accel::AcceleratorOp accelerator, const PowerLevel &level);
/// The machine at the level that the accelerator is used at; as it is where there is none.
Machine atUsedLevel(accel::AcceleratorOp accelerator, Machine machine);

} // namespace accord
