#include "lib/exploration/output/MiningReport.h"
#include "lib/exploration/output/MiningOutput.h"
#include "lib/report/ReportPage.h"

namespace accord {

std::string toReport(const MiningPlan &plan) {
  std::string title = plan.space;
  if (plan.best.design)
    for (const MinedStep &step : plan.best.design->steps)
      title += (&step == plan.best.design->steps.data() ? " for " : ", ") + step.job;
  return pageOf(Page::Mining, title, toJson(plan));
}

} // namespace accord
