#include "dialects/accel/AccelDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace accord::accel;

#include "dialects/accel/AccelDialect.cpp.inc"

void AccelDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialects/accel/AccelOps.cpp.inc"
      >();
}

std::optional<int64_t> accord::accel::instancesOf(Attribute count) {
  if (!count)
    return 1;
  if (auto integer = dyn_cast<IntegerAttr>(count))
    return integer.getInt();
  return std::nullopt;
}
