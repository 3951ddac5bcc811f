#include "lib/support/documents/JsonParse.h"
#include "lib/support/Number.h"
#include "lib/support/SourceManager.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <deque>
#include <fmt/format.h>

using namespace llvm;
namespace accord {

bool isTwoTo63(const json::Value &value) { return value.getAsNumber() == 0x1p63 && !value.getAsUINT64(); }

/// Makes 2^63 an integer, see isTwoTo63.
static void settleNumbers(json::Value &value) {
  if (json::Array *array = value.getAsArray())
    llvm::for_each(*array, settleNumbers);
  else if (json::Object *object = value.getAsObject())
    llvm::for_each(*object, [](auto &field) { settleNumbers(field.second); });
  else if (isTwoTo63(value))
    value = uint64_t(1) << 63;
}

namespace {

/// The tokens of a text that is JSON.
class Scanner {
public:
  explicit Scanner(StringRef text) : text(text) { blanks(); }

  bool atEnd() const { return at >= text.size(); }
  char peek() const { return atEnd() ? '\0' : text[at]; }
  size_t offset() const { return at; }
  bool accept(char c) {
    if (peek() != c)
      return false;
    ++at;
    blanks();
    return true;
  }
  /// A string without its quotes, as it is written.
  StringRef string() {
    size_t begin = ++at;
    while (at < text.size() && text[at] != '"')
      at += text[at] == '\\' ? 2 : 1;
    StringRef written = text.slice(begin, at);
    at = std::min(at + 1, text.size());
    blanks();
    return written;
  }
  /// A number, true, false or null.
  StringRef word() {
    StringRef found = text.drop_front(at).take_until([](char c) { return StringRef(" \t\r\n,]}:").contains(c); });
    at += std::max<size_t>(found.size(), 1);
    blanks();
    return found;
  }
  void value() {
    int depth = 0;
    do {
      if (peek() == '"') {
        string();
      } else if (peek() == '{' || peek() == '[') {
        ++depth;
        accept(peek());
      } else if (peek() == '}' || peek() == ']') {
        --depth;
        accept(peek());
      } else {
        word();
      }
    } while (depth > 0 && !atEnd());
  }

private:
  void blanks() {
    while (at < text.size() && StringRef(" \t\r\n").contains(text[at]))
      ++at;
  }

  StringRef text;
  size_t at = 0;
};

/// A string of JSON, without its quotes.
std::string decoded(StringRef written) {
  Expected<json::Value> value = json::parse(("\"" + written + "\"").str());
  if (!value) {
    consumeError(value.takeError());
    return written.str();
  }
  return value->getAsString()->str();
}

/// The first key that is twice in one object, or number that no double is near, of a text that is JSON.
std::optional<JsonError> findStrictError(StringRef text) {
  struct Key {
    StringRef name;
    size_t at;
  };
  std::optional<JsonError> first;
  auto report = [&](JsonError error) {
    if (!first || error.at < first->at)
      first = std::move(error);
  };
  std::vector<Key> keys;           // of all open objects
  std::vector<size_t> open;        // where those of each begin; kArray: a list
  std::deque<std::string> unusual; // keys with escapes
  constexpr size_t kArray = ~size_t(0);
  auto endObject = [&](size_t begin) {
    llvm::sort(keys.begin() + begin, keys.end(),
               [](const Key &a, const Key &b) { return std::tie(a.name, a.at) < std::tie(b.name, b.at); });
    size_t same = begin; // the first of equal ones
    for (size_t i = begin + 1; i < keys.size(); ++i) {
      if (keys[i].name != keys[same].name)
        same = i;
      else
        report(
            {keys[i].at, fmt::format("the key '{}' is there twice", keys[i].name.take_front(60).str()), keys[same].at});
    }
    keys.resize(begin);
  };
  Scanner scan(text);
  while (!scan.atEnd()) {
    size_t at = scan.offset();
    switch (scan.peek()) {
    case '{':
    case '[':
      open.push_back(scan.peek() == '{' ? keys.size() : kArray);
      scan.accept(scan.peek());
      break;
    case '}':
    case ']':
      if (!open.empty() && open.back() != kArray)
        endObject(open.back());
      if (!open.empty())
        open.pop_back();
      scan.accept(scan.peek());
      break;
    case '"': {
      StringRef name = scan.string();
      if (!scan.accept(':')) // a value
        break;
      if (name.contains('\\'))
        name = unusual.emplace_back(decoded(name));
      keys.push_back({name, at});
      break;
    }
    case ',':
      scan.accept(',');
      break;
    default: {
      StringRef word = scan.word();
      // Few characters without an exponent are an ordinary number.
      if ((word.size() > 16 || word.contains_insensitive('e')) && (isDigit(word[0]) || word[0] == '-'))
        if (auto number = parseReal(word); !number)
          report({at, number.error().message});
    }
    }
  }
  return first;
}

/// Where the value of a path such as ".stages[2].name" begins, or the object that lacks it.
size_t offsetOf(StringRef text, StringRef path) {
  Scanner scan(text);
  for (;;) {
    size_t here = scan.offset();
    if (path.consume_front("[")) {
      size_t index = 0;
      path.consumeInteger(10, index);
      path.consume_front("]");
      if (!scan.accept('['))
        return here;
      for (; index > 0 && scan.peek() != ']' && !scan.atEnd(); --index) {
        scan.value();
        scan.accept(',');
      }
      continue;
    }
    if (!path.starts_with(".") || !scan.accept('{'))
      return here;
    std::optional<Scanner> found; // at the value of the longest key that the path may begin with: keys may have dots
    size_t longest = 0;
    while (scan.peek() == '"') {
      std::string key = decoded(scan.string());
      scan.accept(':');
      StringRef rest = path.drop_front(1);
      if (rest.consume_front(key) && (rest.empty() || rest[0] == '.' || rest[0] == '[') &&
          (!found || key.size() >= longest)) {
        found = scan;
        longest = key.size();
      }
      scan.value();
      scan.accept(',');
    }
    if (!found)
      return here;
    scan = *found;
    path = path.drop_front(1 + longest);
  }
}

/// "path:line:column".
std::string placeOf(StringRef text, StringRef path, size_t at) {
  SourceManager sources;
  Position position = sources.position(sources.add(path.str(), text.str()), static_cast<uint32_t>(at));
  return fmt::format("{}:{}:{}", path.str(), position.line, position.column);
}

} // namespace

Result<json::Value, JsonError> readJsonText(StringRef text) {
  // json::parse recurses once per level.
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
        return JsonError{i, fmt::format("JSON nested deeper than {} levels", kDeepest)};
    } else if ((c == ']' || c == '}') && depth) {
      --depth;
    }
  }
  Expected<json::Value> value = json::parse(text);
  if (!value) {
    std::string reason = toString(value.takeError()); // "[line:column, byte=N]: Expected , or ] after array element"
    size_t at = 0;
    StringRef byte = StringRef(reason).split("byte=").second;
    byte.consumeInteger(10, at);
    std::string sentence = reason.starts_with("[") ? byte.split("]: ").second.str() : reason;
    if (sentence.size() > 1 && isLower(sentence[1]))
      sentence[0] = toLower(sentence[0]);
    return JsonError{std::min(at, text.size()), "this is no JSON: " + sentence};
  }
  if (auto error = findStrictError(text))
    return std::move(*error);
  settleNumbers(*value);
  return std::move(*value);
}

Expected<json::Value> parseJson(StringRef text, StringRef path) {
  auto value = readJsonText(text);
  if (value)
    return std::move(*value);
  const JsonError &error = value.error();
  std::string note = error.first ? fmt::format("; the first one is at {}", placeOf(text, path, *error.first)) : "";
  return createStringError(fmt::format("{}: {}{}", placeOf(text, path, error.at), error.message, note));
}

llvm::Error documentError(StringRef text, StringRef path, StringRef root, const json::Path::Root &at) {
  // The path is private to LLVM, but its message ends with it: "… at root.key[3]".
  std::string message = toString(at.getError());
  StringRef where = StringRef(message).split((" at " + root).str()).second;
  return createStringError(fmt::format("{}: {}", placeOf(text, path, offsetOf(text, where)), message));
}

} // namespace accord
