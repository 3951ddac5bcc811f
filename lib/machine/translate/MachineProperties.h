// The parts that `machineFrom` puts together, each read by itself: for machines that differ in few
// of their blocks.
#pragma once
#include "lib/machine/cost/MemoryOrder.h"
#include "lib/machine/energy/AreaModel.h"
#include "lib/machine/energy/ComponentModel.h"
#include "lib/machine/energy/Cooling.h"
#include "lib/support/Rational.h"

namespace accord {

/// How the area of a chip follows from its parts, where it is not stated.
struct AreaRule {
  const AreaModel *model = nullptr; ///< by a table, of this name
  std::string name;
  std::optional<AreaRates> rates; ///< else by rates
  Origin origin;                  ///< of the area: what is stated, without the sum
};

/// All but the memories and cores of an accelerator.
struct MachineProperties {
  Machine machine; ///< neither memories nor cores; the area only where it is stated
  Rational clock;  ///< cycles per second, exact; 0 when not stated
  AreaRule area;
  double node = 0; ///< metres; 0 when not stated
  ComponentRule components;
};

/// Whether the clock is one that the process reaches at the stated 'voltage', a share of the nominal supply from 0.75
/// to 1.3. Errors A1404 and A0302 at the key. Nothing is checked where none is stated.
mlir::LogicalResult checkVoltage(accel::AcceleratorOp accelerator, const MachineProperties &head);

/// False after errors: those of `machineFrom`, each at the place of the key. What is right is
/// there.
bool readMachineProperties(accel::AcceleratorOp accelerator, MachineProperties &head);
/// `node`: of the process, for the energy of a memory that states none; 0 leaves it 0.
mlir::FailureOr<Memory> memoryOf(accel::MemoryOp memory, const Rational &clock, double node);
/// `ratesAgree`: a peak and an array (or lanes) that give different rates are an error.
mlir::FailureOr<Core> coreOf(accel::CoreOp core, const Rational &clock, const MemoryOrder &order,
                             bool ratesAgree = true);

/// The area of the parts by the rule. Error A0483, without a place: the model does not cover the
/// machine. `applyComponents` is for the model of components.
std::optional<Error> applyArea(const AreaRule &rule, Machine &machine);

} // namespace accord
