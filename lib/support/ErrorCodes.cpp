#include "lib/support/ErrorCodes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
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

const ErrorEntry &entryOf(Code code) { return kTable[static_cast<size_t>(code)]; }

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

std::string errorsMarkdown() {
  std::string out = "# Errors\n\nEvery error Accord can report, by its code. `accord explain A0101` prints one "
                    "of them.\n"
                    "This page is written from `lib/support/errors/` by `accord explain --markdown`.\n";
  for (const ErrorEntry &entry : kTable) {
    out += "\n## " + entry.number.str() + ": " + entry.title.str() + "\n\n" + entry.explanation.str() + "\n\n";
    out += "Wrong:\n```\n" + entry.wrong.str() + "\n```\nRight:\n```\n" + entry.right.str() + "\n```\n";
  }
  return out;
}

} // namespace accord
