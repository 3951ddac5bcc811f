#include "lib/sparsity/solve/FabricLayers.h"
#include "lib/support/documents/Fields.h"

namespace accord {
namespace {

constexpr IntegerRange kPositive{.min = 1};

void describeSparsity(JsonFields &f, DataflowSparsity &sparsity) {
  f.field("label", sparsity.label)
      .about("shares of windows by how many products are zero")
      .field("windows", sparsity.windows)
      .field("loss", sparsity.loss);
}

void describeLayer(JsonFields &f, DataflowLayer &layer) {
  f.field("name", layer.name)
      .field("channels", layer.channels)
      .field("filters", layer.filters)
      .field("groups", layer.groups)
      .field("input_rows", layer.inputRows)
      .field("input_columns", layer.inputColumns)
      .field("rows", layer.rows)
      .field("columns", layer.columns)
      .field("kernel_rows", layer.kernelRows)
      .field("kernel_columns", layer.kernelColumns)
      .field("weight_bits", layer.weightBits)
      .field("activation_bits", layer.activationBits)
      .field("sparsity", layer.sparsity, describeSparsity);
}

void describeStage(JsonFields &f, DataflowStage &stage, const std::string &layer) {
  f.computed("layer", [&] { return layer; })
      .field("sparsity", stage.label)
      .field("sparse", stage.sparse)
      .field("groups", stage.folding.groups, kPositive)
      .field("in", stage.folding.in, kPositive)
      .field("out", stage.folding.out, kPositive)
      .field("fine", stage.folding.fine, kPositive)
      .field("multipliers", stage.multipliers)
      .field("product_cycles", stage.cycles.products)
      .field("input_cycles", stage.cycles.input)
      .field("output_cycles", stage.cycles.output)
      .computed("cycles", [&] { return stage.cycles.max(); })
      .computed(
          "bottleneck", [&] { return std::string(name(stage.cycles.limit())); }, Words{{"products", "input", "output"}})
      .field("busy", stage.busy)
      .field("min_cycles", stage.minCycles);
}

} // namespace

void describe(JsonFields &f, FabricPlan &plan) {
  DataflowProblem &problem = plan.problem;
  DataflowResult &result = plan.result;
  size_t at = 0;
  if (f.reads())
    result.feasible = true;
  f.field("layers", problem.layers, describeLayer)
      .field("stages", result.stages,
             [&](JsonFields &g, DataflowStage &stage) {
               describeStage(g, stage, g.writes() ? problem.layers[at++].name : "");
             })
      .field("interval_cycles", result.interval)
      .field("images_per_second", result.imagesPerSecond)
      .field("max_images_per_second", result.maxImagesPerSecond)
      .field("multipliers", result.multipliers)
      .field("loss", result.loss)
      .about("null: no limit")
      .field(
          "loss_budget", problem.lossBudget,
          [](JsonVisitor &v, int64_t &budget) { v.integerOrNull(budget, SelectionProblem::kUnlimited, {.min = -1}); })
      .field("multipliers_of_device", problem.fabric.multipliers)
      .field("multiplier_rows", problem.fabric.multiplierRows, kPositive)
      .field("multiplier_columns", problem.fabric.multiplierColumns, kPositive)
      .field("clock_Hz", problem.hertz)
      .about("index of the slowest layer")
      .field("bottleneck", result.bottleneck)
      .about("index of the layer that limits any such device")
      .field("saturating", result.saturating)
      .field("bound_ps", result.selection.bound)
      .field("explanation", result.explanation);
}

} // namespace accord
