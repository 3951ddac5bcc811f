#include "lib/editor/Snapshot.h"
#include "lib/editor/Names.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

namespace accord::editor {
namespace {

/// Constants that name constants: deeper is a cycle.
constexpr unsigned kMaxDepth = 64;

} // namespace

Snapshot::Snapshot(const OpenFiles &open, const std::string &path, const std::string &catalog)
    : unheard(texts), theCatalog(catalog), shippedFolder(realPathOf(catalog)), theNames(unheard, catalog) {
  provideOpenTexts(open, path, catalog, texts);
  theMain = theNames.load(path, {});
}

Snapshot::~Snapshot() = default;

llvm::ArrayRef<Occurrence> Snapshot::namesOf(const Sources::Unit &unit) {
  auto [slot, isNew] = named.try_emplace(unit.file->id.index);
  if (isNew)
    slot->second = namesIn(*this, unit);
  return slot->second;
}

llvm::StringRef Snapshot::text() const { return theMain ? texts.text(theMain->file->id) : llvm::StringRef(); }

std::string Snapshot::pathOf(FileId id) const {
  llvm::StringRef shown = texts.path(id);
  if (shown.consume_front("catalog/") && llvm::sys::path::is_relative(texts.path(id))) {
    llvm::SmallString<256> path(theCatalog);
    llvm::sys::path::append(path, shown);
    return path.str().str();
  }
  llvm::SmallString<256> path(texts.path(id));
  llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  return path.str().str();
}

bool Snapshot::isShipped(FileId id) const {
  return !shippedFolder.empty() && llvm::StringRef(realPathOf(pathOf(id))).starts_with(shippedFolder + "/");
}

const LineTable &Snapshot::lines(FileId id) {
  auto &slot = tables[id.index];
  if (!slot)
    slot = std::make_unique<LineTable>(texts.text(id));
  return *slot;
}

const ast::Declaration *Snapshot::find(const Sources::Unit &unit, llvm::StringRef name) {
  return name.empty() ? nullptr : theNames.find(unit, name, SourceRange{});
}

const Sources::Unit *Snapshot::unitOf(FileId id) const {
  ast::Declaration any;
  any.range.file = id;
  return theNames.unitOf(any);
}

std::optional<Constant> Snapshot::lookUp(llvm::StringRef name, const Sources::Unit &unit, unsigned depth) {
  const ast::Declaration *found = find(unit, name);
  if (!found || found->kind != ast::DeclarationKind::Constant || !found->value || depth == kMaxDepth)
    return std::nullopt;
  const Sources::Unit *home = unitOf(found->range.file);
  if (!home)
    return std::nullopt;
  return evaluate(*found->value, unheard,
                  [&](llvm::StringRef inner, SourceRange) { return lookUp(inner, *home, depth + 1); });
}

std::optional<Constant> Snapshot::valueOf(const ast::Expr &expr, const Sources::Unit &unit) {
  Constant value = evaluate(expr, unheard, [&](llvm::StringRef name, SourceRange) { return lookUp(name, unit, 0); });
  if (value.failed())
    return std::nullopt;
  return value;
}

const Sources::Unit *Snapshot::loadShipped(const std::string &path) { return theNames.load(path, {}); }

} // namespace accord::editor
