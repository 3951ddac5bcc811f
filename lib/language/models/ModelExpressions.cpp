// Expressions and calls in a model body: numbers are computed exactly, tensors become element-wise operations.
#include "lib/language/models/CustomOperation.h"
#include "lib/language/models/ModelBuilder.h"
#include "lib/language/syntax/Arguments.h"
#include "lib/language/syntax/Evaluate.h"
#include <cmath>
#include <fmt/format.h>

namespace accord {

ModelValue ModelBuilder::eval(const ast::Expr &expr) {
  if (!proceed(expr.range))
    return {};
  if (depth >= kMaxDepth) {
    diags.error(Code::NestedTooDeep, expr.range,
                fmt::format("more than {} expressions are being evaluated within each other", kMaxDepth));
    hasGivenUp = true;
    return {};
  }
  ++depth;
  ModelValue value = std::visit(
      [&](const auto &node) -> ModelValue {
        if constexpr (requires { ModelValue{node.value}; }) { // a number, text or truth
          return {node.value};
        } else if constexpr (requires { evalNode(node, expr.range); }) {
          return evalNode(node, expr.range);
        } else {
          diags.error(Code::WrongType, expr.range, "a model body has no use for this value")
              .help("sets and maps belong into machines and trainings");
          return {};
        }
      },
      expr.node);
  --depth;
  return value;
}

ModelValue ModelBuilder::evalNode(const ast::Range &bounds, SourceRange range) {
  auto low = integer(*bounds.low, "the start of a range"), high = integer(*bounds.high, "the end of a range");
  auto step = bounds.step ? integer(*bounds.step, "the step of a range", 1) : std::optional<int64_t>(1);
  if (!low || !high || !step)
    return {};
  auto list = std::make_shared<ModelList>();
  // Wider than the ends, which may be the largest integers there are.
  for (__int128 i = *low; i <= *high; i = bounds.powersOfTwo ? (i < 1 ? 1 : i) * 2 : i + *step) {
    if (list->size() > kMaxList) {
      diags.error(Code::TooManyValues, range, "a loop of more than 100000 iterations")
          .help("'repeat' keeps identical layers as one");
      return {};
    }
    list->push_back({Quantity::number(int64_t(i))});
  }
  proceed(range, list->size());
  return {list};
}

ModelValue ModelBuilder::evalNode(const ast::List &list, SourceRange) {
  auto values = std::make_shared<ModelList>();
  for (const ast::ExprPtr &element : list.elements)
    values->push_back(eval(*element));
  return {values};
}

ModelValue ModelBuilder::evalNode(const ast::Reference &reference, SourceRange range) {
  if (Variable *variable = lookup(reference.name)) {
    if (variable->unassigned)
      reportUnassigned({reference.name, range});
    return variable->value;
  }
  const ast::Declaration *from = scope->declaration;
  if (const ast::Declaration *found = declarations.find(reference.name, *from, range)) {
    if (found->kind == ast::DeclarationKind::Constant) {
      if (llvm::is_contained(calls, found)) {
        diags.error(Code::RecursiveDefinition, range, fmt::format("'{}' is defined by itself", reference.name));
        return {};
      }
      if (auto known = constants.find(found); known != constants.end())
        return known->second;
      Scope outside;
      outside.declaration = found;
      Scope *saved = scope;
      scope = &outside;
      calls.push_back(found);
      ModelValue value = eval(*found->value);
      calls.pop_back();
      scope = saved;
      if (value.failed() || value.number() || value.truth())
        constants[found] = value;
      return value;
    }
    diags
        .error(Code::WrongNameKind, range,
               fmt::format("'{}' is {}, not a value", reference.name, ast::withArticle(found->kind)))
        .note(found->name.range, "declared here");
    return {};
  }
  std::vector<std::string> known = declarations.names(*from);
  for (Scope *s = scope; s; s = s->parent)
    for (auto &[name, variable] : s->variables)
      known.push_back(name);
  auto error = diags.error(Code::UnknownName, range, fmt::format("unknown name '{}'", reference.name));
  if (std::string near = nearest(reference.name, known); !near.empty())
    error.suggest(near);
  else if (findOperation(reference.name))
    error.help(fmt::format("'{}' is an operation: call it with its operands", reference.name));
  return {};
}

/// An operator with a tensor on one side or both.
ModelValue ModelBuilder::applyToTensors(ast::BinaryOp op, SourceRange opAt, const ModelValue &a, SourceRange aAt,
                                        const ModelValue &b, SourceRange bAt) {
  using enum ast::BinaryOp;
  if (a.tensor() && b.tensor()) {
    const char *name = op == Add        ? "add"
                       : op == Subtract ? "sub"
                       : op == Multiply ? "mul"
                       : op == Divide   ? "div"
                                        : nullptr;
    if (name)
      return create(std::string("dnn.") + name, path(name), {*a.tensor(), *b.tensor()}, {}, opAt);
  } else if (op == Multiply || (op == Divide && a.tensor())) {
    auto [tensor, number, numberAt] =
        a.tensor() ? std::tuple(*a.tensor(), b.number(), bAt) : std::tuple(*b.tensor(), a.number(), aAt);
    if (number && number->dimensionless()) {
      Result<Quantity> exact = op == Divide ? divide(Quantity::number(1), *number) : *number;
      if (!exact) {
        diags.error(exact.error().code, numberAt, exact.error().message);
        return {};
      }
      auto factor = real(*exact, numberAt, op == Divide ? "the inverse of this divisor" : "this factor");
      if (!factor)
        return {};
      return create("dnn.scale", path("scale"), tensor,
                    builder.getNamedAttr("factor", builder.getF64FloatAttr(*factor)), opAt);
    }
  }
  diags
      .error(Code::WrongType, opAt,
             fmt::format("'{}' has no meaning between {} and {}", ast::spelling(op).str(), a.describe(), b.describe()))
      .help("tensors are added, subtracted, multiplied and divided with tensors, or multiplied "
            "and divided by a number");
  return {};
}

ModelValue ModelBuilder::applyToNumbers(ast::BinaryOp op, SourceRange opAt, const Quantity &a, SourceRange aAt,
                                        const Quantity &b, SourceRange bAt) {
  if (isComparison(op)) {
    auto order = compare(a, b);
    if (order)
      return {*applyComparison(op, *order)};
    diags.error(order.error().code, opAt, order.error().message)
        .note(aAt, describe(a.dimension))
        .note(bAt, describe(b.dimension));
    return {};
  }
  return valueOf(applyArithmetic(op, a, b), opAt);
}

ModelValue ModelBuilder::valueOf(const Result<Quantity> &number, SourceRange at) {
  if (number)
    return {*number};
  diags.error(number.error().code, at, number.error().message);
  return {};
}

ModelValue ModelBuilder::joined(const ModelList &a, const ModelList &b, SourceRange at) {
  size_t size = a.size() + b.size();
  if (size > kMaxList) {
    diags.error(Code::TooManyValues, at, fmt::format("a list of {} elements: at most {} are possible", size, kMaxList));
    return {};
  }
  if (!proceed(at, size))
    return {};
  auto all = std::make_shared<ModelList>(a);
  all->insert(all->end(), b.begin(), b.end());
  return {all};
}

ModelValue ModelBuilder::apply(ast::BinaryOp op, SourceRange opAt, const ModelValue &a, SourceRange aAt,
                               const ModelValue &b, SourceRange bAt) {
  using enum ast::BinaryOp;
  if (a.failed() || b.failed())
    return {};
  if (a.tensor() || b.tensor())
    return applyToTensors(op, opAt, a, aAt, b, bAt);
  if (op == And || op == Or) {
    if (a.truth() && b.truth())
      return {op == And ? *a.truth() && *b.truth() : *a.truth() || *b.truth()};
  } else if (a.number() && b.number()) {
    return applyToNumbers(op, opAt, *a.number(), aAt, *b.number(), bAt);
  } else if ((op == Equal || op == NotEqual) && a.content.index() == b.content.index() && !a.list()) {
    return {(a.content == b.content) == (op == Equal)};
  } else if (op == Add && a.list() && b.list()) {
    return joined(*a.list(), *b.list(), opAt);
  }
  diags
      .error(Code::WrongType, opAt,
             fmt::format("'{}' has no meaning between {} and {}", ast::spelling(op).str(), a.describe(), b.describe()))
      .note(aAt, a.describe())
      .note(bAt, b.describe());
  return {};
}

ModelValue ModelBuilder::evalNode(const ast::Chain &chain, SourceRange) {
  pendingName.clear();
  ModelValue value = eval(*chain.first);
  SourceRange range = chain.first->range;
  bool comparison = false;
  for (const auto &link : chain.rest) {
    // `and`, `or` decide without looking further, so that a guard protects what follows it.
    if (value.truth() &&
        ((link.op == ast::BinaryOp::And && !*value.truth()) || (link.op == ast::BinaryOp::Or && *value.truth())))
      continue;
    if (comparison && isComparison(link.op)) {
      diags.error(Code::WrongType, link.opRange, "comparisons cannot be chained").help("write 'a < b and b < c'");
      return {};
    }
    comparison = isComparison(link.op);
    ModelValue right = eval(*link.operand);
    value = apply(link.op, link.opRange, value, range, right, link.operand->range);
    range = range.to(link.operand->range);
  }
  return value;
}

ModelValue ModelBuilder::evalNode(const ast::Unary &unary, SourceRange range) {
  ModelValue value = eval(*unary.operand);
  if (value.failed() || unary.op == ast::UnaryOp::Plus)
    return value;
  if (unary.op == ast::UnaryOp::Not && value.truth())
    return {!*value.truth()};
  if (unary.op == ast::UnaryOp::Negate && value.number())
    return {Quantity(Rational(0) - value.number()->value, value.number()->dimension)};
  if (unary.op == ast::UnaryOp::Negate && value.tensor())
    return create("dnn.neg", path("neg"), *value.tensor(), {}, range);
  diags.error(Code::WrongType, range,
              fmt::format("'{}' has no meaning for {}", ast::spelling(unary.op).str(), value.describe()));
  return {};
}

ModelValue ModelBuilder::evalNode(const ast::Index &index, SourceRange range) {
  ModelValue value = eval(*index.object);
  for (const ast::ExprPtr &position : index.indices) {
    auto i = integer(*position, "an index");
    if (!i || value.failed())
      return {};
    if (!value.list()) {
      diags.error(Code::WrongType, range, fmt::format("{} cannot be indexed", value.describe()))
          .help("'slice' takes a part of a tensor");
      return {};
    }
    int64_t size = value.list()->size();
    if (*i < -size || *i >= size) {
      diags.error(Code::IndexOutOfRange, position->range, fmt::format("index {} of a list of {}", *i, size));
      return {};
    }
    ModelValue element = (*value.list())[*i < 0 ? *i + size : *i];
    value = std::move(element);
  }
  return value;
}

std::optional<bool> ModelBuilder::condition(const ast::Expr &expr) {
  ModelValue value = eval(expr);
  if (value.truth())
    return *value.truth();
  if (value.tensor())
    diags
        .error(Code::NotConstant, expr.range,
               fmt::format("a condition is decided before training, but this is {}", value.describe()))
        .help("'if' chooses the layers of a model; a tensor has no value yet");
  else if (!value.failed())
    diags.error(Code::WrongType, expr.range, fmt::format("a condition is true or false, not {}", value.describe()));
  return std::nullopt;
}

ModelValue ModelBuilder::evalNode(const ast::Conditional &conditional, SourceRange) {
  for (const auto &branch : conditional.branches) {
    auto holds = condition(*branch.condition);
    if (!holds)
      return {};
    if (*holds)
      return eval(*branch.value);
  }
  return eval(*conditional.otherwise);
}

std::optional<int64_t> ModelBuilder::integer(const ast::Expr &expr, const char *what, int64_t min) {
  ModelValue value = eval(expr);
  if (value.failed())
    return std::nullopt;
  if (!value.number()) {
    if (value.tensor())
      diags
          .error(Code::NotConstant, expr.range,
                 fmt::format("{} is an integer known before training, not {}", what, value.describe()))
          .help("'shape(x)' gives the extents of a tensor");
    else if (value.list() && (expr.as<ast::Range>() || expr.as<ast::Set>()))
      diags.error(Code::ChoiceNotAllowed, expr.range, fmt::format("{} is one integer, not a choice", what))
          .help("choices belong into machines and into the 'search' of a training");
    else
      diags.error(Code::WrongType, expr.range, fmt::format("{} is an integer, not {}", what, value.describe()));
    return std::nullopt;
  }
  if (!value.number()->dimensionless()) {
    diags.error(Code::UnexpectedUnit, expr.range,
                fmt::format("{} is a plain integer, but this is a {}", what, describe(value.number()->dimension)));
    return std::nullopt;
  }
  auto i = value.number()->toInt64();
  if (!i) {
    diags.error(value.number()->value.isInteger() ? Code::NumberTooLarge : Code::NotAnInteger, expr.range,
                fmt::format("{} is an integer, but this is {}", what, value.number()->print()));
    return std::nullopt;
  }
  if (*i < min) {
    diags.error(Code::OutOfRange, expr.range, fmt::format("{} is at least {}, but this is {}", what, min, *i));
    return std::nullopt;
  }
  return i;
}

std::optional<double> ModelBuilder::real(const Quantity &number, SourceRange at, const std::string &what) {
  double value = number.toDouble();
  bool lost = value == 0 && number.value.sign() != 0;
  if (std::isfinite(value) && !lost)
    return value;
  diags.error(Code::NumberTooLarge, at,
              lost ? fmt::format("{} is nearer to 0 than the smallest double, 4.9e-324", what)
                   : fmt::format("{} is beyond the largest double, 1.8e308", what));
  return std::nullopt;
}

std::optional<std::vector<int64_t>> ModelBuilder::integersOf(const ModelValue &value, SourceRange at,
                                                             const char *what) {
  if (value.failed())
    return std::nullopt;
  std::vector<int64_t> out;
  if (const ModelList *list = value.list()) {
    if (!proceed(at, list->size()))
      return std::nullopt;
    for (const ModelValue &element : *list) {
      auto i = element.number() ? element.number()->toInt64() : std::nullopt;
      if (!i) {
        if (!element.failed())
          diags.error(Code::NotAnInteger, at,
                      fmt::format("{} holds integers, but one of them is {}", what, element.describe()));
        return std::nullopt;
      }
      out.push_back(*i);
    }
    return out;
  }
  diags.error(Code::WrongType, at, fmt::format("{} is a list of integers, not {}", what, value.describe()))
      .help("write it as [2, 3]");
  return std::nullopt;
}

// ---- Calls: built-in functions, modules, operations
namespace {
const std::vector<std::string> kFunctions = {"min",  "max", "ceil_div", "floor_div", "pow2",
                                             "log2", "sum", "len",      "shape",     "sqrt"};
/// What other frameworks call some operations.
const std::map<llvm::StringRef, const char *> kElsewhere = {{"dense", "linear"},
                                                            {"fc", "linear"},
                                                            {"fully_connected", "linear"},
                                                            {"conv", "conv2d"},
                                                            {"bmm", "matmul"},
                                                            {"dot", "matmul"},
                                                            {"flatten", "reshape"},
                                                            {"view", "reshape"},
                                                            {"permute", "transpose"},
                                                            {"cat", "concat"},
                                                            {"softmax_cross_entropy", "cross_entropy"}};
constexpr size_t kMaxCallDepth = 64;
} // namespace

llvm::ArrayRef<std::string> modelFunctions() { return kFunctions; }

ModelValue ModelBuilder::evalNode(const ast::Call &call, SourceRange range) {
  auto *callee = call.callee->as<ast::Reference>();
  if (!callee) {
    pendingName.clear();
    diags.error(Code::WrongType, call.callee->range, "only operations, modules and functions can be called");
    return {};
  }
  std::string label = std::exchange(pendingName, {});
  const std::string &name = callee->name;
  const ast::Declaration *found =
      lookup(name) ? nullptr : declarations.find(name, *scope->declaration, call.callee->range);
  if (found && found->kind == ast::DeclarationKind::Module) {
    pendingName = label;
    return callModule(*found, call, range);
  }
  if (found && found->kind == ast::DeclarationKind::Operation) {
    pendingName = label;
    return CustomOperation(*this, *found, range).build(call);
  }
  if (name == "recompute") {
    pendingName = label;
    return recompute(call, range);
  }
  if (auto value = function(name, call, range))
    return *value;
  if (const OperationSpec *spec = findOperation(name)) {
    return buildOperation(*this, *spec, call, range, std::move(label));
  }
  if (found) {
    diags
        .error(Code::WrongNameKind, call.callee->range,
               fmt::format("'{}' is {} and cannot be called here", name, ast::withArticle(found->kind)))
        .note(found->name.range, "declared here");
    return {};
  }
  if (Variable *variable = lookup(name)) {
    diags
        .error(Code::WrongNameKind, call.callee->range,
               fmt::format("'{}' is {} and cannot be called", name, variable->value.describe()))
        .note(variable->declared, "declared here");
    return {};
  }
  std::vector<std::string> known = kFunctions;
  known.push_back("recompute");
  for (const OperationSpec &spec : operationTable())
    known.push_back(spec.name.str());
  for (std::string &n : declarations.names(*scope->declaration))
    known.push_back(std::move(n));
  auto error = diags.error(Code::UnknownOperation, call.callee->range, fmt::format("unknown operation '{}'", name));
  auto elsewhere = kElsewhere.find(name);
  if (name == "attention")
    error.help("attention is a module: import \"catalog/transformer.dnn\"");
  else
    error.suggest(elsewhere != kElsewhere.end() ? elsewhere->second : nearest(name, known));
  return {};
}

/// Marks what is computed between the parentheses: its results are not kept for the backward pass.
ModelValue ModelBuilder::recompute(const ast::Call &call, SourceRange range) {
  if (call.arguments.size() != 1 || call.arguments[0].name) {
    pendingName.clear();
    diags.error(Code::WrongType, range, "'recompute' is used as recompute(tensor)");
    return {};
  }
  mlir::Block *block = builder.getInsertionBlock();
  mlir::Operation *before = block->empty() ? nullptr : &block->back();
  ModelValue value = eval(*call.arguments[0].value);
  pendingName.clear();
  if (value.failed())
    return value;
  auto marks = [&](mlir::Operation *op) {
    if (!mlir::isa<dnn::ReadOp, dnn::RepeatOp, dnn::YieldOp>(op))
      op->setAttr(dnn::DnnDialect::kRecomputeAttr, builder.getUnitAttr());
  };
  bool any = false;
  for (auto op = before ? std::next(before->getIterator()) : block->begin(); op != block->end(); ++op) {
    op->walk(marks);
    any = true;
  }
  if (!any || !value.tensor()) {
    diags
        .error(Code::WrongType, call.arguments[0].value->range,
               fmt::format("'recompute' is for operations, not {}", value.describe()))
        .help("for example: let h = recompute(gelu(x))");
    return {};
  }
  return value;
}

std::optional<ModelValue> ModelBuilder::function(llvm::StringRef name, const ast::Call &call, SourceRange range) {
  if (!llvm::is_contained(kFunctions, name.str()))
    return std::nullopt;
  ModelList arguments;
  for (const ast::Argument &argument : call.arguments) {
    if (argument.name) {
      diags.error(Code::UnknownArgument, argument.name->range,
                  fmt::format("'{}' takes its arguments by place", name.str()));
      return ModelValue{};
    }
    arguments.push_back(eval(*argument.value));
    if (arguments.back().failed())
      return ModelValue{};
  }
  if (name == "sqrt" && arguments.size() == 1 && arguments[0].tensor())
    return std::nullopt;
  if (name == "shape") {
    if (arguments.size() != 1 || !arguments[0].tensor())
      return wrongUsage(name, "shape(tensor)", range);
    auto type = typeOf(*arguments[0].tensor());
    auto list = std::make_shared<ModelList>();
    for (int64_t extent : type.getShape().drop_front(dnn::batchRank(type)))
      list->push_back({Quantity::number(extent)});
    return ModelValue{list};
  }
  if (name == "len") {
    if (arguments.size() != 1 || !arguments[0].list())
      return wrongUsage(name, "len(list)", range);
    return ModelValue{Quantity::number(arguments[0].list()->size())};
  }
  if (arguments.size() != 1 || !arguments[0].list())
    return functionOfNumbers(name, arguments, range);
  if (!proceed(range, arguments[0].list()->size()))
    return ModelValue{};
  return functionOfNumbers(name, *arguments[0].list(), range);
}

ModelValue ModelBuilder::wrongUsage(llvm::StringRef name, const char *usage, SourceRange range) {
  diags.error(Code::WrongType, range, fmt::format("'{}' is used as {}", name.str(), usage));
  return {};
}

ModelValue ModelBuilder::functionOfNumbers(llvm::StringRef name, llvm::ArrayRef<ModelValue> arguments,
                                           SourceRange range) {
  std::vector<Quantity> numbers;
  for (const ModelValue &argument : arguments) {
    if (!argument.number())
      return wrongUsage(name, "a function of numbers", range);
    numbers.push_back(*argument.number());
  }
  if (name == "pow2" || name == "log2") {
    if (numbers.size() != 1)
      return wrongUsage(name, "a function of one number", range);
    return valueOf((name == "pow2" ? powerOfTwo : logTwo)(numbers[0]), range);
  }
  if (name == "sqrt") {
    if (numbers.size() != 1 || !numbers[0].dimensionless() || numbers[0].value.sign() < 0)
      return wrongUsage(name, "sqrt(number), not negative", range);
    auto number = real(numbers[0], range, "the argument of 'sqrt'");
    return number ? ModelValue{Quantity(Rational::ofDouble(std::sqrt(*number)))} : ModelValue{};
  }
  if (name == "ceil_div" || name == "floor_div") {
    if (numbers.size() != 2)
      return wrongUsage(name, "a function of two numbers", range);
    return valueOf((name == "ceil_div" ? ceilDivide : floorDivide)(numbers[0], numbers[1]), range);
  }
  if (numbers.empty())
    return wrongUsage(name, "a function of at least one number", range);
  return valueOf(applyFold(name, numbers), range);
}

/// Evaluates arguments where they are written (`argumentScope`) and declares the callee's
/// parameters in `into`.
bool ModelBuilder::bindParameters(Scope &into, const ast::Declaration &callee,
                                  const std::vector<ast::Argument> &arguments, SourceRange range, Scope *argumentScope,
                                  const std::map<std::string, int64_t> &overrides) {
  size_t errorsBefore = diags.errors();
  std::vector<std::string> names;
  for (const ast::Parameter &p : callee.parameters)
    names.push_back(p.name.text);
  const auto bound =
      bindArguments({fmt::format("'{}'", callee.name.text), callee.name.range, std::move(names)}, arguments, diags);
  std::map<std::string, ModelValue> given;
  Scope *saved = scope;
  scope = argumentScope;
  for (const ast::Argument &argument : arguments) // in the order in which they are written
    for (const auto &[name, of] : bound)
      if (of == &argument)
        given[name] = eval(*argument.value);
  scope = &into;
  bool understood = diags.errors() == errorsBefore;
  for (const ast::Parameter &p : callee.parameters) {
    ModelValue value;
    if (auto fixed = overrides.find(p.name.text); fixed != overrides.end()) {
      value = {Quantity::number(fixed->second)};
    } else if (auto found = given.find(p.name.text); found != given.end()) {
      value = found->second;
    } else if (p.defaultValue) {
      value = eval(*p.defaultValue);
    } else if (understood) { // else one that was not understood may be it
      diags
          .error(Code::MissingArgument, range,
                 fmt::format("'{}' needs a value for '{}'", callee.name.text, p.name.text))
          .note(p.name.range, "this parameter has no default");
    }
    declare(p.name, std::move(value), false);
  }
  scope = saved;
  return diags.errors() == errorsBefore;
}

ModelValue ModelBuilder::callModule(const ast::Declaration &module, const ast::Call &call, SourceRange range) {
  std::string label = std::exchange(pendingName, {});
  if (llvm::is_contained(calls, &module) || calls.size() > kMaxCallDepth) {
    diags.error(Code::RecursiveDefinition, range, fmt::format("module '{}' uses itself", module.name.text))
        .note(module.name.range, "declared here");
    return {};
  }
  Scope body;
  body.declaration = &module;
  Scope *saved = scope;
  if (!bindParameters(body, module, call.arguments, range, saved, {}))
    return {};
  std::string outer = prefix;
  prefix = path(label.empty() ? module.name.text : label) + ".";
  calls.push_back(&module);
  scope = &body;
  proceed(range, 20); // a call costs more than other expressions
  run(module.body);
  ModelList results;
  for (const ast::Name &result : module.results) {
    auto found = body.variables.find(result.text);
    if (found == body.variables.end() && !hasGivenUp)
      diags.error(Code::MissingResult, result.range,
                  fmt::format("module '{}' never computes its result '{}'", module.name.text, result.text));
    results.push_back(found == body.variables.end() ? ModelValue{} : found->second.value);
  }
  scope = saved;
  calls.pop_back();
  prefix = outer;
  if (results.size() == 1)
    return results[0];
  return {std::make_shared<ModelList>(std::move(results))};
}

} // namespace accord
