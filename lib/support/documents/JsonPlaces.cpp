#include "lib/support/documents/JsonPlaces.h"
#include "lib/support/documents/JsonParse.h"

namespace accord {

std::vector<std::pair<uint32_t, uint32_t>> elementPlaces(llvm::StringRef text, llvm::StringRef key) {
  std::vector<std::pair<uint32_t, uint32_t>> places;
  int depth = 0;
  bool inside = false;
  size_t word = 0, wordEnd = 0, begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"') {
      for (word = ++i; i < text.size() && text[i] != '"'; ++i)
        i += text[i] == '\\';
      wordEnd = std::min(i, text.size());
    } else if (c == '{' || c == '[') {
      ++depth;
      if (c == '[' && depth == 2)
        inside = text.slice(word, wordEnd) == key;
      if (depth == 3)
        begin = i;
    } else if (c == '}' || c == ']') {
      if (depth-- == 3 && inside)
        places.emplace_back(static_cast<uint32_t>(begin), static_cast<uint32_t>(i + 1));
      inside &= depth > 1;
    }
  }
  return places;
}

Error placedError(llvm::Error error, llvm::StringRef path, Code code) {
  std::string message = llvm::toString(std::move(error));
  llvm::StringRef rest = message;
  unsigned line = 0, column = 0;
  if (rest.consume_front(path) && rest.consume_front(":") && !rest.consumeInteger(10, line) &&
      rest.consume_front(":") && !rest.consumeInteger(10, column) && rest.consume_front(": "))
    return {code, rest.str(), {path.str(), line, column}, {}};
  return {code, message, {path.str(), 1, 1}, {}};
}

/// Reports at the value behind the steps. A path of LLVM's lives no longer than the call that made it, hence the
/// recursion.
static void reportBehind(llvm::json::Path path, llvm::ArrayRef<JsonStep> steps) {
  if (steps.empty())
    return path.report("here");
  const JsonStep &step = steps.front();
  reportBehind(step.index < 0 ? path.field(step.key) : path.index(static_cast<unsigned>(step.index)),
               steps.drop_front());
}

Error errorAt(llvm::StringRef text, llvm::StringRef path, llvm::ArrayRef<JsonStep> steps, Code code,
              std::string message) {
  llvm::json::Path::Root root("document");
  reportBehind(root, steps);
  Error error = placedError(documentError(text, path, "document", root), path, code);
  error.message = std::move(message);
  return error;
}

} // namespace accord
