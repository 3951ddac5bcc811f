// accord schema: the JSON Schema of what a command prints.
#include "lib/driver/CommandLine.h"
#include "lib/driver/Documents.h"
#include "lib/driver/ExitStatus.h"
#include "lib/support/CommandHost.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/TextTable.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace accord {
namespace {

int printSchema(const std::string &name) {
  TextStyle style = TextStyle::of(standardOutput());
  std::vector<std::string> names;
  for (const auto &[one, document] : documents()) {
    if (!document.describe)
      continue;
    if (one == name) {
      standardOutput() << schemaText(documentSchema(one, document)) << "\n";
      return kDone;
    }
    names.push_back(one);
    if (name.empty())
      standardOutput() << fmt::format("{:<13}", one)
                       << wrapped(document.sentence, std::string(13, ' '), style).substr(13);
  }
  return name.empty()
             ? kDone
             : refuse(Code::BadCommandLine, fmt::format("no document is called '{}': accord schema lists all", name),
                      false, "schema", nearest(name, names));
}

const CommandEntry kEntry("schema", "The JSON Schema of what a command prints with --json", [](Command &command) {
  auto name = Command::values<std::string>();
  command.option("document", *name, "Name of a document; without one, all names");
  command.example("accord schema verify > verify.schema.json");
  command.action([name] { return printSchema(*name); });
});

} // namespace
} // namespace accord
