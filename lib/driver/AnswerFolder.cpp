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
  (void)llvm::sys::fs::remove(path + "/" + name);
  return *this;
}

bool hasResultFile(const std::string &path, const std::string &name) {
  return llvm::sys::fs::is_directory(path) ? llvm::sys::fs::exists(path + "/" + name)
                                           : llvm::sys::path::filename(path) == name && llvm::sys::fs::exists(path);
}

std::string resultFile(const std::string &path, const std::string &name) {
  return llvm::sys::fs::is_directory(path) ? path + "/" + name : path;
}

std::optional<std::string> readText(const std::string &file, bool json, const char *command) {
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer)
    return refused(Code::CannotRead, fmt::format("'{}' cannot be read: {}", file, buffer.getError().message()), json,
                   command);
  return (*buffer)->getBuffer().str();
}

std::optional<ResultFile> readResultFile(const std::string &path, const std::string &name, bool json,
                                         const char *command) {
  std::string file = resultFile(path, name);
  auto text = readText(file, json, command);
  if (!text)
    return std::nullopt;
  auto document = parseJson(*text, file);
  if (!document)
    return refused(Code::BadPlan, llvm::toString(document.takeError()), json, command);
  return ResultFile{std::move(file), std::move(*document)};
}

std::optional<Plan> readPlan(const std::string &path, bool json, const char *command) {
  std::string file = resultFile(path, "plan.json");
  auto text = readText(file, json, command);
  if (!text)
    return std::nullopt;
  auto plan = planFromJson(*text, file);
  if (!plan)
    return refused(Code::BadPlan, llvm::toString(plan.takeError()), json, command);
  return std::move(*plan);
}

} // namespace accord
