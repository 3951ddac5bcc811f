#include "lib/driver/AnswerFolder.h"
#include "lib/driver/ExitStatus.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/WriteFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <fmt/format.h>

namespace accord {

AnswerFolder::AnswerFolder(Diagnostics &diags, std::string path)
    : diags(diags), path(std::move(path)), isWhole(makeFolder(diags, this->path)) {}

AnswerFolder &AnswerFolder::write(llvm::StringRef name, llvm::StringRef text) {
  isWhole = isWhole && writeFile(diags, path + "/" + name.str(), text);
  return *this;
}

AnswerFolder &AnswerFolder::remove(llvm::StringRef name) {
  llvm::sys::fs::remove(path + "/" + name);
  return *this;
}

bool hasResultFile(const std::string &path, const std::string &name) {
  return llvm::sys::fs::is_directory(path) ? llvm::sys::fs::exists(path + "/" + name)
                                           : llvm::sys::path::filename(path) == name && llvm::sys::fs::exists(path);
}

std::optional<ResultFile> readResultFile(const std::string &path, const std::string &name, bool json,
                                         const char *command) {
  std::string file = llvm::sys::fs::is_directory(path) ? path + "/" + name : path;
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer) {
    refuse(Code::CannotRead, fmt::format("'{}' cannot be read: {}", file, buffer.getError().message()), json, command);
    return std::nullopt;
  }
  auto document = parseJson((*buffer)->getBuffer(), file);
  if (!document) {
    refuse(Code::BadPlan, llvm::toString(document.takeError()), json, command);
    return std::nullopt;
  }
  return ResultFile{std::move(file), std::move(*document)};
}

std::optional<Plan> readPlan(const std::string &path, bool json, const char *command) {
  std::string file = llvm::sys::fs::is_directory(path) ? path + "/plan.json" : path;
  auto fail = [&](Code code, const std::string &message) {
    refuse(code, message, json, command);
    return std::nullopt;
  };
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer)
    return fail(Code::CannotRead, fmt::format("'{}' cannot be read: {}", file, buffer.getError().message()));
  auto plan = planFromJson((*buffer)->getBuffer(), file);
  if (!plan)
    return fail(Code::BadPlan, llvm::toString(plan.takeError()));
  return std::move(*plan);
}

} // namespace accord
