#include "lib/language/requests/Objective.h"
#include "dialects/accel/Schema.h"
#include "lib/language/machines/SchemaReader.h"

namespace accord {

mlir::Attribute attributeOf(const ObjectiveExpression &expression, mlir::MLIRContext &context, Diagnostics &diags) {
  auto *call = expression.value->as<CallValue>();
  if (call && reportUnknownFunction(*call, expression.at, diags))
    return {};
  Lookup none = [](llvm::StringRef, SourceRange) { return std::nullopt; };
  SchemaReader reader(context, diags, none, *accel::findSchema("power"));
  return reader.attributeOf(*expression.value, expression.text);
}

SourceRange partOf(const ObjectiveExpression &expression, const std::vector<size_t> &operands) {
  const Constant *part = expression.value.get();
  for (size_t operand : operands) {
    auto *call = part->as<CallValue>();
    if (!call || operand >= call->arguments.size())
      break;
    part = call->arguments[operand].second.get();
  }
  return part->range.valid() ? part->range : expression.at;
}

} // namespace accord
