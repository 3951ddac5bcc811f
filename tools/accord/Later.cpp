// Commands that are announced and refused by name until they exist.
#include "tools/accord/Commands.h"
#include "tools/accord/Session.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace accord {

void addLater(CLI::App &app, int &status) {
  struct Announced {
    const char *name, *what;
  };
  for (Announced a : {Announced{"mine", "Search a design space for the best accelerator"}}) {
    CLI::App *command = app.add_subcommand(a.name, fmt::format("{} (not supported yet)", a.what));
    command->allow_extras();
    std::string name = a.name;
    command->callback([name, &status] {
      fmt::print(stderr, "accord: error[A0705]: not supported yet: accord {}\n", name);
      status = kWrongInput;
    });
  }
}

} // namespace accord
