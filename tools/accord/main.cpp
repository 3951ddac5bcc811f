// The driver: one sub-command per question a user asks. Each lives in a file of its own.
#include "lib/support/Version.h"
#include "tools/accord/Commands.h"
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <new>

int main(int argc, char **argv) {
  CLI::App app{"Accord: placement plans and latency models for DNN training that can be trusted"};
  app.name("accord");
  app.set_version_flag("--version", fmt::format("accord {}", accord::kVersion));
  app.require_subcommand(0, 1);
  app.footer("Example: accord compile examples/01-first-plan/gpt2_xl.dnn -o out/\n"
             "Exit status: 0 done, 1 the input is wrong, 2 infeasible, 3 internal error");
  int status = 0;
  accord::addCompile(app, status);
  accord::addEstimate(app, status);
  accord::addSchedule(app, status);
  accord::addVerify(app, status);
  accord::addExplain(app, status);
  accord::addDiff(app, status);
  accord::addFormat(app, status);
  accord::addLater(app, status);
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty())
      fmt::print("{}", app.help());
  } catch (const CLI::ParseError &e) {
    return app.exit(e) == 0 ? 0 : 1;
  } catch (const std::bad_alloc &) {
    std::fputs("accord: error: out of memory\n", stderr);
    return 3;
  } catch (const std::exception &e) {
    fmt::print(stderr, "accord: internal error: {}\n", e.what());
    return 3;
  }
  return status;
}
