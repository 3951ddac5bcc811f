#include "test/fuzz/Formatting.h"
#include "lib/language/syntax/Format.h"
#include "lib/language/syntax/Parser.h"
#include <algorithm>

namespace accord::fuzz {

Parsed::Parsed(const Program &program) {
  FileId id = sources.add(std::string("fuzz") + extension(program.kind), program.text);
  file = parse(diags, id);
}

/// What a formatter may not change: the lexer's own tokens but commas, and the comments. Blanks
/// inside a token (`16 GiB`) and at the end of a comment are layout.
static std::vector<std::string> essence(const Parsed &parsed) {
  std::vector<std::string> result;
  for (const ast::Layout::Token &part : parsed.file->layout.tokens) {
    std::string token = parsed.sources.text(part.range).str();
    if (token[0] != '"')
      std::erase_if(token, [](char c) { return std::isspace(static_cast<unsigned char>(c)); });
    if (token != ",")
      result.push_back(std::move(token));
  }
  for (const ast::Comment &comment : parsed.file->comments)
    result.push_back(parsed.sources.text(comment.range).rtrim().str());
  return result;
}

std::string badFormat(const Program &program, const Parsed &parsed) {
  Program once{program.name, program.kind, format(parsed.sources, *parsed.file)};
  Parsed again(once);
  if (again.diags.hasErrors())
    return "the formatted text has errors: " + again.diags.text();
  std::vector<std::string> before = essence(parsed), after = essence(again);
  if (before != after) {
    auto [a, b] = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
    return "formatting changes '" + (a == before.end() ? "" : *a) + "' to '" + (b == after.end() ? "" : *b) + "'";
  }
  size_t starts = parsed.file->layout.starts.size(), startsAgain = again.file->layout.starts.size();
  if (starts != startsAgain) // `a, b = 1` are two entries, `a b = 1` is one
    return "formatting turns " + std::to_string(starts) + " entries into " + std::to_string(startsAgain);
  if (format(again.sources, *again.file) != once.text)
    return "formatting twice gives another text than once";
  return {};
}

} // namespace accord::fuzz
