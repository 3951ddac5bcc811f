// Arguments of a call and the parameters that they are for.
#pragma once
#include "lib/language/syntax/Ast.h"
#include "lib/support/Diagnostics.h"
#include <map>

namespace accord {

/// What is called: `kind` and name as in "template 'pe'", and where it is declared.
struct Callee {
  std::string called;
  SourceRange declared;
  std::vector<std::string> parameters;
};

/// By parameter: its argument; arguments by place come before those by name. Errors, each at its argument, with the
/// place of the declaration: A0111 no such parameter, A0113 more arguments than parameters, A0114 given twice, and an
/// argument by place behind one by name. Parameters without an argument are not there.
std::map<std::string, const ast::Argument *>
bindArguments(const Callee &callee, const std::vector<ast::Argument> &arguments, Diagnostics &diags);

} // namespace accord
