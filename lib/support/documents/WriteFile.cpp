#include "lib/support/documents/WriteFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace accord {

bool writeFile(Diagnostics &diags, const std::string &path, llvm::StringRef text) {
  std::error_code error;
  llvm::raw_fd_ostream out(path, error);
  if (!error) {
    out << text;
    out.close();
    error = out.error();
    out.clear_error();
  }
  if (error)
    diags.error(Code::CannotWrite, {}, fmt::format("'{}' cannot be written: {}", path, error.message()));
  return !error;
}

bool makeFolder(Diagnostics &diags, const std::string &folder) {
  std::error_code error = llvm::sys::fs::create_directories(folder);
  if (error)
    diags.error(Code::CannotWrite, {}, fmt::format("folder '{}' cannot be made: {}", folder, error.message()));
  return !error;
}

bool writeFiles(Diagnostics &diags, const std::string &folder, const AnswerFiles &files) {
  return llvm::all_of(files, [&](const AnswerFile &file) {
    std::string path = folder + "/" + file.name;
    return makeFolder(diags, llvm::sys::path::parent_path(path).str()) && writeFile(diags, path, file.text);
  });
}

} // namespace accord
