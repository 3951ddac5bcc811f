// Machine dialect -> plain data of a microarchitecture.
#pragma once
#include "lib/microarchitecture/problem/Microarchitecture.h"
#include "mlir/Support/LLVM.h"

namespace accord {
/// Attribute of a core: the symbol of its microarchitecture in the module.
constexpr const char *kMicroarchitectureAttribute = "microarchitecture";

namespace accel {
class CoreOp;
class MicroarchitectureOp;
} // namespace accel

/// Parts in the order of the text, by kind; bytes and bits as whole numbers; expressions of cycles in postfix order.
/// Errors, each at its key where that is known: a value left open, numbers beyond 2^30 (addresses: 2^62), parts of a
/// byte or bit, immediates that an opcode does not have, more than 16 numbers that wait in an expression, and all that
/// `check` finds in the machine. What is wrong at one place is said once, however many copies an array has.
mlir::FailureOr<microarchitecture::Microarchitecture> microarchitectureFrom(accel::MicroarchitectureOp op);

/// Attribute of a microarchitecture with the parameters that are left open, by name, each a choice; values that follow
/// from one refer to `CORE.NAME`.
constexpr const char *kOpenParameters = "parameters";

/// The microarchitecture of a core, as it stands beside the accelerator; null: it has none.
accel::MicroarchitectureOp microarchitectureOf(accel::CoreOp core);

} // namespace accord
