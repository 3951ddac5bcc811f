// The stable codes of everything Accord can complain about. The table (ErrorCodes*.def) is the only
// place that defines one: a code without title, explanation, wrong and right example does not
// compile.
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <iosfwd>
#include <string>

namespace accord {

enum class Code : uint16_t {
#define ACCORD_ERROR(number, name, title, explanation, wrong, right) name,
#include "lib/support/ErrorCodes.def"
#undef ACCORD_ERROR
};

struct ErrorEntry {
  Code code;
  llvm::StringRef number;      ///< "A0123"
  llvm::StringRef name;        ///< "UnknownKey"
  llvm::StringRef title;       ///< "unknown key"
  llvm::StringRef explanation; ///< one paragraph: what it means and what to do
  llvm::StringRef wrong;       ///< an example that gives this error
  llvm::StringRef right;       ///< the same, corrected
};

llvm::ArrayRef<ErrorEntry> errorTable();
const ErrorEntry &entryOf(Code code);
/// "A0123".
std::string numberOf(Code code);
std::ostream &operator<<(std::ostream &out, Code code);
/// "A0123" (any case) -> its entry.
const ErrorEntry *findError(llvm::StringRef number);
/// What `accord explain A0123` prints.
std::string explain(const ErrorEntry &entry);
/// docs/errors.md, whole.
std::string errorsMarkdown();

} // namespace accord
