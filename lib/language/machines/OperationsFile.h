// What `efficiency from "…"` does with a file of fitted single operations.
#pragma once
#include "dialects/accel/AccelDialect.h"
#include "lib/support/Diagnostics.h"

namespace accord {

/// The machine's operations are priced by the file (`registerOperationsModel`), unless it states a `cost_model`. The
/// machine must have the name of a device of the file in small letters, other characters than letters and digits being
/// `_`: "Tesla T4" is `tesla_t4`. False after errors of code A0469: the file's, or a machine of another name.
bool applyOperations(accel::AcceleratorOp machine, FileId file, llvm::StringRef name, SourceRange at,
                     Diagnostics &diags);

} // namespace accord
