#include "lib/machine/residuals/StepResiduals.h"
#include "lib/support/StableSort.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace accord::calibrate {
namespace {

using prediction::HeldOutScore;
using prediction::HeldOutValue;

std::string cellsOf(const std::vector<LeftOutStep> &steps, HeldOutValue LeftOutStep::*method) {
  std::vector<HeldOutValue> values;
  for (const LeftOutStep &one : steps)
    if ((one.*method).predicted > 0)
      values.push_back(one.*method);
  if (values.empty())
    return " – | – | – |";
  const HeldOutScore score = prediction::scoreOf(values);
  return fmt::format(" {:.1f} | {:.0f} % | {:.2f} |", 100 * score.meanError, 100 * score.coverage, score.width);
}

std::string lineOf(const std::string &name, const std::vector<LeftOutStep> &steps) {
  return fmt::format("| {} | {} |", name, steps.size()) + cellsOf(steps, &LeftOutStep::dataSheet) +
         cellsOf(steps, &LeftOutStep::calibrated) + cellsOf(steps, &LeftOutStep::learned) + "\n";
}

std::string tableOf(const char *what, const std::vector<LeftOutStep> &steps) {
  std::map<std::string, std::vector<LeftOutStep>> byFamily, byAccelerator;
  for (const LeftOutStep &one : steps) {
    byFamily[one.features.family].push_back(one);
    byAccelerator[one.features.accelerator].push_back(one);
  }
  std::string out = fmt::format("\n## Each {} left out\n\n"
                                "| rows of | rows | data sheet | in | high / low | calibrated | in | high / low | "
                                "learned | in | high / low |\n"
                                "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
                                what);
  out += lineOf("all", steps);
  for (const auto *groups : {&byFamily, &byAccelerator})
    for (const auto &[name, members] : *groups)
      out += lineOf(name, members);
  std::vector<LeftOutStep> worst = steps;
  auto distance = [](const LeftOutStep &one) {
    return std::abs(std::log(one.learned.predicted / one.learned.measured));
  };
  stableSort(worst, [&](const LeftOutStep &a, const LeftOutStep &b) { return distance(a) > distance(b); });
  out += "\nFarthest off (learned):";
  constexpr size_t kWorst = 5;
  for (size_t i = 0; i < std::min(kWorst, worst.size()); ++i)
    out += fmt::format("{} {} {:+.0f} %", i == 0 ? "" : ",", worst[i].id, 100 * worst[i].learned.error());
  return out + ".\n";
}

} // namespace

std::string unseenStepsPage(const std::vector<Case> &cases) {
  using Unit = StepResiduals::Unit;
  std::string out = "# Steps of models that were never measured\n\n"
                    "Mean error in percent, the share of steps in their interval of 90 %, and the median width of the "
                    "intervals.\n";
  out += tableOf("model", leaveStepsOut(cases, Unit::Model, /*calibrates=*/true));
  out += tableOf("family", leaveStepsOut(cases, Unit::Family, /*calibrates=*/true));
  out += tableOf("source", leaveStepsOut(cases, Unit::Source, /*calibrates=*/true));
  out += tableOf("kind (trainings that attend, and others)", leaveStepsOut(cases, Unit::Kind, /*calibrates=*/true));
  return out;
}

} // namespace accord::calibrate
