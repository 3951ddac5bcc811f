// The parts of a `microarchitecture`, with the copies that arrays make of templates, and what a name in one of them
// means. Nothing of arrays is left behind this: each part has a name of its own, such as `mesh_3_4_mac`.
#pragma once
#include "lib/language/syntax/Evaluate.h"
#include "llvm/ADT/ArrayRef.h"
#include <deque>
#include <map>

namespace accord {

/// `array mesh[16 x 16] : pe(width = 32 bit) { west = inputs }`
struct PartArray {
  const ast::Node *node = nullptr, *pattern = nullptr; ///< the array, the template
  int64_t rows = 1, columns = 1;
  bool failed = false;                    ///< said already: nothing of it is made, nor missed
  bool line = false;                      ///< written with one extent: `[16]`, names have one number
  std::map<std::string, Constant> values; ///< of the template's parameters
  std::map<std::string, Constant> sides;  ///< what edges over the border are joined to, by side

  /// "mesh_3_4_"
  std::string prefix(int64_t row, int64_t column) const;
};
/// One copy of a template.
struct TemplateCopy {
  const PartArray *array = nullptr;
  int64_t row = 0, column = 0;
  std::string prefix;
};
struct NamedPart {
  std::string name;
  const ast::Node *node = nullptr;
  const TemplateCopy *copy = nullptr; ///< null outside of arrays
};

class MicroarchitectureParts {
public:
  /// Of all arrays together.
  static constexpr int64_t kMaxCopies = 1 << 14;

  MicroarchitectureParts(Diagnostics &diags, Lookup constants) : diags(diags), constants(std::move(constants)) {}

  /// Errors: kinds that there are not, parts without a name or with that of another one, templates that no array
  /// makes, arrays of none.
  void collect(const std::vector<ast::Entry> &entries);
  const std::deque<NamedPart> &all() const { return parts; }
  const NamedPart *find(llvm::StringRef name) const;

  /// What stands for a number: `row` and `column` in a copy, the template's parameters, constants of the file. `bytes`
  /// and immediates (`imm0`) stay names.
  Lookup lookupIn(const NamedPart &part) const;
  /// The parts of these kinds that a name means at a part: one of the same copy, of the copy next to it (`west.acc`;
  /// over the border what the array joins there, nothing unless it does), one of the machine, all of an array (`mesh`,
  /// `mesh.mac`). Nothing after an error at the name.
  std::optional<std::vector<std::string>> named(const Constant &name, const NamedPart &at,
                                                llvm::ArrayRef<llvm::StringRef> kinds) const;

private:
  void declare(std::string name, const ast::Node &node, const TemplateCopy *copy);
  void addTemplate(const ast::Node &node);
  void addArray(const ast::Node &node);
  void extents(const ast::Node &node, PartArray &into) const;
  void arguments(const ast::Node &node, PartArray &into) const;
  void sides(const ast::Node &node, PartArray &into) const;
  void makeCopies(const PartArray &array);
  std::optional<std::vector<std::string>> beside(llvm::StringRef side, llvm::StringRef what, SourceRange at,
                                                 const NamedPart &from, llvm::ArrayRef<llvm::StringRef> kinds) const;
  std::optional<std::vector<std::string>> ofArray(const PartArray &array, llvm::StringRef what, SourceRange at,
                                                  llvm::ArrayRef<llvm::StringRef> kinds) const;
  std::optional<std::vector<std::string>> checked(const std::string &name, SourceRange at,
                                                  llvm::ArrayRef<llvm::StringRef> kinds) const;
  void unknown(llvm::StringRef name, SourceRange at, const NamedPart *from,
               llvm::ArrayRef<llvm::StringRef> kinds) const;

  Diagnostics &diags;
  Lookup constants;
  std::map<std::string, const ast::Node *> templates;
  std::map<std::string, size_t> uses; ///< of templates
  std::map<std::string, PartArray> arrays;
  std::deque<TemplateCopy> copies;
  std::deque<NamedPart> parts;
  std::map<std::string, const NamedPart *, std::less<>> byName;
};

} // namespace accord
