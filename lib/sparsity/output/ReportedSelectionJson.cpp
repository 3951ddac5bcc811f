// Reads what prune.json shows of a step.
#include "lib/sparsity/output/Sparsity.h"
#include "lib/support/documents/Fields.h"

namespace json = llvm::json;
namespace accord {
namespace {

void readOption(JsonFields &f, ReportedSelection::Option &option) {
  std::string format, encoding, bound;
  double forward = 0, data = 0, weight = 0, update = 0, exchange = 0, metadata = 0;
  f.field("label", option.label)
      .field("sparsity", option.sparsity)
      .field("format", format)
      .field("encoding", encoding)
      .field("time_s", option.seconds)
      .field("time_quantile_s", option.quantile)
      .field("forward_s", forward)
      .field("data_gradient_s", data)
      .field("weight_gradient_s", weight)
      .field("update_s", update)
      .field("gradient_sync_s", exchange)
      .field("energy_J", option.joules)
      .field("energy_quantile_J", option.quantileJoules)
      .field("bytes", option.bytes)
      .field("metadata_bytes", metadata)
      .field("bound", bound)
      .field("loss", option.loss, [](JsonVisitor &v, Rational &loss) {
        std::string text;
        v.text(text);
        v.check([&](json::Path at) {
          auto exact = Rational::parse(text);
          loss = exact.value_or(Rational(0));
          return exact || (at.report("expected a fraction"), false);
        });
      });
  option.parts = forward + data + weight + update + exchange;
}

void readLayer(JsonFields &f, ReportedSelection::Layer &layer) {
  std::string parameter, uses;
  double executions = 0;
  f.field("name", layer.name)
      .field("parameter", parameter)
      .field("executions", executions)
      .field("uses", uses)
      .field("chosen", layer.chosen)
      .field("options", layer.options, readOption);
}

void readStep(JsonFields &f, ReportedSelection &shown) {
  f.field("layers", shown.layers, readLayer)
      .field("time_s", shown.chosen.seconds)
      .field("time_quantile_s", shown.quantile)
      .field("energy_J", shown.chosen.joules)
      .field("state_bytes", shown.chosen.bytes)
      .field("dense_time_s", shown.dense.seconds)
      .field("dense_energy_J", shown.dense.joules)
      .field("dense_state_bytes", shown.dense.bytes)
      .field("other_time_s", shown.otherSeconds);
}

} // namespace

bool readReportedSelection(const json::Value &value, ReportedSelection &shown, json::Path path) {
  const json::Object *document = value.getAsObject();
  const json::Value *step = document ? document->get("step") : nullptr;
  if (!step) {
    path.report("expected an object with a step");
    return false;
  }
  auto text = [&](llvm::StringLiteral key, std::string &out) {
    auto found = document->getString(key);
    if (!found) {
      path.field(key).report("expected string");
      return false;
    }
    out = found->str();
    return true;
  };
  auto proven = document->getBoolean("proven");
  auto gap = document->getNumber("gap");
  if (!proven || !gap) {
    path.report("expected 'proven' and 'gap'");
    return false;
  }
  shown.proven = *proven, shown.gap = *gap;
  return text("objective", shown.objective) && readDocument(*step, shown, path.field("step"), readStep);
}

} // namespace accord
