// The latency model as func and arith, for compilers.
#include "lib/latency/forms/ExpressionPrinter.h"
#include "lib/latency/forms/MlirBody.h"
#include "lib/latency/forms/Print.h"
#include <fmt/format.h>

namespace accord {

std::string printMlir(const LatencyModel &model) {
  std::string out;
  auto line = [&](const std::string &text) { out += text + "\n"; };
  line(fmt::format("// Step time, memory and FLOPs of training '{}' on '{}', written by accord {}.",
                   commentText(model.model), commentText(model.machine), commentText(model.version)));
  line("// Arguments, and where the model holds; elsewhere the status is not 0 and results are "
       "NaN:");
  std::string parameters, names, types, defaults, constants;
  std::vector<std::string> arguments;
  for (size_t i = 0; i < model.arguments().size(); ++i) {
    const LatencyArgument &a = model.arguments()[i];
    const char *type = a.integer ? "i64" : "f64";
    line(fmt::format("//   {} ({}): {} [{}], status {}", a.name, commentText(a.unit), commentText(a.text),
                     commentText(rangeText(a)), i + 1));
    arguments.push_back("%" + a.name);
    parameters += fmt::format("{}%{}: {}", i ? ", " : "", a.name, type);
    types += fmt::format("{}{}", i ? ", " : "", type);
    names += fmt::format("{}%{}", i ? ", " : "", a.name);
    if (i > kSequence)
      constants +=
          fmt::format("    %{} = arith.constant {} : {}\n", a.name,
                      a.integer ? std::to_string(static_cast<int64_t>(a.initial)) : MlirBody::number(a.initial), type);
  }
  for (size_t i = 0; i < model.guards.size(); ++i)
    line(fmt::format("// Status {}: {}.", model.arguments().size() + i + 1, commentText(model.guards[i].text)));
  line("module {");
  MlirBody::picosecondsFunction(model.name + "_ps", out);
  if (model.uses(NodeKind::SquareRoot))
    MlirBody::rootFunction(model.name + "_root", out);
  std::string results = "(i32, f64, f64, f64)";
  line(fmt::format("  func.func @{}_evaluate({}) -> {} {{", model.name, parameters, results));
  MlirBody body(model, 1, out, "    ");
  MlirBody::Results found = body.emit(arguments);
  line(fmt::format("    return {}, {}, {}, {} : i32, f64, f64, f64\n  }}", found.status, found.outputs[kStepTime],
                   found.outputs[kMemory], found.outputs[kFlops]));
  for (size_t i = 0; i < model.outputs.size(); ++i) {
    line(fmt::format("  // {}.", commentText(model.outputs[i].text)));
    line(fmt::format("  func.func @{}_{}(%batch: i64, %microbatch: i64, %sequence: i64) -> f64 {{", model.name,
                     model.outputs[i].name));
    out += constants;
    line(fmt::format("    %r:4 = func.call @{}_evaluate({}) : ({}) -> {}", model.name, names, types, results));
    line(fmt::format("    return %r#{} : f64\n  }}", i + 1));
  }
  line("}");
  return out;
}

} // namespace accord
