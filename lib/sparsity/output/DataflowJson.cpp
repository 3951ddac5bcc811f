#include "lib/sparsity/output/DataflowJson.h"
#include "lib/support/documents/JsonLists.h"
#include "lib/support/documents/StrictFields.h"

namespace json = llvm::json;
namespace accord {
namespace {

json::Value toJson(const DataflowLayer &layer) {
  return json::Object{{"name", jsonString(layer.name)},
                      {"channels", layer.channels},
                      {"filters", layer.filters},
                      {"groups", layer.groups},
                      {"input_rows", layer.inputRows},
                      {"input_columns", layer.inputColumns},
                      {"rows", layer.rows},
                      {"columns", layer.columns},
                      {"kernel_rows", layer.kernelRows},
                      {"kernel_columns", layer.kernelColumns},
                      {"weight_bits", layer.weightBits},
                      {"activation_bits", layer.activationBits},
                      {"sparsity", list(layer.sparsity, [](const DataflowSparsity &sparsity) {
                         return json::Object{
                             {"label", jsonString(sparsity.label)},
                             {"windows", list(sparsity.windows, [](double share) { return json::Value(share); })},
                             {"loss", sparsity.loss}};
                       })}};
}

json::Value toJson(const DataflowStage &stage, const DataflowLayer &layer) {
  return json::Object{{"layer", jsonString(layer.name)},
                      {"sparsity", jsonString(stage.label)},
                      {"sparse", stage.sparse},
                      {"groups", stage.folding.groups},
                      {"in", stage.folding.in},
                      {"out", stage.folding.out},
                      {"fine", stage.folding.fine},
                      {"multipliers", stage.multipliers},
                      {"product_cycles", stage.cycles.products},
                      {"input_cycles", stage.cycles.input},
                      {"output_cycles", stage.cycles.output},
                      {"cycles", stage.cycles.max()},
                      {"bottleneck", name(stage.cycles.limit())},
                      {"busy", stage.busy},
                      {"min_cycles", stage.minCycles}};
}

bool ignored(const json::Value &, json::Path) { return true; }

bool readSparsity(const json::Value &value, json::Path path, DataflowSparsity &sparsity) {
  return StrictFields(value, path)
      .text("label", sparsity.label)
      .list("windows", sparsity.windows, StrictFields::readNumber)
      .integer("loss", sparsity.loss)
      .end();
}

bool readLayer(const json::Value &value, json::Path path, DataflowLayer &layer) {
  return StrictFields(value, path)
      .text("name", layer.name)
      .integer("channels", layer.channels)
      .integer("filters", layer.filters)
      .integer("groups", layer.groups)
      .integer("input_rows", layer.inputRows)
      .integer("input_columns", layer.inputColumns)
      .integer("rows", layer.rows)
      .integer("columns", layer.columns)
      .integer("kernel_rows", layer.kernelRows)
      .integer("kernel_columns", layer.kernelColumns)
      .integer("weight_bits", layer.weightBits)
      .integer("activation_bits", layer.activationBits)
      .list("sparsity", layer.sparsity, readSparsity)
      .end();
}

bool readStage(const json::Value &value, json::Path path, DataflowStage &stage) {
  return StrictFields(value, path)
      .read("layer", ignored)
      .text("sparsity", stage.label)
      .flag("sparse", stage.sparse)
      .integer("groups", stage.folding.groups, 1)
      .integer("in", stage.folding.in, 1)
      .integer("out", stage.folding.out, 1)
      .integer("fine", stage.folding.fine, 1)
      .integer("multipliers", stage.multipliers)
      .number("product_cycles", stage.cycles.products)
      .number("input_cycles", stage.cycles.input)
      .number("output_cycles", stage.cycles.output)
      .read("cycles", ignored)
      .read("bottleneck", ignored)
      .number("busy", stage.busy)
      .number("min_cycles", stage.minCycles)
      .end();
}

} // namespace

json::Value toJson(const DataflowProblem &problem, const DataflowResult &result) {
  json::Array stages;
  for (size_t i = 0; i < result.stages.size(); ++i)
    stages.push_back(toJson(result.stages[i], problem.layers[i]));
  return json::Object{{"layers", list(problem.layers, [](const DataflowLayer &layer) { return toJson(layer); })},
                      {"stages", std::move(stages)},
                      {"interval_cycles", result.interval},
                      {"images_per_second", result.imagesPerSecond},
                      {"max_images_per_second", result.maxImagesPerSecond},
                      {"multipliers", result.multipliers},
                      {"loss", result.loss},
                      {"loss_budget", problem.lossBudget == SelectionProblem::kUnlimited
                                          ? json::Value(nullptr)
                                          : json::Value(problem.lossBudget)},
                      {"multipliers_of_device", problem.fabric.multipliers},
                      {"multiplier_rows", problem.fabric.multiplierRows},
                      {"multiplier_columns", problem.fabric.multiplierColumns},
                      {"clock_Hz", problem.hertz},
                      {"bottleneck", static_cast<int64_t>(result.bottleneck)},
                      {"saturating", static_cast<int64_t>(result.saturating)},
                      {"bound_ps", result.selection.bound},
                      {"explanation", jsonString(result.explanation)}};
}

bool readDataflow(const json::Value &value, DataflowProblem &problem, DataflowResult &result, json::Path path) {
  result.feasible = true;
  return StrictFields(value, path)
      .list("layers", problem.layers, readLayer)
      .list("stages", result.stages, readStage)
      .number("interval_cycles", result.interval)
      .number("images_per_second", result.imagesPerSecond)
      .number("max_images_per_second", result.maxImagesPerSecond)
      .integer("multipliers", result.multipliers)
      .integer("loss", result.loss)
      .read("loss_budget",
            [&](const json::Value &v, json::Path p) {
              if (v.getAsNull())
                return true;
              return StrictFields::readInteger(v, p, problem.lossBudget, -1, int64_t(1) << 61);
            })
      .integer("multipliers_of_device", problem.fabric.multipliers)
      .integer("multiplier_rows", problem.fabric.multiplierRows, 1)
      .integer("multiplier_columns", problem.fabric.multiplierColumns, 1)
      .number("clock_Hz", problem.hertz)
      .integer("bottleneck", result.bottleneck)
      .integer("saturating", result.saturating)
      .integer("bound_ps", result.selection.bound)
      .read("explanation", ignored)
      .end();
}

} // namespace accord
