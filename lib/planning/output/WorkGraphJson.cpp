// The work of plan.json: operations, values and regions.
#include "lib/planning/output/PlanJson.h"

using namespace llvm;
namespace accord {

void describe(JsonVisitor &v, Phase &phase) {
  using enum Phase;
  v.oneOf(phase, {Forward, DataGradient, WeightGradient, Update, Communication, Recompute}, "expected phase");
}
void describe(JsonVisitor &v, CoreKind &kind) {
  using enum CoreKind;
  v.oneOf(kind, {None, Tensor, CoreKind::Vector, Network}, "expected kind of core");
}
void describe(JsonVisitor &v, Category &category) {
  using enum Category;
  v.oneOf(category, {Weights, Gradients, OptimizerStates, Activations, Temporaries, Buffers, Inputs},
          "expected memory category");
}

void describe(JsonFields &f, Loop &loop) {
  f.field("extent", loop.extent).field("kind", loop.kind, [](JsonVisitor &v, IteratorKind &kind) {
    v.oneOf(kind, {"parallel", "reduction"}, "expected 'parallel' or 'reduction'");
  });
}

void describe(JsonFields &f, Value &value) {
  f.field("name", value.name)
      .about("of one instance; of a stack: the whole")
      .field("bytes", value.bytes)
      .field("category", value.category)
      .maybeIf(value.region != kNone, "region", value.region)
      .maybeIf(value.alias != kNone, "alias", value.alias)
      .about("iterations of a stack")
      .maybeIf(value.slices != 1, "slices", value.slices, kFromOne);
}

void describe(JsonFields &f, TensorAccess &access) {
  f.about("a parameter or the operation that made it; empty for a result")
      .field("tensor", access.tensor)
      .about("4x1024x1600xbf16")
      .field("shape", access.shape)
      .about("from the iterators of the domain: (d0, d1, d2) -> (d0, d2)")
      .field("map", access.map)
      .field("written", access.written);
}

void describe(JsonVisitor &v, LoopTensor::Term &term) { v.tuple("expected [loop, stride]", term.loop, term.stride); }
void describe(JsonFields &f, LoopTensor &tensor) {
  f.field("bits", tensor.elementBits)
      .field("at", tensor.dimensions)
      .about("elements of each dimension, where the loops of a padded window reach more")
      .maybe("sizes", tensor.sizes)
      .maybe("written", tensor.written);
}

void describe(JsonFields &f, FusedPart &part) {
  f.field("name", part.name)
      .field("kind", part.kind)
      .field("core", part.core)
      .field("type", part.type)
      .field("flops", part.flops)
      .field("contraction", part.contraction)
      .field("domain", part.domain)
      .maybe("tensors", part.tensors);
}

void describe(JsonFields &f, Operation &op) {
  f.field("name", op.name)
      .field("kind", op.kind)
      .field("phase", op.phase)
      .field("core", op.core)
      .about("arithmetic: bf16, fp32, ...")
      .field("type", op.type)
      .about("of one execution; a multiply-accumulate is 2")
      .field("flops", op.flops)
      .field("bytes_read", op.bytesRead)
      .field("bytes_written", op.bytesWritten)
      .about("counts towards model FLOPs")
      .field("contraction", op.contraction)
      .about("attention in one kernel, which leaves out the tiles that a causal mask hides")
      .maybe("causal", op.causal)
      .about("seconds of one execution on any machine; there only if they were measured elsewhere")
      .maybe("given_s", op.givenSeconds)
      .maybe("domain", op.domain)
      .about("operands, then results; `at` has a list of [loop, stride] for each dimension, whose "
             "sum is "
             "the position")
      .maybe("tensors", op.tensors)
      .about("of a fused operation: what runs inside of it, in order; its flops are their sum")
      .maybe("parts", op.parts)
      .maybe("accesses", op.accesses)
      .field("operands", op.operands)
      .field("results", op.results)
      .field("region", op.region)
      .maybeIf(op.body != kNone, "body", op.body);
  describeLocation(f, op.location);
}

void describe(JsonFields &f, Region::Carried &carried) {
  f.field("argument", carried.argument)
      .field("yielded", carried.yielded)
      .field("initial", carried.initial)
      .field("result", carried.result);
}
void describe(JsonFields &f, Region::Slice &slice) { f.field("inside", slice.inside).field("stacked", slice.stacked); }
void describe(JsonFields &f, Region &region) {
  f.field("name", region.name)
      .about("iterations each time it is entered")
      .field("count", region.count)
      .field("operations", region.operations)
      .maybeIf(region.parent != kNone, "parent", region.parent)
      .maybeIf(region.owner != kNone, "owner", region.owner)
      .maybe("reverse", region.reverse)
      .field("carried", region.carried)
      .field("stashed", region.stashed)
      .field("unstashed", region.unstashed);
}

void describe(JsonFields &f, StaticTensor &tensor) {
  f.field("name", tensor.name)
      .field("category", tensor.category)
      .field("bytes", tensor.bytes)
      .maybe("quantized", tensor.quantized);
}

Words recomputeWords() { return {{"none", "selective", "full"}, "expected none, selective or full"}; }

void describe(JsonFields &f, WorkGraph &graph) {
  f.field("model", graph.model)
      .field("precision", graph.precision)
      .field("optimizer", graph.optimizer)
      .field("recompute", graph.recompute, recomputeWords())
      .field("microbatch", graph.microbatch, kFromOne)
      .field("microbatches", graph.microbatches, kFromOne)
      .field("parameters", graph.parameters)
      .field("values", graph.values)
      .field("operations", graph.operations)
      .about("[0] one micro-batch, [1] the update, then bodies of repeats", {{"minItems", 2}})
      .field("regions", graph.regions)
      .field("static_tensors", graph.staticTensors);
}

json::Value toJson(const WorkGraph &graph) { return toDocument(graph); }

bool readWorkGraph(const json::Value &value, WorkGraph &graph, json::Path path) {
  return readJson(
             value, path, [&](JsonVisitor &v) { visitValue(v, graph); }, JsonRule::Open) &&
         checkGraph(graph, path);
}

} // namespace accord
