#include "lib/language/syntax/Arguments.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace accord {

std::map<std::string, const ast::Argument *>
bindArguments(const Callee &callee, const std::vector<ast::Argument> &arguments, Diagnostics &diags) {
  std::map<std::string, const ast::Argument *> given;
  const std::vector<std::string> &names = callee.parameters;
  size_t place = 0;
  bool named = false;
  for (const ast::Argument &argument : arguments) {
    std::string name;
    const SourceRange where = argument.name ? argument.name->range : argument.value->range;
    if (argument.name) {
      named = true;
      name = argument.name->text;
      if (!llvm::is_contained(names, name)) {
        diags.error(Code::UnknownArgument, where, fmt::format("{} has no parameter '{}'", callee.called, name))
            .suggest(nearest(name, names))
            .note(callee.declared, fmt::format("{} is declared here", callee.called));
        continue;
      }
    } else if (named) {
      diags.error(Code::ArgumentOrder, where, "an argument by place cannot follow one by name");
      continue;
    } else if (place >= names.size()) {
      diags
          .error(Code::TooManyArguments, where,
                 fmt::format("{} takes {} argument{}", callee.called, names.size(), names.size() == 1 ? "" : "s"))
          .note(callee.declared, "declared here");
      break;
    } else {
      name = names[place++];
    }
    auto [earlier, isNew] = given.try_emplace(name, &argument);
    if (!isNew)
      diags.error(Code::DuplicateArgument, where, fmt::format("'{}' is given twice", name))
          .note(earlier->second->value->range, "the first time");
  }
  return given;
}

} // namespace accord
