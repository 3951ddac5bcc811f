// The places of all parts of a tree.
#pragma once
#include "lib/language/syntax/Ast.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace accord {

/// Calls with the range of the declaration and of each name, expression, entry, statement and clause in it, in no
/// particular order. Those that are nowhere are left out.
void forEachRange(const ast::Declaration &declaration, llvm::function_ref<void(SourceRange)> told);

} // namespace accord
