#include "lib/driver/service/SubmissionFiles.h"
#include "lib/driver/Workspace.h"
#include "lib/language/syntax/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <vector>

namespace accord {

std::optional<std::map<std::string, std::string>> submissionFiles(Diagnostics &diags, const std::string &main) {
  std::map<std::string, std::string> files;
  const std::string folder = llvm::sys::path::parent_path(main).str();
  struct Next {
    std::string path; ///< relative to the folder
    SourceRange from; ///< where it is named
  };
  std::vector<Next> next{{llvm::sys::path::filename(main).str(), {}}};
  while (!next.empty()) {
    const Next one = std::move(next.back());
    next.pop_back();
    if (files.contains(one.path))
      continue;
    llvm::SmallString<256> path(folder);
    llvm::sys::path::append(path, one.path);
    auto id = readFile(diags, path, one.from);
    auto tree = id ? parse(diags, *id) : nullptr;
    if (!tree || diags.hasErrors())
      return std::nullopt;
    files[one.path] = diags.sources().text(*id).str();
    for (const ast::Import &import : tree->imports) {
      llvm::SmallString<256> imported(llvm::sys::path::parent_path(one.path));
      llvm::sys::path::append(imported, import.path);
      llvm::SmallString<256> full(folder);
      llvm::sys::path::append(full, imported);
      if (llvm::StringRef(import.path).starts_with("catalog/") && !llvm::sys::fs::exists(full))
        continue;
      llvm::sys::path::remove_dots(imported, /*remove_dot_dot=*/true);
      if (llvm::sys::path::is_absolute(import.path) || llvm::StringRef(imported).starts_with("..")) {
        diags
            .error(Code::WrongServiceRequest, import.pathRange,
                   fmt::format("'{}' lies outside of the folder of '{}', which is sent to the scheduler", import.path,
                               main))
            .help("keep what is imported beside or below the file");
        return std::nullopt;
      }
      next.push_back({imported.str().str(), import.pathRange});
    }
  }
  return files;
}

Result<void> writeSubmissionFiles(const std::map<std::string, std::string> &files, const std::string &folder) {
  const std::filesystem::path at = folder;
  std::error_code error;
  for (const auto &[path, text] : files) {
    std::filesystem::create_directories((at / path).parent_path(), error);
    std::ofstream file(at / path, std::ios::binary | std::ios::trunc);
    file << text;
    file.close();
    if (error || !file)
      return Error{Code::StateFailed, fmt::format("cannot write '{}' of a submission", path)};
  }
  return {};
}

} // namespace accord
