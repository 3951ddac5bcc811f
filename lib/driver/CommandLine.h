// The command line of `accord`. A command describes its options with these classes, in one file of its own, and
// registers itself there:
//
//   static const CommandEntry kEntry("count", "Count the operations of a model", [](Command &command) {
//     auto file = command.values<std::string>();
//     command.option("file", *file, "A .dnn file").required();
//     command.example("accord count gpt2.dnn");
//     command.action([file] { return count(*file); });
//   });
//
// The library that parses the command line is expensive to compile: CommandLine.cpp alone includes it.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace accord {
struct LaunchOptions;
struct Options;
struct PlanSearchLimits;

/// One option of a command, or an argument without a name. Each member returns the option itself.
class OptionEntry {
public:
  explicit OptionEntry(CLI::Option *option) : option_(option) {}

  OptionEntry &required();
  /// The help shows the value that the target has now.
  OptionEntry &showDefault();
  OptionEntry &describe(const std::string &help);
  OptionEntry &range(int64_t min, int64_t max);
  OptionEntry &positive();
  OptionEntry &oneOf(const std::vector<std::string> &words);
  /// Several values in one word: a,b,c.
  OptionEntry &commaSeparated();
  /// One word behind each time that it stands; the words that follow are other arguments.
  OptionEntry &oneWord();
  /// The option may stand without a value, and then means this one.
  OptionEntry &valueIfAlone(const std::string &value);
  /// The function returns what is wrong with a value, or "".
  OptionEntry &check(std::function<std::string(const std::string &)> wrong);
  OptionEntry &excludes(const OptionEntry &other);

private:
  CLI::Option *option_;
};

/// One command (or a command of a command), while it describes itself.
class Command {
public:
  Command(CLI::App &app, int &status) : app_(app), status_(status) {}

  /// What options write to; it lives as long as the command line.
  template <typename T> static std::shared_ptr<T> values() { return std::make_shared<T>(); }

  /// `name` is "--option", "-o,--option", or "argument" for one without a name. The value is checked to be of the
  /// target's type: a text, a number, an optional number, or a list of texts or numbers.
  template <typename T> OptionEntry option(const std::string &name, T &target, const std::string &help);
  /// "!--no-x" sets the target to false.
  OptionEntry flag(const std::string &name, bool &target, const std::string &help);
  /// "--x{word}": alone it means `word`, and `--x=other` is another one.
  OptionEntry flag(const std::string &name, std::string &target, const std::string &help);
  /// An option that was added before.
  OptionEntry find(const std::string &name);
  /// Long names, without dashes, of the options on the command line.
  std::vector<std::string> given() const;

  /// What stands below the list of options. It begins with an example, as in `example("accord fmt a.dnn")`.
  void example(const std::string &text);
  /// What the command does; returns the exit status.
  void action(std::function<int()> run);
  /// Ends the command with the message that an argument is missing.
  [[noreturn]] static void missing(const std::string &argument);
  /// A command of this command, one of which must be chosen.
  Command command(const std::string &name, const std::string &summary);

private:
  CLI::App &app_;
  int &status_;
};

/// Registers a command of `accord` while the program starts.
class CommandEntry {
public:
  CommandEntry(const char *name, const char *summary, void (*describe)(Command &command));
};

/// Parses a command line without the name of the program, runs the command that it names and returns the exit status.
int runCommandLine(const std::vector<std::string> &arguments);

// Groups of options that several commands share.
/// FILE and all options that say which job on which machine, and how much work it may take.
void addProgramOptions(Command &command, Options &options);
/// Settings of the training: --train, --batch, --microbatch, --recompute, --precision, --optimizer.
void addTrainingOptions(Command &command, Options &options);
/// --load-pass-plugin, --fuse and --threads.
void addCompilerOptions(Command &command, Options &options);
void addCostModel(Command &command, Options &options);
OptionEntry addEffort(Command &command, unsigned &effort);
/// --gap and --time-limit. `best`: what is written after the time.
void addLimits(Command &command, PlanSearchLimits &limits, const std::string &best);
/// -o, --output.
OptionEntry addOutput(Command &command, std::string &output, const std::string &help);
/// --device-name, --product, --virtual: how schedulers and tools on a node know the devices of a plan.
void addDeviceNames(Command &command, LaunchOptions &launch);
void addJson(Command &command, bool &json);
/// --html FILE, of commands that need no folder.
void addPage(Command &command, std::string &file);

} // namespace accord
