#include "lib/support/SourceManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <algorithm>

namespace accord {

static std::string realPath(llvm::StringRef path) {
  llvm::SmallString<256> real;
  return llvm::sys::fs::real_path(path, real) ? std::string() : real.str().str();
}

void SourceManager::restrictTo(std::vector<std::string> folders, std::vector<std::string> ofDescriptions) {
  for (auto *all : {&folders, &ofDescriptions})
    for (std::string &folder : *all)
      folder = realPath(folder);
  readable = std::move(folders), described = std::move(ofDescriptions);
}

bool SourceManager::mayRead(llvm::StringRef path) const {
  if (!readable)
    return true;
  const std::string real = realPath(path);
  auto isIn = [&](const std::string &folder) {
    return !folder.empty() && llvm::StringRef(real).starts_with(folder + "/");
  };
  const llvm::StringRef kind = llvm::sys::path::extension(real);
  const bool isDescription = kind == ".accel" || kind == ".dnn" || kind == ".calibration";
  return std::any_of(readable->begin(), readable->end(), isIn) ||
         (isDescription && std::any_of(described.begin(), described.end(), isIn));
}

FileId SourceManager::add(std::string path, std::string text) {
  File &file = files.emplace_back();
  file.path = std::move(path);
  file.text = std::move(text);
  file.lineStarts.push_back(0);
  for (uint32_t i = 0; i < file.text.size(); ++i)
    if (file.text[i] == '\n' || (file.text[i] == '\r' && (i + 1 == file.text.size() || file.text[i + 1] != '\n')))
      file.lineStarts.push_back(i + 1);
  return FileId(files.size() - 1);
}

llvm::StringRef SourceManager::text(SourceRange range) const {
  if (!range.valid())
    return {};
  return text(range.file).slice(range.begin, range.end);
}

std::optional<FileId> SourceManager::find(llvm::StringRef path) const {
  for (uint32_t i = 0; i < files.size(); ++i)
    if (files[i].path == path)
      return FileId{i};
  return std::nullopt;
}

static bool startsCharacter(char c) { return (c & 0xC0) != 0x80; }

static size_t lineIndex(const std::vector<uint32_t> &starts, uint32_t offset) {
  return std::upper_bound(starts.begin(), starts.end(), offset) - starts.begin() - 1;
}

Position SourceManager::position(FileId id, uint32_t offset) const {
  if (!id.valid())
    return {};
  const File &file = files[id.index];
  offset = std::min<uint32_t>(offset, file.text.size());
  size_t line = lineIndex(file.lineStarts, offset);
  uint32_t column = 1;
  for (uint32_t i = file.lineStarts[line]; i < offset; ++i)
    column += startsCharacter(file.text[i]);
  return Position(line + 1, column);
}

SourceLocation SourceManager::location(SourceRange range) const {
  if (!range.valid())
    return {};
  Position at = position(range);
  return {path(range.file).str(), at.line, at.column};
}

SourceRange SourceManager::at(FileId id, Position position) const {
  if (!id.valid())
    return {};
  const File &file = files[id.index];
  size_t line = std::clamp<size_t>(position.line, 1, file.lineStarts.size()) - 1;
  uint32_t begin = file.lineStarts[line], size = file.text.size();
  for (uint32_t column = 1; column < position.column && begin < size && file.text[begin] != '\n'; ++column)
    do
      ++begin;
    while (begin < size && !startsCharacter(file.text[begin]));
  auto word = [&](char c) { return llvm::isAlnum(c) || c == '_'; };
  uint32_t end = begin;
  while (end < size && word(file.text[end]))
    ++end;
  if (end == begin && end < size && file.text[end] != '\n')
    ++end;
  return {id, begin, end};
}

llvm::StringRef SourceManager::line(FileId id, uint32_t offset, uint32_t *start) const {
  const File &file = files[id.index];
  uint32_t begin = file.lineStarts[lineIndex(file.lineStarts, offset)];
  if (start)
    *start = begin;
  return llvm::StringRef(file.text).substr(begin).take_until([](char c) { return c == '\n' || c == '\r'; });
}

} // namespace accord
