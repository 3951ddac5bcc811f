#include "lib/jobs/output/JobAnswerFolder.h"
#include "lib/jobs/output/JobScheduleOutput.h"
#include "lib/jobs/output/JobScheduleReport.h"
#include "lib/jobs/output/JobScheduleText.h"
#include "lib/support/documents/JsonText.h"

namespace accord::jobs {

AnswerFiles filesOf(const JobAnswer &answer) {
  return {{"jobs.json", jsonText(jobScheduleJson(answer)) + "\n"},
          {"jobs.csv", jobScheduleCsv(answer)},
          {"trace.json", jsonText(jobScheduleTrace(answer)) + "\n"},
          {"report.html", jobScheduleReport(answer)},
          {kJobsCertificate, jobsCertificate(answer)}};
}

} // namespace accord::jobs
