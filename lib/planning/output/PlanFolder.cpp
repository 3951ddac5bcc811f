#include "lib/planning/output/PlanFolder.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/planning/output/Report.h"
#include "lib/planning/output/Trace.h"
#include "lib/support/documents/JsonText.h"

namespace accord {

AnswerFiles filesOf(const Plan &plan, llvm::StringRef model) {
  return {{"plan.json", jsonText(toJson(plan)) + "\n"},
          {"trace.json", jsonLine(toTrace(plan)) + "\n"},
          {"report.html", toReport(plan, model)}};
}

} // namespace accord
