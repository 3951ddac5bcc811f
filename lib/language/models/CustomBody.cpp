// The statements of an `operation`, for operands of given extents.
#include "lib/language/models/CustomOperation.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

using namespace mlir;

namespace accord {

std::optional<CustomShape> CustomOperation::read(llvm::ArrayRef<llvm::SmallVector<int64_t>> extents,
                                                 llvm::ArrayRef<SourceRange> at) {
  size_t before = diags.errors();
  shape = {};
  scalars.clear();
  resultKnown = false;
  shape.tensors.resize(operands.size() + 1);
  for (auto [i, operand] : llvm::enumerate(operands))
    for (auto [d, index] : llvm::enumerate(operand->indices)) {
      for (const ast::Name &earlier : llvm::ArrayRef(operand->indices).take_front(d))
        if (earlier.text == index.text)
          diags
              .error(Code::DuplicateName, index.range,
                     fmt::format("index '{}' twice in '{}'", index.text, operand->name.text))
              .note(earlier.range, "the first")
              .help("two indices of one extent have two names");
      auto known = indexNamed(index.text);
      if (!known) {
        if (!declare(index))
          continue;
        known = static_cast<unsigned>(shape.indices.size());
        shape.indices.push_back({index.text, extents[i][d], index.range});
      } else if (shape.indices[*known].extent != extents[i][d]) {
        diags
            .error(Code::ShapeMismatch, at[i],
                   fmt::format("index '{}' has {} positions in '{}', but {} before", index.text, extents[i][d],
                               operand->name.text, shape.indices[*known].extent))
            .note(shape.indices[*known].declared, "first here");
      }
      shape.tensors[i].push_back(*known);
    }
  if (diags.errors() != before)
    return std::nullopt;
  for (const ast::Statement &statement : declaration.body) {
    const auto *bind = statement.as<ast::Bind>();
    if (!bind || bind->kind == ast::BindKind::Var || bind->names.size() != 1) {
      diags
          .error(Code::UnexpectedClause, statement.range,
                 "an operation is made of 'let', of its result and of gradients")
          .help("layers, repeats and losses belong into modules and models");
      continue;
    }
    const ast::Name &name = bind->names[0];
    if (bind->kind == ast::BindKind::Let) {
      let(*bind);
    } else if (bind->kind == ast::BindKind::Assign) {
      if (name.text != resultName) {
        diags
            .error(Code::UnknownName, name.range,
                   fmt::format("'{}' is not the result of '{}'", name.text, declaration.name.text))
            .note(declaration.results[0].range, "its result is declared here")
            .help("an intermediate value is bound with 'let'");
        continue;
      }
      if (resultKnown) {
        diags.error(Code::DuplicateName, name.range, fmt::format("'{}' is computed twice", name.text))
            .note(shape.forward.at, "the first time");
        continue;
      }
      shape.forward.of = shape.result();
      for (const ast::Name &index : declaration.indices) {
        auto known = indexNamed(index.text);
        if (!known && diags.errors() != before)
          continue; // its range may be what was not understood
        if (!known)
          diags
              .error(Code::UnboundIndex, index.range, fmt::format("index '{}' of the result has no extent", index.text))
              .help(fmt::format("it is an index of an operand, or a range: let {} = 0..7", index.text));
        else if (llvm::is_contained(shape.tensors[shape.result()], *known))
          diags.error(Code::DuplicateName, index.range, fmt::format("index '{}' twice in the result", index.text));
        else
          shape.tensors[shape.result()].push_back(*known);
      }
      if (diags.errors() == before)
        define(*bind, shape.forward);
      resultKnown = true;
    } else {
      auto tensor = tensorNamed(name.text);
      if (!tensor || *tensor >= operands.size()) {
        std::vector<std::string> known;
        for (const ast::Parameter *operand : operands)
          known.push_back(operand->name.text);
        diags
            .error(Code::UnknownName, name.range,
                   fmt::format("'{}' is no operand of '{}'", name.text, declaration.name.text))
            .suggest(nearest(name.text, known));
        continue;
      }
      auto same = llvm::find_if(shape.gradients, [&](const CustomBody &other) { return other.of == *tensor; });
      if (same != shape.gradients.end()) {
        diags.error(Code::DuplicateName, name.range, fmt::format("the gradient of '{}' is stated twice", name.text))
            .note(same->at, "the first time");
        continue;
      }
      if (!resultKnown) {
        diags.error(Code::MissingResult, name.range,
                    fmt::format("the gradient of '{}' stands before the result '{}'", name.text, resultName));
        continue;
      }
      CustomBody stated;
      stated.of = *tensor;
      stated.surrogate = bind->kind == ast::BindKind::Surrogate;
      define(*bind, stated);
      shape.gradients.push_back(std::move(stated));
    }
  }
  if (!resultKnown && diags.errors() == before)
    diags.error(Code::MissingResult, declaration.results[0].range,
                fmt::format("operation '{}' never computes its result '{}'", declaration.name.text, resultName));
  if (diags.errors() != before || !checkUses())
    return std::nullopt;
  return std::move(shape);
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

} // namespace accord
