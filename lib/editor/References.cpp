#include "lib/editor/References.h"
#include "lib/language/syntax/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace accord::editor {

FilePlace placeOf(Snapshot &snapshot, SourceRange range) {
  const LineTable &lines = snapshot.lines(range.file);
  return {snapshot.pathOf(range.file), lines.position(range.begin), lines.position(range.end)};
}

std::vector<const Sources::Unit *> unitsOf(const Snapshot &snapshot) {
  std::vector<const Sources::Unit *> all;
  if (snapshot.main())
    all.push_back(snapshot.main());
  for (size_t i = 0; i < all.size(); ++i)
    for (const auto &[import, imported] : all[i]->imports)
      if (!llvm::is_contained(all, imported))
        all.push_back(imported);
  return all;
}

namespace {

const Occurrence *declaredNameAt(Snapshot &snapshot, uint32_t offset) {
  const Sources::Unit *unit = snapshot.main();
  const Occurrence *name = unit ? nameAt(snapshot.namesOf(*unit), offset) : nullptr;
  return name && name->target.valid() ? name : nullptr;
}

auto orderOf(const FilePlace &place) { return std::tuple(place.path, place.begin, place.end); }

/// Places of one program that mean what is declared at `target`.
void collect(Snapshot &snapshot, const FilePlace &target, bool withDeclaration, std::vector<FilePlace> &found) {
  const std::string real = realPathOf(target.path);
  for (const Sources::Unit *unit : unitsOf(snapshot))
    for (const Occurrence &one : snapshot.namesOf(*unit)) {
      if (!one.target.valid() || (one.isDeclaration() && !withDeclaration))
        continue;
      if (snapshot.lines(one.target.file).position(one.target.begin) == target.begin &&
          realPathOf(snapshot.pathOf(one.target.file)) == real)
        found.push_back(placeOf(snapshot, one.range));
    }
}

std::string nameAtPlace(const Snapshot &snapshot, SourceRange range) { return snapshot.sources().text(range).str(); }

} // namespace

std::optional<FilePlace> definitionAt(Snapshot &snapshot, uint32_t offset) {
  if (!snapshot.main())
    return std::nullopt;
  for (const auto &[import, imported] : snapshot.main()->imports)
    if (import->pathRange.begin <= offset && offset <= import->pathRange.end)
      return FilePlace{snapshot.pathOf(imported->file->id), {}, {}};
  if (const Occurrence *name = declaredNameAt(snapshot, offset))
    return placeOf(snapshot, name->target);
  // A machine of the catalogue needs no import.
  const Occurrence *word = nameAt(snapshot.namesOf(*snapshot.main()), offset);
  if (!word)
    return std::nullopt;
  std::string name = nameAtPlace(snapshot, word->range);
  auto path = snapshot.names().catalogFileOf(name);
  const Sources::Unit *unit = path ? snapshot.loadShipped(*path) : nullptr;
  const ast::Declaration *found = unit ? snapshot.find(*unit, name) : nullptr;
  return found ? std::optional(placeOf(snapshot, found->name.range)) : std::nullopt;
}

std::vector<FilePlace> referencesAt(Snapshot &snapshot, uint32_t offset, llvm::ArrayRef<std::string> others,
                                    const SnapshotReader &read, bool withDeclaration) {
  const Occurrence *name = declaredNameAt(snapshot, offset);
  if (!name)
    return {};
  FilePlace target = placeOf(snapshot, name->target);
  std::vector<FilePlace> found;
  collect(snapshot, target, withDeclaration, found);
  for (const std::string &path : others)
    if (Snapshot *other = read(path); other && other != &snapshot)
      collect(*other, target, withDeclaration, found);
  std::sort(found.begin(), found.end(), [](const FilePlace &a, const FilePlace &b) { return orderOf(a) < orderOf(b); });
  found.erase(std::unique(found.begin(), found.end(),
                          [](const FilePlace &a, const FilePlace &b) { return orderOf(a) == orderOf(b); }),
              found.end());
  return found;
}

Result<SourceRange> renameableAt(Snapshot &snapshot, uint32_t offset) {
  const Occurrence *name = declaredNameAt(snapshot, offset);
  if (!name)
    return Error{Code::UnknownName, "nothing that a file declares is named here"};
  if (snapshot.isShipped(name->target.file))
    return Error{Code::UnknownName,
                 fmt::format("'{}' is declared by '{}', which Accord ships", nameAtPlace(snapshot, name->range),
                             snapshot.sources().path(name->target.file).str())};
  return name->range;
}

Result<std::vector<FilePlace>> renameAt(Snapshot &snapshot, uint32_t offset, llvm::StringRef newName,
                                        llvm::ArrayRef<std::string> others, const SnapshotReader &read) {
  auto range = renameableAt(snapshot, offset);
  if (!range)
    return range.error();
  if (!isName(newName))
    return Error{Code::UnknownName,
                 fmt::format("'{}' is no name: letters, digits and '_', and no digit in front", newName.str())};
  const Occurrence *name = declaredNameAt(snapshot, offset);
  const FilePlace target = placeOf(snapshot, name->target);
  std::vector<FilePlace> places = referencesAt(snapshot, offset, others, read, /*withDeclaration=*/true);
  // What would mean another thing afterwards: the same word in a declaration that has the old one.
  auto clashes = [&](Snapshot &of) -> const Occurrence * {
    for (const Sources::Unit *unit : unitsOf(of)) {
      llvm::ArrayRef<Occurrence> all = of.namesOf(*unit);
      std::set<const ast::Declaration *> touched;
      bool global = name->kind == NameKind::Declaration;
      for (const Occurrence &one : all)
        if (one.target.valid() && of.lines(one.target.file).position(one.target.begin) == target.begin &&
            realPathOf(of.pathOf(one.target.file)) == realPathOf(target.path))
          touched.insert(one.within);
      if (touched.empty())
        continue;
      for (const Occurrence &one : all)
        if (one.target.valid() && of.sources().text(one.range) == newName &&
            (touched.count(one.within) || (global && one.isDeclaration() && one.kind == NameKind::Declaration)))
          return &one;
    }
    return nullptr;
  };
  std::vector<Snapshot *> programs{&snapshot};
  for (const std::string &path : others)
    if (Snapshot *other = read(path); other && !llvm::is_contained(programs, other))
      programs.push_back(other);
  for (Snapshot *program : programs)
    if (const Occurrence *other = clashes(*program)) {
      FilePlace at = placeOf(*program, other->range);
      return Error{Code::DuplicateName,
                   fmt::format("'{}' already means something at {}:{}", newName.str(), at.path, at.begin.line + 1)};
    }
  return places;
}

} // namespace accord::editor
