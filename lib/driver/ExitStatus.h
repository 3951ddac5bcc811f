// How a program ends: its exit status, and its diagnostics on standard error or as a document.
#pragma once
#include "lib/support/Diagnostics.h"
#include "lib/support/documents/SearchStatus.h"
#include "llvm/Support/JSON.h"
#include <optional>

namespace accord {

/// `kUnknown`: the search ended before it found an answer or the proof that there is none.
enum Exit : int { kDone = 0, kWrongInput = 1, kInfeasible = 2, kInternal = 3, kUnknown = 4 };
/// Of a search that ended so.
int exitOf(SearchStatus status);

/// Prints diagnostics to standard error, and tells the host of them.
void printDiagnostics(const Diagnostics &diags);
/// The same; errors also as a document on standard output if `json`. Returns `status`, or
/// `kWrongInput` where there are errors and the status is not `kInternal`.
int finish(const Diagnostics &diags, int status, bool json, llvm::StringRef command);
/// Prints one error that has no place, and the word that may have been meant. Returns `kWrongInput`.
int refuse(Code code, const std::string &message, bool json, llvm::StringRef command, llvm::StringRef suggestion = {});
/// The same where a function answers with an optional.
std::nullopt_t refused(Code code, const std::string &message, bool json, llvm::StringRef command);
/// Tells that the command was stopped before it had an answer, and why; with `json` also as a document. Returns
/// `kUnknown`.
int finishUnanswered(llvm::StringRef command, const std::string &reason, bool json);
/// {"command", "version", "status": "unknown", "stopped"}
llvm::json::Value unknownSchema();
/// {"command", "version", "status": "error", "diagnostics": […]}
llvm::json::Value errorDocument(const Diagnostics &diags, llvm::StringRef command);
llvm::json::Value diagnosticsSchema();

} // namespace accord
