#include "lib/jobs/output/JobScheduleReport.h"
#include "lib/jobs/output/JobScheduleOutput.h"
#include "lib/report/ReportPage.h"
#include "lib/support/documents/JsonText.h"

namespace accord::jobs {

std::string jobScheduleReport(const JobAnswer &answer) {
  const llvm::json::Value data = jobScheduleJson(answer);
  return pageOf(Page::Jobs, answer.name.empty() ? "jobs" : answer.name, jsonText(data) + "\n", data);
}

} // namespace accord::jobs
