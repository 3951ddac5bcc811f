// The JSON documents that Accord prints, by name, each with its schema.
#pragma once
#include "llvm/Support/JSON.h"
#include <map>
#include <string>

namespace accord {

/// A document that a command prints with --json, or writes into its folder.
struct Document {
  const char *title;               ///< where it comes from: "accord list --json"
  const char *sentence;            ///< what it says
  llvm::json::Value (*describe)(); ///< its schema; null: docs/schema has one that is written by hand
};

/// By name, as in docs/schema/NAME.schema.json.
std::map<std::string, Document> &documents();
/// The whole JSON Schema of one of them.
llvm::json::Value documentSchema(const std::string &name, const Document &document);

/// Adds a document while the program starts.
struct DocumentEntry {
  DocumentEntry(const char *name, const char *title, const char *sentence, llvm::json::Value (*describe)()) {
    documents()[name] = {title, sentence, describe};
  }
};

} // namespace accord
