#include "lib/exploration/output/MiningFolder.h"
#include "lib/exploration/output/MiningOutput.h"
#include "lib/support/documents/JsonText.h"
#include <fmt/format.h>

namespace accord {

AnswerFiles filesOf(const MiningPlan &plan) {
  AnswerFiles files = {{"mine.json", jsonText(toJson(plan)) + "\n"},
                       {"convergence.csv", convergenceCsv(plan)},
                       {"report.html", toReport(plan)}};
  if (!plan.compared.empty())
    files.push_back({"compared.csv", comparisonCsv(plan)});
  bool staged = plan.stages && !plan.stages->sha256.empty();
  if (plan.best.design)
    files.push_back({staged ? "common.accel" : "best.accel", plan.best.design->text});
  if (staged && !plan.stages->text.empty())
    files.push_back({"best.accel", plan.stages->text});
  for (const MinedAnswer &own : plan.own)
    if (own.design)
      files.push_back({own.design->name + ".accel", own.design->text});
  if (!plan.front)
    return files;
  files.push_back({"front.csv", paretoFrontCsv(plan)});
  for (const MinedDesign &design : plan.front->designs)
    files.push_back({"front/" + design.name + ".accel", design.text});
  return files;
}

std::string designText(const DesignSpace &space, const Design &design, const std::vector<MinedStep> &steps,
                       const std::vector<std::string> &clusters) {
  std::string text, after;
  for (const MinedStep &step : steps)
    text += fmt::format("/// {}: {:.6g} s a step of {}, {}.\n", step.job, step.step, step.batch, step.alternative);
  for (const std::string &cluster : clusters)
    if (!cluster.empty() && after.find(cluster) == std::string::npos)
      after += "\n" + cluster;
  return text + space.text(design) + after;
}

} // namespace accord
