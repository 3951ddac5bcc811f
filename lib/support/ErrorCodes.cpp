#include "lib/support/ErrorCodes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLForwardCompat.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <ostream>
#include <string>

namespace accord {

static constexpr ErrorEntry kTable[] = {
#define ACCORD_ERROR(number, name, title, explanation, wrong, right)                                                   \
  {Code::name, #number, #name, title, explanation, wrong, right},
#include "lib/support/ErrorCodes.def"

#undef ACCORD_ERROR
};

llvm::ArrayRef<ErrorEntry> errorTable() { return kTable; }

const ErrorEntry &entryOf(Code code) { return kTable[llvm::to_underlying(code)]; }

std::string numberOf(Code code) { return entryOf(code).number.str(); }

std::ostream &operator<<(std::ostream &out, Code code) { return out << numberOf(code); }

const ErrorEntry *findError(llvm::StringRef number) {
  for (const ErrorEntry &entry : kTable)
    if (entry.number.equals_insensitive(number))
      return &entry;
  return nullptr;
}

static void indented(std::string &out, llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  for (llvm::StringRef line : lines)
    out += "  " + line.ltrim().str() + "\n";
}

std::string explain(const ErrorEntry &entry) {
  std::string out = entry.number.str() + ": " + entry.title.str() + "\n\n" + entry.explanation.str() + "\n\nWrong:\n";
  indented(out, entry.wrong);
  out += "Right:\n";
  indented(out, entry.right);
  return out;
}

/// Returns what the codes of a range are about; the range is the first three characters of a code.
static llvm::StringRef subjectOf(llvm::StringRef range) {
  return llvm::StringSwitch<llvm::StringRef>(range)
      .Case("A00", "files, characters, syntax, imports")
      .Case("A01", "names and keys")
      .Case("A02", "quantities, units, dimensions")
      .Case("A03", "values, ranges, choices")
      .Case("A04", "machines")
      .Case("A05", "models, operations, shapes")
      .Case("A06", "training settings")
      .Case("A07", "understood, but not supported in this version")
      .Case("A08", "command line, plugins, imported formats")
      .Case("A09", "plans and certificates")
      .Default("accuracy and votes");
}

/// Returns the anchor that GitHub gives to a heading.
static std::string anchorOf(llvm::StringRef heading) {
  std::string out;
  for (char c : heading.lower())
    if (llvm::isAlnum(c) || c == '-' || c == '_')
      out += c;
    else if (c == ' ')
      out += '-';
  return out;
}

std::string errorsMarkdown() {
  std::string out =
      "# Errors\n\nAccord refused your file or command with a code such as `A0101`. Find it in the index, or ask for "
      "it: `accord explain A0101`.\n"
      "`accord explain --markdown` writes this page from `lib/support/errors/`.\n";
  llvm::StringRef range;
  for (const ErrorEntry &entry : kTable) {
    if (entry.number.take_front(3) != range) {
      range = entry.number.take_front(3);
      out += "\n" + range.str() + ": " + subjectOf(range).str() + "\n\n";
    }
    std::string heading = entry.number.str() + ": " + entry.title.str();
    out += "- [" + entry.number.str() + "](#" + anchorOf(heading) + ") " + entry.title.str() + "\n";
  }
  for (const ErrorEntry &entry : kTable) {
    out += "\n## " + entry.number.str() + ": " + entry.title.str() + "\n\n" + entry.explanation.str() + "\n\n";
    out += "Wrong:\n```\n" + entry.wrong.str() + "\n```\nRight:\n```\n" + entry.right.str() + "\n```\n";
  }
  return out;
}

} // namespace accord
