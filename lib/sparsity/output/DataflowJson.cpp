#include "lib/sparsity/solve/FabricLayers.h"
#include "lib/support/documents/Fields.h"

namespace accord {
namespace {

constexpr IntegerRange kPositive{.min = 1};

void describeSparsity(JsonFields &f, DataflowSparsity &sparsity) {
  f.field("label", sparsity.label)
      .about("shares of windows by how many products are zero")
      .field("windows", sparsity.windows)
      .field("loss", sparsity.loss)
      .about("the same of each channel, where it was measured")
      .maybe("channels", sparsity.channels);
}

void describeDetour(JsonFields &f, DataflowDetour &detour) {
  f.field("rows", detour.rows, kPositive)
      .field("columns", detour.columns, kPositive)
      .field("channels", detour.channels, kPositive)
      .field("bits", detour.bits, kPositive);
}

void describeUse(JsonFields &f, FabricUse &use) {
  f.field("multipliers", use.multipliers)
      .field("luts", use.luts)
      .field("block_rams", use.blockRams)
      .field("ultra_rams", use.ultraRams)
      .about("to and from the memory beside the chip, for an image")
      .field("bits", use.bits);
}

void describeMemory(JsonFields &f, DataflowMemory &memory) {
  f.visit("weights", true, true, [&](JsonVisitor &v) {
    v.oneOf(memory.weights, {"block_ram", "ultra_ram", "streamed"}, "no place of weights");
  });
  f.about("how often streamed weights are read for an image")
      .field("passes", memory.passes)
      .field("ultra_buffers", memory.ultraBuffers)
      .field("evicts", memory.evicts);
}

void describeResources(JsonFields &f, FabricResources &resources) {
  f.about("of 18 Kibit")
      .field("block_rams", resources.blockRams)
      .about("of 288 Kibit")
      .field("ultra_rams", resources.ultraRams)
      .about("look-up tables; 0: enough")
      .field("luts", resources.luts)
      .about("of the memory beside the chip; 0: enough")
      .field("bandwidth_Bps", resources.bytesPerSecond);
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
      .field("sparsity", layer.sparsity, describeSparsity)
      .about("values that go around the layer")
      .maybe("detours", layer.detours, describeDetour);
}

void describeStage(JsonFields &f, DataflowStage &stage, const std::string &layer, bool memories) {
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
      .field("min_cycles", stage.minCycles)
      .maybeIf(memories, "memory", stage.memory, describeMemory)
      .maybeIf(memories, "use", stage.use, describeUse);
}

} // namespace

void describe(JsonFields &f, FabricPlan &plan) {
  DataflowProblem &problem = plan.problem;
  DataflowResult &result = plan.result;
  size_t at = 0;
  if (f.reads())
    result.feasible = true;
  const bool memories = problem.resources.isStated();
  f.field("layers", problem.layers, describeLayer)
      .field("stages", result.stages,
             [&](JsonFields &g, DataflowStage &stage) {
               describeStage(g, stage, g.writes() ? problem.layers[at++].name : "", memories);
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
      .about("memories of the device; without them they are not part of the problem")
      .maybeIf(memories, "resources", problem.resources, describeResources)
      .about("of all layers, with the image and its result")
      .maybeIf(memories, "use", result.use, describeUse)
      .about("no interval is shorter; the interval where it is proven the shortest")
      .maybeIf(memories, "min_interval_cycles", result.minInterval)
      .about("all layers take zeros of one name")
      .maybe("together", problem.together)
      .about("index of the slowest layer")
      .field("bottleneck", result.bottleneck)
      .about("index of the layer that limits any such device")
      .field("saturating", result.saturating)
      .field("bound_ps", result.selection.bound)
      .field("explanation", result.explanation);
  // What is claimed follows from both.
  if (f.reads() && problem.resources.isStated())
    result.proven = result.minInterval >= result.interval * (1 - 1e-9);
}

} // namespace accord
