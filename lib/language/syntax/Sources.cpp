#include "lib/language/syntax/Sources.h"
#include "lib/language/syntax/ParseMemory.h"
#include "lib/language/syntax/Parser.h"
#include "lib/language/syntax/References.h"
#include "lib/support/CommandHost.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <fmt/format.h>

namespace accord {

std::string missingCatalog(const std::string &folder) {
  if (llvm::sys::fs::is_directory(folder))
    return "";
  return fmt::format(
      "no catalogue was found at '{}': keep share/accord/catalog beside the folder of the program, or let "
      "ACCORD_CATALOG name it",
      folder);
}

Sources::~Sources() {
  ParseMemory *memory = ParseMemory::current();
  if (!memory)
    return;
  for (auto &[path, unit] : units)
    if (FileId id = unit->file->id; id.valid())
      memory->keep(diags.sources().path(id), diags.sources().text(id), std::move(unit->file));
}

std::string Sources::resolve(llvm::StringRef written, llvm::StringRef importer) const {
  llvm::SmallString<256> path(llvm::sys::path::parent_path(importer));
  llvm::sys::path::append(path, written);
  if (llvm::sys::path::is_absolute(written))
    path = written;
  llvm::StringRef rest = written;
  if (!isReadable(path) && rest.consume_front("catalog/")) {
    path = catalog;
    llvm::sys::path::append(path, rest);
  }
  return path.str().str();
}

/// The same for all ways to write the path of a file.
static std::string keyOf(const std::string &path) {
  llvm::SmallString<256> real(path);
  if (givenText(path))
    llvm::sys::path::remove_dots(real, /*remove_dot_dot=*/true);
  else if (llvm::sys::fs::real_path(path, real))
    real = path;
  return real.str().str();
}

Sources::Unit *Sources::load(const std::string &path, SourceRange from) {
  std::string key = keyOf(path);
  if (auto known = units.find(key); known != units.end())
    return known->second.get();
  // The catalogue's files are shown by the name that imports give them, wherever Accord is
  // installed.
  llvm::StringRef shown = path;
  bool shipped = !catalog.empty() && shown.consume_front(catalog + "/");
  auto id = readFile(diags, path, from, shipped ? "catalog/" + shown.str() : path);
  if (!id)
    return nullptr;
  auto &slot = units[key];
  slot = std::make_unique<Unit>();
  Unit &unit = *slot;
  unit.path = key;
  unit.file = parse(diags, *id);
  byFile[id->index] = &unit;
  declarations(unit);
  imports(unit);
  return &unit;
}

void Sources::declarations(Unit &unit) {
  for (const ast::Declaration &declaration : unit.file->declarations) {
    if (declaration.name.empty())
      continue;
    auto [it, isNew] = unit.names.try_emplace(declaration.name.text, &declaration);
    if (!isNew)
      diags
          .error(Code::DuplicateName, declaration.name.range,
                 fmt::format("'{}' is already declared in this file", declaration.name.text))
          .note(it->second->name.range, "the earlier declaration");
  }
}

void Sources::reportUnused() {
  for (auto &[path, unit] : units) {
    if (!unit->file->complete)
      continue; // what was not understood may be what uses them
    for (const ast::Declaration &declaration : unit->file->declarations)
      if (declaration.kind == ast::DeclarationKind::Operation || declaration.kind == ast::DeclarationKind::Module ||
          declaration.kind == ast::DeclarationKind::Model)
        reportUnusedNames(declaration, diags);
    std::set<std::string> used = referencedNames(*unit->file);
    for (auto &[import, imported] : unit->imports)
      if (imported->file->complete &&
          llvm::none_of(imported->names, [&](const auto &entry) { return used.count(entry.first); }))
        diags.error(Code::UnusedImport, import->pathRange, fmt::format("nothing of '{}' is used", import->path))
            .help("remove the import");
  }
}

void Sources::imports(Unit &unit) {
  std::map<std::string, const ast::Import *> seen;
  for (const ast::Import &import : unit.file->imports) {
    llvm::StringRef shown = diags.sources().path(unit.file->id);
    std::string path = resolve(import.path, shown.starts_with("catalog/") ? llvm::StringRef(unit.path) : shown);
    if (llvm::StringRef(import.path).starts_with("catalog/") && !isReadable(path))
      if (std::string missing = missingCatalog(catalog); !missing.empty()) {
        diags.error(Code::CannotRead, import.pathRange, fmt::format("cannot read '{}'", import.path)).help(missing);
        continue;
      }
    std::string key = keyOf(path);
    auto [it, isNew] = seen.try_emplace(key, &import);
    if (!isNew) {
      diags.error(Code::DuplicateImport, import.pathRange, fmt::format("'{}' is imported twice", import.path))
          .note(it->second->pathRange, "the first time");
      continue;
    }
    if (unit.file->language == ast::Language::Accel && llvm::StringRef(path).ends_with(".dnn")) {
      diags.error(Code::WrongImportKind, import.pathRange, "a machine description cannot import a training description")
          .help("import it the other way round: the .dnn file imports the .accel file");
      continue;
    }
    if (!llvm::StringRef(path).ends_with(".dnn") && !llvm::StringRef(path).ends_with(".accel")) {
      diags.error(Code::UnknownFileKind, import.pathRange,
                  fmt::format("'{}' ends neither in .accel nor in .dnn", import.path));
      continue;
    }
    auto cycle = llvm::find_if(loading, [&](const auto &step) { return step.first->path == key; });
    if (cycle != loading.end() || unit.path == key) {
      auto error = diags.error(Code::ImportCycle, import.pathRange,
                               fmt::format("'{}' is imported by a file that it imports itself", import.path));
      for (; cycle != loading.end(); ++cycle)
        error.note(cycle->second->pathRange, fmt::format("'{}' is imported here", cycle->second->path));
      continue;
    }
    loading.push_back({&unit, &import});
    Unit *imported = load(path, import.pathRange);
    loading.pop_back();
    if (imported)
      unit.imports.push_back({&import, imported});
  }
}

Sources::Unit *Sources::unitOf(const ast::Declaration &declaration) const {
  auto found = byFile.find(declaration.range.file.index);
  return found == byFile.end() ? nullptr : found->second;
}

const ast::Declaration *Sources::find(const Unit &unit, llvm::StringRef name, SourceRange at) {
  if (auto own = unit.names.find(name.str()); own != unit.names.end())
    return own->second;
  const ast::Declaration *found = nullptr;
  for (auto &[import, imported] : unit.imports) {
    auto theirs = imported->names.find(name.str());
    if (theirs == imported->names.end())
      continue;
    if (found) {
      diags.error(Code::AmbiguousName, at, fmt::format("'{}' is declared by several imports", name.str()))
          .note(found->name.range, "one of them")
          .note(theirs->second->name.range, "the other");
      return found;
    }
    found = theirs->second;
  }
  return found;
}

const ast::Declaration *Sources::find(llvm::StringRef name, const ast::Declaration &from, SourceRange at) {
  Unit *unit = unitOf(from);
  const ast::Declaration *found = unit ? find(*unit, name, at) : nullptr;
  if (found && at.valid() && found->range.file == at.file && found->range.begin > at.begin)
    diags.error(Code::UsedBeforeDeclaration, at, fmt::format("'{}' is used before it is declared", name.str()))
        .note(found->name.range, "declared here");
  return found;
}

std::vector<std::string> Sources::names(const Unit &unit, llvm::ArrayRef<ast::DeclarationKind> kinds) const {
  std::vector<std::string> all;
  auto add = [&](const Unit &from) {
    for (auto &[name, declaration] : from.names)
      if (kinds.empty() || llvm::is_contained(kinds, declaration->kind))
        all.push_back(name);
  };
  add(unit);
  for (auto &[import, imported] : unit.imports)
    add(*imported);
  return all;
}

std::vector<std::string> Sources::names(const ast::Declaration &from) {
  Unit *unit = unitOf(from);
  return unit ? names(*unit) : std::vector<std::string>{};
}

/// What files of a catalogue declare, found by the text alone, so that naming one machine does not parse all of them:
/// the word that a line begins with, the name behind it, and the path.
static void
forEachDeclared(const std::string &catalog,
                llvm::function_ref<void(llvm::StringRef word, const std::string &name, const std::string &path)> told) {
  std::error_code problem;
  for (llvm::sys::fs::directory_iterator it(catalog, problem), end; it != end && !problem; it.increment(problem)) {
    if (!llvm::StringRef(it->path()).ends_with(".accel"))
      continue;
    auto buffer = llvm::MemoryBuffer::getFile(it->path());
    if (!buffer)
      continue;
    llvm::SmallVector<llvm::StringRef> lines;
    (*buffer)->getBuffer().split(lines, '\n');
    for (llvm::StringRef line : lines) {
      auto [word, rest] = line.split(' ');
      if (word == "cluster" || word == "accelerator" || word == "microarchitecture")
        told(word,
             rest.ltrim()
                 .take_while([](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; })
                 .str(),
             it->path());
    }
  }
}

const std::map<std::string, std::string> &Sources::catalogIndex() const {
  if (index)
    return *index;
  index.emplace();
  forEachDeclared(catalog, [&](llvm::StringRef word, const std::string &name, const std::string &path) {
    if (word != "microarchitecture")
      (word == "cluster" ? clusterIndex : *index)[name] = path;
  });
  return *index;
}

std::map<std::string, std::string> microarchitecturesIn(const std::string &catalog) {
  std::map<std::string, std::string> all;
  forEachDeclared(catalog, [&](llvm::StringRef word, const std::string &name, const std::string &path) {
    if (word == "microarchitecture")
      all[name] = path;
  });
  return all;
}

std::optional<std::string> Sources::catalogFileOf(llvm::StringRef machine) const {
  const auto *accelerators = &catalogIndex(), *clusters = &std::as_const(clusterIndex);
  for (const auto *one : {accelerators, clusters})
    if (auto found = one->find(machine.str()); found != one->end())
      return found->second;
  return std::nullopt;
}

std::vector<std::string> Sources::catalogMachines(bool clusters) const {
  std::vector<std::string> all;
  for (auto &[name, file] : catalogIndex())
    all.push_back(name);
  if (clusters)
    for (auto &[name, file] : clusterIndex)
      all.push_back(name);
  return all;
}

} // namespace accord
