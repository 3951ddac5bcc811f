#include "lib/placement/output/PlacementFolder.h"
#include "lib/placement/output/PlacementJson.h"
#include "lib/placement/output/PlacementSmtQuery.h"
#include "lib/placement/output/PlacementTrace.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

namespace accord {

std::optional<Error> writePlacement(const std::string &folder, const PlacementPlan &plan,
                                    const PlacementReportOptions &options) {
  auto error = [&](const std::string &what, std::error_code why) {
    return Error{Code::CannotWrite, fmt::format("'{}' cannot be written: {}", what, why.message()), {}, {}};
  };
  if (std::error_code why = llvm::sys::fs::create_directories(folder + "/certificate"))
    return error(folder, why);
  std::pair<std::string, std::string> files[] = {
      {"plan.json", jsonText(toJson(plan)) + "\n"},
      {kPlacementCertificate.str(), jsonText(placementCertificate(plan)) + "\n"},
      {kPlacementPaths.str(), placementPaths(plan.result.paths)},
      {"trace.json", jsonLine(toTrace(plan)) + "\n"},
      {"report.html", toReport(plan, options)},
      {kPlacementSmtQuery, placementSmtQuery(plan)}};
  for (const auto &[name, text] : files) {
    std::string path = folder + "/" + name;
    if (text.empty())
      continue;
    std::error_code why;
    llvm::raw_fd_ostream file(path, why);
    if (!why) {
      file << text;
      file.close();
      why = file.error();
      file.clear_error();
    }
    if (why)
      return error(path, why);
  }
  return std::nullopt;
}

} // namespace accord
