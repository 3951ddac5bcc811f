#include "lib/driver/CommandLine.h"
#include "lib/driver/AnswerManifest.h"
#include "lib/driver/CommandText.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/Options.h"
#include "lib/support/CommandHost.h"
#include "lib/support/Version.h"
#include "llvm/ADT/StringExtras.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <map>
#include <new>
#include <sstream>
#include <system_error>

namespace accord {
namespace {

struct Registered {
  const char *summary;
  void (*describe)(Command &);
};

/// By name, which is also the order of the help.
std::map<std::string, Registered> &commands() {
  static std::map<std::string, Registered> all;
  return all;
}

/// Prints a mistake in the command line like every other error, with the nearest word that is known.
void report(const CLI::ParseError &error, CLI::App &app) {
  llvm::StringRef text = llvm::StringRef(error.what()).trim().rtrim('.');
  std::string message = text.str();
  message[0] = llvm::toLower(message[0]);
  std::vector<std::string> known;
  auto options = [&](CLI::App &of) {
    for (const CLI::Option *option : of.get_options())
      for (const std::string &name : option->get_lnames())
        known.push_back("--" + name);
  };
  options(app);
  CLI::App *chosen = nullptr;
  for (CLI::App *command : app.get_subcommands())
    options(*(chosen = command));
  if (!chosen)
    for (CLI::App *command : app.get_subcommands([](CLI::App *) { return true; }))
      known.push_back(command->get_name());
  std::string near;
  if (text.contains("not expected"))
    near = nearest(text.rsplit(' ').second, known);
  if (const auto [option, set] = text.split(" not in {"); !set.empty()) { // of `oneOf`: "--policy: lerned not in {…}"
    llvm::SmallVector<llvm::StringRef> words;
    set.rtrim('}').split(words, ',');
    near = nearest(option.rsplit(' ').second, std::vector<std::string>(words.begin(), words.end()));
  }
  SourceManager sources;
  Diagnostics diags(sources);
  Diagnostics::Builder told = diags.error(Code::BadCommandLine, {}, message);
  if (!near.empty())
    told.suggest(near);
  else
    told.help(fmt::format("see accord {}--help", chosen ? chosen->get_name() + " " : ""));
  printDiagnostics(diags);
}

} // namespace

OptionEntry &OptionEntry::required() { return option_->required(), *this; }
OptionEntry &OptionEntry::showDefault() { return option_->capture_default_str(), *this; }
OptionEntry &OptionEntry::describe(const std::string &help) { return option_->description(help), *this; }
OptionEntry &OptionEntry::range(int64_t min, int64_t max) { return option_->check(CLI::Range(min, max)), *this; }
OptionEntry &OptionEntry::positive() { return option_->check(CLI::PositiveNumber), *this; }
OptionEntry &OptionEntry::oneOf(const std::vector<std::string> &words) {
  return option_->check(CLI::IsMember(words)), *this;
}
OptionEntry &OptionEntry::oneWord() { return option_->allow_extra_args(false), *this; }
OptionEntry &OptionEntry::commaSeparated() { return option_->delimiter(','), *this; }
OptionEntry &OptionEntry::valueIfAlone(const std::string &value) {
  return option_->expected(0, 1)->default_str(value), *this;
}
OptionEntry &OptionEntry::check(std::function<std::string(const std::string &)> wrong) {
  return option_->check(std::move(wrong)), *this;
}
OptionEntry &OptionEntry::excludes(const OptionEntry &other) { return option_->excludes(other.option_), *this; }

template <typename T> OptionEntry Command::option(const std::string &name, T &target, const std::string &help) {
  return OptionEntry(app_.add_option(name, target, help));
}
template OptionEntry Command::option(const std::string &, std::optional<double> &, const std::string &);
template OptionEntry Command::option(const std::string &, std::string &, const std::string &);
template OptionEntry Command::option(const std::string &, std::vector<std::string> &, const std::string &);
template OptionEntry Command::option(const std::string &, std::vector<double> &, const std::string &);
template OptionEntry Command::option(const std::string &, std::vector<int64_t> &, const std::string &);
template OptionEntry Command::option(const std::string &, std::optional<int64_t> &, const std::string &);
template OptionEntry Command::option(const std::string &, int64_t &, const std::string &);
template OptionEntry Command::option(const std::string &, uint64_t &, const std::string &);
template OptionEntry Command::option(const std::string &, unsigned &, const std::string &);
template OptionEntry Command::option(const std::string &, double &, const std::string &);
OptionEntry Command::flag(const std::string &name, bool &target, const std::string &help) {
  return OptionEntry(app_.add_flag(name, target, help));
}
OptionEntry Command::flag(const std::string &name, std::string &target, const std::string &help) {
  return OptionEntry(app_.add_flag(name, target, help));
}
OptionEntry Command::find(const std::string &name) { return OptionEntry(app_.get_option(name)); }

std::vector<std::string> Command::given() const {
  std::vector<std::string> names;
  for (const CLI::Option *option : app_.get_options())
    if (option->count() > 0 && !option->get_lnames().empty())
      names.push_back(option->get_lnames().front());
  return names;
}

void Command::example(const std::string &text) { app_.footer("Example: " + text); }
void Command::action(std::function<int()> run) {
  app_.callback([&status = status_, run = std::move(run)] { status = run(); });
}
void Command::missing(const std::string &argument) { throw CLI::RequiredError(argument); }
Command Command::command(const std::string &name, const std::string &summary) {
  app_.require_subcommand(1);
  return Command(*app_.add_subcommand(name, summary), status_);
}

namespace {

void describeProgram(CLI::App &app, int &status) {
  app.name("accord");
  app.set_version_flag("--version", fmt::format("accord {}", kVersion));
  app.require_subcommand(0, 1);
  app.footer("Example: accord compile examples/01-first-plan/gpt2_xl.dnn -o out/\n"
             "Exit status: 0 done, 1 the input is wrong or the output cannot be written, 2 infeasible, 3 internal "
             "error, 4 unknown: stopped "
             "before there was an answer");
  for (const auto &[name, registered] : commands()) {
    Command command(*app.add_subcommand(name, registered.summary), status);
    registered.describe(command);
  }
}

CommandText textOf(const CLI::App &app) {
  CommandText text{app.get_name(), app.get_description(), app.get_footer(), {}, {}};
  for (const CLI::Option *option : app.get_options()) {
    CommandText::Option one;
    for (const std::string &name : option->get_snames())
      one.names.push_back("-" + name);
    for (const std::string &name : option->get_lnames())
      one.names.push_back("--" + name);
    if (one.names.empty())
      one.name = option->get_single_name();
    one.help = option->get_description();
    one.takesValue = option->get_items_expected_max() > 0;
    one.isRequired = option->get_required();
    text.options.push_back(std::move(one));
  }
  for (const CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; }))
    text.commands.push_back(textOf(*command));
  return text;
}

constexpr const char *kAbout = "Accord: placement plans and latency models for DNN training that can be trusted";

} // namespace

CommandText describeCommands() {
  int status = kDone;
  CLI::App app{kAbout};
  describeProgram(app, status);
  return textOf(app);
}

CommandEntry::CommandEntry(const char *name, const char *summary, void (*describe)(Command &command)) {
  commands()[name] = {summary, describe};
}

int runCommandLine(const std::vector<std::string> &arguments) {
  CLI::App app{kAbout};
  int status = kDone;
  describeProgram(app, status);
  rememberCommandLine(arguments);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend())); // as it takes them
    if (app.get_subcommands().empty())
      standardOutput() << fmt::format("{}", app.help());
  } catch (const CLI::ParseError &e) {
    if (e.get_exit_code() == 0) { // --help, --version
      std::ostringstream printed;
      int exit = app.exit(e, printed, printed);
      standardOutput() << printed.str();
      return exit == 0 ? kDone : kWrongInput;
    }
    report(e, app);
    return kWrongInput;
  } catch (const std::system_error &e) { // of the threads of a command: memory is short, or there are too many
    standardError() << fmt::format("accord: error: no thread could be started: {}\n", e.code().message());
    return kInternal;
  } catch (const std::bad_alloc &) { // as the program ends without memory
    standardError() << "accord: error: out of memory\n";
    return kInternal;
  } catch (const std::exception &e) {
    standardError() << fmt::format("accord: internal error: {}\n", e.what());
    return kInternal;
  }
  return status;
}

void addProgramOptions(Command &command, Options &options) {
  command.option("file", options.file, "A .dnn file").required();
  command.option("--target", options.elaborate.target,
                 "Machine or cluster to use (overrides the file): a name of the file, its imports or the catalogue, or "
                 "FILE.accel[:NAME]");
  command.option("--power-level", options.powerLevel,
                 "Level of the devices that have one of this name: power { level NAME { ... } } in their description");
  addTrainingOptions(command, options);
  addCostModel(command, options);
  addCompilerOptions(command, options);
  command.option("--model-passes", options.modelPasses,
                 "Passes to run on the model, before its training graph is built");
  command.option("--passes", options.passes, "Passes to run on the training graph, as a pipeline: 'a,b{option=1}'");
  addEffort(command, options.effort);
  addJson(command, options.json);
}

void addTrainingOptions(Command &command, Options &options) {
  ElaborateOptions &elaborate = options.elaborate;
  command.option("--train", elaborate.train, "Which `train` block, or which model of a file without one");
  command.option("--batch", elaborate.batch, "Samples per step (overrides the file)");
  command.option("--microbatch", elaborate.microbatch, "Micro-batch size, or a choice of them (overrides the file)");
  command.option("--recompute", elaborate.recompute,
                 "none, selective or full, or a choice of them: {none, full} (overrides the file)");
  command.option("--precision", elaborate.precision,
                 "fp32, tf32, bf16, fp16, mixed(bf16) or mixed(fp16) (overrides the file)");
  command.option("--optimizer", elaborate.optimizer, "sgd, momentum, adam or adamw (overrides the file)");
}

void addCompilerOptions(Command &command, Options &options) {
  command.option("--load-pass-plugin", options.plugins, "Shared library with passes or cost models (may be repeated)");
  command.flag("--fuse", options.fuse,
               "Fuse element-wise operations into the product or normalization that makes their tensor");
  command.option("--threads", options.threads, "Threads to use; the result is the same").range(1, 256);
}

void addCostModel(Command &command, Options &options) {
  command.option("--calibration", options.elaborate.calibration,
                 "Calibration that its machine takes instead of its own (written by accord calibrate -o)");
  command.flag("--ideal", options.elaborate.ideal,
               "Times at the rates of data sheets, as if machines reached them (default: measured efficiencies)");
  command.option("--cost-model", options.costModel, "Cost model by name, built in or from a plugin");
}

OptionEntry addEffort(Command &command, unsigned &effort) {
  return command
      .option(
          "--effort", effort,
          fmt::format("Work of the search: 0 is a first answer, each step about doubles it, at most {} (default: {})",
                      kMaxEffort, effort))
      .range(0, 1000);
}

void addLimits(Command &command, PlanSearchLimits &limits, const std::string &best) {
  command.option("--gap", limits.gap, "Stop at this relative gap to the proven bound: 2%");
  command.option("--time-limit", limits.timeLimit,
                 "none, or a time such as '30 s', after which " + best +
                     "; it then depends on the machine (default: none)");
}

OptionEntry addOutput(Command &command, std::string &output, const std::string &help) {
  return command.option("-o,--output", output, help).showDefault();
}

void addJson(Command &command, bool &json) {
  command.flag("--json", json, "Print one JSON document on standard output");
}

void addPage(Command &command, std::string &file) {
  command.option("--html", file, "Write a page for a browser into this file, too");
}

} // namespace accord
