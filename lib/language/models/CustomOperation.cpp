// The operands of a call, the statements for them, and the operation that comes of it.
#include "lib/language/models/CustomOperation.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

using namespace mlir;

namespace accord {

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
        checkGradients(shape, smallExample(), [&](unsigned tensor) { return tensorName(tensor); }, diags);
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

// ---- The statements, for operands of given extents

std::optional<CustomShape> CustomOperation::read(llvm::ArrayRef<llvm::SmallVector<int64_t>> extents,
                                                 llvm::ArrayRef<SourceRange> at) {
  size_t before = diags.errors();
  shape = {};
  scalars.clear();
  resultKnown = false;
  shape.tensors.resize(operands.size() + 1);
  for (unsigned i = 0; i < operands.size(); ++i)
    bindIndices(i, extents[i], at[i]);
  if (diags.errors() != before)
    return std::nullopt;
  for (const ast::Statement &statement : declaration.body) {
    const auto *bind = statement.as<ast::Bind>();
    if (!bind || bind->kind == ast::BindKind::Var || bind->names.size() != 1)
      diags
          .error(Code::UnexpectedClause, statement.range,
                 "an operation is made of 'let', of its result and of gradients")
          .help("layers, repeats and losses belong into modules and models");
    else if (bind->kind == ast::BindKind::Let)
      let(*bind);
    else if (bind->kind == ast::BindKind::Assign)
      result(*bind, before);
    else
      gradient(*bind);
  }
  if (!resultKnown && diags.errors() == before)
    diags.error(Code::MissingResult, declaration.results[0].range,
                fmt::format("operation '{}' never computes its result '{}'", declaration.name.text, resultName));
  if (diags.errors() != before || !checkUses())
    return std::nullopt;
  return std::move(shape);
}

/// Declares the indices of an operand of these extents, or holds them against those of earlier operands.
void CustomOperation::bindIndices(unsigned place, llvm::ArrayRef<int64_t> extents, SourceRange at) {
  const ast::Parameter &operand = *operands[place];
  for (auto [d, index] : llvm::enumerate(operand.indices)) {
    for (const ast::Name &earlier : llvm::ArrayRef(operand.indices).take_front(d))
      if (earlier.text == index.text)
        diags
            .error(Code::DuplicateName, index.range,
                   fmt::format("index '{}' twice in '{}'", index.text, operand.name.text))
            .note(earlier.range, "the first")
            .help("two indices of one extent have two names");
    auto known = indexNamed(index.text);
    if (!known) {
      if (!declare(index))
        continue;
      known = shape.indices.size();
      shape.indices.push_back({index.text, extents[d], index.range});
    } else if (shape.indices[*known].extent != extents[d]) {
      diags
          .error(Code::ShapeMismatch, at,
                 fmt::format("index '{}' has {} positions in '{}', but {} before", index.text, extents[d],
                             operand.name.text, shape.indices[*known].extent))
          .note(shape.indices[*known].declared, "first here");
    }
    shape.tensors[place].push_back(*known);
  }
}

/// `y[i, j] = …`, after `errorsBefore` errors outside of the operation.
void CustomOperation::result(const ast::Bind &bind, size_t errorsBefore) {
  const ast::Name &name = bind.names[0];
  if (name.text != resultName) {
    diags
        .error(Code::UnknownName, name.range,
               fmt::format("'{}' is not the result of '{}'", name.text, declaration.name.text))
        .note(declaration.results[0].range, "its result is declared here")
        .help("an intermediate value is bound with 'let'");
    return;
  }
  if (resultKnown) {
    diags.error(Code::DuplicateName, name.range, fmt::format("'{}' is computed twice", name.text))
        .note(shape.forward.at, "the first time");
    return;
  }
  shape.forward.of = shape.result();
  std::vector<unsigned> &own = shape.tensors[shape.result()];
  for (const ast::Name &index : declaration.indices) {
    auto known = indexNamed(index.text);
    if (!known && diags.errors() != errorsBefore)
      continue; // its range may be what was not understood
    if (!known)
      diags.error(Code::UnboundIndex, index.range, fmt::format("index '{}' of the result has no extent", index.text))
          .help(fmt::format("it is an index of an operand, or a range: let {} = 0..7", index.text));
    else if (llvm::is_contained(own, *known))
      diags.error(Code::DuplicateName, index.range, fmt::format("index '{}' twice in the result", index.text));
    else
      own.push_back(*known);
  }
  if (diags.errors() == errorsBefore)
    define(bind, shape.forward);
  resultKnown = true;
}

/// `gradient q = …`, `surrogate q = …`.
void CustomOperation::gradient(const ast::Bind &bind) {
  const ast::Name &name = bind.names[0];
  auto tensor = tensorNamed(name.text);
  if (!tensor || *tensor >= operands.size()) {
    std::vector<std::string> known;
    for (const ast::Parameter *operand : operands)
      known.push_back(operand->name.text);
    diags
        .error(Code::UnknownName, name.range,
               fmt::format("'{}' is no operand of '{}'", name.text, declaration.name.text))
        .suggest(nearest(name.text, known));
    return;
  }
  auto same = llvm::find_if(shape.gradients, [&](const CustomBody &other) { return other.of == *tensor; });
  if (same != shape.gradients.end()) {
    diags.error(Code::DuplicateName, name.range, fmt::format("the gradient of '{}' is stated twice", name.text))
        .note(same->at, "the first time");
    return;
  }
  if (!resultKnown) {
    diags.error(Code::MissingResult, name.range,
                fmt::format("the gradient of '{}' stands before the result '{}'", name.text, resultName));
    return;
  }
  CustomBody stated;
  stated.of = *tensor;
  stated.surrogate = bind.kind == ast::BindKind::Surrogate;
  define(bind, stated);
  shape.gradients.push_back(std::move(stated));
}

bool CustomOperation::declare(const ast::Name &name) {
  auto error = [&](SourceRange earlier) {
    auto made = diags.error(Code::DuplicateName, name.range, fmt::format("'{}' is already declared here", name.text));
    if (earlier.valid())
      made.note(earlier, "the earlier declaration");
    return false;
  };
  for (const ast::Parameter &parameter : declaration.parameters)
    if (parameter.name.text == name.text)
      return error(parameter.name.range);
  if (name.text == resultName || name.text == gradientName)
    return error(declaration.results[0].range);
  if (auto index = indexNamed(name.text))
    return error(shape.indices[*index].declared);
  if (auto found = scalars.find(name.text); found != scalars.end())
    return error(found->second.declared);
  return true;
}

/// A range is an index, anything else a value at every point.
void CustomOperation::let(const ast::Bind &bind) {
  const ast::Name &name = bind.names[0];
  bool isNew = declare(name);
  const auto *range = bind.value->as<ast::Range>();
  if (!range) {
    dnn::ScalarAttr value = scalar(*bind.value);
    if (value && dnn::stepsOf(value).size() > dnn::kMaxScalarSteps) {
      diags.error(Code::TooManyOperations, bind.value->range,
                  fmt::format("this value takes more than {} steps", dnn::kMaxScalarSteps));
      value = {};
    }
    if (isNew) // one that was not understood too: it is declared
      scalars[name.text] = {value, name.range};
    return;
  }
  if (range->step || range->powersOfTwo) {
    diags.error(Code::WrongType, bind.value->range, "an index takes every position of its range")
        .help("write 2 * i where it is used");
    return;
  }
  auto low = integer(*range->low, "the start of an index"), high = integer(*range->high, "the end of an index");
  if (!low || !high)
    return;
  if (*low != 0 || *high < 0 || *high >= ModelBuilder::kMaxScalars) {
    diags
        .error(Code::OutOfRange, bind.value->range,
               fmt::format("an index goes from 0 to at least 0, not from {} to {}", *low, *high))
        .help("both ends belong to a range; an offset is added where the index is used");
    return;
  }
  if (isNew)
    shape.indices.push_back({name.text, *high + 1, name.range});
}

void CustomOperation::define(const ast::Bind &bind, CustomBody &into) {
  into.at = bind.value->range;
  size_t before = diags.errors();
  reduction(*bind.value, into);
  if (diags.errors() != before || !into.body || !checkIndices(into))
    return;
  if (dnn::stepsOf(into.body).size() > dnn::kMaxScalarSteps) {
    diags.error(Code::TooManyOperations, into.at,
                fmt::format("this value takes more than {} steps", dnn::kMaxScalarSteps));
    return;
  }
  if (into.of == shape.result() || into.body == dnn::scalarNumber(context, 0))
    return;
  llvm::SmallBitVector read = dnn::ScalarProgram(into.body).operands();
  if (llvm::none_of(read.set_bits(),
                    [&](unsigned access) { return shape.accesses[access].tensor == shape.gradient(); }))
    diags
        .error(Code::WrongGradient, into.at,
               fmt::format("the gradient of '{}' does not depend on that of '{}'", tensorName(into.of), resultName))
        .help(fmt::format(
            "'{}' is the gradient of the result: multiply with {}[{}]", gradientName, gradientName,
            fmt::join(llvm::map_range(declaration.indices, [](const ast::Name &n) { return n.text; }), ", ")));
}

/// sum(…, over = d), max, min, mean of all points along some indices; or the value at each point.
void CustomOperation::reduction(const ast::Expr &value, CustomBody &into) {
  const auto *call = value.as<ast::Call>();
  const auto *callee = call ? call->callee->as<ast::Reference>() : nullptr;
  bool mean = callee && callee->name == "mean", sum = callee && callee->name == "sum";
  const ast::Argument *over = nullptr, *of = nullptr;
  if (callee && (sum || mean || callee->name == "max" || callee->name == "min"))
    for (const ast::Argument &argument : call->arguments)
      (argument.name && argument.name->text == "over" ? over : of) = &argument;
  if (!over) {
    into.body = scalar(value);
    return;
  }
  if (!of || of->name || call->arguments.size() != 2) {
    diags.error(
        Code::WrongType, value.range,
        fmt::format("'{}' is used as {}(value, over = index) or over = [index, index]", callee->name, callee->name));
    return;
  }
  std::vector<const ast::Expr *> names;
  if (const auto *list = over->value->as<ast::List>())
    for (const ast::ExprPtr &element : list->elements)
      names.push_back(element.get());
  else
    names.push_back(over->value.get());
  for (const ast::Expr *name : names) {
    const auto *reference = name->as<ast::Reference>();
    auto index = reference ? indexNamed(reference->name) : std::nullopt;
    if (!index) {
      std::vector<std::string> known;
      for (const CustomShape::Index &each : shape.indices)
        known.push_back(each.name);
      diags
          .error(Code::UnboundIndex, name->range,
                 fmt::format("'over' names indices, and '{}' is none",
                             diags.sources().text(name->range).take_front(40).str()))
          .suggest(reference ? nearest(reference->name, known) : "");
      continue;
    }
    if (llvm::is_contained(into.over, *index))
      diags.error(Code::DuplicateName, name->range, fmt::format("index '{}' is named twice", reference->name));
    else if (llvm::is_contained(shape.tensors[into.of], *index))
      diags.error(Code::UnboundIndex, name->range,
                  fmt::format("'{}' is an index of '{}' itself: there is nothing to combine over it", reference->name,
                              tensorName(into.of)));
    else
      into.over.push_back(*index);
  }
  into.combine = callee->name == "max"   ? dnn::Combine::Max
                 : callee->name == "min" ? dnn::Combine::Min
                                         : dnn::Combine::Sum;
  into.body = scalar(*of->value);
  if (!mean || !into.body)
    return;
  double points = 1;
  for (unsigned index : into.over)
    points *= shape.indices[index].extent;
  into.body = dnn::scalar(dnn::ScalarKind::Divide, {into.body, dnn::scalarNumber(context, points)});
}

/// Each index that the value depends on is one of the tensor's own or combined over.
bool CustomOperation::checkIndices(const CustomBody &body) {
  dnn::ScalarProgram program(body.body);
  llvm::SmallBitVector used(shape.indices.size());
  for (unsigned index : program.positions().set_bits())
    used.set(index);
  for (unsigned access : program.operands().set_bits())
    for (AffineExpr expr : shape.accesses[access].at)
      for (unsigned index = 0; index < shape.indices.size(); ++index)
        if (expr.isFunctionOfDim(index))
          used.set(index);
  size_t before = diags.errors();
  for (unsigned index : used.set_bits())
    if (!llvm::is_contained(shape.tensors[body.of], index) && !llvm::is_contained(body.over, index)) {
      const std::string &name = shape.indices[index].name;
      diags
          .error(Code::UnboundIndex, body.at,
                 fmt::format("index '{}' is none of '{}', and nothing combines over it", name, tensorName(body.of)))
          .note(shape.indices[index].declared, "declared here")
          .help(fmt::format("write sum(…, over = {}) around the whole right side", name));
    }
  for (unsigned index : body.over)
    if (!used.test(index))
      diags
          .error(
              Code::UnboundIndex, body.at,
              fmt::format("nothing here depends on index '{}', over which it is combined", shape.indices[index].name))
          .help(fmt::format("multiply with len({}) if that is meant", shape.indices[index].name));
  return diags.errors() == before;
}

/// Every operand is read by the result.
bool CustomOperation::checkUses() {
  llvm::SmallBitVector read = dnn::ScalarProgram(shape.forward.body).operands();
  size_t before = diags.errors();
  for (unsigned i = 0; i < operands.size(); ++i)
    if (llvm::none_of(read.set_bits(), [&](unsigned access) { return shape.accesses[access].tensor == i; }))
      diags
          .error(Code::UnusedName, operands[i]->name.range,
                 fmt::format("the result does not depend on operand '{}'", operands[i]->name.text))
          .help("use it or remove it");
  return diags.errors() == before;
}

/// The operation for operands of a few positions each; nothing if all that were tried are refused or too large.
std::optional<CustomShape> CustomOperation::smallExample() {
  constexpr double kMaxPoints = 1e6;
  auto fits = [](const CustomShape &shape) {
    double points = 1;
    for (const CustomShape::Index &index : shape.indices)
      points *= index.extent;
    return points <= kMaxPoints;
  };
  CustomShape real = shape;
  std::optional<CustomShape> small;
  size_t before = diags.errors();
  for (int64_t min : {2, 3, 4, 5, 7, 9, 12, 17, 24, 40, 80}) {
    std::map<std::string, int64_t> sizes; // neighbours differ
    std::vector<llvm::SmallVector<int64_t>> tried;
    for (const ast::Parameter *operand : operands) {
      tried.emplace_back();
      for (const ast::Name &index : operand->indices)
        tried.back().push_back(sizes.try_emplace(index.text, min + sizes.size() % 2).first->second);
    }
    small = read(tried, places);
    diags.dropErrors(before);
    if (small && fits(*small))
      break;
    small.reset();
  }
  shape = std::move(real);
  if (!small && fits(shape))
    small = shape;
  return small;
}

} // namespace accord
