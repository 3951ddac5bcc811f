#include "tools/accord/PlanFile.h"
#include "lib/emit/JsonText.h"
#include "lib/emit/PlanJson.h"
#include "lib/support/Diagnostics.h"
#include "tools/accord/Session.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace accord {

std::optional<Plan> readPlan(const std::string &path, bool json, const char *command) {
  SourceManager sources;
  Diagnostics diags(sources);
  std::string file = llvm::sys::fs::is_directory(path) ? path + "/plan.json" : path;
  auto fail = [&](Code code, const std::string &message) {
    diags.error(code, {}, message);
    diags.render(llvm::errs(), llvm::errs().has_colors());
    if (json)
      llvm::outs() << jsonText(errorDocument(diags, command)) << "\n";
    return std::nullopt;
  };
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer)
    return fail(Code::CannotRead,
                fmt::format("'{}' cannot be read: {}", file, buffer.getError().message()));
  auto plan = planFromJson((*buffer)->getBuffer(), file);
  if (!plan)
    return fail(Code::BadPlan, llvm::toString(plan.takeError()));
  return std::move(*plan);
}

} // namespace accord
