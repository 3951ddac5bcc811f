// accord list: the machines, models, operations and objectives that Accord knows by name.
#include "lib/driver/CommandLine.h"
#include "lib/driver/Documents.h"
#include "lib/driver/Workspace.h"
#include "lib/language/models/OperationTable.h"
#include "lib/language/syntax/Parser.h"
#include "lib/language/syntax/Sources.h"
#include "lib/placement/problem/Objective.h"
#include "lib/support/CommandHost.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/TextTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord {
namespace {

struct ListOptions {
  std::string kind, file;
  bool json = false;
};

struct Entry {
  std::string name, kind, file, text; ///< the file is empty where it is built in
};

void describe(JsonFields &f, Entry &one) {
  f.field("name", one.name)
      .field("kind", one.kind,
             [](JsonVisitor &v, std::string &kind) {
               constexpr llvm::StringRef words[] = {"accelerator", "cluster", "model", "operation", "objective"};
               size_t index = llvm::find(words, kind) - words;
               v.word(index, words, "");
             })
      .about(
          "first line of the comment before the declaration; of an operation how it is called, with ? behind what may "
          "be left out")
      .field("description", one.text)
      .about("name of the file that declares it; absent where it is built in")
      .maybe("file", one.file);
}
void describeEntries(JsonFields &f, std::vector<Entry> &entries) {
  f.head("list")
      .about("in the order of their files and of their places there; operations by name")
      .field("entries", entries);
}
const DocumentEntry kDocument("list", "accord list --json",
                              "The machines, models, operations or objectives that have names.",
                              [] { return schemaOf<std::vector<Entry>>(describeEntries); });

/// Files of the catalogue with this extension, in the order of their names.
std::vector<std::string> catalogFiles(llvm::StringRef extension) {
  std::vector<std::string> files;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator file(catalogFolder(), error), end; !error && file != end;
       file.increment(error))
    if (llvm::sys::path::extension(file->path()) == extension)
      files.push_back(file->path());
  llvm::sort(files);
  return files;
}

/// What the file declares of this kind; each with the first line of its comment.
void addDeclared(Diagnostics &diags, const std::string &path, bool machines, std::vector<Entry> &entries) {
  auto file = readFile(diags, path);
  auto tree = file ? parse(diags, *file) : nullptr;
  for (size_t i = 0; tree && i < tree->declarations.size(); ++i) {
    const ast::Declaration &one = tree->declarations[i];
    bool cluster = one.kind == ast::DeclarationKind::Cluster;
    if (machines ? cluster || one.kind == ast::DeclarationKind::Accelerator : one.kind == ast::DeclarationKind::Model)
      entries.push_back({one.name.text,
                         !machines ? "model"
                         : cluster ? "cluster"
                                   : "accelerator",
                         llvm::sys::path::filename(path).str(),
                         llvm::StringRef(one.doc).trim().split('\n').first.trim().str()});
  }
}

std::vector<Entry> operations() {
  std::vector<Entry> entries;
  for (const OperationSpec &one : operationTable()) {
    std::vector<std::string> words;
    for (size_t i = 0; i < one.operands.size(); ++i)
      words.push_back(one.operands[i].str() + (one.variadic ? ", ..." : ""));
    for (const AttributeSpec &attribute : one.attributes)
      words.push_back(attribute.name.str() + (attribute.required ? "" : "?"));
    entries.push_back({one.name.str(), "operation", "", fmt::format("{}({})", one.name.str(), fmt::join(words, ", "))});
  }
  llvm::sort(entries, [](const Entry &a, const Entry &b) { return a.name < b.name; });
  return entries;
}

std::vector<Entry> objectives() {
  std::vector<Entry> entries{{"throughput", "objective", "", "maximize throughput: samples per second"}};
  for (const ObjectiveFormula &one : objectiveFormulas())
    entries.push_back({one.name, "objective", "",
                       fmt::format("{}{}{}{}", one.minimize ? "minimize " : "", one.minimize ? one.minimize : "",
                                   one.minimize ? ": " : "", one.label)});
  return entries;
}

int list(const ListOptions &options) {
  SourceManager sources;
  Diagnostics diags(sources);
  std::vector<Entry> entries;
  bool shipped = options.file.empty();
  bool machines = options.kind == "machines", declared = machines || options.kind == "models";
  if (!declared && !options.file.empty())
    return refuse(Code::BadCommandLine, fmt::format("no file declares {}: leave out '{}'", options.kind, options.file),
                  options.json, "list");
  if (std::string missing = missingCatalog(catalogFolder()); declared && shipped && !missing.empty())
    return refuse(Code::CannotRead, missing, options.json, "list");
  if (declared)
    for (const std::string &path : shipped ? catalogFiles(machines ? ".accel" : ".dnn") : std::vector{options.file})
      addDeclared(diags, path, machines, entries);
  else
    entries = options.kind == "operations" ? operations() : objectives();
  if (finish(diags, kDone, options.json, "list") != kDone)
    return kWrongInput;
  if (options.json) {
    standardOutput() << jsonText(toDocument(entries, describeEntries)) << "\n";
    return kDone;
  }
  TextTable table("llll", {"name", "kind", "file", "description"});
  for (const Entry &one : entries)
    table.row({one.name, one.kind, one.file, one.text});
  TextStyle style = TextStyle::of(standardOutput());
  style.width = 1000; // names are never shortened
  standardOutput() << table.text(style);
  return kDone;
}

const CommandEntry
    kEntry("list", "The machines, models, operations and objectives that have names", [](Command &command) {
      auto options = Command::values<ListOptions>();
      command.option("kind", options->kind, "machines, models, operations or objectives")
          .required()
          .oneOf({"machines", "models", "operations", "objectives"});
      command.option("file", options->file, "Of machines and models: those of this file, instead of the catalogue's");
      addJson(command, options->json);
      command.example("accord list machines\n"
                      "         accord list operations --json");
      command.action([options] { return list(*options); });
    });

} // namespace
} // namespace accord
