// Pipelines whose stages are on designs of their own, in words and in the document.
#include "lib/exploration/output/MiningOutput.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/TextTable.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace llvm;
namespace accord {

void addStages(json::Object &document, const MiningPlan &plan) {
  if (!plan.stages)
    return;
  const MinedStages &found = *plan.stages;
  json::Array designs, stages;
  for (const MinedDesign &design : found.designs)
    designs.push_back(toJson(plan, design));
  for (const MinedStage &stage : found.stages)
    stages.push_back(json::Object{{"design", jsonString(found.designs[stage.design].name)},
                                  {"first_layer", jsonString(stage.first)},
                                  {"last_layer", jsonString(stage.last)},
                                  {"layers", stage.layers},
                                  {"devices", stage.devices},
                                  {"forward_s", stage.forward},
                                  {"backward_s", stage.backward},
                                  {"step_tail_s", stage.finish},
                                  {"memory_bytes", stage.bytes}});
  MinedDesign step;
  step.steps = {found.step};
  json::Object as = toJson(plan, step);
  document["stages"] = json::Object{{"value", found.value},
                                    {"common", found.common},
                                    {"bound", found.bound},
                                    {"gap", found.bound > 0 ? json::Value(found.gap()) : json::Value(nullptr)},
                                    {"proof", jsonString(found.proof)},
                                    {"candidates", static_cast<int64_t>(found.candidates)},
                                    {"evaluations", static_cast<int64_t>(found.evaluations)},
                                    {"bounds", static_cast<int64_t>(found.bounds)},
                                    {"step", std::move((*as.getArray("steps"))[0])},
                                    {"designs", std::move(designs)},
                                    {"stages", std::move(stages)}};
}

std::string stagesSummary(const MiningPlan &plan, const TextStyle &style) {
  const MinedStages &found = *plan.stages;
  double less = found.common > 0 ? 1 - found.value / found.common : 0;
  std::string text = "\n" + inked(style, Ink::Bold, "Stages") +
                     fmt::format(": {}, {}; {}\n", miningValue(plan, found.value, false),
                                 less > 0 ? fmt::format("{:.3g} % less than on the best common "
                                                        "design ({})",
                                                        100 * less, miningValue(plan, found.common, false))
                                          : "as on the best common design",
                                 found.step.alternative);
  text += found.bound >= found.value ? "  no stages on any designs of the space are better\n"
          : found.bound > 0 ? fmt::format("  gap {:.3g} %: no stages on any designs of the space are below {}\n",
                                          100 * found.gap(), miningValue(plan, found.bound, false))
                            : "  gap not known\n";
  if (less <= 0)
    return text;
  TextTable table("rlrrrrrl", {"stage", "layers", "", "devices", "forward", "backward", "TDP", "design"});
  for (size_t s = 0; s < found.stages.size(); ++s) {
    const MinedStage &stage = found.stages[s];
    const MinedDesign &design = found.designs[stage.design];
    table.row({std::to_string(s), stage.first + (stage.layers > 1 ? " to " + stage.last : ""),
               std::to_string(stage.layers), std::to_string(stage.devices), formatSi(stage.forward, "s"),
               formatSi(stage.backward, "s"),
               design.machine.tdp.value > 0 ? fmt::format("{:.4g} W", design.machine.tdp.value) : "", design.name});
  }
  text += table.text(style);
  for (const MinedDesign &design : found.designs) {
    std::string chosen;
    for (size_t i = 0; i < design.chosen.size(); ++i)
      chosen += fmt::format("{}{} {}", chosen.empty() ? "" : ", ", plan.parameters[i].name, design.chosen[i]);
    text += fmt::format("  {}: {}\n", design.name, chosen);
  }
  return found.left.empty() ? text : text + "  best.accel is the common design: " + found.left + "\n";
}

} // namespace accord
