// `accord fmt`: one layout for every file. Keeps every comment, changes no token but commas between
// entries.
#pragma once
#include "lib/language/syntax/Ast.h"

namespace accord {

/// The text of a file in canonical layout: two spaces per level, one entry a line unless a block
/// was written on one line and fits in 100 columns, `=` of neighbouring lines aligned, at most one
/// empty line. Formatting the result again changes nothing. The file must be complete (without
/// syntax errors).
std::string format(const SourceManager &sources, const ast::File &file);

} // namespace accord
