// The text of a trace in pieces: traces have a gigabyte and more, so nothing holds a whole one.
#pragma once
#include "lib/support/Result.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"

namespace accord::comparison {

/// Reads a trace of Chrome's format, whose name may end in anything: gzip is told by its first bytes. `event` gets each
/// object of "traceEvents" (or of the array that the file is), `other` each member beside them whose value is an object
/// or array of at most 1 MiB, or a scalar. Both get values that were parsed, and answer with what is wrong, or "".
/// Errors: A0008 it cannot be read; A0001 no JSON, cut short, damaged gzip, more than 64 levels in one event, or
/// no list of events; A0811 what `event` refuses. Each has line and column, in what gzip holds.
Result<void> readTraceText(const std::string &path, llvm::function_ref<std::string(const llvm::json::Object &)> event,
                           llvm::function_ref<std::string(llvm::StringRef, const llvm::json::Value &)> other);

} // namespace accord::comparison
