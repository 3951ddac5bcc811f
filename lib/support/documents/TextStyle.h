// How text for the terminal looks, and numbers with prefixes.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <string>

namespace llvm {
class raw_ostream;
}

namespace accord {

struct TextStyle {
  bool colour = false;
  bool unicode = true; ///< bars and rules in UTF-8, else in ASCII
  unsigned width = 100;
  /// Colour only on a terminal that has it and where NO_COLOR is unset; UTF-8 unless the locale
  /// says otherwise.
  static TextStyle of(const llvm::raw_ostream &out);
};

/// Numbers with SI or IEC prefixes: "312 TFLOP/s", "71.3 GiB", "184 ms"; at most four significant
/// digits.
std::string formatSi(double value, llvm::StringRef unit);
std::string formatBytes(double bytes);

} // namespace accord
