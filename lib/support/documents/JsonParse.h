// Reading JSON that anybody may have written: strictly, and with the place of each error.
#pragma once
#include "lib/support/Result.h"
#include "llvm/Support/JSON.h"

namespace accord {

/// Why a text is not taken, by offsets into it.
struct JsonError {
  size_t at = 0; ///< of the offending byte, key or number
  std::string message;
  std::optional<size_t> first = {}; ///< of a key that is there twice: where it is first
};

/// A value of JSON. Refused, beside what is no JSON: more than 200 levels, so that no input can exhaust the stack; a
/// key twice in one object; a number that no double is near (`parseNumber`).
Result<llvm::json::Value, JsonError> readJsonText(llvm::StringRef text);

/// The same; errors say "path:line:column: …". A column counts characters.
llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text, llvm::StringRef path);

/// Reads a document by `read(value, T &, json::Path)`, which reports what it refuses below `root`:
/// "plan.json:3:12: expected integer at plan.batch".
template <typename T, typename Read>
llvm::Expected<T> readJsonDocument(llvm::StringRef text, llvm::StringRef path, llvm::StringLiteral root, Read read);

/// The error of a document, with the line and column of the value that its path names (of one that is missing: of the
/// object that lacks it). The text is JSON.
llvm::Error documentError(llvm::StringRef text, llvm::StringRef path, llvm::StringRef root,
                          const llvm::json::Path::Root &at);

/// 2^63 as a floating-point number, which json::Value::getAsInteger must not be asked about: it
/// takes it for an int64_t. `parseJson` leaves none.
bool isTwoTo63(const llvm::json::Value &value);

template <typename T, typename Read>
llvm::Expected<T> readJsonDocument(llvm::StringRef text, llvm::StringRef path, llvm::StringLiteral root, Read read) {
  auto value = parseJson(text, path);
  if (!value)
    return value.takeError();
  llvm::json::Path::Root at(root);
  T document = T(); // a bool, too, has a value
  if (read(*value, document, llvm::json::Path(at)))
    return std::move(document);
  return documentError(text, path, root, at);
}

} // namespace accord
