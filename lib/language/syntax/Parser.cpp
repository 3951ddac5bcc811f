#include "lib/language/syntax/Parser.h"
#include "lib/language/syntax/KeptParts.h"
#include "lib/language/syntax/ParseMemory.h"
#include "lib/support/CommandHost.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>

namespace accord {
namespace syntax {
void parseTokens(Diagnostics &diags, ast::File &file, const TokenList &list, KeptParts *parts);
}
namespace {

constexpr size_t kMaxBytes = size_t{64} << 20;

/// UTF-8 without control characters; reports the first byte that is none.
bool isText(Diagnostics &diags, FileId file) {
  llvm::StringRef text = diags.sources().text(file);
  for (size_t i = 0; i < text.size();) {
    auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= ' ' || byte == '\t' || byte == '\n' || byte == '\r') {
      if (byte < 0x80) {
        ++i;
        continue;
      }
      unsigned length = llvm::getNumBytesForUTF8(byte);
      const auto *data = reinterpret_cast<const llvm::UTF8 *>(text.data() + i);
      if (i + length <= text.size() && llvm::isLegalUTF8Sequence(data, data + length)) {
        i += length;
        continue;
      }
    }
    SourceRange at{file, static_cast<uint32_t>(i), static_cast<uint32_t>(i + 1)};
    diags.error(Code::NotText, at, "the byte 0x" + llvm::utohexstr(byte, false, 2) + " is no UTF-8 text");
    return false;
  }
  return true;
}

} // namespace

std::unique_ptr<ast::File> parse(Diagnostics &diags, FileId id) {
  auto file = std::make_unique<ast::File>();
  file->id = id;
  llvm::StringRef path = diags.sources().path(id), text = diags.sources().text(id);
  SourceRange start{id, 0, 0};
  if (path.ends_with(".dnn")) {
    file->language = ast::Language::Dnn;
  } else if (!path.ends_with(".accel")) {
    diags.error(Code::UnknownFileKind, {}, "'" + path.str() + "' ends neither in .accel nor in .dnn");
    file->complete = false;
    return file;
  }
  ParseMemory *memory = ParseMemory::current();
  std::optional<ParseMemory::Kept> kept = memory ? memory->take(path) : std::nullopt;
  if (kept && kept->file->complete && kept->text == text) {
    syntax::relocate(*kept->file, id);
    return std::move(kept->file);
  }
  size_t errors = diags.errors();
  if (text.size() > kMaxBytes) {
    diags.error(Code::FileTooLarge, start,
                "the file has " + std::to_string(text.size()) + " bytes, and at most " + std::to_string(kMaxBytes) +
                    " are read");
  } else if (isText(diags, id)) {
    syntax::TokenList list;
    if (syntax::tokenize(diags, id, file->language, list)) {
      if (list.tokens.empty()) {
        if (diags.errors() == errors)
          diags.error(Code::EmptyFile, start, "the file declares nothing");
      } else {
        std::optional<syntax::KeptParts> parts;
        if (kept)
          parts.emplace(kept->text, *kept->file, text, id, list);
        syntax::parseTokens(diags, *file, list, parts ? &*parts : nullptr);
        if (file->declarations.empty() && file->complete && diags.errors() == errors)
          diags.error(Code::EmptyFile, start, "the file only imports and declares nothing");
      }
    }
    file->layout.tokens.reserve(list.tokens.size());
    for (const syntax::Token &token : list.tokens)
      file->layout.tokens.push_back({{id, token.begin, token.end}, syntax::layoutKind(token.type), token.type});
    file->comments = std::move(list.comments);
    std::sort(file->layout.starts.begin(), file->layout.starts.end());
    std::sort(file->layout.blocks.begin(), file->layout.blocks.end());
    std::sort(file->errorOffsets.begin(), file->errorOffsets.end());
  }
  file->complete = diags.errors() == errors;
  return file;
}

std::optional<FileId> readFile(Diagnostics &diags, llvm::StringRef path, SourceRange from, llvm::StringRef shown) {
  if (shown.empty())
    shown = path;
  if (auto known = diags.sources().find(shown))
    return known;
  auto fail = [&](const std::string &reason, Code code = Code::CannotRead) {
    diags.error(code, from, "cannot read '" + shown.str() + "': " + reason);
    return std::nullopt;
  };
  if (!diags.sources().mayRead(path))
    return fail("it is not among the files that may be read here");
  if (auto text = givenText(path)) {
    if (text->size() > kMaxBytes)
      return fail("it has " + std::to_string(text->size()) + " bytes, and at most " + std::to_string(kMaxBytes) +
                      " are read",
                  Code::FileTooLarge);
    return diags.sources().add(shown.str(), text->str());
  }
  llvm::sys::fs::file_status status;
  if (std::error_code error = llvm::sys::fs::status(path, status))
    return fail(llvm::StringRef(error.message()).lower());
  if (status.type() == llvm::sys::fs::file_type::directory_file)
    return fail("it is a directory");
  // What another file names is a regular file, which ends; a command line may name a pipe.
  bool isPipe = status.type() == llvm::sys::fs::file_type::fifo_file;
  if (status.type() != llvm::sys::fs::file_type::regular_file && (!isPipe || from.valid()))
    return fail("it is no regular file");
  if (status.getSize() > kMaxBytes)
    return fail("it has " + std::to_string(status.getSize()) + " bytes, and at most " + std::to_string(kMaxBytes) +
                    " are read",
                Code::FileTooLarge);
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail(llvm::StringRef(buffer.getError().message()).lower());
  return diags.sources().add(shown.str(), (*buffer)->getBuffer().str());
}

SourceRange rangeOf(const SourceLocation &place, const Diagnostics &diags, SourceRange otherwise) {
  auto file = diags.sources().find(place.file);
  return file ? diags.sources().at(*file, {place.line, place.column}) : otherwise;
}

llvm::ArrayRef<llvm::StringRef> reservedWords() {
  static const llvm::StringRef words[] = {"if", "then", "else", "and", "or", "not", "true", "false"};
  return words;
}

bool isName(llvm::StringRef text) {
  if (text.empty() || llvm::isDigit(text[0]) || llvm::is_contained(reservedWords(), text))
    return false;
  return llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

} // namespace accord
