// What the dialect says about operands that do not fit, as a user of the language reads it.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <string>

namespace accord {

/// The dialect prints shapes with the batch (`?x4x8`) and MLIR's element types (`'i32'`); a user
/// wrote neither, and reads `[4, 8]` and `int32`.
std::string asWritten(llvm::StringRef message);

} // namespace accord
