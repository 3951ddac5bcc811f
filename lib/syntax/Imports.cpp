#include "lib/syntax/Imports.h"
#include "lib/syntax/Parser.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace accord {
namespace {
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

class Loader {
public:
  Loader(Diagnostics &diags, llvm::ArrayRef<std::string> search) : diags(diags), search(search) {}
  Program program;

  /// The index of the loaded file; nothing if it is being loaded right now (a circle), which is reported at `from`.
  size_t load(FileId id) {
    std::string key = identity(diags.sources().path(id));
    known[key] = kLoading;
    LoadedFile loaded;
    loaded.ast = parse(diags, id);
    program.complete &= loaded.ast->complete;
    duplicateNames(*loaded.ast);
    llvm::StringMap<SourceRange> seen;
    for (const ast::Import &import : loaded.ast->imports)
      loaded.imports.push_back(follow(id, loaded.ast->language, import, seen));
    program.files.push_back(std::move(loaded));
    return known[key] = program.files.size() - 1;
  }

private:
  static constexpr size_t kLoading = ~size_t{0} - 1, kFailed = ~size_t{0};

  /// Two spellings of one file are one file.
  static std::string identity(llvm::StringRef name) {
    llvm::SmallString<256> real;
    if (!fs::real_path(name, real))
      return real.str().str();
    return name.str();
  }

  std::string locate(FileId from, llvm::StringRef name) const {
    std::vector<std::string> places;
    auto place = [&](llvm::StringRef folder, llvm::StringRef file) {
      llvm::SmallString<256> full(folder);
      path::append(full, file);
      places.push_back(full.str().str());
    };
    if (path::is_absolute(name))
      return name.str();
    place(path::parent_path(diags.sources().path(from)), name);
    for (const std::string &folder : search) {
      place(folder, name);
      llvm::StringRef rest = name;
      if (path::filename(folder) == "catalog" && rest.consume_front("catalog/"))
        place(folder, rest);
    }
    for (const std::string &candidate : places)
      if (diags.sources().find(candidate) || (fs::exists(candidate) && !fs::is_directory(candidate)))
        return candidate;
    return {};
  }

  /// Files beside the missing one whose name is near.
  std::string similar(FileId from, llvm::StringRef name) const {
    std::vector<std::string> folders = {path::parent_path(diags.sources().path(from)).str()}, candidates;
    folders.insert(folders.end(), search.begin(), search.end());
    for (const std::string &folder : folders) {
      llvm::SmallString<256> full(folder.empty() ? "." : folder);
      llvm::StringRef sub = path::parent_path(name);
      if (path::filename(folder) != "catalog" || sub != "catalog")
        path::append(full, sub);
      std::error_code error;
      for (fs::directory_iterator it(full, error), end; !error && it != end; it.increment(error)) {
        llvm::SmallString<256> candidate(sub);
        path::append(candidate, path::filename(it->path()));
        if (candidate.ends_with(path::extension(name)))
          candidates.push_back(candidate.str().str());
      }
    }
    std::sort(candidates.begin(), candidates.end()); // folders list their files in no order
    return nearest(name, candidates);
  }

  size_t follow(FileId from, ast::Language language, const ast::Import &import, llvm::StringMap<SourceRange> &seen) {
    std::string place = locate(from, import.path);
    if (place.empty()) {
      std::string where = search.empty() ? "" : " or in the catalogue";
      diags.error(Code::CannotRead, import.pathRange,
                  "no file '" + import.path + "' beside this one" + where)
          .suggest(similar(from, import.path));
      program.complete = false;
      return kFailed;
    }
    if (language == ast::Language::Accel && llvm::StringRef(place).ends_with(".dnn"))
      diags.error(Code::WrongImportKind, import.pathRange, "a machine cannot import a training");
    std::string key = identity(place);
    if (auto [it, fresh] = seen.try_emplace(key, import.range); !fresh)
      diags.error(Code::DuplicateImport, import.range, "'" + import.path + "' imported twice")
          .note(it->second, "first imported here");
    auto it = known.find(key);
    if (it != known.end() && it->second == kLoading) {
      auto error = diags.error(Code::ImportCycle, import.pathRange, "'" + import.path + "' imports itself");
      bool inside = false;
      for (const auto &[file, range] : chain) {
        inside |= file == key;
        if (inside)
          error.note(range, "which imports this");
      }
      program.complete = false;
      return kFailed;
    }
    if (it != known.end())
      return it->second;
    if (chain.size() > 200) {
      diags.error(Code::NestedTooDeep, import.pathRange, "more than 200 files import one another in a row");
      return known[key] = kFailed;
    }
    auto id = readFile(diags, place, import.pathRange);
    if (!id) {
      program.complete = false;
      return known[key] = kFailed;
    }
    chain.push_back({identity(diags.sources().path(from)), import.pathRange});
    size_t index = load(*id);
    chain.pop_back();
    return index;
  }

  void duplicateNames(const ast::File &file) {
    llvm::StringMap<SourceRange> first;
    for (const ast::Declaration &declaration : file.declarations) {
      if (declaration.name.empty())
        continue;
      auto [it, fresh] = first.try_emplace(declaration.name.text, declaration.name.range);
      if (fresh)
        continue;
      diags.error(Code::DuplicateName, declaration.name.range, "'" + declaration.name.text + "' declared twice")
          .note(it->second, "first declared here");
      program.complete = false;
    }
  }

  Diagnostics &diags;
  llvm::ArrayRef<std::string> search;
  llvm::StringMap<size_t> known;
  std::vector<std::pair<std::string, SourceRange>> chain; ///< the importing files and where they import
};

} // namespace

Program load(Diagnostics &diags, FileId file, llvm::ArrayRef<std::string> search) {
  Loader loader(diags, search);
  loader.load(file);
  return std::move(loader.program);
}

Program load(Diagnostics &diags, llvm::StringRef path, llvm::ArrayRef<std::string> search) {
  auto file = readFile(diags, path);
  if (file)
    return load(diags, *file, search);
  Program program;
  program.complete = false;
  program.files.emplace_back().ast = std::make_unique<ast::File>();
  program.files.back().ast->complete = false;
  return program;
}

static const ast::Declaration *declared(const ast::File &file, llvm::StringRef name) {
  for (const ast::Declaration &declaration : file.declarations)
    if (declaration.name.text == name)
      return &declaration;
  return nullptr;
}

std::vector<Program::Found> Program::find(size_t file, llvm::StringRef name) const {
  if (file >= files.size())
    return {};
  if (const auto *own = declared(*files[file].ast, name))
    return {{own, file, ~size_t{0}}};
  // Level by level, so that what is imported directly hides what comes from farther away.
  struct Step {
    size_t file, import;
  };
  std::vector<Step> level;
  std::vector<bool> seen(files.size());
  for (size_t i = 0; i < files[file].imports.size(); ++i)
    level.push_back({files[file].imports[i], i});
  std::vector<Found> found;
  while (!level.empty() && found.empty()) {
    std::vector<Step> next;
    for (const Step &step : level) {
      if (step.file >= files.size() || seen[step.file])
        continue;
      seen[step.file] = true;
      if (const auto *declaration = declared(*files[step.file].ast, name))
        found.push_back({declaration, step.file, step.import});
      for (size_t further : files[step.file].imports)
        next.push_back({further, step.import});
    }
    level = std::move(next);
  }
  return found;
}

std::vector<std::string> Program::names(size_t file) const {
  std::vector<std::string> result;
  std::vector<bool> seen(files.size());
  std::vector<size_t> queue = {file};
  for (size_t i = 0; i < queue.size(); ++i) {
    if (queue[i] >= files.size() || seen[queue[i]])
      continue;
    seen[queue[i]] = true;
    for (const ast::Declaration &declaration : files[queue[i]].ast->declarations)
      if (!declaration.name.empty())
        result.push_back(declaration.name.text);
    queue.insert(queue.end(), files[queue[i]].imports.begin(), files[queue[i]].imports.end());
  }
  return result;
}

void reportUnusedImports(Diagnostics &diags, const Program &program, llvm::ArrayRef<bool> used) {
  const ast::File &file = program.main();
  for (size_t i = 0; i < file.imports.size(); ++i)
    if (i >= used.size() || !used[i])
      diags.error(Code::UnusedImport, file.imports[i].range, "nothing of '" + file.imports[i].path + "' is used");
}

} // namespace accord
