// Reading JSON that anybody may have written.
#pragma once
#include "llvm/Support/JSON.h"

namespace accord {

/// The parser with a limit on nesting, so that no input can exhaust the stack. Errors name `path`,
/// line and column.
llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text, llvm::StringRef path);

/// 2^63 as a floating-point number, which json::Value::getAsInteger must not be asked about: it
/// takes it for an int64_t. `parseJson` leaves none.
bool isTwoTo63(const llvm::json::Value &value);

} // namespace accord
