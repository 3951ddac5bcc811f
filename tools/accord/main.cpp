// The driver: one sub-command per question a user asks. Each lives in a file of its own.
#include "lib/support/Diagnostics.h"
#include "lib/support/Version.h"
#include "tools/accord/Commands.h"
#include "tools/accord/Ranks.h"
#include "llvm/ADT/StringExtras.h"
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <new>

/// A mistake in the command line, said like every other error, with the nearest word known.
static void report(const CLI::ParseError &problem, CLI::App &app) {
  llvm::StringRef text = llvm::StringRef(problem.what()).trim().rtrim('.');
  std::string message = text.str();
  message[0] = llvm::toLower(message[0]);
  fmt::print(stderr, "accord: error[A0801]: {}\n", message);
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
    near = accord::nearest(text.rsplit(' ').second, known);
  if (!near.empty())
    fmt::print(stderr, "  help: did you mean '{}'?\n", near);
  else
    fmt::print(stderr, "  help: see accord {}--help\n", chosen ? chosen->get_name() + " " : "");
}

static int run(int argc, char **argv) {
  CLI::App app{"Accord: placement plans and latency models for DNN training that can be trusted"};
  app.name("accord");
  app.set_version_flag("--version", fmt::format("accord {}", accord::kVersion));
  app.require_subcommand(0, 1);
  app.footer("Example: accord compile examples/01-first-plan/gpt2_xl.dnn -o out/\n"
             "Exit status: 0 done, 1 the input is wrong, 2 infeasible, 3 internal error");
  int status = 0;
  accord::addCompile(app, status);
  accord::addEstimate(app, status);
  accord::addLatency(app, status);
  accord::addSchedule(app, status);
  accord::addPartition(app, status);
  accord::addMine(app, status);
  accord::addVerify(app, status);
  accord::addExplain(app, status);
  accord::addDiff(app, status);
  accord::addEmit(app, status);
  accord::addFormat(app, status);
  accord::addImport(app, status);
  accord::addCalibrate(app, status);
  accord::addPrune(app, status);
  accord::addVote(app, status);
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty())
      fmt::print("{}", app.help());
  } catch (const CLI::ParseError &e) {
    if (e.get_exit_code() == 0) // --help, --version
      return app.exit(e) == 0 ? 0 : 1;
    report(e, app);
    return 1;
  } catch (const std::bad_alloc &) {
    std::fputs("accord: error: out of memory\n", stderr);
    return 3;
  } catch (const std::exception &e) {
    fmt::print(stderr, "accord: internal error: {}\n", e.what());
    return 3;
  }
  return status;
}

int main(int argc, char **argv) {
  bool hushed = argc > 1 && llvm::StringRef(argv[1]) == "mine" && accord::silenceOtherRanks();
  int status = run(argc, argv);
  return hushed ? 0 : status; // mpirun would end the rank that says why
}
