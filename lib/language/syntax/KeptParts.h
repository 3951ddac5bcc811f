// What a text has in common with its last version, as parts of the tree of that. Internal to lib/language/syntax.
#pragma once
#include "lib/language/syntax/Tokens.h"

namespace accord::syntax {

/// Puts a tree of another version into a file: every place in it is moved by so many bytes.
void relocate(ast::Declaration &declaration, FileId file, int64_t shift);
void relocate(ast::Statement &statement, FileId file, int64_t shift);
void relocate(ast::Entry &entry, FileId file, int64_t shift);
/// A whole file, whose text is the same.
void relocate(ast::File &tree, FileId file);

/// Runs of declarations that stand in both texts, token for token, and of statements and entries of a declaration that
/// changed. The first and the last of each run are parsed nevertheless: where they are found again as neighbours, what
/// was between them is understood as it was, for a rule is chosen by one token of lookahead.
class KeptParts {
public:
  /// `old` is the tree of `oldText`; what is taken over is moved out of it.
  KeptParts(llvm::StringRef oldText, ast::File &old, llvm::StringRef text, FileId file, const TokenList &list);

  /// Tokens of the list that need not be parsed, ascending.
  llvm::ArrayRef<TokenInterval> omitted() const { return intervals; }
  /// Leaves out those behind what changed: where a bracket was opened, they are in another place now. False where none
  /// are left then, or there were no others before.
  bool dropMoved();
  /// Completes a tree that was parsed without them. False where the last ones around them are not neighbours there;
  /// then nothing was moved, and all must be parsed.
  bool insert(ast::File &file);

private:
  enum class Part : uint8_t { Declarations, Statements, Entries };
  /// The parts [begin, end) of one list of the old tree, and the tokens of them in the new list.
  struct Run {
    Part part;
    size_t declaration; ///< of the old tree, in which they are; for declarations unused
    size_t begin, end;
    TokenInterval tokens;
    uint32_t oldBegin, oldEnd; ///< bytes in the old text, up to the part behind them
    uint32_t left, right;      ///< first bytes of the parts around them, in the new text
    bool isMoved;              ///< it lies behind what changed
  };

  void findCommon(llvm::StringRef oldText, llvm::StringRef text);
  void findIntervals();
  template <class List> void findRuns(const List &list, Part part, size_t declaration, uint32_t end);
  template <class List> void addRun(const List &list, Run run);
  bool isSound(uint32_t begin, uint32_t end) const;
  size_t oldTokenAt(uint32_t byte) const;
  template <class List> bool fits(const List &list, const Run &run, const std::vector<uint32_t> &errorOffsets) const;
  template <class List> void move(List &to, List &from, const Run &run);
  ast::Declaration *declarationAround(ast::File &file, uint32_t byte) const;
  template <class Visit> bool visitLists(ast::File &file, const Run &run, Visit visit);

  ast::File &old;
  FileId file;
  const TokenList &list;
  int64_t shift = 0;     ///< of bytes behind what changed
  size_t sameBefore = 0; ///< tokens at the beginning that both have
  size_t sameBehind = 0; ///< tokens at the end
  std::vector<Run> runs; ///< ascending
  std::vector<TokenInterval> intervals;
};

} // namespace accord::syntax
