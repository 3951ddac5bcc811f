#include "lib/import/psplib/PsplibText.h"
#include "lib/import/text/DnnTextBuilder.h"
#include "lib/support/Number.h"
#include <fmt/format.h>

namespace accord::import {
namespace {

// RESOURCEAVAILABILITIES begins like RESOURCES.
constexpr std::pair<PsplibText::Section, llvm::StringRef> kNames[] = {
    {PsplibText::Availabilities, "RESOURCEAVAILABILITIES"},
    {PsplibText::Availabilities, "RESOURCE AVAILABILITIES"}, // of MMLIB (Van Peteghem, Vanhoucke 2014)
    {PsplibText::Resources, "RESOURCES"},
    {PsplibText::Information, "PROJECT INFORMATION"},
    {PsplibText::Precedences, "PRECEDENCE RELATIONS"},
    {PsplibText::Requests, "REQUESTS/DURATIONS"}};

constexpr const char *kHelp = "a PSPLIB project (.sm, .mm) has 'jobs (incl. supersource/sink )', RESOURCES, PRECEDENCE "
                              "RELATIONS, REQUESTS/DURATIONS and RESOURCEAVAILABILITIES";

std::string max(int64_t value) { return value == int64_t(1) << 40 ? "2^40" : std::to_string(value); }

} // namespace

llvm::StringRef PsplibText::nameOf(Section section) {
  for (auto [known, name] : kNames)
    if (known == section)
      return name;
  return "head";
}

llvm::SmallVector<llvm::StringRef, 16> PsplibText::words(llvm::StringRef line) {
  llvm::SmallVector<llvm::StringRef, 16> list;
  llvm::SplitString(line, list, " \t\r\f\v");
  return list;
}

SourceRange PsplibText::at(llvm::StringRef piece) const {
  auto begin = static_cast<uint32_t>(piece.data() - diags.sources().text(file).data());
  return {file, begin, begin + static_cast<uint32_t>(std::max<size_t>(1, piece.size()))};
}

Diagnostics::Builder PsplibText::reportInvalid(llvm::StringRef piece, std::string message) {
  return diags.error(Code::ImportSetting, at(piece), std::move(message));
}

std::optional<int64_t> PsplibText::number(llvm::StringRef word, const std::string &what, int64_t min,
                                          int64_t greatest) {
  if (auto value = parseWhole(word, {min, greatest}))
    return *value;
  reportInvalid(word, min == greatest ? fmt::format("{} must be {}, found '{}'", what, max(greatest), shown(word.str()))
                                      : fmt::format("{} must be a whole number from {} to {}, found '{}'", what, min,
                                                    max(greatest), shown(word.str())));
  return std::nullopt;
}

/// Files of DOS may end with its end-of-file character.
bool PsplibText::text() {
  llvm::StringRef all = diags.sources().text(file);
  for (size_t i = 0; i < all.size(); ++i) {
    auto byte = static_cast<unsigned char>(all[i]);
    bool last = byte == 0x1a && all.drop_front(i + 1).trim("\x1a\r\n ").empty();
    if ((byte >= ' ' && byte != 0x7f) || (byte >= '\t' && byte <= '\r') || last)
      continue;
    diags.error(Code::NotText, at(all.substr(i, 1)), fmt::format("the byte 0x{:02X} is no text", byte)).help(kHelp);
    return false;
  }
  return true;
}

bool PsplibText::split() {
  if (!text())
    return false;
  size_t before = diags.errors();
  llvm::StringRef rest = diags.sources().text(file);
  Section current = Head;
  while (!rest.empty()) {
    auto [whole, behind] = rest.split('\n');
    rest = behind;
    llvm::StringRef line = whole.trim(" \t\r\f\v\x1a");
    if (line.find_first_not_of("*") == llvm::StringRef::npos || line.find_first_not_of("-") == llvm::StringRef::npos)
      continue; // empty, or a rule
    bool opens = false;
    for (auto [section, name] : kNames) {
      if (line.rtrim(": \t") != name)
        continue;
      opens = true;
      current = section;
      if (headings[section].valid())
        reportInvalid(line, fmt::format("the section {} is there twice", name))
            .note(headings[section], "it begins here, too");
      else
        headings[section] = at(line);
    }
    if (!opens)
      content[current].push_back(line);
  }
  llvm::StringRef all = diags.sources().text(file);
  bool any = false;
  for (auto [section, name] : kNames)
    any |= headings[section].valid();
  if (!any) {
    bool empty = all.trim().empty();
    diags
        .error(empty ? Code::EmptyFile : Code::SyntaxError, {file, 0, 0},
               empty ? "the file is empty" : "this is no PSPLIB project")
        .help(kHelp);
    return false;
  }
  for (Section section : {Resources, Precedences, Requests, Availabilities})
    if (!headings[section].valid())
      diags
          .error(Code::SyntaxError, {file, uint32_t(all.size()), uint32_t(all.size())},
                 fmt::format("the file ends without the section {}", nameOf(section)))
          .help(kHelp);
  return diags.errors() == before;
}

} // namespace accord::import
