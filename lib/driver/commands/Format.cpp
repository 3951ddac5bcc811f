// accord fmt: one layout for both languages.
#include "lib/language/syntax/Format.h"
#include "lib/driver/CommandLine.h"
#include "lib/driver/ExitStatus.h"
#include "lib/language/syntax/Parser.h"
#include "lib/support/CommandHost.h"
#include "lib/support/documents/WriteFile.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace accord {
namespace {

struct FormatOptions {
  std::vector<std::string> files;
  bool check = false, print = false;
};

int formatFiles(const FormatOptions &options) {
  SourceManager sources;
  Diagnostics diags(sources);
  bool differs = false;
  for (const std::string &path : options.files) {
    auto file = readFile(diags, path);
    if (!file)
      continue;
    auto tree = parse(diags, *file);
    if (!tree || !tree->complete)
      continue;
    std::string text = format(sources, *tree);
    bool same = text == sources.text(*file);
    if (options.print)
      standardOutput() << text;
    else if (!same && options.check)
      standardOutput() << fmt::format("{}: not formatted\n", path);
    else if (!same)
      writeFile(diags, path, text);
    differs |= !same;
  }
  return finish(diags, options.check && differs ? kWrongInput : kDone, false, "fmt");
}

const CommandEntry kEntry("fmt", "Format .accel and .dnn files in place; every comment stays", [](Command &command) {
  auto options = Command::values<FormatOptions>();
  command.option("files", options->files, "Files to format").required();
  command.flag("--check", options->check, "Change nothing; exit with 1 if a file is not formatted");
  command.flag("--print", options->print, "Print the formatted text instead of writing it");
  command.example("accord fmt my_model.dnn my_machine.accel");
  command.action([options] { return formatFiles(*options); });
});

} // namespace
} // namespace accord
