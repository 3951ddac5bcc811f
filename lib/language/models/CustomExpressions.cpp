// Expressions of an `operation`: what is computed from the elements at one point.
#include "lib/language/models/CustomOperation.h"
#include "lib/language/syntax/Evaluate.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>
#include <fmt/format.h>

using namespace mlir;

namespace accord {

using Kind = dnn::ScalarKind;

namespace {

const std::vector<std::string> kFunctions = {"exp", "log",  "sqrt",  "sin",      "cos",      "tanh", "erf",
                                             "abs", "sign", "floor", "round",    "min",      "max",  "sigmoid",
                                             "len", "sum",  "mean",  "ceil_div", "floor_div"};

/// Does it decide something? Names may.
bool isCondition(const ast::Expr &expr) {
  if (const auto *chain = expr.as<ast::Chain>())
    return llvm::all_of(chain->rest, [](const ast::Chain::Link &link) {
      return isComparison(link.op) || link.op == ast::BinaryOp::And || link.op == ast::BinaryOp::Or;
    });
  if (const auto *unary = expr.as<ast::Unary>())
    return unary->op == ast::UnaryOp::Not;
  return expr.as<ast::Boolean>() || expr.as<ast::Reference>();
}

} // namespace

std::optional<unsigned> CustomOperation::tensorNamed(llvm::StringRef name) const {
  for (auto [i, operand] : llvm::enumerate(operands))
    if (operand->name.text == name)
      return i;
  if (resultKnown && name == resultName)
    return shape.result();
  if (resultKnown && name == gradientName)
    return shape.gradient();
  return std::nullopt;
}

std::optional<unsigned> CustomOperation::indexNamed(llvm::StringRef name) const {
  for (auto [i, index] : llvm::enumerate(shape.indices))
    if (index.name == name)
      return i;
  return std::nullopt;
}

std::vector<std::string> CustomOperation::namesHere() const {
  std::vector<std::string> names;
  for (const ast::Parameter &parameter : declaration.parameters)
    names.push_back(parameter.name.text);
  for (const CustomShape::Index &index : shape.indices)
    names.push_back(index.name);
  for (const auto &[name, value] : scalars)
    names.push_back(name);
  if (resultKnown)
    names.insert(names.end(), {resultName, gradientName});
  return names;
}

dnn::ScalarAttr CustomOperation::scalar(const ast::Expr &expr) {
  if (!model.proceed(expr.range))
    return {};
  auto wrong = [&](const char *what) {
    diags.error(Code::WrongType, expr.range, what);
    return dnn::ScalarAttr();
  };
  return std::visit(
      [&](const auto &node) -> dnn::ScalarAttr {
        using T = std::decay_t<decltype(node)>;
        if constexpr (std::is_same_v<T, ast::Number>) {
          if (!node.valid)
            return {};
          if (!node.value.dimensionless())
            return wrong("elements of tensors have no unit");
          auto value = model.real(node.value, expr.range, "this number");
          return value ? dnn::scalarNumber(context, *value) : dnn::ScalarAttr();
        } else if constexpr (std::is_same_v<T, ast::Boolean>) {
          return dnn::scalarNumber(context, node.value);
        } else if constexpr (std::is_same_v<T, ast::Reference>) {
          return reference(node, expr.range);
        } else if constexpr (std::is_same_v<T, ast::Index>) {
          return element(node, expr.range);
        } else if constexpr (std::is_same_v<T, ast::Call>) {
          return call(node, expr.range);
        } else if constexpr (std::is_same_v<T, ast::Unary>) {
          dnn::ScalarAttr value = scalar(*node.operand);
          if (!value || node.op == ast::UnaryOp::Plus)
            return value;
          if (node.op == ast::UnaryOp::Negate)
            return dnn::scalar(Kind::Negate, value);
          return dnn::scalar(Kind::Equal, {value, dnn::scalarNumber(context, 0)});
        } else if constexpr (std::is_same_v<T, ast::Chain>) {
          return chain(node);
        } else if constexpr (std::is_same_v<T, ast::Conditional>) {
          return conditional(node);
        } else if constexpr (std::is_same_v<T, ast::Range>) {
          return wrong("a range is an index of its own: bind it with 'let'");
        } else {
          return wrong("an element is a number, and this is none");
        }
      },
      expr.node);
}

dnn::ScalarAttr CustomOperation::reference(const ast::Reference &reference, SourceRange range) {
  const std::string &name = reference.name;
  if (auto found = scalars.find(name); found != scalars.end())
    return found->second.value;
  if (auto found = numbers.find(name); found != numbers.end())
    return found->second;
  if (auto index = indexNamed(name))
    return dnn::scalarPosition(context, *index);
  if (auto tensor = tensorNamed(name)) {
    const std::vector<ast::Name> &indices =
        *tensor < operands.size() ? operands[*tensor]->indices : declaration.indices;
    if (indices.empty())
      return access({*tensor, {}});
    diags.error(Code::WrongType, range, fmt::format("'{}' is a tensor: say which element", name))
        .help(fmt::format("for example {}[{}]", name,
                          fmt::join(llvm::map_range(indices, [](const ast::Name &n) { return n.text; }), ", ")));
    return {};
  }
  if (name == resultName || name == gradientName) {
    diags.error(Code::UnknownName, range, fmt::format("'{}' has no value before '{}' is computed", name, resultName));
    return {};
  }
  if (model.declarations.find(name, declaration, range)) {
    ModelValue value = model.evalNode(reference, range);
    if (value.number() && value.number()->dimensionless())
      if (auto number = model.real(*value.number(), range, "this number"))
        return dnn::scalarNumber(context, *number);
    if (!value.failed() && !value.number())
      diags.error(Code::WrongType, range, fmt::format("'{}' is {}, not a number", name, value.describe()));
    else if (value.number() && !value.number()->dimensionless())
      diags.error(Code::WrongType, range, "elements of tensors have no unit");
    return {};
  }
  diags.error(Code::UnknownName, range, fmt::format("unknown name '{}'", name)).suggest(nearest(name, namesHere()));
  return {};
}

/// q[i + 1, d]
dnn::ScalarAttr CustomOperation::element(const ast::Index &index, SourceRange range) {
  const auto *object = index.object->as<ast::Reference>();
  auto tensor = object ? tensorNamed(object->name) : std::nullopt;
  if (!tensor) {
    if (object && (object->name == resultName || object->name == gradientName)) {
      diags.error(Code::UnknownName, index.object->range,
                  fmt::format("'{}' has no value before '{}' is computed", object->name, resultName));
      return {};
    }
    std::vector<std::string> known;
    for (const ast::Parameter *operand : operands)
      known.push_back(operand->name.text);
    diags.error(Code::UnknownName, index.object->range, "only operands, the result and its gradient have elements")
        .suggest(object ? nearest(object->name, known) : "");
    return {};
  }
  size_t rank = shape.tensors[std::min(*tensor, shape.result())].size();
  if (index.indices.size() != rank) {
    diags
        .error(Code::ShapeMismatch, range,
               fmt::format("'{}' has {} {}, found {}", object->name, rank, rank == 1 ? "index" : "indices",
                           index.indices.size()))
        .note(*tensor < operands.size() ? operands[*tensor]->name.range : declaration.results[0].range,
              "declared here");
    return {};
  }
  CustomAccess made{*tensor, {}};
  for (auto [d, expr] : llvm::enumerate(index.indices)) {
    AffineExpr at = position(*expr);
    if (!at || !inside(*tensor, at, d, expr->range))
      return {};
    made.at.push_back(at);
  }
  return access(std::move(made));
}

/// What is read there; the same place is read once.
dnn::ScalarAttr CustomOperation::access(CustomAccess made) {
  auto known = llvm::find(shape.accesses, made);
  unsigned place = known - shape.accesses.begin();
  if (known == shape.accesses.end())
    shape.accesses.push_back(std::move(made));
  return dnn::scalarOperand(context, place);
}

/// Whether all positions that the indices give lie in the tensor.
bool CustomOperation::inside(unsigned tensor, AffineExpr at, unsigned dimension, SourceRange range) {
  llvm::SmallVector<int64_t> extents;
  for (const CustomShape::Index &index : shape.indices)
    extents.push_back(index.extent);
  int64_t extent = shape.indices[shape.tensors[std::min(tensor, shape.result())][dimension]].extent;
  auto reached = dnn::rangeOf(at, extents);
  if (reached && reached->first >= 0 && reached->second < extent)
    return true;
  diags
      .error(Code::IndexOutOfRange, range,
             reached ? fmt::format("this goes from {} to {}, but '{}' has the positions 0 to {} here", reached->first,
                                   reached->second, tensorName(tensor), extent - 1)
                     : "this position passes 2^62")
      .help("an index of the result may have a smaller range: let o = 0..len(l) - 3");
  return false;
}

std::optional<int64_t> CustomOperation::integer(const ast::Expr &expr, const char *what) {
  dnn::ScalarAttr value = scalar(expr);
  if (!value)
    return std::nullopt;
  if (value.getKind() != Kind::Number) {
    diags.error(Code::NotConstant, expr.range, fmt::format("{} is the same at every point, but this is not", what));
    return std::nullopt;
  }
  double number = value.getNumber().getValueAsDouble();
  if (number != std::floor(number) || std::fabs(number) > 9.0e15) {
    diags.error(Code::NotAnInteger, expr.range, fmt::format("{} is an integer, but this is {}", what, number));
    return std::nullopt;
  }
  return number;
}

AffineExpr CustomOperation::position(const ast::Expr &expr) {
  if (const auto *name = expr.as<ast::Reference>())
    if (auto index = indexNamed(name->name))
      return getAffineDimExpr(*index, context);
  if (const auto *unary = expr.as<ast::Unary>(); unary && unary->op == ast::UnaryOp::Negate) {
    AffineExpr inner = position(*unary->operand);
    return inner ? -inner : AffineExpr();
  }
  const auto *chain = expr.as<ast::Chain>();
  using enum ast::BinaryOp;
  if (!chain || !llvm::all_of(chain->rest, [](const ast::Chain::Link &link) {
        return link.op == Add || link.op == Subtract || link.op == Multiply;
      })) {
    auto number = integer(expr, "a position without indices");
    return number ? getAffineConstantExpr(*number, context) : AffineExpr();
  }
  AffineExpr sum = position(*chain->first);
  for (const ast::Chain::Link &link : chain->rest) {
    AffineExpr next = position(*link.operand);
    if (!sum || !next)
      return {};
    if (link.op == Multiply && !sum.isSymbolicOrConstant() && !next.isSymbolicOrConstant()) {
      diags.error(Code::NotConstant, link.operand->range,
                  "a position is a sum of multiples of indices, and this multiplies two of them");
      return {};
    }
    sum = link.op == Add ? sum + next : link.op == Subtract ? sum - next : sum * next;
  }
  return sum;
}

dnn::ScalarAttr CustomOperation::call(const ast::Call &call, SourceRange range) {
  const auto *callee = call.callee->as<ast::Reference>();
  std::string name = callee ? callee->name : "";
  if (!llvm::is_contained(kFunctions, name)) {
    diags.error(Code::UnknownFunction, call.callee->range, fmt::format("'{}' is no function of elements", name))
        .suggest(nearest(name, kFunctions))
        .help(fmt::format("functions are {}", fmt::join(kFunctions, ", ")));
    return {};
  }
  for (const ast::Argument &argument : call.arguments)
    if (argument.name) {
      if (argument.name->text == "over")
        diags.error(Code::WrongType, range, fmt::format("'{}' over an index spans the whole right side", name))
            .help("give the inner one an operation of its own");
      else
        diags.error(Code::UnknownArgument, argument.name->range,
                    fmt::format("'{}' takes its arguments by place", name));
      return {};
    }
  auto wrong = [&](const char *usage) {
    diags.error(Code::WrongType, range, fmt::format("'{}' is used as {}", name, usage));
    return dnn::ScalarAttr();
  };
  if (name == "sum" || name == "mean")
    return wrong("sum(value, over = index)");
  if (name == "len") {
    const auto *of = call.arguments.size() == 1 ? call.arguments[0].value->as<ast::Reference>() : nullptr;
    auto index = of ? indexNamed(of->name) : std::nullopt;
    if (!index)
      return wrong("len(index)");
    return dnn::scalarNumber(context, shape.indices[*index].extent);
  }
  llvm::SmallVector<dnn::ScalarAttr> arguments;
  for (const ast::Argument &argument : call.arguments) {
    arguments.push_back(scalar(*argument.value));
    if (!arguments.back())
      return {};
  }
  if (name == "min" || name == "max") {
    if (arguments.size() < 2)
      return wrong("max(a, b), or max(value, over = index)");
    dnn::ScalarAttr result = arguments[0];
    for (dnn::ScalarAttr next : llvm::drop_begin(arguments))
      result = dnn::scalar(name == "min" ? Kind::Minimum : Kind::Maximum, {result, next});
    return result;
  }
  if (name == "floor_div" || name == "ceil_div") {
    if (arguments.size() != 2)
      return wrong("a function of two numbers");
    bool up = name == "ceil_div";
    dnn::ScalarAttr a = up ? dnn::scalar(Kind::Negate, arguments[0]) : arguments[0];
    dnn::ScalarAttr floor = dnn::scalar(Kind::Floor, dnn::scalar(Kind::Divide, {a, arguments[1]}));
    return up ? dnn::scalar(Kind::Negate, floor) : floor;
  }
  if (arguments.size() != 1)
    return wrong("a function of one number");
  if (name == "sigmoid") {
    dnn::ScalarAttr one = dnn::scalarNumber(context, 1);
    dnn::ScalarAttr exp = dnn::scalar(Kind::Exp, dnn::scalar(Kind::Negate, arguments[0]));
    return dnn::scalar(Kind::Divide, {one, dnn::scalar(Kind::Add, {one, exp})});
  }
  return dnn::scalar(*dnn::symbolizeScalarKind(name), arguments);
}

/// One operator on two values at a point.
static dnn::ScalarAttr joined(ast::BinaryOp op, dnn::ScalarAttr a, dnn::ScalarAttr b) {
  using enum ast::BinaryOp;
  static constexpr std::pair<ast::BinaryOp, Kind> kKinds[] = {
      {Add, Kind::Add},     {Subtract, Kind::Subtract}, {Multiply, Kind::Multiply},   {Divide, Kind::Divide},
      {Power, Kind::Power}, {Less, Kind::Less},         {LessEqual, Kind::LessEqual}, {Equal, Kind::Equal}};
  for (auto [known, kind] : kKinds)
    if (known == op)
      return dnn::scalar(kind, {a, b});
  auto number = [&](double v) { return dnn::scalarNumber(a.getContext(), v); };
  switch (op) {
  case Modulo: // of the sign of the divisor, as for numbers
    return joined(Subtract, a, joined(Multiply, dnn::scalar(Kind::Floor, joined(Divide, a, b)), b));
  case And:
    return dnn::scalar(Kind::Select, {a, b, number(0)});
  case Or:
    return dnn::scalar(Kind::Select, {a, number(1), b});
  case Greater:
    return joined(Less, b, a);
  case GreaterEqual:
    return joined(LessEqual, b, a);
  default:
    return joined(Equal, joined(Equal, a, b), number(0));
  }
}

dnn::ScalarAttr CustomOperation::chain(const ast::Chain &chain) {
  dnn::ScalarAttr value = scalar(*chain.first);
  for (const ast::Chain::Link &link : chain.rest) {
    dnn::ScalarAttr next = scalar(*link.operand);
    if (!value || !next)
      return {};
    if (link.op == ast::BinaryOp::Divide && next == dnn::scalarNumber(context, 0)) {
      diags.error(Code::DivisionByZero, link.operand->range, "division by zero");
      return {};
    }
    value = joined(link.op, value, next);
  }
  return value;
}

/// Both sides are computed at every point; the condition says which counts.
dnn::ScalarAttr CustomOperation::conditional(const ast::Conditional &conditional) {
  dnn::ScalarAttr result = scalar(*conditional.otherwise);
  for (const ast::Conditional::Branch &branch : llvm::reverse(conditional.branches)) {
    if (!isCondition(*branch.condition)) {
      diags.error(Code::WrongType, branch.condition->range, "a condition compares two values");
      return {};
    }
    dnn::ScalarAttr condition = scalar(*branch.condition), value = scalar(*branch.value);
    if (!condition || !value || !result)
      return {};
    result = dnn::scalar(Kind::Select, {condition, value, result});
  }
  return result;
}

} // namespace accord
