#include "lib/report/ReportPage.h"
#include "lib/sparsity/output/AccuracyOutput.h"
#include "lib/sparsity/output/Sparsity.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/SummaryLines.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace accord {
namespace {

constexpr size_t kMaxReportedRejections = 2;

std::string objectiveText(const std::string &objective) {
  return objective == "step_time" ? "step time"
         : objective == "memory"  ? "memory of weights and their states"
                                  : objective;
}

std::string times(double dense, double now) {
  return now > 0 && now != dense ? fmt::format("{:.3g} times", dense / now) : "-";
}

std::string interval(double min, double max) {
  return min == max ? "-" : fmt::format("{} to {}", formatSi(min, "s"), formatSi(max, "s"));
}

/// Long names of zeros stand below a table, by letter.
class Letters {
public:
  std::string of(const std::string &label) {
    if (label.size() < 12)
      return label;
    auto at = std::find(labels_.begin(), labels_.end(), label);
    size_t number = at - labels_.begin();
    if (at == labels_.end())
      labels_.push_back(label);
    return fmt::format("[{}]", number + 1);
  }
  void addTo(SummaryLines &lines) const {
    for (size_t i = 0; i < labels_.size(); ++i)
      lines.add(fmt::format("[{}]", i + 1), labels_[i]);
  }

private:
  std::vector<std::string> labels_;
};

/// Names of layers without what all longer ones begin with, up to a point.
std::vector<std::string> shortNames(std::vector<std::string> names) {
  std::string prefix;
  bool first = true;
  for (const std::string &name : names) {
    if (std::count(name.begin(), name.end(), '.') < 2)
      continue;
    if (first)
      prefix = name.substr(0, name.rfind('.') + 1);
    first = false;
    while (!name.starts_with(prefix))
      prefix.resize(prefix.size() < 2 ? 0 : prefix.rfind('.', prefix.size() - 2) + 1);
  }
  for (std::string &name : names)
    if (name.starts_with(prefix))
      name.erase(0, prefix.size());
  return names;
}

std::string stepTable(const PrunePlan &plan, const TextStyle &style, Letters &letters) {
  TextTable table("lrrrrrrl", {"layer", "dense", "ideal", "expected", "interval", "speed-up", "state", "sparsity"});
  std::vector<std::string> names;
  for (const PruneLayer &layer : plan.layers)
    names.push_back(layer.name);
  names = shortNames(std::move(names));
  for (size_t i = 0; i < plan.layers.size(); ++i) {
    const PruneLayer &layer = plan.layers[i];
    const PruneOption &dense = layer.options.front(), &chosen = layer.chosen();
    table.row({names[i], formatSi(dense.seconds, "s"), formatSi(chosen.seconds, "s"), formatSi(chosen.expected, "s"),
               interval(chosen.expectedMin, chosen.expectedMax), times(dense.seconds, chosen.expected),
               chosen.bytes > 0 ? formatBytes(chosen.bytes) : "-", letters.of(chosen.label)});
  }
  return table.text(style);
}

/// "block RAM", "streamed, 2 times".
std::string weightsText(const DataflowMemory &memory) {
  std::string text = memory.weights == WeightPlace::UltraRam   ? "UltraRAM"
                     : memory.weights == WeightPlace::BlockRam ? "block RAM"
                     : memory.passes == 1                      ? "streamed"
                                                               : fmt::format("streamed {} times", memory.passes);
  return memory.evicts ? text + ", detours beside" : text;
}

std::string pipelineTable(const SparsityPlan &plan, const TextStyle &style, Letters &letters) {
  const bool memories = plan.pipeline->problem.resources.isStated();
  TextTable table =
      memories ? TextTable("lrrrrrrrlll", {"layer", "multipliers", "in", "out", "fine", "block RAM", "UltraRAM",
                                           "utilization", "weights", "bottleneck", "sparsity"})
               : TextTable("lrrrrrll",
                           {"layer", "multipliers", "in", "out", "fine", "utilization", "bottleneck", "sparsity"});
  std::vector<std::string> names;
  for (const DataflowLayer &layer : plan.pipeline->problem.layers)
    names.push_back(layer.name);
  names = shortNames(std::move(names));
  for (size_t i = 0; i < plan.pipeline->result.stages.size(); ++i) {
    const DataflowStage &stage = plan.pipeline->result.stages[i];
    const DataflowFolding &f = stage.folding;
    const DataflowBottleneck limit = stage.cycles.limit();
    std::vector<std::string> row = {names[i], fmt::format("{}", stage.multipliers), fmt::format("{}", f.in * f.groups),
                                    fmt::format("{}", f.out), fmt::format("{}", f.fine)};
    if (memories)
      row.insert(row.end(), {fmt::format("{}", stage.use.blockRams), fmt::format("{}", stage.use.ultraRams)});
    row.push_back(fmt::format("{:.1f} %", 100 * stage.busy));
    if (memories)
      row.push_back(weightsText(stage.memory));
    row.insert(row.end(), {name(limit), letters.of(stage.label)});
    table.row(row);
  }
  return table.text(style);
}

} // namespace

std::string sparsitySummary(const SparsityPlan &plan, const std::string &folder, const TextStyle &style) {
  SummaryLines lines(style);
  Letters letters;
  lines.text =
      inked(style, Ink::Bold, plan.training) + " on " + plan.machine +
      (plan.step ? fmt::format(": {} samples, micro-batch {}\n", plan.batch, plan.microbatch) : ": pipelined images\n");
  const SelectionResult &selected = plan.selection();
  const std::string proven =
      selected.proven() ? "proven optimal" : fmt::format("relative gap {:.2g} %", 100 * selected.gap());
  if (plan.step) {
    const PruneStep &step = *plan.step;
    const PruneStep::Totals &chosen = step.chosen, &dense = step.dense;
    lines.text += stepTable(*plan.step, style, letters);
    letters.addTo(lines);
    auto sparse =
        std::count_if(selected.choice.begin(), selected.choice.end(), [](unsigned option) { return option > 0; });
    lines.add("chosen", fmt::format("{} of {} layers sparse{}, minimum {}, {}", sparse, plan.step->layers.size(),
                                    plan.step->problem.rules.empty()
                                        ? ""
                                        : fmt::format(" (in {} at most)", plan.step->problem.rules[0].max),
                                    objectiveText(plan.objective), proven));
    const std::string gain =
        chosen.seconds == dense.seconds && step.expected == chosen.seconds
            ? "as dense"
            : fmt::format("dense {}: speed-up {}", formatSi(dense.seconds, "s"), times(dense.seconds, step.expected));
    lines.add("step", fmt::format("expected {}{}; {}", formatSi(step.expected, "s"),
                                  step.expectedMin == step.expectedMax
                                      ? ""
                                      : fmt::format(" ({})", interval(step.expectedMin, step.expectedMax)),
                                  gain));
    if (step.expected != chosen.seconds || step.quantile != chosen.seconds)
      lines.add("ideal", fmt::format("{} at the rates of the core{}: speed-up {}", formatSi(chosen.seconds, "s"),
                                     step.quantile == chosen.seconds
                                         ? ""
                                         : fmt::format(", {} or less for {} % of masks", formatSi(step.quantile, "s"),
                                                       100 * plan.confidence),
                                     times(dense.seconds, chosen.seconds)));
    double masks = 0;
    for (const PruneLayer &layer : step.layers)
      masks += layer.chosen().masks ? layer.chosen().masks->seconds : 0;
    if (!step.recipe.empty())
      lines.add("masks",
                fmt::format("{}; {}{}", step.recipe, step.scope,
                            masks > 0 ? fmt::format("; finding them takes {} of a step", formatSi(masks, "s")) : ""));
    lines.add("other", fmt::format("{} of it in operations without sparsity", formatSi(plan.step->otherSeconds, "s")));
    if (dense.joules > 0)
      lines.add("energy",
                fmt::format("{} a step; dense {}", formatSi(chosen.joules, "J"), formatSi(dense.joules, "J")));
    lines.add("states", fmt::format("{} of weights, gradients and optimizer; dense {}", formatBytes(chosen.bytes),
                                    formatBytes(dense.bytes)));
    auto first = std::ranges::find_if(step.layers, [](const PruneLayer &layer) { return !layer.uses.empty(); });
    if (first != step.layers.end())
      lines.add("hardware", first->uses);
  } else {
    const DataflowResult &result = plan.pipeline->result;
    lines.text += pipelineTable(plan, style, letters);
    letters.addTo(lines);
    lines.add("throughput", fmt::format("{:.6g} images/s: one each {:.6g} cycles at {}, {}", result.imagesPerSecond,
                                        result.interval, formatSi(plan.pipeline->problem.hertz, "Hz"), proven));
    lines.add("multipliers", fmt::format("{} of {}", result.multipliers, plan.pipeline->problem.fabric.multipliers));
    const DataflowProblem &problem = plan.pipeline->problem;
    if (const FabricResources &has = problem.resources; has.isStated()) {
      std::string text = fmt::format("{} of {} block RAMs", result.use.blockRams, has.blockRams);
      if (has.ultraRams > 0)
        text += fmt::format(", {} of {} UltraRAMs", result.use.ultraRams, has.ultraRams);
      if (has.luts > 0)
        text += fmt::format(", {} of {} look-up tables", result.use.luts, has.luts);
      lines.add("on chip", text);
      lines.add("beside it",
                fmt::format("{} an image, {} of {}", formatBytes(static_cast<double>(result.use.bits) / 8),
                            formatSi(static_cast<double>(result.use.bits) / 8 * result.imagesPerSecond, "B/s"),
                            formatSi(has.bytesPerSecond, "B/s")));
    }
    lines.add("bottleneck", result.explanation);
  }
  if (plan.accuracy)
    addAccuracy(lines, *plan.accuracy);
  const std::vector<Rejection> &leftOut = plan.excludedOptions();
  for (size_t i = 0; i < leftOut.size() && i < kMaxReportedRejections; ++i)
    lines.add("excluded", leftOut[i].error.message);
  if (leftOut.size() > kMaxReportedRejections)
    lines.add("excluded",
              fmt::format("{} more for such reasons, in prune.json", leftOut.size() - kMaxReportedRejections));
  for (const std::string &assumption : plan.assumptions)
    lines.add("assumed", assumption);
  if (!folder.empty())
    lines.add("report", folder + "/report.html");
  return lines.text;
}

std::string sparsityMlir(const SparsityPlan &plan) {
  if (!plan.step)
    return "";
  std::map<std::string, std::vector<std::string>> layers; // by encoding
  for (const PruneLayer &layer : plan.step->layers)
    if (!layer.chosen().encoding.empty())
      layers[layer.chosen().encoding].push_back(layer.parameter);
  std::string text;
  for (const auto &[encoding, parameters] : layers)
    text += fmt::format(
        "// {}\n#weights{} = {}\n", fmt::join(parameters, ", "),
        layers.size() > 1 ? fmt::format("{}", std::distance(layers.begin(), layers.find(encoding))) : "", encoding);
  return text;
}

std::string toReport(const SparsityPlan &plan) {
  llvm::json::Value data = toJson(plan);
  return pageOf(Page::Sparsity, plan.training + " sparsity", jsonText(data) + "\n", data);
}

AnswerFiles filesOf(const SparsityPlan &plan) {
  AnswerFiles files = {{kSparsityFile, jsonText(toJson(plan)) + "\n"}, {"report.html", toReport(plan)}};
  if (std::string mlir = sparsityMlir(plan); !mlir.empty())
    files.push_back({"sparsity.mlir", std::move(mlir)});
  return files;
}

} // namespace accord
