#include "lib/placement/output/PlacementFolder.h"
#include "lib/placement/output/PlacementJson.h"
#include "lib/placement/output/PlacementReport.h"
#include "lib/placement/output/PlacementSmtQuery.h"
#include "lib/placement/output/PlacementTrace.h"
#include "lib/placement/output/SparsePlacementJson.h"
#include "lib/support/documents/JsonText.h"

namespace accord {

AnswerFiles filesOf(const PlacementPlan &plan, llvm::StringRef model) {
  AnswerFiles files = {{"plan.json", jsonText(toJson(plan)) + "\n"},
                       {kPlacementCertificate.str(), jsonText(placementCertificate(plan)) + "\n"},
                       {kPlacementPaths.str(), placementPaths(plan.result.paths)},
                       {kPlacementSparsity.str(), plan.zeros ? placementSparsity(*plan.zeros) : ""},
                       {"trace.json", jsonLine(toTrace(plan)) + "\n"},
                       {"report.html", toReport(plan, model)},
                       {kPlacementSmtQuery, placementSmtQuery(plan)}};
  std::erase_if(files, [](const AnswerFile &file) { return file.text.empty(); });
  return files;
}

} // namespace accord
