// Reads what prune.json shows of a step.
#include "lib/sparsity/output/Sparsity.h"
#include "lib/support/documents/StrictFields.h"

namespace json = llvm::json;
namespace accord {
namespace {

bool readOption(const json::Value &value, json::Path path, ReportedSelection::Option &option) {
  std::string format, encoding, bound, loss;
  double forward = 0, data = 0, weight = 0, update = 0, exchange = 0, metadata = 0;
  bool read = StrictFields(value, path)
                  .text("label", option.label)
                  .text("sparsity", option.sparsity)
                  .text("format", format)
                  .text("encoding", encoding)
                  .number("time_s", option.seconds)
                  .number("time_quantile_s", option.quantile)
                  .number("forward_s", forward)
                  .number("data_gradient_s", data)
                  .number("weight_gradient_s", weight)
                  .number("update_s", update)
                  .number("gradient_sync_s", exchange)
                  .number("energy_J", option.joules)
                  .number("energy_quantile_J", option.quantileJoules)
                  .number("bytes", option.bytes)
                  .number("metadata_bytes", metadata)
                  .text("bound", bound)
                  .text("loss", loss)
                  .end();
  option.parts = forward + data + weight + update + exchange;
  auto exact = Rational::parse(loss);
  if (read && !exact) {
    path.field("loss").report("expected a fraction");
    return false;
  }
  if (exact)
    option.loss = *exact;
  return read;
}

bool readLayer(const json::Value &value, json::Path path, ReportedSelection::Layer &layer) {
  std::string parameter, uses;
  double executions = 0;
  return StrictFields(value, path)
      .text("name", layer.name)
      .text("parameter", parameter)
      .number("executions", executions)
      .text("uses", uses)
      .integer("chosen", layer.chosen)
      .list("options", layer.options, readOption)
      .end();
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
  return text("objective", shown.objective) && StrictFields(*step, path.field("step"))
                                                   .list("layers", shown.layers, readLayer)
                                                   .number("time_s", shown.chosen.seconds)
                                                   .number("time_quantile_s", shown.quantile)
                                                   .number("energy_J", shown.chosen.joules)
                                                   .number("state_bytes", shown.chosen.bytes)
                                                   .number("dense_time_s", shown.dense.seconds)
                                                   .number("dense_energy_J", shown.dense.joules)
                                                   .number("dense_state_bytes", shown.dense.bytes)
                                                   .number("other_time_s", shown.otherSeconds)
                                                   .end();
}

} // namespace accord
