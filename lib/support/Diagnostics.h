// Errors and warnings at places in source files: collected, put in a stable order, rendered for
// people or as JSON.
#pragma once
#include "lib/support/ErrorCodes.h"
#include "lib/support/SourceManager.h"
#include "llvm/ADT/ArrayRef.h"
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace accord {

enum class Severity : uint8_t { Error, Warning };

struct Note {
  SourceRange range;
  std::string message;
};

struct Diagnostic {
  Severity severity = Severity::Error;
  Code code;
  SourceRange range;
  std::string message; ///< lower case, no full stop, names in 'quotes'
  std::string help;    ///< "did you mean 'x'?" or another one-line way out; empty if none
  std::vector<Note> notes;
};

class Diagnostics {
public:
  /// Errors beyond this many are only counted.
  static constexpr size_t kCap = 100;

  /// Adds to the diagnostic just made; `diags.error(…).note(…).suggest(…)`.
  class Builder {
  public:
    Builder &note(SourceRange range, std::string message);
    /// "help: did you mean 'x'?"; nothing if `text` is empty, so that the answer of `nearest` can
    /// be passed on.
    Builder &suggest(llvm::StringRef text);
    Builder &help(std::string message);

  private:
    friend class Diagnostics;
    Builder(Diagnostics *owner, size_t index) : owner(owner), index(index) {}
    Diagnostics *owner;
    size_t index;
  };

  explicit Diagnostics(SourceManager &sources) : manager(&sources) {}
  SourceManager &sources() const { return *manager; }

  Builder error(Code code, SourceRange range, std::string message);
  Builder warning(Code code, SourceRange range, std::string message);

  bool hasErrors() const { return errorCount != 0; }
  size_t errors() const { return errorCount; }
  /// Takes back all errors but the first `keep`: of an attempt that was allowed to fail.
  void dropErrors(size_t keep);
  /// In order of file, line and column; two equal diagnostics are one.
  std::vector<Diagnostic> sorted() const;

  /// path:line:column: error[A0123]: message, the line, a caret under the range, help, notes.
  void render(llvm::raw_ostream &out, bool colour = false) const;
  std::string text() const;

private:
  Builder add(Severity severity, Code code, SourceRange range, std::string message);
  SourceManager *manager;
  std::vector<Diagnostic> list;
  size_t errorCount = 0;
};

/// The candidate a misspelt name most likely stands for (edit distance at most a third of its
/// length + 1, at least 1), else the shortest that begins with it, or has it in it (of three
/// letters at least), or "" if none is near. Ties go to the first candidate.
std::string nearest(llvm::StringRef name, llvm::ArrayRef<std::string> candidates);

} // namespace accord
