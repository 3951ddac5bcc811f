// Which names a file, declaration or body mentions: for unused imports and unused names.
#pragma once
#include "lib/language/syntax/Ast.h"
#include <set>

namespace accord {

/// Every name that is read somewhere: in expressions, as a type, target, or stop of a path.
std::set<std::string> referencedNames(const ast::File &file);

class Diagnostics;
/// Values of a module's or model's body that nothing reads: an error each.
void reportUnusedNames(const ast::Declaration &declaration, Diagnostics &diags);

} // namespace accord
