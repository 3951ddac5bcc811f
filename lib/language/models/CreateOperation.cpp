// One dnn operation or parameter, once its operands and attributes are checked.
#include "lib/language/models/InferenceMessages.h"
#include "lib/language/models/ModelBuilder.h"
#include "lib/support/EmitError.h"
#include <fmt/format.h>

using namespace mlir;

namespace accord {

ModelValue ModelBuilder::create(llvm::StringRef dialect, llvm::StringRef label, ValueRange operands,
                                llvm::ArrayRef<NamedAttribute> attributes, SourceRange range) {
  ++operations;
  // Shape errors come back as MLIR diagnostics at this location; they are reported here with a
  // range and a code.
  std::string reason;
  Code code = Code::ShapeMismatch;
  FailureOr<Operation *> op = failure();
  {
    ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
      if (reason.empty()) {
        reason = diagnostic.str();
        code = codeOf(diagnostic, code);
      }
      return success();
    });
    op = dnn::createInferred(builder, at(range), dialect, operands, attributes);
  }
  if (failed(op)) {
    diags.error(code, range,
                reason.empty() ? fmt::format("'{}' does not fit its operands", label.str()) : asWritten(reason));
    return {};
  }
  for (Type type : (*op)->getResultTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && !checkSize(tensor.getShape(), range))
      return {};
  (*op)->setAttr(dnn::DnnDialect::kNameAttr, builder.getStringAttr(label));
  if ((*op)->getNumResults() == 1 || dnn::hasSavedResult(*op))
    return {Value((*op)->getResult(0))};
  auto list = std::make_shared<ModelList>();
  for (Value result : (*op)->getResults())
    list->push_back({result});
  return {list};
}

Value ModelBuilder::parameter(llvm::StringRef owner, llvm::StringRef role, llvm::ArrayRef<int64_t> shape,
                              SourceRange range) {
  if (repeatsInScan > 0) {
    diags.error(Code::ParameterInScan, range, "a repeat inside a scan has no trained tensors of its own")
        .help("a scan shares its parameters among all steps, a repeat has one copy for each "
              "iteration: use 'for', or scan inside of the repeat");
    return {};
  }
  int64_t copies = 1;
  for (int64_t count : repeats)
    if (__builtin_mul_overflow(copies, count, &copies)) {
      diags.error(Code::NumberTooLarge, range, "the number of copies of this parameter passes 2^63");
      return {};
    }
  int64_t elements = copies;
  for (int64_t extent : shape)
    if (__builtin_mul_overflow(elements, extent, &elements) || elements > kMaxScalars) {
      diags.error(Code::NumberTooLarge, range, "this parameter has more than 2^58 scalars");
      return {};
    }
  std::string name = role.empty() ? owner.str() : (owner + "." + role).str();
  // Parameters stand before everything else, in the order of their first use.
  OpBuilder front(module.getContext());
  if (lastParameter)
    front.setInsertionPointAfter(lastParameter);
  else
    front.setInsertionPointToStart(&model.getBlock());
  Location where = at(range);
  auto declared = dnn::ParameterOp::create(front, where, name, RankedTensorType::get(shape, element), copies);
  lastParameter = declared;
  OpBuilder::InsertionGuard guard(builder);
  if (outermostScan)
    builder.setInsertionPoint(outermostScan);
  return dnn::ReadOp::create(builder, where, declared).getResult();
}

/// A sample of zeros for every sample of the batch: zeros(8), zeros([2, 4]).
ModelValue ModelBuilder::zeros(const ModelValue &dims, SourceRange dimsAt, llvm::StringRef label, SourceRange range) {
  llvm::SmallVector<int64_t> shape{ShapedType::kDynamic};
  if (dims.number()) {
    auto extent = dims.number()->dimensionless() ? dims.number()->toInt64() : std::nullopt;
    if (!extent) {
      diags.error(Code::NotAnInteger, dimsAt,
                  fmt::format("'zeros' takes extents, such as zeros(8), not {}", dims.describe()));
      return {};
    }
    shape.push_back(*extent);
  } else if (auto list = integersOf(dims, dimsAt, "the shape of zeros")) {
    shape.append(list->begin(), list->end());
  } else {
    return {};
  }
  if (llvm::any_of(llvm::drop_begin(shape), [](int64_t extent) { return extent < 1; })) {
    diags.error(Code::OutOfRange, dimsAt, "the extents of zeros are at least 1");
    return {};
  }
  if (!checkSize(shape, range))
    return {};
  auto zero =
      dnn::ConstantOp::create(builder, at(range), RankedTensorType::get(shape, element), builder.getF64FloatAttr(0));
  zero->setAttr(dnn::DnnDialect::kNameAttr, builder.getStringAttr(path(label)));
  ++operations;
  return {Value(zero)};
}

} // namespace accord
