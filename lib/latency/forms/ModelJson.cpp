#include "lib/latency/forms/ModelJson.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
namespace accord {
namespace {

/// Infinite is null.
void describeRange(JsonVisitor &v, Interval &range) {
  auto end = [](double &value, double infinite) {
    return [&value, infinite](JsonVisitor &one) {
      if (!one.null(std::isinf(value)))
        one.number(value, kAnyNumber);
      else if (one.reads())
        value = infinite;
    };
  };
  v.tuple("expected [min, max]", end(range.min, -INFINITY), end(range.max, INFINITY));
}

void describeNode(JsonFields &f, Node &node) {
  f.field("kind", node.kind,
          [](JsonVisitor &v, NodeKind &kind) {
            v.oneOf(kind,
                    {"integer", "real", "argument", "polynomial", "sum", "product", "ceil_divide", "maximum", "minimum",
                     "to_real", "add", "multiply", "divide", "picoseconds", "select", "square_root"},
                    "unknown kind");
          })
      .field("integer", node.integer)
      .maybe("value", node.value, kAnyInteger)
      .maybe("real", node.real, kAnyNumber)
      .maybe("index", node.index)
      .maybe("operands", node.operands)
      .maybe("coefficients", node.coefficients, kAnyInteger)
      .field("range", node.range, describeRange);
}

void describeArgument(JsonFields &f, LatencyArgument &argument) {
  f.field("name", argument.name)
      .field("unit", argument.unit)
      .field("text", argument.text)
      .maybe("integer", argument.integer)
      .field("initial", argument.initial)
      .field("min", argument.min)
      .field("max", argument.max)
      .field("multiple", argument.multiple, kFromOne)
      .maybe("fixed_reason", argument.fixedReason)
      .maybe("network", argument.network)
      .maybe("allowed", argument.allowed);
}

void describePolynomial(JsonFields &f, Polynomial &polynomial) {
  f.field("coefficients", polynomial.c, kAnyInteger).field("denominator", polynomial.denominator, kFromOne);
}

void describeSample(JsonFields &f, LatencyModel::Sample &sample) {
  f.field("arguments", sample.arguments)
      .field("step_time_s", sample.result.step)
      .field("memory_bytes", sample.result.memory)
      .field("flops", sample.result.flops);
}

bool isWhole(const LatencyModel &model) {
  const Expressions &nodes = model.nodes;
  auto exists = [&](NodeId id) { return id < nodes.size(); };
  return model.outputs.size() == kFlops + 1 && model.arguments().size() > kSequence && !model.samples.empty() &&
         all_of(model.outputs, [&](auto &one) { return exists(one.node) && !nodes[one.node].integer; }) &&
         all_of(model.labels, [&](auto &one) { return exists(one.node); }) &&
         all_of(model.guards,
                [&](auto &one) {
                  return exists(one.min) && exists(one.max) && nodes[one.min].integer == nodes[one.max].integer;
                }) &&
         all_of(model.samples, [&](auto &one) { return one.arguments.size() == model.arguments().size(); });
}

void describeModel(JsonFields &f, LatencyModel &model) {
  ExpressionGraph graph = f.writes() ? model.nodes.graph() : ExpressionGraph();
  f.constant("kind", "latency_model", "expected latency_model")
      .field("version", model.version)
      .field("name", model.name)
      .field("model", model.model)
      .field("machine", model.machine)
      .field("plan_step_s", model.planStep)
      .field("exact", model.exact)
      .field("notes", model.notes)
      .field("arguments", graph.arguments, describeArgument)
      .field("polynomials", graph.polynomials, describePolynomial)
      .field("nodes", graph.nodes, describeNode);
  if (f.reads()) {
    auto nodes = Expressions::of(std::move(graph));
    f.check("nodes", nodes.has_value(), "nodes that do not fit together");
    if (nodes)
      model.nodes = std::move(*nodes);
  }
  f.field("guards", model.guards,
          [](JsonFields &g, LatencyModel::Guard &guard) {
            g.field("min", guard.min).field("max", guard.max).field("text", guard.text);
          })
      .field("outputs", model.outputs,
             [](JsonFields &g, LatencyModel::Output &output) {
               g.field("name", output.name).field("text", output.text).field("node", output.node);
             })
      .field("labels", model.labels,
             [](JsonFields &g, LatencyModel::Label &label) { g.field("node", label.node).field("text", label.text); })
      .field("samples", model.samples, describeSample);
  f.check("outputs", !f.reads() || isWhole(model), "nodes, outputs and samples do not fit together");
}

} // namespace

std::string latencyModelJson(const LatencyModel &model) { return jsonLine(toDocument(model, describeModel)) + "\n"; }

Expected<LatencyModel> latencyModelFromJson(StringRef text, StringRef path) {
  return readJsonDocument<LatencyModel>(text, path, "latency_model",
                                        [](const json::Value &value, LatencyModel &model, json::Path at) {
                                          return readDocument(value, model, at, describeModel);
                                        });
}

} // namespace accord
