#include "lib/editor/Diagnose.h"
#include "dialects/accel/AccelDialect.h"
#include "lib/driver/Workspace.h"
#include "lib/language/syntax/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"
#include <fmt/format.h>

namespace accord::editor {
namespace {

/// Turns places of a source manager into those of an editor.
class Places {
public:
  Places(const SourceManager &sources, std::string main) : sources(sources), main(std::move(main)) {}

  FilePlace place(SourceRange range) {
    if (!range.valid())
      return {main, {}, {}};
    auto &table = tables[range.file.index];
    if (!table)
      table = std::make_unique<LineTable>(sources.text(range.file));
    return {pathOf(range.file), table->position(range.begin), table->position(range.end)};
  }

private:
  std::string pathOf(FileId id) const {
    llvm::StringRef shown = sources.path(id);
    if (shown.starts_with("<")) // what the command line would say
      return main;
    if (shown.consume_front("catalog/")) {
      llvm::SmallString<256> path(catalogFolder());
      llvm::sys::path::append(path, shown);
      return path.str().str();
    }
    llvm::SmallString<256> path(sources.path(id));
    llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
    return path.str().str();
  }

  const SourceManager &sources;
  std::string main;
  std::map<uint32_t, std::unique_ptr<LineTable>> tables;
};

std::vector<std::string> trainingsIn(const ast::File &file) {
  std::vector<std::string> names;
  for (const ast::Declaration &one : file.declarations)
    if (ast::runsModel(one.kind))
      names.push_back(one.name.text);
  return names;
}

/// All checks of a file that need no search. A file may have several trainings, and each is looked at as if the
/// command line named it.
void check(const OpenFiles &open, const std::string &path, const std::string &train, Workspace &workspace,
           const std::function<bool()> &stop) {
  provideOpenTexts(open, path, catalogFolder(), workspace.diagnostics().sources());
  if (!(train.empty() ? workspace.read() : workspace.readTraining()) || stop())
    return;
  if (!train.empty()) {
    if (!workspace.job().target.empty())
      workspace.program().machineOf(workspace.job());
    workspace.program().model(workspace.job());
  }
  // What is unused is told last, for a misspelt use would be told twice.
  bool last = !train.empty() || trainingsIn(*workspace.program().main()).empty();
  if (last && !workspace.diagnostics().hasErrors() && !stop())
    workspace.program().reportUnused();
}

Finding findingOf(const Diagnostic &one, Places &places) {
  Finding finding{places.place(one.range), one.severity == Severity::Error,
                  numberOf(one.code),      one.message,
                  suggestedIn(one.help),   {}};
  if (!one.help.empty())
    finding.message += "\n" + one.help;
  for (const Note &note : one.notes)
    finding.notes.emplace_back(places.place(note.range), note.message);
  return finding;
}

Options optionsOf(const std::string &path, const std::string &train) {
  Options options;
  options.file = path;
  options.elaborate.train = train;
  // A file may be meant for any command: machines that leave something open are for `mine`, choices of degrees for a
  // cluster, and zeros for `prune`.
  options.elaborate.clusters = options.elaborate.placement = options.elaborate.mines = true;
  return options;
}

/// Leaves accelerators out that are known to be right.
class AcceleratorFilter {
public:
  explicit AcceleratorFilter(CheckMemory::File &memory) : memory(memory) {}

  bool isChecked(const ast::Declaration &declaration, Workspace &workspace) {
    if (declaration.kind != ast::DeclarationKind::Accelerator)
      return false;
    if (!isRead)
      readContext(workspace);
    const SourceManager &sources = workspace.diagnostics().sources();
    llvm::StringRef text = sources.text(declaration.range);
    if (text.contains("from")) // a file that it names may be another one
      return false;
    uint64_t hash = llvm::xxh3_64bits(text);
    seen.insert(hash);
    return memory.accelerators.count(hash) > 0;
  }
  /// Nothing was wrong in the whole file.
  void remember() {
    if (isRead)
      memory.accelerators = std::move(seen);
  }

private:
  void readContext(Workspace &workspace) {
    isRead = true;
    const SourceManager &sources = workspace.diagnostics().sources();
    const ast::File &main = *workspace.program().main();
    std::string others;
    for (const ast::Declaration &one : main.declarations)
      if (one.kind != ast::DeclarationKind::Accelerator)
        others += sources.text(one.range).str() + "\n";
      else
        others += one.name.text + "\n"; // what a name means depends on the names that there are
    for (const ast::Import &one : main.imports)
      others += one.path + "\n";
    for (uint32_t i = 0; i < sources.size(); ++i)
      if (FileId id{i}; id != main.id)
        others += fmt::format("{}\n{:x}\n", sources.path(id).str(), llvm::xxh3_64bits(sources.text(id)));
    uint64_t context = llvm::xxh3_64bits(others);
    if (memory.context != context)
      memory.accelerators.clear();
    memory.context = context;
  }

  CheckMemory::File &memory;
  std::set<uint64_t> seen;
  bool isRead = false;
};

} // namespace

std::string suggestedIn(llvm::StringRef help) {
  if (!help.consume_front("did you mean '"))
    return "";
  size_t end = help.find("'?");
  return end == llvm::StringRef::npos ? "" : help.take_front(end).str();
}

std::map<std::string, std::vector<Finding>> diagnose(const OpenFiles &open, const std::string &path,
                                                     const std::function<bool()> &stop, CheckMemory *memory) {
  std::map<std::string, std::vector<Finding>> all{{path, {}}};
  std::vector<std::string> trains{""};
  for (size_t i = 0; i < trains.size() && !stop(); ++i) {
    Options options = optionsOf(path, trains[i]);
    Workspace workspace(options);
    std::optional<AcceleratorFilter> filter;
    if (memory) {
      filter.emplace(memory->of(path));
      options.elaborate.isChecked = [&](const ast::Declaration &one) { return filter->isChecked(one, workspace); };
    }
    check(open, path, trains[i], workspace, stop);
    if (filter && !stop() && workspace.diagnostics().sorted().empty())
      filter->remember();
    Places places(workspace.diagnostics().sources(), path);
    for (const Diagnostic &one : workspace.diagnostics().sorted()) {
      Finding finding = findingOf(one, places);
      std::vector<Finding> &there = all[finding.at.path];
      bool known = llvm::any_of(there, [&](const Finding &other) {
        return other.at.begin == finding.at.begin && other.code == finding.code && other.message == finding.message;
      });
      if (!known && there.size() < Diagnostics::kCap)
        there.push_back(std::move(finding));
    }
    if (i > 0 || workspace.diagnostics().hasErrors())
      continue;
    llvm::append_range(trains, trainingsIn(*workspace.program().main()));
  }
  return all;
}

} // namespace accord::editor
