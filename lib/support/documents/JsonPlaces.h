// Where the parts of a JSON text are: what is wrong with a document is found after it was read, and is told at its
// place.
#pragma once
#include "lib/support/Result.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <utility>
#include <vector>

namespace accord {

/// One step into a document: a key of an object, or an index of a list.
struct JsonStep {
  JsonStep(llvm::StringRef key) : key(key) {}
  JsonStep(const char *key) : key(key) {}
  JsonStep(size_t index) : index(static_cast<int64_t>(index)) {}
  llvm::StringRef key;
  int64_t index = -1;
};

/// Where the values of the list `key` of the outermost object begin and end, by offsets. Only those that are objects or
/// lists have a place; the text is known to be JSON.
std::vector<std::pair<uint32_t, uint32_t>> elementPlaces(llvm::StringRef text, llvm::StringRef key);

/// An error "path:line:column: message", as readers of documents have them, with its place as data.
Error placedError(llvm::Error error, llvm::StringRef path, Code code);

/// An error at the value behind the steps; where there is no such value, at the object that lacks it.
Error errorAt(llvm::StringRef text, llvm::StringRef path, llvm::ArrayRef<JsonStep> steps, Code code,
              std::string message);

} // namespace accord
