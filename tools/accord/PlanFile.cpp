#include "tools/accord/PlanFile.h"
#include "lib/planning/output/PlanJson.h"
#include "tools/accord/Session.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace accord {

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
