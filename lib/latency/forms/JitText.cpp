#include "lib/latency/forms/JitText.h"
#include "lib/latency/forms/MlirBody.h"
#include <fmt/format.h>

namespace accord {

std::string jitText(const LatencyModel &model, const std::vector<size_t> &varying, bool one, bool many) {
  std::string out = "module {\n";
  auto line = [&](const std::string &text) { out += "    " + text + "\n"; };
  auto arguments = [&](const char *prefix) {
    std::vector<std::string> names(model.arguments().size());
    for (size_t k = 0; k < varying.size(); ++k)
      names[varying[k]] = fmt::format("%{}{}", prefix, k);
    return names;
  };
  if (one) {
    MlirBody::picosecondsFunction(model.name + "_ps", out);
    if (model.uses(NodeKind::SquareRoot))
      MlirBody::rootFunction(model.name + "_root", out);
    out += "  func.func @one(%in: !llvm.ptr, %out: !llvm.ptr) -> i32 {\n";
    for (size_t k = 0; k < varying.size(); ++k) {
      const char *type = model.arguments()[varying[k]].integer ? "i64" : "f64";
      line(fmt::format("%p{} = llvm.getelementptr %in[{}] : (!llvm.ptr) -> !llvm.ptr, i64", k, k));
      line(fmt::format("%x{} = llvm.load %p{} : !llvm.ptr -> {}", k, k, type));
    }
    MlirBody body(model, 1, out, "    ");
    MlirBody::Results results = body.emit(arguments("x"));
    for (size_t i = 0; i < results.outputs.size(); ++i) {
      line(fmt::format("%q{} = llvm.getelementptr %out[{}] : (!llvm.ptr) -> !llvm.ptr, f64", i, i));
      line(fmt::format("llvm.store {}, %q{} : f64, !llvm.ptr", results.outputs[i], i));
    }
    line(fmt::format("return {} : i32\n  }}", results.status));
  }
  if (many) {
    out += "  func.func @many(%blocks: i64, %in: !llvm.ptr, %out: !llvm.ptr) {\n";
    for (size_t k = 0; k < varying.size(); ++k) {
      line(fmt::format("%pp{} = llvm.getelementptr %in[{}] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr", k, k));
      line(fmt::format("%p{} = llvm.load %pp{} : !llvm.ptr -> !llvm.ptr", k, k));
    }
    for (size_t i = 0; i < 4; ++i) {
      line(fmt::format("%qq{} = llvm.getelementptr %out[{}] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr", i, i));
      line(fmt::format("%q{} = llvm.load %qq{} : !llvm.ptr -> !llvm.ptr", i, i));
    }
    line("%zero = arith.constant 0 : i64\n    %each = arith.constant 1 : i64\n"
         "    scf.for %block = %zero to %blocks step %each : i64 {");
    MlirBody body(model, kLatencyLanes, out, "      ");
    std::string status = body.type("i32");
    for (size_t k = 0; k < varying.size(); ++k) {
      std::string type = model.arguments()[varying[k]].integer ? body.integer() : body.real();
      line(fmt::format("  %a{0} = llvm.getelementptr %p{0}[%block] : (!llvm.ptr, i64) -> !llvm.ptr, "
                       "{1}",
                       k, type));
      line(fmt::format("  %x{0} = llvm.load %a{0} {{alignment = 8 : i64}} : !llvm.ptr -> {1}", k, type));
    }
    MlirBody::Results results = body.emit(arguments("x"));
    for (size_t i = 0; i < 4; ++i) {
      std::string type = i < 3 ? body.real() : status;
      line(fmt::format("  %b{0} = llvm.getelementptr %q{0}[%block] : (!llvm.ptr, i64) -> !llvm.ptr, "
                       "{1}",
                       i, type));
      line(fmt::format("  llvm.store {}, %b{} {{alignment = 4 : i64}} : {}, !llvm.ptr",
                       i < 3 ? results.outputs[i] : results.status, i, type));
    }
    line("}\n    return\n  }");
  }
  return out + "}\n";
}

} // namespace accord
