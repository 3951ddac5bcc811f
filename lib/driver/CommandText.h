// The commands of `accord` as their help describes them, as plain data: for completions and the manual page.
#pragma once
#include <string>
#include <vector>

namespace accord {

/// One command, or the program itself.
struct CommandText {
  struct Option {
    std::vector<std::string> names; ///< "-o", "--output"; empty for an argument without a name
    std::string name;               ///< of such an argument
    std::string help;
    bool takesValue = false;
    bool isRequired = false;
  };
  std::string name, summary, footer;
  std::vector<Option> options;
  std::vector<CommandText> commands;
};
/// `accord` itself, with all its commands.
CommandText describeCommands();

} // namespace accord
