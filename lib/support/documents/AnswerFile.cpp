#include "lib/support/documents/AnswerFile.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/PageLinks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"
#include <algorithm>
#include <fmt/format.h>

using namespace llvm;
namespace accord {
namespace {

std::string shown(const json::Value &value) {
  std::string text = jsonLine(value);
  return text.size() > 40 ? text.substr(0, 37) + "..." : text;
}

/// The first place where two documents differ, in words; numbers are the same if their bits are.
std::optional<std::string> difference(const json::Value &stated, const json::Value &given, const std::string &at) {
  auto here = [&] { return at.empty() ? std::string("the top") : at.substr(at[0] == '.'); };
  const json::Object *a = stated.getAsObject(), *b = given.getAsObject();
  if (a && b) {
    for (const auto &member : *b)
      if (!a->get(member.first))
        return fmt::format("missing value at {}", (at + "." + member.first.str()).substr(1));
    std::vector<StringRef> keys;
    for (const auto &member : *a)
      keys.push_back(member.first);
    llvm::sort(keys);
    for (StringRef key : keys) {
      const json::Value *other = b->get(key);
      std::string below = at + "." + key.str();
      if (!other)
        return fmt::format("unknown key at {}", below.substr(1));
      if (auto found = difference(*a->get(key), *other, below))
        return found;
    }
    return std::nullopt;
  }
  const json::Array *x = stated.getAsArray(), *y = given.getAsArray();
  if (x && y) {
    if (x->size() != y->size())
      return fmt::format("{} elements at {}, the certificate gives {}", x->size(), here(), y->size());
    for (size_t i = 0; i < x->size(); ++i)
      if (auto found = difference((*x)[i], (*y)[i], fmt::format("{}[{}]", at, i)))
        return found;
    return std::nullopt;
  }
  if (jsonLine(stated) == jsonLine(given))
    return std::nullopt;
  return fmt::format("{} at {}, the certificate gives {}", shown(stated), here(), shown(given));
}

} // namespace

std::string sha256Of(StringRef text) {
  SHA256 hash;
  hash.update(text);
  return toHex(hash.final(), /*LowerCase=*/true);
}

std::optional<std::string> differenceFrom(const AnswerFile &given, StringRef text, const std::string &path) {
  if (given.text == text)
    return std::nullopt;
  if (StringRef(given.name).ends_with(".html") && withoutPageLinks(given.text) == withoutPageLinks(text))
    return std::nullopt;
  if (!StringRef(given.name).ends_with(".json")) {
    size_t at = std::ranges::mismatch(given.text, text).in1 - given.text.begin();
    return fmt::format("{}: line {} is not what the certificate gives", path,
                       1 + std::count(given.text.begin(), given.text.begin() + static_cast<ptrdiff_t>(at), '\n'));
  }
  auto stated = parseJson(text, path), printed = parseJson(given.text, given.name);
  if (!stated || !printed)
    return toString(joinErrors(stated.takeError(), printed.takeError()));
  auto found = difference(*stated, *printed, "");
  return found ? std::optional(fmt::format("{}: {}", path, *found)) : std::nullopt;
}

} // namespace accord
