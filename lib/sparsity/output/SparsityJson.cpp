#include "lib/sparsity/output/AccuracyOutput.h"
#include "lib/sparsity/output/Sparsity.h"
#include "lib/support/documents/SearchStatus.h"

namespace json = llvm::json;
namespace accord {

void describe(JsonFields &f, FabricPlan &plan);

namespace {

/// A number, or null where nothing is limited.
void describeLimit(JsonVisitor &v, int64_t &value) {
  v.integerOrNull(value, SelectionProblem::kUnlimited, {.min = -1});
}
constexpr IntegerRange kIndex{0, 1 << 24};

void describeOption(JsonFields &f, SelectionOption &option) {
  f.field("label", option.label)
      .field("time_ps", option.picoseconds)
      .field("energy_pJ", option.picojoules)
      .field("bytes", option.bytes)
      .about("in 10^-12")
      .field("loss", option.loss)
      .field("sparse", option.sparse);
}

void describeOperation(JsonFields &f, SelectionOperation &op) {
  f.field("name", op.name)
      .field("stage", op.stage, IntegerRange{0, 1 << 20})
      .field("options", op.options, describeOption);
}

void describeRule(JsonFields &f, SelectionRule &rule) {
  f.field("options", rule.options, [](JsonVisitor &v, std::pair<unsigned, unsigned> &option) {
     v.tuple(
         "expected an operation and an option", [&](JsonVisitor &one) { visitValue(one, option.first, kIndex); },
         [&](JsonVisitor &one) { visitValue(one, option.second, kIndex); });
   }).field("max", rule.max);
}

void describeProblem(JsonFields &f, SelectionProblem &problem) {
  using enum SelectionObjective;
  f.field("objective", problem.objective,
          [](JsonVisitor &v, SelectionObjective &objective) {
            v.oneOf(objective, {Time, Energy, Memory, SlowestStage}, "unknown objective");
          })
      .about("null: no limit")
      .field("loss_budget", problem.lossBudget, describeLimit)
      .about("null: no limit")
      .field("byte_budget", problem.byteBudget, describeLimit)
      .field("operations", problem.operations, describeOperation)
      .field("groups", problem.groups, kIndex)
      .field("rules", problem.rules, describeRule);
}

void describeResult(JsonFields &f, SelectionResult &result) {
  f.field("feasible", result.feasible)
      .field("choice", result.choice, kIndex)
      .field("time_ps", result.sums.picoseconds)
      .field("energy_pJ", result.sums.picojoules)
      .field("bytes", result.sums.bytes)
      .field("loss", result.sums.loss)
      .field("slowest_ps", result.sums.slowest)
      .field("value", result.value)
      .about("null: no limit")
      .field("bound", result.bound, describeLimit)
      .field("states", result.states);
}

void describeProduct(JsonFields &f, SparseProductTime &product) {
  f.field("operation", product.operation)
      .field("executions", product.executions)
      .field("rows", product.rows)
      .field("depth", product.depth)
      .field("columns", product.columns)
      .field("type", product.type)
      .about("of one execution, as all times here")
      .field("dense_s", product.dense)
      .field("ideal_s", product.ideal)
      .field("expected_s", product.expected)
      .field("expected_min_s", product.min)
      .field("expected_max_s", product.max);
}

void describeMaskSearch(JsonFields &f, MaskSearchTime &masks) {
  f.field("transposable", masks.transposable)
      .field("elements", masks.elements)
      .field("element_bits", masks.bits)
      .field("matrices", masks.matrices)
      .about("steps from one search to the next")
      .field("period", masks.period)
      .about("of the device's memory")
      .field("bandwidth_Bps", masks.bandwidth)
      .field("type", masks.type)
      .about("of a step, as all times here")
      .field("expected_s", masks.seconds)
      .field("expected_min_s", masks.min)
      .field("expected_max_s", masks.max);
}

void describePoint(JsonFields &f, SparseKernelPoint &point) {
  f.field("rows", point.rows)
      .field("depth", point.depth)
      .field("columns", point.columns)
      .field("speedup", point.speedup);
}

void describeMaskPoint(JsonFields &f, MaskKernelPoint &mask) {
  f.field("transposable", mask.transposable).field("elements", mask.elements).field("time_s", mask.seconds);
}

void describeKernels(JsonFields &f, SparseKernelTable &table) {
  f.field("device", table.device)
      .field("type", table.type)
      .about("octaves of the neighbourhood that an estimate is the mean of")
      .field("width", table.width)
      .about("of log(estimated / measured): 90 % of the products are within it where they are left out")
      .field("deviation", table.deviation)
      .about("octaves from a product to the nearest other, at most")
      .field("reach", table.reach)
      .field("products", table.points, describePoint)
      .field("masks", table.masks, describeMaskPoint);
}

void describePruneOption(JsonFields &f, PruneOption &option) {
  f.field("label", option.label)
      .field("sparsity", option.sparsity)
      .field("format", option.format)
      .about("MLIR's #sparse_tensor.encoding of the weights; empty: dense")
      .field("encoding", option.encoding)
      .about("ideal: at the rates of the core; so are the parts below")
      .field("time_s", option.seconds)
      .about("ideal, and not exceeded by masks with the confidence")
      .field("time_quantile_s", option.quantile)
      .about("with kernels as measured or published, and masks that are found again")
      .field("expected_s", option.expected)
      .field("expected_min_s", option.expectedMin)
      .field("expected_max_s", option.expectedMax)
      .field("forward_s", option.forward)
      .field("data_gradient_s", option.dataGradient)
      .field("weight_gradient_s", option.weightGradient)
      .field("update_s", option.update)
      .field("gradient_sync_s", option.exchange)
      .field("energy_J", option.joules)
      .field("energy_quantile_J", option.quantileJoules)
      .field("bytes", option.bytes)
      .field("metadata_bytes", option.metadata)
      .field("bound", option.bound)
      .about("an exact fraction")
      .field("loss", option.loss, describeExact)
      .about("2:4 products that kernels compute")
      .field("products", option.products, describeProduct)
      .maybe("mask_search", option.masks, describeMaskSearch);
}

void describeLayer(JsonFields &f, PruneLayer &layer) {
  f.field("name", layer.name)
      .field("parameter", layer.parameter)
      .field("executions", layer.executions)
      .field("uses", layer.uses)
      .about("index into options; 0: dense")
      .field("chosen", layer.choice)
      .field("options", layer.options, describePruneOption);
}

void describeStep(JsonFields &f, PruneStep &step) {
  f.field("layers", step.layers, describeLayer)
      .about("ideal: at the rates of the core")
      .field("time_s", step.chosen.seconds)
      .field("time_quantile_s", step.quantile)
      .about("with kernels as measured or published, and masks that are found again")
      .field("expected_s", step.expected)
      .field("expected_min_s", step.expectedMin)
      .field("expected_max_s", step.expectedMax)
      .about("measured 2:4 products; empty: published figures")
      .field("kernels", step.kernels, describeKernels)
      .about("file of kernels")
      .field("kernels_source", step.kernelsSource)
      .about("of masks of weights: static, dynamic, dynamic(every = 100)")
      .field("recipe", step.recipe)
      .about("which layers' weights may have zeros, and how a density is divided")
      .field("scope", step.scope)
      .field("energy_J", step.chosen.joules)
      .field("state_bytes", step.chosen.bytes)
      .field("dense_time_s", step.dense.seconds)
      .field("dense_energy_J", step.dense.joules)
      .field("dense_state_bytes", step.dense.bytes)
      .field("other_time_s", step.otherSeconds);
}

void describePlan(JsonFields &f, SparsityPlan &plan) {
  std::vector<std::string> excluded;
  if (f.writes())
    for (const Rejection &rejection : plan.excludedOptions())
      excluded.push_back(rejection.error.message);
  f.constant("command", "prune", "no answer of accord prune")
      .computed("status", [&] { return statusOf(true, plan.proven ? 0 : plan.gap, false); })
      .field("version", plan.version)
      .field("training", plan.training)
      .field("model", plan.model)
      .field("machine", plan.machine)
      .field("objective", plan.objective, Words{{"step_time", "throughput", "energy", "memory"}})
      .field("batch", plan.batch)
      .field("microbatch", plan.microbatch)
      .field("confidence", plan.confidence)
      .field("gap", plan.gap)
      .field("proven", plan.proven)
      .field("assumptions", plan.assumptions)
      .about("choices that measurements do not allow, and why")
      .field("excluded_options", excluded)
      .maybe("step", plan.step, describeStep)
      .maybe("pipeline", plan.pipeline)
      .maybe("accuracy", plan.accuracy)
      .check("step", plan.step || plan.pipeline, "missing value");
  if (f.reads() && (plan.step || plan.pipeline))
    for (std::string &message : excluded)
      (plan.step ? plan.step->excludedOptions : plan.pipeline->excludedOptions)
          .push_back({{Code::RequirementNotShown, std::move(message), {}, {}}, {}});
  PrunePlan none;
  PrunePlan &step = plan.step ? *plan.step : none;
  const bool isStep = plan.step.has_value(), required = f.reads() && isStep;
  f.visit("problem", required, isStep, [&](JsonVisitor &v) { visitValue(v, step.problem, describeProblem); });
  f.visit("answer", required, isStep, [&](JsonVisitor &v) { visitValue(v, step.result, describeResult); });
}

} // namespace

json::Value toJson(const SparsityPlan &plan) { return toDocument(plan, describePlan); }
json::Value pruneSchema() { return schemaOf<SparsityPlan>(describePlan); }

bool readSparsity(const json::Value &value, SparsityPlan &plan, json::Path path) {
  return readDocument(value, plan, path, describePlan);
}

} // namespace accord
