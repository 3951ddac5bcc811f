// JSON as text that is the same on every machine: fixed key order, shortest doubles that read back
// exactly.
#pragma once
#include "lib/support/Units.h"
#include "llvm/Support/JSON.h"
#include <string>

namespace accord {

/// Prints `value` with two-space indentation; what fits in 100 columns stays on one line. Keys come
/// in the order people look for them (command, version, status, objective, …), the rest
/// alphabetically. Doubles are printed with the fewest digits that read back to the same bits; a
/// NaN or infinity, which JSON lacks, as null.
std::string jsonText(const llvm::json::Value &value);
/// A JSON Schema: keywords in their usual order, keys of the document that it describes in the order of the document.
std::string schemaText(const llvm::json::Value &schema);
/// `jsonText` on one line without blanks, for embedding.
std::string jsonLine(const llvm::json::Value &value);

/// Exact while it fits in 64 bits, else the nearest double.
llvm::json::Value jsonCount(Count count);
/// A string made valid UTF-8 first (file names may be anything).
llvm::json::Value jsonString(llvm::StringRef text);

} // namespace accord
