// What names mean that a body does not declare.
#pragma once
#include "lib/language/syntax/Ast.h"
#include "lib/support/Diagnostics.h"
#include <string>
#include <vector>

namespace accord {

/// Where names outside a body come from: the file that declares the module or model, and its
/// imports.
class DeclarationScope {
public:
  virtual ~DeclarationScope() = default;
  /// The declaration that `name`, written at `at`, means in the file of `from`, or null.
  virtual const ast::Declaration *find(llvm::StringRef name, const ast::Declaration &from, SourceRange at) = 0;
  /// All names visible there, for suggestions.
  virtual std::vector<std::string> names(const ast::Declaration &from) = 0;
};

} // namespace accord
