// accord completion, accord man: the commands and their options, for shells and as a manual page.
#include "lib/driver/CommandLine.h"
#include "lib/driver/CommandText.h"
#include "lib/driver/ExitStatus.h"
#include "lib/support/CommandHost.h"
#include "lib/support/Version.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord {
namespace {

/// A sentence of help on one line.
std::string oneLine(const std::string &text) {
  std::string line;
  for (char c : text)
    line += c == '\n' ? ' ' : c;
  return line;
}

std::vector<std::string> wordsOf(const CommandText &command) {
  std::vector<std::string> words;
  for (const CommandText &one : command.commands)
    words.push_back(one.name);
  for (const CommandText::Option &one : command.options)
    words.insert(words.end(), one.names.begin(), one.names.end());
  return words;
}

/// Shows all commands to `each`, with the words before their options: "emit megatron".
void forEach(const CommandText &command, const std::string &path,
             const std::function<void(const std::string &path, const CommandText &)> &each) {
  each(path, command);
  for (const CommandText &one : command.commands)
    forEach(one, path.empty() ? one.name : path + " " + one.name, each);
}

std::string bashCompletion(const CommandText &program) {
  std::string cases;
  forEach(program, "", [&](const std::string &path, const CommandText &command) {
    cases += fmt::format("    '{}') words='{}' ;;\n", path, fmt::join(wordsOf(command), " "));
  });
  return "# Completion of accord for bash, written by `accord completion bash`.\n"
         "_accord() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} path='' words='' next i\n"
         "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
         "    next=${COMP_WORDS[i]}\n"
         "    [[ $next == -* ]] && break\n"
         "    _accord_words \"${path:+$path }$next\" > /dev/null || break\n"
         "    path=${path:+$path }$next\n"
         "  done\n"
         "  words=$(_accord_words \"$path\")\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
         "  [[ $word == -* ]] || mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"$word\")\n"
         "}\n"
         "_accord_words() {\n"
         "  local words\n"
         "  case $1 in\n" +
         cases +
         "    *) return 1 ;;\n"
         "  esac\n"
         "  echo \"$words\"\n"
         "}\n"
         "complete -o filenames -F _accord accord\n";
}

std::string quoted(const std::string &text, llvm::StringRef escaped) {
  std::string result = "'";
  for (char c : oneLine(text)) {
    if (c == '\'')
      result += "'\\'";
    else if (escaped.contains(c))
      result += '\\';
    result += c;
  }
  return result + "'";
}

std::string zshCompletion(const CommandText &program) {
  std::string cases;
  forEach(program, "", [&](const std::string &path, const CommandText &command) {
    std::string lines;
    for (const CommandText &one : command.commands)
      lines += fmt::format("      {}\n", quoted(one.name + ":" + one.summary, ""));
    for (const CommandText::Option &option : command.options)
      for (const std::string &name : option.names)
        lines += fmt::format("      {}\n", quoted(name + ":" + option.help, ""));
    cases += fmt::format("    '{}') words=(\n{}    ) ;;\n", path, lines);
  });
  return "#compdef accord\n"
         "# Completion of accord for zsh, written by `accord completion zsh`.\n"
         "_accord_words() {\n"
         "  case $1 in\n" +
         cases +
         "    *) return 1 ;;\n"
         "  esac\n"
         "}\n"
         "_accord() {\n"
         "  local -a words_typed words\n"
         "  local path_typed='' next i\n"
         "  words_typed=(\"${(@)words}\")\n"
         "  for ((i = 2; i < CURRENT; ++i)); do\n"
         "    next=${words_typed[i]}\n"
         "    [[ $next == -* ]] && break\n"
         "    _accord_words \"${path_typed:+$path_typed }$next\" || break\n"
         "    path_typed=${path_typed:+$path_typed }$next\n"
         "  done\n"
         "  _accord_words \"$path_typed\"\n"
         "  _describe 'accord' words\n"
         "  _files\n"
         "}\n"
         "_accord \"$@\"\n";
}

std::string fishCompletion(const CommandText &program) {
  std::string text = "# Completion of accord for fish, written by `accord completion fish`.\n";
  forEach(program, "", [&](const std::string &path, const CommandText &command) {
    std::string condition = "__fish_use_subcommand";
    if (!path.empty()) {
      llvm::SmallVector<llvm::StringRef> words;
      llvm::StringRef(path).split(words, ' ');
      condition.clear();
      for (llvm::StringRef word : words)
        condition += fmt::format("{}__fish_seen_subcommand_from {}", condition.empty() ? "" : "; and ", word.str());
    }
    for (const CommandText &one : command.commands)
      text += fmt::format("complete -c accord -n '{}' -a {} -d {}\n", condition, one.name, quoted(one.summary, "\\"));
    for (const CommandText::Option &option : command.options) {
      std::string names;
      for (const std::string &name : option.names)
        names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!names.empty())
        text += fmt::format("complete -c accord -n '{}'{}{} -d {}\n", condition, names, option.takesValue ? " -r" : "",
                            quoted(option.help, "\\"));
    }
  });
  return text;
}

/// Text of troff: a backslash and a hyphen are written out, and no line begins with a sign of a request.
std::string troff(const std::string &text) {
  std::string result;
  for (char c : text) {
    if ((c == '.' || c == '\'') && (result.empty() || result.back() == '\n'))
      result += "\\&";
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
  }
  return result;
}

std::string manualPage(const CommandText &program) {
  std::string text = fmt::format(".TH ACCORD 1 \"\" \"accord {}\" \"User Commands\"\n.SH NAME\naccord \\- {}\n",
                                 kVersion, troff(llvm::StringRef(program.summary).split(": ").second.str()));
  text += ".SH SYNOPSIS\n.B accord\n.I COMMAND\n[\n.I OPTIONS\n]\n.SH DESCRIPTION\n" + troff(program.summary) + ".\n";
  forEach(program, "", [&](const std::string &path, const CommandText &command) {
    text +=
        path.empty() ? ".SH OPTIONS\n" : fmt::format(".SH \"accord {}\"\n{}.\n", path, troff(oneLine(command.summary)));
    for (const CommandText::Option &option : command.options) {
      std::string name = option.names.empty() ? option.name : fmt::format("{}", fmt::join(option.names, ", "));
      text += fmt::format(".TP\n.B {}{}\n{}{}\n", troff(name),
                          option.takesValue && !option.names.empty() ? " \\fIVALUE\\fR" : "",
                          troff(oneLine(option.help)), option.isRequired ? " (required)" : "");
    }
    if (!path.empty() && !command.footer.empty())
      text += ".PP\n.nf\n" + troff(command.footer) + "\n.fi\n";
  });
  return text +
         ".SH \"EXIT STATUS\"\n0 done, 1 the input is wrong or the output cannot be written, 2 infeasible, 3 internal "
         "error, 4 unknown: stopped before there was an answer.\n";
}

const CommandEntry kCompletion("completion", "Completion of this command line for a shell", [](Command &command) {
  auto shell = Command::values<std::string>();
  command.option("shell", *shell, "bash, zsh or fish").required().oneOf({"bash", "zsh", "fish"});
  command.example("accord completion bash > ~/.local/share/bash-completion/completions/accord");
  command.action([shell] {
    CommandText program = describeCommands();
    standardOutput() << (*shell == "bash"  ? bashCompletion(program)
                         : *shell == "zsh" ? zshCompletion(program)
                                           : fishCompletion(program));
    return kDone;
  });
});

const CommandEntry kManual("man", "The manual page of all commands, for man(1)", [](Command &command) {
  command.example("accord man > accord.1 && man ./accord.1");
  command.action([] {
    standardOutput() << manualPage(describeCommands());
    return kDone;
  });
});

} // namespace
} // namespace accord
