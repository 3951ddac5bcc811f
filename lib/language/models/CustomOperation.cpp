// Operands of a call, and the operation that comes of it.
#include "lib/language/models/CustomOperation.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

using namespace mlir;

namespace accord {

ModelValue ModelBuilder::callOperation(const ast::Declaration &declaration, const ast::Call &call, SourceRange range) {
  return CustomOperation(*this, declaration, range).build(call);
}

CustomOperation::CustomOperation(ModelBuilder &model, const ast::Declaration &declaration, SourceRange call)
    : model(model), diags(model.diags), declaration(declaration), callAt(call), context(model.module.getContext()) {
  for (const ast::Parameter &parameter : declaration.parameters)
    if (parameter.isOperand)
      operands.push_back(&parameter);
  if (!declaration.results.empty()) {
    resultName = declaration.results[0].text;
    gradientName = "d" + resultName;
  }
}

ModelValue CustomOperation::build(const ast::Call &call) {
  std::string label = std::exchange(model.pendingName, {});
  ModelBuilder::Scope body, *saved = model.scope;
  body.declaration = &declaration;
  if (!model.bindParameters(body, declaration, call.arguments, callAt, saved, {}))
    return {};
  model.scope = &body;
  ModelValue result;
  if (model.proceed(callAt, 20) && takeOperands(call))
    if (auto known = read(extents, places)) {
      shape = std::move(*known);
      result = emit(shape);
      if (const Value *made = result.tensor())
        made->getDefiningOp()->setAttr(dnn::DnnDialect::kNameAttr, model.builder.getStringAttr(model.path(
                                                                       label.empty() ? declaration.name.text : label)));
      if (llvm::any_of(shape.gradients, [](const CustomBody &g) { return !g.surrogate; }))
        checkGradients();
    }
  model.scope = saved;
  return result;
}

/// Where the argument for a parameter is written; the call if it has its default.
SourceRange CustomOperation::argumentAt(const ast::Call &call, size_t parameter) const {
  const std::string &name = declaration.parameters[parameter].name.text;
  for (auto [i, argument] : llvm::enumerate(call.arguments))
    if (argument.name ? argument.name->text == name : i == parameter)
      return argument.value->range;
  return callAt;
}

/// Tensors with as many dimensions as they have indices, and numbers for the rest.
bool CustomOperation::takeOperands(const ast::Call &call) {
  size_t before = diags.errors();
  bool understood = true;
  const ast::Parameter *first = nullptr;
  Type element;
  for (auto [i, parameter] : llvm::enumerate(declaration.parameters)) {
    const std::string &name = parameter.name.text;
    const ModelValue &value = model.lookup(name)->value;
    SourceRange at = argumentAt(call, i);
    if (value.failed()) { // reported where it was written
      understood = false;
      continue;
    }
    if (!parameter.isOperand) {
      if (!value.number() || !value.number()->dimensionless()) {
        diags
            .error(Code::WrongType, at,
                   fmt::format("'{}' is a number for '{}', not {}", name, declaration.name.text, value.describe()))
            .note(parameter.name.range, "an operand has indices, this has none")
            .help(fmt::format("write '{}[i]' for a tensor", name));
      } else if (auto number = model.real(*value.number(), at, "this number")) {
        numbers[name] = dnn::scalarNumber(context, *number);
      }
      continue;
    }
    if (!value.tensor()) {
      diags
          .error(Code::NotATensor, at,
                 fmt::format("operand '{}' of '{}' is a tensor, not {}", name, declaration.name.text, value.describe()))
          .note(parameter.name.range, "declared here");
      continue;
    }
    auto type = model.typeOf(*value.tensor());
    llvm::SmallVector<int64_t> shape(type.getShape().drop_front(dnn::batchRank(type)));
    if (shape.size() != parameter.indices.size())
      diags
          .error(Code::ShapeMismatch, at,
                 fmt::format("'{}' has {} {}, but this is {}", name, parameter.indices.size(),
                             parameter.indices.size() == 1 ? "index" : "indices", value.describe()))
          .note(parameter.name.range, "declared here");
    if (isa<FloatType>(type.getElementType())) {
      if (element && element != type.getElementType())
        diags
            .error(Code::WrongElementType, at,
                   fmt::format("'{}' and '{}' have different element types", first->name.text, name))
            .note(first->name.range, "declared here");
      element = type.getElementType();
      first = &parameter;
    }
    values.push_back(*value.tensor());
    extents.push_back(std::move(shape));
    places.push_back(at);
  }
  if (diags.errors() != before || !understood)
    return false;
  if (!element)
    diags.error(Code::WrongElementType, callAt,
                fmt::format("'{}' needs an operand that is no integer", declaration.name.text));
  return element != nullptr;
}

Type CustomOperation::elementOf() const {
  for (Value value : values)
    if (Type type = model.typeOf(value).getElementType(); isa<FloatType>(type))
      return type;
  return {};
}

CustomWork customWork(const CustomShape &shape, const CustomBody &body, llvm::ArrayRef<bool> batched) {
  CustomWork work;
  MLIRContext *context = body.body.getContext();
  llvm::SmallBitVector read = dnn::ScalarProgram(body.body).operands();
  bool batch = batched[body.of];
  for (unsigned access : read.set_bits()) {
    work.reads.push_back(access);
    batch |= batched[shape.accesses[access].tensor];
  }
  llvm::SmallVector<unsigned> walked(llvm::ArrayRef(shape.tensors[body.of]));
  walked.append(body.over.begin(), body.over.end());
  if (batch)
    work.domain.push_back(ShapedType::kDynamic);
  llvm::DenseMap<unsigned, unsigned> dimension; // of an index
  for (unsigned index : walked) {
    dimension[index] = work.domain.size();
    work.domain.push_back(shape.indices[index].extent);
  }
  unsigned rank = work.domain.size();
  llvm::SmallVector<AffineExpr> become;
  for (unsigned index = 0; index < shape.indices.size(); ++index)
    become.push_back(getAffineDimExpr(dimension.lookup(index), context));
  auto add = [&](unsigned tensor, llvm::ArrayRef<AffineExpr> at) {
    llvm::SmallVector<AffineExpr> exprs;
    if (batched[tensor])
      exprs.push_back(getAffineDimExpr(0, context));
    for (AffineExpr expr : at)
      exprs.push_back(expr.replaceDims(become));
    work.maps.push_back(AffineMap::get(rank, 0, exprs, context));
  };
  llvm::DenseMap<unsigned, unsigned> place;
  for (unsigned access : work.reads) {
    place[access] = place.size();
    add(shape.accesses[access].tensor, shape.accesses[access].at);
  }
  llvm::SmallVector<AffineExpr> own;
  for (unsigned index : shape.tensors[body.of])
    own.push_back(getAffineDimExpr(index, context));
  add(body.of, own);
  work.body = dnn::replaceLeaves(
      body.body, [&](unsigned access) { return dnn::scalarOperand(context, place.lookup(access)); },
      [&](unsigned index) { return dnn::scalarPosition(context, dimension.lookup(index)); });
  return work;
}

ModelValue CustomOperation::emit(const CustomShape &shape) {
  llvm::SmallVector<bool> batched;
  for (Value value : values)
    batched.push_back(dnn::batchRank(model.typeOf(value)) != 0);
  bool any = llvm::is_contained(batched, true);
  batched.append(2, any); // the result and its gradient
  auto mapsOf = [&](llvm::ArrayRef<AffineMap> maps) { return model.builder.getAffineMapArrayAttr(maps); };
  CustomWork work = customWork(shape, shape.forward, batched);
  llvm::SmallVector<int64_t> extents;
  if (any)
    extents.push_back(ShapedType::kDynamic);
  for (unsigned index : shape.tensors[shape.result()])
    extents.push_back(shape.indices[index].extent);
  if (!model.checkSize(extents, callAt) || !model.checkSize(work.domain, callAt))
    return {};
  llvm::SmallVector<Value> read;
  for (unsigned access : work.reads)
    read.push_back(values[shape.accesses[access].tensor]);

  llvm::SmallVector<Attribute> gradients;
  for (const CustomBody &stated : shape.gradients) {
    CustomWork gradient = customWork(shape, stated, batched);
    llvm::SmallVector<int64_t> of, reads;
    auto operandOf = [&](unsigned tensor) { // the first that reads it
      for (auto [i, access] : llvm::enumerate(work.reads))
        if (shape.accesses[access].tensor == tensor)
          return static_cast<int64_t>(i);
      llvm_unreachable("every operand is read");
    };
    for (auto [i, access] : llvm::enumerate(work.reads))
      if (shape.accesses[access].tensor == stated.of)
        of.push_back(i);
    for (unsigned access : gradient.reads) {
      unsigned tensor = shape.accesses[access].tensor;
      reads.push_back(tensor == shape.result() ? -1 : tensor == shape.gradient() ? -2 : operandOf(tensor));
    }
    gradients.push_back(dnn::StatedGradientAttr::get(
        context, model.builder.getDenseI64ArrayAttr(of), model.builder.getDenseI64ArrayAttr(reads),
        model.builder.getDenseI64ArrayAttr(gradient.domain), mapsOf(gradient.maps), gradient.body));
  }
  ++model.operations;
  return {dnn::CustomOp::create(model.builder, model.at(callAt), RankedTensorType::get(extents, elementOf()),
                                declaration.name.text, read, work.domain, mapsOf(work.maps), work.body,
                                shape.forward.combine,
                                gradients.empty() ? ArrayAttr() : model.builder.getArrayAttr(gradients))
              .getResult()};
}

std::string CustomOperation::tensorName(unsigned tensor) const {
  return tensor < operands.size() ? operands[tensor]->name.text : tensor == shape.result() ? resultName : gradientName;
}

} // namespace accord
