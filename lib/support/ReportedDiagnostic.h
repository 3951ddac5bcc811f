// An error or a warning as programs read it: with its place in words and numbers, and not tied to the files that were
// read. No header of LLVM is needed here.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace accord {

/// Where something is: a file as the user named it, and lines and columns (in characters) from 1. No place: an empty
/// file and zeros. The end is behind the last character; zeros where it is not known.
struct ReportedPlace {
  std::string file;
  int64_t line = 0, column = 0, endLine = 0, endColumn = 0;
};

struct ReportedNote {
  std::string message;
  ReportedPlace place;
};

struct ReportedDiagnostic {
  bool isError = true; ///< else a warning
  std::string code;    ///< "A0402", which `accord explain` explains
  std::string message; ///< lower case, no full stop, names in 'quotes'
  ReportedPlace place;
  std::string help; ///< what to do about it; empty: nothing is known
  std::vector<ReportedNote> notes;
};

} // namespace accord
