#include "lib/support/documents/JsonParse.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;
namespace accord {

bool isTwoTo63(const json::Value &value) { return value.getAsNumber() == 0x1p63 && !value.getAsUINT64(); }

/// False if a number is too large for a double. Makes 2^63 an integer, see isTwoTo63.
static bool settleNumbers(json::Value &value) {
  if (json::Array *array = value.getAsArray())
    return llvm::all_of(*array, settleNumbers);
  if (json::Object *object = value.getAsObject())
    return llvm::all_of(*object, [](auto &field) { return settleNumbers(field.second); });
  if (isTwoTo63(value))
    value = uint64_t(1) << 63;
  std::optional<double> number = value.getAsNumber();
  return !number || std::isfinite(*number);
}

Expected<json::Value> parseJson(StringRef text, StringRef path) {
  // llvm::json::parse recurses once per level.
  constexpr unsigned kDeepest = 200;
  unsigned depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepest)
        return createStringError("%s: JSON nested deeper than %u levels", path.str().c_str(), kDeepest);
    } else if ((c == ']' || c == '}') && depth) {
      --depth;
    }
  }
  Expected<json::Value> value = json::parse(text);
  if (!value)
    return createStringError("%s: malformed JSON: %s", path.str().c_str(), toString(value.takeError()).c_str());
  if (!settleNumbers(*value))
    return createStringError("%s: malformed JSON: a number is too large", path.str().c_str());
  return value;
}

} // namespace accord
