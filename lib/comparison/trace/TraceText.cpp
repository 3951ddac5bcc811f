#include "lib/comparison/trace/TraceText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include <fmt/format.h>
#include <zlib.h>

namespace accord::comparison {
namespace {

constexpr size_t kChunk = 1 << 20;
constexpr size_t kLargestValue = 1 << 20; ///< an event, or a value beside them
constexpr unsigned kLevels = 64;

/// Bytes of a file one after the other, unpacked where it is gzip (zlib tells).
class Bytes {
public:
  ~Bytes() {
    if (file)
      gzclose(file);
  }
  std::string open(const std::string &path) {
    llvm::sys::fs::file_status status;
    if (std::error_code error = llvm::sys::fs::status(path, status))
      return llvm::StringRef(error.message()).lower();
    if (status.type() != llvm::sys::fs::file_type::regular_file)
      return "it is no regular file";
    file = gzopen(path.c_str(), "rb");
    if (!file)
      return llvm::StringRef(std::generic_category().message(errno)).lower();
    gzbuffer(file, kChunk);
    buffer.resize(kChunk);
    return "";
  }
  /// The next byte, or -1 at the end and where gzip is damaged (`error`).
  int peek() {
    if (at == filled && !refill())
      return -1;
    return static_cast<unsigned char>(buffer[at]);
  }
  int take() {
    int c = peek();
    if (c < 0)
      return c;
    ++at;
    if (c == '\n')
      ++line, column = 1;
    else if ((c & 0xc0) != 0x80)
      ++column;
    return c;
  }
  unsigned line = 1, column = 1;
  std::string error;

private:
  bool refill() {
    if (ended)
      return false;
    int count = gzread(file, buffer.data(), kChunk);
    at = filled = 0;
    int code = Z_OK;
    const char *text = gzerror(file, &code);
    if (count < 0 || (code != Z_OK && code != Z_STREAM_END))
      error = fmt::format("its gzip is damaged or cut short ({})", text);
    ended = count <= 0;
    filled = count > 0 ? count : 0;
    return filled > 0;
  }
  gzFile file = nullptr;
  std::string buffer;
  size_t at = 0, filled = 0;
  bool ended = false;
};

class Scanner {
public:
  Scanner(const std::string &path, llvm::function_ref<std::string(const llvm::json::Object &)> event,
          llvm::function_ref<std::string(llvm::StringRef, const llvm::json::Value &)> other)
      : path(path), event(event), other(other) {}

  Result<void> run() {
    if (std::string why = bytes.open(path); !why.empty())
      return Error{Code::CannotRead, fmt::format("cannot read '{}': {}", path, why)};
    bool good = document();
    if (good)
      return {};
    if (!bytes.error.empty())
      failure = {Code::SyntaxError, bytes.error, here()};
    return failure;
  }

private:
  SourceLocation here() const { return {path, bytes.line, bytes.column}; }
  bool fail(std::string message) {
    failure = {Code::SyntaxError, std::move(message), here()};
    return false;
  }
  int next() {
    while (bytes.peek() == ' ' || bytes.peek() == '\t' || bytes.peek() == '\n' || bytes.peek() == '\r')
      bytes.take();
    return bytes.peek();
  }
  std::string found() {
    int c = bytes.peek();
    return c < 0                  ? "the end: the file is cut short"
           : c < 0x20 || c > 0x7e ? fmt::format("the byte {:#04x}", c)
                                  : fmt::format("'{}'", char(c));
  }
  bool expect(char wanted) {
    if (next() != wanted)
      return fail(fmt::format("expected '{}', found {}", wanted, found()));
    bytes.take();
    return true;
  }

  bool document() {
    int first = next();
    bool good = first == '['   ? events()
                : first == '{' ? members()
                               : fail("this is no trace: expected '{' or '[', found " + found());
    if (good && next() >= 0)
      return fail("expected the end of the file, found " + found());
    return good;
  }

  bool members() {
    bytes.take();
    bool sawEvents = false;
    if (next() == '}') {
      bytes.take();
      return fail("this is no trace: it has no list 'traceEvents'");
    }
    while (true) {
      if (next() != '"')
        return fail(fmt::format("expected a key in quotes, found {}", found()));
      SourceLocation at = here();
      auto key = value();
      if (!key)
        return false;
      std::string name = key->getAsString().value_or("").str();
      if (!expect(':'))
        return false;
      if (name == "traceEvents") {
        if (sawEvents)
          return failure = {Code::SyntaxError, "a second list 'traceEvents'", at}, false;
        sawEvents = true;
        if (next() != '[')
          return fail(fmt::format("expected the list of events, found {}", found()));
        if (!events())
          return false;
      } else {
        next();
        at = here();
        auto read = value();
        if (!read)
          return false;
        if (std::string wrong = other(name, *read); !wrong.empty())
          return failure = {Code::ImportSetting, wrong, at}, false;
      }
      int c = next();
      if (c == '}') {
        bytes.take();
        return sawEvents || fail("this is no trace: it has no list 'traceEvents'");
      }
      if (!expect(','))
        return false;
    }
  }

  bool events() {
    bytes.take();
    if (next() == ']')
      return bytes.take(), true;
    while (true) {
      if (next() != '{')
        return fail(fmt::format("expected an event in braces, found {}", found()));
      SourceLocation at = here();
      auto one = value();
      if (!one)
        return false;
      if (std::string wrong = event(*one->getAsObject()); !wrong.empty())
        return failure = {Code::ImportSetting, wrong, at}, false;
      int c = next();
      if (c == ']')
        return bytes.take(), true;
      if (!expect(','))
        return false;
    }
  }

  /// Takes one value of JSON off the bytes and parses it.
  std::optional<llvm::json::Value> value() {
    SourceLocation at = here();
    text.clear();
    unsigned level = 0;
    bool inText = false;
    while (true) {
      int c = bytes.peek();
      if (c < 0)
        return fail("the file is cut short"), std::nullopt;
      bool closes = c == '}' || c == ']';
      if (!inText && level == 0 && !text.empty() && (closes || c == ',' || c == ':' || c <= ' '))
        break; // behind a number or a word
      text += static_cast<char>(c);
      if (text.size() > kLargestValue)
        return fail("a value of more than 1 MiB: this is no trace of a profiler"), std::nullopt;
      bytes.take();
      if (inText) {
        if (c == '\\') {
          int escaped = bytes.take();
          if (escaped < 0)
            return fail("the file is cut short"), std::nullopt;
          text += static_cast<char>(escaped);
        } else if (c == '"') {
          inText = false;
          if (level == 0)
            break;
        }
        continue;
      }
      if (c == '"')
        inText = true;
      else if (c == '{' || c == '[') {
        if (++level > kLevels)
          return fail(fmt::format("more than {} levels of brackets", kLevels)), std::nullopt;
      } else if (closes) {
        level = level > 0 ? level - 1 : 0;
        if (level == 0)
          break;
      }
    }
    auto parsed = llvm::json::parse(text);
    if (parsed)
      return std::move(*parsed);
    failure = {Code::SyntaxError,
               "no JSON: " + llvm::StringRef(llvm::toString(parsed.takeError())).split(": ").second.lower(), at};
    if (failure.message == "no JSON: ")
      failure.message = "no JSON";
    return std::nullopt;
  }

  const std::string &path;
  llvm::function_ref<std::string(const llvm::json::Object &)> event;
  llvm::function_ref<std::string(llvm::StringRef, const llvm::json::Value &)> other;
  Bytes bytes;
  std::string text; ///< of the value that is read
  Error failure;
};

} // namespace

Result<void> readTraceText(const std::string &path, llvm::function_ref<std::string(const llvm::json::Object &)> event,
                           llvm::function_ref<std::string(llvm::StringRef, const llvm::json::Value &)> other) {
  return Scanner(path, event, other).run();
}

} // namespace accord::comparison
