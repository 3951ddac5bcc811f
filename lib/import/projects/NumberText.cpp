#include "lib/import/projects/NumberText.h"
#include "lib/import/text/DnnTextBuilder.h"
#include "lib/support/Number.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include <cstdlib>
#include <fmt/format.h>

namespace accord::import {

NumberText::NumberText(Diagnostics &diags, FileId file)
    : diags(diags), file(file), all(diags.sources().text(file)), rest(all), last(all.take_front(0)) {}

bool NumberText::isReadable(const std::string &help) {
  for (size_t i = 0; i < all.size(); ++i) {
    auto byte = static_cast<unsigned char>(all[i]);
    bool last = byte == 0x1a && all.drop_front(i + 1).trim(kBlanks).empty();
    if ((byte >= ' ' && byte != 0x7f) || (byte >= '\t' && byte <= '\r') || last)
      continue;
    diags.error(Code::NotText, at(all.substr(i, 1)), fmt::format("the byte 0x{:02X} is no text", byte)).help(help);
    hasFailed = true;
    return false;
  }
  if (atEnd()) {
    diags.error(Code::EmptyFile, {file, 0, 0}, "the file is empty").help(help);
    hasFailed = true;
  }
  return !hasFailed;
}

void NumberText::skipComments() {
  while (!atEnd()) {
    rest = rest.ltrim(kBlanks);
    auto [head, behind] = rest.split('\n');
    if (llvm::isDigit(head[0]) || head[0] == '-')
      return;
    rest = behind;
  }
}

SourceRange NumberText::at(llvm::StringRef piece) const {
  auto begin = static_cast<uint32_t>(piece.data() - all.data());
  return {file, begin, begin + static_cast<uint32_t>(std::max<size_t>(1, piece.size()))};
}

std::nullopt_t NumberText::fail(SourceRange range, std::string message) {
  if (!hasFailed)
    diags.error(Code::ImportSetting, range, std::move(message));
  hasFailed = true;
  return std::nullopt;
}

llvm::StringRef NumberText::word() {
  rest = rest.ltrim(kBlanks);
  last = rest.take_until([](char c) { return llvm::StringRef(kBlanks).contains(c); });
  rest = rest.drop_front(last.size());
  return last;
}

std::optional<int64_t> NumberText::number(llvm::StringRef text, const std::string &what, ProjectRange range) {
  if (hasFailed)
    return std::nullopt;
  if (auto value = parseWhole(text, {range.min, range.max}))
    return *value;
  auto limit = [](int64_t value) {
    return std::abs(value) == kMaxProjectNumber ? std::string(value < 0 ? "-" : "") + "2^40" : std::to_string(value);
  };
  return fail(at(text), range.min == range.max
                            ? fmt::format("{} must be {}, found '{}'", what, range.min, shown(text.str()))
                            : fmt::format("{} must be a whole number from {} to {}, found '{}'", what, limit(range.min),
                                          limit(range.max), shown(text.str())));
}

std::optional<int64_t> NumberText::next(const std::string &what, ProjectRange range) {
  if (hasFailed)
    return std::nullopt;
  if (atEnd())
    return fail({file, static_cast<uint32_t>(all.size()), static_cast<uint32_t>(all.size())},
                fmt::format("the file ends where {} is expected", what));
  return number(word(), what, range);
}

std::optional<int64_t> NumberText::nextInBrackets(const std::string &what, ProjectRange range) {
  if (hasFailed)
    return std::nullopt;
  if (atEnd())
    return next(what, range);
  llvm::StringRef text = word(), inside = text;
  if (!inside.consume_front("[") || !inside.consume_back("]") || inside.empty())
    return fail(at(text), fmt::format("{} is expected in brackets, as in [5], found '{}'", what, shown(text.str())));
  return number(inside, what, range);
}

bool NumberText::isDone(const std::string &what) {
  if (!hasFailed && !atEnd())
    fail(at(word()), fmt::format("the file goes on after {}", what));
  return !hasFailed;
}

llvm::SmallVector<llvm::StringRef, 32> NumberText::line() {
  llvm::SmallVector<llvm::StringRef, 32> words;
  rest = rest.ltrim(kBlanks);
  auto [head, behind] = rest.split('\n');
  rest = behind;
  llvm::SplitString(head, words, kBlanks);
  if (!words.empty())
    last = words.back();
  return words;
}

bool NumberText::isEndOfLine() const {
  llvm::StringRef line = rest.take_until([](char c) { return c == '\n'; });
  return line.trim(kBlanks).empty();
}

bool NumberText::isSound(SchedulingProblem &problem) {
  if (hasFailed)
    return false;
  problem.name = llvm::sys::path::stem(diags.sources().path(file)).str();
  auto range = [&](const SourceLocation &at) {
    return at.line == 0 ? SourceRange{file, 0, 0} : diags.sources().at(file, {at.line, at.column});
  };
  for (const Error &issue : check(problem)) {
    auto error = diags.error(Code::ImportSetting, range(issue.location), issue.message);
    for (const auto &[at, note] : issue.notes)
      error.note(range(at), note);
    hasFailed = true;
  }
  return !hasFailed;
}

} // namespace accord::import
